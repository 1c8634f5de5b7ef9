from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.envs.pictures.drawing import SCRIPTS as PICTURE_SCRIPTS
from qwop.play.site import SCRIPTS

from ..envs.web.runners import NODE, call, program_of


@pytest.fixture
def in_node() -> Callable[..., Any]:
    """Calls a function of a script of the page, or of one beside these tests, in Node; skips without it."""
    if program_of(NODE) is None:
        pytest.skip("Node is not installed")
    folders = (PICTURE_SCRIPTS, SCRIPTS, Path(__file__).parent)
    files = {file.name: file for folder in folders for file in folder.glob("*.js")}

    def run(script: str, function: str, *arguments: Any) -> Any:
        return call(NODE, script, function, arguments, files, timeout=200)

    return run
