"""The files of the page, as any static host serves them."""

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from safetensors import safe_open
from safetensors.numpy import save

from ..common.errors import BadInput
from ..common.files import write_atomic
from ..common.run_folder import CONFIGURATION, DATASET
from ..envs import web
from ..envs.pictures import drawing
from ..policies.champion import CHAMPION, keys_path, policy_path

SCRIPTS = Path(__file__).parent / "static"

OWN = Path(__file__).parent / "board"
"""Runs of this project's players, as files of keys."""

TILES, BOARD = FOLDERS = ("tiles", "board")

_UNUSED = ("player.css", "watch.js")
"""Files of other pages, and what the engine was built from."""

LISTED = "board.json"

KEYS = "champion_keys.txt"
"""File that only such a page has."""

VALUES = "values."
"""Beginning of the names of tensors that only learning needs."""


@cache
def files(board: Path = OWN) -> dict[str, bytes]:
    """All files by their path relative to the page; `index.html` is the page.

    board: folder of the board's runs, which the page plays before it lists them; `board.json` has the files' names.
    BadInput without a folder or files.
    """
    runs = sorted(board.glob("*.txt"))
    if not runs:
        raise BadInput(f"board={board}: no files of keys (*.txt), expected those that qwop-play's page saves")
    contents = {
        file.name: file.read_bytes()
        for folder in (drawing.SCRIPTS, web.STATIC, SCRIPTS)
        for file in sorted(folder.iterdir())
        if file.is_file() and file.name not in _UNUSED
    }
    contents[web.ENGINE] = web.engine_module()
    contents["scene.json"] = drawing.SCENE_FILE.read_bytes()
    contents |= {f"{TILES}/{file.name}": file.read_bytes() for file in sorted(drawing.TILES.glob("*.png"))}
    contents["champion.safetensors"] = acting_part(policy_path(CHAMPION))
    contents[KEYS] = keys_path(CHAMPION).read_bytes()
    contents[LISTED] = json.dumps([run.name for run in runs]).encode()
    return contents | {f"{BOARD}/{run.name}": run.read_bytes() for run in runs}


def write_site(folder: Path, site: Mapping[str, bytes]) -> int:
    """Write a page's files into a folder; returns their size in bytes.

    BadInput for a folder that holds a dataset or a run, or a file that would be overwritten, unless a page was written
    there.
    """
    others = {DATASET: "a dataset", CONFIGURATION: "the run of another command"}
    held = [what for name, what in others.items() if (folder / name).exists()]
    if not (folder / KEYS).exists():
        held += [f"{name}, which would be overwritten" for name in site if _differs(folder / name, site[name])]
    if held:
        raise BadInput(f"out={folder}: holds {held[0]}; give out= another folder")
    for name, content in site.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
    return sum(map(len, site.values()))


def _differs(path: Path, content: bytes) -> bool:
    """True if something else has the name of a file; the same content is a page's that was interrupted."""
    return os.path.lexists(path) and not (path.is_file() and path.read_bytes() == content)


def acting_part(policy: Path) -> bytes:
    """A policy's file without the tensors that only learning needs, which are half of the champion's."""
    with safe_open(policy, "numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys() if not name.startswith(VALUES)}  # noqa: SIM118
        return save(tensors, file.metadata())
