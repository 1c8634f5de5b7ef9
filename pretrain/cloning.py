"""Behaviour cloning: maximum likelihood of the demonstrated actions."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..policies.dense_layers import LeafGradients
from ..policies.devices import WEIGHTS
from ..policies.networks import TrunkedPolicy
from .rows import Rows
from .settings import CloningSettings


class Batch(NamedTuple):
    """Rows of one update: inputs of the network's trunk [N, size], factors of its units if some are dropped out, each
    [N, width], actions int64 [N], and μ [N, A] and v [N] of `cloning_loss` if there are any."""

    inputs: Tensor
    factors: list[Tensor]
    actions: Tensor
    mu: Tensor | None
    v: Tensor | None


def cloning_loss(
    logits: Tensor,
    actions: Tensor,
    label_smoothing: float = 0.0,
    probabilities: Tensor | None = None,
    row_weights: Tensor | None = None,
) -> Tensor:
    """L = −Σ_i v_i Σ_a y_ia ln π(a|s_i) / Σ_i v_i,  y_i = (1 − λ)·μ(·|s_i) + λ/A.

    μ(·|s_i) is onehot(a_i), or the player's own probabilities [N, A], if given. logits [N, A], actions int64
    [N], row_weights v [N] (default all 1), λ = label_smoothing.
    """
    log_probabilities = functional.log_softmax(logits, dim=-1)
    if probabilities is None:
        demonstrated = log_probabilities.gather(-1, actions[:, None])[:, 0]
    else:
        demonstrated = (probabilities * log_probabilities).sum(-1)
    losses = -(1 - label_smoothing) * demonstrated - label_smoothing * log_probabilities.mean(dim=-1)
    return losses.mean() if row_weights is None else (row_weights * losses).sum() / row_weights.sum()


def policy_logits(network: TrunkedPolicy, inputs: Tensor, factors: Sequence[Tensor] = ()) -> Tensor:
    """The network's policy logits [N, A] of its trunk's inputs [N, size].

    factors: of each hidden layer's ReLU units, [N, width], if some are dropped out; not of convolutions.
    """
    hidden, remaining = inputs, iter(factors)
    for layer in network.trunk:
        hidden = layer(hidden)
        if factors and isinstance(layer, nn.ReLU):  # those of convolutions are inside of their layer
            hidden = hidden * next(remaining)
    logits: Tensor = network.policy_head(hidden)
    return logits


def dropout_factors(network: TrunkedPolicy, rows: int, dropout: float, generator: torch.Generator) -> list[Tensor]:
    """Factors of each hidden layer's ReLU units, [rows, width], on the CPU: 0 for a fraction `dropout` of them, drawn
    anew, and 1/(1 − dropout) for the others (Srivastava et al. 2014)."""
    layers = [one for one, after in pairwise(network.trunk) if isinstance(after, nn.ReLU)]
    draws = [
        torch.rand(rows, len(one.weight), generator=generator, dtype=WEIGHTS)
        for one in layers
        if isinstance(one, nn.Linear)
    ]
    return [(one >= dropout).to(WEIGHTS).div_(1 - dropout) for one in draws]


def cloning_batches(network: TrunkedPolicy, rows: Rows, settings: CloningSettings, seed: int) -> Iterator[Batch]:
    """Yield the batches of every pass, on the network's device. `seed` decides order, dropout and noise.

    Targets are the rows' probabilities if there are any and the settings want them, otherwise the actions.
    """
    probabilities = rows.probabilities if settings.soft_targets else None
    settings = settings.completed(soft=probabilities is not None)
    # Random numbers and batches come from the CPU, so that they are the same on every device.
    generator = torch.Generator().manual_seed(seed)
    device = network.policy_head.weight.device
    observations = torch.from_numpy(rows.observations)
    actions = torch.from_numpy(rows.actions)
    targets = None if probabilities is None else torch.from_numpy(probabilities)
    by_row = None if rows.weights is None else torch.from_numpy(rows.weights)
    for _ in range(settings.epochs):
        for batch in torch.split(torch.randperm(len(rows), generator=generator), settings.batch_size):
            states = observations.index_select(0, batch).to(device)
            noise = None
            if settings.input_noise:
                noise = (
                    torch.randn(states.shape, generator=generator, dtype=WEIGHTS).mul_(settings.input_noise).to(device)
                )
            inputs = network.trunk_input(states, noise)
            factors = dropout_factors(network, len(batch), settings.dropout, generator) if settings.dropout else []
            yield Batch(
                inputs,
                [one.to(device) for one in factors],
                actions[batch].to(device),
                None if targets is None else targets[batch].to(device),
                None if by_row is None else by_row[batch].to(device),
            )


def cloning_epochs(network: TrunkedPolicy, rows: Rows, settings: CloningSettings, seed: int) -> Iterator[float]:
    """Fit the policy of `network` to `rows`, in the order of `cloning_batches`; each pass yields the mean loss of its
    updates.

    Trains the trunk and the policy head; the Q head stays as it is. The optimiser is AdamW, its learning rate falling
    along half a cosine.
    """
    parameters = [*network.trunk.parameters(), *network.policy_head.parameters()]
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
            {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        fused=True,
    )
    dense = LeafGradients.of(network.dense_layers())
    updates = math.ceil(len(rows) / settings.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.epochs * updates)
    batches = cloning_batches(network, rows, settings, seed)
    for _ in range(settings.epochs):
        losses = []
        for inputs, factors, a, mu, v in islice(batches, updates):
            optimiser.zero_grad()
            if dense is None:
                logits = policy_logits(network, inputs, factors)
            else:
                (logits,) = dense.outputs(inputs, factors=factors)
            loss = cloning_loss(logits, a, settings.label_smoothing, mu, v)
            loss.backward()
            if dense is not None:
                dense.backward()
            losses.append(loss.item())
            optimiser.step()
            schedule.step()
        yield float(np.mean(losses))
