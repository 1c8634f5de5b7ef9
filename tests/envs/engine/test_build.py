"""The files that are shipped are those that the sources make."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import wasmtime
from qwop.common.errors import BadInput
from qwop.envs.engine import layout
from qwop.envs.engine.build import LIBRARIES, ORIGIN, TARGETS, build, linker_of, origin, sources_digest
from qwop.envs.web import engine_module

SHIPPED = json.loads((LIBRARIES / ORIGIN).read_text())
FILES = {target.file: LIBRARIES / target.file for target in TARGETS}


@pytest.mark.skipif(
    f"{sys.version_info.major}.{sys.version_info.minor}" != SHIPPED["python"],
    reason="another version of Python writes the sources' trees in another way",
)
def test_the_files_were_built_from_the_present_sources() -> None:
    assert SHIPPED["sources"] == sources_digest(), "build them again: python -m qwop.envs.engine.build"


def test_webassembly_imports_nothing_and_has_a_32_bit_memory() -> None:
    content = engine_module()
    pages_layout = content[content.index(b"\x06layout{") + 7 :].decode("latin-1")
    assert json.JSONDecoder().raw_decode(pages_layout)[0]["reals"] == layout.REALS
    module = wasmtime.Module(wasmtime.Engine(), content)
    assert list(module.imports) == []
    (memory,) = (one.type for one in module.exports if isinstance(one.type, wasmtime.MemoryType))
    assert not memory.is_64


def test_without_a_linker_the_build_says_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match=r"ld\.lld: not found.*apt install lld-14"):
        build()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    missing = [target.linker for target in TARGETS if linker_of(target) is None]
    if missing:
        _not_compared(f"not installed: {', '.join(missing)} (Debian: apt install lld-14)")
    if (tools := {**origin(), "sources": ""}) != {**SHIPPED, "sources": ""}:
        _not_compared(f"the files were built with other tools than {tools}")
    subprocess.run([sys.executable, "-m", "qwop.envs.engine.build", tmp_path], check=True, cwd=tmp_path)
    assert [name for name, file in FILES.items() if (tmp_path / name).read_bytes() != file.read_bytes()] == []


def _not_compared(reason: str) -> None:
    """Skip, but where the checks run for the project, which has Python 3.11 and the tools."""
    if os.environ.get("CI") and sys.version_info[:2] == (3, 11):
        pytest.fail(reason)
    pytest.skip(reason)
