"""`source=keys`: games from files of keys, such as those that the page of `qwop-play` and evaluations save."""

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ..common.errors import BadInput
from ..datasets.from_keys import episode_from_keys
from ..datasets.origin import Origin
from ..envs.qwop.keys_file import LARGEST_FILE, game_of, read_lines
from .settings import ME, KeysSettings
from .source import Source, find_files, info_for, require_new

EXPECTED = "expected files of keys, or zips of them, such as those that qwop-play saves"

_DIGITS = 12


def open_keys(settings: KeysSettings, folder: Path) -> Source:
    """Read the games of all files; each is played again as it is recorded. The player is the one that the file names.

    Raises BadInput for a file that holds no keys, and for a game that `folder` already contains.
    """
    info = info_for(settings, folder)
    files = [one for path in find_files(settings.files, "games/*.txt", EXPECTED) for one in _files_in(path)]
    paths = [path for path, _ in files]
    games = [game_of(lines, path) for path, lines in files]
    digests = [hashlib.sha256(keys.tobytes()).hexdigest()[:_DIGITS] for keys, _ in games]
    require_new(paths, digests, folder)
    return Source(
        info=info,
        episodes=(
            episode_from_keys(
                keys,
                info,
                player=settings.player or player or ME,
                source=path.name,
                epsilon=settings.epsilon,
                origin=Origin(sha256=digest),
            )
            for path, (keys, player), digest in zip(paths, games, digests, strict=True)
        ),
        total=len(games),
        notes=[f"{len(games)} files of keys, played again as they are recorded"],
    )


def _files_in(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """The name and lines of a file of keys, or of each one in a zip."""
    if path.suffix.lower() != ".zip":
        yield path, read_lines(path)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            files = [one for one in archive.infolist() if one.filename.lower().endswith(".txt")]
            if not files:
                raise BadInput(f"{path}: no file of keys (.txt) in it; {EXPECTED}")
            for one in files:
                if one.file_size > LARGEST_FILE:
                    raise BadInput(f"{path / one.filename}: {one.file_size:,} bytes, more than a game has; {EXPECTED}")
                yield path / one.filename, archive.read(one).decode().splitlines()
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); {EXPECTED}") from None
