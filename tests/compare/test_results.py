"""Lines and milestones of rows."""

import pytest
from qwop.common.errors import BadInput
from qwop.compare.main import tables_of
from qwop.compare.results import lines_of, milestones_of

from .rows import returns, run, runner


def test_a_line_has_means_intervals_and_the_difference_from_the_last_row() -> None:
    with_, without = lines_of({"with": returns(10.0, 30.0, 20.0), "without": returns(9.0, 27.0, 24.0)})
    assert (with_["mean"], with_["mean_low"], with_["mean_high"]) == (20.0, 10.0, 30.0)
    assert (with_["seeds"], with_["values"]) == (3, {0: 10.0, 1: 30.0, 2: 20.0})
    assert (with_["against"], with_["paired"], with_["difference"]) == ("without", True, 0.0)
    assert (with_["difference_low"], with_["difference_high"]) == (-4.0, 3.0)
    assert with_["improvement"] == pytest.approx(5 / 9)
    assert "difference" not in without


def test_rows_are_compared_with_the_row_that_is_named() -> None:
    a, b, c = lines_of({"a": returns(1.0, 2.0), "b": returns(2.0, 4.0), "c": returns(0.0, 1.0)}, against="b")
    assert (a["against"], a["difference"], c["difference"]) == ("b", -1.5, -2.5)
    assert "against" not in b


def test_fewer_seconds_are_an_improvement() -> None:
    fast, slow = [runner(0, 1.0, 45.0), runner(1, 0.9, 46.0)], [runner(0, 0.5, 60.0), runner(1, 0.4, 61.0)]
    lines = [one for one in lines_of({"fast": fast, "slow": slow}) if one["row"] == "fast"]
    assert {one["figure"]: (one["improvement"], one["difference"]) for one in lines} == {
        "share of games finished": (1.0, pytest.approx(0.5)),
        "metres": (1.0, pytest.approx(50.0)),
        "seconds to the finish": (1.0, -15.0),
    }


def test_a_seed_that_never_finishes_has_no_time_and_the_line_counts_it() -> None:
    lines = lines_of({"row": [runner(0, 1.0, 45.0), runner(1, 0.0, None)], "never": [runner(0, 0.0, None)]})
    one, none = (line for line in lines if line["figure"] == "seconds to the finish")
    assert (one["seeds"], one["runs"], one["values"], one["mean_low"]) == (1, 2, {0: 45.0}, None)
    assert (none["row"], none["seeds"], none.get("mean")) == ("never", 0, None)


def test_the_goal_makes_the_share_of_games_that_reach_it_a_figure() -> None:
    games = [{"reward": 100.0}, {"reward": 475.0}, {"reward": 500.0}, {"reward": 474.0}]
    lines = [*lines_of({"row": [run(0, games=games)]}, goal=475)]
    assert [(one["figure"], one["mean"]) for one in lines] == [
        ("mean return", 0.0), ("share of games with a return of 475 or more", 0.5),
    ]  # fmt: skip


def test_environments_are_compared_apart() -> None:
    rows = {name: returns(1.0, 2.0) for name in ("a", "b")} | {"c": [runner(0, 1.0, 50.0)], "d": [runner(0, 0.5, 50.0)]}
    lines = [*lines_of(rows, against="a")]
    assert {(one["row"], one.get("against")) for one in lines} == {("a", None), ("b", "a"), ("c", "d"), ("d", None)}


@pytest.mark.parametrize(
    ("rows", "against", "complaint"),
    [
        ({"a": returns(1.0)}, "b", "against=b: no such row; expected one of a"),
        ({"a": [*returns(1.0), runner(1, 1.0, 50.0)]}, None, "a: has runs of CartPole-v1 and of QWOP-v1"),
    ],
)
def test_what_cannot_be_compared_is_refused(rows: dict, against: str | None, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        list(lines_of(rows, against))


def log(*rows: tuple[int, float, float]) -> list[dict]:
    """Decisions, seconds, and the return of live play."""
    return [{"decisions": decisions, "time/seconds": now, "live/return": value} for decisions, now, value in rows]


def test_a_milestone_is_the_median_of_the_seeds_that_reached_it() -> None:
    runs = [
        run(0, log((100, 1.0, 20.0), (200, 2.0, 480.0), (300, 3.0, 490.0))),
        run(1, log((100, 1.5, 20.0), (400, 8.0, 475.0))),
        run(2, log((100, 1.0, 474.0))),
    ]
    first, second = milestones_of({"row": runs, "other": [run(0, log((100, 1.0, 20.0)))]})
    assert first == {
        "environment": "CartPole-v1", "milestone": "return of 475", "row": "row", "reached": 2, "seeds": 3,
        "decisions": 300.0, "seconds": 5.0,
    }  # fmt: skip
    assert (second["reached"], second["decisions"]) == (0, None)


def test_the_goal_is_the_milestone_where_one_is_given() -> None:
    (only,) = milestones_of({"row": [run(0, log((100, 1.0, -120.0), (200, 2.0, -99.0)), "Acrobot-v1")]}, goal=-110)
    assert (only["milestone"], only["decisions"]) == ("return of -110", 200.0)


def test_the_milestones_of_qwop_are_finishes_and_times() -> None:
    rows = [
        {"decisions": 10, "time/seconds": 1.0, "live/finish_share": 0.0},
        {"decisions": 20, "time/seconds": 2.0, "live/finish_share": 0.1, "live/best_seconds": 59.0},
        {"decisions": 30, "time/seconds": 3.0, "live/finish_share": 0.5, "live/best_seconds": 47.0},
    ]
    firsts = {one["milestone"]: one["decisions"] for one in milestones_of({"row": [runner(0, 1.0, 50.0, rows)]})}
    assert firsts == {
        "the first finish": 20, "half of the games finished": 30, "a game in 60 s": 20,
        "in 47.34 s (the published agent)": 30,
    }  # fmt: skip


def test_rows_without_learning_or_of_environments_that_are_not_imported_have_no_milestones() -> None:
    rows = {"learns": [run(0, log((100, 1.0, 480.0)))], "plays": [run(0)]}
    rows["elsewhere"] = [run(0, log((100, 1.0, 20.0)), "Nowhere-v0")]
    assert [one["row"] for one in milestones_of(rows)] == ["learns"]


def test_the_values_of_the_seeds_0_1_and_so_on_stand_alone_and_others_behind_their_seed() -> None:
    (_, _, rows) = next(tables_of([*lines_of({"in order": returns(1, 2), "later": returns(3, 4, first=5)})], []))
    assert [row[-1] for row in rows] == ["1, 2", "5: 3, 6: 4"]
