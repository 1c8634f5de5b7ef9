"""The cells of a table's columns as numbers, texts and truths."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...common.errors import BadInput, quoted

TRUE = frozenset(
    "true t yes y on 1 1.0 wahr vrai verdadero verdadeiro vero waar sant sand prawda".split()  # noqa: SIM905
)
FALSE = frozenset(
    "false f no n off 0 0.0 falsch faux falso onwaar falskt falsk fałsz".split()  # noqa: SIM905
)
"""Words in a column that says if an episode ended, in lower case: those of programs, and of spreadsheets of Europe."""

MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"]
"""Texts of a missing number."""

_NUMBER = r"^([-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?|[-+]?(?i:inf(inity)?))$"
"""A number with at most one mark, which is that of its decimals."""

_GROUPED = r"[-+]?[1-9]\d{0,2}[.,]\d{3}"
"""A number whose mark may be that of thousands."""


class Cells:
    """Columns, by name. separator: that of a `.csv`. words: columns whose cells are no numbers, though they may look
    like some.

    Decimals have a point or a comma, in all numbers of a table. BadInput where they can be read in two ways.
    """

    def __init__(
        self, columns: Mapping[str, pa.ChunkedArray], separator: str = "", words: Collection[str] = ()
    ) -> None:
        self._columns = {name: _plain(column) for name, column in columns.items()}
        self._separator, self._words = separator, words
        self._numbers: dict[str, NDArray[Any]] = {}

    @cached_property
    def _decimal(self) -> str:
        """The mark of decimals."""
        marked: set[str] = set()
        for column in [column for name, column in self._columns.items() if name not in self._words]:
            if pa.types.is_string(column.type):
                texts = pc.unique(_trimmed(column).combine_chunks()).drop_null()
                texts = texts.filter(pc.match_substring_regex(texts, _NUMBER))
                marked |= {*texts.filter(pc.match_substring_regex(texts, "[.,]")).to_pylist()}
        firsts = {mark: min(text for text in marked if mark in text) for mark in ".," if mark in "".join(marked)}
        if len(firsts) > 1:
            raise BadInput(
                f"has numbers with a point and with a comma ({quoted(firsts['.'])}, {quoted(firsts[','])}); write "
                "decimals in one way, and thousands without a mark"
            )
        mark = next(iter(firsts), ".")
        unusual = (mark, self._separator) in ((",", ","), (".", ";"))
        if firsts and unusual and all(re.fullmatch(_GROUPED, text) for text in marked):
            raise BadInput(f"{quoted(firsts[mark])} can be read in two ways; write thousands without a mark")
        return mark

    def holds_texts(self, name: str) -> bool:
        """True for a column of texts, which may be numbers."""
        return bool(pa.types.is_string(self._columns[name].type))

    def holds_numbers(self, name: str) -> bool:
        """True if all cells of a column are numbers."""
        try:
            return bool(np.isfinite(self.numbers(name)).all())
        except BadInput:
            return False

    def texts(self, name: str, also_missing: Collection[str] = ()) -> NDArray[np.str_]:
        """The cells as texts, `""` where they are missing. also_missing: texts that are names, though they look like
        missing ones."""
        column = self._columns[name]
        if pa.types.is_floating(column.type) and pc.all(pc.equal(column, pc.round(column))).as_py() in (True, None):
            column = column.cast(pa.int64())  # an episode's number that was next to a missing one
        elif pa.types.is_nested(column.type):
            return np.array([str(one[0]) if one else "" for one in column.to_pylist()], dtype=np.str_)
        texts = pc.utf8_trim_whitespace(column.cast(pa.string()).fill_null(""))
        cells: NDArray[np.str_] = texts.to_numpy(zero_copy_only=False).astype(np.str_)
        missing = [one for one in MISSING if one not in also_missing]
        if also_missing and np.isin(cells, missing).any():
            cells = np.where(np.isin(cells, missing), "", cells)
        return cells

    def marks(self, name: str) -> NDArray[np.str_]:
        """The cells as texts that tell them apart: whole numbers without their decimals."""
        texts = pa.array(self.texts(name))
        return np.asarray(
            pc.replace_substring_regex(texts, r"^(-?\d+)[.,]0+$", r"\1").to_numpy(zero_copy_only=False), str
        )

    def missing(self, name: str) -> NDArray[np.bool_]:
        """The rows in which a column of numbers has none."""
        if not self.holds_texts(name):
            return np.array(self._columns[name].is_null().to_numpy())
        numbers = self.numbers(name)
        rows: NDArray[np.bool_] = np.isnan(numbers.reshape(len(numbers), -1)).any(axis=1)
        return rows

    def stacked(self, names: Sequence[str]) -> NDArray[Any]:
        """Columns as one array: of numbers [rows], what a column's lists hold, or several of them side by side."""
        columns = [self.numbers(name) for name in names]
        if len(columns) == 1:
            return columns[0]
        if len({len(one) for one in columns}) > 1:
            raise BadInput(f"{quoted(', '.join(names), 120)} have different numbers of rows")
        return np.column_stack([one.reshape(len(one), -1) for one in columns])

    def numbers(self, name: str) -> NDArray[Any]:
        """A column of numbers, [rows] or what its lists hold, with NaN where it has none; BadInput for others."""
        if name not in self._numbers:
            self._numbers[name] = self._read(name, self._columns[name])
        return self._numbers[name]

    def _read(self, name: str, column: pa.ChunkedArray) -> NDArray[Any]:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        kind = column.type
        if pa.types.is_string(kind):
            return self._of_texts(name, column)
        if pa.types.is_temporal(kind):
            raise BadInput(f"column {quoted(name)} holds times ({kind}), expected numbers")
        if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_large_binary(kind):
            rows = [np.frombuffer(one or b"", np.uint8) for one in column.to_pylist()]
            if len({*map(len, rows)}) > 1:
                raise BadInput(f"column {quoted(name)} holds lists of different lengths")
            return np.stack(rows)
        try:
            if pa.types.is_nested(kind):
                return self._of_lists(name, column)
            if pa.types.is_integer(kind) and not column.null_count:
                return np.array(column.to_numpy())
            return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
        except pa.ArrowException:
            raise BadInput(f"column {quoted(name)} is {quoted(kind)}, expected numbers, or lists of them") from None

    def _of_texts(self, name: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
        texts = _trimmed(column)
        texts = pc.if_else(pc.is_in(texts, pa.array(MISSING, texts.type)), pa.scalar(None, texts.type), texts)
        cells = texts.drop_null()
        bools = pc.is_in(pc.utf8_lower(cells), pa.array(["true", "false"], cells.type))
        if len(cells) and pc.all(bools).as_py():
            truths = pc.equal(pc.utf8_lower(texts), "true")
            return np.array(truths.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        strange = cells.filter(pc.invert(pc.match_substring_regex(cells, _NUMBER)))
        if len(strange):
            raise BadInput(f"column {quoted(name)} holds {quoted(str(strange[0]))}, expected numbers")
        plain = pc.replace_substring(pc.replace_substring(texts, self._decimal, "."), "+", "")
        return np.array(plain.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)

    def _of_lists(self, name: str, column: pa.ChunkedArray) -> NDArray[Any]:
        values, shape = column.combine_chunks(), []
        there = values.is_valid().to_numpy(zero_copy_only=False)
        while pa.types.is_nested(values.type):
            lengths = pc.unique(pc.drop_null(pc.list_value_length(values)))
            if len(lengths) != 1:
                raise BadInput(f"column {quoted(name)} holds lists of different lengths")
            shape.append(lengths[0].as_py())
            values = pc.list_flatten(values)
        if pa.types.is_string(values.type):
            raise BadInput(f"column {quoted(name)} is {quoted(column.type)}, expected numbers, or lists of them")
        numbers = self._read(name, pa.chunked_array([values])).reshape(int(there.sum()), *shape)
        if numbers.shape[1:] == (1,):  # LeRobot's lists of one
            numbers = numbers[:, 0]
        if there.all():
            return numbers
        whole = np.full((len(there), *numbers.shape[1:]), np.nan)
        whole[there] = numbers
        return whole

    def truths(self, name: str, decisions: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A column of truths, [rows]; BadInput for any other word or number.

        Empty cells of decisions are false where the ends alone are marked, true; otherwise nobody knows what they are.
        """
        cells: NDArray[Any]
        if self.holds_texts(name):
            cells = np.char.strip(self.texts(name))
            lower = np.char.lower(cells)
            kinds = [np.isin(lower, [*words]) for words in (TRUE, FALSE, [one.lower() for one in MISSING])]
            values = np.select(kinds, [1.0, 0.0, np.nan], 2.0)
        else:
            numbers = self.numbers(name)
            cells = values = numbers.reshape(len(numbers), -1)[:, 0].astype(np.float64)
        if len(cells) != len(decisions):
            raise BadInput(f"{name} have {len(cells):,} rows, expected {len(decisions):,} as actions have")
        true: NDArray[np.bool_] = values == 1
        empty = np.isnan(values)
        if len(strange := np.flatnonzero(~(true | empty | (values == 0)))):
            raise BadInput(
                f"column {quoted(name)} holds {quoted(str(cells[strange[0]]))} in row {strange[0]}, expected true or "
                "false (1 or 0)"
            )
        marks_ends = true.any() and (true | empty).all()
        if not marks_ends and len(unknown := np.flatnonzero(empty & decisions)):
            raise BadInput(
                f"column {quoted(name)} is empty in row {unknown[0]}, expected true or false (1 or 0); fill it in, or "
                "leave the column out"
            )
        return true


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without a dictionary, and texts in one type."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    is_text = pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)
    return column.cast(pa.string()) if is_text else column


def _trimmed(column: Any) -> Any:
    """Texts without spaces around them, with a hyphen where Swedish spreadsheets have a minus."""
    return pc.replace_substring(pc.utf8_trim_whitespace(column), "\N{MINUS SIGN}", "-")
