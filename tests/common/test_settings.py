"""Settings declared once: checked however they are made, read from plain data and written back."""

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.common.settings import (
    NOT_SET,
    Settings,
    changes,
    choice_of,
    defaults,
    nested,
    no_such_setting,
    read,
    setting,
    to_plain,
)


@dataclass(frozen=True)
class Optimiser(Settings):
    """An optimiser."""

    rate: float = setting(1e-3, "Learning rate.", above=0)
    hidden: tuple[int, ...] = setting((64, 32), "Widths.", at_least=1)


@dataclass(frozen=True)
class Fast(Optimiser):
    """One with another default."""

    rate: float = 1e-2


@dataclass(frozen=True)
class Training(Settings):
    """One with settings of its own inside."""

    optimiser: Optimiser = nested(Optimiser, "How.")


@dataclass(frozen=True)
class Example(Settings):
    """All kinds of settings."""

    file: str = setting(help="A file.", example="a.txt")
    count: int = setting(3, "How many.", at_least=1, at_most=9)
    share: float = setting(0.5, "A fraction.", at_least=0, below=1)
    kind: str = setting("red", "A colour.", choices=("red", "green"))
    name: str | None = setting(None, "A name.")
    extra: Mapping[str, Any] = setting({}, "Anything.")
    inside: Optimiser = nested(Optimiser, "Beside the others.", inline=True)
    method: Optimiser | Fast = choice_of({"slow": Optimiser, "fast": Fast}, "slow", "How.", tag="is")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count > 5 and self.kind == "green":
            raise BadInput(f"count={self.count}: expected at most 5 with kind=green")


PLAIN = {
    "file": "x", "count": 4, "share": 0.25, "kind": "green", "name": None, "extra": {"a": 1}, "rate": 0.5,
    "hidden": [8], "method": {"is": "fast", "rate": 0.01, "hidden": [64, 32]},
}  # fmt: skip


def test_plain_data_become_the_object_and_come_back() -> None:
    made = read(Example, PLAIN)
    assert made == Example("x", 4, 0.25, "green", extra={"a": 1}, inside=Optimiser(0.5, (8,)), method=Fast())
    assert to_plain(made) == PLAIN
    assert isinstance(made.method, Fast)


def test_the_defaults_are_the_dataclass_s_and_what_is_required_is_left_open() -> None:
    assert defaults(Example) == {
        "file": NOT_SET, "count": 3, "share": 0.5, "kind": "red", "name": None, "extra": {}, "rate": 1e-3,
        "hidden": [64, 32],
    }  # fmt: skip
    assert Example("x").method == Optimiser()


def test_settings_stay_frozen_and_can_be_replaced() -> None:
    made = Example("x")
    with pytest.raises(FrozenInstanceError):
        made.count = 2  # type: ignore[misc]
    assert replace(made, count=2).count == 2
    with pytest.raises(BadInput, match="count=0"):
        replace(made, count=0)


def test_a_subclass_can_change_a_default_and_keeps_the_rest_of_the_declaration() -> None:
    assert Fast().rate == 1e-2
    with pytest.raises(BadInput, match=r"rate=-1\.0: expected a number, more than 0"):
        Fast(rate=-1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, r"place\.count=0: expected a whole number from 1 to 9 \(default: 3\)"),
        ({"count": 1.5}, r"place\.count=1\.5: expected a whole number"),
        ({"count": "x"}, r"place\.count=x: expected a whole number"),
        ({"count": True}, r"place\.count=true: expected a whole number"),
        ({"count": None}, r"place\.count=null: expected a whole number"),
        ({"count": [1, 2]}, r"place\.count=\[1, 2\]: expected a whole number"),
        ({"share": 1}, r"place\.share=1: expected a number, at least 0, less than 1 \(default: 0\.5\)"),
        ({"share": float("nan")}, r"place\.share=nan: expected a number"),
        ({"share": float("-inf")}, r"place\.share=-inf: expected a number"),
        ({"share": 10**400}, r"place\.share=1000+…: expected a number"),
        ({"hidden": [8, 2**63]}, r"hidden=.*: expected a list of whole numbers, each from 1 to 9,007,199,254,740,992"),
        ({"rate": 1e300}, r"place\.rate=1e\+300: expected a number, more than 0, at most 1e\+38"),
        ({"kind": "blue"}, r"place\.kind=blue: expected red or green \(default: red\)"),
        ({"name": ""}, r"place\.name=: expected a text, or null \(default: null\)"),
        ({"name": {"a": 1}}, r"place\.name=\{a: 1\}: expected a text, or null"),
        ({"file": None}, r"place\.file=null: expected a text$"),
        ({"file": NOT_SET}, r"place\.file is not set: expected a text, such as place\.file=a\.txt$"),
        ({"extra": 3}, r"place\.extra=3: expected settings"),
        ({"hidden": []}, r"place\.hidden=\[\]: expected a list of whole numbers, each at least 1"),
        ({"hidden": [3, 0]}, r"place\.hidden=\[3, 0\]"),
        ({"hidden": 3}, r"place\.hidden=3: expected a list"),
        ({"method": None}, r"place\.method=null: choose one of fast, slow, such as place\.method=slow"),
        ({"method": {"is": "big"}}, r"place\.method\.is=big: expected slow or fast, chosen by place\.method=slow"),
        ({"method": {}}, r"place\.method\.is is missing"),
        (
            {"method": {"is": "slow", "rate": 0, "hidden": [1]}},
            r"place\.method\.rate=0: expected a number",
        ),
        ({"cuont": 1}, r"place\.cuont: no such setting; did you mean place\.count\?"),
        ({"colour": 1}, r"place\.colour: no such setting; the settings of place are file, count, "),
        ({"count": 6}, r"place\.count=6: expected at most 5 with kind=green"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message) as refused:
        read(Example, {**PLAIN, **change}, "place")
    assert "\n" not in str(refused.value)


def test_the_default_of_settings_is_said_as_it_is_written() -> None:
    with pytest.raises(BadInput) as refused:
        read(Training, {"optimiser": None})
    assert str(refused.value) == "optimiser=null: expected settings (default: {rate: 0.001, hidden: [64, 32]})"


@pytest.mark.parametrize("name", [*PLAIN])
def test_a_setting_that_was_deleted_is_missed(name: str) -> None:
    rest = {key: value for key, value in PLAIN.items() if key != name}
    with pytest.raises(BadInput, match=f"^{name} (is missing|is not set)"):
        read(Example, rest)


def test_of_partial_data_the_rest_takes_its_defaults() -> None:
    assert read(Optimiser, {"rate": 1}, partial=True) == Optimiser(rate=1.0)


def test_changes_are_what_is_not_the_default() -> None:
    made = Optimiser(rate=0.5)
    assert changes(made) == {"rate": 0.5}
    assert read(Optimiser, changes(made), partial=True) == made


def test_whole_numbers_may_be_written_as_floats_and_texts_as_numbers() -> None:
    made = read(Example, {**PLAIN, "count": 4.0, "share": 0, "name": 7})
    assert (made.count, made.share, made.name) == (4, 0.0, "7")
    assert (type(made.count), type(made.share)) == (int, float)


def test_a_known_name_of_another_group_is_suggested() -> None:
    assert "did you mean algorithm.gamma?" in str(no_such_setting("gamma", ["seed", "algorithm.gamma"]))
