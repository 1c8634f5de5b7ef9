"""Episodes of plain arrays: anybody's data, in the form that its environment has, with defaults for what it lacks."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from numpy.typing import ArrayLike, NDArray

from ..common.errors import BadInput, quoted
from ..common.files import named_path
from ..envs.actions import Space, actions_of, form_of, numbers_of, plain_data, value_of_numbers
from ..envs.observation import (
    plain_form,
    refuse_masked,
    without_tensors,
    without_texts,
    wrong_number,
)
from ..envs.spec import EnvironmentSpec
from .exchange.imported import ImportDefaults, imported_episode
from .folder import DESCRIPTION, read_info
from .schema import DatasetInfo, Episode
from .writer import DatasetWriter

STORED = {
    "behaviour_probabilities": np.float32,
    "times": np.float64,
    "policy_probabilities": np.float32,
    "actors": np.int8,
}
"""Types of other arrays of an `Episode`."""

MOST_WHOLE = 2**53
"""Limit of the numbers of actions: below it, a float is a whole number without doubt."""


def write_episode(
    folder: str | os.PathLike[str],
    observations: ArrayLike | Mapping[str, ArrayLike] | tuple[ArrayLike, ...],
    actions: ArrayLike | Mapping[str, ArrayLike] | tuple[ArrayLike, ...],
    rewards: ArrayLike | None = None,
    *,
    environment: str | EnvironmentSpec | None = None,
    terminated: bool | ArrayLike = False,
    truncated: bool | ArrayLike = False,
    player: str = "me",
    source: str = "arrays",
    epsilon: float = 0.05,
    **fields: Any,
) -> Path:
    """Add an episode of T decisions to the dataset in `folder`, made if need be; returns the episode's file.

    observations: [T + 1, …], one before each decision and the one that ended the episode. Of [T, …] the last counts
        for that one, too. In the environment's own form: discrete ones are whole numbers, a `Dict` a mapping of
        arrays, a `Tuple` a tuple of them.
    actions: [T, …], as the environment takes them, in the same form. rewards: [T]; None: zeros, which suffice for
        cloning.
    environment: its id, with its module in front if one registers it, or a specification with settings; None: that of
        the dataset in `folder`.
    terminated, truncated: the ending, or bool [T] of every decision, as in Gymnasium. Neither: truncated.
    epsilon: smoothing of the behaviour probabilities (`smoothed`). fields: others of `Episode`, such as seed or
        behaviour_probabilities.

    Raises BadInput for what does not fit the environment or the dataset.
    """
    folder = named_path(folder, "dataset's folder")
    if not isinstance(environment, str | EnvironmentSpec | None):
        raise BadInput(f"environment is a {type(environment).__name__}, expected an id such as CartPole-v1")
    if environment is None and not (folder / DESCRIPTION).exists():
        raise BadInput(f"environment is not given, and {folder} is no dataset yet; expected an id such as CartPole-v1")
    spec = EnvironmentSpec(environment) if isinstance(environment, str) else environment
    spec = spec or read_info(folder).environment
    form = ArrayForm.of(spec)
    defaults = ImportDefaults(player, epsilon)
    ends = {"terminated": terminated, "truncated": truncated}
    episode = form.episode(defaults, observations, actions, rewards, **ends, source=source, **fields)
    return DatasetWriter(folder, form.info).write(episode)


@dataclass(frozen=True)
class ArrayForm:
    """The form of an environment's data: the dataset's description, and the environment's own spaces."""

    info: DatasetInfo
    observations: Space
    actions: Space

    @classmethod
    def of(cls, environment: EnvironmentSpec | None) -> "ArrayForm":
        """Find the form of an environment; BadInput for None, and for an environment that cannot be made here."""
        if environment is None:
            raise BadInput("environment_id is not set: the file does not name its environment, such as QWOP-v1")
        spaces = environment.spaces
        info = DatasetInfo(environment, spaces.observation, spaces.actions, action_names=spaces.action_names)
        return cls(info, spaces.own_observations, spaces.own_actions)

    def episode(
        self,
        defaults: ImportDefaults,
        observations: Any,
        actions: Any,
        rewards: Any = None,
        *,
        terminated: Any = False,
        truncated: Any = False,
        **fields: Any,
    ) -> Episode:
        """An episode of arrays, see `write_episode`; BadInput names the array and what is wrong with it."""
        arrays = {"observations": observations, "actions": actions, "rewards": rewards, **fields}
        arrays = {name: without_tensors(values) for name, values in arrays.items()}
        for name, values in {**arrays, "terminated": terminated, "truncated": truncated}.items():
            refuse_masked(values, name)
        a, s = self.indices(arrays.pop("actions")), self._plain(arrays.pop("observations"))
        rewards = arrays.pop("rewards")
        if len(s) == len(a):
            s = np.concatenate([s, s[-1:]])
        if len(s) != len(a) + 1:
            raise BadInput(f"observations have {len(s):,} rows, expected {len(a) + 1:,}, one more than actions")
        r = np.zeros(len(a)) if rewards is None else np.asarray(rewards)
        if r.dtype.kind not in "fiub" or r.size != len(a):
            raise BadInput(f"rewards are {r.dtype} {list(r.shape)}, expected numbers [{len(a)}]")
        end, cut = (_ending(name, of, len(a)) for name, of in (("terminated", terminated), ("truncated", truncated)))
        more = {"truncated": cut or not end, **_as_stored(arrays)}
        return imported_episode(self.info, defaults, s, a, r.reshape(-1), terminated=end, **more)

    def indices(self, values: Any) -> NDArray[np.int64]:
        """Numbers of actions that are given as the environment takes them (see `write_episode`), or as an array of
        their names, int64 [T]."""
        are_texts = isinstance(values, np.ndarray) and values.dtype.kind == "U"
        if are_texts and {*values.tolist()} <= self.action_numbers.keys():
            return np.array([self.action_numbers[name] for name in values.tolist()], dtype=np.int64)
        rows: Any
        if isinstance(self.actions, Tuple | Dict) and not isinstance(values, np.ndarray):
            rows = _rows(self.actions, values, "actions")
            indices = [*map(self._numbers.get, map(form_of, rows))]
        else:
            rows = self._whole_numbers(np.asarray(values))
            different, which = np.unique(rows.reshape(len(rows), -1), axis=0, return_inverse=True)
            values = [value_of_numbers(self.actions, one.tolist()) for one in different]
            index_of = [self._numbers.get(form_of(value)) for value in values]
            indices = [index_of[place] for place in which.reshape(-1)]
        if None in indices:
            row = indices.index(None)
            raise BadInput(f"actions of row {row} are {quoted(_in_plain(rows[row]))}, {self._expected}")
        if not indices:
            raise BadInput("actions have no rows, expected one decision or more")
        return np.array(indices, dtype=np.int64)

    @cached_property
    def action_numbers(self) -> dict[str, int]:
        """The number of each action by its name; empty where actions have no names, or share one."""
        numbers = {name: number for number, name in enumerate(self.info.names or ())}
        return numbers if len(numbers) == self.info.actions else {}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return numbers_of(self.actions)

    @property
    def _expected(self) -> str:
        return f"expected what {self.actions} has, such as {quoted(_in_plain(actions_of(self.actions)[0]))}"

    def _whole_numbers(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        """Actions given as numbers, of any type; BadInput names the first row of which one is not whole."""
        if actions.dtype.kind not in "fiub" or not actions.ndim:
            raise BadInput(f"actions are {actions.dtype} {list(actions.shape)}, {self._expected}")
        whole = (actions > -MOST_WHOLE) & (actions < MOST_WHOLE)
        if actions.dtype.kind == "f":
            whole &= actions == np.rint(actions)
        wrong = np.flatnonzero(~whole.reshape(len(actions), -1).all(axis=1))
        if len(wrong):
            raise BadInput(f"actions of row {wrong[0]} are {quoted(actions[wrong[0]].tolist())}, {self._expected}")
        return actions.astype(np.int64)

    def _plain(self, observations: Any) -> NDArray[Any]:
        """Observations [rows, *shape] of the dataset's shape, from those of the environment's own form."""
        spec, own = self.info.observation, self.observations
        if isinstance(own, Tuple | Dict) and _are_values(own, observations):
            return self._plain_rows(_rows(own, observations, "observations"))
        try:
            array = np.asarray(observations)
        except ValueError:  # lists of different lengths
            raise BadInput(f"observations are lists of different lengths, expected what {own} has") from None
        if array.dtype.kind not in "fiub" or not array.ndim or not len(array):
            raise BadInput(f"observations are {array.dtype} {list(array.shape)}, expected numbers [T + 1, …]")
        if array.shape[1:] != spec.shape:
            if not isinstance(own, Box):
                return self._plain_rows(self._values(array))
            if array[:1].size != spec.size:
                raise BadInput(f"observations have shape {list(array.shape[1:])}, expected {spec}")
            array = array.reshape(len(array), *spec.shape)
        elif isinstance(own, Discrete | MultiBinary | MultiDiscrete) and not np.isin(array, (0, 1)).all():
            raise BadInput(f"observations hold other numbers than 0 and 1, expected what {own} has")
        if spec.dtype == "uint8" and array.dtype != np.uint8 and not np.array_equal(array, array.astype(np.uint8)):
            raise BadInput("observations are no whole numbers from 0 to 255")
        if spec.dtype == "float32":
            flat = array.reshape(len(array), -1)
            counts = (flat == np.rint(flat)).all(axis=0) & (np.abs(flat) < 2.0**63)
            if rounded := wrong_number(np.where(counts, flat, 0)):
                raise BadInput(f"observations{rounded}")
        return array

    def _values(self, numbers: NDArray[Any]) -> list[Any]:
        """Observations that are no `Box`, from numbers: those of a `Dict` or `Tuple` are side by side."""
        space = without_texts(self.observations)
        values = [value_of_numbers(space, row) for row in numbers.reshape(len(numbers), -1).tolist()]
        if any(value is None for value in values):
            raise BadInput(f"observations have shape {list(numbers.shape[1:])}, expected what {space} has")
        return values

    def _plain_rows(self, rows: Sequence[Any]) -> NDArray[Any]:
        space, (_, plain) = self.observations, plain_form(self.observations)
        numbers = []
        for number, row in enumerate(rows):
            try:
                numbers.append(plain(row))
            except (KeyError, IndexError, TypeError, ValueError):
                value = quoted(_in_plain(row))
                raise BadInput(f"observations of row {number} are {value}, expected what {space} has") from None
        return np.stack(numbers)


def _are_values(space: Space, values: Any) -> bool:
    """True for values of a `Dict` or `Tuple` in its own form: columns of all parts, or a list with a value a row."""
    kind = Mapping if isinstance(space, Dict) else tuple
    return isinstance(values, kind) or (isinstance(values, list) and bool(values) and isinstance(values[0], kind))


def _rows(space: Space, values: Any, name: str) -> list[Any]:
    """Values of a space, one a row: as given in a list, or from a mapping (`Dict`) or tuple (`Tuple`) of columns.

    name: of the values, for BadInput.
    """
    columns: dict[Any, list[Any]] = {}
    if isinstance(space, Dict) and isinstance(values, Mapping):
        columns = {key: _rows(part, values[key], name) for key, part in space.spaces.items() if key in values}
    elif isinstance(space, Tuple) and isinstance(values, tuple):
        columns = {key: _rows(*both, name) for key, both in enumerate(zip(space.spaces, values, strict=False))}
    elif isinstance(values, str) or not isinstance(values, Iterable):
        raise BadInput(f"{name} hold {quoted(values)}, expected rows of what {space} has")
    else:
        return [*values]
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{len(column):,} of {key!r}" for key, column in columns.items())
        raise BadInput(f"{name} have columns of different lengths ({lengths})")
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) if isinstance(space, Dict) else row for row in rows]


