"""The dataset card, `README.md`, with the front matter that Hugging Face's hub reads."""

import html
import os
import re
from collections.abc import Mapping
from pathlib import Path

from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_bytes
from .columns import COLUMN_MEANINGS, arrow_schema
from .schema import DatasetInfo
from .summary import Summary

CARD = "README.md"

EPISODE_FILES = {"default": "episode-*.parquet"}

BEGIN, END = "<!-- facts: written by qwop-dataset describe -->", "<!-- end of facts -->"
"""Text between these lines is derived from the files; everything else belongs to its author."""

VERIFIED = "`qwop-dataset verify .` in this folder checks every file, and these figures (`pip install 'qwop[train]'`)."

_FACTS = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
_SIZE = re.compile(r"(?m)^size_categories:\n- .*$")

_OTHER_ENCODINGS = "surrogateescape"
"""Keeps an author's bytes that are not UTF-8."""

_SIZES = (
    (1e3, "n<1K"),
    (1e4, "1K<n<10K"),
    (1e5, "10K<n<100K"),
    (1e6, "100K<n<1M"),
    (1e7, "1M<n<10M"),
    (1e8, "10M<n<100M"),
)
"""The hub's names of numbers of rows, with their upper bounds."""


def facts(summary: Summary) -> str:
    """The part of the card that is derived from the episodes, in Markdown."""
    lines = [
        BEGIN,
        *summary_table(summary),
        "",
        "Each episode is a file, `episode-*.parquet`. One of T decisions has T + 1 rows, of which the last holds the",
        "observation that ended it. The files' metadata hold player, source, start and outcome.",
        "",
        *column_table(summary.info),
        END,
    ]
    return "\n".join(lines)


def summary_table(summary: Summary) -> list[str]:
    """The statistics as lines of Markdown."""
    return ["| | |", "|---|---|", *(f"| {name} | {_cell(found)} |" for name, found in summary.rows())]


def column_table(info: DatasetInfo) -> list[str]:
    """The columns of the steps as lines of Markdown."""
    columns = [(f"`{column.name}`", f"{column.type}", COLUMN_MEANINGS[column.name]) for column in arrow_schema(info)]
    rows = (f"| {name} | {_cell(kind)} | {_cell(meaning)} |" for name, kind, meaning in columns)
    return ["| column | type | meaning |", "|---|---|---|", *rows]


def write_card(folder: Path, summary: Summary) -> None:
    """Write the card, or update the derived part of an existing one; the text around it stays."""
    text = _read(folder / CARD)
    new = facts(summary)
    if text is None:
        text = f"{front_matter(summary)}\n# {folder.resolve().name}\n\n{VERIFIED}\n\n{new}\n"
    elif _FACTS.search(text):
        text = _FACTS.sub(lambda _: new, text, count=1)
    else:
        text = f"{text.rstrip()}\n\n{new}\n"
    text = _SIZE.sub(lambda _: _size(summary), text, count=1)
    write_atomic(folder / CARD, text.encode(errors=_OTHER_ENCODINGS))


def card_is_true(folder: Path, summary: Summary) -> bool | None:
    """True if the derived part of the card is up to date; None without a card or such a part."""
    text = _read(folder / CARD)
    found = None if text is None else _FACTS.search(text)
    return None if found is None else found[0] == facts(summary)


def _read(path: Path) -> str | None:
    if not os.path.lexists(path):
        return None
    return read_bytes(path, MEGABYTE, "expected the dataset's card; move it away").decode(errors=_OTHER_ENCODINGS)


def front_matter(summary: Summary, files: Mapping[str, str] = EPISODE_FILES) -> str:
    """The front matter of a card. files: the pattern of the files of each of the hub's configurations."""
    tags = [
        "reinforcement-learning",
        "imitation-learning",
        "gymnasium",
        summary.info.environment.id.split("-")[0].lower(),
    ]
    return "\n".join(
        [
            "---",
            "task_categories:",
            "- reinforcement-learning",
            "tags:",
            *(f'- "{re.sub("[^a-z0-9/_-]", "-", tag)}"' for tag in tags),
            _size(summary),
            "configs:",
            *(
                f'- config_name: {name}\n  data_files:\n  - split: train\n    path: "{pattern}"'
                for name, pattern in files.items()
            ),
            "---",
            "",
        ]
    )


def _size(summary: Summary) -> str:
    rows = int(summary.steps.sum()) + summary.episodes
    return f"size_categories:\n- {next((name for bound, name in _SIZES if rows < bound), '100M<n<1B')}"


def _cell(text: str) -> str:
    """Text of a table's cell, in which a player's name is neither HTML nor a link."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|").replace("](", "]\\(")
