"""Discrete actions of every form as numbers from 0, which policies choose and datasets hold.

`Discrete(n, start)` has n actions, from `start`. `MultiBinary(k)` has one for each of the 2ᵏ sets of its entries (entry
i is bit i of the number), `MultiDiscrete` one for each combination (the last entry changes fastest), `Tuple` and `Dict`
of these likewise. The environment gets its own form of the action.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import islice, product
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


def actions_of(space: Space) -> list[Any]:
    """Every action of a space that `action_count` takes, as the environment takes it, in the order of the numbers."""
    rows: Any
    if isinstance(space, Discrete):
        return [space.start.dtype.type(int(space.start) + number) for number in range(int(space.n))]
    if isinstance(space, MultiBinary):
        rows = [[number >> entry & 1 for entry in range(prod(space.shape))] for number in range(_count(space) or 0)]
        return [*np.array(rows, space.dtype).reshape(-1, *space.shape)]
    if isinstance(space, MultiDiscrete):
        rows = [*product(*map(range, space.nvec.ravel().tolist()))]
        return [*(np.array(rows).reshape(-1, *space.shape) + space.start).astype(space.dtype)]
    combinations = product(*(actions_of(part) for _, part in parts_of(space)))
    return [dict(zip(space, one, strict=True)) for one in combinations] if isinstance(space, Dict) else [*combinations]


def actions_by_number(space: Space) -> list[Any] | None:
    """`actions_of` a space; None if it takes numbers from 0 as int64, or if `action_count` refuses it."""
    count = _count(space)
    is_numbered = isinstance(space, Discrete) and space.start == 0 and space.contains(np.int64(0))
    return None if count is None or count > MOST_ACTIONS or is_numbered else actions_of(space)


def numbers_of(space: Space) -> dict[str, int]:
    """The number of every action by its form (`form_of`)."""
    return {form_of(action): number for number, action in enumerate(actions_of(space))}


def form_of(action: Any) -> str:
    """An action as JSON, such as `[1, 0]`: the same for arrays and for plain lists of it."""
    return json.dumps(plain_data(action), sort_keys=True, default=str)


def plain_data(value: Any) -> Any:
    """An action or observation as plain data."""
    if isinstance(value, Mapping):
        return {str(name): plain_data(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, tuple | list):  # entries of a `MultiBinary` may be truths
        return [int(part) if isinstance(part, bool) else plain_data(part) for part in value]
    return value


def value_of_numbers(space: Space, numbers: Sequence[float]) -> Any:
    """The action or observation whose numbers are given side by side, in the order of the parts; None for another
    count of them."""
    rest = iter(numbers)
    with suppress(ValueError):  # too few
        value = _shaped(space, rest)
        return None if [*rest] else value
    return None


def _shaped(space: Space, numbers: Iterator[float]) -> Any:
    if isinstance(space, Dict | Tuple):
        parts = {name: _shaped(part, numbers) for name, part in parts_of(space)}
        return parts if isinstance(space, Dict) else tuple(parts.values())
    shape = space.shape or ()
    values = np.array([*islice(numbers, prod(shape))]).reshape(shape)
    whole = not isinstance(space, Box) and (values == np.rint(values)).all()  # also where others are not
    return values.astype(np.int64) if whole else values


def action_names(env: Env) -> tuple[str, ...] | None:
    """The names of an environment's actions: its own, or those of a well-known one.

    Otherwise, where its own actions are not the numbers from 0, their form as JSON (`"-1"`, `"[1, 0]"`), of which
    `numbers_of` is the inverse. None where numbers are all there is.
    """
    space = own_actions(env)
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
    return None if isinstance(space, Discrete) and space.start == 0 else (*numbers_of(space),)


def own_actions(env: Env) -> Space:
    """The environment's own action space, beneath the wrapper that numbers its actions."""
    own = "own_actions"
    return env.get_wrapper_attr(own) if env.has_wrapper_attr(own) else env.action_space


def _count(space: Space) -> int | None:
    """Number of elements of a space; None unless it is finite."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiBinary):
        return int(2 ** prod(space.shape))
    if isinstance(space, MultiDiscrete):
        return int(prod(space.nvec.ravel().tolist()))
    counts = [_count(part) for _, part in parts_of(space)] if isinstance(space, Dict | Tuple) else []
    return prod(one or 0 for one in counts) if counts and None not in counts else None


def parts_of(space: Any) -> Iterable[tuple[Any, Space]]:
    """The parts of a `Dict` or `Tuple` with their names or places."""
    return space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
