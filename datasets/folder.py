"""The files of a dataset's folder: its description, its episodes, and what was set aside."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

from ..common.errors import BadInput, naming
from ..common.files import cannot_be_written
from ..common.reading import ABOUT_THE_NAME, MEGABYTE, CannotBeRead, NotReadNow, read_json, reason
from .schema import DatasetInfo

DESCRIPTION = "dataset.json"

EPISODES, ASIDE = "episodes", "aside"
"""Subfolders: the episodes; what was set apart or belongs to a recording, with the reason in its name."""

EXPECTED = "expected the folder of a dataset, as written by qwop-record"

EPISODE_NAME = re.compile(r"episode-(\d{6}|[1-9]\d{6,8})-([0-9a-f]{12})\.parquet", re.ASCII)


def read_info(folder: Path) -> DatasetInfo:
    """Read the description of the dataset in `folder`; BadInput if the folder is not a dataset."""
    if DESCRIPTION not in names_in(folder):
        raise BadInput(f"{folder}: no {DESCRIPTION} in it; {EXPECTED}")
    path = folder / DESCRIPTION
    with naming(path):
        return DatasetInfo.from_json(read_json(path, MEGABYTE, EXPECTED))


def require_same(folder: Path, info: DatasetInfo) -> None:
    """Raise BadInput, naming the differences, if `folder` is a dataset to which no episodes of `info` can be added."""
    if (folder / DESCRIPTION).exists() and (differences := read_info(folder).differences(info)):
        raise BadInput(f"{folder}: a dataset with other settings: {'; '.join(differences)}; give another folder")


def episode_files(folder: Path) -> dict[int, Path]:
    """The files of episodes of the dataset in `folder`, by number, in the order of the numbers; BadInput for two of
    one number."""
    paths: dict[int, Path] = {}
    for name in sorted(names_in(folder / EPISODES) if EPISODES in names_in(folder) else ()):
        if match := EPISODE_NAME.fullmatch(name):
            path = paths.setdefault(int(match[1]), folder / EPISODES / name)
            if path.name != name:
                raise BadInput(f"{folder / EPISODES / name}: has the number of {path.name}; move one of them away")
    return dict(sorted(paths.items()))


def names_in(folder: Path) -> list[str]:
    """Names of all that is in a folder; CannotBeRead for a missing one, a file, one that may not be entered."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        fault = "no such folder"
    except NotADirectoryError:
        fault = "not a folder"
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        if isinstance(error, OSError) and error.errno not in ABOUT_THE_NAME:
            raise NotReadNow(f"{folder}: {reason(error)}; {EXPECTED}") from None
        fault = reason(error)
    raise CannotBeRead(f"{folder}: {fault}; {EXPECTED}")


def episode_number(path: Path) -> int | None:
    """Number of the episode in a file, from its name; None for another name."""
    match = EPISODE_NAME.fullmatch(path.name)
    return int(match[1]) if match else None


def digest_of(content: bytes) -> str:
    """The twelve digits of SHA-256 that a file's name has."""
    return hashlib.sha256(content).hexdigest()[:12]


def episode_name(number: int, content: bytes) -> str:
    """Name of the file of the episode with this number and content."""
    return f"episode-{number:06d}-{digest_of(content)}.parquet"


def next_number(folder: Path) -> int:
    """Number of the next episode in `folder`: one more than the highest."""
    names = names_in(folder / EPISODES) if (folder / EPISODES).is_dir() else ()
    return max((int(match[1]) for name in names if (match := EPISODE_NAME.fullmatch(name))), default=-1) + 1


def subfolder(folder: Path, name: str) -> Path:
    """A subfolder to write into, made if need be; BadInput for a link, which may lead out of the dataset."""
    path = folder / name
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_be_written(path, error) from None
    if path.is_symlink():
        raise BadInput(f"{path}: a link, which may lead out of the dataset; expected a folder of its own")
    return path


def set_aside(path: Path, why: str) -> Path:
    """Move an episode's file into its dataset's folder `aside`; returns the new path. Nothing is deleted.

    why: a word, which becomes a part of the name.
    """
    folder = subfolder(path.parent.parent, ASIDE)
    target = folder / f"{path.stem}-{why}.aside"
    if os.path.lexists(target):  # the same file was set aside before, and added again
        target = target.with_name(f"{path.stem}-{why}-{uuid4().hex[:8]}.aside")
    os.rename(path, target)
    return target


def to_text(data: Any) -> str:
    """JSON as the files of a dataset hold it."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
