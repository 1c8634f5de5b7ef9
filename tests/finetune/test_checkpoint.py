from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.finetune import checkpoint
from qwop.finetune.checkpoint import Damaged, checkpoints, load_checkpoint, load_newest, save_checkpoint


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
    whole = path.read_bytes()
    for content in (b"", whole[:5], whole[:700], whole + b"\0"):
        path.write_bytes(content)
        with pytest.raises(Damaged, match=r"decisions-000000000001\.checkpoint"):
            load_checkpoint(path)


def test_a_checkpoint_with_any_bit_flipped_is_damaged(tmp_path: Path) -> None:
    state = {"array": np.arange(50.0), "text": "words", 7: [1, None], "flags": np.array([True, False])}
    path = save_checkpoint(tmp_path, 1, state)
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), 3):
        altered = bytearray(whole)
        altered[bit // 8] ^= 1 << bit % 8
        path.write_bytes(altered)
        with pytest.raises(Damaged):
            load_checkpoint(path)


def test_the_newest_whole_checkpoint_is_taken_and_each_damaged_one_has_a_line(tmp_path: Path) -> None:
    paths = [save_checkpoint(tmp_path, decisions, {"decisions": decisions}) for decisions in (1, 2)]
    said: list[str] = []
    assert load_newest(paths, said.append) == (paths[1], {"decisions": 2})
    assert said == []
    paths[1].write_bytes(paths[1].read_bytes()[:-1])
    assert load_newest(paths, said.append) == (paths[0], {"decisions": 1})
    assert len(said) == 1
    assert said[0].startswith(f"warning: {paths[1]}: ")
    assert said[0].endswith("; an older one is read")
    paths[0].write_bytes(b"nothing")
    with pytest.raises(BadInput, match=r"000002\.checkpoint: damaged, and no older checkpoint is whole; start anew"):
        load_newest(paths, said.append)


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_a_state_that_is_not_finite_is_not_written(tmp_path: Path, number: float) -> None:
    state = {"array": np.array([1.0, number])}
    before = [save_checkpoint(tmp_path, decisions, {"array": np.ones(2)}) for decisions in (1, 2)]
    with pytest.raises(BadInput, match=r"training has diverged; lower the learning rate .* and start anew"):
        save_checkpoint(tmp_path, 3, state)
    assert checkpoints(tmp_path) == before


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
