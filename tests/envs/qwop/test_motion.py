"""A runner's motion from what was seen of it."""

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.envs import replay
from qwop.envs.engine import layout as at
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.motion import lean, states_of_observations
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


def test_a_runner_leans_little_from_upright(run: NDArray[np.float64]) -> None:
    assert np.abs(lean(run[600:900])).max() < 1
