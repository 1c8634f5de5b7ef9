"""Warnings of a run while it trains."""

from typing import Any

import pytest
from qwop.finetune.agents.dqn.settings import DqnLoopSettings
from qwop.finetune.agents.settings import LiveSettings
from qwop.finetune.log import outside_warning
from qwop.finetune.main import length_notes
from qwop.finetune.schedules.phase import Phase, Schedule


def row(**learner: float) -> dict[str, Any]:
    return {"decisions": 320, **{f"learner/{name}": value for name, value in learner.items()}}


def test_values_beyond_the_returns_are_warned_about() -> None:
    said = outside_warning(row(values_outside=0.5, value_low=-2.0, value_high=3.0))
    assert said is not None
    assert "50% of the critic's values are beyond the returns seen so far (-2 to 3, scaled)" in said


@pytest.mark.parametrize(
    "learner",
    [{}, {"values_outside": 0.1, "value_low": -2.0, "value_high": 3.0}],
    ids=["a learner without bounds", "few are"],
)
def test_other_values_are_not(learner: dict[str, float]) -> None:
    assert outside_warning(row(**learner)) is None


def test_before_the_first_reward_no_value_is_said_to_be_beyond_the_returns() -> None:
    assert outside_warning(row(values_outside=1.0, value_low=0.0, value_high=0.0)) is None


def test_a_schedule_that_whole_iterations_make_longer_is_said_so() -> None:
    loop = LiveSettings(num_envs=8, steps=100)
    assert not [*length_notes(loop, schedule(2400))]
    assert not [*length_notes(loop, schedule(800, 3000))]  # by a twentieth
    (said,) = length_notes(loop, schedule(600, 1000))
    assert "2,400 decisions are played in place of the schedule's 1,600" in said
    assert "loop.num_envs × loop.steps = 800" in said


def test_a_memory_that_takes_a_quarter_of_the_schedule_to_fill_is_named() -> None:
    loop = DqnLoopSettings(num_envs=8, start=1000)
    assert not [*length_notes(loop, schedule(3200, 800))]
    (said,) = length_notes(loop, schedule(3200))
    assert said.startswith("warning: learning begins after 1,000 of 3,200 decisions")


def test_a_phase_of_which_nothing_is_left_is_named() -> None:
    (said,) = length_notes(LiveSettings(num_envs=8, steps=100), schedule(0, 1, 2399, decisions=800))
    assert said.startswith("note: phase of 1 is left out")  # the first was empty before


def schedule(*lengths: int, decisions: int | None = None) -> Schedule:
    count, phases = len(lengths), [Phase(f"of {length}", decisions=length) for length in lengths]
    return Schedule(phases, [None] * count, [0.99] * count, 1.0, decisions)
