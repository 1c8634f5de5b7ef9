"""Imports that wait until they are needed, and then are quick."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from qwop.common.lazy import import_quickly


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a module that tells whether garbage was looked for as it was imported."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "imported_quickly.py"
    file.write_text("import gc\ncollecting = gc.isenabled()\n")
    yield file
    sys.modules.pop("imported_quickly", None)
    gc.unfreeze()
    gc.enable()


def test_garbage_is_looked_for_again_after_an_import(module: Path) -> None:
    assert not import_quickly("imported_quickly").collecting
    assert gc.isenabled()


def test_garbage_is_looked_for_again_after_an_import_that_fails(module: Path) -> None:
    module.write_text("raise ValueError")
    with pytest.raises(ValueError):  # noqa: PT011
        import_quickly("imported_quickly")
    assert gc.isenabled()


def test_who_wants_no_garbage_collection_has_none_after_an_import(module: Path) -> None:
    gc.disable()
    import_quickly("imported_quickly")
    assert not gc.isenabled()


def test_garbage_is_never_looked_for_in_what_an_import_brings(module: Path) -> None:
    before = gc.get_freeze_count()
    import_quickly("imported_quickly")
    frozen = gc.get_freeze_count()
    assert frozen > before
    import_quickly("imported_quickly")  # nothing new: what the program has made since may become garbage
    assert gc.get_freeze_count() <= frozen
