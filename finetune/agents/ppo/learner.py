"""PPO: policy, value network, optimiser, one update on the newest live play, and the agent made of them."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ....common.errors import BadInput
from ....envs.spec import ObservationSpec
from ....policies.cuda_graphs import CudaGraphs
from ....policies.dense_layers import DenseLayers, LeafGradients
from ....policies.devices import autocast, in_float64
from ....policies.networks import Actor, ActorCritic, TrunkedPolicy, ValuedActor, Values, bounded, with_policy_of
from ....pretrain.cloning import cloning_loss
from ....pretrain.rows import Rows
from ...experience.sequences import Sequences
from ...log import UpdateStats
from ...replay.demonstrations import Demonstrations, rows_for
from ...schedules.phase import PhaseValues
from ..agent import LiveAgent, LiveLearner, network_of
from ..updates import final_values, kickstarting_loss, of_actions, set_gradients, take_step
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


class PpoLearner(LiveLearner[TrunkedPolicy, PpoSettings]):
    """Trains the policy's network in place, and V(s) in a separate network or in the value head of a `ValuedActor`.

    What is learned is `loss`, differentiated by autograd; below the outputs of dense layers by `LeafGradients`.
    Ratios refer to the policy that played, with `overlap` that of one update earlier, so clipping stays valid.
    """

    def __init__(
        self,
        network: TrunkedPolicy,
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
        self.shuffle, self._demonstrations = shuffle, demonstrations
        head = getattr(network, "value_head", None) if values is None else values.head
        assert isinstance(head, nn.Linear)
        self._value_head = head
        self.return_scale = ReturnScale(head) if settings.scale_returns else None
        self._dense = None
        if values is not None and settings.precision == "float32":
            self._dense = LeafGradients.of(DenseLayers.of([*values.trunk, head]), network.dense_layers())
        self._parameters = [*network.parameters(), *(() if values is None else values.parameters())]
        self._gradients = CudaGraphs(self._set_gradients, self._parameters)
        self.optimiser = torch.optim.Adam(self._parameters, eps=settings.epsilon, fused=True)

    def _learn(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        """Take up to `epochs` passes over the sequences."""
        if self.settings.clip_rewards:
            played = played.with_clipped_rewards()
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
        values = values[:, :-1]
        returns = (estimates + values).flatten()
        advantage = ((estimates - estimates.mean()) / (estimates.std() + 1e-8)).flatten()
        actions = self._tensor(played.actions).flatten()
        log_mu = of_actions(self._tensor(played.behaviour_probabilities).flatten(0, 1), actions).log()
        teacher = None
        if now.kickstarting and played.teacher is not None:
            teacher = self._tensor(played.teacher).flatten(0, 1)
        scale = self.return_scale
        with nullcontext(returns) if scale is None else scale.learning_from(returns) as targets:
            every = Minibatch(inputs[:, :-1].flatten(0, 1), actions, log_mu, advantage, targets, teacher)
            figures = self._passes(every, now)
        error = (returns - values.flatten()).square().mean()
        explained = 1.0 - float(error / returns.var().clamp_min(1e-12))
        critic = {"value": float(values.mean()), "value_error": float(error.sqrt()), "explained_variance": explained}
        return UpdateStats(figures | critic, {})

    def _passes(self, every: Minibatch, now: PhaseValues) -> dict[str, float]:
        """Take up to `epochs` passes; return the number of passes, and the means over all steps."""
        steps: list[dict[str, Tensor]] = []
        epochs, kl = 0, 0.0
        while epochs < self.settings.epochs and kl <= PATIENCE * self.settings.target_kl:
            order = self._tensor(self.shuffle.permutation(len(every.actions)))
            results = [self._step(every.take(part), now) for part in torch.split(order, self.settings.minibatch)]
            kl = float(ppo.kl_estimate(torch.cat([one["log_ratio"] for one in results])))
            steps, epochs = steps + results, epochs + 1
        figures = {name: torch.cat([one[name].reshape(-1) for one in steps]) for name in steps[0]}
        log_ratio = figures.pop("log_ratio")
        figures["kl"] = ppo.kl_estimate(log_ratio)
        figures["clipped_share"] = ((log_ratio.exp() - 1.0).abs() > self.settings.clip).float()
        return {name: float(one.mean()) for name, one in figures.items()} | {"epochs": float(epochs)}

    def _step(self, batch: Minibatch, now: PhaseValues) -> dict[str, Tensor]:
        """Take a step on a minibatch, with demonstrated decisions that are sampled anew in phases with imitation."""
        imitated: tuple[Tensor | None, ...] = (None, None, None)
        if now.imitation and self._demonstrations is not None:
            rows = self._demonstrations.sample(self.settings.imitation_minibatch, self.shuffle)
            probabilities = None if rows.probabilities is None else self._tensor(rows.probabilities)
            inputs = self.network.trunk_input(self._tensor(rows.observations))
            imitated = inputs, self._tensor(rows.actions), probabilities
        weights = now.entropy * self.settings.entropy_coefficient, now.imitation, now.kickstarting
        numbers = torch.tensor(weights, dtype=self._value_head.weight.dtype, device=self._device)
        results = self._gradients(now.critic_only, numbers, *batch, *imitated)
        take_step(self.optimiser, self.settings.learning_rate * now.learning_rate)
        return results

    def loss(
        self,
        batch: Minibatch,
        log_pi: Tensor,
        log_ratio: Tensor,
        entropy: Tensor,
        values: Tensor,
        imitation_loss: Tensor | None,
        weights: Tensor,
        critic_only: bool,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Equation 9 of Schulman et al. 2017, to be minimised:

            L = −mean min(ρÂ, clamp(ρ, 1 − ε, 1 + ε)Â) + c_V·mean (V − R)² − c_H·mean H

        plus imitation·L_BC of demonstrated decisions and kickstarting·H(π_T ‖ π). With `critic_only`, c_V's term alone.

        log_pi: log π(·|s) [m, A]. log_ratio, entropy, values: log ρ, H and V(s) [m]. imitation_loss: L_BC. weights: of
        H, imitation and a teacher, [3]. Also returns the losses of imitation and of a teacher, by name.
        """
        loss = self.settings.value_coefficient * ppo.value_loss(values, batch.returns)
        terms: dict[str, Tensor] = {}
        if critic_only:
            return loss, terms
        gain = ppo.clipped_surrogate(log_ratio.exp(), batch.advantage, self.settings.clip)
        loss = loss - (gain + weights[0] * entropy).mean()
        if imitation_loss is not None:
            terms["imitation_loss"] = imitation_loss
            loss = loss + weights[1] * imitation_loss
        if batch.teacher is not None:
            terms["kickstarting"] = kickstarting_loss(log_pi, batch.teacher)
            loss = loss + weights[2] * terms["kickstarting"]
        return loss, terms

    @torch.enable_grad()
    def _set_gradients(self, critic_only: bool, weights: Tensor, *columns: Any) -> dict[str, Tensor]:
        """Set the clipped gradients. columns: of a minibatch, then of decisions to imitate, or None. Returns log ρ and
        H(π(·|s)) of each decision, [m], the norm of the gradient, and losses by name."""
        batch, (rows, imitated, probabilities) = Minibatch._make(columns[:6]), columns[6:]
        several = rows is not None and not critic_only
        # Demonstrated decisions go through the layers behind the others.
        inputs = torch.cat([batch.inputs, rows]) if several else batch.inputs
        logits, values = self._outputs(inputs, batch.inputs, critic_only)
        imitation_loss = None
        if several:
            logits, imitation_logits = logits.split([len(batch.actions), len(rows)])
            imitation_loss = cloning_loss(imitation_logits, imitated, probabilities=probabilities)
        log_pi = torch.log_softmax(logits, dim=-1)
        log_ratio = of_actions(log_pi, batch.actions) - batch.log_mu
        entropy = ppo.entropy(log_pi)
        loss, terms = self.loss(batch, log_pi, log_ratio, entropy, values, imitation_loss, weights, critic_only)
        norm = set_gradients(loss, self._parameters, self.settings.max_gradient_norm, self._dense)
        figures = {"log_ratio": log_ratio, "entropy": entropy, "gradient_norm": norm, **terms}
        return {name: one.detach() for name, one in figures.items()}

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
    def _value(self, inputs: Tensor) -> Tensor:
        """V(s), [...], of inputs of the policy's trunk [..., size]."""
        if self._dense is not None:
            return self._dense.without_gradient(bounded(inputs, self.network.observation)).squeeze(-1)
        return self._outputs(inputs, inputs, False)[1]


