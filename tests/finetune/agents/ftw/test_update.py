"""Whole updates against a float64 reference written from the paper's equations, without our losses."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.ftw.learner import CONTROL_GAMMA, FtwLearner
from qwop.finetune.agents.ftw.settings import FtwSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.noise import absorb, digest, standard_normal
from qwop.policies.two_timescale import TwoTimescaleActorCritic
from torch import Tensor

from ..live_play import make_batch
from ..reference import AdamReference

CPU = torch.device("cpu")
MEMORY, LATENT, ACTIONS, SIZE = 5, 3, 3, 2

SETTINGS: dict[str, Any] = {
    "gamma": 0.9, "rho_bar": 1.2, "c_bar": 0.8, "value_coefficient": 0.7, "entropy_coefficient": 0.05,
    "learning_rate": 0.01, "epsilon": 1e-3, "max_gradient_norm": 0.4, "hidden": (7,), "memory": MEMORY,
    "latent": LATENT, "period": 3, "slow_gradient": 0.25, "posterior_kl": 0.3, "prior_kl": 0.2, "feature_control": 0.15,
    "reward_prediction": 0.0,
}  # fmt: skip


def make_state(random: np.random.Generator, n: int = 4) -> tuple[Any, ...]:
    """States in the middle of episodes."""

    def numbers(*shape: int) -> Any:
        return random.normal(0, 0.5, shape).astype(np.float32)

    fed = np.concatenate([np.eye(ACTIONS)[random.integers(ACTIONS, size=n)], numbers(n, 1)], axis=1)
    return (
        *(numbers(n, MEMORY) for _ in range(4)), numbers(n, LATENT), fed.astype(np.float32),
        random.integers(9, size=n), random.integers(2**40, size=n),
    )  # fmt: skip


def batch_of(seed: int) -> Sequences:
    """Live play that begins in the middle of episodes."""
    return make_batch(seed, k=7, actions=ACTIONS, size=SIZE, state=make_state)


class Reference(AdamReference):
    """The For The Win agent step by step and sequence by sequence, in float64; weights by their names."""

    def __init__(self, learner: FtwLearner) -> None:
        parts = (learner.network, learner.auxiliary)
        settings = {**SETTINGS, "passes": learner.settings.passes}
        super().__init__((named for part in parts for named in part.named_parameters()), settings)

    def linear(self, name: str, x: Tensor) -> Tensor:
        return self.weights[f"{name}.weight"] @ x + self.weights[f"{name}.bias"]

    def lstm(self, name: str, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        w = self.weights
        gates = w[f"{name}.weight_ih"] @ x + w[f"{name}.bias_ih"] + w[f"{name}.weight_hh"] @ h + w[f"{name}.bias_hh"]
        i, f, g, o = gates.chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def gaussian(self, name: str, h: Tensor) -> tuple[Tensor, Tensor]:
        spread = torch.log1p(self.linear(f"{name}.spread", h).exp())
        return self.linear(f"{name}.mean", h), 0.1 * spread / math.log(2) + 1e-6

    def think(self, seen: np.ndarray, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The thought and the state after it. A gradient is scaled by a mix of the number and its constant."""
        h, c, ph, pc = (state[name] for name in ("h", "c", "ph", "pc"))
        ticked = state["age"] % self.s["period"] == 0
        if ticked:
            ph, pc = self.lstm("slow_core", h, ph, pc)
        m, sd = self.gaussian("prior", ph)
        share = self.s["slow_gradient"]
        guidance = torch.cat([ph, m, sd])
        guidance = share * guidance + (1 - share) * guidance.detach()
        x = torch.tanh(self.linear("trunk.0", self.scaled(seen)))
        h, c = self.lstm("fast_core", torch.cat([x, state["fed"], guidance, state["z"]]), h, c)
        mu, sigma = self.gaussian("posterior", h)
        key = absorb(state["key"], digest(torch.from_numpy(seen)[None]))
        z = mu + sigma * standard_normal(key, LATENT)[0].double()
        thought = {"z": z, "mu": mu, "sigma": sigma, "m": m, "s": sd, "ticked": ticked}
        return thought, {"h": h, "c": c, "ph": ph, "pc": pc, "z": z, "age": state["age"] + 1, "key": key}

    def head(self, name: str, z: Tensor) -> Tensor:
        return self.linear(f"{name}.2", torch.tanh(self.linear(f"{name}.0", z)))

    def q(self, z: Tensor) -> Tensor:
        """[A, SIZE]."""
        features = torch.relu(self.linear("control.layers.0", z))
        v = self.linear("control.value", features)
        a = self.linear("control.advantage", features).reshape(ACTIONS, SIZE)
        return v + a - a.mean(0)

    def loss(self, batch: Sequences, entropy: float, critic_only: bool) -> Tensor:
        n, k = batch.actions.shape
        final = {(int(i), int(t)): number for number, (i, t) in enumerate(zip(*batch.finals[:2], strict=True))}
        gamma, rho_bar, c_bar = self.s["gamma"], self.s["rho_bar"], self.s["c_bar"]
        total = torch.zeros((), dtype=torch.float64)
        control, steps_known = torch.zeros((), dtype=torch.float64), 0
        for row in range(n):
            parts = [torch.from_numpy(part[row : row + 1])[0] for part in batch.state]
            names = ("h", "c", "ph", "pc", "z", "fed")
            state: dict[str, Any] = {name: part.double() for name, part in zip(names, parts[:6], strict=True)}
            state |= {"age": int(parts[6]), "key": parts[7][None]}
            over = batch.terminated[row] | batch.truncated[row]
            thoughts, v, log_pi, entropies, after = [], [], [], [], []
            for t in range(k):
                thought, state = self.think(batch.observations[row, t], state)
                z = thought["z"]
                pi = self.head("policy_head", z).softmax(0)
                log_pi.append(pi[batch.actions[row, t]].log())
                entropies.append(-(pi * pi.log()).sum())
                v.append(self.head("value_head", z.detach() if critic_only else z).squeeze())
                thoughts.append(thought)
                fed = torch.zeros(ACTIONS + 1, dtype=torch.float64)
                fed[batch.actions[row, t]] = 1.0
                reward = float(batch.rewards[row, t])
                fed[-1] = math.copysign(math.log1p(abs(reward)), reward)
                state["fed"] = fed
                after.append(dict(state))
                if over[t]:
                    state = {name: torch.zeros_like(part) for name, part in after[-1].items() if name != "age"}
                    state["age"] = 0
            last, _ = self.think(batch.observations[row, k], state)
            values = [one.item() for one in v] + [self.head("value_head", last["z"]).item()]
            mus = [float(batch.behaviour_probabilities[row, t, batch.actions[row, t]]) for t in range(k)]
            ratios = [log_pi[t].exp().item() / mus[t] for t in range(k)]
            following = values[k]  # v_{t+1}
            for t in reversed(range(k)):
                next_value = values[t + 1]
                if batch.terminated[row, t]:
                    next_value = following = 0.0
                elif batch.truncated[row, t]:
                    thought, _ = self.think(batch.finals.observations[final[row, t]], after[t])
                    next_value = following = self.head("value_head", thought["z"]).item()
                delta = min(rho_bar, ratios[t]) * (batch.rewards[row, t] + gamma * next_value - values[t])
                advantage = min(rho_bar, ratios[t]) * (batch.rewards[row, t] + gamma * following - values[t])
                target = values[t] + delta + gamma * min(c_bar, ratios[t]) * (following - next_value)
                total = total + self.s["value_coefficient"] * (target - v[t]) ** 2
                if not critic_only:
                    total = total - log_pi[t] * advantage
                    total = total - entropy * self.s["entropy_coefficient"] * entropies[t]
                following = target
            if critic_only:
                continue
            for one in thoughts:
                terms = torch.log(one["s"] / one["sigma"]) - 0.5
                terms = terms + (one["sigma"] ** 2 + (one["mu"] - one["m"]) ** 2) / (2 * one["s"] ** 2)
                total = total + self.s["posterior_kl"] * terms.sum()
                if one["ticked"]:
                    widths = torch.log(0.1 / one["s"]) - 0.5 + (one["s"] ** 2 + one["m"] ** 2) / (2 * 0.1**2)
                    total = total + self.s["prior_kl"] * widths.sum()
            qs = [self.q(one["z"]) for one in [*thoughts, last]]
            scaled = self.scaled(batch.observations[row])
            aim = qs[k].max(0).values.detach()
            for t in reversed(range(k)):
                aim = (scaled[t + 1] - scaled[t]).abs() + CONTROL_GAMMA * aim
                if over[t]:
                    aim = qs[t].max(0).values.detach()
                    continue
                control = control + (0.5 * (aim - qs[t][batch.actions[row, t]]) ** 2).mean()
                steps_known += 1
        total = total / (n * k)
        return total if critic_only else total + self.s["feature_control"] * control / steps_known


