"""Recurrent networks run over recorded sequences."""

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
    """Outputs of a network for the final observations of the sequences, int64 [m], whose episode a time limit ended at
    this step."""

    step: int
    sequences: NDArray[np.int64]
    output: Output


class Outputs(NamedTuple, Generic[Output]):
    """Outputs of a network for each step's observations, for those that a time limit stopped at, and for the last
    ones; the latter two without gradients. state: after the k steps."""

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

    perceive: computes what needs no state from observations [m, *shape], for all steps at once. core: computes the
    outputs for n of these rows in a state, and the following state. The state is reset where an episode begins, and no
    gradient passes into the state before a sequence, nor over such a reset.
    """
    n, k = played.actions.shape
    observations, finals, actions, rewards = (
        torch.from_numpy(array).to(device)
        for array in (played.observations, played.finals.observations, played.actions, played.rewards)
    )
    over = played.terminated | played.truncated
    initial = network.initial_state(n)
    state = to_tensors(played.state, device)
    encoded = perceive(observations.transpose(0, 1).flatten(0, 1))  # a step's rows side by side
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
