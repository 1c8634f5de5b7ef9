"""The derived files of a dataset: checksums, card and Croissant metadata."""

from pathlib import Path

from ..common.files import write_atomic
from .card import write_card
from .checksums import add_checksums, malformed_lines, sha256, write_checksums
from .croissant import CROISSANT, croissant
from .episode_file import open_episode_file
from .folder import DESCRIPTION, episode_numbers, parse_info, read_description, to_text
from .reader import Dataset, open_dataset
from .schema import DatasetInfo
from .summary import Summary


def describe(folder: Path, *, accept: bool = False) -> Summary:
    """Update the derived files to the episodes; return the statistics.

    A file that is not listed is checked by its own content, and listed; lines that a power failure cut off are removed.
    BadInput for a listed one that is missing or changed, unless `accept`, which writes the list anew from the files
    that are there. A dataset of version 1 also gets a list, although its episodes have no content hash to be checked
    by.
    """
    dataset = accepted(folder) if accept else open_dataset(folder)
    if not accept:
        add_checksums(folder, _unlisted(dataset))
        dataset = open_dataset(folder)
        cut, others = malformed_lines(folder)
        if cut and not others:
            write_checksums(folder, dataset.checksums)
    summary = dataset.summary()
    write_atomic(folder / CROISSANT, to_text(croissant(folder.resolve().name, dataset.info)))
    write_card(folder, summary)
    return summary


def accepted(folder: Path) -> Dataset:
    """Rewrite the list of checksums from the files, each of which has to be an episode of this dataset.

    A description that is lost is written anew first, but for names of actions, which episodes do not repeat.
    """
    if (episodes := episode_numbers(folder)) and not (folder / DESCRIPTION).exists():
        with open_episode_file(folder / next(iter(episodes.values()))) as file:
            lost = DatasetInfo.from_json(file.metadata)
        write_atomic(folder / DESCRIPTION, to_text(lost.description()))
    content = read_description(folder)
    info = parse_info(content, folder / DESCRIPTION)
    checksums = {DESCRIPTION: sha256(content)}
    for name in episodes.values():
        checksums[name] = _checked(folder / name, info)
    write_checksums(folder, checksums)
    return open_dataset(folder)


def _unlisted(dataset: Dataset) -> dict[str, str]:
    found = {}
    if DESCRIPTION not in dataset.checksums:
        found[DESCRIPTION] = sha256(read_description(dataset.folder))
    for path in dataset.files:
        if path.name not in dataset.checksums:
            found[path.name] = _checked(path, dataset.info)
    return found


def _checked(path: Path, info: DatasetInfo) -> str:
    """SHA-256 of an episode's file, which is read completely."""
    with open_episode_file(path) as file:
        file.episode(info)
        return file.sha256
