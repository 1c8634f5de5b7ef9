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


class _Seen(NamedTuple):
    """logits [n, A] and value [n] of an observation."""

    logits: Tensor
    value: Tensor


def unroll(
    network: RecurrentActorCritic, played: Sequences, device: torch.device, *, critic_only: bool = False
) -> Unroll:
    """Run the network over the sequences; see `walk`. With critic_only, gradients of the values reach the value head
    alone."""

    def look(observations: Tensor, state: State) -> tuple[_Seen, State]:
        state = network.remember(observations, state)
        memory = state[0].detach() if critic_only else state[0]
        return _Seen(network.policy_head(state[0]), network.value_head(memory).squeeze(-1)), state

    steps, stopped, last, state = walk(network, look, played, device)
    values = torch.stack([*(seen.value for seen in steps), last.value], dim=1)
    logits = torch.stack([seen.logits for seen in steps], dim=1)
    finals = final_values(played, [Stopped(at, rows, seen.value) for at, rows, seen in stopped], device)
    return Unroll(logits, values, finals, state)


def final_values(played: Sequences, stopped: Sequence[Stopped[Tensor]], device: torch.device) -> Tensor:
    """Values of the final observations at the steps that a time limit stopped: [n, k], 0 elsewhere."""
    values = torch.zeros(played.actions.shape, device=device)
    for step, sequences, value in stopped:
        values[sequences, step] = value
    return values
