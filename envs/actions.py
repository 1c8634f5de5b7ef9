"""Discrete actions of every form as numbers from 0, which policies choose and datasets hold.

`Discrete(n, start)` has n actions, from `start`. `MultiBinary(k)` has one for each of the 2ᵏ sets of its entries (entry
i is bit i of the number), `MultiDiscrete` one for each combination (the last entry changes fastest), `Tuple` and `Dict`
of these likewise. The environment gets its own form of the action (`IndexedActions`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import islice
from math import prod
from operator import index
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

from ..common.errors import LONGEST_REASON, BadInput, printable, quoted

Env = gymnasium.Env[Any, Any]
Space = gymnasium.Space[Any]
"""Any environment, and any space of its observations or actions."""

MOST_ACTIONS = 32_767
"""Actions of an environment, at most: episodes hold them as int16."""

MOST_JOINT = 1024
"""Combinations of several choices, at most: policies have an output, and episodes a probability, for each."""

WELL_KNOWN_NAMES: Mapping[str, tuple[str, ...]] = {
    "Acrobot": ("torque left", "no torque", "torque right"),
    "CartPole": ("push left", "push right"),
    "CliffWalking": ("up", "right", "down", "left"),
    "FrozenLake": ("left", "down", "right", "up"),
    "LunarLander": ("nothing", "left engine", "main engine", "right engine"),
    "MountainCar": ("push left", "no push", "push right"),
    "Taxi": ("down", "up", "right", "left", "pick up", "drop off"),
}
"""Names of the actions of Gymnasium's environments, as its documentation has them, by the names of these without the
version."""


_NO_NUMBERS = (bool, np.bool_)  # making the union of types at every step would cost more


def whole(number: Any) -> int:
    """The number as Python's; -1 for what is none. True is a whole number in Python, but not meant as one."""
    try:
        return -1 if isinstance(number, _NO_NUMBERS) else index(number)
    except TypeError:
        return -1


def number_below(count: int, name: str, value: Any) -> int:
    """The value as a whole number from 0 to `count` - 1; InvalidAction, with its name, for any other."""
    if not 0 <= (number := whole(value)) < count:
        raise gymnasium.error.InvalidAction(f"{name} {value!r:.60}, expected a whole number, 0 ... {count - 1}")
    return number


def action_count(space: Space, name: str) -> int:
    """Number of actions of environment `name`; BadInput for a space that is not discrete, or has too many."""
    count = _count(space)
    if count is None:
        continuous = isinstance(space, Box) and space.dtype.kind == "f"
        other = (
            "for continuous actions take Stable-Baselines3 (SAC, PPO) or CleanRL"
            if continuous
            else "wrap the environment so that it takes these (gymnasium.ActionWrapper)"
        )
        raise BadInput(
            f"{name}: its actions are {space}{', which are continuous' if continuous else ''}; expected Discrete(n), "
            f"MultiBinary, MultiDiscrete, or a Tuple or Dict of these; {other}"
        )
    most = MOST_ACTIONS if isinstance(space, Discrete) else MOST_JOINT
    if count > most:
        raise BadInput(
            f"{name}: its actions are {space}, {count:,} in all, expected at most {most:,}; wrap the environment so "
            "that it takes fewer (gymnasium.ActionWrapper)"
        )
    return count


def action_at(space: Space, index: int) -> Any:
    """The action that the environment takes for number `index`, from 0 to `action_count` - 1."""
    if isinstance(space, Discrete):
        return space.start.dtype.type(int(space.start) + index)
    if isinstance(space, MultiBinary):
        size = prod(space.shape)
        return np.array([index >> i & 1 for i in range(size)], dtype=space.dtype).reshape(space.shape)
    if isinstance(space, MultiDiscrete):
        places = np.unravel_index(index, tuple(space.nvec.ravel().tolist()))
        return (np.array(places).reshape(space.shape) + space.start).astype(space.dtype)
    parts, counts = _parts(space), [_count(part) or 0 for part in _parts(space)]
    places = np.unravel_index(index, counts)
    values = [action_at(part, int(place)) for part, place in zip(parts, places, strict=True)]
    return dict(zip(space, values, strict=True)) if isinstance(space, Dict) else tuple(values)


def index_of_action(space: Space, action: Any) -> int | None:
    """The number of an action in the environment's form, plain lists of it included; None if it has no such action."""
    if isinstance(space, Tuple | Dict):
        return _index_of_parts(space, action)
    try:
        values = np.asarray(action)
    except ValueError:  # lists of different lengths
        return None
    if values.dtype.kind not in ("iu" if isinstance(space, Discrete) else "iub") or values.shape != space.shape:
        return None
    if isinstance(space, Discrete):
        index = int(values) - int(space.start)
        return index if 0 <= index < space.n else None
    if isinstance(space, MultiBinary):
        bits = values.ravel().tolist()
        return sum(bit << i for i, bit in enumerate(bits)) if {*bits} <= {0, 1} else None
    if not isinstance(space, MultiDiscrete):
        return None
    sizes, places = space.nvec.ravel().tolist(), (values - space.start).ravel().tolist()
    fits = all(0 <= place < size for place, size in zip(places, sizes, strict=True))
    return int(np.ravel_multi_index(places, sizes)) if fits else None


