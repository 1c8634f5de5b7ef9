"""The DQN learner: network, target network, optimiser, and one update on a weighted batch of transitions."""

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....common.errors import BadInput
from ....policies.cuda_graphs import CudaGraphs
from ....policies.q_networks import QNetwork
from ...experience.sequences import DEMONSTRATIONS
from ...experience.transitions import Transitions
from ...metrics import UpdateStats, means_by_source
from ...schedules.phase import PhaseValues
from ..learner import Learner, Part
from ..optimisers import CentredRMSprop, FusedAdam
from . import losses as dqn
from .dense_gradients import DenseGradients, StepResult
from .settings import ADAM, DqnSettings


class DqnLearner(Learner[QNetwork, DqnSettings]):
    """Trains the network in place. The target network is a copy that changes only in `copy_target`."""

    def __init__(self, network: QNetwork, settings: DqnSettings, device: torch.device) -> None:
        if max(settings.quantiles, 1) != network.quantiles:
            raise BadInput(
                f"algorithm.quantiles={settings.quantiles}: the policy's network has "
                f"{network.quantiles if network.quantiles > 1 else 'expected values'}; it cannot be changed"
            )
        super().__init__(network, settings, device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self._parameters: list[Tensor] = list(self.network.parameters())
        self._dense = DenseGradients.of(self.network, self.target, settings)
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
        step = self._autograd if self._dense is None else self._dense.step
        found = step(batch, weights, now.imitation)
        self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
        self._optimiser.step()
        return found.errors, self._stats(batch, weights, found) if diagnose else None

    def _autograd(self, batch: Transitions, weights: NDArray[np.floating], imitation: float) -> StepResult:
        """`DenseGradients.step` for any network and device, by autograd."""
        shown = imitation * (batch.source == DEMONSTRATIONS).astype(weights.dtype) if imitation else None
        arrays = (batch.observations, batch.next_observations, batch.actions, batch.rewards, batch.discounts, weights)
        return self._graphs(None, *map(self._tensor, arrays), None if shown is None else self._tensor(shown))

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
        rewards = rewards * self.settings.reward_scale
        following = next_observations.flatten(1)
        quantiles = self.network.quantile_values(observations.flatten(1))
        with torch.no_grad():
            next_target = self.target.quantile_values(following)
            q_next_target = next_target.mean(-1)
        q = quantiles.mean(-1)
        taken = q.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        choosing = self._q_next(following) if self.settings.double else q_next_target
        if self.network.quantiles > 1:
            targets = dqn.quantile_targets(rewards, discounts, choosing, next_target)
            index = actions[:, None, None].expand(-1, 1, quantiles.shape[-1])
            losses = dqn.quantile_loss(quantiles.gather(1, index).squeeze(1), targets)
            errors = targets.mean(-1) - taken.detach()
        else:
            target = dqn.double_target(rewards, discounts, choosing, q_next_target)
            losses = dqn.huber(target - taken)
            errors = target - taken.detach()
        if imitation is not None:
            losses = losses + imitation * dqn.margin_loss(q, actions, self.settings.margin)
        loss = dqn.weighted_mean(losses, weights)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        return StepResult(errors, taken.detach(), loss.detach(), self._clip())

    @torch.no_grad()
    def copy_target(self) -> None:
        """θ⁻ ← θ."""
        torch._foreach_copy_(list(self.target.parameters()), self._parameters)

    @torch.no_grad()
    def _q_next(self, following: Tensor) -> Tensor:
        """Q(s', ·) of the online network, [B, A], used to select actions."""
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