def new_network(
    settings: PpoSettings, observation: ObservationSpec | int, actions: int, generator: torch.Generator
) -> Actor:
    """The untrained network of these settings."""
    return (ValuedActor if settings.shared else Actor).untrained(settings, observation, actions, generator)


def new_learner(network: Actor, settings: PpoSettings, seed: int, device: torch.device) -> PpoLearner:
    """Make a standalone learner, with an untrained value network."""
    values = Values(network.observation, settings.hidden, torch.Generator().manual_seed(seed + 1))
    return PpoLearner(network, values, settings, device, np.random.default_rng(seed))


def build(run: "Run[PpoSettings, PpoLoopSettings]") -> LiveAgent:
    """Make the agent, which trains the policy's network in place, starting from its value network or an untrained one.

    With `shared`, an `ActorCritic` without values becomes a `ValuedActor`.
    """
    reason = "has no memory; leave out demonstrations and live, or choose algorithm=acer (imitation needs no memory)"
    network = network_of(run, TrunkedPolicy, reason, lambda phase: phase.uses_demonstrations or not phase.live)
    values, settings = copy.deepcopy(run.policy.values), run.algorithm
    generator = torch.Generator().manual_seed(run.settings.seed)
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
    demonstrations = rows_for(run, settings.reaction)
    learner = PpoLearner(network, values, settings, run.device, run.for_agent, demonstrations)
    return LiveAgent(learner, run.log)
