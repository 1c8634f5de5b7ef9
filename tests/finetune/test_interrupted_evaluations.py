"""Evaluations that are interrupted or fail: the run that goes on repeats them, and ends with the same bits."""

import json
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


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def contents(folder: Path) -> dict[str, Any]:
    """All that a run leaves, but for times."""
    found: dict[str, Any] = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        name = str(path.relative_to(folder))
        if path.suffix in (".safetensors", ".checkpoint"):
            found[name] = path.read_bytes()
        elif path.suffix == ".json":
            found[name] = path.read_text()
        elif name == "metrics.jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            found[name] = [
                {key: value for key, value in row.items() if "time" not in key and "second" not in key} for row in rows
            ]
        else:
            found[name] = None
    return found


def nothing() -> None:
    pass


def test_an_interrupt_during_an_evaluation_loses_nothing_and_resumes_to_the_same_bits(
    run: Run, evaluations: list[Callable[[], None]], tmp_path: Path
) -> None:
    assert run("whole").code == 0
    evaluations += [nothing, nothing, interrupt]  # the start's greedy and drawn games, the first within the phase
    stopped = run("half")
    assert stopped.code == 128 + signal.SIGINT, stopped.err
    assert not (tmp_path / "half" / "phases" / "1-alone-64.json").exists()
    newest = load_checkpoint(checkpoints(tmp_path / "half" / "checkpoints")[-1])
    assert newest["decisions"] == 64
    assert run("half", "resume=true").code == 0
    assert_same(*(contents_after_a_stop(tmp_path / name) for name in ("half", "whole")))


def contents_after_a_stop(folder: Path) -> dict[str, Any]:
    """The contents without rows of the log, of which a stopped run has one more."""
    return {name: found for name, found in contents(folder).items() if name != "metrics.jsonl"}


def test_an_evaluation_that_fails_ends_the_run_and_is_repeated_by_the_resumed_one(
    run: Run, evaluations: list[Callable[[], None]], tmp_path: Path
) -> None:
    assert run("whole").code == 0

    def fail() -> None:
        raise OSError(28, "No space left on device")

    evaluations += [nothing, nothing, nothing, fail]  # the second one within the phase, after 128 decisions
    failed = run("half")
    assert failed.code == 2
    assert "No space left on device" in failed.err
    assert "Traceback" not in failed.err
    assert not (tmp_path / "half" / "phases" / "1-alone-128.json").exists()
    newest = load_checkpoint(checkpoints(tmp_path / "half" / "checkpoints")[-1])
    assert newest["decisions"] == 96  # none was written after it
    assert run("half", "resume=true").code == 0
    assert_same(*(contents_after_a_stop(tmp_path / name) for name in ("half", "whole")))
