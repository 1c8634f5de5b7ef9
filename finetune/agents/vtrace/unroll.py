"""Unrolls of a recurrent network over recorded sequences."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ....policies.recurrent import RecurrentActorCritic
from ....policies.state import State
from ...experience.sequences import Sequences
from ..walk import Stopped, walk


class Unroll(NamedTuple):
    """logits [n, k, A] of π(·|s_t). values [n, k + 1] of the states before the steps and of the last one. final_values
    [n, k], of the observation that a truncated step stopped at, 0 elsewhere. state: after the k steps."""

    logits: Tensor
    values: Tensor
    final_values: Tensor
    state: State


def unroll(
    network: RecurrentActorCritic, played: Sequences, device: torch.device, *, critic_only: bool = False
) -> Unroll:
    """Run the network over the sequences; see `walk`. With critic_only, gradients of the values reach the value head
    alone."""

    def perceive(observations: Tensor) -> tuple[Tensor]:
        return (network.encode(observations),)

    def look(percept: tuple[Tensor, ...], state: State) -> tuple[Tensor, State]:
        (features,) = percept
        state = network.remember(features, state)
        return state[0], state

    steps, stopped, last, state = walk(network, perceive, look, played, device)
    memories = torch.stack(steps, dim=1)
    values = network.value_head(memories.detach() if critic_only else memories).squeeze(-1)
    with torch.no_grad():  # only for bootstrapping
        after = network.value_head(last)
        ends = [Stopped(at, rows, network.value_head(memory).squeeze(-1)) for at, rows, memory in stopped]
    values = torch.cat([values, after], dim=1)
    return Unroll(network.policy_head(memories), values, final_values(played, ends, device), state)


def final_values(played: Sequences, stopped: Sequence[Stopped[Tensor]], device: torch.device) -> Tensor:
    """Values of the final observations at the steps that a time limit stopped: [n, k], 0 elsewhere."""
    values = torch.zeros(played.actions.shape, device=device)
    for step, sequences, value in stopped:
        values[sequences, step] = value
    return values
