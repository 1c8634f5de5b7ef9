"""Unrolls of recurrent networks over recorded sequences."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...policies.networks import Network
from ...policies.state import State, reset_rows, select_rows, to_tensors
from ..experience.sequences import Sequences

Output = TypeVar("Output")


class Stopped(NamedTuple, Generic[Output]):
    """Network outputs for final observations at one step, in the sequences (int64 [m]) whose episode a time limit ended
    there."""

    step: int
    sequences: NDArray[np.int64]
    output: Output


class Outputs(NamedTuple, Generic[Output]):
    """Network outputs for each step's observations, for the final observations of truncated episodes, and for the last
    observations; the latter two without gradients. state: after the k steps."""

    steps: list[Output]
    stopped: list[Stopped[Output]]
    last: Output
    state: State


def unroll_network(
    network: Network,
    perceive: Callable[[Tensor], tuple[Tensor, ...]],
    core: Callable[[tuple[Tensor, ...], State], tuple[Output, State]],
    played: Sequences,
    device: torch.device,
) -> Outputs[Output]:
    """Run the network over the sequences, starting from the state stored with each.

    perceive: the stateless encoder of observations [m, *shape], run for all steps at once. core: maps n encoded rows
    and a state to the outputs and the next state. The state is reset where an episode begins. No gradient passes into
    the state before a sequence or across a reset.
    """
    n, k = played.actions.shape
    observations, finals, actions, rewards = (
        torch.from_numpy(array).to(device)
        for array in (played.observations, played.finals.observations, played.actions, played.rewards)
    )
    over = played.terminated | played.truncated
    initial = network.initial_state(n)
    state = to_tensors(played.state, device)
    encoded = perceive(observations.transpose(0, 1).flatten(0, 1))  # rows of a step are contiguous
    ends = perceive(finals) if len(finals) else encoded
    steps, stopped = [], []
    for t in range(k):
        output, state = core(select_rows(encoded, slice(t * n, t * n + n)), state)
        steps.append(output)
        state = network.feed(state, actions[:, t], rewards[:, t])
        chosen = np.flatnonzero(played.finals.step == t)
        if len(chosen):
            rows = played.finals.sequence[chosen]
            with torch.no_grad():
                stopped.append(Stopped(t, rows, core(select_rows(ends, chosen), select_rows(state, rows))[0]))
        if over[:, t].any():
            state = reset_rows(state, initial, over[:, t])
    with torch.no_grad():  # only for bootstrapping
        last, _ = core(select_rows(encoded, slice(k * n, k * n + n)), state)
    return Outputs(steps, stopped, last, state)
