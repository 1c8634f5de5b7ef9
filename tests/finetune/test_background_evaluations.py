"""The command with evaluations in the background, against the command that waits for each of them."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.common.ends import Deferred
from qwop.evaluation.evaluate import Evaluation, evaluate
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.finetune.reports import phase_evaluator
from qwop.finetune.reports.background import Background

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
def run(finetune: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on a machine with so many cores, in the folder `out`."""

    def started(out: str, *more: str, number: int = 2) -> Any:
        monkeypatch.setattr("qwop.finetune.training.cores", lambda: number)
        return finetune(*RUN, f"out={out}", "video=false", *more)

    return started


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Calls that the next evaluations make before they play, first to last."""
    before: list[Callable[[], None]] = []

    def evaluated(*given: Any) -> Evaluation:
        if before:
            before.pop(0)()
        return evaluate(*given)

    monkeypatch.setattr(phase_evaluator, "evaluate", evaluated)
    return before


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Interrupts the process from an evaluation's thread, and returns once the main thread has taken notice."""
    noticed, handle = threading.Event(), Deferred._handle

    def noticing(self: Deferred, *given: Any) -> None:
        noticed.set()
        handle(self, *given)

    def interrupted() -> None:
        noticed.clear()
        os.kill(os.getpid(), signal.SIGINT)
        assert noticed.wait(60)

    monkeypatch.setattr(Deferred, "_handle", noticing)
    return interrupted


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


def test_a_run_leaves_and_says_the_same_with_evaluations_in_the_background(
    run: Run, evaluations: list[Callable[[], None]], tmp_path: Path
) -> None:
    threads = []
    evaluations += [lambda: threads.append(threading.current_thread())] * 2
    waiting = run("waiting", number=1)
    evaluations[:] = [lambda: threads.append(threading.current_thread())] * 2
    background = run("background")
    assert (waiting.code, background.code) == (0, 0), background.err
    assert [one is threading.main_thread() for one in threads] == [True, True, False, False]
    found = contents(tmp_path / "background")
    assert_same(found, contents(tmp_path / "waiting"))
    names = ("0-start", "1-alone-128", "1-alone-160", "1-alone-64", "1-alone", "2-more")
    assert [name for name in found if name.endswith(".json")] == [f"phases/{name}.json" for name in names]
    said = [one.out.replace(name, "NAME") for one, name in ((waiting, "waiting"), (background, "background"))]
    assert lines(said[0]) == lines(said[1])


def lines(said: str) -> list[str]:
    """The lines but for the progress bar's."""
    return [line for line in said.splitlines() if "━" not in line]


def test_training_goes_on_during_an_evaluation(run: Run, evaluations: list[Callable[[], None]], tmp_path: Path) -> None:
    log, rows = tmp_path / "run" / "metrics.jsonl", list[int]()

    def wait_for_a_row() -> None:
        while not (rows and rows[-1]):
            rows.append(len(log.read_text().splitlines()))
            time.sleep(0.01)

    evaluations.append(wait_for_a_row)  # of the start, which no row comes before
    assert run("run").code == 0
    assert rows[0] == 0


def test_an_interrupt_during_an_evaluation_loses_nothing_and_resumes_to_the_same_bits(
    run: Run, evaluations: list[Callable[[], None]], interrupt: Callable[[], None], tmp_path: Path
) -> None:
    assert run("whole").code == 0
    evaluations += [nothing, nothing, interrupt]  # the start's greedy and drawn games, the first within the phase
    stopped = run("half")
    assert stopped.code == 128 + signal.SIGINT, stopped.err
    evaluated = json.loads((tmp_path / "half" / "phases" / "1-alone-64.json").read_text())
    assert evaluated["decisions"] == 64
    newest = load_checkpoint(checkpoints(tmp_path / "half" / "checkpoints")[-1])
    assert 64 <= newest["decisions"] < 352
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


def test_a_second_interrupt_ends_an_evaluation(
    run: Run,
    evaluations: list[Callable[[], None]],
    interrupt: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over, closing, close = [], threading.Event(), Background.close

    def closes(self: Background) -> None:
        closing.set()
        close(self)

    def interrupt_twice() -> None:
        interrupt()
        os.kill(os.getpid(), signal.SIGINT)
        assert closing.wait(60)

    monkeypatch.setattr(Background, "close", closes)
    evaluations += [nothing, nothing, interrupt_twice, lambda: over.append(1)]
    assert run("run").code == 128 + signal.SIGINT
    assert over == []
    assert not (tmp_path / "run" / "phases" / "1-alone-64.json").exists()
    assert run("run", "resume=true").code == 0
