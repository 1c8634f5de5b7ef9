"""Answers to the page's GET requests: the page itself, the scene, the list of games, and their frames."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from ...common.content_types import TYPES, content_type
from ...common.errors import BadInput
from ...datasets.from_keys import replay_episode
from ...envs.pictures.frame_rows import rows_of_replay
from ...envs.pictures.scene import PAGE_RESOLUTION, SCRIPTS, Scene
from .library import Library
from .local_server import Answer

STATIC = Path(__file__).parent / "static"


class Site:
    """Everything that can be fetched, by its path relative to the page's address ('' is the page)."""

    def __init__(self, library: Library, settings: dict[str, Any]) -> None:
        self._library = library
        self._settings = settings

    def answer(self, path: str) -> Answer | None:
        """Find the answer to a path; None for an unknown one."""
        match path.split("/"):
            case [""]:
                return self._static("index.html")
            case ["settings.json"]:
                return _json(self._settings)
            case ["scene.json"]:
                return _json(self._scene.to_json())
            case ["games.json"]:
                return _json(self._library.to_json())
            case ["games", collection, name] if name.endswith(".bin"):
                try:
                    game = self._library.game(collection, name.removesuffix(".bin"))
                    rows = rows_of_replay(replay_episode(game), game.keys_of_frames)
                except (KeyError, BadInput, OSError):
                    return None
                return Answer(rows.tobytes(), TYPES[".bin"])
            case ["tiles", name]:
                content = self._scene.tiles.get(name)
                return None if content is None else Answer(content, TYPES[".png"])
            case [name]:
                return self._static(name)
        return None

    def _static(self, name: str) -> Answer | None:
        # Looked up among the files that there are, so that no name leads out of the folder.
        files = {file.name: file for folder in (STATIC, SCRIPTS) for file in folder.iterdir() if file.suffix in TYPES}
        file = files.get(name)
        return None if file is None else Answer(file.read_bytes(), content_type(name))

    @cached_property
    def _scene(self) -> Scene:
        return Scene(PAGE_RESOLUTION)


def _json(document: Any) -> Answer:
    return Answer(json.dumps(document, allow_nan=False).encode(), TYPES[".json"])
