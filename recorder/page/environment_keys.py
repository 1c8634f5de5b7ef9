"""Keys for an environment's actions: from a setting, from the environment, or from a table of well-known
environments."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...common.errors import BadInput, quoted
from ...envs.actions import Env, action_names, actions_of, answer_of, form_of, numbers_of, own_actions
from .messages import MOST_KEYS

PAGE_KEYS = ("r", "t", "m")
"""Keys of the page itself while a game is played: restart, hand over, and slow motion."""

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

NO_OPERATION = ("NOOP", "none")
"""Names of doing nothing, in Atari's games and in QWOP: the action while no key is down."""

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
        ]


def key_map(env: Env, setting: Mapping[str, Any]) -> KeyMap:
    """The keys of an environment.

    setting: `source.actions`, keys joined by + ('' is no key) to actions as the environment takes them, or to their
    names; empty: the environment's own keys, those of a well-known environment, or the digits. BadInput for an unknown
    key or action.
    """
    names, space = action_names(env) or (), own_actions(env)
    numbers = numbers_of(space)
    own = None if setting else answer_of(env, "get_keys_to_action")
    if own is None:
        usual = setting or _usual(env)
        table = {frozenset(_of_name(key) for key in keys.split("+") if key): usual[keys] for keys in usual}
    elif isinstance(own, Mapping):
        several = (str, tuple, list)  # as Gymnasium's `play` takes them; else one code
        table = {frozenset(map(_of_code, keys if isinstance(keys, several) else (keys,))): own[keys] for keys in own}
    else:
        raise BadInput(f"get_keys_to_action gives {quoted(own)}, expected actions by their keys; set source.actions")
    meant: dict[frozenset[str], int] = {}
    for combination, action in table.items():
        if page := combination.intersection(PAGE_KEYS):
            raise BadInput(f"source.actions: {min(page)} is a key of the page itself; choose another")
        name = getattr(action, "name", action)  # of an enumeration, as Atari's games have other numbers
        number = names.index(name) if isinstance(name, str) and name in names else numbers.get(form_of(action))
        if number is None:
            keys, one = "+".join(sorted(combination)) or "no key", f" or one of {list(names)}" if names else ""
            raise BadInput(f"source.actions: {keys} is {quoted(action)}, expected an action of {space}{one}")
        meant[combination] = number
    idle = next((names.index(name) for name in NO_OPERATION if name in names), None)
    keymap = KeyMap(meant, meant.pop(frozenset(), idle), names)
    if not 1 <= len(keymap.keys) <= MOST_KEYS:
        raise BadInput(f"source.actions: {len(keymap.keys)} keys, expected from 1 to {MOST_KEYS}")
    return keymap


def _usual(env: Env) -> Mapping[str, Any]:
    """Keys of an environment that names none: of a well-known one, or the digits."""
    id, count = "" if env.spec is None else env.spec.name, int(env.action_space.n)  # type: ignore[attr-defined]
    if id in WELL_KNOWN:
        return WELL_KNOWN[id]
    if count > 10:
        raise BadInput(
            f"source.actions is empty: {id} has {count} actions and does not name their keys; name some, such as "
            "source.actions='{ArrowLeft: 0, ArrowRight: 1}'"
        )
    return {str(number): action for number, action in enumerate(actions_of(own_actions(env)))}


def _of_code(key: Any) -> str:
    """A key as environments name it for pygame: its character, or its code."""
    code = ord(key) if isinstance(key, str) and len(key) == 1 else key
    if not isinstance(code, int) or (code not in _CODES and not 32 < code < 127):
        raise BadInput(f"the environment names the key {quoted(key)}, which is not known here: set source.actions")
    return _CODES.get(code) or chr(code).lower()


def _of_name(key: str) -> str:
    """A key as `source.actions` names it."""
    key = key.strip()
    named = [name for name in NAMED_KEYS if name.lower() == key.lower()] or [key.lower()][: len(key) == 1]
    if not named:
        raise BadInput(
            f"source.actions: {quoted(key)} is no key; expected a character or one of {', '.join(NAMED_KEYS)}"
        )
    return named[0]
