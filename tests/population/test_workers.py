"""Rounds in other processes: tasks are handed out, and carried out again where a worker dies."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.finetune.distributed.actors import ActorDied
from qwop.population.training import Distributed


class Engine:
    """Workers here, of which those with the numbers given die over their first task."""

    def __init__(self, mortal: set[int]) -> None:
        self.mortal, self.launched, self.busy, self.most_busy = mortal, 0, 0, 0

    def launch(self, made: Callable[..., Any], *arguments: Any) -> int:
        assert arguments == ("task",)
        self.launched += 1
        return self.launched - 1

    def ask(self, actor: int, method: str, task: Any) -> tuple[int, Any]:
        assert method == "train"
        self.busy += 1
        self.most_busy = max(self.busy, self.most_busy)
        return actor, task

    def first_done(self, handles: Sequence[tuple[int, Any]]) -> tuple[int, Any]:
        return handles[-1]

    def result(self, handle: tuple[int, Any]) -> Any:
        self.busy -= 1
        actor, task = handle
        if actor in self.mortal:
            raise ActorDied("it was killed")
        return f"{task} done"


TASKS: Any = {number: f"task {number}" for number in range(5)}


def test_every_order_comes_back_in_its_place_whoever_is_first() -> None:
    engine, reported = Engine(set()), []
    done = Distributed(engine, 2, "task").run_tasks(TASKS, reported.append)
    assert done == {number: f"task {number} done" for number in range(5)}
    assert list(done) == list(TASKS)
    assert sorted(reported) == [0, 1, 2, 3, 4]
    assert engine.most_busy == 2
    assert engine.launched == 2


def test_a_dead_worker_is_replaced_and_its_order_carried_out_again() -> None:
    engine = Engine({0, 2})
    workers = Distributed(engine, 2, "task")
    done = workers.run_tasks(TASKS, lambda number: None)
    assert done == {number: f"task {number} done" for number in range(5)}
    assert workers.replaced == 2
    assert engine.launched == 4


def test_an_order_over_which_every_worker_dies_ends_the_run() -> None:
    with pytest.raises(BadInput, match=r"the worker of agent . died 3 times in a row .it was killed.; resume=true"):
        Distributed(Engine(set(range(100))), 2, "task").run_tasks(TASKS, lambda number: None)
