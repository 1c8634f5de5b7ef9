"""Settings: checked however they are made, read from plain data and written back."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import Field, ValidationError
from qwop.common.errors import BadInput
from qwop.common.help import sentences
from qwop.common.schema import Entries
from qwop.common.settings import (
    Count,
    HomePath,
    Positive,
    Settings,
    Several,
    read,
    to_plain,
)


class Slow(Settings):
    """An optimiser."""

    name: Literal["slow"] = "slow"
    rate: Positive = 1e-3
    """Learning rate."""
    hidden: Several[Count] = (64, 32)
    """Widths."""


class Fast(Slow):
    """One with another default."""

    name: Literal["fast"] = "fast"  # type: ignore[assignment]
    rate: Positive = 1e-2


class Step(Settings):
    """A step of several."""

    name: str
    length: Positive
    """Length."""


class Example(Settings):
    """All kinds of settings."""

    file: Annotated[HomePath, Field(examples=["a.txt"])]
    """A file."""
    count: Annotated[int, Field(ge=1, le=9)] = 3
    """A number."""
    share: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """A fraction."""
    kind: Literal["red", "green"] = "red"
    """A colour."""
    lag: Literal[0, 1] = 0
    """Frames."""
    name: str | None = None
    """A name."""
    extra: Mapping[str, Any] = {}
    """Anything."""
    inside: Slow = Slow()
    """Beside the others."""
    method: Annotated[Slow | Fast, Field(discriminator="name")] = Slow()
    """A method."""
    steps: Annotated[tuple[Step, ...], Entries(Step, "one step or more")] = (Step(name="one", length=1.0),)
    """Steps by name."""

    def check(self) -> None:
        if self.count > 5 and self.kind == "green":
            raise BadInput(f"count={self.count}: expected at most 5 with kind=green")


PLAIN = {
    "file": "x", "count": 4, "share": 0.25, "kind": "green", "lag": 1, "name": None, "extra": {"a": 1},
    "inside": {"name": "slow", "rate": 0.5, "hidden": [8]},
    "method": {"name": "fast", "rate": 0.01, "hidden": [64, 32]},
    "steps": {"one": {"length": 1.0}, "two": {"length": 2.5}},
}  # fmt: skip


def test_plain_data_become_the_object_and_come_back() -> None:
    settings = read(Example, PLAIN)
    steps = (Step(name="one", length=1.0), Step(name="two", length=2.5))
    inside = Slow(rate=0.5, hidden=(8,))
    assert settings == Example(
        file="x", count=4, share=0.25, kind="green", lag=1, extra={"a": 1}, inside=inside, method=Fast(), steps=steps
    )
    assert to_plain(settings) == PLAIN
    assert isinstance(settings.method, Fast)


def test_what_is_missing_takes_its_default_and_a_group_without_a_name_its_default_option() -> None:
    assert read(Example, {"file": "x", "method": {"rate": 2}}) == Example(file="x", method=Slow(rate=2.0))


def test_settings_stay_frozen_and_are_checked_again_when_they_change() -> None:
    settings = Example(file="x")
    with pytest.raises(ValidationError, match="frozen"):
        settings.count = 2  # type: ignore[misc]
    assert settings.with_(count=2).count == 2
    for change in ({"count": 0}, {"count": 6, "kind": "green"}):
        with pytest.raises(BadInput, match=r"^count="):
            settings.with_(**change)


def test_no_settings_are_copied_without_checks() -> None:
    process = subprocess.run(
        ["git", "grep", "-nE", r"model_copy\(|model_construct\(", "--", "*.py", ":!tests/common/test_settings.py"],
        cwd=Path(__file__).parent, capture_output=True, text=True,
    )  # fmt: skip
    assert process.stdout == "", "with_() builds anew and checks"


def test_a_subclass_can_change_a_default_and_keeps_bounds_and_sentence() -> None:
    assert Fast().rate == 1e-2
    assert sentences(Fast)["rate"] == "Learning rate."
    with pytest.raises(BadInput, match=r"rate=-1\.0: expected a number, more than 0"):
        Fast(rate=-1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, r"place\.count=0: expected a whole number from 1 to 9 \(default: 3\)"),
        ({"count": 1.5}, r"place\.count=1\.5: expected a whole number"),
        ({"count": "3"}, r"place\.count=3: expected a whole number"),
        ({"count": True}, r"place\.count=true: expected a whole number"),
        ({"count": None}, r"place\.count=null: expected a whole number"),
        ({"share": 1}, r"place\.share=1: expected a number, at least 0, less than 1 \(default: 0\.5\)"),
        ({"share": float("nan")}, r"place\.share=nan: expected a number"),
        ({"share": 10**400}, r"place\.share=1000+…: expected a number"),
        ({"inside": {"hidden": [8, 2**63]}}, r"hidden=.*: expected at most 9,007,199,254,740,992"),
        ({"inside": {"rate": 1e300}}, r"inside\.rate=1e\+300: expected at most 1e\+38"),
        ({"kind": "blue"}, r"place\.kind=blue: expected red or green \(default: red\)"),
        ({"lag": True}, r"place\.lag=true: expected 0 or 1"),
        ({"name": ""}, r"place\.name=: expected a text, or null \(default: null\)"),
        ({"name": "a\0b"}, r"place\.name=a\\x00b: expected a text"),
        ({"name": {"a": 1}}, r"place\.name=\{a: 1\}: expected a text, or null"),
        ({"file": None}, r"place\.file=null: expected a text$"),
        ({"inside": {"hidden": []}}, r"place\.inside\.hidden=\[\]: expected a list of whole numbers, each at least 1"),
        ({"inside": 3}, r"place\.inside=3: expected settings"),
        ({"method": {"name": "big"}}, r"place\.method\.name=big: expected slow or fast"),
        ({"method": {"raet": 1}}, r"place\.method\.raet: no such setting; did you mean place\.method\.rate\?"),
        ({"steps": {}}, r"place\.steps=\{\}: expected one step or more"),
        ({"steps": {"one": 3}}, r"place\.steps\.one=3: expected settings"),
        ({"steps": {"one": {"length": 1}, "two": {"length": -1}}}, r"place\.steps\.two\.length=-1: expected a number"),
        ({"steps": {"one": {"length": 1, "name": "x"}}}, r"place\.steps\.one\.name: no such setting"),
        ({"steps": 3}, r"place\.steps=3: expected one step or more"),
        ({"steps": {"one": {}}}, r"place\.steps\.one\.length is not set: expected a number"),
        ({"steps": {"one": {"lenght": 1}}}, r"place\.steps\.one\.lenght: no such .* mean place\.steps\.one\.length\?"),
        ({"rate": 1}, r"place\.rate: no such setting; did you mean place\.method\.rate\?"),
        ({"colour": 1}, r"place\.colour: no such setting; the settings of place are file, count, "),
        ({"count": 6}, r"place\.count=6: expected at most 5 with kind=green"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message) as refusal:
        read(Example, {**PLAIN, **change}, "place")
    assert "\n" not in str(refusal.value)


def test_a_required_setting_is_missed_with_an_example_and_an_unknown_one_named_before_it() -> None:
    with pytest.raises(BadInput, match=r"^file is not set: expected a text, such as file=a\.txt$"):
        Example()
    with pytest.raises(BadInput, match=r"^flie: no such setting; did you mean file\?"):
        Example(flie="x")


def test_numbers_may_be_of_another_kind_where_nothing_is_lost_and_texts_numbers() -> None:
    settings = Example(file=7, count=4.0, share=np.float32(0.5), lag=1)
    assert (settings.file, settings.count, settings.share) == ("7", 4, 0.5)
    assert (type(settings.count), type(settings.share)) == (int, float)
    assert Slow(hidden=[np.int64(3)]).hidden == (3,)
