"""Distillation into networks with a memory: its loss, and the states that it goes on from."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents import distillation as play
from qwop.finetune.agents.ftw.learner import unroll as unroll_two_timescale
from qwop.finetune.agents.vtrace import distillation
from qwop.finetune.agents.vtrace.agent import new_network
from qwop.finetune.agents.vtrace.distillation import Distillation, distilled
from qwop.finetune.agents.vtrace.learner import unroll
from qwop.finetune.agents.vtrace.settings import VtraceSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.policies.rollout import play as games_of
from qwop.policies.state import to_arrays
from qwop.policies.two_timescale import TwoTimescaleActorCritic

from ..live_play import make_batch

CPU = torch.device("cpu")
SPEC = EnvironmentSpec("CartPole-v1")


def make_network(actions: int = 3, size: int = 2) -> RecurrentActorCritic:
    return RecurrentActorCritic(size, actions, (7,), 5, torch.Generator().manual_seed(0))


def run_of(policy: Policy, **more: Any) -> Any:
    """A run, as far as distillation needs one."""
    return SimpleNamespace(
        policy=policy, settings=SimpleNamespace(seed=0, max_idle_frames=0),
        environments=SimpleNamespace(specs=(policy.environment,)), gammas=(0.9,),
        device=CPU, rehearsed=False, observer=SimpleNamespace(note=lambda line: None), **more,
    )  # fmt: skip


def test_the_loss_is_cross_entropy_and_the_errors_of_the_returns() -> None:
    """Against a float64 reference, decision by decision, with ends, time limits and whole games."""
    random, gamma, scale, weight = np.random.default_rng(0), 0.8, 3.0, 0.7
    batch = make_batch(1, state=lambda draw: tuple(draw.normal(size=(4, 5)).astype(np.float32) for _ in "hc"))
    played = replace(
        batch,
        player=random.dirichlet(np.ones(3), size=(4, 6)).astype(np.float32),
        returns=random.normal(size=(4, 6)).astype(np.float32),
        known=random.random((4, 6)) < 0.3,
    )
    network = make_network()
    found = unroll(network, played, CPU)
    objective = Distillation(network, 4, scale)
    loss, _ = objective(played, found, VtraceSettings(value_coefficient=weight), PhaseValues(gamma))

    logits, values, finals = (part.detach().double().numpy() for part in found[:3])
    expected = 0.0
    for row in range(4):
        following = values[row, 6]
        for t in reversed(range(6)):
            if played.terminated[row, t]:
                following = 0.0
            elif played.truncated[row, t]:
                following = finals[row, t]
            following = played.rewards[row, t] + gamma * following
            target = played.returns[row, t] if played.known[row, t] else following
            pi = np.exp(logits[row, t]) / np.exp(logits[row, t]).sum()
            expected -= (played.player[row, t] * np.log(pi)).sum()
            expected += weight * ((target - values[row, t]) / scale) ** 2
    assert loss.item() == pytest.approx(expected / 24, rel=1e-5)
    agree = logits.argmax(-1) == played.player.argmax(-1)
    assert objective.alike == pytest.approx(agree.mean())
    for part, after in zip(objective.state, to_arrays(found.state), strict=True):
        assert np.array_equal(part, after)


def test_every_sequence_goes_on_from_the_state_after_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "DECISIONS", 100)
    monkeypatch.setattr(distillation, "UPDATES", 4)
    monkeypatch.setattr(distillation, "STREAMS", 3)
    monkeypatch.setattr(distillation, "STEPS", 10)
    seen: list[Sequences] = []
    rates: list[float] = []

    class Learner:
        def __init__(self, network: Any, settings: VtraceSettings, seed: int, device: Any, objective: Any) -> None:
            assert settings.passes == 1
            self.network, self.objective = network, objective

        def update(self, played: Sequences, now: PhaseValues) -> None:
            played.check_valid()
            seen.append(played)
            rates.append(now.learning_rate)
            self.objective(played, unroll(self.network, played, CPU), VtraceSettings(), now)

    policy = Policy(ActorCritic(4, 2, (16,)), SPEC, ObservationSpec((4,)))
    make = new_network(VtraceSettings(hidden=(7,), memory=5))
    network = distilled(run_of(policy, algorithm=VtraceSettings(passes=3)), make, Learner)  # type: ignore[arg-type]
    assert network.scaler.fitted
    assert not any(part.any() for part in seen[0].state)
    for before, after in pairwise(seen):
        over = (before.terminated | before.truncated)[:, -1:]  # where a game begins, its first observation follows
        assert np.array_equal(before.observations[:, -1], after.observations[:, 0])
        for part, found in zip(after.state, to_arrays(unroll(network, before, CPU).state), strict=True):
            assert np.array_equal(part, found)
            assert not part[over[:, 0]].any()
    assert rates == pytest.approx([1.0, (1 + 0.5**0.5) / 2, 0.5, (1 - 0.5**0.5) / 2])


def test_an_unroll_of_own_play_feeds_the_actions_and_rewards_of_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """A two-timescale policy's own games give the probabilities that they were played with."""
    monkeypatch.setattr(play, "DECISIONS", 50)
    network = TwoTimescaleActorCritic(4, 2, (16,), 16, 8, 3, torch.Generator().manual_seed(0))
    games = play.own_play(run_of(Policy(network, SPEC, ObservationSpec((4,)))))
    shown = Demonstrations(games, 1, sum(map(len, games)))
    played = replace(shown.next(1), state=to_arrays(network.initial_state(1)))
    found = torch.softmax(unroll_two_timescale(network, played, CPU).policy.logits, dim=-1).detach().numpy()
    assert played.player is not None
    np.testing.assert_allclose(found, played.player, rtol=1e-4)


def balancing() -> Policy:
    """Pushes the cart under the pole."""
    actor = ActorCritic(4, 2, (2,))
    with torch.no_grad():
        towards = torch.tensor([0.1, 0.2, 4.0, 1.0])
        actor.trunk[0].weight.copy_(torch.stack([-towards, towards]))
        actor.trunk[0].bias.zero_()
        actor.policy_head.weight.copy_(20 * torch.eye(2))
        actor.policy_head.bias.zero_()
    return Policy(actor, SPEC, ObservationSpec((4,)))


@pytest.mark.slow
def test_a_network_with_a_memory_plays_like_its_teacher(
    finetune: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "DECISIONS", 4000)
    monkeypatch.setattr(distillation, "UPDATES", 150)
    teacher = balancing()
    save_policy(tmp_path / "policy.safetensors", teacher)
    small = ("algorithm.hidden=[32]", "algorithm.memory=32", "loop.steps=16")
    done = finetune(
        "policy=policy.safetensors", "algorithm=vtrace-small", *small, "schedule=live-only", "schedule.decisions=128",
        "schedule.phases.alone.learning_rate=0", "evaluation.episodes=0", "video=false", "out=run",
    )  # fmt: skip
    assert done.code == 0, done.err
    pupil = load_policy(tmp_path / "run" / "policy.safetensors")
    for policy in (teacher, pupil):
        games = [*games_of(policy, episodes=10, seed=0, greedy=True)]
        assert np.mean([len(game) for game in games]) > 450
