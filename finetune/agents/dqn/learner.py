"""Deep Q-learning: network, target network, optimiser, one update on transitions, and the agent with its memory."""

import copy
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.cuda_graphs import CudaGraphs
from ....policies.dense_layers import LeafGradients
from ....policies.q_networks import QNetwork
from ...experience.sequences import DEMONSTRATIONS, Sequences, Transitions, mixed
from ...log import UpdateStats, means_by_source
from ...replay.demonstrations import transitions_for
from ...replay.transition_memory import PrioritisedMemory, TransitionMemory
from ...schedules.phase import Phase, PhaseValues
from ..agent import FractionalCounter, Learner, QAgent, critic_of, linear, require_capacity
from ..updates import RMSprop, of_actions, take_step
from . import losses as dqn
from .settings import DqnLoopSettings, DqnSettings

if TYPE_CHECKING:
    from ...run import Run

RMSPROP_EPSILON = 0.01 / 32**2
"""Mnih et al. 2015 sum the gradients of 32 samples, with ε = 0.01; here they are averaged."""


class StepResult(NamedTuple):
    """TD errors δ and Q(s, a), [B], the loss, and the norm of the gradient before it was clipped."""

    errors: Tensor
    taken: Tensor
    loss: Tensor
    norm: Tensor


class DqnLearner(Learner[QNetwork, DqnSettings]):
    """Trains the network in place. The target network is a copy that changes only in `copy_target`."""

    def __init__(self, network: QNetwork, settings: DqnSettings, device: torch.device) -> None:
        super().__init__(network, settings, device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self._parameters: list[Tensor] = list(self.network.parameters())
        self._dense = LeafGradients.of(self.network.dense_layers())
        self._dense_target = LeafGradients.of(self.target.dense_layers())
        self._gradients = CudaGraphs(self._set_gradients, self._parameters)
        self.optimiser: torch.optim.Optimizer
        if settings.optimiser == "adam":
            self.optimiser = torch.optim.Adam(self._parameters, eps=settings.adam_epsilon, fused=True)
        else:
            self.optimiser = RMSprop(self._parameters, settings.learning_rate, 0.95, RMSPROP_EPSILON, centred=True)

    def update(
        self, batch: Transitions, now: PhaseValues, weights: NDArray[np.float32], *, diagnose: bool = False
    ) -> tuple[Tensor, UpdateStats | None]:
        """Take one optimiser step on L = mean_i w_i·(L_i + imitation·J_E,i·[i is a demonstration]).

        weights: importance weights w, float32 [B]. Returns the TD errors δ, float32 [B], and, with `diagnose`, update
        statistics.
        """
        imitation = now.imitation * (batch.source == DEMONSTRATIONS).astype(weights.dtype) if now.imitation else None
        arrays = (batch.observations, batch.next_observations, batch.actions, batch.rewards, batch.discounts, weights)
        margin_weights = None if imitation is None else self._tensor(imitation)
        result = self._gradients(None, *map(self._tensor, arrays), margin_weights)
        take_step(self.optimiser, self.settings.learning_rate * now.learning_rate)
        return result.errors, self._stats(batch, weights, result) if diagnose else None

    @torch.enable_grad()
    def _set_gradients(
        self,
        key: None,
        observations: Tensor,
        next_observations: Tensor,
        actions: Tensor,
        rewards: Tensor,
        discounts: Tensor,
        weights: Tensor,
        imitation: Tensor | None,
    ) -> StepResult:
        """Set the clipped gradients of the loss. imitation: the weight of J_E of each transition, [B]."""
        following = next_observations.flatten(1)
        with torch.no_grad():
            choosing = next_target = self._values(self.target, self._dense_target, following)
            if self.settings.double:
                choosing = self._values(self.network, self._dense, following)
        # Last, because the layers keep what its gradient needs.
        q = self._values(self.network, self._dense, observations.flatten(1))
        scaled = rewards * self.settings.reward_scale
        losses, errors, q_taken = self.losses(q, next_target, choosing, actions, scaled, discounts, imitation)
        loss = dqn.weighted_mean(losses, weights)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        if self._dense is not None:
            self._dense.backward()
        return StepResult(errors, q_taken, loss.detach(), self._clip())

    def losses(
        self,
        q: Tensor,
        next_target: Tensor,
        choosing: Tensor,
        actions: Tensor,
        rewards: Tensor,
        discounts: Tensor,
        imitation: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """L_i = Huber(δ_i) + imitation_i·J_E,i, [B]. Also δ and Q(s, a), [B], without gradients.

        q: Q(s, ·), next_target: Q⁻(s', ·), choosing: Q(s', ·) of the network that selects a*, [B, A]. rewards: scaled.
        """
        q_taken = of_actions(q, actions)
        errors = dqn.double_target(rewards, discounts, choosing, next_target) - q_taken
        losses = dqn.huber(errors)
        if imitation is not None:
            losses = losses + imitation * dqn.margin_loss(q, actions, self.settings.margin)
        return losses, errors.detach(), q_taken.detach()

    def _values(self, network: QNetwork, dense: LeafGradients | None, observations: Tensor) -> Tensor:
        """Q(s, ·) of the network or of the target network, [B, A]."""
        if dense is None:
            return cast(Tensor, network(observations))
        inputs = network.layer_input(observations)
        return dense.outputs(inputs)[0] if torch.is_grad_enabled() else dense.without_gradient(inputs)

    @torch.no_grad()
    def copy_target(self) -> None:
        """θ⁻ ← θ."""
        torch._foreach_copy_(list(self.target.parameters()), self._parameters)

    @torch.no_grad()
    def _clip(self) -> Tensor:
        """Clip the gradient of each parameter to the maximum norm; return the norm of all before."""
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        norms = torch.stack(list(torch._foreach_norm(gradients)))
        factors = (self.settings.max_gradient_norm / (norms + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_(gradients, list(factors))
        norm: Tensor = norms.norm()
        return norm

    def _stats(self, batch: Transitions, weights: NDArray[np.float32], result: StepResult) -> UpdateStats:
        errors = result.errors.cpu().numpy()
        scalars = {
            "q_error": float(np.sqrt(np.square(errors).mean())),
            "value": float(result.taken.mean()),
            "loss": float(result.loss),
            "gradient_norm": float(result.norm),
        }
        return UpdateStats(scalars, means_by_source(batch.source, importance_weight=weights, td_error=np.abs(errors)))


class DqnAgent(QAgent):
    """Deep Q-learning, from plain DQN to prioritised double DQN, depending on the settings.

    It learns only from memory. Each iteration stores its transitions and their share of demonstrations, then updates
    once for every `train_every` decisions.
    """

    learner: DqnLearner
    settings: DqnLoopSettings

    def __post_init__(self) -> None:
        super().__post_init__()
        self.copies_due = FractionalCounter(self.settings.target_every)
        self._beta = self.learner.settings.beta_start

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        if live is not None and self.learner.settings.clip_rewards:
            live = live.with_clipped_rewards()
        new = None if live is None else self.n_step.push(live, now.gamma)
        parts = [one for one in (new, self._next_demonstrations(now, self.decisions)) if one is not None]
        self.memory.push(mixed(*parts) if len(parts) == 2 else parts[0])
        if len(self.memory) < self.settings.start:
            return
        for number in range(self.updates_due.take(self.decisions / self.settings.train_every)):
            self._update_once(now, diagnose=number == 0)

    def advance(self, decisions: int, planned: int) -> None:
        """Set ε (in the network) and β."""
        super().advance(decisions, planned)
        self._beta = linear(self.learner.settings.beta_start, 1.0, decisions / planned)

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        if not phase.uses_demonstrations:
            self.memory.remove(DEMONSTRATIONS)

    def measurements(self) -> dict[str, float]:
        row = {f"memory/{source}": share for source, share in self.memory.shares().items()}
        beta = {"learner/beta": self._beta} if self.learner.settings.prioritised else {}
        return row | super().measurements() | beta

    def _update_once(self, now: PhaseValues, diagnose: bool) -> None:
        sample = self.memory.sample(self.settings.batch_size, self._beta, self.generator)
        errors, stats = self.learner.update(sample.transitions, now, sample.weights, diagnose=diagnose)
        if self.copies_due.take(self.settings.train_every):
            self.learner.copy_target()
        self.memory.update(sample.slots, errors.cpu().numpy())
        self.log.add_batch(sample.transitions.source, stats)


new_network = QNetwork.untrained


def build(run: "Run[DqnSettings, DqnLoopSettings]") -> DqnAgent:
    """Make the agent, which trains the policy's network in place."""
    observation, loop, algorithm = run.policy.observation, run.loop, run.algorithm
    network = critic_of(run, QNetwork)
    most_demonstrated = max(phase.demonstrations.largest for phase in run.settings.phases)
    most = loop.num_envs * (loop.steps + algorithm.n_steps) + round(loop.decisions * most_demonstrated)
    require_capacity(loop, most)
    memory = TransitionMemory(loop.capacity, observation)
    if algorithm.prioritised:
        memory = PrioritisedMemory(loop.capacity, observation, algorithm.alpha)
    learner = DqnLearner(network, algorithm, run.device)
    return DqnAgent(learner, memory, transitions_for(run), loop, run.log, run.for_agent)
