"""Spaces of settings: what they take, what they refuse, and values as on the command line."""

from typing import Any

import optuna
import pytest
from qwop.common.errors import BadInput
from qwop.common.settings import read, to_plain
from qwop.study.settings import StudySettings

SPACE = {
    "algorithm.learning_rate": {"type": "float", "low": 1e-5, "high": 1e-2, "log": True},
    "loop.batch_size": {"type": "int", "low": 16, "high": 256},
    "algorithm.hidden": {"type": "categorical", "choices": ["[64]", "[64, 64]"]},
}


def study_of(space: Any) -> StudySettings:
    objective = {"file": "evaluation.json", "figure": "mean_return"}
    return read(StudySettings, {"command": "qwop-finetune", "objective": objective, "space": space}, "study")


def test_a_space_comes_back_unchanged() -> None:
    assert to_plain(study_of(SPACE))["space"] == SPACE


def test_values_are_drawn_within_the_space_and_written_as_on_the_command_line() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    rows = []
    for _ in range(50):
        trial = study.ask()
        rows.append([one.suggest(trial) for one in study_of(SPACE).space])
    rates, sizes, widths = zip(*rows, strict=True)
    assert all(1e-5 <= float(rate) <= 1e-2 for rate in rates)
    assert sum(float(rate) < 1e-3 for rate in rates) > 20  # two of three decades
    assert all(16 <= int(size) <= 256 for size in sizes)
    assert set(widths) == {"[64]", "[64, 64]"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"type": "real"}, "type=real: expected float, int or categorical"),
        ({"low": 1, "high": 2}, "type is not set: expected float, int or categorical"),
        ({"type": "float", "low": 1}, "high is missing: type=float needs it"),
        ({"type": "float", "low": 2, "high": 1}, "low=2.0: expected a number below high, 1.0"),
        ({"type": "int", "low": 1.5, "high": 3}, "low=1.5: expected a whole number"),
        ({"type": "int", "low": 0, "high": 3, "log": True}, "low=0.0: expected at least 1"),
        ({"type": "float", "low": 0, "high": 3, "log": True}, "low=0.0: expected more than 0"),
        ({"type": "float", "low": 0, "high": 3, "choices": ["a", "b"]}, "choices=[a, b]: not with type=float"),
        ({"type": "categorical"}, "choices is missing"),
        ({"type": "categorical", "choices": ["a"]}, "expected two different values or more"),
        ({"type": "categorical", "choices": ["a", "a"]}, "expected two different values or more"),
        ({"type": "categorical", "choices": ["a", "b"], "log": True}, "log=true: not with type=categorical"),
        ({"type": "categorical", "choices": ["a", "b"], "low": 1}, "low=1.0: not with type=categorical"),
        ({"type": "float", "lwo": 1}, "lwo: no such setting; the settings of study.space.loop.steps are name, type"),
        (3, "expected settings"),
    ],
)
def test_a_wrong_entry_is_refused_by_its_key(entry: Any, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        study_of({"loop.steps": entry})
    assert str(refusal.value).startswith("study.space.loop.steps")
    assert message in str(refusal.value)


def test_an_empty_space_is_refused() -> None:
    with pytest.raises(BadInput, match="expected one setting or more"):
        study_of({})
