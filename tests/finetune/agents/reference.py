"""The common part of float64 references: running statistics, and steps of Adam with clipped gradients."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from qwop.finetune.experience.sequences import Sequences
from torch import Tensor


class AdamReference:
    """Learns weights, by their names, from the `loss` of a batch, which subclasses write from the paper's equations."""

    def __init__(self, weights: Iterable[tuple[str, Tensor]], settings: Mapping[str, Any]) -> None:
        self.weights = {name: weight.detach().double() for name, weight in weights}
        self.first = {name: torch.zeros_like(weight) for name, weight in self.weights.items()}
        self.second = {name: torch.zeros_like(weight) for name, weight in self.weights.items()}
        self.steps = 0
        self.s = settings
        self.seen: list[np.ndarray] = []
        self.mean, self.std = np.zeros(2), np.ones(2)

    def loss(self, batch: Sequences, entropy: float, critic_only: bool) -> Tensor:
        raise NotImplementedError

    def scaled(self, observation: np.ndarray) -> Tensor:
        return torch.from_numpy((observation.astype(np.float64) - self.mean) / self.std).clamp(-8, 8)

    def standardise(self, batch: Sequences) -> None:
        self.seen.append(batch.observations[:, :-1].reshape(-1, batch.observations.shape[-1]).astype(np.float64))
        everything = np.concatenate(self.seen)
        self.mean, self.std = everything.mean(0), everything.std(0)

    def update(
        self, batch: Sequences, *, learning_rate: float = 1.0, entropy: float = 1.0, critic_only: bool = False
    ) -> None:
        first = not self.seen
        if first:
            self.standardise(batch)
        for _ in range(self.s.get("passes", 1)):
            self.step(batch, learning_rate, entropy, critic_only)
        if not first:
            self.standardise(batch)

    def step(self, batch: Sequences, learning_rate: float, entropy: float, critic_only: bool) -> None:
        for weight in self.weights.values():
            weight.requires_grad_()
        loss = self.loss(batch, entropy, critic_only)
        gradients = torch.autograd.grad(loss, list(self.weights.values()), allow_unused=True)
        norm = float(sum((g**2).sum() for g in gradients if g is not None)) ** 0.5
        factor = min(1.0, self.s["max_gradient_norm"] / (norm + 1e-6))
        self.steps += 1
        with torch.no_grad():
            for (name, weight), gradient in zip(self.weights.items(), gradients, strict=True):
                if gradient is None:
                    continue
                gradient = gradient * factor
                self.first[name] = 0.9 * self.first[name] + 0.1 * gradient
                self.second[name] = 0.999 * self.second[name] + 0.001 * gradient**2
                mean = self.first[name] / (1 - 0.9**self.steps)
                root = (self.second[name] / (1 - 0.999**self.steps)).sqrt()
                rate = self.s["learning_rate"] * learning_rate
                self.weights[name] = weight - rate * mean / (root + self.s["epsilon"])
        self.weights = {name: weight.detach() for name, weight in self.weights.items()}
