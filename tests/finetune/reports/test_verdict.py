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


def test_a_run_that_learned_says_so_only_if_that_counts_as_solved() -> None:
    untrained, halfway, landing = returns(-180, -200, -160), returns(64, 40, 88), returns(231, 220, 242)
    assert verdict(untrained, landing, 300_000, 0.8, 200.0) == "learned"
    assert verdict(untrained, halfway, 100_000, 0.8, 200.0) == (
        "learned, but not to the end: mean return 64.0, and 200 counts as solved; "
        "try more decisions (schedule.decisions, or schedule.scale)"
    )
    assert "mean return 0.49, and 0.7 counts" in verdict(returns(0, 0, 0), returns(0.49, 0.4, 0.6), 50_000, 0.6, 0.7)
    assert verdict(untrained, halfway, 100_000, 0.8) == "learned"


def test_a_policy_that_was_good_and_stayed_so_is_not_said_to_have_failed() -> None:
    assert verdict(returns(231, 220, 242), returns(235, 225, 245), 10**5, 0.8, 200.0).startswith("stayed as good")
    assert verdict(returns(300, 290, 310), returns(231, 220, 242), 10**5, 0.8, 200.0).startswith("became worse")
    assert verdict(returns(90, 70, 110), returns(95, 75, 115), 10**5, 0.8, 200.0).startswith("did not learn")


def test_a_policy_that_tries_nothing_new_is_told_from_one_that_had_little_time() -> None:
    fallen = games(0, 0.3)
    assert verdict(fallen, fallen, 200_000, 0.03) == (
        "did not learn: its actions are nearly certain (entropy 0.03 nats), so it tries nothing new; "
        "try schedule=person, which shows it the embedded games"
    )
    assert "20,000 decisions brought no clear gain; try more decisions" in verdict(fallen, fallen, 20_000, 1.2)
    assert verdict(fallen, fallen, 20_000, 1.2).endswith("or another schedule")
    assert verdict(returns(9, 8, 10), returns(9, 8, 10), 10**6, 1.0).endswith("or another algorithm")
    assert "a higher algorithm.entropy_coefficient" in verdict(returns(9, 8, 10), returns(9, 8, 10), 10**6, 0.01)


def test_a_run_that_lost_what_it_could_do_says_so() -> None:
    assert verdict(games(30, 99, 47.0), games(10, 60, 50.0), 10**6, 0.5).startswith("became worse: ")


def test_a_small_gain_in_every_figure_is_told_from_none() -> None:
    before = games(30, 99, 41.95) | {"drawn": games(92, 97, 43.13, episodes=100)}
    after = games(31, 100, 41.47) | {"drawn": games(98, 99, 42.40, episodes=100)}
    assert verdict(before, after, 10**6, 0.3).startswith("learned a little: ")
    slower = after | {"drawn": games(98, 99, 43.20, episodes=100)}
    assert verdict(before, slower, 10**6, 0.3).startswith("did not learn: ")
    fewer = after | {"drawn": games(91, 97, 42.40, episodes=100)}  # one of a hundred is chance
    assert verdict(before, fewer, 10**6, 0.3).startswith("learned a little: ")
    assert verdict(before, after | {"drawn": games(85, 95, 42.40, episodes=100)}, 10**6, 0.3).startswith(
        "did not learn: "
    )
    assert verdict(before, games(31, 100, 41.95) | {"drawn": before["drawn"]}, 10**6, 0.3).startswith(
        "learned a little: "
    )
    assert verdict(before, before, 10**6, 0.3).startswith("did not learn: ")


def test_a_runner_whose_games_nearly_all_finish_is_not_said_to_have_failed() -> None:
    before = games(30, 99.6, 41.85) | {"drawn": games(100, 100.6, 43.00, episodes=100)}
    after = games(31, 100.4, 41.60) | {"drawn": games(97, 99.3, 42.43, episodes=100)}
    assert verdict(before, after, 10**6, 0.3).startswith("stayed as good as it was: ")
    fallen = after | {"drawn": games(60, 80, 42.43, episodes=100)}
    assert verdict(before, fallen, 10**6, 0.3).startswith("became worse: ")
    unsure = before | {"drawn": games(94, 97, 42.43, episodes=100)}
    assert verdict(unsure, unsure, 10**6, 0.3).startswith("did not learn: ")
