"""Warnings of a run while it trains."""

from typing import Any

import pytest
from qwop.finetune.loop import Progress
from qwop.finetune.training import outside_warning


def progress(**learner: float) -> Progress:
    row: dict[str, Any] = {"decisions": 320, **{f"learner/{name}": value for name, value in learner.items()}}
    return Progress(320, 320, "alone", row)


def test_values_beyond_the_returns_are_warned_about() -> None:
    said = outside_warning(progress(values_outside=0.5, value_low=-2.0, value_high=3.0))
    assert said is not None
    assert "50% of the critic's values are beyond the returns seen so far (-2 to 3, scaled)" in said


@pytest.mark.parametrize(
    "learner",
    [{}, {"values_outside": 0.1, "value_low": -2.0, "value_high": 3.0}],
    ids=["a learner without bounds", "few are"],
)
def test_other_values_are_not(learner: dict[str, float]) -> None:
    assert outside_warning(progress(**learner)) is None


def test_before_the_first_reward_no_value_is_said_to_be_beyond_the_returns() -> None:
    assert outside_warning(progress(values_outside=1.0, value_low=0.0, value_high=0.0)) is None