def _index_of_parts(space: Any, action: Any) -> int | None:
    parts = _parts(space)
    if isinstance(space, Dict):
        values = [action.get(name) for name in space] if isinstance(action, Mapping) else []
    else:
        values = [*action] if isinstance(action, tuple | list) else []
    if len(values) != len(parts):
        return None
    places = [index_of_action(part, one) for part, one in zip(parts, values, strict=True)]
    counts = [_count(part) or 0 for part in parts]
    return None if None in places else int(np.ravel_multi_index(places, counts))  # type: ignore[arg-type]


def value_of_numbers(space: Space, numbers: Sequence[float]) -> Any:
    """The action or observation whose numbers are given side by side, in the order of the parts; None for another
    count of them."""
    return _shaped(space, iter(numbers)) if len(numbers) == _numbers_in(space) else None


def _numbers_in(space: Space) -> int:
    """Numbers that a value of a space has."""
    if isinstance(space, Tuple | Dict):
        return sum(map(_numbers_in, _parts(space)))
    return prod(space.shape or ())


def _shaped(space: Space, numbers: Iterator[float]) -> Any:
    if isinstance(space, Dict):
        return {name: _shaped(part, numbers) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(_shaped(part, numbers) for part in space.spaces)
    shape = space.shape or ()
    values = np.array([*islice(numbers, prod(shape))]).reshape(shape)
    whole = not isinstance(space, Box) and (values == np.rint(values)).all()  # also where others are not
    return values.astype(np.int64) if whole else values


def action_names(env: Env) -> tuple[str, ...] | None:
    """The names of an environment's actions: its own, or those of a well-known one.

    Otherwise, where its own actions are not the numbers from 0, their form as JSON (`"-1"`, `"[1, 0]"`), of which
    `index_of_action` is the inverse. None where numbers are all there is.
    """
    space = taken_actions(env)
    count = _count(space) or 0
    if (meanings := answer_of(env, "get_action_meanings")) is not None:
        listed = meanings.values() if isinstance(meanings, Mapping) else meanings
        # Escapes, because files hold names that can be printed.
        names = tuple(printable(str(name)) for name in listed) if isinstance(listed, Iterable) else ()
    elif isinstance(members := _actions_of(env), type) and issubclass(members, Enum):
        names = tuple(member.name for member in members)  # as MiniGrid has them
    else:
        names = WELL_KNOWN_NAMES.get("" if env.spec is None else env.spec.name, ())
    return names if len(names) == count else form_names(space)


def _actions_of(env: Env) -> Any:
    """The environment's own `actions`; None without them, or if it cannot tell them."""
    with suppress(Exception):
        return getattr(env.unwrapped, "actions", None)
    return None


def answer_of(env: Env, method: str) -> Any:
    """Return the answer of an environment's own method, called without arguments; None without one. BadInput for its
    exception."""
    function = getattr(env.unwrapped, method, None)
    try:
        return None if function is None else function()
    except Exception as error:
        id = "" if env.spec is None else f" {env.spec.id}"
        why = f"{type(error).__name__}: {quoted(str(error), LONGEST_REASON)}"
        raise BadInput(f"environment{id}: its {method} failed ({why}); mend the environment, or wrap it") from error


def form_names(space: Space) -> tuple[str, ...] | None:
    """The forms of all actions as JSON; None for numbers from 0."""
    if isinstance(space, Discrete) and space.start == 0:
        return None
    return tuple(json.dumps(plain_data(action_at(space, index))) for index in range(_count(space) or 0))


def taken_actions(env: Env) -> Space:
    """The environment's own action space, beneath `IndexedActions`."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, IndexedActions):
            return env.env.action_space
        env = env.env
    return env.action_space


class IndexedActions(gymnasium.ActionWrapper[Any, Any, Any]):
    """An environment whose discrete actions, of whatever form, are numbers from 0."""

    def __init__(self, env: Env, count: int) -> None:
        super().__init__(env)
        self.action_space = Discrete(count)

    def action(self, action: Any) -> Any:
        number = number_below(int(self.action_space.n), "action", action)  # type: ignore[attr-defined]
        return action_at(self.env.action_space, number)


def with_indexed_actions(env: Env) -> Env:
    """The environment with actions from 0; unchanged if it takes them as int64, or `action_count` refuses its own."""
    space, count = env.action_space, _count(env.action_space)
    is_numbered = isinstance(space, Discrete) and space.start == 0 and space.contains(np.int64(0))
    return env if count is None or count > MOST_ACTIONS or is_numbered else IndexedActions(env, count)


def _count(space: Space) -> int | None:
    """Number of elements of a space; None unless it is finite."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiBinary):
        return int(2 ** prod(space.shape))
    if isinstance(space, MultiDiscrete):
        return int(prod(space.nvec.ravel().tolist()))
    if not isinstance(space, Tuple | Dict):
        return None
    counts = [_count(part) for part in _parts(space)]
    return prod(one or 0 for one in counts) if counts and None not in counts else None


def _parts(space: Any) -> list[Space]:
    return list(space.spaces.values()) if isinstance(space, Dict) else list(space.spaces)


def plain_data(action: Any) -> Any:
    """An action as plain data, for comparison and JSON."""
    if isinstance(action, Mapping):
        return {str(name): plain_data(part) for name, part in action.items()}
    if isinstance(action, tuple | list):
        return [plain_data(part) for part in action]
    return np.asarray(action).tolist()
