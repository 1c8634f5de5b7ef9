"""Checkpoints: the newest are kept, and what was altered, cut or has diverged is named in a line."""

from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.finetune import checkpoint
from qwop.finetune.checkpoint import checkpoints, load_checkpoint, save_checkpoint


def test_the_newest_two_are_kept_in_order(tmp_path: Path) -> None:
    assert checkpoints(tmp_path / "nowhere") == []
    for decisions in (5, 100, 20_000, 3_000_000):
        save_checkpoint(tmp_path, decisions, {})
    names = ["decisions-000000020000.checkpoint", "decisions-000003000000.checkpoint"]
    assert [path.name for path in checkpoints(tmp_path)] == names
    assert len(list(tmp_path.iterdir())) == 2  # nothing half-written lies about


def test_a_checkpoint_that_is_torn_or_has_any_bit_flipped_is_damaged(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {"array": np.arange(50.0), "text": "words", 7: [1, None]})
    whole = path.read_bytes()
    contents = [b"", whole[:5], whole[:700], whole[:-1], whole + b"\0"]
    for bit in range(0, 8 * len(whole), 5):
        altered = bytearray(whole)
        altered[bit // 8] ^= 1 << bit % 8
        contents.append(bytes(altered))
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"decisions-000000000001\.checkpoint: .*remove it to resume"):
            load_checkpoint(path)


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_a_state_that_is_not_finite_is_not_written(tmp_path: Path, number: float) -> None:
    before = [save_checkpoint(tmp_path, decisions, {"array": np.ones(2)}) for decisions in (1, 2)]
    with pytest.raises(BadInput, match="training has diverged"):
        save_checkpoint(tmp_path, 3, {"array": np.array([1.0, number])})
    assert checkpoints(tmp_path) == before


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_checkpoint(tmp_path, 1, {"decisions": 1})
    monkeypatch.setattr(checkpoint, "VERSION", 99)
    with pytest.raises(BadInput, match=r"decisions-000000000001\.checkpoint: written by another version"):
        load_checkpoint(path)
