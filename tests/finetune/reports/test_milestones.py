import pytest
from qwop.finetune.reports.milestones import Row, milestones, seconds_of


def row(decisions: int, share: float = 0.0, mean: float | None = None, best: float | None = None, **more: float) -> Row:
    told = {"live/finish_share": share, "live/seconds_of_finishers": mean, "live/best_seconds": best}
    told |= {"decisions": decisions, "phase": "race", "speed/decisions_per_second": 100.0, **more}
    return {name: value for name, value in told.items() if value is not None}


ROWS = [
    row(1_000_000),
    row(2_000_000, 0.1, 44.0, 43.0, **{"live/frames": 4_100_000}),  # one fast game is not half of them
    row(3_000_000, 0.6, 50.0, 46.0, **{"live/frames": 6_000_000, "time/seconds": 7380.0}),
    row(4_000_000, 0.9, 45.0, 41.0),
]


def test_a_milestone_is_the_first_row_of_which_it_is_true() -> None:
    found = {name: cells for name, *cells in milestones(ROWS)}
    assert found["the first finish"] == ["race", "2,000,000", "4,100,000", "5:33:20"]
    assert found["half of the games finished"] == ["race", "3,000,000", "6,000,000", "2:03:00"]
    assert found["a game under 47.34 s (the published agent)"] == ["race", "2,000,000", "4,100,000", "5:33:20"]
    average = found["half of the games finished, under 47.34 s (the published agent) on average"]
    assert average[1:3] == ["4,000,000", "–"]
    assert found["half of the games finished, under 60 s on average"][1] == "3,000,000"
    assert found["a game under 40 s"] == ["–"] * 4


def test_where_a_log_tells_no_seconds_its_speeds_do() -> None:
    assert seconds_of(ROWS[:2]) == pytest.approx([10_000.0, 20_000.0])


def test_a_log_without_finishes_has_none() -> None:
    assert milestones([row(1000), {"decisions": 2, "phase": "a", "speed/decisions_per_second": 1.0}]) == []
