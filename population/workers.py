"""Training tasks of a round, by workers in other processes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..common.errors import BadInput, quoted
from ..finetune.distributed.collector import MOST_DEATHS, ActorDied
from .training import AgentTrainer, Report, TrainingResult, TrainingTask

if TYPE_CHECKING:
    from ..finetune.distributed.ray_actors import RayEngine


class Distributed:
    """Runs tasks on trainers in other processes, each with one task at a time.

    A result depends only on its task, so any worker can run it. If a worker dies, its replacement repeats the task with
    the same result; `replaced` counts replacements.
    """

    def __init__(self, engine: "RayEngine", count: int, *arguments: object) -> None:
        self.replaced = 0
        self._engine, self._arguments = engine, arguments
        self._idle = [self._launch() for _ in range(count)]

    def run_tasks(self, tasks: Mapping[int, TrainingTask], report: Report) -> dict[int, TrainingResult]:
        """`AgentTrainer.run_tasks` in parallel."""
        waiting, results = list(tasks), {}
        deaths = dict.fromkeys(tasks, 0)
        under_way: dict[object, tuple[int, object]] = {}
        while waiting or under_way:
            while waiting and self._idle:
                number, worker = waiting.pop(0), self._idle.pop()
                under_way[self._engine.ask(worker, "train", tasks[number])] = number, worker
            handle = self._engine.first_done(list(under_way))
            number, worker = under_way.pop(handle)
            try:
                results[number] = self._engine.result(handle)
                report(number)
            except ActorDied as death:
                deaths[number] += 1
                if deaths[number] == MOST_DEATHS:
                    raise BadInput(
                        f"distributed: the worker of agent {number} died {MOST_DEATHS} times in a row "
                        f"({quoted(str(death), 200)}); resume=true continues from the last checkpoint"
                    ) from None
                self.replaced += 1
                waiting.insert(0, number)
                worker = self._launch()
            self._idle.append(worker)
        return {number: results[number] for number in tasks}

    def _launch(self) -> object:
        return self._engine.launch(AgentTrainer, *self._arguments)


Workers = AgentTrainer | Distributed
