"""The DQN learner: network, target network, optimiser, and one update on a weighted batch of transitions."""

import copy
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.cuda_graphs import CudaGraphs
from ....policies.leaf_gradients import LeafGradients
from ....policies.q_networks import QNetwork
from ...experience.sequences import DEMONSTRATIONS
from ...experience.transitions import Transitions
from ...metrics import UpdateStats, means_by_source
from ...schedules.phase import PhaseValues
from ..learner import Learner, Part
from ..optimisers import CentredRMSprop, FusedAdam
from . import losses as dqn
from .settings import ADAM, DqnSettings


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
        if self._dense is not None and self._dense_target is not None:
            self._dense_target.stacks[0].share_buffers(self._dense.stacks[0])
        self._graphs = CudaGraphs(self._set_gradients, self._parameters)
        self._optimiser: torch.optim.Optimizer
        if settings.optimiser == ADAM:
            self._optimiser = FusedAdam(self._parameters, settings.learning_rate, settings.adam_epsilon)
        else:
            self._optimiser = CentredRMSprop(self._parameters, settings.learning_rate)

    @property
    def parts(self) -> dict[str, Part]:
        return {"network": self.network, "target": self.target, "optimiser": self._optimiser}

    def update(
        self, batch: Transitions, now: PhaseValues, weights: NDArray[np.float32], *, diagnose: bool = False
    ) -> tuple[Tensor, UpdateStats | None]:
        """Take one optimiser step on L = mean_i w_i·(L_i + imitation·J_E,i·[i is a demonstration]).

        weights: importance weights w, float32 [B]. Returns the TD errors δ, float32 [B], and, with `diagnose`, update
        statistics.
        """
        imitation = now.imitation * (batch.source == DEMONSTRATIONS).astype(weights.dtype) if now.imitation else None
        arrays = (batch.observations, batch.next_observations, batch.actions, batch.rewards, batch.discounts, weights)
        shown = None if imitation is None else self._tensor(imitation)
        found = self._graphs(None, *map(self._tensor, arrays), shown)
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
        self._optimiser.step()
        return found.errors, self._stats(batch, weights, found) if diagnose else None

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
            next_target = self._target_values(following)
            choosing = self._q_next(following) if self.settings.double else next_target
        q = self._values(observations.flatten(1))  # last, because the layers keep what its gradient needs
        scaled = rewards * self.settings.reward_scale
        losses, errors, taken = self.losses(q, next_target, choosing, actions, scaled, discounts, imitation)
        loss = dqn.weighted_mean(losses, weights)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        if self._dense is not None:
            self._dense.backward()
        return StepResult(errors, taken, loss.detach(), self._clip())

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
        taken = q.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        errors = dqn.double_target(rewards, discounts, choosing, next_target) - taken
        losses = dqn.huber(errors)
        if imitation is not None:
            losses = losses + imitation * dqn.margin_loss(q, actions, self.settings.margin)
        return losses, errors.detach(), taken.detach()

    def _values(self, observations: Tensor) -> Tensor:
        """Q(s, ·), to be learned, [B, A]."""
        if self._dense is not None:
            return self._dense.outputs(self.network.layer_input(observations))[0]
        q: Tensor = self.network(observations)
        return q

    def _target_values(self, following: Tensor) -> Tensor:
        """Q⁻(s', ·), [B, A]."""
        if self._dense_target is not None:
            return self._dense_target.without_gradient(self.target.layer_input(following))
        q: Tensor = self.target(following)
        return q

    @torch.no_grad()
    def copy_target(self) -> None:
        """θ⁻ ← θ."""
        torch._foreach_copy_(list(self.target.parameters()), self._parameters)

    @torch.no_grad()
    def _q_next(self, following: Tensor) -> Tensor:
        """Q(s', ·) of the online network, [B, A], used to select actions."""
        if self._dense is not None:
            return self._dense.without_gradient(self.network.layer_input(following))
        q: Tensor = self.network(following)
        return q

    @torch.no_grad()
    def _clip(self) -> Tensor:
        """Clip the gradient of each parameter to the maximum norm; return the norm of all before."""
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        norms = torch.stack(list(torch._foreach_norm(gradients)))
        factors = (self.settings.max_gradient_norm / (norms + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_(gradients, list(factors))
        norm: Tensor = norms.norm()
        return norm

    def _stats(self, batch: Transitions, weights: NDArray[np.float32], found: StepResult) -> UpdateStats:
        errors = found.errors.cpu().numpy()
        scalars = {
            "q_error": float(np.sqrt(np.square(errors).mean())),
            "value": float(found.taken.mean()),
            "loss": float(found.loss),
            "gradient_norm": float(found.norm),
        }
        return UpdateStats(scalars, means_by_source(batch.source, importance_weight=weights, td_error=np.abs(errors)))
