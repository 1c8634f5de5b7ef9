"""Keys for an environment's actions: from a setting, from the environment, or from a table of well-known
environments."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gymnasium.spaces import MultiBinary

from ...common.errors import BadInput, quoted
from ...envs.actions import Env, Space, action_at, action_names, answer_of, index_of_action, taken_actions
from .messages import MOST_KEYS

MOST_DIGITS = 10
"""Actions, or entries of a `MultiBinary`, that the digits 0 to 9 are enough for."""

MOST_HELP = 8
"""Combinations of keys that the page lists; of more it lists the single keys."""

PAGE_KEYS = ("r", "l", "t", "m")
"""Keys of the page itself while a game is played: restart, the list of games, hand over, and slow motion."""

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
        return list(dict.fromkeys(key for combination in self.actions for key in sorted(combination)))

    def action(self, bits: int) -> int | None:
        """The action of the held keys, given as bits: of the largest combination held, of several the first listed."""
        down = {key for bit, key in enumerate(self.keys) if bits >> bit & 1}
        meant = [keys for keys in self.actions if keys <= down]
        return self.actions[max(meant, key=len)] if meant else self.default

    def help(self) -> list[tuple[list[str], str]]:
        """Each combination of keys with the name or number of its action, as in (['ArrowLeft'], 'fire left engine')."""
        return [
            (sorted(combination), self.names[action] if self.names else f"action {action}")
            for combination, action in self.actions.items()
            if len(self.actions) <= MOST_HELP or len(combination) == 1
        ]


def key_map(env: Env, actions: int, setting: Mapping[str, Any], default: int | None) -> KeyMap:
    """The keys of an environment with this number of actions.

    setting: `source.actions`, keys joined by + to actions as the environment takes them, or to their names; empty: the
    environment's own keys, those of a well-known environment, or the digits. default: `source.default_action`. BadInput
    for an unknown key or action.
    """
    names, space = action_names(env) or (), taken_actions(env)
    table = {frozenset(_named(key) for key in keys.split("+")): action for keys, action in setting.items()}
    table = table or _of_environment(env, actions)
    meant: dict[frozenset[str], int] = {}
    for combination, action in table.items():
        name = "+".join(sorted(combination)) or "no key"
        meant[combination] = _index(action, names, space, f"source.actions: {name} is {quoted(action)}")
        if own := combination.intersection(PAGE_KEYS):
            raise BadInput(f"source.actions: {min(own)} is a key of the page itself; choose another")
    idle = meant.pop(frozenset(), names.index(NO_OPERATION) if NO_OPERATION in names else None)
    if default is not None:
        idle = _index(default, names, space, f"source.default_action={default}")
    keymap = KeyMap(meant, idle, names)
    if not 1 <= len(keymap.keys) <= MOST_KEYS:
        raise BadInput(f"source.actions: {len(keymap.keys)} keys, expected from 1 to {MOST_KEYS}")
    return keymap


def _of_environment(env: Env, actions: int) -> dict[frozenset[str], Any]:
    id = "" if env.spec is None else env.spec.name
    if (table := answer_of(env, "get_keys_to_action")) is not None:
        if not isinstance(table, Mapping):
            answer = quoted(table)
            raise BadInput(f"environment {id}: get_keys_to_action gives {answer}, expected actions by their keys")
        several = (str, tuple, list)  # as Gymnasium's `play` takes them; else one code
        combinations = [one if isinstance(one, several) else (one,) for one in table]
        return {frozenset(map(_decoded, keys)): table[one] for keys, one in zip(combinations, table, strict=True)}
    if id in WELL_KNOWN:
        return {frozenset([key] if key else []): action for key, action in WELL_KNOWN[id].items()}
    space = taken_actions(env)
    if isinstance(space, MultiBinary) and actions <= 2**MOST_DIGITS:
        # Key i holds entry i down, so that keys combine as they do on a keyboard.
        sets = range(actions)
        return {frozenset(str(i) for i in range(MOST_DIGITS) if bits >> i & 1): action_at(space, bits) for bits in sets}
    if actions > MOST_DIGITS:
        raise BadInput(
            f"source.actions is empty: {id} has {actions} actions and does not name their keys; name some, such as "
            "source.actions='{ArrowLeft: 0, ArrowRight: 1}'"
        )
    return {frozenset([str(index)]): action_at(space, index) for index in range(actions)}


def _index(action: Any, names: tuple[str, ...], space: Space, subject: str) -> int:
    """Number of an action that the environment takes, or of its name; BadInput, which begins with the `subject`.

    A member of an enumeration counts by its name, as Atari's games have other numbers.
    """
    name = getattr(action, "name", action)
    if isinstance(name, str) and name in names:
        return names.index(name)
    number = index_of_action(space, action)
    if number is None:
        raise BadInput(f"{subject}, expected an action of {space}{f' or one of {list(names)}' if names else ''}")
    return number


def _decoded(key: Any) -> str:
    code = ord(key) if isinstance(key, str) and len(key) == 1 else key
    if not isinstance(code, int) or (code not in _CODES and not 32 < code < 127):
        label = f"key code {code}" if isinstance(code, int) else f"the key {quoted(key)}"
        raise BadInput(f"the environment names {label}, which is not known here: set source.actions")
    return _CODES.get(code) or chr(code).lower()


def _named(key: str) -> str:
    key = key.strip()
    if len(key) == 1:
        return key.lower()
    for name in NAMED_KEYS:
        if name.lower() == key.lower():
            return name
    raise BadInput(f"source.actions: {quoted(key)} is no key; expected a character or one of {', '.join(NAMED_KEYS)}")
