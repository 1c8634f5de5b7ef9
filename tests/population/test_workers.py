"""Rounds in other processes: tasks are handed out, and carried out again where a worker dies; on Ray, too."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.common.errors import BadInput
from qwop.finetune.distributed.actors import ActorDied
from qwop.policies.files import load_policy
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


@pytest.mark.parametrize(("mortal", "launched"), [(set(), 2), ({0, 2}, 4)])
def test_every_task_comes_back_in_its_place_though_workers_die(mortal: set[int], launched: int) -> None:
    engine, reported = Engine(mortal), list[int]()
    done = Distributed(engine, 2, "task").run_tasks(TASKS, reported.append)
    assert list(done.items()) == [(number, f"task {number} done") for number in range(5)]
    assert sorted(reported) == [0, 1, 2, 3, 4]
    assert (engine.most_busy, engine.launched) == (2, launched)


def test_an_order_over_which_every_worker_dies_ends_the_run() -> None:
    with pytest.raises(BadInput, match=r"the worker of agent . died 3 times in a row .it was killed.; resume=true"):
        Distributed(Engine(set(range(100))), 2, "task").run_tasks(TASKS, lambda number: None)


@pytest.fixture
def cluster() -> Iterator[None]:
    import ray

    yield
    ray.shutdown()


@pytest.mark.needs(module="ray")
@pytest.mark.slow  # processes that import PyTorch
@pytest.mark.usefixtures("cluster")
def test_rounds_in_other_processes_end_as_the_serial_ones_though_a_worker_dies(
    grown: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray
    from qwop.finetune.distributed.actors import RayEngine

    settings = ("rounds=2", "evaluation.games=0")
    grown(*settings, "out=serial")
    launch = RayEngine.launch
    launched: list[Any] = []

    def remember(self: RayEngine, *arguments: object) -> object:
        launched.append(launch(self, *arguments))  # type: ignore[arg-type]
        if len(launched) == 1:
            ray.get(launched[0].__ray_ready__.remote())  # killed any earlier, Ray may keep its core occupied
            ray.kill(launched[0])
        return launched[-1]

    monkeypatch.setattr(RayEngine, "launch", remember)
    grown(*settings, "+distributed=ray", "distributed.actors=2", "out=ray")
    assert len(launched) == 3
    serial, other = (load_policy(tmp_path / out / "best.safetensors").network.state_dict() for out in ("serial", "ray"))
    assert all(torch.equal(serial[name], other[name]) for name in serial)
