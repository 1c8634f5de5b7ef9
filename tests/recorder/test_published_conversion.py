from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.names import ACTION_KEYS, EVENT_COLUMNS, FEATURES
from qwop.envs.qwop.observations import observe
from qwop.envs.qwop.rewards import rewards_along
from qwop.recorder.expert_file import ExpertFile, read_expert_file
from qwop.recorder.published_conversion import Converted, convert

DEMOS = Path(__file__).parents[3].parent / "shared" / "demos"

TORSO_X = FEATURES.index("torso.position_x")


def recording(arrays: dict[str, Any]) -> ExpertFile:
    bounds = [*np.flatnonzero(arrays["episode_starts"]).tolist(), len(arrays["obs"])]
    games = tuple(slice(start, end) for start, end in pairwise(bounds))
    actions = arrays["actions"][:, 0].astype(np.int16)
    return ExpertFile("demo.npz", "0" * 12, arrays["obs"], actions, arrays["rewards"], games)


@given(
    st.lists(st.lists(st.sampled_from([3, 4]), min_size=5, max_size=40), min_size=1, max_size=3),
    st.floats(3, 25),
    st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_both_conventions_become_one(
    make_demo: Callable[..., Any], frames: list[list[int]], speed: float, seed: int
) -> None:
    """The same games, recorded with absolute x and score rewards or with relative x and shaped rewards."""
    games = [(lengths, speed, 6.0) for lengths in frames]
    absolute = convert(recording(make_demo(games, absolute=True, seed=seed)))
    relative = convert(recording(make_demo(games, absolute=False, seed=seed)))
    assert relative.notes[0].startswith("x relative")
    assert absolute.notes[0].startswith("absolute x")
    for one, other, lengths in zip(absolute.games, relative.games, frames, strict=True):
        assert one.frames.tolist() == other.frames.tolist() == lengths
        assert one.observations == pytest.approx(other.observations, abs=1e-5)
        assert one.rewards == pytest.approx(other.rewards, abs=1e-5)
        assert np.array_equal(one.actions, other.actions)
        assert one.metres == pytest.approx(other.metres, abs=0.05)
        assert not one.observations[:, TORSO_X].any()


def test_the_last_row_becomes_the_final_observation(make_demo: Callable[..., Any]) -> None:
    arrays = make_demo([((3,) * 9, 10, 6.0)])
    (game,) = convert(recording(arrays)).games
    assert game.observations.shape == (10, 71)
    assert np.array_equal(game.observations, arrays["obs"].astype(np.float32))
    assert np.array_equal(game.actions, arrays["actions"][:-1, 0])
    assert np.array_equal(game.rewards, arrays["rewards"][:-1].astype(np.float32))


def test_time_is_the_game_clock(make_demo: Callable[..., Any]) -> None:
    (game,) = convert(recording(make_demo([((3, 4, 3, 3, 4), 10, 6.0)]))).games
    assert game.times == pytest.approx(np.array([0, 3, 7, 10, 13, 17]) / 30)


def test_a_start_that_repeats_plays_no_frames(make_demo: Callable[..., Any]) -> None:
    arrays = make_demo([((3,) * 20, 10, 6.0)])
    arrays["obs"][0, [name.split(".")[1].startswith("velocity") for name in FEATURES]] = 0
    still = {name: np.concatenate([values[:1]] * 3 + [values]) for name, values in arrays.items()}
    still["rewards"][:3] = 0
    still["episode_starts"][1:4] = False
    (game,) = convert(recording(still)).games
    assert game.frames[:3].tolist() == [0, 0, 0]
    assert convert(recording(still)).frames_per_decision == pytest.approx(3, abs=0.2)


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize(
    ("frames", "speed", "head", "outcome"),
    [
        (100, 10.0, 6.0, "fell"),
        (100, 90.0, -4.0, "finished"),
        (100, 90.0, 6.0, "fell"),
        (100, 10.0, -4.0, "stopped"),
        (1300, 7.0, -4.0, "stopped"),
    ],
)
def test_the_outcome_follows_from_the_last_row(
    make_demo: Callable[..., Any], absolute: bool, frames: int, speed: float, head: float, outcome: str
) -> None:
    (game,) = convert(recording(make_demo([((3,) * frames, speed, head)], absolute=absolute))).games
    assert game.outcome == outcome


def test_a_game_of_one_row_is_dropped(make_demo: Callable[..., Any]) -> None:
    converted = convert(recording(make_demo([((3,) * 9, 10, 6.0), ((), 10, 6.0), ((3,) * 5, 10, 6.0)])))
    assert [len(game.actions) for game in converted.games] == [9, 5]
    assert "1 of a single row dropped" in converted.notes[-1]
    with pytest.raises(BadInput, match="no game has two or more rows"):
        convert(recording(make_demo([((), 10, 6.0)])))


@pytest.mark.parametrize(
    ("absolute", "spoil"),
    [
        (False, lambda a: {**a, "rewards": 2 * a["rewards"]}),
        (False, lambda a: {**a, "rewards": a["rewards"] - 3}),
        (False, lambda a: {**a, "rewards": np.round(a["rewards"] / 10, 1)}),
        (False, lambda a: {**a, "obs": a["obs"][:, ::-1]}),
        (True, lambda a: {**a, "obs": a["obs"][:, ::-1]}),
        (True, lambda a: {**a, "obs": np.random.default_rng(0).standard_normal(a["obs"].shape)}),
    ],
    ids=["twice the reward", "another reward", "score rewards", "columns", "columns, absolute", "noise"],
)
def test_numbers_that_qwop_cannot_produce_are_refused(
    make_demo: Callable[..., Any], absolute: bool, spoil: Callable[[Any], Any]
) -> None:
    arrays = make_demo([((3, 4) * 20, 10, 6.0)], absolute=absolute)
    convert(recording(arrays))
    with pytest.raises(BadInput, match="differs from Δx by its velocities"):
        convert(recording(spoil(arrays)))


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_game_of_the_simulator_converts_to_what_was_played(absolute: bool, seed: int) -> None:
    """Real physics, contacts and falls, in the published form: 3 frames per decision, no row after the last action."""
    random = np.random.default_rng(seed)
    actions = np.repeat(random.integers(11, size=60), 4)
    played = replay(np.repeat(ACTION_KEYS[actions], 3))
    assert played.events[-1, EVENT_COLUMNS.index("fallen")]
    states = played.states[:-1:3]
    x, y = states[:, 0, 0], states[:, 0, 1]
    observations = observe(states).astype(np.float64)
    knee = observations[:, [FEATURES.index("joint.leftKnee"), FEATURES.index("joint.rightKnee")]].min(axis=1)
    shaped = rewards_along("shaped", x, y, knee)
    if absolute:
        observations[:, [name.endswith("position_x") for name in FEATURES]] += x[:, None]
        rewards = np.diff(played.events[:-1:3, EVENT_COLUMNS.index("score")])
    else:
        rewards = shaped
    starts = np.arange(len(states)) == 0
    taken = actions[: len(states)].astype(np.int16)
    file = ExpertFile("sim.npz", "", observations, taken, np.append(rewards, -1.0), (slice(0, len(starts)),))
    (game,) = convert(file).games
    assert game.outcome == "fell"
    assert game.rewards == pytest.approx(shaped, abs=1e-4)
    assert game.observations == pytest.approx(observe(states), abs=1e-4)
    assert game.metres == pytest.approx(x[-1] / 10, abs=0.1)
    assert (game.frames == 3).mean() > 0.8
    assert convert(file).frames_per_decision == pytest.approx(3, abs=0.2)


def kuro_files() -> list[Path]:
    return sorted(DEMOS.glob("kuro_try*.npz"))


@pytest.mark.skipif(not DEMOS.is_dir(), reason="the published recordings are not shared here (../shared/demos)")
@pytest.mark.parametrize(("name", "relative", "frames"), [("kuro_try1", True, 3), ("human_try3", False, 6)])
def test_the_published_files_are_told_apart(name: str, relative: bool, frames: int) -> None:
    path = DEMOS / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not shared here")
    converted: Converted = convert(read_expert_file(path))
    assert converted.notes[0].startswith("x relative" if relative else "absolute x")
    assert round(converted.frames_per_decision) == frames
    assert len(converted.games) == 10
    whole = np.concatenate([game.frames for game in converted.games])
    assert np.isin(whole, [frames, frames + 1]).mean() > 0.85


@pytest.mark.skipif(not DEMOS.is_dir(), reason="the published recordings are not shared here (../shared/demos)")
def test_the_four_files_of_kurodo_hold_31_finished_games_of_40() -> None:
    games = [game for path in kuro_files() for game in convert(read_expert_file(path)).games]
    if len(games) != 40:
        pytest.skip("not the four files that are known")
    finished = [game for game in games if game.outcome == "finished"]
    assert len(finished) == 31
    assert all(98.9 < game.metres < 101.5 for game in finished)
    assert all(game.metres < 80 for game in games if game.outcome == "fell")
    assert sum(game.outcome == "fell" for game in games) == 9
