"""To and from tables with named columns: a folder of Parquet files that pandas and polars open by its name, and from
CSV or one Parquet file. A row is a decision.

`action` is needed; `reward`, `terminated`, `truncated` and `episode` (a mark of its own for each) are taken where they
are, and the numbers of an observation are the columns `observation…`, or all others. A row without an action is the
observation that ended its episode, as `Dataset.steps()` has them. These number the actions from 0, whatever the
environment takes, so where `action_name` holds names of its actions, these decide; `action` may hold names, too.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Dict
from numpy.typing import NDArray

from ...common.checks import LONGEST_REASON, quoted
from ...common.errors import BadInput, naming
from ...envs.actions import Space
from ..arrays import ArrayForm
from ..folder import episode_name
from ..reader import Dataset
from ..schema import DatasetInfo
from ..step_table import step_table
from .imported import Imported, Unknown
from .parquet import numbered
from .parts import Part, imported
from .table_reading import read_table

LOST = ("behaviour probabilities other than that of the action taken", "keys", "player, source, start and outcome")
"""Content of a dataset that these tables do not hold."""

FORMATS = (".csv", ".tsv", ".parquet")

TRUE = frozenset({"true", "t", "yes", "y", "on", "1", "1.0"})
FALSE = frozenset({"false", "f", "no", "n", "off", "0", "0.0"})
"""Words in a column that says if an episode ended, in lower case."""

NAME = "action_name"
"""Column of the actions' names."""

ALIASES = {
    "action": (NAME,),
    "reward": ("next.reward", "rewards"),
    "episode": ("episode_index", "episode_id"),
    "terminated": ("done", "next.done", "terminal", "terminals"),
    "truncated": ("timeout", "timeouts", "done", "next.done"),
}
"""Names that other tools give to these columns, taken where a table lacks our own, each for one column: beside
`terminated`, `done` has the other endings."""

STEPS = ("step", "frame_index")
"""Names of the column that numbers the rows of an episode."""

KNOWN = (
    "episode", "step", "time", "action", NAME, "reward", "terminated", "truncated", "actor", "probability",
)  # fmt: skip
"""Columns that are no part of the observation."""


def export(dataset: Dataset, info: DatasetInfo, name: str, folder: Path) -> None:
    """Write the rows of `Dataset.steps()` into an empty folder, a file for each episode and nothing else.

    Observations of two and more dimensions are one column of flat lists.
    """
    for number, episode in enumerate(dataset):
        table = step_table(episode, info, number)
        if len(info.observation.shape) > 1:
            table["observation"] = [one.ravel() for one in table["observation"]]
        table.to_parquet(folder / episode_name(number), index=False)


def is_tables(path: Path) -> bool:
    """True for a table's file, and for a folder of Parquet files alone."""
    if path.is_dir():
        return {one.suffix.lower() for one in _files(path)} == {".parquet"}
    return path.suffix.lower() in FORMATS


def read(path: Path, unknown: Unknown, columns: Mapping[str, Any]) -> Imported:
    """Open a table, whose environment has to be given.

    columns: the file's names of `action`, `reward`, `episode`, `terminated`, `truncated` and `observation` (one or a
    list), where they differ. BadInput for a table that lacks one of them.
    """
    form = ArrayForm.of(unknown.environment)  # first, for a table can be long
    left_out: dict[str, None] = {}
    texts = {NAME}

    def needed(found: Sequence[str], index: Collection[str]) -> list[str]:
        names = columns_of(found, columns, index)
        texts.update(_names(found, columns, index)["episode"])  # episodes may be called NA and nan
        left_out.update(dict.fromkeys(one for one in found if one not in names and not _is_index(one)))
        return names

    table, starts = read_table(path, _files(path), needed, texts)
    made = imported_table(table, columns, form, unknown, path, starts)
    if not left_out:
        return made
    return replace(made, notes=[*made.notes, f"left out: {quoted(', '.join(left_out), LONGEST_REASON)}"])


def _files(path: Path) -> list[Path]:
    """The files of a table: those of a folder, in the order of their numbers, but the hidden ones, which file managers
    leave there, and Spark's marks (`_SUCCESS`)."""
    if not path.is_dir():
        return [path]
    return sorted((one for one in path.iterdir() if not one.name.startswith((".", "_"))), key=numbered)