def _in_plain(value: Any) -> str:
    """A value in plain numbers and lists."""
    return str(plain_data(value))


def _as_stored(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of an `Episode` in its types, from lists and from arrays of other types."""
    results = dict(fields)
    for name, kind in STORED.items():
        if fields.get(name) is not None:
            try:
                with np.errstate(over="ignore"):  # an infinite number is refused where all are checked
                    results[name] = np.asarray(fields[name]).astype(kind)
            except (ValueError, TypeError):  # texts, or lists of different lengths
                raise BadInput(f"{name} are {quoted(fields[name])}, expected numbers") from None
    return results


def _ending(name: str, marks: Any, decisions: int) -> bool:
    """The ending as one truth; BadInput for rows of them of which another than the last is true."""
    flags = np.asarray(marks)
    if flags.dtype.kind not in "biuf" or not np.isin(flags, (0, 1)).all():
        raise BadInput(f"{name} is {quoted(marks)}, expected true or false")
    if flags.size == 1:
        return bool(flags.item())
    if flags.size != decisions:
        raise BadInput(f"{name} has shape {list(flags.shape)}, expected one truth, or one for each decision")
    flags = flags.reshape(-1).astype(np.bool_)
    if flags[:-1].any():
        raise BadInput(
            f"{name} is true after decision {int(flags.argmax()) + 1}, but the episode goes on to {decisions}"
        )
    return bool(flags[-1])
