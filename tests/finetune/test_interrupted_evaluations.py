"""Evaluations that are interrupted or fail: the run that goes on repeats them, and ends with the same bits."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.evaluation.evaluate import Evaluation, evaluate
from qwop.finetune import evaluation
from qwop.finetune.checkpoint import checkpoints, load_checkpoint

from .runs import assert_same

RUN = (
    "environment=QWOP-v1", "policy=scratch", "schedule=live-only", "schedule.decisions=320", "schedule.keep=best",
    "+schedule.phases.alone.environment={time_limit: 2.0}", "+schedule.phases.alone.evaluations=3",
    "+schedule.phases.more={hours: 40, learning_rate: 0.5}", "algorithm=ppo", "algorithm.hidden=[16]",
    "algorithm.minibatch=16", "loop.num_envs=4", "loop.steps=8", "loop.checkpoint_every=96", "loop.log_every=64",
    "evaluation.episodes=3", "evaluation.drawn=2", "tracker=none",
)  # fmt: skip

Run = Callable[..., Any]


@pytest.fixture
def run(finetune: Run) -> Run:
    """Runs the command in the folder `out`."""
    return lambda out, *more: finetune(*RUN, f"out={out}", "video=false", *more)


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Calls that the next evaluations make before they play, first to last."""
    before: list[Callable[[], None]] = []

    def evaluated(*given: Any) -> Evaluation:
        if before:
            before.pop(0)()
        return evaluate(*given)

    monkeypatch.setattr(evaluation, "evaluate", evaluated)
    return before


def contents(folder: Path) -> dict[str, Any]:
    """All that a run leaves, without reports, times and rows of the log, of which a stopped run has one more."""
    found: dict[str, Any] = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        kept = path.suffix in (".safetensors", ".checkpoint", ".json")
        found[str(path.relative_to(folder))] = path.read_bytes() if kept else None
    return found


def nothing() -> None:
    pass


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def fail() -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("before", "code", "said", "missing", "newest"),
    [
        ([nothing, nothing, interrupt], 128 + signal.SIGINT, "interrupted", "1-alone-64", 64),
        ([nothing, nothing, nothing, fail], 2, "No space left on device", "1-alone-128", 96),  # none written after it
    ],
)
def test_an_evaluation_that_does_not_end_is_repeated_and_the_run_leaves_the_same_bits(
    before: list[Callable[[], None]], code: int, said: str, missing: str, newest: int,
    run: Run, evaluations: list[Callable[[], None]], tmp_path: Path,
) -> None:  # fmt: skip
    assert run("whole").code == 0
    evaluations += before  # the start's greedy and drawn games, then those within the phase
    stopped = run("half")
    assert stopped.code == code, stopped.err
    assert said in stopped.err
    assert "Traceback" not in stopped.err
    assert not (tmp_path / "half" / "phases" / f"{missing}.json").exists()
    assert load_checkpoint(checkpoints(tmp_path / "half" / "checkpoints")[-1])["decisions"] == newest
    assert run("half", "resume=true").code == 0
    assert_same(*(contents(tmp_path / name) for name in ("half", "whole")))
