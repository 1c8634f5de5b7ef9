"""Rounds in other processes: orders are handed out, and carried out again where a worker dies."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.finetune.distributed.collector import ActorDied
from qwop.population.workers import Distributed


class Engine:
    """Workers here, of which those with the numbers given die over their first order."""

    def __init__(self, mortal: set[int]) -> None:
        self.mortal, self.launched, self.busy, self.most_busy = mortal, 0, 0, 0

    def launch(self, made: Callable[..., Any], *arguments: Any) -> int:
        assert arguments == ("task",)
        self.launched += 1
        return self.launched - 1

    def ask(self, actor: int, method: str, order: Any) -> tuple[int, Any]:
        assert method == "train"
        self.busy += 1
        self.most_busy = max(self.busy, self.most_busy)
        return actor, order

    def first_done(self, handles: Sequence[tuple[int, Any]]) -> tuple[int, Any]:
        return handles[-1]

    def result(self, handle: tuple[int, Any]) -> Any:
        self.busy -= 1
        actor, order = handle
        if actor in self.mortal:
            raise ActorDied("it was killed")
        return f"{order} done"


ORDERS: Any = {number: f"order {number}" for number in range(5)}


def test_every_order_comes_back_in_its_place_whoever_is_first() -> None:
    engine, reported = Engine(set()), []
    done = Distributed(engine, 2, "task").carry_out(ORDERS, reported.append)
    assert done == {number: f"order {number} done" for number in range(5)}
    assert list(done) == list(ORDERS)
    assert sorted(reported) == [0, 1, 2, 3, 4]
    assert engine.most_busy == 2
    assert engine.launched == 2


def test_a_dead_worker_is_replaced_and_its_order_carried_out_again() -> None:
    engine = Engine({0, 2})
    workers = Distributed(engine, 2, "task")
    done = workers.carry_out(ORDERS, lambda number: None)
    assert done == {number: f"order {number} done" for number in range(5)}
    assert workers.replaced == 2
    assert engine.launched == 4


def test_an_order_over_which_every_worker_dies_ends_the_run() -> None:
    with pytest.raises(BadInput, match=r"the worker of agent . died 3 times in a row .it was killed.; resume=true"):
        Distributed(Engine(set(range(100))), 2, "task").carry_out(ORDERS, lambda number: None)
