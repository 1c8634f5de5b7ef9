"""The shipped module is the one that the sources make."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from qwop.common.errors import BadInput
from qwop.envs.web import build
from qwop.envs.web.build import LINKER, MODULE, ORIGIN, origin, sources_digest

SHIPPED = json.loads(MODULE.with_name(ORIGIN).read_text())


def test_the_module_was_built_from_the_present_sources() -> None:
    assert SHIPPED["sources"] == sources_digest(), "build it again: python -m qwop.envs.web.build"


def test_comments_and_docstrings_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web, engine = tmp_path / "web", tmp_path / "engine"
    shutil.copytree(MODULE.parents[1], web)
    shutil.copytree(MODULE.parents[2] / "engine", engine)
    monkeypatch.setattr(build, "__file__", str(web / "build.py"))
    assert sources_digest() == SHIPPED["sources"]
    game = engine / "game.py"
    text = game.read_text()
    game.write_text(text.replace('"""The rules', '# new\n"""Other rules'))
    assert sources_digest() == SHIPPED["sources"]
    game.write_text(text.replace("HEAD_ANGLE = 0.2", "HEAD_ANGLE = 0.3"))
    assert sources_digest() != SHIPPED["sources"]


def test_the_module_imports_nothing_and_has_a_32_bit_memory() -> None:
    sections = dict(_sections(MODULE.read_bytes()))
    assert 2 not in sections  # imports
    assert sections[5][:2] in (b"\x01\x00", b"\x01\x01")  # one memory, its addresses of 32 bits


def test_without_the_linker_the_build_says_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="apt install lld"):
        build.build(tmp_path / "engine.wasm")


@pytest.mark.slow
def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which(LINKER) is None:
        pytest.skip(f"{LINKER} is not installed (Debian: apt install lld)")
    if (tools := {**origin(), "sources": ""}) != {**SHIPPED, "sources": ""}:
        pytest.skip(f"the module was built with other tools than {tools}")
    made = tmp_path / "engine.wasm"
    # In a process of its own, which compiles everything anew.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "qwop.envs.web.build", made], check=True, env=environment, cwd=tmp_path)
    assert made.read_bytes() == MODULE.read_bytes()


def _sections(module: bytes) -> list[tuple[int, bytes]]:
    assert module[:8] == b"\0asm\x01\0\0\0"
    found, at = [], 8
    while at < len(module):
        kind, at, size, shift = module[at], at + 1, 0, 0
        while True:
            byte, at = module[at], at + 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append((kind, module[at : at + size]))
        at += size
    return found
