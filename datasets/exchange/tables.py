"""From tables with named columns: the rows are decisions, and are dealt to episodes here.

`action` is needed; `reward`, `terminated`, `truncated`, `episode` and `step` are taken where they are, by these or by
other tools' names, and the numbers of an observation are the columns `observation…`, or all others. A row without an
action is the observation that ended its episode. Where `action_name` holds names of the environment's actions, these
decide; `action` may hold names, too. An `.npz` has arrays in place of columns, and may have a last observation more for
each episode.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import LONGEST_REASON, BadInput, naming, printable, quoted
from ...envs.observation import wrong_number
from ..arrays import ArrayForm
from ..origin import Origin
from ..schema import Episode
from .cells import Cells
from .column_names import DONE, by_part, names_of
from .imported import ImportDefaults, Imported, filled_in
from .table_files import UNNAMED, TableFiles, files_of, is_lerobot, lerobot_info, read_files

REPEATED = "the last observation of an episode where the file lacks it: the one before, which nothing learns from"

ENDLESS = "one episode of all rows, for nothing says where one ends: no episode, terminated or truncated, and no end"


def is_table(path: Path) -> bool:
    """True for a table's file, for a folder of them alone, and for LeRobot's folder."""
    return bool(files_of(path)) or is_lerobot(path)


def read(path: Path, defaults: ImportDefaults, columns: Mapping[str, Any]) -> Imported:
    """Open a table, whose environment has to be given.

    columns: the file's names of `GIVEN`, where they differ; of `observation` one or several. BadInput for a table that
    lacks one of them.
    """
    form = ArrayForm.of(defaults.environment)  # first, for a table can be long
    lerobot = lerobot_info(path)
    pictures: Sequence[str] = lerobot.get("pictures", ())
    names: dict[str, list[str]] = {}
    left_out: dict[str, None] = {}

    def choose(header: Sequence[str]) -> list[str]:
        here = [name for name in header if name not in pictures]
        names.update(names_of(here, columns))
        in_use = [*chain.from_iterable(names.values())]
        left_out.update(dict.fromkeys(one for one in here if one not in in_use and not UNNAMED.fullmatch(one)))
        return in_use

    table = read_files(path, choose)
    with naming(path):
        rows = _Rows(table, names, form)
        if (most := lerobot.get("total_frames", rows.count)) != rows.count:
            raise BadInput(
                f"meta/info.json says {quoted(most)} frames, but the files in data have {rows.count:,}; download the "
                "dataset again, whole"
            )
        parts = rows.parts()
    short = any(len(part["observations"]) == len(part["actions"]) for part in parts)
    endless = len(parts) == 1 and not (parts[0]["terminated"] or parts[0]["truncated"] or names["episode"])
    notes = [filled_in(defaults), *([REPEATED] if short else []), *([ENDLESS] if endless else []), *rows.notes]
    notes += [f"left out: {name}, a picture" for name in pictures]
    if left_out:
        notes.append(f"left out: {quoted(', '.join(left_out), LONGEST_REASON)}")
    info, numbers = form.info, names["observation"]
    if rows.is_flat and info.observation.shape == (len(numbers),) and not info.with_names.observation_names:
        info = replace(info, observation_names=tuple(map(printable, numbers)))
    return Imported(info, _episodes(parts, form, defaults, path), len(parts), [*notes, *table.notes])


Arrays = dict[str, Any]
"""One episode as keyword arguments of `ArrayForm.episode`: observations, actions, rewards, terminated, truncated."""


def _episodes(parts: Sequence[Arrays], form: ArrayForm, defaults: ImportDefaults, path: Path) -> Iterator[Episode]:
    for number, part in enumerate(parts):
        with naming(f"{path}: episode {number}"):
            yield form.episode(defaults, **part, source=path.name, origin=Origin(game=number))


class _Rows:
    """The rows of a table. count: their number. is_flat: true if an observation is a number a column."""

    def __init__(self, table: TableFiles, names: dict[str, list[str]], form: ArrayForm) -> None:
        self._table, self._names, self._form = table, names, form
        self.notes: list[str] = []
        cells = Cells(table.columns, table.separator, {*names["episode"], *names["action_name"], *names["clock"]})
        self._cells = cells
        self._decisions, self._actions = self._read_actions()
        self.count = len(self._decisions)
        if not self.count:
            raise BadInput("has no rows")
        ends = {
            part: cells.truths(names[part][0], self._decisions) if names[part] else np.zeros(self.count, np.bool_)
            for part in ("terminated", "truncated", "begins")
        }
        begins = ends.pop("begins")
        if names["truncated"] and names["truncated"][0] in DONE:
            ends["truncated"] &= ~ends["terminated"]
        if names["begins"] and not (names["terminated"] or names["truncated"]):
            ends["terminated"] = np.append(begins[1:], True)
        self._ends, self._end = ends, ends["terminated"] | ends["truncated"]
        for name in names["observation"]:  # before they become float64 beside others
            column = cells.numbers(name)
            if column.dtype.kind in "iu" and (rounded := wrong_number(column)):
                raise BadInput(f"column {quoted(name)}: row {rounded}")
        self._observations = cells.stacked(by_part(names["observation"], form.observations))
        self._rewards = cells.column(names["reward"][0]) if names["reward"] else None
        self._following = cells.stacked(names["following"]) if names["following"] else None
        self.is_flat = all(cells.numbers(one).ndim == 1 for one in names["observation"])
        self._marks = cells.marks(names["episode"][0]) if names["episode"] else None

    def parts(self) -> list[Arrays]:
        """The episodes; BadInput where it is not clear which rows they have, or where rows are missing or twice."""
        episodes = self._dealt()
        whole = len(self._observations) == self.count + len(episodes) != self.count
        for name, rows in (("observations", self._observations), ("rewards", self._rewards),
                           ("next_observations", self._following)):  # fmt: skip
            if rows is not None and len(rows) != self.count and not (whole and name == "observations"):
                raise BadInput(f"{name} have {len(rows):,} rows, expected {self.count:,} as actions have")
        parts: list[Arrays] = []
        first_of: dict[bytes, int] = {}
        for number, rows in enumerate(episodes):
            parts.append(part := self._part(rows, number if whole else None))
            if len(part["actions"]) > 1 and np.asarray(part["observations"]).any():
                first = first_of.setdefault(_digest(part), rows[0])
                if first != rows[0]:  # as two downloads have it
                    raise BadInput(
                        f"{self._at(rows[0])}: the same game as that which begins in {self._at(first)}; leave one of "
                        "them out"
                    )
        name = (self._names["terminated"] or self._names["begins"] or [""])[0]
        if name in DONE and not self._names["truncated"]:
            most = self._form.info.environment.longest_episode
            limit = "" if most is None else f", and as truncated if it has {most:,} decisions, the environment's limit"
            self.notes.append(f"{name} does not say why an episode ended: it counts as terminated{limit}")
            for part in parts:
                if part["terminated"] and most is not None and len(part["actions"]) >= most:
                    part.update(terminated=False, truncated=True)
        return parts

    def _part(self, rows: NDArray[np.int64], whole: int | None) -> Arrays:
        """The arrays of the episode of these rows. whole: its number, where each has an observation more than rows."""
        decisions = rows[self._decisions[rows]]
        if not len(decisions) or (~self._decisions[rows][:-1]).any():
            raise BadInput(f"row {rows[0]}: an episode without an action in one of its rows, expected that in the last")
        if len(early := np.flatnonzero(self._end[decisions[:-1]])):
            raise BadInput(
                f"episode {self._mark(rows[0])} goes on after its end in row {decisions[early[0]]}; expected all its "
                "rows one after the other, the end in the last"
            )
        if whole is not None:
            observations = self._observations[rows[0] + whole : rows[-1] + whole + 2]
        else:
            observations = self._observations[rows]
            if self._following is not None and len(observations) == len(decisions):
                last = self._following[decisions[-1:]].reshape(1, *observations.shape[1:])
                observations = np.concatenate([observations, last])
        rewards = None if self._rewards is None else self._rewards[decisions]
        ends = {name: bool(flags[decisions[-1]]) for name, flags in self._ends.items()}
        return {"observations": observations, "actions": self._actions[decisions], "rewards": rewards, **ends}

    def _read_actions(self) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """The rows that have an action, and each row's action: its name, if all are known, else its numbers."""
        known, cells, actions = self._form.action_numbers, self._cells, self._names["action"]
        texts: NDArray[np.str_] = np.empty(0, np.str_)
        for name in [*self._names["action_name"], *(actions if len(actions) == 1 else ())]:
            texts = cells.texts(name, known) if cells.holds_texts(name) else texts[:0]
            if (texts != "").any() and {*texts[texts != ""].tolist()} <= known.keys():
                return texts != "", texts
        column = (actions or self._names["action_name"])[0]
        words = {one for one in np.unique(texts).tolist() if one and one[0] not in "+-.,0123456789"} - known.keys()
        if not actions or (known and words and len(actions) == 1):
            raise BadInput(
                f"column {quoted(column)} holds {quoted(min(words, default='numbers'))}, expected only numbers, or "
                f"only names of actions ({quoted(', '.join(known), LONGEST_REASON)})"
            )
        numbers = cells.numbers(actions[0])
        return ~np.isnan(numbers.reshape(len(numbers), -1)).any(axis=1), cells.stacked(
            by_part(actions, self._form.actions)
        )

    def _dealt(self) -> list[NDArray[np.int64]]:
        """The rows of each episode: by their marks, or up to each end and the row of its last observation."""
        steps, marks = self._counts("step"), self._marks
        last = self._end & np.append(self._decisions[1:], True)  # no row of a last observation follows
        new = (last | ~self._decisions)[:-1]
        if marks is not None:
            if len(missing := np.flatnonzero(marks == "")):
                raise BadInput(f"{self._at(missing[0])}: {self._names['episode'][0]} is missing, expected its mark")
            over, new = new, marks[1:] != marks[:-1]
            for row in [start - 1 for start in self._table.starts[1:] if start < self.count]:
                if steps is None and not (new[row] or over[row]):
                    here, before = (self._table.files[self._file_of(one)].name for one in (row + 1, row))
                    raise BadInput(
                        f"episode {quoted(marks[row])} is in {before} and in {here}, and nothing says if it is one: "
                        "give a column step, or each episode a mark of its own"
                    )
                new[row] |= over[row] or (steps is not None and steps[row + 1] <= steps[row])
        parts = np.split(np.arange(self.count), np.flatnonzero(new) + 1)
        if marks is not None:
            places = [(self._file_of(part[0]), str(marks[part[0]])) for part in parts]
            first_of: dict[tuple[int, str], int] = {}
            for place, part in zip(places, parts, strict=True):
                if first_of.setdefault(place, part[0]) != part[0]:
                    raise BadInput(
                        f"{self._at(part[0])}: episode {quoted(place[1])} goes on in row {part[0]}, after others; "
                        "expected all its rows one after the other, the end in the last"
                    )
        self._require_order(steps, parts, ~new)
        return parts

    def _require_order(
        self, steps: NDArray[np.float64] | None, parts: Sequence[NDArray[np.int64]], same: NDArray[np.bool_]
    ) -> None:
        """BadInput for rows of an episode whose steps, or times where nothing counts the steps, go back, are equal, or
        leave some out. same: bool [rows − 1], True where a row is of the same episode as the one before."""
        times = self._counts("clock") if steps is None else None
        if steps is not None:
            counts, change = steps, np.diff(steps)
            wrong = same & (change != change[same & (change > 0)].min(initial=np.inf))
        elif times is not None:
            counts, change = times, np.diff(times)
            wrong = same & (change < 0)
            for part in parts:
                within = change[part[0] : part[-1]]
                if len(within) % 2 and len(within) > 2 and not within[::2].any() and (within[1::2] > 0).all():
                    wrong[part[0]] = True  # each time is there twice
        else:
            return
        if len(rows := np.flatnonzero(wrong) + 1):
            row, name = rows[0], (self._names["step"] if times is None else self._names["clock"])[0]
            name = "the index" if UNNAMED.fullmatch(name) else name
            raise BadInput(
                f"{self._at(row)}: {name} goes from {counts[row - 1]:g} to {counts[row]:g} within episode "
                f"{self._mark(row)}: rows are missing, there twice or of two games; sort them by episode and step, "
                "restore them, or name the column of the episodes with columns.episode=…"
            )

    def _counts(self, part: str) -> NDArray[np.float64] | None:
        """The number of each row's step or its time; None where no column counts them."""
        if not self._names[part]:
            return None
        name = self._names[part][0]
        try:
            numbers = self._cells.numbers(name).reshape(-1).astype(np.float64)
        except ValueError:
            if part == "step" and not UNNAMED.fullmatch(name):
                raise
            return None  # dates, or names of rows
        if len(missing := np.flatnonzero(~np.isfinite(numbers))) and part == "step":
            raise BadInput(f"{self._at(missing[0])}: {name} is missing, expected the number of the step")
        return numbers if len(numbers) == self.count else None

    def _file_of(self, row: int) -> int:
        return int(np.searchsorted(self._table.starts, row, side="right")) - 1

    def _mark(self, row: int) -> str:
        """The episode of a row, for messages."""
        return f"from row {row}" if self._marks is None else quoted(str(self._marks[row]))

    def _at(self, row: int) -> str:
        """A row, with its file where there are several."""
        if len(self._table.files) == 1:
            return f"row {row}"
        number = self._file_of(row)
        return f"{self._table.files[number].name}: row {row - self._table.starts[number]}"


def _digest(part: Arrays) -> bytes:
    digest = sha256()
    for one in part.values():
        digest.update(b"|" if one is None else np.ascontiguousarray(one).tobytes())
    return digest.digest()
