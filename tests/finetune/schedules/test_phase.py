"""Phases as they are written, and the schedule that they make."""

from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.common.settings import read, to_plain
from qwop.finetune.schedules.phase import Phase, PhaseValues, Ramp, RestartSettings, Schedule
from qwop.finetune.settings import ScheduleSettings

ALONE = Phase("alone", hours=1.0)
MIXED = Phase("mixed", hours=0.5, demonstrations=Ramp(1.0, 0.0))


def test_an_hour_is_an_hour_of_game_time() -> None:
    for scale, lengths in ((1.0, (32_400, 18_000)), (0.1, (3240, 1800))):
        assert Schedule((ALONE, MIXED), [None, 10.0], [0.99, 0.99], scale).lengths == lengths
    with pytest.raises(BadInput, match=r"schedule\.scale"):
        Schedule((ALONE,), [9.0], [0.99], 1e-9)


def test_phases_follow_each_other_each_at_its_own_rate_and_discount_and_then_it_is_finished() -> None:
    one = Schedule((Phase("none", hours=0.0), ALONE, MIXED), [None, 10.0, None], [0.5, 0.9, 0.8], 0.01)
    assert one.lengths == (0, 360, 162)
    assert (one.phase, one.remaining) == (ALONE, 522)
    assert not one.advance(90)
    assert (one.phase, one.index, one.remaining, one.values) == (ALONE, 1, 432, ALONE.at(0.25, 0.9))
    assert one.advance(400)
    assert (one.phase, one.progress) == (MIXED, 0.0)
    assert not one.advance(81)
    assert one.values == MIXED.at(0.5, 0.8)
    assert one.advance(100)
    assert one.finished


def test_the_values_of_a_phase_are_those_of_its_ramps_at_this_moment() -> None:
    phase = Phase(
        "x", 1.0, Ramp(1.0, 0.0), Ramp(1.0, 0.2), Ramp(0.4, 0.0), Ramp(0.0, 2.0), Ramp(1.0, 3.0), critic_only=True
    )
    assert phase.at(0.25, 0.9) == PhaseValues(
        gamma=0.9,
        demonstrations=0.75,
        learning_rate=0.8,
        imitation=pytest.approx(0.3),
        kickstarting=0.5,
        entropy=1.5,
        live=True,
        critic_only=True,
        uses_demonstrations=True,
    )
    shown = Phase("shown", 1.0, Ramp(1.0, 0.0), live=False).at(1.0, 0.9)
    assert (shown.live, shown.demonstrations, shown.uses_demonstrations) == (False, 0.0, True)


@pytest.mark.parametrize(
    ("decisions", "lengths"), [(75_000, (50_000, 25_000)), (10, (7, 3)), (2, (1, 1)), (1, (1, 0)), (10**9, None)]
)
def test_decisions_of_the_whole_schedule_are_shared_in_proportion(
    decisions: int, lengths: tuple[int, ...] | None
) -> None:
    phases = (Phase("one", 2.0), Phase("two", None, decisions=36_000))
    made = Schedule(phases, [10.0, 10.0], [0.99, 0.99], 1.0, decisions)
    assert made.planned == decisions
    assert lengths is None or made.lengths == lengths


def test_a_stage_has_the_lengths_that_its_phases_have_in_the_whole_schedule() -> None:
    whole = (Phase("one", 1), Phase("two", 2), Phase("three", 1))
    for phases, lengths in (
        ((whole[0], Phase("two", 0), Phase("three", 0)), (25, 0, 0)),
        ((Phase("one", 0), *whole[1:]), (0, 50, 25)),
    ):
        stage = Schedule(phases, [None] * 3, [0.99] * 3, 1.0, decisions=100, whole=whole)
        assert stage.lengths == lengths
        assert stage.index == lengths.index(max(lengths))


def test_phases_are_read_from_data_and_come_back_as_they_were_written() -> None:
    written = {
        "first": {"hours": 2, "critic_only": True, "restarts": {"share": 0.5, "metres": [38, 50]}},
        "second": {"hours": 0.5, "demonstrations": [1, 0], "learning_rate": 0.1, "live": False},
    }
    settings = read(ScheduleSettings, {"phases": written})
    assert settings.phases == (
        Phase("first", 2.0, critic_only=True, restarts=RestartSettings(0.5, (38.0, 50.0))),
        Phase("second", 0.5, demonstrations=Ramp(1, 0), learning_rate=Ramp(0.1, 0.1), live=False),
    )
    assert to_plain(settings)["phases"] == written


def test_a_phase_that_restarts_from_demonstrations_needs_them_and_keeps_them_out_of_memory() -> None:
    for source, needs in (("demonstrations", True), ("falls", False)):
        late = {"hours": 1, "restarts": {"share": 0.5, "source": source}}
        (phase,) = read(ScheduleSettings, {"phases": {"late": late}}).phases
        assert phase.needs_demonstrations is needs
        assert not phase.uses_demonstrations


NUMBER = r"expected a number or \[start, end\], at least 0"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"schedule\.phases\.x\.hours is not set"),
        ({"hours": -1}, r"schedule\.phases\.x\.hours=-1: expected a number"),
        ({"hours": [1, 2]}, "expected a number"),
        ({"hours": 1, "demonstrations": [1, 2, 3]}, NUMBER),
        ({"hours": 1, "demonstrations": "all"}, f"demonstrations=all: {NUMBER}"),
        ({"hours": 1, "live": 0}, "true or false"),
        ({"hours": 1, "live": False}, "nothing to learn from"),
        ({"hours": 1, "horus": 2}, r"x\.horus: no such setting; did you mean schedule\.phases\.x\.hours\?"),
        ({"hours": 1, "name": "y"}, r"x\.name: no such setting"),
        ({"hours": 1, "entropy": 10**400}, r"x\.entropy=1000+…: expected a number"),
        ({"hours": 1, "entropy": [1, float("nan")]}, r"x\.entropy=\[1, nan\]: expected a number"),
        ({"hours": 1, "restarts": {"metres": [1, 2]}}, r"x\.restarts"),
        ({"hours": 1, "restarts": {"share": 1.5, "metres": [1, 2]}}, r"x\.restarts"),
        ({"hours": 1, "restarts": {"share": 0.5, "metres": [2, 1]}}, r"x\.restarts"),
        ({"hours": 1, "restarts": {"share": 0.5, "source": "trips"}}, r"x\.restarts"),
        ({"hours": 1, "restarts": {"share": 0.5, "seconds": 0}}, r"x\.restarts"),
    ],
)
def test_a_phase_that_cannot_be_read_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read(ScheduleSettings, {"phases": {"x": settings}}, "schedule")
