from dataclasses import replace
from pathlib import Path

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


def test_an_episode_is_shown_as_its_keys_play_it(folder: Path) -> None:
    (clip,) = clips_of(WatchSettings(dataset=str(folder), episode=1))
    assert np.array_equal(clip.rows, rows_of_game(KEYS[8:]))
    assert clip.title.startswith("episode 1: two, ")


def test_episodes_keep_their_numbers_where_one_was_set_aside(folder: Path) -> None:
    next(folder.glob("episodes/episode-000000-*")).unlink()
    (clip,) = clips_of(WatchSettings(dataset=str(folder), episode=1))
    assert clip.title.startswith("episode 1: two, ")
    assert [one.title.split(":")[0] for one in clips_of(WatchSettings(dataset=str(folder)))] == [
        "episode 1",
        "episode 2",
    ]


def test_a_page_holds_all_episodes(folder: Path, tmp_path: Path) -> None:
    run(WatchSettings(dataset=str(folder), out=str(tmp_path / "page.html")))
    text = (tmp_path / "page.html").read_text()
    assert all(f"episode {number}: {name}" in text for number, name in enumerate(("one", "two", "three")))


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
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        WatchSettings(**settings)  # type: ignore[arg-type]


def test_an_episode_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"episode=7: .*games has no such episode"):
        clips_of(WatchSettings(dataset=str(folder), episode=7))


def test_a_game_without_keys_is_refused(folder: Path, tmp_path: Path) -> None:
    dataset = open_dataset(folder)
    keyless = dataset_of(tmp_path / "keyless", dataset.info, replace(dataset[0], keys=None)).folder
    with pytest.raises(BadInput, match=r"has no keys, so its game cannot be played again; qwop-dataset reconstruct"):
        clips_of(WatchSettings(dataset=str(keyless)))


@pytest.mark.parametrize("name", ["page.html", "film.mp4"])
def test_a_place_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=r"out=.*file is a file; give out= another folder"):
        run(WatchSettings(keys="champion", out=str(tmp_path / "file" / name)))
