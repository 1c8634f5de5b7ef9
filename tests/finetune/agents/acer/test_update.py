"""Whole updates of ACER against a float64 reference written from the paper's equations, without our losses."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.acer import losses
from qwop.finetune.agents.acer.learner import AcerLearner
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, TruncatedObservations
from qwop.finetune.log import UpdateStats
from qwop.policies.networks import ActorCritic, TanhActorCritic
from torch import Tensor

from ...runs import NOW

EPSILON, CRITIC = 1e-6, 0.5
"""ε of the quotients and logarithms, and the weight of the critic's loss, as in stable-baselines."""

TRUNCATION = 2.0
"""Bound c in these tests, so low that it cuts some of the importance weights."""

Weights = dict[str, Tensor]


@pytest.fixture(autouse=True)
def truncation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "TRUNCATION", TRUNCATION)


def make_batch(seed: int, n: int = 6, k: int = 5, actions: int = 3) -> Sequences:
    """Sequences with ends, time limits, both sources, and a behaviour that makes some importance weights large."""
    random = np.random.default_rng(seed)
    terminated, truncated = (np.zeros((n, k), dtype=np.bool_) for _ in range(2))
    terminated[0, 1] = terminated[2, k - 1] = terminated[4, 0] = True
    truncated[1, 2] = truncated[3, k - 1] = truncated[4, 3] = True
    sequence, step = truncated.nonzero()
    return Sequences(
        observations=random.normal(size=(n, k + 1, 2)).astype(np.float32),
        actions=random.integers(actions, size=(n, k)),
        rewards=random.normal(1.0, 2.0, size=(n, k)).astype(np.float32),
        behaviour_probabilities=random.dirichlet(np.full(actions, 0.4), size=(n, k)).astype(np.float32) * 0.97 + 0.01,
        terminated=terminated,
        truncated=truncated,
        finals=TruncatedObservations(
            sequence, step, random.normal(2.0, 1.0, size=(len(sequence), 2)).astype(np.float32)
        ),
        source=np.array([LIVE, DEMONSTRATIONS] * (n // 2), dtype=np.int8),
        player=random.dirichlet(np.full(actions, 0.7), size=(n, k)).astype(np.float32),
        returns=random.normal(1.0, 2.0, size=(n, k)).astype(np.float32),
        known=np.repeat(np.arange(n) % 4 == 1, k).reshape(n, k),
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

    def stats(self, batch: Sequences) -> dict[str, float]:
        """Figures of a batch before the update, in the mean over its steps."""
        values, entropies, divergences, squares = [], [], [], []
        for i in range(len(batch.actions)):
            for t, target in enumerate(self.q_ret(batch, i)):
                observation = torch.from_numpy(batch.observations[i, t]).double()
                logits, q = self.outputs(self.theta, observation)
                pi, pi_average = logits.softmax(0), self.outputs(self.average, observation)[0].softmax(0)
                values.append(self.bounded((pi * q).sum()))
                entropies.append(-(pi * pi.log()).sum())
                divergences.append((pi_average * (pi_average / pi).log()).sum())
                squares.append((target - q[int(batch.actions[i, t])]) ** 2)
        means = {
            name: float(torch.stack(all).mean().detach())
            for name, all in [
                ("value", values),
                ("entropy", entropies),
                ("kl_to_average", divergences),
                ("q_error", squares),
            ]
        }
        return means | {"q_error": means["q_error"] ** 0.5}


BASE: dict[str, Any] = {
    "gamma": 0.9,
    "delta": 1.0,
    "alpha": 0.9,
    "entropy_coefficient": 0.05,
    "learning_rate": 0.05,
    "decay": 0.9,
    "epsilon": 1e-5,
    "max_gradient_norm": 1000.0,
    "reward_scale": 0.3,
}


def trained(
    settings: Mapping[str, Any], updates: list[dict[str, Any]], returns: tuple[float, float] | None = None
) -> tuple[AcerLearner, Reference, UpdateStats]:
    """Our learner and the reference after the same updates, from an average network well apart from the network."""
    network = ActorCritic(2, 3, (8,), torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.policy_head.weight.mul_(60)
        network.q_head.weight.mul_(100)
        network.q_head.bias.copy_(torch.tensor([0.5, -0.5, 0.2]))
    learner = AcerLearner(network.double(), AcerSettings(**settings), torch.device("cpu"))
    with torch.no_grad():
        learner.average.policy_head.bias.copy_(torch.tensor([1.0, -0.5, 0.0]))
    reference = Reference(network, learner.average, settings)
    learner.tolerance = reference.tolerance = 2.5
    if returns is not None:
        learner.clip_bootstrap(returns)
        reference.bounds = (returns[0] * settings["reward_scale"], returns[1] * settings["reward_scale"])
    first = UpdateStats({}, {})
    for number, more in enumerate(updates):
        stats = learner.update(make_batch(number), NOW._replace(gamma=settings["gamma"], **more), diagnose=True)
        first = stats if number == 0 else first
        reference.update(make_batch(number), **more)
    return learner, reference, first


def assert_equal(learner: AcerLearner, reference: Reference) -> None:
    for name, weights in learner.network.named_parameters():
        torch.testing.assert_close(weights.detach(), reference.theta[name].detach(), rtol=1e-9, atol=1e-11)
    for name, weights in learner.average.named_parameters():
        torch.testing.assert_close(weights, reference.average[name], rtol=1e-9, atol=1e-11)


THRICE: list[dict[str, Any]] = [{}, {"learning_rate": 0.5}, {"entropy": 3.0}]


@pytest.mark.parametrize("delta", [1000.0, 0.02])
def test_three_updates_are_those_of_the_paper(delta: float) -> None:
    learner, reference, stats = trained(BASE | {"delta": delta}, THRICE)
    assert_equal(learner, reference)
    assert (stats.scalars["trust_region_active"] > 0.2) is (delta < 1)
    assert stats.by_source["live"]["truncated_share"] > 0  # so the bias correction has something to correct


def test_the_gradient_is_clipped_by_its_norm_over_all_parameters() -> None:
    learner, reference, stats = trained(BASE | {"max_gradient_norm": 0.1}, THRICE)
    assert stats.scalars["gradient_norm"] > 0.2
    assert_equal(learner, reference)


def test_imitation_adds_the_cross_entropy_with_the_player_of_demonstrations() -> None:
    learner, reference, _ = trained(BASE, [{"imitation": 0.7}, {"imitation": 0.2}])
    assert_equal(learner, reference)


@pytest.mark.parametrize("returns", [None, (-0.2, 0.5)])
def test_achieved_returns_are_targets_and_end_imitation_where_they_fall_short(
    returns: tuple[float, float] | None,
) -> None:
    settings = BASE | {"achieved_returns": True}
    learner, reference, _ = trained(settings, [{"imitation": 0.7}, {}, {"imitation": 0.2}], returns)
    assert_equal(learner, reference)


@pytest.mark.parametrize("longest", [1000.0, 0.05])
def test_critic_only_is_the_critics_part_on_its_own_head(longest: float) -> None:
    learner, reference, _ = trained(BASE | {"max_gradient_norm": longest}, [{"critic_only": True}, {}])
    assert_equal(learner, reference)


def test_values_and_targets_stay_within_the_returns_that_were_seen() -> None:
    learner, reference, stats = trained(BASE, THRICE, returns=(-0.2, 0.5))
    assert 0.0 < stats.scalars["values_outside"] < 1.0
    assert_equal(learner, reference)


@pytest.mark.parametrize("returns", [None, (-0.2, 0.5)])
def test_the_diagnosis_is_of_the_batch_before_the_update(returns: tuple[float, float] | None) -> None:
    settings = BASE
    _, _, stats = trained(settings, [{}], returns)
    _, reference, _ = trained(settings, [], returns)
    for name, expected in reference.stats(make_batch(0)).items():
        assert stats.scalars[name] == pytest.approx(expected, abs=1e-4), name


@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 2e-5)])
@pytest.mark.parametrize("architecture", [ActorCritic, TanhActorCritic])
def test_dense_layers_by_hand_and_autograd_make_the_same_updates(
    architecture: type[ActorCritic], kind: torch.dtype, tolerance: float
) -> None:
    def learner() -> AcerLearner:
        network = architecture(2, 3, (8, 5), torch.Generator().manual_seed(0)).to(kind)
        return AcerLearner(network, AcerSettings(achieved_returns=True), torch.device("cpu"))

    by_hand, autograd = learner(), learner()
    autograd._dense = autograd._dense_average = None
    for number, more in enumerate([{}, {"imitation": 0.5}, {"critic_only": True}, {"entropy": 2.0}]):
        batch, now = make_batch(number), NOW._replace(**more)
        mine, theirs = (one.update(batch, now, diagnose=True) for one in (by_hand, autograd))
        assert mine.scalars == pytest.approx(theirs.scalars, rel=100 * tolerance, abs=100 * tolerance)
        assert mine.by_source.keys() == theirs.by_source.keys()
        if kind is torch.float64:  # in float32 a share that is counted may differ by a step
            for source, figures in mine.by_source.items():
                assert figures == pytest.approx(theirs.by_source[source], rel=1e-9, abs=1e-9)
        for one, other in ((by_hand.network, autograd.network), (by_hand.average, autograd.average)):
            torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("delta", [0.02, 0.2, 1000.0])
def test_a_diagnosis_changes_nothing(delta: float) -> None:
    def learner() -> AcerLearner:
        network = ActorCritic(2, 3, (8,), torch.Generator().manual_seed(0)).double()
        one = AcerLearner(network, AcerSettings(**BASE | {"delta": delta}), torch.device("cpu"))
        with torch.no_grad():
            network.q_head.weight.mul_(100)
            one.average.policy_head.bias.copy_(torch.tensor([1.0, -0.5, 0.0]))
        return one

    diagnosed, plain = learner(), learner()
    for number in range(3):
        batch = make_batch(number)
        found = diagnosed.update(batch, NOW, diagnose=True)
        assert plain.update(batch, NOW) is None
    assert found is not None
    assert (found.scalars["trust_region_active"] > 0) is (delta < 1)
    torch.testing.assert_close(plain.network.state_dict(), diagnosed.network.state_dict(), rtol=1e-10, atol=1e-12)


def test_the_average_network_is_not_asked_where_the_trust_region_is_out_of_reach() -> None:
    asked = []
    learner = AcerLearner(ActorCritic(2, 3, (8,)), AcerSettings(delta=1000.0), torch.device("cpu"))
    learner.average.trunk.register_forward_hook(lambda *_: asked.append(1))
    learner._dense_average = None
    learner.update(make_batch(0), NOW)
    assert not asked
    learner.update(make_batch(0), NOW, diagnose=True)
    assert asked
