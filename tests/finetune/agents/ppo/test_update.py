"""Whole updates of PPO against a float64 reference written from the papers' equations, without our losses."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.finetune.agents.ppo.learner import PpoLearner
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.networks import Actor, ValuedActor, Values
from qwop.pretrain.rows import Rows
from torch import Tensor

from ..live_play import make_batch

Numbers = NDArray[np.float64]


class Reference:
    """PPO of Schulman et al. (2017) with generalised advantages (2016), in float64."""

    def __init__(self, network: Actor, values: Values | None, settings: Mapping[str, Any]) -> None:
        self.pi = [p.detach().double() for p in network.parameters()]
        self.v = [] if values is None else [p.detach().double() for p in values.parameters()]
        self.s = settings
        self.first = [torch.zeros_like(p) for p in (*self.pi, *self.v)]
        self.second = [torch.zeros_like(p) for p in (*self.pi, *self.v)]
        self.steps = [0] * len(self.first)
        self.seen: list[Numbers] = []
        self.mean, self.std = np.zeros(2), np.ones(2)
        self.epochs: list[int] = []

    def scaled(self, observations: NDArray[np.float32]) -> Tensor:
        return torch.from_numpy((observations.astype(np.float64) - self.mean) / self.std).clamp(-8, 8)

    def standardise(self, batch: Sequences) -> None:
        self.seen.append(batch.observations[:, :-1].reshape(-1, 2).astype(np.float64))
        everything = np.concatenate(self.seen)
        self.mean, self.std = everything.mean(0), everything.std(0)

    @staticmethod
    def layers(weights: list[Tensor], rows: Tensor) -> Tensor:
        """One layer of tanh under a linear one."""
        return torch.tanh(rows @ weights[0].T + weights[1]) @ weights[2].T + weights[3]

    def policy(self, rows: Tensor) -> Tensor:
        """π(·|s)."""
        return self.layers(self.pi, rows).softmax(-1)

    def critic(self, rows: Tensor, critic_only: bool) -> Tensor:
        """V(s)."""
        return self.layers(self.v, rows).squeeze(-1)

    def value(self, observations: NDArray[np.float32]) -> Numbers:
        with torch.no_grad():
            return self.critic(self.scaled(observations), False).numpy()

    def advantages(self, batch: Sequences) -> tuple[Numbers, Numbers]:
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
                delta = batch.rewards[i, ahead] + gamma * following - values[i, ahead]
                estimates[i, t] += (gamma * lam) ** (ahead - t) * delta
                if batch.terminated[i, ahead] or batch.truncated[i, ahead]:
                    break
        return estimates, values[:, :-1]

    def update(
        self,
        batch: Sequences,
        shuffle: np.random.Generator,
        learning_rate: float = 1.0,
        entropy: float = 1.0,
        critic_only: bool = False,
        imitation: float = 0.0,
        demonstrated: Rows | None = None,
        kickstarting: float = 0.0,
    ) -> None:
        first = not self.seen
        if first:
            self.standardise(batch)
        estimates, values = self.advantages(batch)
        returns = torch.from_numpy(estimates + values).flatten()
        advantage = torch.from_numpy((estimates - estimates.mean()) / estimates.std(ddof=1)).flatten()
        actions = torch.from_numpy(batch.actions).flatten()
        rows = torch.arange(len(actions))
        mu = torch.from_numpy(batch.behaviour_probabilities.reshape(len(actions), -1)).double()[rows, actions]
        observations = self.scaled(batch.observations[:, :-1].reshape(len(actions), 2))
        clip = self.s["clip"]
        self.epochs.append(0)
        for _ in range(self.s["epochs"]):
            self.epochs[-1] += 1
            order, divergences = torch.from_numpy(shuffle.permutation(len(actions))), []
            for start in range(0, len(actions), self.s["minibatch"]):
                part = order[start : start + self.s["minibatch"]]
                parameters = [p.requires_grad_() for p in (*self.pi, *self.v)]
                pi = self.policy(observations[part])
                ratio = pi[torch.arange(len(part)), actions[part]] / mu[part]
                gain = torch.minimum(ratio * advantage[part], ratio.clamp(1 - clip, 1 + clip) * advantage[part])
                bonus = -(pi * pi.log()).sum(-1)
                error = (self.critic(observations[part], critic_only) - returns[part]) ** 2
                loss = self.s["value_coefficient"] * error.mean()
                if demonstrated is not None:
                    chosen = shuffle.integers(len(demonstrated), size=self.s["imitation_minibatch"])
                if not critic_only:
                    loss = loss - gain.mean() - entropy * self.s["entropy_coefficient"] * bonus.mean()
                    if demonstrated is not None:
                        loss = loss + imitation * self.imitation(demonstrated, chosen)
                    teacher = torch.from_numpy(TEACHER.reshape(len(actions), -1)[part]).double()
                    loss = loss + kickstarting * (teacher * (teacher / pi).log()).sum(-1).mean()  # a constant from ours
                gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
                self.adam(list(gradients), self.s["learning_rate"] * learning_rate)
                divergences.append((ratio - 1 - ratio.log()).detach())
            if torch.cat(divergences).mean() > 1.5 * self.s["target_kl"]:
                break
        if not first:
            self.standardise(batch)

    def imitation(self, shown: Rows, chosen: NDArray[np.int64]) -> Tensor:
        """Mean −Σ_a μ(a|s) ln π(a|s) of the chosen decisions, μ being one-hot where it is unknown."""
        losses = []
        for number in chosen:
            pi = self.policy(self.scaled(shown.observations[number]))
            mu = np.eye(3)[shown.actions[number]] if shown.probabilities is None else shown.probabilities[number]
            losses.append(-sum(float(mu[a]) * pi[a].log() for a in range(3)))
        return torch.stack(losses).mean()

    @torch.no_grad()
    def adam(self, gradients: list[Tensor | None], rate: float) -> None:
        norm = float(sum((g**2).sum() for g in gradients if g is not None)) ** 0.5
        factor = min(1.0, self.s["max_gradient_norm"] / norm)
        for i, (p, g) in enumerate(zip((*self.pi, *self.v), gradients, strict=True)):
            p.requires_grad_(False)
            if g is None:
                continue
            self.steps[i] += 1
            m, v = self.first[i], self.second[i]
            m.copy_(0.9 * m + 0.1 * factor * g)
            v.copy_(0.999 * v + 0.001 * (factor * g) ** 2)
            corrected = m / (1 - 0.9 ** self.steps[i]), v / (1 - 0.999 ** self.steps[i])
            p -= rate * corrected[0] / (corrected[1].sqrt() + self.s["epsilon"])


class SharedReference(Reference):
    """π and V with a common layer of ReLUs, which a step of the critic alone leaves as it is."""

    def shared(self, rows: Tensor) -> Tensor:
        return (rows @ self.pi[0].T + self.pi[1]).clamp(min=0)

    def policy(self, rows: Tensor) -> Tensor:
        return (self.shared(rows) @ self.pi[2].T + self.pi[3]).softmax(-1)

    def critic(self, rows: Tensor, critic_only: bool) -> Tensor:
        features = self.shared(rows).detach() if critic_only else self.shared(rows)
        return (features @ self.pi[4].T + self.pi[5]).squeeze(-1)


BASE: dict[str, Any] = {
    "gamma": 0.9,
    "gae_lambda": 0.8,
    "clip": 0.15,
    "epochs": 3,
    "minibatch": 10,
    "target_kl": 100.0,
    "value_coefficient": 0.7,
    "entropy_coefficient": 0.2,
    "learning_rate": 0.03,
    "epsilon": 0.1,  # so large that the size of a gradient shows in Adam's steps
    "max_gradient_norm": 1000.0,
    "imitation_minibatch": 4,
}

SHOWN = Rows(
    np.random.default_rng(3).normal(3.0, 2.0, size=(9, 2)).astype(np.float32),
    np.random.default_rng(4).integers(3, size=9),
    np.full(9, -1),
)
DRAWN = replace(SHOWN, probabilities=np.random.default_rng(5).dirichlet(np.ones(3), size=9).astype(np.float32))


TEACHER = np.random.default_rng(6).dirichlet(np.ones(3), size=(4, 6)).astype(np.float32)


def trained(
    settings: Mapping[str, Any], updates: list[dict[str, Any]], shared: bool = False
) -> tuple[PpoLearner, Reference]:
    """Our learner and the reference after the same updates."""
    network = (ValuedActor if shared else Actor)(2, 3, (8,), torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.policy_head.weight.mul_(30)
    values = None if shared else Values(2, (6,), torch.Generator().manual_seed(1))
    mine, theirs = np.random.default_rng(5), np.random.default_rng(5)
    learner = PpoLearner(network, values, PpoSettings(**settings), torch.device("cpu"), mine)
    reference = (SharedReference if shared else Reference)(copy.deepcopy(network), learner.values, settings)
    for number, more in enumerate(updates):
        shown = more.get("demonstrated")
        learner._demonstrations = None if shown is None else Demonstrations(shown)
        now = {name: value for name, value in more.items() if name != "demonstrated"}
        learner.update(replace(make_batch(number), teacher=TEACHER), PhaseValues(settings["gamma"], **now))
        reference.update(make_batch(number), theirs, **more)
    return learner, reference


def assert_equal(learner: PpoLearner, reference: Reference) -> None:
    for module, expected in ((learner.network, reference.pi), (learner.values, reference.v)):
        parameters = [] if module is None else [*module.parameters()]
        for weights, other in zip(parameters, expected, strict=True):
            torch.testing.assert_close(weights.detach().double(), other, rtol=0, atol=3e-6)
    np.testing.assert_allclose(learner.network.scaler.mean.numpy(), reference.mean, rtol=1e-6)
    np.testing.assert_allclose(learner.network.scaler.std.numpy(), reference.std, rtol=1e-6)


@pytest.mark.parametrize("shared", [False, True], ids=["two networks", "one network"])
@pytest.mark.parametrize(
    ("changes", "updates"),
    [
        ({}, [{}, {}, {}]),
        ({}, [{}, {"learning_rate": 0.3}, {"entropy": 0.1}]),
        ({}, [{}, {"critic_only": True}, {}]),
        ({"max_gradient_norm": 0.2}, [{}, {}]),
        ({"clip": 0.01, "entropy_coefficient": 0.0}, [{}, {}]),
        ({}, [{}, {"imitation": 0.5, "demonstrated": SHOWN}, {"imitation": 2.0, "demonstrated": DRAWN}]),
        ({}, [{}, {"imitation": 0.5, "demonstrated": DRAWN, "critic_only": True}]),
        ({}, [{}, {"kickstarting": 0.5}, {"kickstarting": 2.0}]),
        ({}, [{}, {"kickstarting": 0.5, "critic_only": True}]),
    ],
    ids=[
        "plain",
        "factors",
        "critic only",
        "small norm",
        "narrow clip",
        "imitation",
        "imitation without a policy",
        "a teacher",
        "a teacher without a policy",
    ],
)
def test_updates_are_those_of_the_paper(changes: dict[str, Any], updates: list[dict[str, Any]], shared: bool) -> None:
    learner, reference = trained(BASE | changes, updates, shared)
    assert_equal(learner, reference)


def test_an_update_stops_after_the_first_epoch_that_is_too_far_from_the_policy_that_played() -> None:
    learner, reference = trained(BASE | {"epochs": 9, "target_kl": 0.05}, [{}, {}])
    assert reference.epochs == [8, 1]
    assert_equal(learner, reference)
