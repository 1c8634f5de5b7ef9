"""The files of a dataset's folder: its description, and one file per episode."""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

from ..common.errors import BadInput
from ..common.files import beside
from ..common.reading import ABOUT_THE_NAME, MEGABYTE, CannotBeRead, NotReadNow, parse_json, read_bytes, reason
from .schema import SCHEMA_VERSION, SHARED_CONTROL, DatasetInfo

DESCRIPTION = "dataset.json"

RECORDINGS, DISCARDED, DIFFERING, SET_ASIDE = SUBFOLDERS = ("recordings", "discarded", "differing", "set-aside")
"""Subfolders: the settings of every recording into the dataset, and the full numbers of imported ones; games discarded
on the page; keys of games that the simulator did not reproduce; faulty files moved by `verify`."""

LARGEST_DESCRIPTION = MEGABYTE
"""Bytes."""

EXPECTED = "expected the folder of a dataset, as written by qwop-record"

EXPECTED_DESCRIPTION = "expected the description of a dataset, as written by qwop-record"

EPISODE_NAME = re.compile(r"episode-(\d{6}|[1-9]\d{6,8})\.parquet", re.ASCII)


EXPORTED = ("steps", "episodes")
"""Folders in an export for Hugging Face, whose description has the same name as a dataset's."""


def is_exported(folder: Path) -> bool:
    """True for an export for Hugging Face."""
    return all((folder / name).is_dir() for name in EXPORTED) and (folder / DESCRIPTION).is_file()


def require_no_export(folder: Path) -> None:
    """Raise BadInput for an export for Hugging Face, which holds no episodes of our own form."""
    if is_exported(folder) and not episode_numbers(folder):
        raise BadInput(
            f"{folder}: an export for Hugging Face; make a dataset of it again with: "
            + dataset_command("import", folder, f"out={beside(folder, 'imported')}")
        )


def dataset_command(verb: str, folder: Path, *more: str) -> str:
    """A command line of `qwop-dataset` for this folder, ready to be copied."""
    return shlex.join(["qwop-dataset", verb, str(folder), *more])


def read_info(folder: Path) -> DatasetInfo:
    """Read the description of the dataset in `folder`; BadInput if the folder is not a dataset."""
    return parse_info(read_description(folder), folder / DESCRIPTION)


def read_description(folder: Path) -> bytes:
    """Content of the description of the dataset in `folder`; BadInput if the folder is not a dataset."""
    if DESCRIPTION not in _names(folder):
        if episode_numbers(folder):
            raise BadInput(
                f"{folder}: has episodes but no {DESCRIPTION}; to write it anew from them: "
                + dataset_command("describe", folder, "accept=true")
            )
        raise BadInput(f"{folder}: no {DESCRIPTION} in it; {EXPECTED}")
    path = folder / DESCRIPTION
    return read_bytes(path, LARGEST_DESCRIPTION, EXPECTED_DESCRIPTION)


def parse_info(content: bytes, path: Path) -> DatasetInfo:
    """Description of a dataset from the content of the file `path`; BadInput names the file."""
    try:
        return DatasetInfo.from_json(parse_json(content))
    except BadInput as error:
        raise BadInput(f"{path}: {str(error).splitlines()[0]}") from None
    except ValueError as error:
        raise BadInput(f"{path}: cannot be read ({str(error).splitlines()[0]}); {EXPECTED_DESCRIPTION}") from None


def require_same(folder: Path, info: DatasetInfo) -> None:
    """Raise BadInput, naming the differences, if `folder` is a dataset to which no episodes of `info` can be added."""
    if not (folder / DESCRIPTION).exists():
        return
    found = read_info(folder)
    if differences := found.differences(info):
        raise BadInput(f"{folder}: a dataset with other settings: {'; '.join(differences)}; give another folder")
    if found.version < info.written.version:
        why = "cannot hold who acted" if found.version == SCHEMA_VERSION else "can be read but not added to"
        raise BadInput(
            f"{folder}: a dataset of version {found.version}, which {why}; write it anew with: "
            + dataset_command("upgrade", folder, f"out={beside(folder, str(SHARED_CONTROL))}")
        )


def episode_numbers(folder: Path) -> dict[int, str]:
    """Names of the files of episodes in `folder`, by number, in the order of the numbers."""
    names = ((EPISODE_NAME.fullmatch(name), name) for name in _names(folder))
    return dict(sorted((int(match[1]), name) for match, name in names if match))


def _names(folder: Path) -> list[str]:
    """Names of all that is in a folder; CannotBeRead for a missing one, a file, one that may not be entered."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        found = "no such folder"
    except NotADirectoryError:
        found = "not a folder"
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        if isinstance(error, OSError) and error.errno not in ABOUT_THE_NAME:
            raise NotReadNow(f"{folder}: {reason(error)}; {EXPECTED}") from None
        found = reason(error)
    raise CannotBeRead(f"{folder}: {found}; {EXPECTED}")


def episode_number(path: Path) -> int | None:
    """Number of the episode in a file, from its name; None for another name."""
    match = EPISODE_NAME.fullmatch(path.name)
    return int(match[1]) if match else None


def episode_name(number: int) -> str:
    """Name of the file of the episode with this number."""
    return f"episode-{number:06d}.parquet"


def next_number(folder: Path) -> int:
    """Number of the next episode in `folder`: one more than the highest."""
    return max(episode_numbers(folder), default=-1) + 1


def to_text(data: Any) -> str:
    """JSON as the files of a dataset hold it."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
