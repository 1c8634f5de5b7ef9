"""`qwop-dataset reconstruct` from a published file to a dataset that replays, and what it refuses."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, embedded_dataset, open_dataset
from qwop.datasets.from_keys import qwop_info, replay_episode
from qwop.datasets.origin import Origin
from qwop.datasets.reconstruction.command import command, run
from qwop.datasets.reconstruction.samples import relative_x, samples_path, write_samples
from qwop.datasets.schema import Episode
from qwop.envs.qwop.session import PlayedGame, Session

DIGEST = "0123456789ab"


@pytest.fixture(scope="module")
def imported(
    clumsy_games: list[PlayedGame],
    published: Callable[..., Any],
    make_episode: Callable[..., Episode],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A dataset as `qwop-record source=import` writes it, of three games of one page."""
    folder = tmp_path_factory.mktemp("imported") / "data"
    samples, shown = published(clumsy_games)
    writer = DatasetWriter(folder, qwop_info(frames_per_step=3, reward="shaped", observation_lag=1))
    write_samples(folder, DIGEST, samples)
    for number, (game, frames) in enumerate(zip(samples, shown, strict=True)):
        origin, observations = Origin(sha256=DIGEST, game=number), relative_x(game).astype(np.float32)
        facts = {"source": "games.npz", "origin": origin, "keys": None, "metres": None}
        writer.write(make_episode(len(game) - 1, observations=observations, times=(frames + 1) / 30, **facts))
    return folder


@pytest.fixture(scope="module")
def frames(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("frames") / "data"
    run(command.read([f"dataset={imported}", f"out={out}", "frames_per_step=2"]))
    return out


def test_every_game_is_found_and_replays(frames: Path, clumsy_games: list[PlayedGame]) -> None:
    session = Session("fdlibm")
    for episode, played in zip(open_dataset(frames), clumsy_games, strict=True):
        session.begin(played.opening)
        game = session.play(played.keys)
        again = replay_episode(episode)
        common = min(len(game.states), len(again.states)) - 9  # the last frames are not sampled
        np.testing.assert_array_equal(again.states[:common], game.states[:common])
        assert (episode.terminated, episode.outcome, episode.origin.reconstructed) == (True, "fell", True)
        assert (episode.source, episode.player) == ("games.npz", "somebody")
        assert {len(keys) for keys in episode.keys[:-1]} == {2}


def test_an_interrupted_reconstruction_goes_on_with_the_games_that_are_not_there(
    imported: Path, frames: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(frames, tmp_path / "out"))
    *kept, last = sorted((out / "episodes").iterdir())
    last.unlink()
    run(command.read([f"dataset={imported}", f"out={out}", "frames_per_step=2"]))
    assert "1 of 1 games whole" in capsys.readouterr().out
    assert sorted((out / "episodes").iterdir())[:2] == kept
    for one, other in zip(open_dataset(out), open_dataset(frames), strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
        assert one.label == other.label
        assert one.start.to_json() == other.start.to_json()


def refused(*overrides: str) -> str:
    with pytest.raises(BadInput) as error:
        run(command.read(overrides))
    return str(error.value)


def test_samples_that_are_missing_or_damaged_are_named(imported: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(imported, tmp_path / "data"))
    path = samples_path(folder, DIGEST)
    out = f"out={tmp_path / 'out'}"
    with np.load(path) as file:
        numbers = dict(file)
    np.savez(path, observations=numbers["observations"][:-1], lengths=numbers["lengths"])
    assert "damaged" in refused(f"dataset={folder}", out)
    np.savez(path, observations=numbers["observations"].astype(np.float32), lengths=numbers["lengths"])
    assert "not the samples of a recording" in refused(f"dataset={folder}", out)
    path.write_bytes(b"not an archive")
    assert "not an .npz file" in refused(f"dataset={folder}", out)
    path.unlink()
    said = refused(f"dataset={folder}", out)
    assert "no such file" in said
    assert "import it again" in said
    assert not (tmp_path / "out").exists()


def test_the_dataset_itself_and_one_of_other_settings_are_no_target(imported: Path, frames: Path) -> None:
    for out in (imported, imported / "keys"):
        assert f"is inside {imported}, which stays as it is" in refused(f"dataset={imported}", f"out={out}")
    assert not (imported / "keys").exists()
    assert "expected imported recordings" in refused(f"dataset={embedded_dataset()}", "out=x")
    assert "frames_per_step is 2, not 1" in refused(f"dataset={imported}", f"out={frames}", "frames_per_step=1")
