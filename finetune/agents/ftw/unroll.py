"""Unrolls of a two-timescale network over recorded sequences."""

from typing import NamedTuple

import torch
from torch import Tensor

from ....policies.state import State
from ....policies.two_timescale import (
    CoreOutput,
    Gaussian,
    Percept,
    TwoTimescaleActorCritic,
)
from ...experience.sequences import Sequences
from ..unroll import Stopped, unroll_network
from ..vtrace.unroll import Unroll, outputs


class TwoTimescaleUnroll(NamedTuple):
    """policy: input of the V-trace losses. latents [n, k + 1, latent], including the last state. posterior, prior:
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
    """Run the network over the sequences; see `unroll_network`.

    slow_gradient multiplies gradients from the fast core into the slow one. With critic_only, gradients of the values
    reach only the value head.
    """

    def core(features: tuple[Tensor, ...], state: State) -> tuple[CoreOutput, State]:
        return network.core(Percept(*features), state, slow_gradient)

    steps, stopped, last, state = unroll_network(network, network.perceive, core, played, device)
    latents = torch.stack([output.latent for output in steps], dim=1)
    ends = [Stopped(at, rows, output.latent) for at, rows, output in stopped]
    return TwoTimescaleUnroll(
        policy=outputs(network, latents, last.latent, ends, state, played, critic_only=critic_only),
        latents=torch.cat([latents, last.latent.unsqueeze(1)], dim=1),
        posterior=_stacked([output.posterior for output in steps]),
        prior=_stacked([output.prior for output in steps]),
        ticked=torch.stack([output.ticked for output in steps], dim=1),
    )


def _stacked(gaussians: list[Gaussian]) -> Gaussian:
    return Gaussian(*(torch.stack(parts, dim=1) for parts in zip(*gaussians, strict=True)))
