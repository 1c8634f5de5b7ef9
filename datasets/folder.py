"""The files of a dataset's folder: its description, and one file per episode."""

import json
import os
import re
from pathlib import Path

from ..common.errors import BadInput
from .schema import DatasetInfo

DESCRIPTION = "dataset.json"

RECORDINGS = "recordings"
"""Subfolder with the settings of every recording into the dataset."""

EPISODE_NAME = re.compile(r"episode-(\d{6,})\.parquet")


def read_info(folder: Path) -> DatasetInfo:
    """Read the description of the dataset in `folder`; BadInput if the folder is not a dataset."""
    path = folder / DESCRIPTION
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        found = f"no {DESCRIPTION} in it" if folder.is_dir() else "no such folder"
        raise BadInput(f"{folder}: {found}; expected the folder of a dataset, as written by qwop-record") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    try:
        return DatasetInfo.from_json(json.loads(text))
    except ValueError as error:  # BadInput, or invalid JSON
        raise BadInput(f"{path}: {str(error).splitlines()[0]}") from None


def require_same(found: DatasetInfo, expected: DatasetInfo, folder: Path) -> None:
    """Raise BadInput naming the settings that differ, unless the dataset in `folder` has the `expected` ones."""
    if differences := found.differences(expected):
        raise BadInput(
            f"{folder}: a dataset with other settings: {'; '.join(differences)}; give dataset= another folder"
        )


def next_number(folder: Path) -> int:
    """Number of the next episode in `folder`: one more than the highest."""
    matches = (EPISODE_NAME.fullmatch(name) for name in os.listdir(folder))
    return max((int(match[1]) + 1 for match in matches if match), default=0)
