"""A runner's motion from what was seen of it, and its strides."""

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.engine import layout as at
from qwop.envs.names import BODIES
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.motion import feet_apart, lean, states_of_observations, steady_stride
from qwop.envs.qwop.observations import observe
from qwop.policies.champion import CHAMPION, keys_path


@pytest.fixture(scope="module")
def run() -> NDArray[np.float64]:
    """States [n, 14, 6] of a whole run over 100 m."""
    return replay(read_keys(keys_path(CHAMPION))).states


def test_a_run_is_found_again_in_observations_of_every_third_frame(run: NDArray[np.float64]) -> None:
    seen = observe(run[::3])
    found = states_of_observations(seen, np.full(len(seen) - 1, 3))
    rows = run[::3]
    assert len(found) == 3 * (len(seen) - 1) + 1
    np.testing.assert_allclose(found[::3, :12, at.Y], rows[:, :12, at.Y], atol=1e-5)
    np.testing.assert_allclose(found[::3, :12, at.ANGLE], rows[:, :12, at.ANGLE], atol=1e-5)
    # Summed from velocities, so the place is known to a few parts in a thousand.
    assert np.abs(found[::3, :12, at.X] - rows[:, :12, at.X]).max() < 6
    between = np.abs(found[1:-1, :12, at.Y] - run[1 : len(found) - 1, :12, at.Y])
    assert np.median(between) < 0.02


def test_frames_may_lie_unevenly(run: NDArray[np.float64]) -> None:
    frames = np.random.default_rng(0).integers(3, 5, 200)
    rows = np.concatenate([[0], np.cumsum(frames)])
    found = states_of_observations(observe(run[rows]), frames)
    np.testing.assert_allclose(found[rows][:, :12, at.Y], run[rows][:, :12, at.Y], atol=1e-5)


def walker(length: int, speed: float, strides: int = 9) -> NDArray[np.float64]:
    """States whose right foot is before the left one as a sine has it."""
    frames = np.arange(length * strides)
    states = np.zeros((len(frames), len(BODIES), 6))
    states[:, :, at.X] = speed * frames[:, None]
    states[:, at.RIGHT_FOOT, at.X] += 5 * np.sin(2 * np.pi * (frames - 7) / length)
    return states


@pytest.mark.parametrize(("length", "speed"), [(20, 1.0), (45, 0.6)])
def test_a_stride_is_as_long_as_the_feet_take_to_repeat_themselves(length: int, speed: float) -> None:
    states = walker(length, speed)
    stride = steady_stride(states, (2 * speed * length, 8 * speed * length))
    assert stride.length == length
    assert stride.distance == pytest.approx(speed * length)
    assert abs(feet_apart(states)[stride.start]) < 5 * 2 * np.pi / length
    assert feet_apart(states)[stride.start + length // 4] > 4


def test_a_runner_has_strides_and_stays_upright(run: NDArray[np.float64]) -> None:
    stride = steady_stride(run, (600.0, 950.0))
    assert 0.5 < stride.distance / stride.length < 1.2  # units a frame
    shown = run[stride.start : stride.start + stride.length]
    assert np.abs(lean(shown)).max() < 1


@pytest.mark.parametrize("states", [walker(30, 1.0, strides=1), *(np.zeros((n, len(BODIES), 6)) for n in (0, 300))])
def test_without_strides_it_says_so(states: NDArray[np.float64]) -> None:
    with pytest.raises(BadInput, match="no steady strides"):
        steady_stride(states, (0.0, 500.0))
