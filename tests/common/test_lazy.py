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


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_not_looked_for_during_an_import_and_then_as_before(module: Path, collecting: bool) -> None:
    (gc.enable if collecting else gc.disable)()
    assert not import_quickly("imported_quickly").collecting
    assert gc.isenabled() is collecting
    sys.modules.pop("imported_quickly")
    module.write_text("raise ValueError")
    with pytest.raises(ValueError):  # noqa: PT011
        import_quickly("imported_quickly")
    assert gc.isenabled() is collecting


def test_garbage_is_never_looked_for_in_what_an_import_brings(module: Path) -> None:
    before = gc.get_freeze_count()
    import_quickly("imported_quickly")
    frozen = gc.get_freeze_count()
    assert frozen > before
    import_quickly("imported_quickly")  # nothing new: what the program has made since may become garbage
    assert gc.get_freeze_count() <= frozen
