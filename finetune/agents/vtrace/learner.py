"""V-trace: unrolls of a recurrent network, the loss of a batch of them, the learner, and the agent made of it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ....common.errors import BadInput
from ....policies.devices import WEIGHTS
from ....policies.networks import LayeredNetwork, Network
from ....policies.recurrent import RecurrentActorCritic
from ....policies.state import State, reset_rows, select_rows, to_tensors
from ....policies.two_timescale import TwoTimescaleActorCritic
from ...experience.sequences import Sequences
from ...log import UpdateStats, mean_figures
from ...schedules.phase import PhaseValues
from ..agent import K, LiveAgent, LiveLearner, Makes, Part, RunningScale, of_kind
from ..losses import entropy as entropy_of
from ..losses import kickstarting_loss
from ..optimisers import descend
from .losses import policy_loss, value_loss, vtrace
from .settings import VtraceLoopSettings, VtraceSettings

if TYPE_CHECKING:
    from ...run import Run

N = TypeVar("N", bound=LayeredNetwork)
S = TypeVar("S", bound=VtraceSettings)
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
        index = np.flatnonzero(played.finals.step == t)
        if len(index):
            rows = played.finals.sequence[index]
            with torch.no_grad():
                stopped.append(Stopped(t, rows, core(select_rows(ends, index), select_rows(state, rows))[0]))
        if over[:, t].any():
            state = reset_rows(state, initial, over[:, t])
    with torch.no_grad():  # only for bootstrapping
        last, _ = core(select_rows(encoded, slice(k * n, k * n + n)), state)
    return Outputs(steps, stopped, last, state)


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
        final_values = torch.zeros(played.actions.shape, dtype=WEIGHTS, device=features.device)
        for step, sequences, ends in stopped:
            final_values[sequences, step] = network.value_head(ends).squeeze(-1)
    return Unroll(network.policy_head(features), torch.cat([values, after], dim=1), final_values, state)


def actor_critic(
    played: Sequences, found: Unroll, settings: VtraceSettings, now: PhaseValues
) -> tuple[Tensor, dict[str, float]]:
    """L = L_π + c_V·L_V − c_H·H of an unroll of the sequences, plus λ·H(π_T ‖ π) with a teacher; and statistics.

    λ is `kickstarting`; `entropy` multiplies c_H. `critic_only`: L = c_V·L_V.
    """
    rewards, terminated, truncated, actions, mu = (
        torch.from_numpy(array).to(found.logits.device)
        for array in (
            played.rewards, played.terminated, played.truncated, played.actions, played.behaviour_probabilities
        )
    )  # fmt: skip
    values, log_policy = found.values, torch.log_softmax(found.logits, dim=-1)
    log_pi, log_mu = _of(log_policy, actions), _of(mu, actions).log()
    rho = (log_pi.detach() - log_mu).exp()
    targets, advantages = vtrace(
        rewards, terminated, truncated, values, found.final_values, rho, now.gamma, settings.rho_bar, settings.c_bar
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


def _of(rows: Tensor, actions: Tensor) -> Tensor:
    """The entries of the actions, [n, k], of rows [n, k, A]."""
    return rows.gather(-1, actions.unsqueeze(-1)).squeeze(-1)


class UnrollLearner(LiveLearner[N, S]):
    """Takes `passes` steps on each batch of unrolls, with the loss of a subclass."""

    def __init__(self, network: N, settings: S, device: torch.device, more: Sequence[nn.Parameter] = ()) -> None:
        """more: parameters to train in addition to the network's."""
        super().__init__(network, settings, device)
        self._scale = RunningScale(network)
        parameters = [*network.parameters(), *more]
        self._optimiser = torch.optim.Adam(parameters, lr=settings.learning_rate, eps=settings.epsilon)

    @property
    def parts(self) -> dict[str, Part]:
        return {"network": self.network, "optimiser": self._optimiser, "seen": self._scale}

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        with self._scale.learning_from(played):
            steps = [self._step(played, now) for _ in range(self.settings.passes)]
        return UpdateStats(mean_figures(steps), {})

    def loss(self, played: Sequences, now: PhaseValues) -> tuple[Tensor, dict[str, float]]:
        """The loss of one step, and statistics for the log."""
        raise NotImplementedError

    def _step(self, sequences: Sequences, now: PhaseValues) -> dict[str, float]:
        loss, scalars = self.loss(sequences, now)
        rate = self.settings.learning_rate * now.learning_rate
        norm = descend(self._optimiser, loss, rate, self.settings.max_gradient_norm)
        return scalars | {"gradient_norm": norm.item()}


class VtraceLearner(UnrollLearner[RecurrentActorCritic, VtraceSettings]):
    """Trains the policy's network, including its value head, in place."""

    def loss(self, played: Sequences, now: PhaseValues) -> tuple[Tensor, dict[str, float]]:
        result = unroll(self.network, played, self._device, critic_only=now.critic_only)
        return actor_critic(played, result, self.settings, now)


def new_network(settings: VtraceSettings) -> Makes[RecurrentActorCritic]:
    """The untrained network of these settings."""
    return lambda size, actions, generator: RecurrentActorCritic(
        size, actions, settings.hidden, settings.memory, generator
    )


def network_of(run: "Run[VtraceSettings, VtraceLoopSettings]", kind: type[K], algorithm: str) -> K:
    """The policy's network; BadInput if it is of another kind, or for phases with demonstrations or without live
    play."""
    for phase in run.settings.phases:
        if phase.uses_demonstrations or phase.imitates or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm={algorithm} learns from live play alone; leave out "
                "demonstrations, imitation and live"
            )
    return of_kind(run.policy.network, kind, algorithm)


def new_learner(
    network: RecurrentActorCritic, settings: VtraceSettings, seed: int, device: torch.device
) -> VtraceLearner:
    """Make a standalone learner, which uses no randomness."""
    return VtraceLearner(network, settings, device)


def build(run: "Run[VtraceSettings, VtraceLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place."""
    network = network_of(run, RecurrentActorCritic, "vtrace")
    return LiveAgent(VtraceLearner(network, run.algorithm, run.device), run.log)
