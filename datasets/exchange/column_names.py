"""The columns of each part of a decision, by their names, which every tool chooses its own way."""

import re
from collections.abc import Mapping, Sequence

from gymnasium.spaces import Dict

from ...common.errors import LONGEST_REASON, BadInput, quoted
from ...envs.actions import Space
from ..parquet import COLUMNS
from .table_files import UNNAMED

ALIASES = {
    "action_name": ("action_name",),
    "action": ("action", "actions", "acts", "act"),
    "reward": ("reward", "rewards", "rews", "rew", "next.reward"),
    "episode": ("episode", "episode_index", "episode_id"),
    "step": ("step", "step_index", "frame_index", "index"),
    "terminated": ("terminated", "terminations", "terminal", "terminals", "done", "dones", "next.done"),
    "truncated": ("truncated", "truncations", "timeout", "timeouts", "done", "dones", "next.done"),
    "begins": ("episode_starts",),
    "clock": ("timestamp", "time"),
    "following": ("next_observations", "next_obs", "obs_next", "next_observation", "final_observation"),
}
"""Names of the parts of a decision, taken in this order where `columns` gives none, each for one part: beside
`terminated`, `done` has the other endings."""

GIVEN = ("action", "reward", "episode", "terminated", "truncated", "observation")
"""Parts that the setting `columns` may name."""

DONE = ("done", "dones", "next.done", "episode_starts")
"""Columns that say where an episode ended, but not why."""

OTHERS = {*COLUMNS, "time", "actor", "probability", "task_index", "task", "episode_returns", *DONE} - {"observation"}
"""Columns that are no part of an observation."""


def names_of(header: Sequence[str], columns: Mapping[str, str | Sequence[str]]) -> dict[str, list[str]]:
    """The columns of each part of a decision, of those that a table has; BadInput for wrong `columns`."""
    if strange := [name for name in columns if name not in GIVEN]:
        raise BadInput(f"columns.{strange[0]}: expected one of {', '.join(GIVEN)}")
    own = {name: [one] if isinstance(one, str) else [*one] for name, one in columns.items()}
    in_use = {name for names in own.values() for name in names}
    for name in in_use:
        if name not in header:
            raise BadInput(f"has no column {quoted(name)}, but {quoted(', '.join(header), LONGEST_REASON)}")
    parts: dict[str, list[str]] = {}
    for part, aliases in ALIASES.items():
        parts[part] = own.get(part) or [one for one in aliases if one in header and one not in in_use][:1]
        if part == "action" and not parts[part]:
            parts[part] = _by_number([one for one in header if one.startswith("action.") and one not in in_use])
        in_use |= {*parts[part]}
    if "action" in own:
        parts["action_name"] = []
    parts["step"] = parts["step"] or [one for one in header if UNNAMED.fullmatch(one)][:1]
    if not (parts["action"] or parts["action_name"]):
        raise BadInput(
            f"has no column action, but {quoted(', '.join(header), LONGEST_REASON)}; name it with columns.action=…"
        )
    others = {one for names in ALIASES.values() for one in names} | OTHERS
    rest = [one for one in header if one not in in_use | others and not UNNAMED.fullmatch(one)]
    numbers = [one for one in rest if one.startswith("obs") and not one.startswith("obs_next")]
    numbers = [one for one in numbers if one != "observation" or len(numbers) == 1] or rest
    parts["observation"] = own.get("observation") or _by_number(numbers)
    if not parts["observation"]:
        raise BadInput("has no columns of observations; name them with columns.observation=[…]")
    return parts


def _by_number(names: list[str]) -> list[str]:
    """The columns obs.0, obs.1, …, obs.10 or obs_0_0, … in the order of their numbers, where a tool has sorted them as
    texts; others in the file's order."""
    parts = {name: re.split(r"(\d+)", name) for name in names}  # text, number, text, …
    alike = len({tuple(part[::2]) for part in parts.values()}) == 1
    return sorted(names, key=lambda name: [int(number) for number in parts[name][1::2]]) if alike else names


def by_part(names: Sequence[str], space: Space) -> Sequence[str]:
    """The columns in the order of a `Dict`'s parts, where they have the names of these (`speed`, `obs.speed`, and of
    several numbers `speed.0`): Gymnasium sorts the parts of a plain mapping. Others stay in their order."""
    pattern = r"((obs|observation|action)[._])?{}([._]\d+)?"
    in_order = [
        name
        for part in _part_names(space)
        for name in _by_number([one for one in names if re.fullmatch(pattern.format(re.escape(part)), one)])
    ]
    return in_order if sorted(in_order) == sorted(names) else names


def _part_names(space: Space, place: str = "") -> list[str]:
    """Names of all parts of a `Dict`, with dots between them where it holds another."""
    if not isinstance(space, Dict):
        return [place] if place else []
    before = f"{place}." if place else ""
    return [name for key, part in space.spaces.items() for name in _part_names(part, f"{before}{key}")]
