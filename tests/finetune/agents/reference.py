"""Common parts of the float64 references: Adam with clipped gradients, and running statistics of observations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from qwop.finetune.experience.sequences import Sequences
from torch import Tensor


class Adam:
    """Adam (Kingma and Ba 2015) of leaf tensors. Gradients longer than `longest` are shortened, `each` by itself."""

    def __init__(self, weights: Sequence[Tensor], epsilon: float, longest: float, each: bool = False) -> None:
        self.weights, self.epsilon, self.longest, self.each = [*weights], epsilon, longest, each
        self.moments = [(torch.zeros_like(one), torch.zeros_like(one)) for one in self.weights]
        self.steps = [0] * len(self.weights)

    def clipped(self, loss: Tensor) -> list[Tensor | None]:
        gradients = torch.autograd.grad(loss, self.weights, allow_unused=True)
        norms = [0.0 if one is None else float(one.square().sum()) ** 0.5 for one in gradients]
        whole = float(np.linalg.norm(norms))
        factors = [min(1.0, self.longest / ((norm if self.each else whole) + 1e-6)) for norm in norms]
        return [None if one is None else factor * one for one, factor in zip(gradients, factors, strict=True)]

    def step(self, loss: Tensor, rate: float) -> None:
        for number, gradient in enumerate(self.clipped(loss)):
            if gradient is not None:
                self.steps[number] += 1
                t, (first, second) = self.steps[number], self.moments[number]
                first.mul_(0.9).add_(0.1 * gradient)
                second.mul_(0.999).add_(0.001 * gradient**2)
                root = (second / (1 - 0.999**t)).sqrt()
                with torch.no_grad():
                    self.weights[number] -= rate * first / (1 - 0.9**t) / (root + self.epsilon)


class LiveReference:
    """Learns weights, by their names, from the `loss` of live play, which subclasses write from the papers' equations.

    Observations are scaled by the statistics of all play: of the first batch before it, of later ones after them.
    """

    def __init__(self, weights: Iterable[tuple[str, Tensor]], settings: Mapping[str, Any]) -> None:
        self.weights = {name: weight.detach().double().requires_grad_() for name, weight in weights}
        self.s = settings
        self.adam = Adam([*self.weights.values()], settings["epsilon"], settings["max_gradient_norm"])
        self.seen: list[np.ndarray] = []
        self.mean, self.std = np.zeros(2), np.ones(2)

    def loss(self, batch: Sequences, entropy: float, critic_only: bool) -> Tensor:
        raise NotImplementedError

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def lstm(self, name: str, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        w = self.weights
        gates = w[f"{name}.weight_ih"] @ x + w[f"{name}.bias_ih"] + w[f"{name}.weight_hh"] @ h + w[f"{name}.bias_hh"]
        i, f, g, o = gates.chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def scaled(self, observation: np.ndarray) -> Tensor:
        return torch.from_numpy((observation.astype(np.float64) - self.mean) / self.std).clamp(-8, 8)

    def standardise(self, batch: Sequences) -> None:
        self.seen.append(batch.observations[:, :-1].reshape(-1, batch.observations.shape[-1]).astype(np.float64))
        everything = np.concatenate(self.seen)
        self.mean, self.std = everything.mean(0), everything.std(0)

    def update(self, batch: Sequences, *, learning_rate: float = 1.0, **more: Any) -> None:
        first = not self.seen
        if first:
            self.standardise(batch)
        self.learn(batch, self.s["learning_rate"] * learning_rate, **more)
        if not first:
            self.standardise(batch)

    def learn(self, batch: Sequences, rate: float, entropy: float = 1.0, critic_only: bool = False) -> None:
        for _ in range(self.s.get("passes", 1)):
            self.adam.step(self.loss(batch, entropy, critic_only), rate)


def actor_critic(
    batch: Sequences, row: int, s: Mapping[str, Any], v: list[Tensor], log_pi: list[Tensor],
    finals: Mapping[int, float], last: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """V-trace of one sequence (Espeholt et al. 2018): the sums of −ln π(a_t|s_t)·A_t and of (v_t − V(s_t))².

    finals: V of the observations that time limits stopped at; last: V(s_k).
    """
    values, following, policy, critic = [*(one.item() for one in v), last], last, torch.zeros(()), torch.zeros(())
    for t in reversed(range(batch.steps)):
        mu = float(batch.behaviour_probabilities[row, t, batch.actions[row, t]])
        ratio, next_value = log_pi[t].exp().item() / mu, values[t + 1]
        if batch.terminated[row, t]:
            next_value = following = 0.0
        elif batch.truncated[row, t]:
            next_value = following = finals[t]
        rho = min(s["rho_bar"], ratio)
        delta = rho * (batch.rewards[row, t] + s["gamma"] * next_value - values[t])
        advantage = rho * (batch.rewards[row, t] + s["gamma"] * following - values[t])
        target = values[t] + delta + s["gamma"] * min(s["c_bar"], ratio) * (following - next_value)
        policy, critic, following = policy - log_pi[t] * advantage, critic + (target - v[t]) ** 2, target
    return policy, critic
