"""Comparisons of a run's evaluations, verdicts, and the best policy."""

import json
from pathlib import Path
from typing import Any

import pytest
from qwop.finetune.figures import best_policy, finalists, gain, verdict


def games(
    finishes: int, median: float | None = None, metres: float = 100.0, episodes: int = 31, drawn: Any = None
) -> dict[str, Any]:
    found = {"finishes": finishes, "episodes": episodes, "median_seconds": median, "mean_metres": metres}
    return found if drawn is None else {**found, "drawn": drawn}


def drawn(finishes: int, median: float | None = 48.0, metres: float = 80.0) -> dict[str, Any]:
    return games(finishes, median, metres, 100)


def returns(mean: float, low: float, high: float) -> dict[str, Any]:
    return {"episodes": 100, "mean_return": mean, "mean_return_interval": [low, high]}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (games(20, 47.0), games(31, 45.5), "finished 20 of 31 → 31 of 31, median 47.00 → 45.50 s"),
        (games(0, None, 3.0), games(2, 60.0, 33.3), "finished 0 of 31 → 2 of 31, 3.0 → 33.3 m on average"),
        (
            games(20, 47.0, drawn=drawn(50)),
            games(31, 45.5, drawn=drawn(90, 46.0)),
            "finished 20 of 31 → 31 of 31, median 47.00 → 45.50 s; "
            "drawn finished 50 of 100 → 90 of 100, median 48.00 → 46.00 s",
        ),
        ({"mean_return": 9.26}, {"mean_return": 200.0}, "mean return 9.3 → 200.0"),
        ({"mean_return": 0.012}, {"mean_return": 0.49}, "mean return 0.01 → 0.49"),
    ],
)
def test_the_gain_compares_the_end_with_the_start(before: dict[str, Any], after: dict[str, Any], said: str) -> None:
    assert gain(before, after) == said


CLONE, RUNNER, CHANCE = games(0, None, 0.3), games(31, 47.0), games(26, 42.5)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (CHANCE, games(15, 51.7), "became worse: "),
        (CHANCE, games(23, 42.5), "no clear gain: "),  # a tenth less, but within two standard errors
        (games(999, 42.5, episodes=1000), games(950, 42.5, episodes=1000), "no clear gain: "),  # but a twentieth
        (games(26, 44.0, drawn=drawn(85)), games(25, 44.0, drawn=drawn(47)), "became worse: "),
        (games(30, 47.0, drawn=drawn(97)), games(31, 47.0, drawn=drawn(96)), "no clear gain: "),
        (CLONE, games(31, 42.5), "learned"),
        (RUNNER, games(31, 45.0), "learned"),
        (RUNNER, games(31, 46.9), "no clear gain: "),
        (RUNNER, games(10, 40.0, 60.0), "became worse: "),
        (CLONE, games(0, None, 0.4), "no clear gain: "),
        (CLONE, games(0, None, 20.0), "learned"),
        (returns(7, 6.5, 9), returns(5, 4, 6), "became worse: "),
        (returns(7, 6.5, 9), returns(5, 4, 7), "no clear gain: "),
        (returns(20, 15, 25), returns(200, 180, 220), "learned"),
        (returns(20, 15, 25), returns(24, 18, 30), "no clear gain: "),
        ({"mean_return": 9.0}, {"mean_return": 5.0}, "no clear gain: "),  # one game each: nothing is known
    ],
)
def test_the_verdict_says_whether_it_learned_where_chance_does_not_explain_it(
    before: dict[str, Any], after: dict[str, Any], said: str
) -> None:
    assert verdict(before, after).startswith(said)


def write(run: Path, evaluations: list[dict[str, Any]]) -> list[str]:
    """Write the evaluations of a run's start and within a phase; return their names."""
    (run / "phases").mkdir()
    names = ["0-start", *(f"1-race-{number}00" for number in range(1, len(evaluations)))]
    for number, (name, one) in enumerate(zip(names, evaluations, strict=True)):
        document = {"episodes": 31, "decisions": 100 * number, **one}
        (run / "phases" / f"{name}.json").write_text(json.dumps(document))
    return names


@pytest.mark.parametrize(
    ("evaluations", "best"),
    [
        ([games(20, 45.0), games(31, 45.0), games(30, 44.0)], 1),  # finishes first
        ([games(31, 44.0, drawn=drawn(93)), games(31, 45.0, drawn=drawn(97)), games(30, 45.0, drawn=drawn(99))], 1),
        ([games(31, 43.5, drawn=drawn(99)), games(31, 42.7, drawn=drawn(97)), games(31, 42.0, drawn=drawn(96))], 1),
        ([games(31, 43.0), games(31, 44.0, drawn=drawn(90)), games(31, 43.5)], 1),  # some played no drawn games
        ([games(31, 45.0), games(31, 44.9), games(31, 45.1)], 1),  # then time
        ([games(0, None, 3.0), games(0, None, 40.0), games(0, None, 39.0)], 1),  # then metres
        ([games(31, 45.0), games(31, 45.0)], 0),  # the earliest of equals
        ([games(31, 45.0), games(30, 45.0)], 0),  # the initial policy may be it
        ([{"mean_return": 9.0}, {"mean_return": 11.0}, {"mean_return": 10.0}], 1),
    ],
)
def test_the_best_has_most_finishes_then_drawn_ones_but_for_chance_then_the_lowest_time(
    tmp_path: Path, evaluations: list[dict[str, Any]], best: int
) -> None:
    names = write(tmp_path, evaluations)
    found = best_policy(tmp_path)
    assert found.evaluation == tmp_path / "phases" / f"{names[best]}.json"
    policies = [tmp_path / "start.safetensors", *(tmp_path / "phases" / f"{name}.safetensors" for name in names[1:])]
    assert found.policy == policies[best]


def test_the_fastest_of_those_that_lead_by_greedy_games_play_drawn_ones(tmp_path: Path) -> None:
    slower = [games(31, 45.0 - number) for number in range(6)]
    names = write(tmp_path, [games(30, 40.0, drawn=drawn(100)), *slower])
    found = finalists(tmp_path)
    assert [one.evaluation.stem for one in found] == names[:2:-1]
