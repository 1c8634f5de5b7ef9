"""The space of a study: settings of its command, each with a range of numbers or a list of choices."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from ..common.errors import BadInput, quoted
from ..common.schema import Entries, Expected
from ..common.settings import Settings, Several, plain_entries, read_entries

if TYPE_CHECKING:
    from optuna.trial import Trial  # --help does without it

FLOAT, INT, CATEGORICAL = ("float", "int", "categorical")

Values = Mapping[str, str]
"""A point of the space: each setting's value as on the command line."""


class Parameter(Settings):
    """A setting that a study searches."""

    name: str
    """The setting, as on the command line."""
    type: Annotated[Literal["float", "int", "categorical"], Field(examples=[FLOAT])]
    """Kind of its values."""
    low: float | None = None
    """Lowest value of a number."""
    high: float | None = None
    """Highest value of a number."""
    log: bool = False
    """Draw a number uniformly in its logarithm."""
    choices: Several[str] | None = None
    """Values of a categorical setting, as on the command line; a list in quotes, '[64, 64]'."""

    def check(self) -> None:
        kind, values = self.type, {name: getattr(self, name) for name in ("low", "high", "choices")}
        for name, value in values.items():
            if value is not None and (name == "choices") is not (kind == CATEGORICAL):
                raise BadInput(f"{name}={quoted(value)}: not with type={kind}")
            if value is None and (name == "choices") is (kind == CATEGORICAL):
                raise BadInput(f"{name} is missing: type={kind} needs it")
        if self.choices is not None:
            if self.log:
                raise BadInput("log=true: not with type=categorical")
            if len(set(self.choices)) < max(2, len(self.choices)):
                raise BadInput(f"choices={quoted(self.choices)}: expected two different values or more")
            return
        low, high = self._range
        for name, value in (("low", low), ("high", high)) if kind == INT else ():
            if value != int(value):
                raise BadInput(f"{name}={quoted(value)}: expected a whole number, for type=int")
        if not low < high:
            raise BadInput(f"low={quoted(low)}: expected a number below high, {quoted(high)}")
        if self.log and low <= 0:
            positive = "at least 1" if kind == INT else "more than 0"
            raise BadInput(f"low={quoted(low)}: expected {positive}, for log=true")

    @property
    def _range(self) -> tuple[float, float]:
        assert self.low is not None
        assert self.high is not None
        return self.low, self.high

    def suggest(self, trial: "Trial") -> str:
        """The value that a trial has, or draws now, as on the command line."""
        if self.choices is not None:
            return self.in_words(trial.suggest_categorical(self.name, self.choices))
        low, high = self._range
        if self.type == INT:
            return self.in_words(trial.suggest_int(self.name, int(low), int(high), log=self.log))
        return self.in_words(trial.suggest_float(self.name, low, high, log=self.log))

    @property
    def extremes(self) -> tuple[str, ...]:
        """The ends of the range, or all choices, as on the command line."""
        return self.choices if self.choices is not None else tuple(map(self.in_words, self._range))

    def in_words(self, value: Any) -> str:
        """A value that Optuna suggests, as on the command line."""
        if self.type == INT:
            return str(int(value))
        return repr(float(value)) if self.type == FLOAT else str(value)


SPACE = "one setting or more, {name: {type: float, low: …}}"


def parse_space(node: Any, place: str = "study.space") -> tuple[Parameter, ...]:
    """A space of plain data: setting → its values; BadInput, which names the `place`, for anything else."""
    return read_entries(Parameter, node, SPACE, place)


Space = Annotated[
    tuple[Parameter, ...], Entries(Parameter), BeforeValidator(lambda node: parse_space(node, "")),
    PlainSerializer(plain_entries), Expected(SPACE),
]  # fmt: skip


def in_words(space: Sequence[Parameter], values: Mapping[str, Any]) -> Values:
    """Optuna's values as on the command line."""
    return {one.name: one.in_words(values[one.name]) for one in space}
