"""Warnings of a run before and while it trains."""

from typing import Any

import pytest
from qwop.commands import finetune
from qwop.finetune.agents.dqn.settings import DqnLoopSettings
from qwop.finetune.agents.settings import LiveSettings
from qwop.finetune.log import outside_warning
from qwop.finetune.main import length_notes, settings_notes
from qwop.finetune.schedules.phase import Phase, Schedule


@pytest.mark.parametrize(
    ("outside", "low", "high", "warned"),
    [(0.5, -2.0, 3.0, True), (0.1, -2.0, 3.0, False), (1.0, 0.0, 0.0, False), (None, None, None, False)],
    ids=["half", "few", "before the first reward", "a learner without bounds"],
)
def test_values_beyond_the_returns_are_warned_about(outside: Any, low: Any, high: Any, warned: bool) -> None:
    values = {"values_outside": outside, "value_low": low, "value_high": high}
    row = {"decisions": 320, **{f"learner/{name}": value for name, value in values.items() if value is not None}}
    found = outside_warning(row)
    assert (found is not None) is warned
    assert not warned or "50%" in str(found)


EIGHT_HUNDRED = LiveSettings(num_envs=8, steps=100)
MEMORY = DqnLoopSettings(num_envs=8, start=1000)


@pytest.mark.parametrize(
    ("loop", "lengths", "decisions", "said"),
    [
        (EIGHT_HUNDRED, (2400,), None, []),
        (EIGHT_HUNDRED, (800, 3000), None, []),  # by a twentieth
        (EIGHT_HUNDRED, (600, 1000), None, ["2,400 decisions are played in place of the schedule's 1,600"]),
        (MEMORY, (3200, 800), None, []),
        (MEMORY, (3200,), None, ["learning begins after 1,000 of 3,200 decisions"]),
        (EIGHT_HUNDRED, (0, 1, 2399), 800, ["phase of 1 is left out"]),  # the first was empty before
    ],
)
def test_lengths_that_surprise_are_noted(
    loop: LiveSettings, lengths: tuple[int, ...], decisions: int | None, said: list[str]
) -> None:
    count, phases = len(lengths), [Phase(f"of {length}", decisions=length) for length in lengths]
    notes = [*length_notes(loop, Schedule(phases, [None] * count, [0.99] * count, 1.0, decisions))]
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))


@pytest.mark.parametrize(
    ("line", "environment", "said"),
    [
        ("schedule=live-only algorithm=acer", "CartPole-v1", ["algorithm=acer has the settings for QWOP"]),
        ("schedule=live-only algorithm=acer", "QWOP-v1", []),
        ("schedule=live-only algorithm=ppo-small", "CartPole-v1", []),
        ("schedule=champion algorithm=acer", "QWOP-v1", ["made for algorithm=ppo; the run learns by acer"]),
    ],
)
def test_an_algorithm_that_schedule_or_environment_are_not_made_for_is_noted(
    line: str, environment: str, said: list[str]
) -> None:
    notes = [*settings_notes(finetune.read(line.split()), environment)]
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))
