"""Runs for the tests, built as the command builds them."""

from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from qwop.datasets.reader import Dataset
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.agents.settings import LiveSettings
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.finetune.evaluation import Evaluations
from qwop.finetune.log import Progress, RunLog
from qwop.finetune.loop import Loop, build
from qwop.finetune.run import Run
from qwop.finetune.schedules.phase import Phase, PhaseValues
from qwop.finetune.settings import FinetuneSettings, ScheduleSettings
from qwop.policies.policy import Policy


class Observer:
    """Stand-ins for the evaluations and the watch of a run."""

    def add(self, index: int, phase: Phase, policy: Policy, decisions: int, *, within: bool) -> None:
        """An evaluation of a phase's policy."""

    def progress(self, now: Progress) -> bool | None:
        """The end of an iteration."""
        return None


NOW = PhaseValues(gamma=0.99)
"""Values of a phase that asks for nothing special."""


def make_run(
    phases: tuple[Phase, ...],
    algorithm: Any,
    loop: LiveSettings,
    policy: Policy,
    demonstrations: Dataset | None = None,
    log: RunLog | None = None,
    folder: Path = Path("nowhere"),
    observer: Observer | None = None,
    scale: float = 1.0,
    **settings: Any,
) -> Run[Any, Any]:
    """A run in this folder. log: one that is open where the run is to be carried out."""
    schedule = ScheduleSettings(phases=phases, scale=scale)
    chosen = FinetuneSettings(schedule=schedule, algorithm=algorithm, loop=loop, **settings)
    observer, log = observer or Observer(), log or RunLog(folder)
    cpu, evaluations = torch.device("cpu"), cast(Evaluations, observer)
    return Run(chosen, policy, demonstrations, cpu, log, folder, evaluations, watch=observer.progress)


SMALL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "acer": ({}, {"capacity": 24, "start": 6, "value_decisions": 30}),
    "dqn": ({"hidden": (8,)}, {"capacity": 120, "start": 20, "batch_size": 8, "target_every": 25}),
    "ddqn": ({"hidden": (8,)}, {"capacity": 120, "start": 20, "batch_size": 8, "target_every": 25}),
    "rlpd": (
        {"hidden": (8,), "members": 2},
        {"capacity": 120, "start": 20, "batch_size": 8, "updates_per_decision": 0.3},
    ),
    "ppo": ({"hidden": (8,), "minibatch": 8}, {}),
    "vtrace": ({"hidden": (8,), "memory": 8}, {}),
    "ftw": ({"hidden": (8,), "memory": 8, "latent": 16, "period": 3, "memory_slots": 4}, {}),
}
"""Settings of small algorithms and of their loops."""

LIVE_ONLY = ("ppo", "vtrace", "ftw")
"""Algorithms without demonstrations in memory."""


def small_run(
    name: str,
    phases: tuple[Phase, ...],
    spec: EnvironmentSpec,
    folder: Path,
    dataset: Dataset | None = None,
    policy: Policy | None = None,
    resume: bool = False,
    observer: Observer | None = None,
    **loop: Any,
) -> Loop:
    """A run of three games by a small algorithm, from a new policy unless one is given; or resumed in its folder."""
    algorithm, (own, live) = ALGORITHMS[name], SMALL[name]
    settings = algorithm.settings(**own)
    if policy is None:
        observation, actions = spec.interface()
        network = algorithm.new_network(settings, observation, actions, torch.Generator().manual_seed(0))
        policy = Policy(network, spec, observation)
    state = load_checkpoint(checkpoints(folder / "checkpoints")[-1]) if resume else None
    log = RunLog(folder)
    log.open(resume_at=state["decisions"] if state else None)
    chosen = algorithm.loop(**{"num_envs": 3, "steps": 5, **live, **loop})
    made = build(make_run(phases, settings, chosen, policy, dataset, log, folder, observer))
    if state:
        made.set_state(state)
    return made


class _Killed(Exception):
    """The end of a run that is killed."""


def run_until(loop: Loop, decisions: int) -> None:
    """Carry out a run that is killed at its first checkpoint at or after so many decisions."""
    checkpoint = loop._checkpoint

    def killed() -> None:
        checkpoint()
        if loop.decisions >= decisions:
            raise _Killed

    loop._checkpoint = killed
    with pytest.raises(_Killed):
        loop.run()


def assert_same(one: Any, other: Any, where: str = "state") -> None:
    """Equal to the bit, whatever is nested in it; a list may stand for a tuple."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_same(mine, theirs, f"{where}[{number}]")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        assert one.tobytes() == other.tobytes(), where
    elif is_dataclass(one):
        assert_same(vars(one), vars(other), where)
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    else:
        assert one == other, where
