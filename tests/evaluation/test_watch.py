from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.reader import open_dataset
from qwop.envs.pictures.player import rows_of_game
from qwop.envs.qwop.keys_file import write_keys
from qwop.envs.spec import EnvironmentSpec
from qwop.evaluation.commands import WatchSettings
from qwop.evaluation.watch import clips_of, run
from qwop.policies.files import save_policy

from ..fakes import dataset_of, game_of, untrained

KEYS = np.repeat([0, 9, 6, 9], 8).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of three games."""
    info = qwop_info(frames_per_step=3, reward="speed")
    one, two, three = (
        game_of(keys, info, player=player) for player, keys in (("one", KEYS), ("two", KEYS[8:]), ("three", KEYS))
    )
    return dataset_of(tmp_path / "games", info, one, two, three).folder


def test_episodes_are_shown_as_their_keys_play_them_and_keep_their_numbers(folder: Path, tmp_path: Path) -> None:
    run(WatchSettings(dataset=str(folder), out=str(tmp_path / "page.html")))
    text = (tmp_path / "page.html").read_text()
    assert all(f"episode {number}: {name}" in text for number, name in enumerate(("one", "two", "three")))
    next(folder.glob("episodes/episode-000000-*")).unlink()
    every, (alone,) = (clips_of(WatchSettings(dataset=str(folder), episode=one)) for one in (None, 1))
    assert [one.title.split(",")[0] for one in every] == ["episode 1: two", "episode 2: three"]
    for clip in (every[0], alone):
        assert clip.title.startswith("episode 1: two, ")
        assert np.array_equal(clip.rows, rows_of_game(KEYS[8:]))


def test_keys_become_a_film(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys.txt", KEYS[:12], "a test")
    run(WatchSettings(keys=str(tmp_path / "keys.txt"), out=str(tmp_path / "film.mp4")))
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"


def test_a_policy_plays_from_the_start_that_was_asked_for() -> None:
    (clip,) = clips_of(WatchSettings(policy="champion", idle_frames=8))
    keys = clip.rows[1:, -1]
    assert not keys[:8].any()
    assert keys[8:11].any()
    assert "finished" in clip.title


def test_drawn_games_are_those_of_the_seed(tmp_path: Path) -> None:
    path = save_policy(tmp_path / "policy.safetensors", untrained(EnvironmentSpec("QWOP-v1")))
    one, again, other = (
        clips_of(WatchSettings(policy=str(path), greedy=False, seed=seed))[0].rows for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "dataset is not set: expected one of dataset, keys and policy"),
        ({"keys": "champion", "policy": "champion"}, "keys=champion and policy=champion: expected one of"),
        ({"keys": "champion", "out": "film.avi"}, r"out=film.avi: expected the name of a page \(.html\)"),
        ({"keys": "champion", "out": "file/page.html"}, "out=.*file is a file; give out= another folder"),
        ({"keys": "champion", "out": "file/film.mp4"}, "out=.*file is a file; give out= another folder"),
        ({"dataset": "games", "episode": 7}, "episode=7: .*games has no such episode"),
        ({"dataset": "keyless"}, "has no keys, so its game cannot be played again; qwop-dataset reconstruct"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    settings: dict[str, Any], message: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = open_dataset(folder)
    dataset_of(tmp_path / "keyless", dataset.info, replace(dataset[0], keys=None))
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=message):
        run(WatchSettings(**settings))
