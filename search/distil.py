"""Distillation of the games found into the policy used in the search."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..policies.networks import Network

WARM_UP = 100
"""Warm-up steps of the learning rate."""


@dataclass(frozen=True)
class DistilSettings:
    """Settings of the distillation.

    steps: of Adam, whose learning rate falls to 0. own: weight of the policy's own play. batch: searched decisions per
    step; half as many of the policy's own are added.
    """

    steps: int = 12000
    own: float = 0.5
    seed: int = 0
    batch: int = 1024
    learning_rate: float = 2e-3


def distil(
    network: Network,
    states: Tensor,
    actions: Tensor,
    own: Tensor,
    settings: DistilSettings,
    progress: Callable[[float, float], None] = lambda searched, kept: None,
) -> float:
    """Train the network in place. Returns the fraction of the searched actions that the greedy policy takes afterwards.

        L = −log π(a|s) + own·KL[π_before(·|s') ‖ π(·|s')]

    over searched decisions, states s float32 [n, observation_size] and actions a int64 [n], and states s' of the
    policy's own play, own float32 [m, observation_size]. `progress` is called with both terms after each step.
    """
    generator = torch.Generator().manual_seed(settings.seed)
    with torch.no_grad():
        before = network.logits(own).log_softmax(-1)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    scale = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / WARM_UP) * (1.0 - step / settings.steps)
    )
    for _ in range(settings.steps):
        searched = torch.randint(len(states), (settings.batch,), generator=generator)
        mine = torch.randint(len(own), (settings.batch // 2,), generator=generator)
        loss = torch.nn.functional.cross_entropy(network.logits(states[searched]), actions[searched])
        now = network.logits(own[mine]).log_softmax(-1)
        kept = (before[mine].exp() * (before[mine] - now)).sum(-1).mean()
        optimiser.zero_grad()
        (loss + settings.own * kept).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        scale.step()
        progress(loss.item(), kept.item())
    with torch.no_grad():
        return float((network.logits(states).argmax(-1) == actions).float().mean())
