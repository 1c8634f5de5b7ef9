"""The journal of a study: what is read from it is checked first."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.study.journal import JOURNAL

Make = Callable[..., Any]


@pytest.mark.parametrize("code", ["400", '"x"'])
def test_a_line_that_is_none_of_a_journal_is_refused(code: str, bench: Make) -> None:
    part, instead = '"op_code":4', f'"op_code":{code}'
    own = bench(trials=2, repeats=1, finalists=2, fresh_seeds=2)
    own.finish()
    path = own.folder / JOURNAL
    text = path.read_text()
    assert part in text
    bench(trials=2, repeats=1, finalists=2, fresh_seeds=2)  # as it is, it is read again
    path.write_text(text.replace(part, instead, 1))
    with pytest.raises(BadInput, match=JOURNAL) as refusal:
        bench(trials=2, repeats=1, finalists=2, fresh_seeds=2)
    assert "\n" not in str(refusal.value)
    assert "start anew with another out" in str(refusal.value)


CUT = b"\x00\x01binary, or a text whose last line has no end" * 50


@pytest.mark.parametrize("kind", ["link", "link to a journal", "folder", "device", "file", "other study"])
def test_what_is_no_journal_is_refused_and_stays_as_it_is(kind: str, bench: Make, tmp_path: Path) -> None:
    path, mine = bench().folder / JOURNAL, tmp_path / "thesis"
    journal = path.read_bytes() + b'{"op_code"'
    path.unlink()
    content = {"link to a journal": journal, "other study": journal.replace(b'"study"', b'"theirs"')}.get(kind, CUT)
    if kind == "folder":
        path.mkdir()
    else:
        where = path if kind in ("file", "other study") else mine
        where.write_bytes(content)
        if where is mine:
            path.symlink_to("/dev/zero" if kind == "device" else mine)
    with pytest.raises(BadInput, match=rf"{JOURNAL}: .*; start anew with another out"):
        bench()
    assert kind == "folder" or path.is_symlink() or path.read_bytes() == content
    assert not mine.exists() or mine.read_bytes() == content


def test_the_lock_of_a_process_that_was_killed_while_it_wrote_is_taken(
    bench: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = bench(trials=1, repeats=1)
    (own.folder / f"{JOURNAL}.lock").touch()
    clock = itertools.count(0, 4)
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    assert len(bench(trials=1, repeats=1).search().trials) == 1
