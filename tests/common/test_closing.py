"""Failures once there is a result."""

from pathlib import Path

import pytest
from qwop.common.ends import close_after_use
from qwop.common.tracker import open_tracker


def test_a_failure_is_a_note_that_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    def close() -> None:
        raise OSError(5, "Input/output error")

    for _ in range(2):
        close_after_use(close, "some thing")
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert output.err.startswith("note: some thing: closing it failed (OSError: [Errno 5] Input/output error); nothing")


def test_a_signal_is_no_failure() -> None:
    def close() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        close_after_use(close, "another thing")


def test_a_tracker_that_cannot_be_closed_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker = open_tracker("tensorboard", tmp_path)
    tracker.log({"a": 1.0}, 1)

    def close(self: object) -> None:
        raise RuntimeError("the writer is gone")

    monkeypatch.setattr("torch.utils.tensorboard.SummaryWriter.close", close)
    tracker.close()
    assert "note: tracker tensorboard: closing it failed (RuntimeError: the writer is gone)" in capsys.readouterr().err
