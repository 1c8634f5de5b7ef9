"""Distillation of a policy, on its own play, into a network with a memory, by its learner's own updates."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import nn

from ....common.settings import Settings
from ....policies.devices import in_float64
from ....policies.networks import Network
from ....policies.recurrent import RecurrentActorCritic
from ....policies.state import to_arrays
from ....policies.two_timescale import TwoTimescaleActorCritic
from ...experience.sequences import Sequences, discounted_returns
from ...replay.demonstrations import Demonstrations
from ...schedules.phase import PhaseValues
from ..agent import Makes
from ..distillation import note, own_play
from ..learner import LiveLearner
from ..losses import kickstarting_loss
from .learner import Objective, Objectives, S, Unroll
from .losses import value_loss, vtrace
from .settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...run import Run

UPDATES, STREAMS, STEPS = 3_000, 20, 20
"""Updates; unrolls of each, one from every stream of games; decisions of an unroll."""

TAUGHT: Mapping[str, Any] = {"learning_rate": 3e-3, "max_gradient_norm": 40.0, "value_coefficient": 0.5, "passes": 1}
"""Settings of the updates, for any scale of the rewards."""

N = TypeVar("N", RecurrentActorCritic, TwoTimescaleActorCritic)
NewLearner = Callable[[N, S, int, torch.device, Objectives], LiveLearner[Network, Settings]]
"""Makes the learner of a network, by its settings, seed, device and objective."""


class Distillation:
    """The objective of a network that is taught by another policy's own play:

        L = H(π_T ‖ π) + c_V·mean (G_t − V(s_t))²/σ²

    G_t is the return of that play; in games that a time limit ended, up to the end of the sequence, then V(s_k). scale:
    σ of the returns, so that rewards of any size leave the shared layers to both. state: after the last sequences,
    from which the next ones continue. alike: share of the decisions in which both would choose the same action.
    """

    def __init__(self, network: Network, streams: int, scale: float) -> None:
        self._scale = scale
        self.state = to_arrays(network.initial_state(streams))
        self.alike = 0.0

    def __call__(self, played: Sequences, found: Unroll, settings: VtraceSettings, now: PhaseValues) -> Objective:
        device = found.logits.device
        rewards, terminated, truncated, player, whole, known = (
            torch.from_numpy(array).to(device)
            for array in (
                played.rewards, played.terminated, played.truncated, played.player, played.returns, played.known
            )
            if array is not None  # demonstrations have them all
        )  # fmt: skip
        on_policy = torch.ones_like(rewards)
        returns, _ = vtrace(rewards, terminated, truncated, found.values, found.final_values, on_policy, now.gamma)
        returns = torch.where(known, whole, returns)
        lesson = kickstarting_loss(torch.log_softmax(found.logits, dim=-1), player)
        errors = value_loss(found.values[:, :-1], returns) / self._scale**2
        self.state = to_arrays(found.state)
        self.alike = in_float64(found.logits.argmax(-1) == player.argmax(-1)).mean().item()
        return Objective(lesson + settings.value_coefficient * errors, {})


def distilled(
    run: "Run[S, VtraceLoopSettings]",
    make: Makes[N],
    begin: NewLearner[N, S],
) -> N:
    """A network that decides and values as the run's policy does: taught by sequences of whole games of its own.

    make: makes the untrained network. begin: makes its learner. The learning rate falls along half a cosine.
    """
    policy, seed, gamma = run.policy, run.settings.seed, run.gammas[0]
    network = make(policy.observation, policy.actions, torch.Generator().manual_seed(seed))
    if run.rehearsed:
        return network
    games = own_play(run)
    shown = Demonstrations(games, STREAMS, STEPS)
    shown.discount_returns(gamma)
    returns = np.concatenate([discounted_returns(game.rewards, gamma) for game in games])
    network.scaler.fit(shown.observations.reshape(len(shown), -1))
    *_, head = network.value_head.modules()
    assert isinstance(head, nn.Linear)
    nn.init.constant_(head.bias, float(returns.mean()))  # returns far from 0 would otherwise shape all layers at first
    objective = Distillation(network.to(run.device), STREAMS, float(returns.std()) or 1.0)
    learner, alike = begin(network, run.algorithm.with_(**TAUGHT), seed, run.device, objective), []
    for update in range(UPDATES):
        rate = (1 + math.cos(math.pi * update / UPDATES)) / 2
        learner.update(replace(shown.next(STREAMS), state=objective.state), PhaseValues(gamma, learning_rate=rate))
        alike.append(objective.alike)
    whole = math.ceil(len(shown) / (STREAMS * STEPS))  # updates that show every decision once
    note(run, len(shown), f"in {np.mean(alike[-whole:]):.0%} of which it chooses alike")
    return network
