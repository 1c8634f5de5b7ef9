"""Verdicts on runs."""

from typing import Any

import pytest
from qwop.finetune.reports.verdict import is_better, verdict


def games(finishes: int, metres: float, median: float | None = None, episodes: int = 31) -> dict[str, Any]:
    return {"episodes": episodes, "finishes": finishes, "mean_metres": metres, "median_seconds": median}


def returns(mean: float, low: float, high: float) -> dict[str, Any]:
    return {"episodes": 100, "mean_return": mean, "mean_return_interval": [low, high]}


@pytest.mark.parametrize(
    ("before", "after", "better"),
    [
        (games(0, 0.3), games(29, 98.2, 43.2), True),
        (games(31, 100, 47.0), games(31, 100, 45.0), True),
        (games(31, 100, 47.0), games(31, 100, 46.9), False),
        (games(0, 0.3), games(0, 0.4), False),
        (games(0, 0.3), games(0, 20.0), True),
        (games(30, 99, 47.0), games(10, 60, 40.0), False),
        (returns(20, 15, 25), returns(200, 180, 220), True),
        (returns(20, 15, 25), returns(24, 18, 30), False),
    ],
)
def test_a_policy_is_better_if_it_clearly_finishes_more_is_faster_or_gets_farther(
    before: dict[str, Any], after: dict[str, Any], better: bool
) -> None:
    assert is_better(after, before) is better


def test_a_run_that_learned_says_so_alone() -> None:
    assert verdict(games(0, 0.3), games(29, 98.2, 43.2), 200_000, 0.03) == "learned"


def test_a_policy_that_tries_nothing_new_is_told_from_one_that_had_little_time() -> None:
    fallen = games(0, 0.3)
    assert verdict(fallen, fallen, 200_000, 0.03) == (
        "did not learn: its actions are nearly certain (entropy 0.03 nats), so it tries nothing new; "
        "try schedule=beginner, which shows it the embedded games"
    )
    assert "20,000 decisions brought no clear gain; try more decisions" in verdict(fallen, fallen, 20_000, 1.2)
    assert "a higher algorithm.entropy_coefficient" in verdict(returns(9, 8, 10), returns(9, 8, 10), 10**6, 0.01)


def test_a_run_that_lost_what_it_could_do_says_so() -> None:
    assert verdict(games(30, 99, 47.0), games(10, 60, 50.0), 10**6, 0.5).startswith("became worse: ")


def test_a_small_gain_in_every_figure_is_told_from_none() -> None:
    before = games(30, 99, 41.95) | {"drawn": games(92, 97, 43.13, episodes=100)}
    after = games(31, 100, 41.47) | {"drawn": games(98, 99, 42.40, episodes=100)}
    assert verdict(before, after, 10**6, 0.3).startswith("learned a little: ")
    slower = after | {"drawn": games(98, 99, 43.20, episodes=100)}
    assert verdict(before, slower, 10**6, 0.3).startswith("did not learn: ")
    assert verdict(before, before, 10**6, 0.3).startswith("did not learn: ")
