import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.datasets.behaviour_probabilities import smoothed
from qwop.datasets.schema import check_probabilities


def test_epsilon_is_spread_over_all_actions() -> None:
    """ε = 0.1 over 11 actions: 0.909 for the one taken, 0.00909 for each other."""
    probabilities = smoothed(np.array([3]), 11, 0.1)
    expected = np.full(11, 0.1 / 11)
    expected[3] = 10 / 11
    assert probabilities.dtype == np.float32
    assert probabilities[0] == pytest.approx(expected, abs=1e-7)


@given(st.lists(st.integers(0, 10), min_size=1), st.floats(1e-6, 1))
def test_smoothed_probabilities_are_valid(actions: list[int], epsilon: float) -> None:
    taken = np.array(actions, dtype=np.int16)
    probabilities = smoothed(taken, 11, epsilon)
    check_probabilities(probabilities, taken)
    assert (probabilities > 0).all()
    assert np.array_equal(probabilities.argmax(axis=1) == taken, np.full(len(taken), True)) or epsilon > 0.99


@pytest.mark.parametrize("epsilon", [0, -0.1, 1.5, float("nan")])
def test_an_impossible_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(BadInput, match="epsilon="):
        smoothed(np.array([0]), 2, epsilon)
