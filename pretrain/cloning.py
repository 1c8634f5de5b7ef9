"""Behaviour cloning: maximum likelihood of the demonstrated actions."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..policies.networks import TrunkedPolicy
from .rows import Rows
from .settings import CloningSettings


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


def policy_logits(network: TrunkedPolicy, scaled: Tensor, dropout: float, generator: torch.Generator) -> Tensor:
    """The network's policy logits [N, A] of scaled observations [N, size], hidden units dropped out at random."""
    hidden = scaled
    for layer in network.trunk:
        hidden = layer(hidden)
        if dropout and isinstance(layer, nn.ReLU):  # those of convolutions are inside of their layer
            kept = torch.rand(hidden.shape, generator=generator) >= dropout
            hidden = hidden * kept.to(hidden.device) / (1 - dropout)
    logits: Tensor = network.policy_head(hidden)
    return logits


def cloning_epochs(network: TrunkedPolicy, rows: Rows, settings: CloningSettings, seed: int) -> Iterator[float]:
    """Fit the policy of `network` to `rows`; each pass yields the mean loss of its updates.

    Targets are the rows' probabilities if there are any and the settings want them, otherwise the actions. Trains the
    trunk and the policy head; the Q head stays as it is. The optimiser is AdamW, its learning rate falling along half a
    cosine; `seed` decides order, dropout and noise.
    """
    probabilities = rows.probabilities if settings.soft_targets else None
    settings = settings.completed(soft=probabilities is not None)
    assert settings.dropout is not None
    # Random numbers and batches come from the CPU, so that they are the same on every device.
    generator = torch.Generator().manual_seed(seed)
    device = network.policy_head.weight.device
    observations = torch.from_numpy(rows.observations)
    actions = torch.from_numpy(rows.actions)
    targets = None if probabilities is None else torch.from_numpy(probabilities)
    by_row = None if rows.weights is None else torch.from_numpy(rows.weights)
    parameters = [*network.trunk.parameters(), *network.policy_head.parameters()]
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
            {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        foreach=True,
    )
    updates = settings.epochs * math.ceil(len(rows) / settings.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, updates)
    for _ in range(settings.epochs):
        losses = []
        for batch in torch.split(torch.randperm(len(rows), generator=generator), settings.batch_size):
            rows_seen = observations.index_select(0, batch).to(device)
            if settings.dropout or settings.input_noise:
                seen = network.layer_input(rows_seen)
                if settings.input_noise:
                    seen = network.scaler(rows_seen) + settings.input_noise * torch.randn(
                        seen.shape, generator=generator
                    ).to(device)
                logits = policy_logits(network, seen, settings.dropout, generator)
            else:
                logits = network.policy_head(network.features(rows_seen))
            mu = None if targets is None else targets[batch].to(device)
            v = None if by_row is None else by_row[batch].to(device)
            loss = cloning_loss(logits, actions[batch].to(device), settings.label_smoothing, mu, v)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        yield float(np.mean(losses))
