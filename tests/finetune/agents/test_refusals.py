"""What an algorithm cannot learn from, or with, is refused in one line before anything is played."""

from collections.abc import Callable
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.datasets.reader import open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.dqn.settings import DdqnLoopSettings, DdqnSettings
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.agents.rlpd.settings import RlpdSettings
from qwop.finetune.schedules.phase import FULL, Phase
from qwop.policies.networks import Actor, ActorCritic, Network, Values
from qwop.policies.policy import Policy
from qwop.policies.q_networks import EnsembleQ, QNetwork
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.policies.two_timescale import TwoTimescaleActorCritic

from ..runs import make_run

CARTPOLE = EnvironmentSpec("CartPole-v1")

NETWORKS: dict[str, Callable[[], Network]] = {
    "actor-critic": lambda: ActorCritic(4, 2, (8,)),
    "actor": lambda: Actor(4, 2, (8,)),
    "q": lambda: QNetwork(4, 2, (8,)),
    "ensemble": lambda: EnsembleQ(4, 2, (8,), members=2),
    "one member": lambda: EnsembleQ(4, 2, (8,), members=1),
    "recurrent": lambda: RecurrentActorCritic(4, 2, (8,), 8),
    "two-timescale": lambda: TwoTimescaleActorCritic(4, 2, (8,), 8, 4),
}

SHOWN: dict[str, Any] = {"demonstrations": FULL}


@pytest.mark.parametrize(
    ("algorithm", "network", "phase", "changed", "message"),
    [
        (
            "acer",
            "recurrent",
            {},
            {},
            r"algorithm=acer: cannot train the policy's network \(recurrent.*begin",
        ),
        ("ppo", "q", {}, {}, "algorithm=ppo: cannot train"),
        ("dqn", "actor-critic", {}, {}, r"cannot train the policy's network \(actor-critic\)"),
        ("rlpd", "actor-critic", {}, {}, "algorithm=rlpd: cannot train"),
        ("vtrace", "q", {}, {}, "algorithm=vtrace: cannot train"),
        ("ftw", "recurrent", {}, {}, "algorithm=ftw: cannot train"),
        (
            "acer",
            "actor-critic",
            SHOWN,
            {"capacity": 60, "num_envs": 32},
            "loop.capacity=60: too small .* 32 live",
        ),
        ("ppo", "actor", SHOWN, {}, "phases.one: algorithm=ppo has no memory"),
        ("ppo", "actor", {"imitation": FULL}, {}, "imitation: the run has no demonstrations"),
        ("vtrace", "recurrent", SHOWN, {}, "phases.one: algorithm=vtrace learns from live play alone"),
        ("ftw", "two-timescale", SHOWN, {}, "algorithm=ftw learns from live play alone"),
        ("vtrace", "recurrent", {"imitation": FULL}, {}, "learns from live play alone"),
        ("dqn", "q", {"critic_only": True}, {}, "phases.one.critic_only: algorithm=dqn or ddqn"),
        ("rlpd", "ensemble", {"critic_only": True}, {}, "schedule.phases.one.critic_only: algorithm=rlpd"),
        ("dqn", "q", {}, {"capacity": 30, "start": 10}, "loop.capacity=30: fewer"),
        ("rlpd", "ensemble", {}, {"capacity": 13, "start": 5, "num_envs": 2, "steps": 4}, "capacity=13: .* .14."),
        ("rlpd", "ensemble", {}, {"capacity": 20, "start": 21, "num_envs": 2, "steps": 4}, "fewer .* loop.start=21"),
        ("rlpd", "one member", {}, {}, "algorithm.subset=2: the policy's ensemble has 1 members"),
    ],
)
def test_what_an_algorithm_cannot_learn_from_is_refused(
    algorithm: str, network: str, phase: dict[str, Any], changed: dict[str, Any], message: str
) -> None:
    chosen = ALGORITHMS[algorithm]
    policy = Policy(NETWORKS[network](), CARTPOLE, ObservationSpec((4,)))
    run = make_run((Phase("one", 1.0, **phase),), chosen.settings(), chosen.loop(**changed), policy)
    with pytest.raises(BadInput, match=message) as refused:
        chosen.build(run)
    assert "\n" not in str(refused.value)


def test_demonstrations_of_another_environment_than_the_phase_are_refused(
    tmp_path: Any, make_episode: Callable[..., Episode]
) -> None:
    spec, seen = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"}), ObservationSpec((71,))
    DatasetWriter(tmp_path / "demos", DatasetInfo(spec, seen, 11)).write(make_episode(9, actions=11, shape=(71,)))
    phases = (Phase("mixed", 1.0, FULL, environment={"frames_per_step": 1}),)
    policy = Policy(QNetwork(71, 11, (4,)), spec, seen)
    run = make_run(phases, DdqnSettings(), DdqnLoopSettings(), policy, open_dataset(tmp_path / "demos"))
    with pytest.raises(BadInput, match=r"phases\.mixed: uses demonstrations of"):
        ALGORITHMS["ddqn"].build(run)


@pytest.mark.parametrize(("network", "values"), [(Actor(4, 2, (4,)), None), (ActorCritic(4, 2, (4,)), Values(4, (4,)))])
def test_policies_whose_layers_cannot_be_shared_are_refused(network: Network, values: Values | None) -> None:
    policy = Policy(network, CARTPOLE, ObservationSpec((4,)), values=values)
    run = make_run((Phase("one", 1.0),), PpoSettings(shared=True), PpoLoopSettings(), policy)
    with pytest.raises(BadInput, match=r"algorithm\.shared=true: .* set algorithm\.shared=false"):
        ALGORITHMS["ppo"].build(run)


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (AcerSettings, {"precision": "float8"}, "precision"),
        (AcerSettings, {"delta": 0.0}, "delta"),
        (DdqnSettings, {"n_steps": 0}, "n_steps"),
        (DdqnSettings, {"epsilon_start": 1.5}, "epsilon_start"),
        (DdqnSettings, {"learning_rate": 0.0}, "learning_rate"),
        (DdqnSettings, {"epsilon_share": 0.0}, "epsilon_share"),
        (DdqnLoopSettings, {"batch_size": 0}, "batch_size=0: expected"),
        (PpoSettings, {"precision": "float8"}, "precision"),
        (PpoLoopSettings, {"num_envs": 1, "steps": 1}, "num_envs=1 and steps=1: PPO learns from 2 decisions"),
        (RlpdSettings, {"members": 2, "subset": 3}, "subset=3: more than members=2"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(kind: type, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        kind(**wrong)
