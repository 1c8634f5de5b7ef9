"""To and from tables with named columns: a folder of Parquet files that pandas and polars open by its name, and from
CSV or one Parquet file. A row is a decision.

`action` is needed; `reward`, `terminated`, `truncated` and `episode` (any mark that changes from one to the next) are
taken where they are, and the numbers of an observation are the columns `observation…`, or all others. A row without an
action is the observation that ended its episode, as `Dataset.steps()` has them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.checks import LONGEST_REASON, quoted
from ...common.errors import BadInput
from ...common.reading import MEGABYTE
from ..arrays import ArrayForm
from ..folder import episode_name
from ..reader import Dataset
from ..schema import DatasetInfo
from ..step_table import step_table
from .imported import Imported, Unknown
from .parts import Part, imported

LARGEST = 1024 * MEGABYTE
"""Bytes of a file, at most."""

LOST = ("behaviour probabilities other than that of the action taken", "keys", "player, source, start and outcome")
"""Content of a dataset that these tables do not hold."""

READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet}

KNOWN = (
    "episode", "step", "time", "action", "action_name", "reward", "terminated", "truncated", "done", "actor",
    "probability",
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
        return {one.suffix for one in path.iterdir()} == {".parquet"}
    return path.suffix in READERS


def read(path: Path, unknown: Unknown, columns: Mapping[str, Any]) -> Imported:
    """Open a table, whose environment has to be given.

    columns: the file's names of `action`, `reward`, `episode`, `terminated`, `truncated` and `observation` (one or a
    list), where they differ. BadInput for a table that lacks one of them.
    """
    form = ArrayForm.of(unknown.environment)  # first, for a table can be long
    table = read_table(path, sorted(path.iterdir()) if path.is_dir() else [path])
    return imported_table(table, columns, form, unknown, path)


def read_table(path: Path, files: Sequence[Path]) -> pd.DataFrame:
    """The rows of these files, one or more, of the table that is called `path`."""
    if not files:
        raise BadInput(f"{path}: has no files of rows")
    if sum(file.stat().st_size for file in files) > LARGEST:
        raise BadInput(f"{path}: larger than {LARGEST / MEGABYTE:,.0f} MB; give it in several files")
    try:
        return pd.concat([READERS[file.suffix](file) for file in files], ignore_index=True)  # type: ignore[operator]
    except Exception as error:  # pandas raises errors of several libraries
        raise BadInput(f"{path}: cannot be read as a table ({quoted(error, LONGEST_REASON)})") from None


def imported_table(
    table: pd.DataFrame, columns: Mapping[str, Any], form: ArrayForm, unknown: Unknown, path: Path
) -> Imported:
    """The rows as episodes; see `read`."""
    try:
        return imported(_parts(table, columns), form, unknown, path)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def _parts(table: pd.DataFrame, columns: Mapping[str, Any]) -> list[Part]:
    names = _names(table, columns)
    if not len(table):
        raise BadInput("has no rows")
    action = _stacked(table, names["action"])
    decisions = ~pd.isna(table[names["action"][0]]).to_numpy()
    ends = {flag: _flags(table, names[flag]) for flag in ("terminated", "truncated")}
    observations = _stacked(table, names["observation"])
    rewards = table[names["reward"][0]].to_numpy(dtype=np.float64, na_value=np.nan) if names["reward"] else None
    parts = []
    for rows in _episodes(table, names, decisions, ends["terminated"] | ends["truncated"]):
        made = rows[decisions[rows]]
        if not len(made) or (~decisions[rows][:-1]).any():
            raise BadInput(f"row {rows[0]}: an episode without an action in one of its rows, expected that in the last")
        seen = observations[rows]
        earned = None if rewards is None else rewards[made]
        taken = np.array(action[made].tolist())
        parts.append(Part(seen, taken, earned, *(bool(flags[made[-1]]) for flags in ends.values())))
    return parts


def _names(table: pd.DataFrame, columns: Mapping[str, Any]) -> dict[str, list[str]]:
    """The columns of each part of a decision."""
    known = ("action", "reward", "episode", "terminated", "truncated", "observation")
    if strange := [name for name in columns if name not in known]:
        raise BadInput(f"columns.{strange[0]}: expected one of {', '.join(known)}")
    given = {name: [one] if isinstance(one, str) else [str(each) for each in one] for name, one in columns.items()}
    found = [str(name) for name in table.columns]
    for name in (one for names in given.values() for one in names):
        if name not in found:
            raise BadInput(f"has no column {quoted(name)}, but {quoted(', '.join(found))}")
    others = {name for names in given.values() for name in names}
    made = {}
    for name in known[:-1]:
        listed = [one for one in found if one == name or one.startswith(f"{name}.")]
        made[name] = given.get(name) or [one for one in listed if one not in others]
    done = "done" in found and not made["terminated"]
    made["terminated"] = ["done"] if done else made["terminated"]
    if not made["action"]:
        raise BadInput(f"has no column action, but {quoted(', '.join(found))}; name it with columns.action=…")
    used = {one for names in made.values() for one in names} | {*KNOWN}
    rest = [one for one in found if one not in used and not one.startswith("Unnamed:")]
    made["observation"] = given.get("observation") or [one for one in rest if one.startswith("obs")] or rest
    if not made["observation"]:
        raise BadInput("has no columns of observations; name them with columns.observation=[…]")
    return made


def _stacked(table: pd.DataFrame, names: Sequence[str]) -> NDArray[Any]:
    """Columns as one array: of numbers [rows], what a column's lists hold, or several of them side by side."""
    columns = [_column(table, name) for name in names]
    return np.column_stack([one.reshape(len(one), -1) for one in columns]) if len(names) > 1 else columns[0]


def _column(table: pd.DataFrame, name: str) -> NDArray[Any]:
    lists = table[name].dropna()
    if not len(lists) or not isinstance(lists.iloc[0], list | tuple | np.ndarray):
        return _numbers(table, name)
    try:
        return np.stack([np.asarray(one) for one in table[name]])
    except ValueError:
        raise BadInput(f"column {name} holds lists of different lengths") from None


def _numbers(table: pd.DataFrame, name: str) -> NDArray[Any]:
    column = table[name]
    if column.dtype == bool:
        return column.to_numpy().astype(np.int64)
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise BadInput(f"column {name} holds {quoted(column.dropna().iloc[0])}, expected numbers") from None


def _flags(table: pd.DataFrame, names: Sequence[str]) -> NDArray[np.bool_]:
    if not names:
        return np.zeros(len(table), dtype=np.bool_)
    column = table[names[0]]
    words = column.astype("string").str.lower()
    return words.isin(["true", "1", "1.0", "yes"]).to_numpy(dtype=np.bool_)


def _episodes(
    table: pd.DataFrame, names: Mapping[str, Sequence[str]], decisions: NDArray[np.bool_], ends: NDArray[np.bool_]
) -> list[NDArray[np.int64]]:
    """The rows of each episode: by the column, or up to each end and the row of its last observation."""
    rows = np.arange(len(table))
    if names["episode"]:
        marks = table[names["episode"][0]].astype("string").fillna("").to_numpy()
        begins = np.flatnonzero(marks[1:] != marks[:-1]) + 1
    else:
        last = ends & np.append(decisions[1:], True)  # no row of a last observation follows
        begins = np.flatnonzero(last | ~decisions)[:] + 1
    return [part for part in np.split(rows, begins) if len(part)]