def columns_of(found: Sequence[str], columns: Mapping[str, Any], index: Collection[str] = ()) -> list[str]:
    """The columns that an import reads, of those found in a file; see `read`. index: those that are no observation
    unless named."""
    return [name for names in _names(found, columns, index).values() for name in names]


def imported_table(
    table: pd.DataFrame,
    columns: Mapping[str, Any],
    form: ArrayForm,
    unknown: Unknown,
    path: Path,
    files: Sequence[int] = (0,),
) -> Imported:
    """The rows as episodes; see `read`. files: the first row of each file."""
    with naming(path):
        return imported(_parts(table, columns, form, files), form, unknown, path)


def _parts(table: pd.DataFrame, columns: Mapping[str, Any], form: ArrayForm, files: Sequence[int]) -> list[Part]:
    names = _names([str(name) for name in table.columns], columns)
    if not len(table):
        raise BadInput("has no rows")
    decisions = ~pd.isna(table[names["action"][0]]).to_numpy()
    action = _actions(table, names, decisions, form)
    ends = {flag: _flags(table, names[flag], decisions) for flag in ("terminated", "truncated")}
    if names["truncated"] and names["truncated"][0] in ALIASES["terminated"]:
        ends["truncated"] = ends["truncated"] & ~ends["terminated"]
    observations = _stacked(table, _by_part(names["observation"], form.observations))
    rewards = numbers_of(table, names["reward"][0]).astype(np.float64) if names["reward"] else None
    parts = []
    for rows in _episodes(table, names, decisions, ends["terminated"] | ends["truncated"], files):
        made = rows[decisions[rows]]
        _require_order(table, names["step"], rows)
        if not len(made) or (~decisions[rows][:-1]).any():
            raise BadInput(f"row {rows[0]}: an episode without an action in one of its rows, expected that in the last")
        seen = observations[rows]
        earned = None if rewards is None else rewards[made]
        parts.append(Part(seen, action[made], earned, *(bool(flags[made[-1]]) for flags in ends.values())))
    return parts


def _require_order(table: pd.DataFrame, names: Sequence[str], rows: NDArray[np.int64]) -> None:
    """BadInput for rows of an episode whose steps are not in their order."""
    steps = pd.to_numeric(table[names[0]].iloc[rows], errors="coerce").to_numpy() if names else np.zeros(0)
    if len(back := np.flatnonzero(np.diff(steps) < 0)):
        raise BadInput(
            f"row {rows[back[0] + 1]}: {names[0]} goes back from {steps[back[0]]:g} to {steps[back[0] + 1]:g} within "
            "an episode; sort the rows by episode and step, or name the column of the episodes with columns.episode=…"
        )


def _names(found: Sequence[str], columns: Mapping[str, Any], index: Collection[str] = ()) -> dict[str, list[str]]:
    """The columns of each part of a decision, of those that a table has."""
    known = ("action", "reward", "episode", "terminated", "truncated", "observation")
    if strange := [name for name in columns if name not in known]:
        raise BadInput(f"columns.{strange[0]}: expected one of {', '.join(known)}")
    if strange := [name for name, one in columns.items() if not isinstance(one, str | int | Sequence)]:
        raise BadInput(f"columns.{strange[0]}={quoted(columns[strange[0]])}: expected the name of a column")
    given = {name: [str(one)] if isinstance(one, str | int) else [*map(str, one)] for name, one in columns.items()}
    for name in (one for names in given.values() for one in names):
        if name not in found:
            raise BadInput(f"has no column {quoted(name)}, but {quoted(', '.join(found))}")
    others = {name for names in given.values() for name in names}
    made: dict[str, list[str]] = {}
    for name in known[:-1]:
        listed = [one for one in found if one == name or one.startswith(f"{name}.")]
        made[name] = given.get(name) or _by_number([one for one in listed if one not in others])
    for name, aliases in ALIASES.items():
        free = (one for one in aliases if one in found and one not in {*others, *made["terminated"]})
        made[name] = made[name] or [*free][:1]
    made["step"] = [one for one in STEPS if one in found and one not in others][:1]
    if not made["action"]:
        raise BadInput(f"has no column action, but {quoted(', '.join(found))}; name it with columns.action=…")
    used = {one for names in (*made.values(), *ALIASES.values(), KNOWN) for one in names}
    rest = [one for one in found if one not in used and one not in index and not _is_index(one)]
    made["observation"] = given.get("observation") or _by_number([one for one in rest if one.startswith("obs")] or rest)
    if not made["observation"]:
        raise BadInput("has no columns of observations; name them with columns.observation=[…]")
    by_name = NAME in found and NAME not in others and "action" not in given
    return {**made, "action_name": [NAME] if by_name else []}


