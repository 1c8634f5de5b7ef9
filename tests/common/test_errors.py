"""Errors that get the name of what they are about."""

import pytest
from qwop.common.errors import BadInput, EnvironmentFailed, naming
from qwop.common.files import CannotBeWritten


@pytest.mark.parametrize(
    ("name", "message", "result"),
    [
        ("a", "is not a policy", "a: is not a policy"),
        ("policy", "expected a policy", "policy: expected a policy"),
        ("a.csv", "data.csv: has no rows", "a.csv: data.csv: has no rows"),
        ("a.csv", "a.csv: has no rows", "a.csv: has no rows"),
        ("a", "a/steps.parquet: has no rows", "a/steps.parquet: has no rows"),
        ("a+b (1)", "cannot read a+b (1): a folder", "cannot read a+b (1): a folder"),
    ],
)
def test_an_error_gets_a_name_that_it_does_not_give(name: str, message: str, result: str) -> None:
    with pytest.raises(BadInput) as raised, naming(name):
        raise BadInput(message)
    assert str(raised.value) == result


def test_an_error_keeps_its_kind_and_its_cause() -> None:
    with pytest.raises(CannotBeWritten, match=r"^run: the disk is full$") as raised, naming("run"):
        raise CannotBeWritten("the disk is full") from OSError("no space")
    assert isinstance(raised.value.__cause__, OSError)


def test_an_environment_that_fails_is_not_the_fault_of_a_file() -> None:
    with pytest.raises(EnvironmentFailed, match=r"^environment Odd-v0: its step failed"), naming("run.checkpoint"):
        raise EnvironmentFailed("environment Odd-v0: its step failed")
