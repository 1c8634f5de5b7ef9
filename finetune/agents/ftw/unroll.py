"""Unrolls of a two-timescale network over recorded sequences."""

from typing import NamedTuple

import torch
from torch import Tensor

from ....policies.state import State
from ....policies.two_timescale import (
    Gaussian,
    Percept,
    Thought,
    TwoTimescaleActorCritic,
)
from ...experience.sequences import Sequences
from ..vtrace.unroll import final_values
from ..walk import Stopped, walk


class Unroll(NamedTuple):
    """logits [n, k, A]. values [n, k + 1]. final_values [n, k]; all as V-trace's. latents [n, k + 1, latent], of the
    last state too. posterior, prior: [n, k, latent]. ticked: bool [n, k]. state: after the k steps."""

    logits: Tensor
    values: Tensor
    final_values: Tensor
    latents: Tensor
    posterior: Gaussian
    prior: Gaussian
    ticked: Tensor
    state: State


def unroll(
    network: TwoTimescaleActorCritic,
    played: Sequences,
    device: torch.device,
    *,
    slow_gradient: float = 1.0,
    critic_only: bool = False,
) -> Unroll:
    """Run the network over the sequences; see `walk`.

    slow_gradient multiplies gradients from the fast core into the slow one. With critic_only, gradients of the values
    reach the value head alone.
    """

    def look(percept: tuple[Tensor, ...], state: State) -> tuple[Thought, State]:
        return network.ponder(Percept(*percept), state, slow_gradient)

    thoughts, stopped, last, state = walk(network, network.perceive, look, played, device)
    latents = torch.stack([thought.latent for thought in thoughts], dim=1)
    values = network.value_head(latents.detach() if critic_only else latents).squeeze(-1)
    with torch.no_grad():  # only for bootstrapping
        after = network.value_head(last.latent)
        ends = [Stopped(at, rows, network.value_head(seen.latent).squeeze(-1)) for at, rows, seen in stopped]
    return Unroll(
        logits=network.policy_head(latents),
        values=torch.cat([values, after], dim=1),
        final_values=final_values(played, ends, device),
        latents=torch.cat([latents, last.latent.unsqueeze(1)], dim=1),
        posterior=_stacked([thought.posterior for thought in thoughts]),
        prior=_stacked([thought.prior for thought in thoughts]),
        ticked=torch.stack([thought.ticked for thought in thoughts], dim=1),
        state=state,
    )


def _stacked(gaussians: list[Gaussian]) -> Gaussian:
    return Gaussian(*(torch.stack(parts, dim=1) for parts in zip(*gaussians, strict=True)))
