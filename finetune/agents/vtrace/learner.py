"""V-trace: unrolls of a recurrent network, the loss of a batch of them, the learner, and the agent made of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ....policies.devices import WEIGHTS
from ....policies.networks import Network, State, reset_rows, select_rows, to_tensors
from ....policies.recurrent import RecurrentActorCritic, RecurrentNetwork
from ...experience.sequences import Sequences
from ...log import UpdateStats, mean_figures
from ...schedules.phase import PhaseValues
from ..agent import LiveAgent, LiveLearner, network_of
from ..updates import descend, kickstarting_loss, of_actions
from ..updates import entropy as entropy_of
from .losses import policy_loss, value_loss, vtrace
from .settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...run import Run

N = TypeVar("N", bound=Network)
S = TypeVar("S", bound=VtraceSettings)


class Unroll(NamedTuple):
    """logits [n, k, A] of π(·|s_t). values [n, k + 1] of the states before the steps and of the last one. final_values
    [n, k], of the final observations of truncated steps, 0 elsewhere. features [n, k + 1, width], of the heads.
    outputs: what else the network thought, one for each step. state: after the k steps."""

    logits: Tensor
    values: Tensor
    final_values: Tensor
    features: Tensor
    outputs: list[Any]
    state: State


def unroll(
    network: RecurrentNetwork, played: Sequences, device: torch.device, critic_only: bool = False, **how: Any
) -> Unroll:
    """Run the network over the sequences, starting from the state stored with each.

    how: arguments of the network's `think`. Observations are encoded for all steps at once. The state is reset where an
    episode begins. No gradient passes into the state before a sequence or across a reset; with critic_only, gradients
    of the values reach only the value head.
    """
    n, k = played.actions.shape
    observations, finals, actions, rewards = (
        torch.from_numpy(array).to(device)
        for array in (played.observations, played.finals.observations, played.actions, played.rewards)
    )
    over = played.terminated | played.truncated
    initial = network.initial_state(n)
    state = to_tensors(played.state, device)
    encoded = network.perceive(observations.transpose(0, 1).flatten(0, 1))  # rows of a step are contiguous
    ends = network.perceive(finals) if len(finals) else encoded
    features, outputs = [], []
    final_values = torch.zeros((n, k), dtype=WEIGHTS, device=device)
    for t in range(k):
        here, output, state = network.think(select_rows(encoded, slice(t * n, t * n + n)), state, **how)
        features.append(here)
        outputs.append(output)
        state = network.feed(state, actions[:, t], rewards[:, t])
        index = np.flatnonzero(played.finals.step == t)
        if len(index):
            rows = played.finals.sequence[index]
            with torch.no_grad():
                end = network.think(select_rows(ends, index), select_rows(state, rows))[0]
                final_values[rows, t] = network.value_head(end).squeeze(-1)
        if over[:, t].any():
            state = reset_rows(state, initial, over[:, t])
    with torch.no_grad():  # only for bootstrapping
        last = network.think(select_rows(encoded, slice(k * n, k * n + n)), state)[0]
        after = network.value_head(last)
    steps = torch.stack(features, dim=1)
    values = network.value_head(steps.detach() if critic_only else steps).squeeze(-1)
    logits, values = network.policy_head(steps), torch.cat([values, after], dim=1)
    return Unroll(logits, values, final_values, torch.cat([steps, last.unsqueeze(1)], dim=1), outputs, state)


def actor_critic(
    played: Sequences, unrolled: Unroll, settings: VtraceSettings, now: PhaseValues
) -> tuple[Tensor, dict[str, float]]:
    """L = L_π + c_V·L_V − c_H·H of an unroll of the sequences, plus λ·H(π_T ‖ π) with a teacher; and statistics.

    λ is `kickstarting`; `entropy` multiplies c_H. `critic_only`: L = c_V·L_V.
    """
    rewards, terminated, truncated, actions, mu = (
        torch.from_numpy(array).to(unrolled.logits.device)
        for array in (
            played.rewards, played.terminated, played.truncated, played.actions, played.behaviour_probabilities
        )
    )  # fmt: skip
    values, log_policy = unrolled.values, torch.log_softmax(unrolled.logits, dim=-1)
    log_pi, log_mu = of_actions(log_policy, actions), of_actions(mu, actions).log()
    rho = (log_pi.detach() - log_mu).exp()
    targets, advantages = vtrace(
        rewards, terminated, truncated, values, unrolled.final_values, rho, now.gamma, settings.rho_bar, settings.c_bar
    )
    errors = value_loss(values[:, :-1], targets)
    bonus = entropy_of(log_policy).mean()
    loss = settings.value_coefficient * errors
    if not now.critic_only:
        loss = loss + policy_loss(log_pi, advantages) - now.entropy * settings.entropy_coefficient * bonus
    scalars = {
        "entropy": bonus.item(),
        "rho": rho.mean().item(),
        "rho_above_limit": (rho > settings.rho_bar).float().mean().item(),
        "value": values[:, :-1].mean().item(),
        "value_error": errors.sqrt().item(),
    }
    if now.kickstarting and played.teacher is not None and not now.critic_only:
        lesson = kickstarting_loss(log_policy, torch.from_numpy(played.teacher).to(log_policy.device))
        loss = loss + now.kickstarting * lesson
        scalars["kickstarting"] = lesson.item()
    return loss, scalars


class UnrollLearner(LiveLearner[N, S]):
    """Takes `passes` steps on each batch of unrolls, with the loss of a subclass."""

    def __init__(self, network: N, settings: S, device: torch.device, more: Sequence[nn.Parameter] = ()) -> None:
        """more: parameters to train in addition to the network's."""
        super().__init__(network, settings, device)
        parameters = [*network.parameters(), *more]
        self.optimiser = torch.optim.Adam(parameters, eps=settings.epsilon)

    def _learn(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        return UpdateStats(mean_figures([self._step(played, now) for _ in range(self.settings.passes)]), {})

    def loss(self, played: Sequences, now: PhaseValues) -> tuple[Tensor, dict[str, float]]:
        """The loss of one step, and statistics for the log."""
        raise NotImplementedError

    def _step(self, sequences: Sequences, now: PhaseValues) -> dict[str, float]:
        loss, scalars = self.loss(sequences, now)
        rate = self.settings.learning_rate * now.learning_rate
        norm = descend(self.optimiser, loss, rate, self.settings.max_gradient_norm)
        return scalars | {"gradient_norm": norm.item()}


class VtraceLearner(UnrollLearner[RecurrentActorCritic, VtraceSettings]):
    """Trains the policy's network, including its value head, in place."""

    def loss(self, played: Sequences, now: PhaseValues) -> tuple[Tensor, dict[str, float]]:
        result = unroll(self.network, played, self._device, now.critic_only)
        return actor_critic(played, result, self.settings, now)


new_network = RecurrentActorCritic.untrained


def live_network(run: Any, kind: type[N]) -> N:
    """The policy's network; BadInput if it is of another kind, or for a phase that needs more than live play."""
    reason = "learns from live play alone; leave out demonstrations, imitation and live"
    return network_of(run, kind, reason, lambda one: one.uses_demonstrations or one.imitates or not one.live)


def new_learner(
    network: RecurrentActorCritic, settings: VtraceSettings, seed: int, device: torch.device
) -> VtraceLearner:
    """Make a standalone learner, which uses no randomness."""
    return VtraceLearner(network, settings, device)


def build(run: "Run[VtraceSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place."""
    network = live_network(run, RecurrentActorCritic)
    return LiveAgent(VtraceLearner(network, run.algorithm, run.device), run.log)