def _by_number(names: list[str]) -> list[str]:
    """The columns obs.0, obs.1, …, obs.10 or obs_0_0, … in the order of their numbers, where a tool has sorted them as
    texts; others in the file's order."""
    parts = {name: re.split(r"(\d+)", name) for name in names}  # text, number, text, …
    alike = len({tuple(part[::2]) for part in parts.values()}) == 1
    return sorted(names, key=lambda name: [int(number) for number in parts[name][1::2]]) if alike else names


def _by_part(names: Sequence[str], space: Space) -> Sequence[str]:
    """The columns in the order of a `Dict`'s parts, where they have the names of these (`speed`, `obs.speed`, and of
    several numbers `speed.0`): Gymnasium sorts the parts of a plain mapping. Others stay in their order."""
    found = [
        name
        for part in _part_names(space)
        for name in _by_number([one for one in names if re.fullmatch(_COLUMN_OF.format(re.escape(part)), one)])
    ]
    return found if sorted(found) == sorted(names) else names


_COLUMN_OF = r"((obs|observation|action)[._])?{}([._]\d+)?"
"""Pattern of the columns of a part with this name."""


def _part_names(space: Space, place: str = "") -> list[str]:
    """Names of all parts of a `Dict`, with dots between them where it holds another."""
    if not isinstance(space, Dict):
        return [place] if place else []
    before = f"{place}." if place else ""
    return [name for key, part in space.spaces.items() for name in _part_names(part, f"{before}{key}")]


def _actions(
    table: pd.DataFrame, names: Mapping[str, Sequence[str]], decisions: NDArray[np.bool_], form: ArrayForm
) -> NDArray[Any]:
    """Each row's action: its name, where all decisions have one in `action_name` or in `action` itself; else its
    numbers."""
    own = [table[name] for name in names["action"]]
    holds_texts = len(own) == 1 and pd.api.types.is_string_dtype(own[0].dropna())
    for column in (*(table[name] for name in names["action_name"]), *(own if holds_texts else ())):
        texts = column.convert_dtypes().astype("string").fillna("")  # a name such as "-1" may be there as -1.0
        known = texts.isin(form.action_numbers.keys()).to_numpy(dtype=np.bool_)
        if known[decisions].all():
            named: NDArray[np.str_] = texts.where(known, "").to_numpy(dtype=np.str_)
            return named
    try:
        return _stacked(table, _by_part(names["action"], form.actions))
    except BadInput as error:
        if not (holds_texts and form.action_numbers):
            raise
        strange = next(text for text in own[0].dropna() if text not in form.action_numbers)
        raise BadInput(
            f"column {quoted(names['action'][0])} holds {quoted(strange)}, expected only numbers, or only names of "
            f"actions ({quoted(', '.join(form.action_numbers), LONGEST_REASON)})"
        ) from error


def _is_index(name: str) -> bool:
    """True for the index without a name that pandas writes."""
    return name.startswith(("Unnamed:", "__index_level_"))


def _stacked(table: pd.DataFrame, names: Sequence[str]) -> NDArray[Any]:
    """Columns as one array: of numbers [rows], what a column's lists hold, or several of them side by side."""
    columns = [_column(table, name) for name in names]
    return np.column_stack([one.reshape(len(one), -1) for one in columns]) if len(names) > 1 else columns[0]


