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

Seen = TypeVar("Seen")


class Stopped(NamedTuple, Generic[Seen]):
    """Outputs of a network for the final observations of the sequences, int64 [m], whose episode a time limit ended at
    this step."""

    step: int
    sequences: NDArray[np.int64]
    seen: Seen


class Walk(NamedTuple, Generic[Seen]):
    """Outputs of a network for each step's observations, for those that a time limit stopped at, and for the last
    ones; the latter two without gradients. state: after the k steps."""

    steps: list[Seen]
    stopped: list[Stopped[Seen]]
    last: Seen
    state: State


def walk(
    network: Network,
    look: Callable[[Tensor, State], tuple[Seen, State]],
    played: Sequences,
    device: torch.device,
) -> Walk[Seen]:
    """Run the network over the sequences, starting from the state stored with each.

    look: computes the outputs for observations [n, *shape] in a state, and the following state. The state is reset
    where an episode begins, and no gradient passes into the state before a sequence, nor over such a reset.
    """
    n, k = played.actions.shape
    observations, finals, actions, rewards = (
        torch.from_numpy(array).to(device)
        for array in (played.observations, played.finals.observations, played.actions, played.rewards)
    )
    over = played.terminated | played.truncated
    initial = network.initial_state(n)
    state = to_tensors(played.state, device)
    steps, stopped = [], []
    for t in range(k):
        seen, state = look(observations[:, t], state)
        steps.append(seen)
        state = network.feed(state, actions[:, t], rewards[:, t])
        chosen = np.flatnonzero(played.finals.step == t)
        if len(chosen):
            rows = played.finals.sequence[chosen]
            with torch.no_grad():
                stopped.append(Stopped(t, rows, look(finals[chosen], select_rows(state, rows))[0]))
        if over[:, t].any():
            state = reset_rows(state, initial, over[:, t])
    with torch.no_grad():  # only for bootstrapping
        last, _ = look(observations[:, k], state)
    return Walk(steps, stopped, last, state)
