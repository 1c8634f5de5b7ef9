"""Keys for an environment's actions: from a setting, from the environment, or from a table of well-known
environments."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium

from ...common.checks import quoted
from ...common.errors import BadInput

MOST_KEYS = 16
"""Keys that an environment may use; a set of them travels as the bits of one number."""

PAGE_KEYS = ("r", "l")
"""Keys of the page itself while a game is played: restart, and the list of games."""

NAMED_KEYS = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Space", "Enter", "Shift")
"""Keys with a name, as browsers call them (`KeyboardEvent.key`), but for the space bar; others are a character."""

WELL_KNOWN: Mapping[str, Mapping[str, int]] = {
    "Acrobot": {"ArrowLeft": 0, "": 1, "ArrowRight": 2},
    "CartPole": {"ArrowLeft": 0, "ArrowRight": 1},
    "CliffWalking": {"ArrowUp": 0, "ArrowRight": 1, "ArrowDown": 2, "ArrowLeft": 3},
    "FrozenLake": {"ArrowLeft": 0, "ArrowDown": 1, "ArrowRight": 2, "ArrowUp": 3},
    "LunarLander": {"": 0, "ArrowLeft": 1, "ArrowUp": 2, "ArrowRight": 3},
    "Taxi": {"ArrowDown": 0, "ArrowUp": 1, "ArrowRight": 2, "ArrowLeft": 3, "p": 4, "d": 5},
}
"""Keys of Gymnasium's environments that do not name any, by their names without the version; '' is no key."""

WELL_KNOWN_NAMES: Mapping[str, tuple[str, ...]] = {
    "Acrobot": ("torque left", "no torque", "torque right"),
    "CartPole": ("push left", "push right"),
    "CliffWalking": ("up", "right", "down", "left"),
    "FrozenLake": ("left", "down", "right", "up"),
    "LunarLander": ("nothing", "left engine", "main engine", "right engine"),
    "MountainCar": ("push left", "no push", "push right"),
    "Taxi": ("down", "up", "right", "left", "pick up", "drop off"),
}
"""Names of the actions of Gymnasium's environments, as its documentation has them."""

NO_OPERATION = "NOOP"
"""The name of doing nothing in Atari's games: the action while no key is down."""

_CODES = {
    13: "Enter", 32: "Space",
    273: "ArrowUp", 274: "ArrowDown", 275: "ArrowRight", 276: "ArrowLeft",
    1073741903: "ArrowRight", 1073741904: "ArrowLeft", 1073741905: "ArrowDown", 1073741906: "ArrowUp",
}  # fmt: skip
"""Key codes of pygame 1 and 2, which environments use; the others are those of their characters."""


@dataclass(frozen=True)
class KeyMap:
    """Mapping from sets of keys to actions. actions: the action of each set of keys. default: action without a matching
    key; None: wait. names: of the actions, if the environment names them.
    """

    actions: Mapping[frozenset[str], int]
    default: int | None
    names: tuple[str, ...] = ()

    @cached_property
    def keys(self) -> list[str]:
        """The names of all keys; bit i of a set of held keys is the i-th."""
        return list(dict.fromkeys(key for held in self.actions for key in sorted(held)))

    def action(self, held: int) -> int | None:
        """The action of the held keys, given as bits: of the largest combination held, of several the first listed."""
        down = {key for bit, key in enumerate(self.keys) if held >> bit & 1}
        meant = [keys for keys in self.actions if keys <= down]
        return self.actions[max(meant, key=len)] if meant else self.default

    def help(self) -> list[tuple[list[str], str]]:
        """Each combination of keys with the name or number of its action, as in (['ArrowLeft'], 'fire left engine')."""
        return [
            (sorted(held), self.names[action] if self.names else f"action {action}")
            for held, action in self.actions.items()
        ]


