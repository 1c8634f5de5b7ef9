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
from ..vtrace.unroll import Unroll, outputs
from ..walk import Stopped, walk


class TwoTimescaleUnroll(NamedTuple):
    """policy: what V-trace learns from. latents [n, k + 1, latent], of the last state too. posterior, prior:
    [n, k, latent]. ticked: bool [n, k]."""

    policy: Unroll
    latents: Tensor
    posterior: Gaussian
    prior: Gaussian
    ticked: Tensor


def unroll(
    network: TwoTimescaleActorCritic,
    played: Sequences,
    device: torch.device,
    *,
    slow_gradient: float = 1.0,
    critic_only: bool = False,
) -> TwoTimescaleUnroll:
    """Run the network over the sequences; see `walk`.

    slow_gradient multiplies gradients from the fast core into the slow one. With critic_only, gradients of the values
    reach the value head alone.
    """

    def look(percept: tuple[Tensor, ...], state: State) -> tuple[Thought, State]:
        return network.ponder(Percept(*percept), state, slow_gradient)

    thoughts, stopped, last, state = walk(network, network.perceive, look, played, device)
    latents = torch.stack([thought.latent for thought in thoughts], dim=1)
    ends = [Stopped(at, rows, seen.latent) for at, rows, seen in stopped]
    return TwoTimescaleUnroll(
        policy=outputs(network, latents, last.latent, ends, state, played, critic_only=critic_only),
        latents=torch.cat([latents, last.latent.unsqueeze(1)], dim=1),
        posterior=_stacked([thought.posterior for thought in thoughts]),
        prior=_stacked([thought.prior for thought in thoughts]),
        ticked=torch.stack([thought.ticked for thought in thoughts], dim=1),
    )


def _stacked(gaussians: list[Gaussian]) -> Gaussian:
    return Gaussian(*(torch.stack(parts, dim=1) for parts in zip(*gaussians, strict=True)))
