"""ACER: whole updates against a float64 reference written from the paper's equations, diagnoses, and fitted values."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.acer import losses
from qwop.finetune.agents.acer.learner import AcerLearner
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences
from qwop.policies.networks import ActorCritic
from torch import Tensor

from ...fakes import CPU, make_batch, make_sequences
from ...runs import NOW

EPSILON, CRITIC = 1e-6, 0.5
"""ε of the quotients and logarithms, and the weight of the critic's loss, as in stable-baselines."""

TRUNCATION = 2.0
"""Bound c in these tests, so low that it cuts some of the importance weights."""

Weights = dict[str, Tensor]
SOURCES = {"live": LIVE, "demonstrations": DEMONSTRATIONS}


@pytest.fixture(autouse=True)
def truncation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "TRUNCATION", TRUNCATION)


def batch_of(seed: int) -> Sequences:
    """Sequences of both sources, with a behaviour that makes some importance weights large."""
    random, batch = np.random.default_rng(seed), make_batch(seed, n=6, k=5, certainty=0.4)
    return replace(
        batch,
        observations=batch.observations / 2 - 1.5,
        rewards=2 * batch.rewards,
        behaviour_probabilities=batch.behaviour_probabilities * 0.97 + 0.01,
        source=np.array([LIVE, DEMONSTRATIONS] * 3, dtype=np.int8),
        player=random.dirichlet(np.full(3, 0.7), size=(6, 5)).astype(np.float32),
        returns=random.normal(1.0, 2.0, size=(6, 5)).astype(np.float32),
        known=np.repeat(np.arange(6) % 4 == 1, 5).reshape(6, 5),
    )


