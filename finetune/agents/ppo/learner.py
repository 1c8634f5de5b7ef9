"""PPO: policy, value network, optimiser, one update on the newest live play, and the agent made of them."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ....common.errors import BadInput
from ....policies.cuda_graphs import CudaGraphs
from ....policies.dense_layers import DenseLayers, LeafGradients
from ....policies.devices import autocast, in_float64
from ....policies.networks import Actor, ActorCritic, ValuedActor, Values, bounded, with_policy_of
from ....pretrain.cloning import cloning_loss
from ....pretrain.rows import Rows
from ...experience.sequences import Sequences
from ...log import UpdateStats
from ...replay.demonstrations import Demonstrations, rows_for
from ...schedules.phase import PhaseValues
from ..agent import LiveAgent, LiveLearner, MakeNetwork, Part, RunningScale, of_kind
from ..losses import final_values, kickstarting_loss
from ..optimisers import FusedAdam, set_gradients
from . import losses as ppo
from .settings import PpoLoopSettings, PpoSettings

if TYPE_CHECKING:
    from ...run import Run

PATIENCE = 1.5
"""An update ends early once an epoch's KL is this many times `target_kl`, as in Spinning Up."""


class Minibatch(NamedTuple):
    """A minibatch of steps, [m, ...]: inputs of the policy's trunk, actions, log μ(a|s), advantages, returns, and π_T
    of a teacher."""

    inputs: Tensor
    actions: Tensor
    log_mu: Tensor
    advantage: Tensor
    returns: Tensor
    teacher: Tensor | None

    def take(self, part: Tensor) -> "Minibatch":
        # index_select copies whole rows; inputs[part] does not.
        return Minibatch._make(None if one is None else one.index_select(0, part) for one in self)


class Demonstrated(NamedTuple):
    """Decisions to imitate, [m, ...]: inputs of the policy's trunk, actions, and probabilities if there are any."""

    inputs: Tensor
    actions: Tensor
    probabilities: Tensor | None


class StepStats(NamedTuple):
    """Results of a step: log ρ and H(π(·|s)) of each decision, [m], the norm of the gradient, and losses by name."""

    log_ratio: Tensor
    entropy: Tensor
    gradient_norm: Tensor
    losses: dict[str, Tensor]


class ReturnScale:
    """σ, the root mean square of all returns of live play so far, in units of which the critic's last layer learns.

    A critic of returns of −100 has a gradient a hundred times longer than the policy's, which is clipped with it, and
    needs thousands of steps to grow to that size. So the layer is divided by σ before an update and multiplied by it
    afterwards (PopArt, van Hasselt et al. 2016, without its shift): V(s) itself is always in units of reward.
    """

    def __init__(self, head: nn.Linear) -> None:
        self._head = head
        self._count, self._squares = 0, 0.0

    @property
    def sigma(self) -> float:
        """σ; 1 while all returns are 0."""
        return (self._squares / self._count) ** 0.5 if self._squares else 1.0

    @contextmanager
    def learning_from(self, returns: Tensor) -> Iterator[Tensor]:
        """Context manager around an update on these returns, [n], which are added first; yields the layer's targets."""
        self._count += returns.numel()
        self._squares += float(in_float64(returns).square().sum())
        self._multiply(1.0 / self.sigma)
        yield returns / self.sigma
        self._multiply(self.sigma)

    def get_state(self) -> dict[str, object]:
        return {"count": self._count, "squares": self._squares}

    def set_state(self, state: dict[str, Any]) -> None:
        self._count, self._squares = int(state["count"]), float(state["squares"])

    @torch.no_grad()
    def _multiply(self, factor: float) -> None:
        for one in self._head.parameters():
            one.mul_(factor)


