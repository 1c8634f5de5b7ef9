"""PPO: whole updates against a float64 reference of the papers' equations, and what its agent is made of."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.agent import LiveAgent
from qwop.finetune.agents.ppo.learner import PpoLearner, build, new_network
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.schedules.phase import FULL, Phase, PhaseValues
from qwop.policies.networks import Actor, ActorCritic, ValuedActor, Values
from qwop.policies.policy import Policy
from qwop.pretrain.rows import Rows
from torch import Tensor, nn

from ...fakes import CARTPOLE, CPU, make_batch, make_sequences, weights_of, write_games
from ...runs import NOW, make_run
from ..reference import LiveReference

Numbers = NDArray[np.float64]

BASE: dict[str, Any] = {
    "gamma": 0.9, "gae_lambda": 0.8, "clip": 0.15, "epochs": 3, "minibatch": 10, "target_kl": 100.0,
    "value_coefficient": 0.7, "entropy_coefficient": 0.2, "learning_rate": 0.03, "max_gradient_norm": 1000.0,
    "imitation_minibatch": 4, "epsilon": 0.1,  # so large that the size of a gradient shows in Adam's steps
}  # fmt: skip
RANDOM = np.random.default_rng(3)
SHOWN = Rows(RANDOM.normal(3.0, 2.0, size=(9, 2)).astype(np.float32), RANDOM.integers(3, size=9), np.full(9, -1))
DRAWN = replace(SHOWN, probabilities=RANDOM.dirichlet(np.ones(3), size=9).astype(np.float32))
TEACHER = RANDOM.dirichlet(np.ones(3), size=(4, 6)).astype(np.float32)


class Reference(LiveReference):
    """PPO of Schulman et al. (2017) with generalised advantages (2016), in float64; V has layers of its own or shares
    those of π, which a step of the critic alone leaves as they are."""

    def __init__(self, network: Actor, values: Values | None, settings: Mapping[str, Any]) -> None:
        own = () if values is None else values.named_parameters()
        super().__init__([*network.named_parameters(), *((f"values.{name}", one) for name, one in own)], settings)
        self.shared = values is None
        self.epochs: list[int] = []
        self.returns: list[Tensor] = []
        self.figures: dict[str, float] = {}

    def policy(self, rows: Tensor) -> Tensor:
        """π(·|s)."""
        features = self.linear("trunk.0", rows)
        return self.linear("policy_head", features.clamp(min=0) if self.shared else features.tanh()).softmax(-1)

    def critic(self, rows: Tensor, critic_only: bool = False) -> Tensor:
        """V(s)."""
        if not self.shared:
            return self.linear("values.head", self.linear("values.trunk.0", rows).tanh()).squeeze(-1)
        features = self.linear("trunk.0", rows).clamp(min=0)
        return self.linear("value_head", features.detach() if critic_only else features).squeeze(-1)

    def value(self, observations: NDArray[np.float32]) -> Numbers:
        with torch.no_grad():
            return self.critic(self.scaled(observations)).numpy()

    def advantages(self, batch: Sequences, rewards: NDArray[np.float32]) -> tuple[Numbers, Numbers]:
        """Â and V of every step: sums of γλ-discounted errors along each episode, looked at one by one."""
        gamma, lam = self.s["gamma"], self.s["gae_lambda"]
        values, finals = self.value(batch.observations), self.value(batch.finals.observations)
        final = {(int(i), int(t)): v for i, t, v in zip(batch.finals.sequence, batch.finals.step, finals, strict=True)}
        estimates = np.zeros(batch.actions.shape)
        for i, t in np.ndindex(batch.actions.shape):
            for ahead in range(t, batch.steps):
                following = values[i, ahead + 1]
                if batch.terminated[i, ahead]:
                    following = 0.0
                elif batch.truncated[i, ahead]:
                    following = final[i, ahead]
                delta = rewards[i, ahead] + gamma * following - values[i, ahead]
                estimates[i, t] += (gamma * lam) ** (ahead - t) * delta
                if batch.terminated[i, ahead] or batch.truncated[i, ahead]:
                    break
        return estimates, values[:, :-1]

    def learn(
        self, batch: Sequences, rate: float, entropy: float = 1.0, critic_only: bool = False, imitation: float = 0.0,
        demonstrated: Rows | None = None, kickstarting: float = 0.0, shuffle: Any = None,
    ) -> None:  # fmt: skip
        rewards = batch.rewards.clip(-1, 1) if self.s.get("clip_rewards") else batch.rewards
        estimates, values = self.advantages(batch, rewards)
        returns = torch.from_numpy(estimates + values).flatten()
        error = float(np.square(estimates).mean())
        self.figures = {"value": values.mean(), "explained_variance": 1.0 - error / float(returns.var())}
        self.returns.append(returns)
        sigma = float(torch.cat(self.returns).square().mean().sqrt()) if self.s.get("scale_returns") else 1.0
        head = [self.weights[f"{'value_head' if self.shared else 'values.head'}.{one}"] for one in ("weight", "bias")]
        with torch.no_grad():
            torch._foreach_div_(head, sigma)
        returns = returns / sigma
        advantage = torch.from_numpy((estimates - estimates.mean()) / estimates.std(ddof=1)).flatten()
        actions = torch.from_numpy(batch.actions).flatten()
        mu = torch.from_numpy(batch.behaviour_probabilities.reshape(len(actions), -1)).double()
        mu = mu[torch.arange(len(actions)), actions]
        observations = self.scaled(batch.observations[:, :-1].reshape(len(actions), 2))
        clip = self.s["clip"]
        self.epochs.append(0)
        for _ in range(self.s["epochs"]):
            self.epochs[-1] += 1
            order, divergences = torch.from_numpy(shuffle.permutation(len(actions))), []
            for part in order.split(self.s["minibatch"]):
                pi = self.policy(observations[part])
                ratio = pi[torch.arange(len(part)), actions[part]] / mu[part]
                gain = torch.minimum(ratio * advantage[part], ratio.clamp(1 - clip, 1 + clip) * advantage[part])
                error = (self.critic(observations[part], critic_only) - returns[part]) ** 2
                loss = self.s["value_coefficient"] * error.mean()
                if demonstrated is not None:
                    chosen = shuffle.integers(len(demonstrated), size=self.s["imitation_minibatch"])
                if not critic_only:
                    bonus = -(pi * pi.log()).sum(-1)
                    loss = loss - gain.mean() - entropy * self.s["entropy_coefficient"] * bonus.mean()
                    if demonstrated is not None:
                        loss = loss + imitation * self.imitation(demonstrated, chosen)
                    teacher = torch.from_numpy(TEACHER.reshape(len(actions), -1)[part]).double()
                    loss = loss + kickstarting * (teacher * (teacher / pi).log()).sum(-1).mean()  # a constant from ours
                self.adam.step(loss, rate)
                divergences.append((ratio - 1 - ratio.log()).detach())
            if torch.cat(divergences).mean() > 1.5 * self.s["target_kl"]:
                break
        with torch.no_grad():
            torch._foreach_mul_(head, sigma)

    def imitation(self, shown: Rows, chosen: NDArray[np.int64]) -> Tensor:
        """Mean −Σ_a μ(a|s) ln π(a|s) of the chosen decisions, μ being one-hot where it is unknown."""
        losses = []
        for number in chosen:
            pi = self.policy(self.scaled(shown.observations[number]))
            mu = np.eye(3)[shown.actions[number]] if shown.probabilities is None else shown.probabilities[number]
            losses.append(-sum(float(mu[a]) * pi[a].log() for a in range(3)))
        return torch.stack(losses).mean()


CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "plain": ({}, [{}, {}, {}]),
    "factors": ({}, [{}, {"learning_rate": 0.3}, {"entropy": 0.1}]),
    "critic only": ({}, [{}, {"critic_only": True}, {}]),
    "small norm": ({"max_gradient_norm": 0.2}, [{}, {}]),
    "narrow clip": ({"clip": 0.01, "entropy_coefficient": 0.0}, [{}, {}]),
    "clipped rewards": ({"clip_rewards": True}, [{}, {}]),
    "scaled returns": ({"scale_returns": True}, [{}, {}, {}]),
    "far from the policy that played": ({"epochs": 9, "target_kl": 0.05}, [{}, {}]),
    "imitation": ({}, [{}, {"imitation": 0.5, "demonstrated": SHOWN}, {"imitation": 2.0, "demonstrated": DRAWN}]),
    "imitation without a policy": ({}, [{}, {"imitation": 0.5, "demonstrated": DRAWN, "critic_only": True}]),
    "a teacher": ({}, [{}, {"kickstarting": 0.5}, {"kickstarting": 2.0}]),
    "a teacher without a policy": ({}, [{}, {"kickstarting": 0.5, "critic_only": True}]),
}


@pytest.mark.parametrize("shared", [False, True], ids=["two networks", "one network"])
@pytest.mark.parametrize("case", CASES)
def test_updates_are_those_of_the_paper(case: str, shared: bool) -> None:
    changes, updates = CASES[case]
    network = (ValuedActor if shared else Actor)(2, 3, (8,), torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.policy_head.weight.mul_(30)
    values = None if shared else Values(2, (6,), torch.Generator().manual_seed(1))
    mine, theirs = np.random.default_rng(5), np.random.default_rng(5)
    learner = PpoLearner(network, values, PpoSettings(**BASE | changes), CPU, mine)
    reference, epochs = Reference(network, learner.values, BASE | changes), []
    for number, more in enumerate(updates):
        shown = more.get("demonstrated")
        learner._demonstrations = None if shown is None else Demonstrations(shown)
        now = PhaseValues(BASE["gamma"], **{name: value for name, value in more.items() if name != "demonstrated"})
        figures = learner.update(replace(make_batch(number), teacher=TEACHER), now).scalars
        reference.update(make_batch(number), shuffle=theirs, **more)
        epochs.append(figures["epochs"])
        assert {name: figures[name] for name in reference.figures} == pytest.approx(reference.figures, abs=1e-5)
    assert epochs == reference.epochs
    assert (min(epochs) < BASE["epochs"]) is ("target_kl" in changes)
    for prefix, module in (("", network), ("values.", learner.values or nn.Module())):
        for name, weights in module.named_parameters():
            expected = reference.weights[prefix + name].detach()
            torch.testing.assert_close(weights.detach().double(), expected, rtol=0, atol=3e-6)
    np.testing.assert_allclose(network.scaler.mean.numpy(), reference.mean, rtol=1e-6)
    np.testing.assert_allclose(network.scaler.std.numpy(), reference.std, rtol=1e-6)


SMALL = PpoSettings(hidden=(16,), minibatch=10, epochs=2, target_kl=10.0, gamma=0.9, gamma_rate=10.0)


def agent_of(
    network: Any, observation: ObservationSpec, settings: PpoSettings = SMALL, values: Any = None
) -> LiveAgent:
    policy = Policy(network, CARTPOLE, observation, values=values)
    return build(make_run((Phase("x", 1.0),), settings, PpoLoopSettings(), policy))


def test_demonstrations_are_imitated_where_only_the_judgement_of_play_differs(tmp_path: Path) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 2, "reward": "shaped"})
    shown = write_games(tmp_path / "shown", spec, [5])
    policy = Policy(Actor(71, 11, (4,)), spec, shown.info.observation)

    def build_in(**changed: Any) -> LiveAgent:
        phase = Phase("imitating", 1.0, imitation=FULL, environment=changed)
        return build(make_run((phase,), SMALL, PpoLoopSettings(), policy, shown))

    agent, live = build_in(reward="race", shaping=0.5, time_limit=30.0), make_sequences(2, actions=11, shape=(71,))
    assert "imitation_loss" in agent.learner.update(live, PhaseValues(0.9, imitation=1.0)).scalars
    with pytest.raises(BadInput, match=r"schedule\.phases\.imitating: uses demonstrations of"):
        build_in(frames_per_step=3)


def test_a_policys_values_are_continued_and_kept_as_they_were() -> None:
    values, scaled = Values(4, (6, 5), torch.Generator().manual_seed(3)), torch.randn(3, 4)
    agent = agent_of(Actor(4, 2, (4,)), ObservationSpec((4,)), values=values)
    before = values(scaled)
    assert torch.equal(agent.values(scaled), before)
    with torch.no_grad():
        agent.values.head.bias.add_(1.0)
    assert torch.equal(values(scaled), before)


PICTURES = ObservationSpec((36, 36), "uint8")


@pytest.mark.parametrize(("seen", "layers"), [(ObservationSpec((4,)), 0), (PICTURES, 2)])
@pytest.mark.parametrize("shared", [False, True])
def test_a_new_policy_and_its_values_are_those_of_the_settings(
    shared: bool, seen: ObservationSpec, layers: int
) -> None:
    settings = SMALL.with_(shared=shared, convolutions="nips")
    network = new_network(settings, seen, 2, torch.Generator().manual_seed(0))
    agent = agent_of(network, seen, settings)
    assert (isinstance(network, ValuedActor), agent.values is None) == (shared, shared)
    for module in (network, *(() if agent.values is None else (agent.values,))):
        assert sum(isinstance(one, nn.Conv2d) for one in module.modules()) == layers


def test_a_clone_takes_a_value_head_on_its_own_layers() -> None:
    clone = ActorCritic(PICTURES, 2, (4,), torch.Generator().manual_seed(3), "nips")
    agent = agent_of(clone, PICTURES, SMALL.with_(shared=True))
    rows = torch.randint(0, 256, (5, PICTURES.size), dtype=torch.uint8)
    assert isinstance(agent.network, ValuedActor)
    assert torch.equal(agent.network.logits(rows), clone.logits(rows))
    with torch.no_grad():
        agent.network.policy_head.bias.add_(1.0)
    assert not torch.equal(agent.network.logits(rows), clone.logits(rows))


def test_it_continues_an_actor_critic_and_leaves_its_q_head() -> None:
    network = ActorCritic(2, 3, (16,), torch.Generator().manual_seed(0))
    q_head, trunk = weights_of(network.q_head), weights_of(network.trunk)
    for parameter in network.parameters():  # as ACER leaves them
        parameter.grad = torch.ones_like(parameter)
    PpoLearner(network, Values(2, (16,)), SMALL, CPU, np.random.default_rng(0)).update(make_batch(0), NOW)
    assert torch.equal(q_head, weights_of(network.q_head))
    assert not torch.equal(trunk, weights_of(network.trunk))
