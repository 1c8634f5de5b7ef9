"""`qwop-dataset describe`: a dataset's card, `README.md`, with the front matter that Hugging Face's hub reads."""

import html
import os
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..common.command import Command
from ..common.files import write_atomic
from ..common.folder_lock import FolderLock
from ..common.progress import plain_console
from ..common.reading import MEGABYTE, read_bytes
from ..common.run_folder import next_command
from ..common.settings import HomePath, Settings
from .folder import EPISODES
from .parquet import COLUMNS, arrow_schema
from .reader import open_dataset
from .schema import DatasetInfo
from .summary import Summary

CARD = "README.md"

BEGIN, END = "<!-- facts: written by qwop-dataset describe -->", "<!-- end of facts -->"
"""Text between these lines is derived from the files; everything else belongs to its author."""

_FACTS = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
_FRONT = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)

_OTHER_ENCODINGS = "surrogateescape"
"""Keeps an author's bytes that are not UTF-8."""


class DescribeSettings(Settings):
    """The dataset to describe."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of the dataset."""


def run(settings: DescribeSettings) -> None:
    """Write the card and print the statistics."""
    folder = Path(settings.dataset)
    with closing(FolderLock(folder)):  # so that no recorder that starts removes unfinished files as leftovers
        summary = describe(folder)
    console = plain_console()
    console.print(summary.table(settings.dataset))
    console.print(next_command("qwop-dataset verify", dataset=settings.dataset))


def describe(folder: Path, named: Mapping[str, str] | None = None) -> Summary:
    """Write the card, or update its derived part to the episodes; the text around it stays. Returns the statistics.

    named: entries of the front matter that are set, such as the licence.
    """
    summary = open_dataset(folder).summary()
    text, new = _read(folder / CARD), facts(summary)
    if text is None:
        text = f"{front_matter(summary)}\n# {folder.resolve().name}\n\n{_about(summary.info)}\n\n{new}\n"
    elif _FACTS.search(text):
        text = _FACTS.sub(lambda _: new, text, count=1)
    else:
        text = f"{text.rstrip()}\n\n{new}\n"
    if named and not _FRONT.match(text):
        text = f"{front_matter(summary)}\n{text}"
    for name, value in (named or {}).items():
        front = _FRONT.match(text)
        assert front is not None
        others = [line for line in front[1].splitlines(keepends=True) if not line.startswith(f"{name}:")]
        text = f"---\n{name}:{value}\n{''.join(others)}---\n{text[front.end() :]}"
    write_atomic(folder / CARD, text.encode(errors=_OTHER_ENCODINGS))
    return summary


def facts(summary: Summary) -> str:
    """The part of the card that is derived from the episodes, in Markdown."""
    columns = [(f"`{one.name}`", f"{one.type}", COLUMNS[one.name][1]) for one in arrow_schema(summary.info)]
    return "\n".join(
        [
            BEGIN,
            "| | |",
            "|---|---|",
            *(f"| {name} | {_cell(value)} |" for name, value in summary.rows()),
            "",
            f"Each episode is a file in `{EPISODES}`, and each of its decisions a row. The name of a file ends in the",
            "first twelve digits of the SHA-256 of its bytes.",
            "",
            "| column | type | meaning |",
            "|---|---|---|",
            *(f"| {name} | {_cell(kind)} | {_cell(meaning)} |" for name, kind, meaning in columns),
            END,
        ]
    )


def front_matter(summary: Summary) -> str:
    """The front matter of a card."""
    name = summary.info.environment.id.rpartition("/")[2].split("-")[0].lower()
    tags = ["reinforcement-learning", "imitation-learning", "gymnasium", re.sub("[^a-z0-9_]", "-", name)]
    lines = ["task_categories:", "- reinforcement-learning", "tags:", *(f'- "{tag}"' for tag in tags)]
    lines += ["configs:", "- config_name: default", "  data_files:"]
    lines += ["  - split: train", f'    path: "{EPISODES}/*.parquet"']
    return "\n".join(["---", *lines, "---", ""])


def _about(info: DatasetInfo) -> str:
    keys = ", which can be played again from their keys" if info.environment.capabilities.keys else ""
    return (
        f"Games of {info.environment.id}{keys}: observations, actions, rewards, and the probabilities with which the "
        f"player acted.\n\n"
        "`qwop-dataset verify .` in this folder checks every file (`pip install 'qwop[train]'`)."
    )


def _read(path: Path) -> str | None:
    if not os.path.lexists(path):
        return None
    return read_bytes(path, MEGABYTE, "expected the dataset's card; move it away").decode(errors=_OTHER_ENCODINGS)


def _cell(text: str) -> str:
    """Text of a table's cell, in which a player's name is neither HTML nor a link."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|").replace("](", "]\\(")


command = Command(
    "dataset describe",
    DescribeSettings,
    run,
    about="Write a dataset's card, README.md, anew from its episodes.",
    examples=[("qwop-dataset describe data/me", "")],
)