def key_map(env: gymnasium.Env[Any, Any], actions: int, given: Mapping[str, Any], default: int | None) -> KeyMap:
    """The keys of an environment with this number of actions.

    given: `source.actions`, keys joined by + to actions; empty: the environment's own, those of a well-known
    environment, or the digits. default: `source.default_action`. BadInput for an unknown key or action.
    """
    names = _names_of(env, actions)
    found = _from_setting(given) if given else _of_environment(env, actions, names)
    for held, action in found.items():
        name = "+".join(sorted(held)) or "no key"
        if isinstance(action, bool) or not isinstance(action, int) or not 0 <= action < actions:
            raise BadInput(f"source.actions: {name} is {quoted(action)}, expected an action from 0 to {actions - 1}")
        if own := held.intersection(PAGE_KEYS):
            raise BadInput(
                f"source.actions: {min(own)} is a key of the page itself; choose another for action {action}"
            )
    if default is not None and default >= actions:
        raise BadInput(f"source.default_action={default}: expected an action from 0 to {actions - 1}")
    idle = found.pop(frozenset(), names.index(NO_OPERATION) if NO_OPERATION in names else None)
    made = KeyMap(found, idle if default is None else default, names)
    if not 1 <= len(made.keys) <= MOST_KEYS:
        raise BadInput(f"source.actions: {len(made.keys)} keys, expected from 1 to {MOST_KEYS}")
    return made


def _from_setting(given: Mapping[str, Any]) -> dict[frozenset[str], Any]:
    return {frozenset(_named(key) for key in keys.split("+")): action for keys, action in given.items()}


def _of_environment(env: gymnasium.Env[Any, Any], actions: int, names: tuple[str, ...]) -> dict[frozenset[str], int]:
    id = "" if env.spec is None else env.spec.name
    named = getattr(env.unwrapped, "get_keys_to_action", None)
    if named is not None:
        return {frozenset(map(_decoded, _keys_of(held))): _index(action, names) for held, action in named().items()}
    if id in WELL_KNOWN:
        return {frozenset([key] if key else []): action for key, action in WELL_KNOWN[id].items()}
    if actions > 10:
        raise BadInput(
            f"source.actions is empty: {id} has {actions} actions and does not name their keys; name some, such as "
            "source.actions='{ArrowLeft: 0, ArrowRight: 1}'"
        )
    return {frozenset([str(action)]): action for action in range(actions)}


def _index(action: Any, names: tuple[str, ...]) -> int:
    """Number of an action; that of its name for a member of an enumeration, as Atari's games have other numbers."""
    name = getattr(action, "name", None)
    return names.index(name) if name in names else int(action)


def _names_of(env: gymnasium.Env[Any, Any], actions: int) -> tuple[str, ...]:
    """The names of the actions: the environment's, those of a well-known one, or none."""
    if (meanings := getattr(env.unwrapped, "get_action_meanings", None)) is not None:
        names = tuple(str(name) for name in meanings())
    else:
        names = WELL_KNOWN_NAMES.get("" if env.spec is None else env.spec.name, ())
    return names if len(names) == actions else ()


def _keys_of(held: Any) -> tuple[Any, ...]:
    """The keys of one combination as Gymnasium's `play` takes it: a text or tuple of them, or one code."""
    return tuple(held) if isinstance(held, str | tuple | list) else (held,)


def _decoded(key: str | int) -> str:
    code = ord(key) if isinstance(key, str) else key
    if code in _CODES:
        return _CODES[code]
    if not 32 < code < 127:
        raise BadInput(f"the environment names key code {code}, which is not known here: set source.actions")
    return chr(code).lower()


def _named(key: str) -> str:
    key = key.strip()
    if len(key) == 1:
        return key.lower()
    for name in NAMED_KEYS:
        if name.lower() == key.lower():
            return name
    raise BadInput(f"source.actions: {quoted(key)} is no key; expected a character or one of {', '.join(NAMED_KEYS)}")
