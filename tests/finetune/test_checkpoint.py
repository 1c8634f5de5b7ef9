from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.finetune import checkpoint
from qwop.finetune.checkpoint import checkpoints, load_checkpoint, save_checkpoint


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    state = {
        "decisions": 640,
        "weights": {"layer.weight": torch.randn(3, 2)},
        "array": np.arange(6, dtype=np.int64).reshape(2, 3),
        "flags": np.array([True, False]),
        "number": np.float64(0.5),
        "generator": np.random.default_rng(3).bit_generator.state,
        "nested": [{"returns": [1.0, 2.0]}, None, "text"],
        7: "a number as a key",
    }
    back = load_checkpoint(save_checkpoint(tmp_path, 640, state))
    assert back.keys() == state.keys()
    assert torch.equal(back["weights"]["layer.weight"], state["weights"]["layer.weight"])
    assert back["array"].dtype == np.int64
    assert np.array_equal(back["array"], state["array"])
    assert back["flags"].tolist() == [True, False]
    assert back["generator"] == state["generator"]  # its 128-bit numbers to the last
    assert back["nested"] == state["nested"]


def test_the_newest_two_are_kept_in_order(tmp_path: Path) -> None:
    for decisions in (5, 100, 20_000, 3_000_000):
        save_checkpoint(tmp_path, decisions, {})
    assert [path.name for path in checkpoints(tmp_path)] == [
        "decisions-000000020000.checkpoint",
        "decisions-000003000000.checkpoint",
    ]
    assert len(list(tmp_path.iterdir())) == 2  # nothing half-written lies about


def test_a_torn_checkpoint_is_refused_with_its_name(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {"array": np.zeros(1000)})
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(BadInput, match=r"decisions-000000000001\.checkpoint"):
        load_checkpoint(path)


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_a_state_that_is_not_finite_is_neither_written_nor_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: float
) -> None:
    state = {"array": np.array([1.0, number])}
    before = [save_checkpoint(tmp_path, decisions, {"array": np.ones(2)}) for decisions in (1, 2)]
    with pytest.raises(BadInput, match=r"training has diverged; lower the learning rate .* and start anew"):
        save_checkpoint(tmp_path, 3, state)
    assert checkpoints(tmp_path) == before
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "_not_finite", lambda tensors: None)
        path = save_checkpoint(tmp_path, 3, state)
    with pytest.raises(BadInput, match=r"000003\.checkpoint: not a checkpoint .*not finite.*remove it to resume"):
        load_checkpoint(path)


def test_no_folder_is_no_checkpoints(tmp_path: Path) -> None:
    assert checkpoints(tmp_path / "nowhere") == []


@pytest.mark.parametrize("version", [1, 99])
def test_a_checkpoint_of_another_version_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    monkeypatch.setattr(checkpoint, "VERSION", version)
    path = save_checkpoint(tmp_path, 1, {"decisions": 1})
    monkeypatch.undo()
    with pytest.raises(BadInput, match=r"decisions-000000000001\.checkpoint: written by another version") as refused:
        load_checkpoint(path)
    assert "\n" not in str(refused.value)


def test_a_checkpoint_from_before_versions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "decisions-000000000001.pt"
    torch.save({"decisions": 1}, path)
    with pytest.raises(BadInput, match=r"decisions-000000000001\.pt: written by another version"):
        load_checkpoint(path)
