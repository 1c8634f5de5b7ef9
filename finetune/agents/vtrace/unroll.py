"""Unrolls of a recurrent network over recorded sequences."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ....policies.recurrent import RecurrentActorCritic
from ....policies.state import State
from ....policies.two_timescale import TwoTimescaleActorCritic
from ...experience.sequences import Sequences
from ..unroll import Stopped, unroll_network


class Unroll(NamedTuple):
    """logits [n, k, A] of π(·|s_t). values [n, k + 1] of the states before the steps and of the last one. final_values
    [n, k], of the final observations of truncated steps, 0 elsewhere. state: after the k steps."""

    logits: Tensor
    values: Tensor
    final_values: Tensor
    state: State


def unroll(
    network: RecurrentActorCritic, played: Sequences, device: torch.device, *, critic_only: bool = False
) -> Unroll:
    """Run the network over the sequences; see `unroll_network`.

    With critic_only, gradients of the values reach only the value head.
    """

    def perceive(observations: Tensor) -> tuple[Tensor]:
        return (network.encode(observations),)

    def core(percept: tuple[Tensor, ...], state: State) -> tuple[Tensor, State]:
        (features,) = percept
        state = network.remember(features, state)
        return state[0], state

    steps, stopped, last, state = unroll_network(network, perceive, core, played, device)
    return outputs(network, torch.stack(steps, dim=1), last, stopped, state, played, critic_only=critic_only)


def outputs(
    network: RecurrentActorCritic | TwoTimescaleActorCritic,
    features: Tensor,
    last: Tensor,
    stopped: Sequence[Stopped[Tensor]],
    state: State,
    played: Sequences,
    *,
    critic_only: bool,
) -> Unroll:
    """Apply the heads to the features of the steps, [n, k, width], of the last observations and of the final
    observations of truncated episodes."""
    values = network.value_head(features.detach() if critic_only else features).squeeze(-1)
    with torch.no_grad():  # only for bootstrapping
        after = network.value_head(last)
        final_values = torch.zeros(played.actions.shape, device=features.device)
        for step, sequences, ends in stopped:
            final_values[sequences, step] = network.value_head(ends).squeeze(-1)
    return Unroll(network.policy_head(features), torch.cat([values, after], dim=1), final_values, state)