NOW = PhaseValues(gamma=0.9)


def signalling(played: Sequences) -> Sequences:
    """The sequences, in each of which the sixth step is the only one whose reward is to be predicted."""
    return replace(
        played, signals=np.where(np.arange(7) == 5, np.float32(-1), np.float32(0)) * np.ones((4, 1), np.float32)
    )


def make_learner(seed: int = 0, **more: Any) -> FtwLearner:
    settings = FtwSettings(**{**SETTINGS, **more})
    generator = torch.Generator().manual_seed(seed)
    network = TwoTimescaleActorCritic(SIZE, ACTIONS, (7,), MEMORY, LATENT, settings.period, generator)
    return FtwLearner(network, settings, CPU, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("passes", "more"),
    [(1, {}), (1, {"learning_rate": 0.3, "entropy": 4.0}), (1, {"critic_only": True}), (2, {})],
    ids=["plain", "factors", "critic only", "two passes"],
)
def test_updates_are_the_papers(passes: int, more: dict[str, Any]) -> None:
    learner = make_learner(passes=passes)
    reference = Reference(learner)
    for seed in range(3):
        learner.update(batch_of(seed), PhaseValues(0.9, **more))
        reference.update(batch_of(seed), **more)
    moved = {**dict(learner.network.named_parameters()), **dict(learner.auxiliary.named_parameters())}
    for name, weight in moved.items():
        np.testing.assert_allclose(weight.detach(), reference.weights[name], rtol=2e-4, atol=3e-5, err_msg=name)


