"""Studies whose runs are functions, so that whole searches take a moment."""

import json
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.settings import read
from qwop.study.journal import open_journal
from qwop.study.results import StudyResults, results_of
from qwop.study.search import Search
from qwop.study.settings import StudySettings

CALLS = "calls.jsonl"


class Bench:
    """A study in a folder whose runs are `figure(trial, seed, values)`; all calls are noted in a file."""

    def __init__(self, folder: Path, figure: Callable[..., float], seed: int = 0, **budget: Any) -> None:
        self.folder = folder
        self.seed = seed
        self.settings = study_settings(**budget)
        self._figure = figure
        folder.mkdir(parents=True, exist_ok=True)
        self.study = open_journal(folder, self.settings, seed)

    def play(self, values: Any, seed: int, folder: Path) -> float:
        trial = int(folder.parent.name)
        with (self.folder / CALLS).open("a") as file:
            file.write(json.dumps([trial, seed]) + "\n")
        return self._figure(trial, seed, values)

    def search(self) -> StudyResults:
        Search(self.study, self.settings, self.seed, self.folder, self.play).run()
        return self.results

    def finish(self) -> StudyResults:
        """Search, and run the finalists with fresh seeds."""
        self.search()
        return Search(self.study, self.settings, self.seed, self.folder, self.play).run_finalists()

    @property
    def results(self) -> StudyResults:
        return results_of(self.study, self.settings)

    @property
    def calls(self) -> list[tuple[int, int]]:
        """Trial and seed of every run that was begun, in order."""
        return [tuple(json.loads(line)) for line in (self.folder / CALLS).read_text().splitlines()]


def study_settings(direction: str = "maximise", **budget: Any) -> StudySettings:
    node = {
        "command": "qwop-finetune",
        "settings": ["schedule=live-only"],
        "space": {
            "x": {"type": "float", "low": 0.0, "high": 1.0},
            "n": {"type": "int", "low": 1, "high": 64, "log": True},
            "c": {"type": "categorical", "choices": ["relu", "[1, 2]"]},
        },
        "objective": {"file": "a.json", "figure": "b", "direction": direction},
        "budget": {"trials": 6, "repeats": 3, "pruner": "none", "random_trials": 3, "finalists": 2, "fresh_seeds": 4}
        | budget,
    }
    return read(StudySettings, node, "study")


def noisy(trial: int, seed: int, values: Any) -> float:
    """Best at x = 0.3, with noise that the seed decides."""
    return -((float(values["x"]) - 0.3) ** 2) + 0.1 * float(np.random.default_rng(seed).normal())


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    return lambda figure=noisy, name="study", **more: Bench(tmp_path / name, figure, **more)


@pytest.fixture
def killed_at(tmp_path: Path) -> Callable[..., None]:
    """Searches in another process, which is killed in the middle of its run of that number."""

    def call(make: Callable[..., Bench], number: int, figure: Callable[..., float] = noisy, **more: Any) -> None:
        marker = tmp_path / "waiting"
        marker.unlink(missing_ok=True)
        count = 0

        def waits(*arguments: Any) -> float:
            nonlocal count
            count += 1
            if count > number:
                marker.touch()
                time.sleep(600)
            return figure(*arguments)

        process = multiprocessing.get_context("fork").Process(target=lambda: make(waits, **more).search())
        process.start()
        while not marker.exists():
            assert process.is_alive()
            time.sleep(0.005)
        process.kill()
        process.join()

    return call


def side_by_side(*works: Callable[[], Any]) -> None:
    """Do these works at the same time, each in a process of its own."""
    processes = [multiprocessing.get_context("fork").Process(target=work) for work in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwop.study.search.WAIT", 0.02)
