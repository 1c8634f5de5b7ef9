"""A policy whose kind of network the algorithm cannot train is refused in one line, before anything is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic, Network
from qwop.policies.policy import Policy
from qwop.policies.q_networks import QNetwork
from qwop.policies.recurrent import RecurrentActorCritic

KINDS: dict[str, Callable[[int], Network]] = {
    "q": lambda actions: QNetwork(4, actions, (16,)),
    "recurrent-actor-critic": lambda actions: RecurrentActorCritic(4, actions, (16,), 8),
    "actor-critic": lambda actions: ActorCritic(4, actions, (16,)),
}


@pytest.mark.parametrize(
    ("algorithm", "kind", "actions", "message"),
    [
        ("acer-small", "recurrent-actor-critic", 2, "algorithm=acer: cannot train the policy's network (recurrent"),
        ("ppo-small", "q", 2, "algorithm=ppo: cannot train"),
        ("dqn-small", "actor-critic", 2, "cannot train the policy's network (actor-critic); begin with policy=scratch"),
        ("rlpd-small", "actor-critic", 2, "algorithm=rlpd: cannot train"),
        ("vtrace-small", "q", 2, "algorithm=vtrace: cannot train"),
        ("ftw", "recurrent-actor-critic", 2, "algorithm=ftw: cannot train"),
        ("dqn-small", "q", 3, "2 actions, but the policy has float32 [4] and 3"),
    ],
)
def test_a_policy_that_the_algorithm_cannot_train_is_refused(
    finetune: Callable[..., Any], tmp_path: Path, algorithm: str, kind: str, actions: int, message: str
) -> None:
    policy = Policy(KINDS[kind](actions), EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))
    save_policy(tmp_path / "policy.safetensors", policy)
    done = finetune("policy=policy.safetensors", f"algorithm={algorithm}", "schedule=live-only", "out=run")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "run").exists()
