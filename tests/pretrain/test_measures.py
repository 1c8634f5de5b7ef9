"""Accuracy, likelihood and calibration of probabilities, and the predictors that a clone must beat."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwop.pretrain.measures import majority, measure, repeat_last
from qwop.pretrain.rows import NONE, Rows


def test_accuracy_and_nats_of_two_decisions() -> None:
    found = measure([[0.8, 0.2], [0.6, 0.4]], [0, 1])
    assert found.accuracy == 0.5
    assert found.nats == pytest.approx(-(math.log(0.8) + math.log(0.4)) / 2)


def test_calibration_error_is_the_gap_between_confidence_and_accuracy() -> None:
    found = measure([[0.9, 0.1]] * 10 + [[0.3, 0.7]] * 30, [0] * 6 + [1] * 4 + [1] * 30)
    assert found.calibration_error == pytest.approx((10 * 0.3 + 30 * 0.3) / 40)


def test_a_probability_of_zero_costs_much_but_not_everything() -> None:
    assert measure([[1.0, 0.0]], [1]).nats == pytest.approx(69.08, abs=0.01)


@given(st.lists(st.floats(0.5, 1.0), min_size=1, max_size=40))
def test_calibration_of_right_predictions_is_their_missing_confidence(confidences: list[float]) -> None:
    probabilities = np.array([[c, 1 - c] for c in confidences])
    found = measure(probabilities, np.zeros(len(confidences), int))
    assert found.calibration_error == pytest.approx(1 - np.mean(confidences), abs=1e-9)


def rows(actions: list[int]) -> Rows:
    previous = np.array([NONE, *actions[:-1]])
    return Rows(np.zeros((len(actions), 1), dtype=np.float32), np.array(actions), previous)


def test_majority_counts_by_laplaces_rule() -> None:
    table = majority(rows([0, 0, 0, 1]), rows([2, 2]), actions=3)
    np.testing.assert_allclose(table, [[4 / 7, 2 / 7, 1 / 7]] * 2)


def test_repeat_last_gives_the_last_action_the_share_of_repeats() -> None:
    train = rows([0, 0, 0, 1])  # two repeats of three
    table = repeat_last(train, rows([1, 2]), actions=3)
    np.testing.assert_allclose(table[0], [4 / 7, 2 / 7, 1 / 7])  # nothing to repeat
    assert table[1, 1] == pytest.approx(3 / 5)
    assert table[1, 0] == pytest.approx(2 / 5 * (4 / 7) / (5 / 7))
    np.testing.assert_allclose(table.sum(axis=1), 1)


def test_the_only_action_is_certain() -> None:
    assert repeat_last(rows([0, 0]), rows([0, 0, 0]), actions=1).tolist() == [[1]] * 3
