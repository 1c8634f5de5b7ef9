"""Choice of the opponents."""

import numpy as np
import pytest
from qwop.population.ratings import match_weights, opponent_probabilities


def test_weights_fall_with_the_difference_of_strength() -> None:
    leads = np.array([0.0, 100.0, 200.0, 400.0])
    assert match_weights(leads) == pytest.approx([1.0, 0.7024875, 0.2968785, 0.0491737], abs=1e-6)
    assert match_weights(-leads) == pytest.approx(match_weights(leads))


def test_the_probabilities_of_opponents() -> None:
    found = opponent_probabilities(np.array([1000.0, 1100.0, 1200.0, 900.0]), 0)
    assert found == pytest.approx([0.0, 0.4127779, 0.1744442, 0.4127779], abs=1e-6)
