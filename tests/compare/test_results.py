"""Statistics against values worked out by hand; lines and milestones of rows."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from qwop.common.errors import BadInput
from qwop.compare.results import estimate, improvement, interquartile_mean, lines_of, mean, milestones_of


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        ([3.0], 3.0),
        ([1.0, 2.0, 9.0], 4.0),  # ⌊3/4⌋ = 0: the mean
        ([5.0, 1.0, 2.0, 3.0, 40.0, 4.0, 6.0, 7.0], 4.5),  # of 3, 4, 5, 6
        ([0.0] * 7 + [1.0] * 3, 1 / 6),  # ⌊10/4⌋ = 2 at each end leave 5 zeros and a one
    ],
)
def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end(values: list[float], middle: float) -> None:
    assert estimate(interquartile_mean, values)[0] == pytest.approx(middle)


def test_intervals_are_the_percentiles_of_all_resamples() -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    every = np.array(list(itertools.product(values, repeat=len(values))))
    for statistic, exact in (
        (mean, every.mean(axis=1)),
        (interquartile_mean, np.sort(every, axis=1)[:, 1:3].mean(axis=1)),
    ):
        assert [*estimate(statistic, values)[1:]] == np.quantile(exact, [0.025, 0.975]).tolist()


@pytest.mark.parametrize(
    ("row", "other", "probability", "ends"),
    [
        ([1.0, 4.0], [2.0, 2.0], 0.5, (0.0, 1.0)),  # a resample of the row is 11, 14, 41 or 44, so 0, ½, ½ or 1
        ([3.0], [1.0, 3.0], 0.75, (None, None)),  # a tie counts half; a single seed has no interval
        ([1.0, 2.0, 3.0], [0.0], 1.0, (None, None)),
        ([0.0], [1.0, 2.0, 3.0], 0.0, (None, None)),
        ([1.0, 4.0], [2.0, 3.0, 1.0, 0.0], 5.5 / 8, (0.125, 1.0)),
    ],
)
def test_improvement_is_the_share_of_pairs_that_a_row_wins_and_rows_are_resampled_apart(
    row: list[float], other: list[float], probability: float, ends: tuple[Any, Any]
) -> None:
    assert estimate(improvement, row, other) == (pytest.approx(probability), *ends)
    assert estimate(mean, [3.0]) == (3.0, None, None)


def run(seed: int, environment: str = "CartPole-v1", **greedy: Any) -> dict[str, Any]:
    return {"seed": seed, "environment": environment, "greedy": greedy, "drawn": {}}


def returns(*values: float, first: int = 0) -> list[dict[str, Any]]:
    """Runs with these mean returns, and seeds from `first`."""
    return [run(seed, mean_return=value) for seed, value in enumerate(values, first)]


def runner(seed: int, share: float, seconds: float | None) -> dict[str, Any]:
    """A run of QWOP."""
    figures = {"finish_share": share, "mean_metres": 100 * share, "median_seconds": seconds, "mean_return": 1.0}
    return run(seed, "QWOP-v1", **figures)


def test_a_line_has_means_intervals_and_the_difference_from_the_last_row() -> None:
    with_, without = lines_of({"with": returns(10.0, 30.0, 20.0), "without": returns(9.0, 27.0, 24.0)})
    assert (with_["mean"], with_["mean_low"], with_["mean_high"], with_["iqm"]) == (20.0, 10.0, 30.0, 20.0)
    assert (with_["seeds"], with_["values"]) == (3, {0: 10.0, 1: 30.0, 2: 20.0})
    assert (with_["against"], with_["paired"], with_["difference"]) == ("without", True, 0.0)
    assert (with_["difference_low"], with_["difference_high"]) == (-4.0, 3.0)
    assert with_["improvement"] == pytest.approx(5 / 9)
    assert "difference" not in without


def test_equal_seeds_are_paired_and_others_left_out() -> None:
    """Each seed gains 1: the difference is certain, however much the seeds differ."""
    names = ("paired", "difference", "difference_low", "difference_high")
    line, _ = lines_of({"row": returns(11.0, 21.0, 41.0, 0.0), "other": returns(99.0, 20.0, 40.0)[1:]})
    assert [line[name] for name in names] == [True, 1, 1, 1]
    line, _ = lines_of({"row": returns(0.0, 2.0), "other": returns(10.0, 14.0, first=2)})
    assert [line[name] for name in names] == [False, -11, -14, -8]


def test_fewer_seconds_are_an_improvement_and_a_seed_that_never_finishes_has_none() -> None:
    fast, slow = [runner(0, 1.0, 45.0), runner(1, 0.9, 46.0)], [runner(0, 0.5, 60.0), runner(1, 0.4, 61.0)]
    lines = [one for one in lines_of({"fast": fast, "slow": slow}) if one["row"] == "fast"]
    assert [(one["figure"], one["improvement"], one["difference"]) for one in lines] == [
        ("share of games finished", 1.0, pytest.approx(0.5)),
        ("metres", 1.0, 50.0),
        ("seconds to the finish", 1.0, -15.0),
    ]
    lines = [*lines_of({"row": [runner(0, 1.0, 45.0), runner(1, 0.0, None)], "never": [runner(0, 0.0, None)]})]
    one, none = (line for line in lines if line["figure"] == "seconds to the finish")
    assert (one["seeds"], one["runs"], one["values"], one["mean_low"]) == (1, 2, {0: 45.0}, None)
    assert (none["row"], none["seeds"], none.get("mean")) == ("never", 0, None)


def test_environments_are_compared_apart_with_the_row_that_is_named() -> None:
    rows = {name: returns(1.0, 2.0) for name in ("a", "b")} | {"c": [runner(0, 1.0, 50.0)], "d": [runner(0, 0.5, 50.0)]}
    lines = [*lines_of(rows, against="a")]
    assert {(one["row"], one.get("against")) for one in lines} == {("a", None), ("b", "a"), ("c", "d"), ("d", None)}
    with pytest.raises(BadInput, match="against=e: no such row; expected one of a, b"):
        list(lines_of(rows, "e"))


def curves(
    *rows: tuple[str, int, int, float, float], column: str = "live/return", id: str = "CartPole-v1"
) -> pd.DataFrame:
    """Row, seed, decisions, seconds, and the column."""
    return pd.DataFrame(rows, columns=["row", "seed", "decisions", "time/seconds", column]).assign(environment=id)


def test_a_milestone_is_the_median_of_the_seeds_that_reached_it() -> None:
    logs = curves(
        ("row", 0, 100, 1.0, 20.0), ("row", 0, 200, 2.0, 480.0), ("row", 0, 300, 3.0, 490.0),
        ("row", 1, 100, 1.5, 20.0), ("row", 1, 400, 8.0, 475.0), ("row", 2, 100, 1.0, 474.0),
        ("other", 0, 100, 1.0, 20.0),
    )  # fmt: skip
    first, second = milestones_of(pd.concat([logs, curves(("far", 0, 1, 1.0, 480.0), id="Nowhere-v0")]))
    assert first == {
        "environment": "CartPole-v1", "milestone": "return of 475", "row": "row", "reached": 2, "seeds": 3,
        "decisions": 300.0, "seconds": 5.0,
    }  # fmt: skip
    assert (second["row"], second["reached"], second["decisions"]) == ("other", 0, None)


def test_the_milestones_of_qwop_are_finishes_and_times() -> None:
    shares = [("row", 0, decisions, 1.0, share) for decisions, share in ((10, 0.0), (20, 0.1), (30, 0.5))]
    logs = curves(*shares, column="live/finish_share", id="QWOP-v1").assign(**{"live/best_seconds": [np.nan, 59, 47]})
    assert {one["milestone"]: one["decisions"] for one in milestones_of(logs)} == {
        "the first finish": 20, "half of the games finished": 30, "a game in 60 s": 20,
        "in 47.34 s (the published agent)": 30,
    }  # fmt: skip
