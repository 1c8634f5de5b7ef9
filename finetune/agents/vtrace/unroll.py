"""Unrolls: a recurrent network along sequences, as it was played."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....policies.recurrent import RecurrentActorCritic
from ....policies.state import State, reset_rows, select_rows, to_tensors
from ...experience.sequences import Sequences


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
    """Play the network along the sequences, from the state that is stored with each of them.

    The state is reset where an episode begins, and no gradient passes into the state before a sequence, nor over such a
    reset. With critic_only, gradients of the values reach the value head alone.
    """
    n, k = played.actions.shape
    observations = torch.from_numpy(played.observations).to(device)
    finals = torch.from_numpy(played.finals.observations).to(device)
    over = played.terminated | played.truncated
    initial = network.initial_state(n)
    state = to_tensors(played.state, device)
    logits, values = [], []
    final_values = torch.zeros(n, k, device=device)

    def value(memory: Tensor) -> Tensor:
        found: Tensor = network.value_head(memory.detach() if critic_only else memory).squeeze(-1)
        return found

    for t in range(k):
        state = network.remember(observations[:, t], state)
        logits.append(network.policy_head(state[0]))
        values.append(value(state[0]))
        stopped = np.flatnonzero(played.finals.step == t)
        if len(stopped):
            rows = played.finals.sequence[stopped]
            with torch.no_grad():
                memory, *_ = network.remember(finals[stopped], select_rows(state, rows))
                final_values[rows, t] = value(memory)
        if over[:, t].any():
            state = reset_rows(state, initial, over[:, t])
    with torch.no_grad():  # only for bootstrapping
        memory, *_ = network.remember(observations[:, k], state)
        values.append(value(memory))
    return Unroll(torch.stack(logits, dim=1), torch.stack(values, dim=1), final_values, state)
