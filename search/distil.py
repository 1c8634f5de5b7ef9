"""Distillation: trains a policy to play searched games, and otherwise to play as before."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..common.errors import BadInput
from ..policies.devices import undisturbed
from ..policies.networks import LayeredNetwork
from .settings import DistilSettings

WARM_UP = 50
"""Warm-up steps of the learning rate."""

LAST = 0.02
"""Share of the learning rate that is left at the end; it falls linearly."""

ROWS = 8192
"""Decisions of which the margins are computed at once."""


def margins(logits: Tensor, actions: Tensor) -> Tensor:
    """M(s, a) = log π(a|s) − max_{b≠a} log π(b|s), [n]: positive where the greedy policy takes the action.

    logits [n, A], actions int64 [n].
    """
    chosen = actions.unsqueeze(-1)
    best_other = logits.scatter(-1, chosen, -torch.inf).max(-1).values
    return logits.gather(-1, chosen).squeeze(-1) - best_other


def distil_loss(logits: Tensor, actions: Tensor, margin: float) -> Tensor:
    """mean max(0, 2m − M(s, a)): a multi-class hinge loss (Crammer and Singer 2001) with twice the margin required, so
    that few decisions end just below it."""
    return torch.relu(2 * margin - margins(logits, actions)).mean()


def kept_loss(log_before: Tensor, log_now: Tensor) -> Tensor:
    """Mean KL[π_before(·|s) ‖ π(·|s)] of log-probabilities [n, A]."""
    return (log_before.exp() * (log_before - log_now)).sum(-1).mean()


@undisturbed
def distil(
    network: LayeredNetwork,
    states: Tensor,
    actions: Tensor,
    own: Tensor,
    settings: DistilSettings,
    progress: Callable[[int], None] = lambda missed: None,
) -> int:
    """Train the network in place. Returns the number of searched actions that the greedy policy does not take then.

        L = mean max(0, 2m − M(s, a)) + own·KL[π_before(·|s') ‖ π(·|s')]

    over searched decisions, states s float32 [n, size] and actions a int64 [n], whose margin is not large anyway, and
    states s' of the policy's own play, float32 [k, size]. `progress` is called after each step with the number of
    searched actions missed when last counted. BadInput where the training diverges.
    """
    generator = torch.Generator().manual_seed(settings.seed)
    log_before = _log_probabilities(network, own)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, betas=(0.9, 0.99))
    scale = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / WARM_UP) * max(LAST, 1.0 - step / settings.steps)
    )

    for step in range(settings.steps):
        if step % settings.mine_every == 0:
            found = _margins(network, states, actions)
            missed, near = int((found < 0).sum()), torch.nonzero(found < settings.near).squeeze(-1)
        chosen = near
        if len(near) > settings.batch:
            chosen = near[torch.randperm(len(near), generator=generator)[: settings.batch].to(near.device)]
        mine = torch.randint(len(own), (settings.own_batch,), generator=generator).to(own.device)
        log_now = network.logits(own[mine]).log_softmax(-1)
        loss = settings.own * kept_loss(log_before[mine], log_now)
        if len(chosen):
            loss = loss + distil_loss(network.logits(states[chosen]), actions[chosen], settings.margin)
        if not torch.isfinite(loss):
            raise BadInput(f"learning_rate={settings.learning_rate:g}: the training diverges; lower it")
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        scale.step()
        progress(missed)
    found = _margins(network, states, actions)
    if not torch.isfinite(found).all():
        raise BadInput(f"learning_rate={settings.learning_rate:g}: the training diverges; lower it")
    return int((found < 0).sum())


@torch.no_grad()
def _margins(network: LayeredNetwork, states: Tensor, actions: Tensor) -> Tensor:
    parts = zip(torch.split(states, ROWS), torch.split(actions, ROWS), strict=True)
    return torch.cat([margins(network.logits(some), taken) for some, taken in parts])


@torch.no_grad()
def _log_probabilities(network: LayeredNetwork, states: Tensor) -> Tensor:
    return torch.cat([network.logits(some).log_softmax(-1) for some in torch.split(states, ROWS)])
