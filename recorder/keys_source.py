"""`source=keys`: games from files of keys, such as those that the page of `qwop-play` and evaluations save."""

import hashlib
from pathlib import Path

from ..datasets.from_keys import episode_from_keys
from ..datasets.origin import Origin
from ..envs.qwop.keys_file import read_game
from .published.source import find_files
from .settings import ME, KeysSettings
from .source import Source, info_for, require_new

EXPECTED = "expected files of keys, such as those that qwop-play saves"

_DIGITS = 12


def open_keys(settings: KeysSettings, folder: Path) -> Source:
    """Read the games of all files; each is played again as it is recorded. The player is the one that the file names.

    Raises BadInput for a file that holds no keys, and for a game that `folder` already contains.
    """
    info = info_for(settings, folder)
    paths = find_files(settings.files, "games/*.txt", EXPECTED)
    games = [read_game(path) for path in paths]
    digests = [hashlib.sha256(keys.tobytes()).hexdigest()[:_DIGITS] for keys, _ in games]
    require_new(paths, digests, folder)
    return Source(
        info=info,
        episodes=(
            episode_from_keys(
                keys,
                info,
                player=settings.player or (said.name if said else ME),
                source=path.name,
                epsilon=settings.epsilon,
                origin=Origin(sha256=digest),
            )
            for path, (keys, said), digest in zip(paths, games, digests, strict=True)
        ),
        total=len(games),
        notes=[f"{len(games)} files of keys, played again as they are recorded"],
    )
