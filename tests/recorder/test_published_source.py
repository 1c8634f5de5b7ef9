"""`source=import`: published recordings as episodes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, Episode, embedded_dataset, open_dataset
from qwop.envs import replay
from qwop.envs.names import ACTION_KEYS
from qwop.envs.qwop.observations import observe_as
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.published_source import (
    ConvertedGame,
    convert,
    frames_per_decision,
    open_import,
    read_expert_file,
)
from qwop.recorder.settings import ImportSettings
from qwop.recorder.source import find_files

MakeDemo = Callable[..., dict[str, Any]]
RUN = open_dataset(embedded_dataset())[0].keys_of_frames
FALLS = [np.repeat(ACTION_KEYS[np.random.default_rng(seed).integers(11, size=60)], 12) for seed in range(2)]


def saved(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez(path, **arrays)
    return path


@pytest.fixture
def files(tmp_path: Path, make_demo: MakeDemo) -> Path:
    folder = tmp_path / "demos"
    folder.mkdir()
    saved(folder / "relative.npz", make_demo(FALLS[0], RUN))
    saved(folder / "absolute.npz", make_demo(FALLS[0], RUN, absolute=True))
    saved(folder / "slow.npz", make_demo(RUN[:300], frames=6))
    return folder


@pytest.fixture
def converted(tmp_path: Path) -> Callable[[dict[str, Any]], tuple[list[ConvertedGame], list[str]]]:
    return lambda arrays: convert(read_expert_file(saved(tmp_path / "demo.npz", arrays)))


def settings(files: Path, *names: str, **more: Any) -> ImportSettings:
    return ImportSettings(files=[str(files / name) for name in names], **more)


def recorded(settings: ImportSettings, folder: Path) -> list[Episode]:
    source = open_import(settings, folder)
    source.record(GameWriter(DatasetWriter(folder, source.info)))
    return [*open_dataset(folder)]


def test_every_game_of_every_file_is_an_episode(files: Path, tmp_path: Path) -> None:
    both = settings(files, "relative.npz", "absolute.npz", player="kurodo", epsilon=0.1)
    lengths = [(len(replay(keys).states) - 2) // 3 for keys in (FALLS[0], RUN)]
    source = open_import(both, tmp_path / "new")
    assert source.total == 4
    assert str(source.info.environment) == "QWOP-v1(frames_per_step=3, observation_lag=1, reward=shaped)"
    for note in (
        "relative.npz: x relative to the torso and shaped reward: both kept",
        "absolute.npz: absolute x: made relative to the torso",
        "a decision lasts 3.0",
        f"2 games, {sum(lengths)} decisions (fell 1, finished 1)",
        "smoothed(0.1)",
    ):
        assert note in "\n".join(source.notes)
    episodes = recorded(both, tmp_path / "new")
    assert [len(episode) for episode in episodes] == [*lengths, *lengths]
    assert [episode.outcome for episode in episodes] == ["fell", "finished", "fell", "finished"]
    assert [episode.source for episode in episodes] == ["relative.npz"] * 2 + ["absolute.npz"] * 2
    assert [episode.origin.game for episode in episodes] == [0, 1, 0, 1]
    for episode in episodes:
        assert (episode.keys, episode.seed, episode.terminated, episode.player) == (None, None, True, "kurodo")
        assert episode.mu == "smoothed(0.1)"
        probabilities = episode.behaviour_probabilities[np.arange(len(episode)), episode.actions]
        assert probabilities == pytest.approx(0.9 + 0.1 / 11)


def test_recordings_of_another_pace_are_not_mixed(files: Path, tmp_path: Path) -> None:
    both = settings(files, "relative.npz", "slow.npz")
    with pytest.raises(BadInput, match=r"slow\.npz: its decisions last 6 game frames, those of relative\.npz 3"):
        open_import(both, tmp_path)
    slow = open_import(settings(files, "slow.npz"), tmp_path)
    assert slow.info.environment.settings["frames_per_step"] == 6
    (game,) = slow.episodes
    assert (game.outcome, game.terminated) == ("stopped", False)


def test_a_file_of_the_same_arrays_is_refused_whatever_its_name(files: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    recorded(settings(files, "relative.npz"), folder)
    with np.load(files / "relative.npz") as arrays:
        np.savez_compressed(files / "renamed.npz", **arrays)
    with pytest.raises(BadInput, match=r"renamed\.npz: .*dataset already contains it; remove it"):
        open_import(settings(files, "renamed.npz"), folder)
    assert len(recorded(settings(files, "absolute.npz"), folder)) == 4


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda arrays: {**arrays, name: change(arrays[name])}


def poked(row: Any, value: Any) -> Callable[[Any], Any]:
    def poke(array: Any) -> Any:
        copy = array.copy()
        copy[row] = value
        return copy

    return poke


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: {name: arrays[name] for name in ("obs", "actions")}, "has actions, obs, but no rewards"),
        (changed("obs", lambda a: a[:, :70]), r"obs are float64 \[101, 70\], expected numbers \[n, 71\]"),
        (changed("obs", lambda a: a.astype(str)), "obs are <U"),
        (changed("obs", poked((7, 3), np.nan)), "obs hold NaN or infinity in row 7"),
        (changed("obs", lambda a: a.astype(object)), "Object arrays cannot be loaded"),
        (changed("actions", lambda a: a[:-1]), r"actions are int64 \[100\], expected whole numbers \[101\]"),
        (changed("actions", poked(3, 11)), "actions from 0 to 11, expected 0 … 10"),
        (changed("actions", poked(3, -1)), "actions from -1 to"),
        (changed("actions", lambda a: a + 0.5), "actions are float64 .*, expected whole numbers"),
        (changed("rewards", poked(4, 50.0)), "but its rewards sum to"),
        (changed("episode_starts", lambda a: a.astype(float)), "episode_starts are float64"),
        (changed("episode_starts", poked(0, False)), "does not begin with a start"),
        (changed("episode_starts", poked(9, True)), r"episode_returns are float64 \[1\], expected numbers \[2\]"),
        (changed("rewards", lambda a: 2 * a), "the file is damaged"),
        (
            lambda a: {**a, "rewards": 2 * a["rewards"], "episode_returns": 2 * a["episode_returns"]},
            "differs from Δx by its velocities",
        ),
        (
            lambda a: {**a, "rewards": a["rewards"] - 3, "episode_returns": a["episode_returns"] - 3 * 101},
            "differs from Δx by its velocities",
        ),
        (changed("obs", lambda a: a[:, ::-1]), "differs from Δx by its velocities"),
    ],
)
def test_arrays_that_are_invalid_or_not_of_qwop_are_refused_by_name(
    converted: Any, make_demo: MakeDemo, change: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        converted(change(make_demo(RUN[:303])))


@pytest.mark.parametrize("content", [None, b"", b"\x80\x04K\x01."])
def test_one_bad_file_stops_the_others(files: Path, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (files / "bad.npz").write_bytes(content)
    with pytest.raises(BadInput, match=r"bad\.npz: ") as refused:
        open_import(settings(files, "relative.npz", "bad.npz"), tmp_path / "new")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "new").exists()


def test_patterns_name_files_once_and_in_order(tmp_path: Path) -> None:
    for name in ("b2.npz", "b1.npz", "a[1].npz", "c.txt"):
        (tmp_path / name).touch()
    paths = find_files([str(tmp_path / name) for name in ("b2.npz", "*.npz", "a[1].npz")], "x", "expected")
    assert [path.name for path in paths] == ["b2.npz", "a[1].npz", "b1.npz"]
    assert find_files([f"{tmp_path.parent}/{tmp_path.name[:-1]}*/b1.npz"], "x", "") == [tmp_path / "b1.npz"]
    for patterns, message in (([str(tmp_path / "x*.npz")], r"x\*\.npz: no file of such"), ([], "files is empty")):
        with pytest.raises(BadInput, match=message):
            find_files(patterns, "x", "expected")


def test_a_start_that_repeats_plays_no_frames(make_demo: MakeDemo, converted: Any) -> None:
    arrays = make_demo(RUN[:303], absolute=True)
    still = {name: np.concatenate([values[:1]] * 3 + [values]) for name, values in arrays.items()}
    still |= {
        "episode_starts": np.arange(len(still["obs"])) == 0,
        "episode_returns": still["rewards"].sum(keepdims=True),
    }
    games, _ = converted(still)
    assert games[0].frames[:3].tolist() == [0, 0, 0]
    assert frames_per_decision(games) == pytest.approx(3, abs=0.2)


def test_a_game_of_one_row_is_dropped(make_demo: MakeDemo, converted: Any) -> None:
    games, notes = converted(make_demo(RUN[:30], RUN[:3], RUN[:60]))
    assert [len(game.actions) for game in games] == [9, 19]
    assert "1 of a single row dropped" in notes[-1]
    with pytest.raises(BadInput, match="no game has two or more rows"):
        converted(make_demo(RUN[:3]))


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize(
    ("keys", "outcome"), [(FALLS[0], "fell"), (FALLS[1], "fell"), (RUN, "finished"), (RUN[:303], "stopped")]
)
def test_a_game_of_either_convention_converts_to_what_was_played(
    make_demo: MakeDemo, converted: Any, keys: Any, outcome: str, absolute: bool
) -> None:
    """Real physics, contacts and falls: 3 frames per decision, no row after the last action."""
    states, arrays, shaped = replay(keys).states[:-1:3], make_demo(keys, absolute=absolute), make_demo(keys)
    ((game,), (note, *_)) = converted(arrays)
    assert note.startswith("absolute x" if absolute else "x relative")
    assert game.outcome == outcome
    assert game.rewards == pytest.approx(shaped["rewards"][:-1], abs=1e-4)
    assert game.observations == pytest.approx(observe_as("features", states), abs=1e-4)
    assert np.array_equal(game.actions, arrays["actions"][:-1, 0])
    assert game.metres == pytest.approx(states[-1, 0, 0] / 10, abs=0.1)
    assert game.times == pytest.approx(np.cumsum([0, *game.frames]) / 30)
    assert (game.frames == 3).mean() > 0.8
