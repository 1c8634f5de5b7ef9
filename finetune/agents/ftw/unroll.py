"""Unrolls of a two-timescale network over recorded sequences."""

from typing import NamedTuple

import torch
from torch import Tensor

from ....policies.state import State
from ....policies.two_timescale import Gaussian, Thought, TwoTimescaleActorCritic
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


class _Seen(NamedTuple):
    """thought, logits [n, A] and value [n] of an observation."""

    thought: Thought
    logits: Tensor
    value: Tensor


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

    def look(observations: Tensor, state: State) -> tuple[_Seen, State]:
        thought, state = network.think(observations, state, slow_gradient)
        latent = thought.latent.detach() if critic_only else thought.latent
        return _Seen(thought, network.policy_head(thought.latent), network.value_head(latent).squeeze(-1)), state

    steps, stopped, last, state = walk(network, look, played, device)
    thoughts = [seen.thought for seen in steps]
    finals = final_values(played, [Stopped(at, rows, seen.value) for at, rows, seen in stopped], device)
    return Unroll(
        logits=torch.stack([seen.logits for seen in steps], dim=1),
        values=torch.stack([*(seen.value for seen in steps), last.value], dim=1),
        final_values=finals,
        latents=torch.stack([*(thought.latent for thought in thoughts), last.thought.latent], dim=1),
        posterior=_stacked([thought.posterior for thought in thoughts]),
        prior=_stacked([thought.prior for thought in thoughts]),
        ticked=torch.stack([thought.ticked for thought in thoughts], dim=1),
        state=state,
    )


def _stacked(gaussians: list[Gaussian]) -> Gaussian:
    return Gaussian(*(torch.stack(parts, dim=1) for parts in zip(*gaussians, strict=True)))
