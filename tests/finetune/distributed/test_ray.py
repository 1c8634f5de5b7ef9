"""Actors on Ray, in real processes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.distributed.actors import ActorsCollector
from qwop.finetune.experience.collector import PolicySnapshot
from qwop.finetune.schedules.environments import PhaseEnvironments
from qwop.finetune.schedules.phase import Phase
from qwop.policies.files import load_policy
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy

from ..fakes import CARTPOLE, check_sequences, weights_of

pytestmark = [pytest.mark.needs(module="ray"), pytest.mark.slow]  # processes that import PyTorch

Tuned = Callable[..., str]

SMALL = (
    "policy=scratch", "environment=CartPole-v1", "schedule=live-only", "schedule.phases.alone.hours=0.02",
    "algorithm.hidden=[16]", "loop.num_envs=4", "loop.steps=20", "loop.checkpoint_every=240", "evaluation.episodes=0",
    "evaluation.drawn=0", "video=false",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    import ray

    yield
    ray.shutdown()


def test_ppo_with_one_actor_equals_the_serial_run_to_the_bit(tuned: Tuned, tmp_path: Path) -> None:
    for out, more in (("serial", ()), ("actor", ("+distributed=ray", "distributed.actors=1"))):
        tuned("algorithm=ppo", "algorithm.minibatch=32", *SMALL, *more, f"out={out}")
    assert torch.equal(
        *(weights_of(load_policy(tmp_path / out / "policy.safetensors").network) for out in ("serial", "actor"))
    )


def test_actors_are_killed_and_the_run_goes_on() -> None:
    import ray
    from qwop.finetune.distributed.actors import RayEngine

    policy = Policy(Actor(4, 2, (8,)), CARTPOLE, CARTPOLE.interface()[0])
    environments = PhaseEnvironments([Phase("alone", 1.0)], policy, 2, 0)
    engine = RayEngine(2, None)
    started = []
    launch = engine.launch

    def remember(*parts: Any) -> object:
        started.append(launch(*parts))
        return started[-1]

    engine.launch = remember  # type: ignore[method-assign]
    collector = ActorsCollector(engine, 2, environments, 0, 10, np.random.default_rng(0), asynchronous=True)
    acting = PolicySnapshot(policy.network)
    for iteration in range(12):
        if iteration in (3, 7):
            ray.get(started[-1].__ray_ready__.remote())  # killed any earlier, Ray may keep its core occupied
            ray.kill(started[-1])
        played, _ = collector.collect(acting)
        check_sequences(played)
        assert played.actions.shape == (2, 10)
    assert len(started) == 4


def test_vtrace_learns_from_two_actors(tuned: Tuned, tmp_path: Path) -> None:
    run = ("algorithm=vtrace", "algorithm.memory=16", *SMALL, "distributed=ray", "out=run")
    tuned(*run)
    assert (tmp_path / "run/policy.safetensors").exists()
