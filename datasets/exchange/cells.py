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
from .table_files import Column

TRUE = frozenset(
    "true t yes y on 1 1.0 wahr vrai verdadero verdadeiro vero waar sant sand prawda".split()  # noqa: SIM905
)
FALSE = frozenset(
    "false f no n off 0 0.0 falsch faux falso onwaar falskt falsk fałsz".split()  # noqa: SIM905
)
"""Words in a column that says if an episode ended, in lower case: those of programs, and of spreadsheets of Europe."""

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>")
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

    def __init__(self, columns: Mapping[str, Column], separator: str = "", words: Collection[str] = ()) -> None:
        self._columns = columns
        self._separator, self._words = separator, words
        self._numbers: dict[str, NDArray[Any]] = {}

    @cached_property
    def _decimal(self) -> str:
        """The mark of decimals."""
        marked: set[str] = set()
        for name in {*filter(self.holds_texts, self._columns)} - {*self._words}:
            texts = pc.unique(_trimmed(self._columns[name])).drop_null()
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
        column = self._columns[name]
        return not isinstance(column, np.ndarray) and _is_text(column.type)

    def texts(self, name: str, names: Collection[str] = ()) -> NDArray[np.str_]:
        """The cells of a column of texts, `""` where they are missing. names: texts that are there, though they look
        like missing ones."""
        texts = pc.utf8_trim_whitespace(self._columns[name]).fill_null("")
        cells: NDArray[np.str_] = texts.to_numpy(zero_copy_only=False).astype(np.str_)
        return np.where(np.isin(cells, [one for one in MISSING if one not in names]), "", cells)

    def marks(self, name: str) -> NDArray[np.str_]:
        """The cells as texts that tell them apart, `""` where they are missing."""
        if self.holds_texts(name):
            return self.texts(name, MISSING)
        return np.array(["" if one != one else f"{one}".removesuffix(".0") for one in self.column(name).tolist()])

    def column(self, name: str) -> NDArray[Any]:
        """A column with one number a row; of several in a row, the first."""
        numbers = self.numbers(name)
        return numbers.reshape(len(numbers), -1)[:, 0]

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
            column = self._columns[name]
            self._numbers[name] = column if isinstance(column, np.ndarray) else self._converted(name, column)
        return self._numbers[name]

    def truths(self, name: str, decisions: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A column of truths, [rows]; BadInput for any other word or number.

        Empty cells of decisions are false where the ends alone are marked, true; otherwise nobody knows what they are.
        """
        cells: NDArray[Any] = self.texts(name) if self.holds_texts(name) else self.column(name).astype(np.float64)
        values = cells
        if self.holds_texts(name):
            lower = np.char.lower(cells)
            values = np.select([np.isin(lower, [*TRUE]), np.isin(lower, [*FALSE]), cells == ""], [1.0, 0.0, np.nan], 2)
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

    def _converted(self, name: str, values: pa.Array) -> NDArray[Any]:
        kind = values.type
        if _is_text(kind):
            return self._typed(name, values)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            lengths = pc.unique(pc.drop_null(pc.list_value_length(values)))
            if len(lengths) != 1:
                raise BadInput(f"column {quoted(name)} holds lists of different lengths")
            numbers = self._converted(name, pc.list_flatten(values))
            there = values.is_valid().to_numpy(zero_copy_only=False)
            numbers = numbers.reshape(int(there.sum()), lengths[0].as_py(), *numbers.shape[1:])
            if numbers.shape[1:] == (1,):  # LeRobot's lists of one
                numbers = numbers[:, 0]
            if there.all():
                return numbers
            whole = np.full((len(there), *numbers.shape[1:]), np.nan)
            whole[there] = numbers
            return whole
        if not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)) or (
            pa.types.is_temporal(kind)
        ):
            raise BadInput(f"column {quoted(name)} is {quoted(kind)}, expected numbers, or lists of them")
        if not pa.types.is_integer(kind) or values.null_count:
            values = values.cast(pa.float64(), safe=False)
        return np.array(values.to_numpy(zero_copy_only=False))

    def _typed(self, name: str, values: pa.Array) -> NDArray[np.float64]:
        """Numbers as a person or a program writes them, or truths."""
        texts = _trimmed(values)
        texts = pc.if_else(pc.is_in(texts, pa.array(MISSING)), pa.scalar(None, texts.type), texts)
        words = pc.utf8_lower(texts.drop_null())
        if len(words) and pc.all(pc.is_in(words, pa.array(["true", "false"]))).as_py():
            numbers = pc.equal(pc.utf8_lower(texts), "true").cast(pa.float64())
        else:
            strange = texts.filter(pc.invert(pc.match_substring_regex(texts, _NUMBER)))
            if len(strange):
                raise BadInput(f"column {quoted(name)} holds {quoted(str(strange[0]))}, expected numbers")
            plain = pc.replace_substring(pc.replace_substring(texts, self._decimal, "."), "+", "")
            numbers = plain.cast(pa.float64())
        return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _trimmed(column: pa.Array) -> pa.Array:
    """Texts without spaces around them, with a hyphen where Swedish spreadsheets have a minus."""
    return pc.replace_substring(pc.utf8_trim_whitespace(column.cast(pa.string())), "\N{MINUS SIGN}", "-")
