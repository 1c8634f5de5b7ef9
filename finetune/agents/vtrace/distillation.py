"""Distillation of a policy, on its own play, into a network with a memory, by its learner's own updates."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from ....common.settings import Settings
from ....policies.networks import LayeredNetwork, Network
from ....policies.state import to_arrays
from ...experience.sequences import Sequences, discounted_returns
from ...replay.demonstrations import Demonstrations
from ...schedules.phase import PhaseValues
from ..agent import Makes
from ..distillation import note, own_play
from ..learner import LiveLearner
from ..losses import kickstarting_loss
from .learner import Objective, Objectives, Unroll
from .losses import value_loss, vtrace
from .settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...run import Run

UPDATES, BATCH = 1_000, 1_600
"""Updates, and decisions of each: as many unrolls as the loop's steps allow."""

N = TypeVar("N", bound=LayeredNetwork)


class Distillation:
    """The objective of a network that is taught by another policy's own play:

        L = H(π_T ‖ π) + c_V·mean (G_t − V(s_t))²/σ²

    G_t is the return of that play; in games that a time limit ended, up to the end of the sequence, then V(s_k). scale:
    σ of the returns, so that rewards of any size leave the shared layers to both. state: after the last sequences,
    which the next ones go on from. alike: share of the decisions in which both would choose the same action.
    """

    def __init__(self, network: Network, streams: int, scale: float) -> None:
        self._scale = scale
        self.state = to_arrays(network.initial_state(streams))
        self.alike = 0.0

    def __call__(self, played: Sequences, found: Unroll, settings: VtraceSettings, now: PhaseValues) -> Objective:
        assert played.player is not None and played.returns is not None  # as demonstrations have them
        assert played.known is not None
        device = found.logits.device
        rewards, terminated, truncated, player, whole, known = (
            torch.from_numpy(array).to(device)
            for array in (
                played.rewards, played.terminated, played.truncated, played.player, played.returns, played.known
            )
        )  # fmt: skip
        on_policy = torch.ones_like(rewards)
        returns, _ = vtrace(rewards, terminated, truncated, found.values, found.final_values, on_policy, now.gamma)
        returns = torch.where(known, whole, returns)
        lesson = kickstarting_loss(torch.log_softmax(found.logits, dim=-1), player)
        errors = value_loss(found.values[:, :-1], returns) / self._scale**2
        self.state = to_arrays(found.state)
        self.alike = (found.logits.argmax(-1) == player.argmax(-1)).double().mean().item()
        return Objective(lesson + settings.value_coefficient * errors, {})


def distilled(
    run: "Run[VtraceSettings, VtraceLoopSettings]",
    make: Makes[N],
    begin: Callable[[N, Objectives], LiveLearner[Network, Settings]],
) -> N:
    """A network that decides and values as the run's policy does: taught by sequences of whole games of its own.

    make: makes the untrained network. begin: makes its learner, with this objective. The learning rate falls along half
    a cosine.
    """
    policy, seed, steps = run.policy, run.settings.seed, run.loop.steps
    network = make(policy.observation, policy.actions, torch.Generator().manual_seed(seed))
    if run.rehearsed:
        return network
    streams = math.ceil(BATCH / steps)
    games, gamma = own_play(run), run.gammas[0]
    shown = Demonstrations(games, streams, steps)
    shown.discount_returns(gamma)
    network.scaler.fit(shown.observations.reshape(len(shown), -1))
    returns = np.concatenate([discounted_returns(game.rewards, gamma) for game in games])
    objective = Distillation(network.to(run.device), streams, float(returns.std()) or 1.0)
    learner, alike = begin(network, objective), []
    for update in range(UPDATES):
        rate = (1 + math.cos(math.pi * update / UPDATES)) / 2
        learner.update(replace(shown.next(streams), state=objective.state), PhaseValues(gamma, learning_rate=rate))
        alike.append(objective.alike)
    seen = math.ceil(len(shown) / (streams * steps))  # updates that show every decision once
    note(run, len(shown), f"in {np.mean(alike[-seen:]):.0%} of which it chooses alike")
    return network