class Reference:
    """ACER of Wang et al. (2017) in float64, one step of one sequence at a time."""

    def __init__(self, network: ActorCritic, average: ActorCritic, settings: Mapping[str, Any]) -> None:
        self.theta = {name: p.detach().clone().requires_grad_() for name, p in network.named_parameters()}
        self.average = {name: p.detach().clone() for name, p in average.named_parameters()}
        self.mean_squares = {name: torch.ones_like(p) for name, p in self.theta.items()}
        self.s = settings
        self.bounds: tuple[float, float] | None = None
        self.tolerance = 1.0

    def outputs(self, theta: Weights, observation: Tensor) -> tuple[Tensor, Tensor]:
        hidden = torch.relu(theta["trunk.0.weight"] @ observation + theta["trunk.0.bias"])
        logits = theta["policy_head.weight"] @ hidden + theta["policy_head.bias"]
        return logits, theta["q_head.weight"] @ hidden + theta["q_head.bias"]

    def bounded(self, value: Tensor) -> Tensor:
        return value if self.bounds is None else value.clamp(*self.bounds)

    def value(self, observation: Tensor) -> Tensor:
        logits, q = self.outputs(self.theta, observation)
        return self.bounded((logits.softmax(0) * q).sum().detach())

    def q_ret(self, batch: Sequences, i: int) -> list[Tensor]:
        """Retrace, backwards from V of the state after the last step."""
        finals = {
            (int(j), int(t)): torch.from_numpy(seen).double()
            for j, t, seen in zip(batch.finals.sequence, batch.finals.step, batch.finals.observations, strict=True)
        }
        observations = torch.from_numpy(batch.observations[i]).double()
        following, targets = self.value(observations[-1]), []
        for t in reversed(range(batch.steps)):
            if batch.terminated[i, t]:
                following = torch.zeros_like(following)
            elif batch.truncated[i, t]:
                following = self.value(finals[i, t])
            target = self.s["reward_scale"] * float(batch.rewards[i, t]) + self.s["gamma"] * following
            targets.append(self.bounded(target))
            logits, q = self.outputs(self.theta, observations[t])
            action = int(batch.actions[i, t])
            pi = logits.softmax(0)
            rho = pi[action] / (float(batch.behaviour_probabilities[i, t, action]) + EPSILON)
            following = (rho.clamp(max=1) * (target - q[action]) + self.bounded((pi * q).sum())).detach()
        targets.reverse()
        for t in range(batch.steps):
            if self.s.get("achieved_returns") and batch.known[i, t]:
                targets[t] = self.bounded(
                    torch.tensor(self.s["reward_scale"] * float(batch.returns[i, t]), dtype=torch.float64)
                )
        return targets

    def step_loss(self, batch: Sequences, i: int, t: int, q_ret: Tensor, entropy: float, imitation: float) -> Tensor:
        """The loss whose gradient is that of one step: critic, projected policy gradient and imitation."""
        s, action = self.s, int(batch.actions[i, t])
        observation = torch.from_numpy(batch.observations[i, t]).double()
        logits, q = self.outputs(self.theta, observation)
        critic = 0.5 * (q_ret - q[action]) ** 2
        # φ, the logits, is a leaf: ∂G/∂φ and ∂KL/∂φ by differentiation of the gain and of the divergence themselves.
        phi = logits.detach().requires_grad_()
        distribution = phi.softmax(0)
        pi, q_now = distribution.detach(), q.detach()
        v = self.bounded((pi * q_now).sum())
        rho = pi / (torch.from_numpy(batch.behaviour_probabilities[i, t]).double() + EPSILON)
        log_phi, c = torch.log(distribution + EPSILON), TRUNCATION
        gain = rho[action].clamp(max=c) * log_phi[action] * (q_ret - v)
        gain = gain + ((1 - c / rho).clamp(min=0) * pi * log_phi * (q_now - v)).sum()
        # ε must not enter φ·log φ's other derivative: H = −Σ φ log φ gives −log φ − 1.
        bonus = -(distribution * log_phi.detach()).sum()
        (g,) = torch.autograd.grad(gain + entropy * s["entropy_coefficient"] * bonus, phi, retain_graph=True)
        pi_average = self.outputs(self.average, observation)[0].softmax(0)
        divergence = -(pi_average * distribution.log()).sum()
        (direction,) = torch.autograd.grad(divergence, phi)
        excess = (direction @ g - s["delta"]) / (direction @ direction + EPSILON)
        z = g - excess.clamp(min=0) * direction
        loss = CRITIC * critic
        shown, by_return = batch.source[i] == DEMONSTRATIONS, s.get("achieved_returns", False)
        if not (shown and by_return):
            loss = loss - (logits * z).sum()
        if shown:
            weight = torch.ones((), dtype=torch.float64)
            if by_return and batch.known[i, t]:
                short = (v - s["reward_scale"] * float(batch.returns[i, t])) / (s["reward_scale"] * self.tolerance)
                weight = (1 - short).clamp(0, 1)
            player = torch.from_numpy(batch.player[i, t]).double()
            loss = loss - imitation * weight * (player * logits.log_softmax(0)).sum()
        return loss

    def update(
        self,
        batch: Sequences,
        learning_rate: float = 1.0,
        entropy: float = 1.0,
        imitation: float = 0.0,
        critic_only: bool = False,
    ) -> None:
        n, k = batch.actions.shape
        losses = []
        for i in range(n):
            targets = self.q_ret(batch, i)
            for t in range(k):
                if critic_only:
                    observation = torch.from_numpy(batch.observations[i, t]).double()
                    error = targets[t] - self.outputs(self.theta, observation)[1][int(batch.actions[i, t])]
                    losses.append(CRITIC * 0.5 * error**2)
                else:
                    losses.append(self.step_loss(batch, i, t, targets[t], entropy, imitation))
        names = [name for name in self.theta if not critic_only or name.startswith("q_head")]
        gradients = torch.autograd.grad(torch.stack(losses).mean(), [self.theta[name] for name in names])
        norm = float(sum((g**2).sum() for g in gradients)) ** 0.5
        factor = min(1.0, self.s["max_gradient_norm"] / (norm + 1e-6))
        with torch.no_grad():
            for name, g in zip(names, gradients, strict=True):
                square = self.mean_squares[name]
                square.copy_(self.s["decay"] * square + (1 - self.s["decay"]) * (factor * g) ** 2)
                rate = self.s["learning_rate"] * learning_rate
                self.theta[name] -= rate * factor * g / (square + self.s["epsilon"]).sqrt()
            for name, old in self.average.items():
                old.copy_(self.s["alpha"] * old + (1 - self.s["alpha"]) * self.theta[name])

    def stats(self, batch: Sequences) -> tuple[dict[str, float], dict[str, float]]:
        """Figures of a batch before the update, in the mean over its steps; and the mean ρ of each source."""
        rows = []
        for i in range(len(batch)):
            for t, target in enumerate(self.q_ret(batch, i)):
                observation, action = torch.from_numpy(batch.observations[i, t]).double(), int(batch.actions[i, t])
                logits, q = self.outputs(self.theta, observation)
                pi = logits.softmax(0)
                rho = pi[action] / (float(batch.behaviour_probabilities[i, t, action]) + EPSILON)
                value, entropy = self.bounded((pi * q).sum()), -(pi * pi.log()).sum()
                rows.append(torch.stack([value, entropy, (target - q[action]) ** 2, rho]))
        every = torch.stack(rows).detach()
        value, entropy, square, _ = every.mean(0).tolist()
        rho = every[:, 3].reshape(len(batch), -1).mean(1)
        sources = {name: float(rho[batch.source == kind].mean()) for name, kind in SOURCES.items()}
        return {"value": value, "entropy": entropy, "q_error": square**0.5}, sources


BASE: dict[str, Any] = {
    "gamma": 0.9, "delta": 1.0, "alpha": 0.9, "entropy_coefficient": 0.05, "learning_rate": 0.05, "decay": 0.9,
    "epsilon": 1e-5, "max_gradient_norm": 1000.0, "reward_scale": 0.3,
}  # fmt: skip


