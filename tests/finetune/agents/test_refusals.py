"""Games and networks that an algorithm cannot use are refused in one line before anything is played."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.dqn.settings import DdqnLoopSettings, DdqnSettings
from qwop.finetune.agents.ppo.settings import PpoLoopSettings
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.agents.rlpd.settings import RlpdSettings
from qwop.finetune.schedules.phase import FULL, Phase
from qwop.policies.networks import Actor, ActorCritic, Network, Values
from qwop.policies.policy import Policy
from qwop.policies.q_networks import EnsembleQ, QNetwork
from qwop.policies.recurrent import RecurrentActorCritic, TwoTimescaleActorCritic

from ..fakes import CARTPOLE, write_games
from ..runs import make_run

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
IMITATED: dict[str, Any] = {"imitation": FULL}
CRITIC: dict[str, Any] = {"critic_only": True}
LIVE = {"num_envs": 2, "steps": 4}

REFUSED: list[tuple[str, str, dict[str, Any], dict[str, Any], str]] = [
    ("acer", "recurrent", {}, {}, r"algorithm=acer: cannot train the policy's network \(recurrent.*begin"),
    ("ppo", "q", {}, {}, "algorithm=ppo: cannot train"),
    ("dqn", "actor-critic", {}, {}, "cannot train"),
    ("rlpd", "actor-critic", {}, {}, "algorithm=rlpd: cannot train"),
    ("vtrace", "q", {}, {}, "algorithm=vtrace: cannot train"),
    ("ftw", "recurrent", {}, {}, "algorithm=ftw: cannot train"),
    ("acer", "actor-critic", SHOWN, {"capacity": 60, "num_envs": 32}, "loop.capacity=60: fewer .* .64."),
    ("ppo", "actor", SHOWN, {}, "phases.one: algorithm=ppo has no memory"),
    ("ppo", "actor", IMITATED, {}, "imitation: the run has no demonstrations"),
    ("vtrace", "recurrent", SHOWN, {}, "phases.one: algorithm=vtrace learns from live play alone"),
    ("vtrace", "recurrent", IMITATED, {}, "algorithm=vtrace learns from live play alone"),
    ("ftw", "two-timescale", SHOWN, {}, "algorithm=ftw learns from live play alone"),
    ("dqn", "q", CRITIC, {}, "phases.one: algorithm=dqn .*critic_only"),
    ("rlpd", "ensemble", CRITIC, {}, "phases.one: algorithm=rlpd .*critic_only"),
    ("dqn", "q", {}, {"capacity": 30, "start": 10}, "loop.capacity=30: fewer"),
    ("rlpd", "ensemble", {}, {**LIVE, "capacity": 13, "start": 5}, "capacity=13: .* .14."),
    ("rlpd", "ensemble", {}, {**LIVE, "capacity": 20, "start": 21}, "fewer .* loop.start=21"),
    ("rlpd", "one member", {}, {}, "algorithm.subset=2: the policy's ensemble has 1 members"),
]


@pytest.mark.parametrize(("algorithm", "network", "phase", "changed", "message"), REFUSED)
def test_what_an_algorithm_cannot_learn_from_is_refused(
    algorithm: str, network: str, phase: dict[str, Any], changed: dict[str, Any], message: str
) -> None:
    chosen = ALGORITHMS[algorithm]
    policy = Policy(NETWORKS[network](), CARTPOLE, ObservationSpec((4,)))
    run = make_run((Phase("one", 1.0, **phase),), chosen.settings(), chosen.loop(**changed), policy)
    with pytest.raises(BadInput, match=message) as refused:
        chosen.build(run)
    assert "\n" not in str(refused.value)


def test_demonstrations_of_another_environment_than_the_phase_are_refused(tmp_path: Path) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"})
    shown = write_games(tmp_path, spec, [9])
    policy = Policy(QNetwork(71, 11, (4,)), spec, shown.info.observation)
    phases = (Phase("mixed", 1.0, FULL, environment={"frames_per_step": 1}),)
    with pytest.raises(BadInput, match=r"phases\.mixed: uses demonstrations of"):
        ALGORITHMS["ddqn"].build(make_run(phases, DdqnSettings(), DdqnLoopSettings(), policy, shown))


@pytest.mark.parametrize(("network", "values"), [(Actor(4, 2, (4,)), None), (ActorCritic(4, 2, (4,)), Values(4, (4,)))])
def test_policies_whose_layers_cannot_be_shared_are_refused(network: Network, values: Values | None) -> None:
    chosen, policy = ALGORITHMS["ppo"], Policy(network, CARTPOLE, ObservationSpec((4,)), values=values)
    with pytest.raises(BadInput, match=r"algorithm\.shared=true: .* set algorithm\.shared=false"):
        chosen.build(make_run((Phase("one", 1.0),), chosen.settings(shared=True), chosen.loop(), policy))


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (AcerSettings, {"precision": "float8"}, "precision"),
        (AcerSettings, {"delta": 0.0}, "delta"),
        (DdqnSettings, {"n_steps": 0}, "n_steps"),
        (DdqnSettings, {"epsilon_start": 1.5}, "epsilon_start"),
        (DdqnLoopSettings, {"batch_size": 0}, "batch_size=0: expected"),
        (PpoLoopSettings, {"steps": 1}, "steps=1: expected"),
        (RlpdSettings, {"members": 2, "subset": 3}, "subset=3: more than members=2"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(kind: type, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        kind(**wrong)
