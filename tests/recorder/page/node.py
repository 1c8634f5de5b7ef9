"""The page's scripts in Node."""

from pathlib import Path
from typing import Any

import pytest
from qwop.envs.pictures.drawing import SCRIPTS as PICTURE_SCRIPTS
from qwop.play.site import SCRIPTS
from qwop.recorder.page.server import STATIC

from ...envs.web.runners import NODE, call, program_of

FOLDERS = (PICTURE_SCRIPTS, SCRIPTS, STATIC, Path(__file__).parent)


def in_node(script: str, function: str, *arguments: Any) -> Any:
    """The result of a function of one of the scripts beside this file; skips without Node."""
    if program_of(NODE) is None:
        pytest.skip("Node is not installed")
    files = {file.name: file for folder in FOLDERS for file in folder.glob("*.js")}
    return call(NODE, script, function, arguments, files, timeout=200)
