"""`observation="pixels"`: pictures that follow the game, in the single and the vector form alike."""

import hashlib
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.envs import replay
from qwop.envs.engine import layout as at
from qwop.envs.names import ACTION_KEYS
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.pixels import observe_pictures
from qwop.policies.champion import keys_path

PICTURES = "ba108e89ffa00a7832faffa89b8e815a94e2f8a5afdbf2a3a244427e0deeb1d4"
"""SHA-256 of grey and coloured pictures along the champion's game."""


@pytest.fixture(scope="module")
def states() -> NDArray[np.float64]:
    """States [n, 14, 6] along the champion's game."""
    return replay(read_keys(keys_path("champion"))).states


def make(num_envs: int | None = None, **task: Any) -> Any:
    task = {"observation": "pixels", "size": 40, **task}
    if num_envs is None:
        return gymnasium.make("QWOP-v1", **task)
    return gymnasium.make_vec("QWOP-v1", num_envs=num_envs, **task)


@pytest.mark.parametrize("size", [40, 84])
@pytest.mark.parametrize(("stack", "frames"), [(1, ()), (3, (3,))])
@pytest.mark.parametrize(("colour", "colours"), [(False, ()), (True, (3,))])
def test_pictures_have_the_shape_of_their_space(
    size: int, stack: int, frames: tuple[int, ...], colour: bool, colours: tuple[int, ...]
) -> None:
    env = make(size=size, stack=stack, colour=colour)
    assert env.observation_space.shape == (*frames, size, size, *colours)
    assert env.observation_space.contains(env.reset(seed=0)[0])
    assert env.observation_space.contains(env.step(3)[0])


def test_the_bar_along_the_top_tells_how_far_he_is(states: NDArray[np.float64]) -> None:
    bars = 255 - observe_pictures(states[::50], size=84)[:, 0].astype(float)
    filled = (bars - bars.min()).sum(axis=1) / (bars.max() - bars.min())
    np.testing.assert_allclose(filled, np.clip(states[::50, at.TORSO, 0] / 1000, 0, 1) * 84, atol=0.1)


def test_every_pixel_is_the_same_on_every_machine(states: NDArray[np.float64]) -> None:
    pictures = [observe_pictures(states[::20], colour=colour).tobytes() for colour in (False, True)]
    assert hashlib.sha256(b"".join(pictures)).hexdigest() == PICTURES


def test_a_stack_holds_the_newest_pictures_and_begins_with_the_first() -> None:
    single, stacked = make(), make(stack=3)
    first, _ = single.reset(seed=0)
    seen, _ = stacked.reset(seed=0)
    assert all(np.array_equal(frame, first) for frame in seen)
    shown = [first, first, first]
    for action in (3, 5, 9, 8, 0):
        shown = [*shown[1:], single.step(action)[0]]
        assert np.array_equal(stacked.step(action)[0], shown)


def test_a_game_put_into_another_row_has_its_pictures() -> None:
    one, other = make(2, stack=3), make(2, stack=3)
    one.reset(seed=0)
    other.reset(seed=9)
    one.step(np.array([3, 9]))
    saved = one.save_game(0)
    assert np.array_equal(other.put_game(1, saved), saved["pictures"][..., 0])


def test_recorded_keys_give_the_pictures_of_the_game_they_are_of() -> None:
    task = {"observation": "pixels", "stack": 2, "size": 36, "colour": True}
    env = gymnasium.make("QWOP-v1", **task)
    seen = [env.reset(seed=0)[0]]
    actions = [3, 9, 5, 5, 8]
    for action in actions:
        seen.append(env.step(action)[0])
    info = qwop_info(**task)
    episode = episode_from_keys(ACTION_KEYS[actions].repeat(3), info, player="x", source="x", epsilon=0.1)
    assert info.observation.shape == (2, 36, 36, 3)
    assert episode.observations.dtype == np.uint8
    assert np.array_equal(episode.observations, seen)