class PpoLearner(LiveLearner[Actor | ActorCritic, PpoSettings]):
    """Trains the policy's network in place, and V(s) in a separate network or in the value head of a `ValuedActor`.

    A network whose scaler has no statistics yet gets running ones from all live play; existing statistics stay fixed.
    What is learned is `loss`, differentiated by autograd; below the outputs of dense layers by `LeafGradients`.
    Ratios refer to the policy that played, with `overlap` that of one update earlier, so clipping stays valid.
    """

    def __init__(
        self,
        network: Actor | ActorCritic,
        values: Values | None,
        settings: PpoSettings,
        device: torch.device,
        shuffle: np.random.Generator,
        demonstrations: Demonstrations[Rows] | None = None,
    ) -> None:
        """values: None for a `ValuedActor`, and only for it. shuffle: generator of minibatches. demonstrations:
        decisions to imitate."""
        super().__init__(network, settings, device)
        self.values = None if values is None else values.to(device)
        self._shuffle, self._demonstrations = shuffle, demonstrations
        self._scale = RunningScale(network)
        if isinstance(network, ValuedActor):
            self._value_head = network.value_head
        else:
            assert values is not None
            self._value_head = values.head
        self._return_scale = ReturnScale(self._value_head) if settings.scale_returns else None
        low = settings.precision == "bfloat16"
        self._dense = None
        if self.values is not None:
            critic = DenseLayers.of([*self.values.trunk, self.values.head], low)
            self._dense = LeafGradients.of(critic, self.network.dense_layers(low))
        self._graphs = CudaGraphs(self._of_tensors, self._parameters())
        self._optimiser = FusedAdam(self._parameters(), settings.learning_rate, settings.epsilon)

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        """Take up to `epochs` passes over the sequences. Decisions to imitate are sampled anew for each step."""
        played = self.settings.with_clipped_rewards(played)
        with self._scale.learning_from(played):
            with torch.no_grad():
                inputs = self.network.trunk_input(self._tensor(played.observations).flatten(2))
                values = self._value(inputs)
                estimates = ppo.advantages(
                    self._tensor(played.rewards),
                    self._tensor(played.terminated),
                    self._tensor(played.truncated),
                    values,
                    final_values(played, lambda rows: self._value(self.network.trunk_input(rows)), self._device),
                    now.gamma,
                    self.settings.gae_lambda,
                )
            returns = (estimates + values[:, :-1]).flatten()
            advantage = ((estimates - estimates.mean()) / (estimates.std() + 1e-8)).flatten()
            actions = self._tensor(played.actions).flatten()
            mu = self._tensor(played.behaviour_probabilities).flatten(0, 1)
            teacher = None
            if now.kickstarting and played.teacher is not None:
                teacher = self._tensor(played.teacher).flatten(0, 1)
            log_mu = mu.gather(-1, actions.unsqueeze(-1)).squeeze(-1).log()
            every = Minibatch(inputs[:, :-1].flatten(0, 1), actions, log_mu, advantage, returns, teacher)
            self._optimiser.param_groups[0]["lr"] = self.settings.learning_rate * now.learning_rate
            scale = self._return_scale
            with nullcontext(returns) if scale is None else scale.learning_from(returns) as targets:
                steps, epochs = self._passes(every._replace(returns=targets), now)
        scalars = self._summary(steps)
        error = (returns - values[:, :-1].flatten()).square().mean()
        scalars["value"] = float(values[:, :-1].mean())
        scalars["value_error"] = float(error.sqrt())
        scalars["explained_variance"] = 1.0 - float(error / returns.var().clamp_min(1e-12))
        return UpdateStats(scalars | {"epochs": float(epochs)}, {})

    @property
    def parts(self) -> dict[str, Part]:
        values = {} if self.values is None else {"values": self.values}
        scale = {} if self._return_scale is None else {"return_scale": self._return_scale}
        return {
            "network": self.network,
            **values,
            **scale,
            "optimiser": self._optimiser,
            "scale": self._scale,
            "shuffle": self._shuffle,
        }

    def _passes(self, every: Minibatch, now: PhaseValues) -> tuple[list[StepStats], int]:
        """Take up to `epochs` passes; return the results of all steps, and the number of passes."""
        steps: list[StepStats] = []
        epochs = 0
        for _ in range(self.settings.epochs):
            order = self._tensor(self._shuffle.permutation(len(every.actions)))
            results = [self._step(every.take(part), now) for part in torch.split(order, self.settings.minibatch)]
            steps += results
            epochs += 1
            kl = float(ppo.kl_estimate(torch.cat([one.log_ratio for one in results])))
            if kl > PATIENCE * self.settings.target_kl:
                break
        return steps, epochs

    def _step(self, batch: Minibatch, now: PhaseValues) -> StepStats:
        demonstrated = None
        if now.imitation and self._demonstrations is not None:
            rows = self._demonstrations.sample(self.settings.imitation_minibatch, self._shuffle)
            probabilities = None if rows.probabilities is None else self._tensor(rows.probabilities)
            inputs = self.network.trunk_input(self._tensor(rows.observations))
            demonstrated = Demonstrated(inputs, self._tensor(rows.actions), probabilities)
        if self._device.type != "cuda":
            stats = self._set_gradients(batch, demonstrated, now)
        else:
            ramps = now.entropy, now.imitation, now.kickstarting
            weights = torch.tensor(ramps, dtype=self.network.policy_head.weight.dtype, device=self._device)
            stats = self._graphs(now.critic_only, weights, *batch, *(demonstrated or ()))
        self._optimiser.step()
        return stats

    def _of_tensors(self, critic_only: bool, weights: Tensor, *columns: Any) -> StepStats:
        """`_set_gradients` of tensors alone, for a graph.

        weights: of entropy, imitation and kickstarting, [3]. columns: of a minibatch, and of decisions to imitate."""
        own = len(Minibatch._fields)
        batch, examples = Minibatch._make(columns[:own]), columns[own:]
        ramps: dict[str, Any] = dict(zip(("entropy", "imitation", "kickstarting"), weights.unbind(), strict=True))
        now = PhaseValues(gamma=1.0, critic_only=critic_only, **ramps)
        return self._set_gradients(batch, Demonstrated._make(examples) if examples else None, now)

    def loss(
        self,
        batch: Minibatch,
        log_pi: Tensor,
        log_ratio: Tensor,
        entropy: Tensor,
        values: Tensor,
        demonstrated: Demonstrated | None,
        imitation_logits: Tensor | None,
        now: PhaseValues,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Equation 9 of Schulman et al. 2017, to be minimised:

            L = −mean min(ρÂ, clamp(ρ, 1 − ε, 1 + ε)Â) + c_V·mean (V − R)² − c_H·mean H

        plus imitation·L_BC of demonstrated decisions and kickstarting·H(π_T ‖ π). With `critic_only`, c_V's term alone.

        log_pi: log π(·|s) [m, A]. log_ratio, entropy, values: log ρ, H and V(s) [m]. imitation_logits: [m', A], of the
        demonstrated decisions. Also returns the losses of imitation and of a teacher, by name.
        """
        loss = self.settings.value_coefficient * ppo.value_loss(values, batch.returns)
        terms: dict[str, Tensor] = {}
        if now.critic_only:
            return loss, terms
        gain = ppo.clipped_surrogate(log_ratio.exp(), batch.advantage, self.settings.clip)
        weight = now.entropy * self.settings.entropy_coefficient
        loss = loss - (gain + weight * entropy).mean()  # the weight is a tensor in a CUDA graph
        if demonstrated is not None and imitation_logits is not None:
            probabilities = demonstrated.probabilities
            terms["imitation_loss"] = cloning_loss(imitation_logits, demonstrated.actions, probabilities=probabilities)
            loss = loss + now.imitation * terms["imitation_loss"]
        if batch.teacher is not None:
            terms["kickstarting"] = kickstarting_loss(log_pi, batch.teacher)
            loss = loss + now.kickstarting * terms["kickstarting"]
        return loss, terms

    @torch.enable_grad()
    def _set_gradients(self, batch: Minibatch, demonstrated: Demonstrated | None, now: PhaseValues) -> StepStats:
        """Set the clipped gradients of a minibatch."""
        m, imitated = len(batch.actions), None if now.critic_only else demonstrated
        # Demonstrated decisions go through the layers behind the others.
        inputs = batch.inputs if imitated is None else torch.cat([batch.inputs, imitated.inputs])
        logits, values = self._outputs(inputs, batch.inputs, now.critic_only)
        imitation_logits = None
        if imitated is not None:
            logits, imitation_logits = logits.split([m, len(logits) - m])
        log_pi = torch.log_softmax(logits, dim=-1)
        log_ratio = log_pi.gather(-1, batch.actions.unsqueeze(-1)).squeeze(-1) - batch.log_mu
        entropy = ppo.entropy(log_pi)
        loss, terms = self.loss(batch, log_pi, log_ratio, entropy, values, imitated, imitation_logits, now)
        norm = set_gradients(loss, self._parameters(), self.settings.max_gradient_norm, self._dense)
        losses = {name: one.detach() for name, one in terms.items()}
        return StepStats(log_ratio.detach(), entropy.detach(), norm, losses)

    def _outputs(self, inputs: Tensor, own: Tensor, critic_only: bool) -> tuple[Tensor, Tensor]:
        """Logits of inputs of the trunk, and V(s) [m] of those of the batch's own steps, which come first."""
        if self._dense is not None:
            learned = 1 if critic_only else None
            values, logits = self._dense.outputs(bounded(own, self.network.observation), inputs, learned=learned)
            return logits, values.squeeze(-1)
        with autocast(self.settings.precision, self._device):  # the heads have their own precision
            with torch.set_grad_enabled(torch.is_grad_enabled() and not critic_only):
                features = self.network.trunk(inputs)
            critic = features[: len(own)] if self.values is None else self.values.features(own)
        kind = self._value_head.weight.dtype
        return self.network.policy_head(features.to(kind)), self._value_head(critic.to(kind)).squeeze(-1)

    @torch.no_grad()
    def _summary(self, steps: list[StepStats]) -> dict[str, float]:
        """Means over all steps of an update."""
        log_ratio = torch.cat([one.log_ratio for one in steps])
        means = {
            "entropy": torch.cat([one.entropy for one in steps]).mean(),
            "kl": ppo.kl_estimate(log_ratio),
            "clipped_share": ((log_ratio.exp() - 1.0).abs() > self.settings.clip).float().mean(),
            "gradient_norm": torch.stack([one.gradient_norm for one in steps]).mean(),
        }
        means |= {name: torch.stack([one.losses[name] for one in steps]).mean() for name in steps[0].losses}
        return {name: float(value) for name, value in means.items()}

    def _parameters(self) -> list[torch.nn.Parameter]:
        return [*self.network.parameters(), *(() if self.values is None else self.values.parameters())]

    @torch.no_grad()
    def _value(self, inputs: Tensor) -> Tensor:
        """V(s), [...], of inputs of the policy's trunk [..., size]."""
        if self._dense is not None:
            return self._dense.without_gradient(bounded(inputs, self.network.observation)).squeeze(-1)
        return self._outputs(inputs, inputs, False)[1]


def new_network(settings: PpoSettings) -> MakeNetwork:
    """The untrained network of these settings."""
    kind = ValuedActor if settings.shared else Actor
    return lambda observation, actions, generator: kind(
        observation, actions, settings.hidden, generator, settings.convolutions
    )


def new_learner(network: Actor, settings: PpoSettings, seed: int, device: torch.device) -> PpoLearner:
    """Make a standalone learner, with an untrained value network."""
    values = Values(network.observation, settings.hidden, torch.Generator().manual_seed(seed + 1))
    return PpoLearner(network, values, settings, device, np.random.default_rng(seed))


def build(run: "Run[PpoSettings, PpoLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place, starting from its value network or an untrained one.

    With `shared`, an `ActorCritic` without values becomes a `ValuedActor`.
    """
    for phase in run.settings.phases:
        if phase.uses_demonstrations or not phase.live:
            raise BadInput(
                f"schedule.phases.{phase.name}: algorithm=ppo has no memory; leave out demonstrations and live, "
                "or choose algorithm=acer (imitation needs no memory)"
            )
    demonstrations = rows_for(run, run.algorithm.reaction)
    values, settings = copy.deepcopy(run.policy.values), run.algorithm
    generator = torch.Generator().manual_seed(run.settings.seed)
    network: Actor | ActorCritic
    if isinstance(run.policy.network, Actor):
        network = run.policy.network
    else:
        network = of_kind(run.policy.network, ActorCritic, "ppo")
    if settings.shared and not isinstance(network, ValuedActor):
        if values is not None or type(network) is not ActorCritic:
            raise BadInput(
                f"algorithm.shared=true: the policy's network is {network.architecture}"
                f"{'' if values is None else ' with values of its own'}, which cannot take a head for V(s) on its own "
                "layers; start from policy=scratch or a policy of qwop-pretrain, or set algorithm.shared=false"
            )
        network = with_policy_of(network, ValuedActor, generator)
    if values is None and not isinstance(network, ValuedActor):
        values = Values(network.observation, settings.hidden, generator, settings.convolutions)
    learner = PpoLearner(network, values, settings, run.device, run.for_agent, demonstrations)
    return LiveAgent(learner, run.log)
