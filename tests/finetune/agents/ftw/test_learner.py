"""For The Win: whole updates against a float64 reference of the paper's equations, and the auxiliary tasks."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.ftw.learner import CONTROL_GAMMA, Control, FtwLearner, RewardStores
from qwop.finetune.agents.ftw.settings import FtwSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.encoders import PixelScaler
from qwop.policies.recurrent import TwoTimescaleActorCritic, absorb, digest, standard_normal
from torch import Tensor

from ...fakes import CPU, make_batch, make_sequences
from ..reference import LiveReference, actor_critic

MEMORY, LATENT, ACTIONS, SIZE = 5, 3, 3, 2
NOW = PhaseValues(gamma=0.9)
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
    """Live play that begins in the middle of episodes; in each sequence one reward is to be predicted."""
    signals = np.where(np.arange(7) == 5, np.float32(-1), np.float32(0)) * np.ones((4, 1), np.float32)
    return replace(make_batch(seed, k=7, actions=ACTIONS, size=SIZE, state=make_state), signals=signals)


class Reference(LiveReference):
    """The For The Win agent (Jaderberg et al. 2019) step by step and sequence by sequence, in float64."""

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

    def value(self, z: Tensor) -> Tensor:
        return self.head("value_head", z).squeeze()

    def q(self, z: Tensor) -> Tensor:
        """[A, SIZE]."""
        features = torch.relu(self.linear("control.layers.0", z))
        v = self.linear("control.value", features)
        a = self.linear("control.advantage", features).reshape(ACTIONS, SIZE)
        return v + a - a.mean(0)

    def loss(self, batch: Sequences, entropy: float, critic_only: bool) -> Tensor:
        n, k = batch.actions.shape
        final = {(int(i), int(t)): seen for i, t, seen in zip(*batch.finals, strict=True)}
        total, control, steps_known = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64), 0
        for row in range(n):
            parts = [torch.from_numpy(part[row : row + 1])[0] for part in batch.state]
            names = ("h", "c", "ph", "pc", "z", "fed")
            state: dict[str, Any] = {name: part.double() for name, part in zip(names, parts[:6], strict=True)}
            state |= {"age": int(parts[6]), "key": parts[7][None]}
            over = batch.terminated[row] | batch.truncated[row]
            thoughts, v, log_pi, finals = [], [], [], {}
            for t in range(k):
                thought, state = self.think(batch.observations[row, t], state)
                z = thought["z"]
                pi = self.head("policy_head", z).softmax(0)
                log_pi.append(pi[batch.actions[row, t]].log())
                v.append(self.value(z.detach() if critic_only else z))
                thoughts.append(thought)
                if not critic_only:
                    total = total + entropy * self.s["entropy_coefficient"] * (pi * pi.log()).sum()
                fed = torch.zeros(ACTIONS + 1, dtype=torch.float64)
                fed[batch.actions[row, t]] = 1.0
                reward = float(batch.rewards[row, t])
                fed[-1] = math.copysign(math.log1p(abs(reward)), reward)
                state["fed"] = fed
                if (row, t) in final:
                    finals[t] = self.value(self.think(final[row, t], state)[0]["z"]).item()
                if over[t]:
                    state = {name: torch.zeros_like(part) for name, part in state.items() if name != "age"} | {"age": 0}
            last, _ = self.think(batch.observations[row, k], state)
            policy, critic = actor_critic(batch, row, self.s, v, log_pi, finals, self.value(last["z"]).item())
            total = total + self.s["value_coefficient"] * critic
            if critic_only:
                continue
            total = total + policy
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
    parts = learner.network, learner.auxiliary
    reference = Reference((named for part in parts for named in part.named_parameters()), SETTINGS | {"passes": passes})
    for seed in range(3):
        scalars = learner.update(batch_of(seed), PhaseValues(0.9, **more)).scalars
        reference.update(batch_of(seed), **more)
        assert all(np.isfinite(one) for one in scalars.values())
        assert ({"posterior_kl", "prior_kl", "feature_control"} <= scalars.keys()) is ("critic_only" not in more)
    for part in parts:
        for name, weight in part.named_parameters():
            expected = reference.weights[name].detach()
            np.testing.assert_allclose(weight.detach(), expected, rtol=2e-4, atol=3e-5, err_msg=name)


def test_rewards_are_predicted_from_the_policys_features_of_balanced_windows() -> None:
    learner = make_learner(reward_prediction=1.0, feature_control=0.0, posterior_kl=0.0, prior_kl=0.0)
    losses = [learner.update(batch_of(0), NOW).scalars["reward_prediction"] for _ in range(60)]
    assert losses[0] == pytest.approx(math.log(3), abs=0.1)
    assert losses[-1] < 0.5
    every = replace(batch_of(0), signals=None)  # whose rewards are all something
    assert "reward_prediction" not in make_learner(reward_prediction=1.0).update(every, NOW).scalars


def test_windows_are_stored_once_however_often_they_are_learned_from() -> None:
    once, twice = (make_learner(reward_prediction=1.0, passes=passes) for passes in (1, 2))
    for learner in (once, twice):
        learner.update(batch_of(0), NOW)
    np.testing.assert_array_equal(*(one.get_state()["stores"]["some"]["columns"]["rewards"] for one in (once, twice)))


def signals_of(played: Sequences, *nonzero: tuple[int, int]) -> NDArray[np.float32]:
    signals = np.zeros(played.actions.shape, dtype=np.float32)
    for place in nonzero:
        signals[place] = -1.0
    return signals


def stores(capacity: int = 800) -> RewardStores:
    return RewardStores(capacity, ObservationSpec((2,)), np.random.default_rng(0))


def test_a_batch_has_as_many_windows_before_a_reward_as_before_none_however_rare_one_is() -> None:
    """`make_sequences` numbers observation t of sequence i as 1000 i + t."""
    played, one = make_sequences(4, steps=20), stores()
    one.add(played, signals_of(played, (3, 9)))
    assert len(one) == 1
    batch = one.sample(2000)
    rewarded, others = (batch.observations[mask][:, :, 0] for mask in (batch.rewards != 0, batch.rewards == 0))
    assert len(rewarded) == len(others) == 1000
    assert (rewarded == [3007, 3008, 3009]).all()
    assert (np.diff(others, axis=1) == 1).all()
    assert 3009 not in others[:, 2]


def test_no_window_spans_two_episodes() -> None:
    played = make_sequences(1, steps=12)
    played.terminated[0, 5] = True
    truncated = replace(played, terminated=played.truncated, truncated=played.terminated)
    for each in (played, truncated):
        one = stores(80)
        one.add(each, signals_of(each, (0, 4)))
        # The observations 6 and 7 are the first two of their episode.
        assert set(one.sample(4000).observations[:, 2, 0].tolist()) == {2, 3, 4, 5, 8, 9, 10, 11}


def test_the_newest_windows_replace_the_oldest_in_small_parts() -> None:
    one = stores(16)
    for number in range(12):
        played = make_sequences(3, steps=8, first=10 * number)
        for signal in (1, 0):
            one.add(played, np.full((3, 8), signal, dtype=np.float32))
            assert (len(one) == 0) is (number == 0 and signal == 1)
    plays = set((one.sample(4000).observations[:, 0, 0] // 10_000).astype(int).tolist())
    assert plays == {4, 5, 6, 7, 8, 9, 10, 11}  # two windows of each


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize(
    ("shape", "cells"),
    [((84, 84), (20, 20)), ((4, 84, 84), (20, 20)), ((36, 36, 3), (8, 8)), ((2, 60, 84, 3), (14, 20))],
)
def test_pixel_control_has_as_many_cells_as_pseudo_rewards(shape: tuple[int, ...], cells: tuple[int, int]) -> None:
    control = Control(ObservationSpec(shape, "uint8"), 6, 8, 3, generator())
    assert control.cells == cells
    pictures = torch.zeros(2, 4, int(np.prod(shape)), dtype=torch.uint8)
    assert control.rewards(pictures, PixelScaler()).shape == (2, 3, cells[0] * cells[1])
    assert control(torch.zeros(2, 3, 6)).shape == (2, 3, 3, cells[0] * cells[1])


def test_pixel_control_looks_at_the_newest_frame_and_at_a_cells_own_place() -> None:
    control = Control(ObservationSpec((2, 36, 36, 3), "uint8"), 6, 8, 3, generator())
    pictures = torch.zeros(1, 2, 2, 36, 36, 3, dtype=torch.uint8)
    pictures[:, 1, 0] = 255  # the older frame
    pictures[:, 1, 1, 2 + 4 * 3 : 2 + 4 * 4, 2 + 4 * 5 : 2 + 4 * 6] = 51  # row 3, column 5 of cells
    found = control.rewards(pictures.flatten(2), PixelScaler())[0, 0]
    assert found.nonzero().flatten().tolist() == [3 * 8 + 5]
    assert found.max().item() == pytest.approx(0.2)
