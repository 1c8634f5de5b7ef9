import pytest
from qwop.finetune.reports.milestones import Row, milestones, seconds_of
from qwop.finetune.reports.report import milestone_rows


def row(decisions: int, share: float = 0.0, mean: float | None = None, best: float | None = None, **more: float) -> Row:
    told = {"live/finish_share": share, "live/seconds_of_finishers": mean, "live/best_seconds": best}
    told |= {"decisions": decisions, "phase": "race", "speed/decisions_per_second": 100.0, **more}
    return {name: value for name, value in told.items() if value is not None}


ROWS = [
    row(1000),
    row(2000, 0.1, 44.0, 43.0, **{"live/frames": 4100}),  # one fast game is not half of them
    row(3000, 0.6, 50.0, 46.0, **{"live/frames": 6000, "time/seconds": 7380.0}),
    row(4000, 0.9, 45.0, 41.0),
]


def test_a_milestone_is_the_first_row_of_which_it_is_true() -> None:
    found = {one.name: (one.decisions, one.frames, one.seconds) for one in milestones(ROWS)}
    assert found["the first finish"] == (2000, 4100, 20.0)
    assert found["half of the games finished"] == (3000, 6000, 7380.0)
    assert found["a game under 47.34 s (the published agent)"] == (2000, 4100, 20.0)
    assert found["half of the games finished, under 47.34 s (the published agent) on average"][0] == 4000
    assert found["half of the games finished, under 60 s on average"][0] == 3000
    assert found["a game under 40 s"] == (None, None, None)


def test_where_a_log_tells_no_seconds_its_speeds_do() -> None:
    assert seconds_of(ROWS[:2]) == pytest.approx([10.0, 20.0])


def test_a_log_without_finishes_has_none() -> None:
    assert milestones([row(1000), {"decisions": 2, "phase": "a", "speed/decisions_per_second": 1.0}]) == []


def test_people_read_millions_hours_and_dashes() -> None:
    told = {name: others for name, *others in milestone_rows(ROWS)}
    assert told["half of the games finished"] == ["race", "0.0 M", "0.0 M", "2 h 03 min"]
    assert told["a game under 40 s"] == ["–", "–", "–", "–"]