def make_learner(settings: Mapping[str, Any]) -> AcerLearner:
    """A learner whose average network is well apart from the network."""
    network = ActorCritic(2, 3, (8,), torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.policy_head.weight.mul_(60)
        network.q_head.weight.mul_(100)
        network.q_head.bias.copy_(torch.tensor([0.5, -0.5, 0.2]))
    learner = AcerLearner(network.double(), AcerSettings(**settings), CPU)
    with torch.no_grad():
        learner.average.policy_head.bias.copy_(torch.tensor([1.0, -0.5, 0.0]))
    return learner


THRICE: list[dict[str, Any]] = [{}, {"learning_rate": 0.5}, {"entropy": 3.0}]
IMITATED: list[dict[str, Any]] = [{"imitation": 0.7}, {}, {"imitation": 0.2}]
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], tuple[float, float] | None]] = {
    "wide trust region": ({"delta": 1000.0}, THRICE, None),
    "narrow trust region": ({"delta": 0.02}, THRICE, None),
    "small norm": ({"max_gradient_norm": 0.1}, THRICE, None),
    "imitation": ({}, IMITATED, None),
    "achieved returns": ({"achieved_returns": True}, IMITATED, None),
    "achieved returns within bounds": ({"achieved_returns": True}, IMITATED, (-0.2, 0.5)),
    "critic only": ({}, [{"critic_only": True}, {}], None),
    "critic only, small norm": ({"max_gradient_norm": 0.05}, [{"critic_only": True}, {}], None),
    "within the returns so far": ({}, THRICE, (-0.2, 0.5)),
    "without dense layers": ({}, [{"imitation": 0.5}, {"critic_only": True}, {"entropy": 2.0}], None),
}


@pytest.mark.parametrize("case", CASES)
def test_updates_are_those_of_the_paper_and_a_diagnosis_is_of_the_batch_before(case: str) -> None:
    changes, updates, returns = CASES[case]
    settings = BASE | changes
    learner = make_learner(settings)
    reference = Reference(learner.network, learner.average, settings)
    learner.tolerance = reference.tolerance = 2.5
    if case == "without dense layers":
        learner._dense = learner._dense_average = None
    if returns is not None:
        learner.bounds = returns
        reference.bounds = (returns[0] * settings["reward_scale"], returns[1] * settings["reward_scale"])
    for number, more in enumerate(updates):
        expected, weights = reference.stats(batch_of(number))
        stats = learner.update(batch_of(number), NOW._replace(gamma=settings["gamma"], **more), diagnose=True)
        reference.update(batch_of(number), **more)
        assert stats is not None
        for name in expected:
            assert stats.scalars[name] == pytest.approx(expected[name], abs=1e-4), name
        if not number and "critic_only" not in more:  # the comparison would say little if nothing were cut
            assert (stats.scalars["trust_region_active"] > 0.2) is (settings["delta"] < 1)
            assert (stats.scalars["gradient_norm"] > settings["max_gradient_norm"]) is (case == "small norm")
            assert stats.by_source["live"]["truncated_share"] > 0
            for source, weight in weights.items():
                assert stats.by_source[source]["importance_weight"] == pytest.approx(weight, rel=1e-6)
            assert (stats.scalars["values_outside"] > 0) is (returns is not None)
    for mine, theirs in ((learner.network, reference.theta), (learner.average, reference.average)):
        for name, weights in mine.named_parameters():
            torch.testing.assert_close(weights.detach(), theirs[name].detach(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("end", "scale", "low", "high"),
    [(None, 1.0, 9.9, 10.1), ("truncated", 1.0, 9.0, 10.1), ("terminated", 1.0, 0.0, 5.0), (None, 0.1, 0.99, 1.01)],
)
def test_fitted_values_are_those_of_the_policy_and_leave_it_as_it_is(
    end: str | None, scale: float, low: float, high: float
) -> None:
    """A walk along a line with a reward of 1 a step, forever or to an end: V = 1/(1 − γ) everywhere, or less."""
    one = AcerLearner(ActorCritic(2, 3, (16,), torch.Generator().manual_seed(0)), AcerSettings(reward_scale=scale), CPU)
    raw = make_sequences(200, truncated_every=int(end == "truncated"))
    raw.terminated[:, 1] = end == "terminated"
    played = replace(raw, observations=raw.observations / 1e5, rewards=np.ones_like(raw.rewards))
    before = {name: weights.detach().clone() for name, weights in one.network.named_parameters()}
    one.fit_values(played, 0.9)
    q = one.network(torch.from_numpy(played.observations[:5, 0]))[1]
    assert low < q.mean().item() < high
    moved = {name for name, weights in one.network.named_parameters() if not torch.equal(weights, before[name])}
    assert moved == {"q_head.weight", "q_head.bias"}
    assert torch.equal(one.average.q_head.weight, one.network.q_head.weight)
