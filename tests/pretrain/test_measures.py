"""Accuracy, likelihood and calibration of probabilities, and the predictors that a clone must beat."""

import math

import numpy as np
import pytest
from qwop.pretrain.measures import majority, measure, repeat_last
from qwop.pretrain.rows import NONE, Rows


def test_accuracy_nats_and_calibration() -> None:
    two = measure([[0.8, 0.2], [0.6, 0.4]], [0, 1])
    assert two.accuracy == 0.5
    assert two.nats == pytest.approx(-(math.log(0.8) + math.log(0.4)) / 2)
    many = measure([[0.9, 0.1]] * 10 + [[0.3, 0.7]] * 30, [0] * 6 + [1] * 4 + [1] * 30)
    assert many.calibration_error == pytest.approx((10 * 0.3 + 30 * 0.3) / 40)  # confidence less accuracy
    assert measure([[1.0, 0.0]], [1]).nats == pytest.approx(69.08, abs=0.01)  # much, but not everything


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
    assert repeat_last(rows([0, 0]), rows([0, 0, 0]), actions=1).tolist() == [[1]] * 3