def test_rewards_are_predicted_from_the_policys_features_of_balanced_windows() -> None:
    """Weight 1 in one update and 0 in the other: the loss's gradient is what they differ by."""
    learner = make_learner(reward_prediction=1.0, feature_control=0.0, posterior_kl=0.0, prior_kl=0.0)
    played = batch_of(0)
    played = signalling(played)
    first = learner.update(played, NOW).scalars
    assert first["reward_prediction"] == pytest.approx(math.log(3), abs=0.1)
    for _ in range(60):
        found = learner.update(played, NOW).scalars["reward_prediction"]
    assert found < 0.5


def test_a_teacher_is_imitated() -> None:
    learner = make_learner(learning_rate=0.03)
    played = replace(batch_of(0), teacher=np.full((4, 7, ACTIONS), [0.7, 0.2, 0.1], dtype=np.float32))
    first = learner.update(played, NOW._replace(kickstarting=5.0)).scalars["kickstarting"]
    assert first == pytest.approx(math.log(3), abs=0.01)
    for _ in range(60):
        found = learner.update(played, NOW._replace(kickstarting=5.0)).scalars["kickstarting"]
    assert found == pytest.approx(0.8018, abs=0.05)  # the teacher's entropy
    for without in ({"kickstarting": 0.0}, {"kickstarting": 5.0, "critic_only": True}):
        assert "kickstarting" not in learner.update(played, NOW._replace(**without)).scalars


def test_windows_are_stored_once_however_often_they_are_learned_from() -> None:
    once, twice = (make_learner(reward_prediction=1.0, passes=passes) for passes in (1, 2))
    for learner in (once, twice):
        learner.update(signalling(batch_of(0)), NOW)
    stored = [learner.get_state()["stores"]["some"]["rewards"] for learner in (once, twice)]
    np.testing.assert_array_equal(*stored)


def test_nothing_is_predicted_where_every_reward_is_something() -> None:
    learner = make_learner(reward_prediction=1.0)
    assert "reward_prediction" not in learner.update(batch_of(0), NOW).scalars


def assert_same_weights(one: FtwLearner, other: FtwLearner) -> None:
    for mine, theirs in ((one.network, other.network), (one.auxiliary, other.auxiliary)):
        assert all(map(torch.equal, mine.state_dict().values(), theirs.state_dict().values()))


def test_a_copy_with_the_same_settings_learns_the_same() -> None:
    """As one agent of a population copies another: weights, optimiser, statistics, stores, and draws."""
    one, other = (
        make_learner(0, reward_prediction=0.5),
        make_learner(1, reward_prediction=0.5),
    )
    for seed in range(2):
        one.update(signalling(batch_of(seed)), NOW)
    other.update(batch_of(7), NOW)
    other.set_state(one.get_state())
    assert other.network.description() == one.network.description()
    for seed in range(2, 4):
        for learner in (one, other):
            learner.update(signalling(batch_of(seed)), NOW)
    assert_same_weights(one, other)


def test_a_diagnosis_says_what_happened() -> None:
    scalars = make_learner().update(batch_of(0), NOW).scalars
    assert scalars["entropy"] == pytest.approx(math.log(3), abs=0.01)
    assert {"posterior_kl", "prior_kl", "feature_control", "rho", "gradient_norm"} <= scalars.keys()
    assert all(np.isfinite(one) for one in scalars.values())
