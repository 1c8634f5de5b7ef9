"""The winner of a race."""

import numpy as np
import pytest
from qwop.envs.race.events import results


def race(*runners: tuple[bool, int, float]) -> list[float]:
    """The results of one race of runners (finished, frames, metres)."""
    finished, frames, metres = (np.array([column]) for column in zip(*runners, strict=True))
    return results(finished, frames, metres)[0].tolist()


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ((True, 1500, 101.0), (False, 300, 60.0), 1.0),  # finishing alone
        ((True, 1500, 101.0), (True, 1502, 101.0), 1.0),  # two frames earlier
        ((True, 1500, 101.0), (True, 1501, 101.0), 0.5),  # one frame is a tie
        ((False, 300, 30.6), (False, 900, 30.0), 1.0),  # the farther fall, sooner or later
        ((False, 300, 30.5), (False, 900, 30.0), 0.5),
        ((False, 300, -1.0), (False, 300, 2.0), 0.0),
    ],
)
def test_the_faster_finish_or_else_the_farther_fall_wins(
    one: tuple[bool, int, float], other: tuple[bool, int, float], result: float
) -> None:
    assert race(one, other) == [result, 1.0 - result]
    assert race(other, one) == [1.0 - result, result]


def test_only_one_of_three_wins_and_the_beaten_lose() -> None:
    assert race((False, 9, 5.0), (False, 9, 9.0), (False, 9, 8.0)) == [0.0, 1.0, 0.0]
    assert race((False, 9, 5.0), (False, 9, 9.0), (False, 9, 8.8)) == [0.0, 0.5, 0.5]


def test_races_are_judged_apart() -> None:
    metres = np.array([[1.0, 2.0], [4.0, 3.0]])
    finished, frames = np.zeros((2, 2), dtype=np.bool_), np.full((2, 2), 9)
    assert results(finished, frames, metres).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_a_lone_runner_neither_wins_nor_loses() -> None:
    assert race((True, 1500, 101.0)) == [0.5]