def _column(table: pd.DataFrame, name: str) -> NDArray[Any]:
    lists = table[name].dropna()
    if not len(lists) or not isinstance(lists.iloc[0], list | tuple | np.ndarray):
        return numbers_of(table, name)
    try:
        stacked = np.stack([np.asarray(one) for one in table[name]])
        stacked = np.array(stacked.tolist()) if stacked.dtype == object else stacked  # lists in lists
    except ValueError:
        raise BadInput(f"column {quoted(name)} holds lists of different lengths") from None
    if stacked.dtype.kind not in "biuf":
        raise BadInput(f"column {quoted(name)} holds {quoted(list(lists.iloc[0]))}, expected numbers")
    return stacked


def numbers_of(table: pd.DataFrame, name: str) -> NDArray[Any]:
    """A column of numbers, [rows], with NaN where it has none; BadInput if it holds anything else."""
    column = table[name]
    if column.dtype == bool:
        return column.to_numpy().astype(np.int64)
    if column.dtype.kind in "mM":
        raise BadInput(f"column {quoted(name)} holds times ({column.dtype}), expected numbers")
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):
        found = next((one for one in column.dropna() if not _is_number(one)), None)
        comma = isinstance(found, str) and re.fullmatch(r"[-+]?[\d\s.']*,\d+", found)
        advice = "; write decimals with a point, and thousands without a mark" if comma else ""
        raise BadInput(f"column {quoted(name)} holds {quoted(found)}, expected numbers{advice}") from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _flags(table: pd.DataFrame, names: Sequence[str], decisions: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A column of truths, [rows], all false without one; BadInput for any other word or number.

    Empty cells of decisions are false where the ends alone are marked, true; otherwise nobody knows what they are.
    """
    if not names:
        return np.zeros(len(table), dtype=np.bool_)
    column = table[names[0]]
    words = column.astype("string").fillna("").str.strip().str.lower()
    true, empty = words.isin(TRUE).to_numpy(dtype=np.bool_), (words == "").to_numpy(dtype=np.bool_)
    if len(strange := np.flatnonzero(~(true | empty | words.isin(FALSE).to_numpy(dtype=np.bool_)))):
        found = quoted(str(column.iloc[strange[0]]))
        raise BadInput(f"column {quoted(names[0])} holds {found} in row {strange[0]}, expected true or false (1 or 0)")
    marks_ends = true.any() and (true | empty).all()
    if not marks_ends and len(unknown := np.flatnonzero(empty & decisions)):
        raise BadInput(
            f"column {quoted(names[0])} is empty in row {unknown[0]}, expected true or false (1 or 0); fill it in, or "
            "leave the column out"
        )
    return true


def _episodes(
    table: pd.DataFrame,
    names: Mapping[str, Sequence[str]],
    decisions: NDArray[np.bool_],
    ends: NDArray[np.bool_],
    files: Sequence[int],
) -> list[NDArray[np.int64]]:
    """The rows of each episode: by the column, or up to each end and the row of its last observation.

    files: the first row of each file. A file may go on with the last episode of the one before, unless that has ended,
    and may number its own from 0. BadInput for an episode that goes on after its end, or after others of its file.
    """
    rows = np.arange(len(table))
    last = ends & np.append(decisions[1:], True)  # no row of a last observation follows
    if not names["episode"]:
        begins = np.flatnonzero(last | ~decisions) + 1
        return [part for part in np.split(rows, begins) if len(part)]
    marks = table[names["episode"][0]].astype("string").fillna("").str.strip().to_numpy()
    new = (marks[1:] != marks[:-1]) | ((last | ~decisions)[:-1] & np.isin(rows[1:], files))
    parts = np.split(rows, np.flatnonzero(new) + 1)
    seen: set[str] = set()
    for part in parts:
        seen = set() if part[0] in files else seen
        mark, ended = marks[part[0]], part[:-1][last[part[:-1]]]
        if mark in seen or len(ended):
            why = (
                f"goes on after its end in row {ended[0]}" if len(ended) else f"goes on in row {part[0]}, after others"
            )
            raise BadInput(
                f"episode {quoted(mark)} {why}; expected all its rows one after the other, the end in the last"
            )
        seen.add(mark)
    return parts
