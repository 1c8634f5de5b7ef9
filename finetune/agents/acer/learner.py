"""ACER: network, average network, optimiser, one update on a batch of sequences, and the agent with its memory."""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....envs.spec import Observations
from ....policies.dense_layers import DenseLayers, LeafGradients
from ....policies.devices import autocast, undisturbed
from ....policies.networks import Actor, ActorCritic, with_q_head
from ...experience.sequences import DEMONSTRATIONS, LIVE, Sequences, concatenate, discounted_returns, interleave
from ...log import UpdateStats, means_by_source
from ...replay.demonstrations import Behaviour, RecordedSequences, is_uniform, sequences_for
from ...replay.memory import SequenceMemory
from ...schedules.environments import rewarded_alike
from ...schedules.phase import Phase, PhaseValues
from ..agent import Learner, ReplayAgent, network_of, require_capacity
from ..updates import RMSprop, final_values, move_towards, of_actions, set_gradients, take_step
from . import losses as acer
from .settings import AcerLoopSettings, AcerSettings

if TYPE_CHECKING:
    from ...run import Run

MARGIN = 0.25
"""Margin for a better policy, beyond the returns so far: a fraction of their range."""

Achieved = Sequence[tuple[NDArray[np.floating], float]]
AveragePolicy = Callable[[Tensor, Tensor], Tensor]
"""π_avg, [m, A], of m states: step t of sequence i, by tensors of t and i, int64 [m]."""


class Steps(NamedTuple):
    """Numbers of n sequences of k steps, without gradients, rewards scaled.

    Of each action, [k, n, A]: mu, player (the probabilities to imitate, if there are any) and pi. Of each step, [k, n]:
    actions; rho and q_taken of these; q_ret, their target; values; weights of imitation; outside, True where V was
    clipped; limited, True where the trust region shortened the policy's gradient. demonstrated: [n].
    """

    actions: Tensor
    mu: Tensor
    player: Tensor | None
    demonstrated: Tensor
    pi: Tensor
    rho: Tensor
    q_taken: Tensor
    q_ret: Tensor
    values: Tensor
    weights: Tensor
    outside: Tensor
    limited: Tensor


class AcerLearner(Learner[ActorCritic, AcerSettings]):
    """Trains the network in place.

    The average network starts as a copy. The statistics of observation scaling are part of both and stay fixed.
    """

    def __init__(self, network: ActorCritic, settings: AcerSettings, device: torch.device) -> None:
        super().__init__(network, settings, device)
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.bounds: tuple[float, float] | None = None
        """Range that bootstrap values are clipped to, in unscaled rewards; None: not clipped."""
        self.tolerance = 1.0
        """Returns of demonstrations that fall short of V by this are not imitated; in unscaled rewards."""
        self._dense, self._dense_average = map(self._layers, (self.network, self.average))
        self._parameters, self._averages = (list[Tensor](one.parameters()) for one in (self.network, self.average))
        self._below_q = [one for name, one in self.network.named_parameters() if not name.startswith("q_head.")]
        self.optimiser = RMSprop(self._parameters, settings.learning_rate, settings.decay, settings.epsilon)

    def probabilities(self, observations: Observations) -> NDArray[np.float32]:
        """The current π(·|s), float32 [n, A], of observations [n, *shape]."""
        with torch.inference_mode():
            rows = self._tensor(observations.reshape(-1, self.network.observation.size))
            return torch.softmax(self.network(rows)[0], dim=-1).cpu().numpy()

    @torch.enable_grad()
    def update(self, batch: Sequences, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        """Take one optimiser step on the batch.

        `critic_only` updates only the Q head, so the policy does not change. `imitation` is the weight of the
        cross-entropy with the demonstrator's policy.
        """
        n, k = batch.actions.shape
        finals = final_values(batch, self._value, self._device)  # before the outputs, which hold until the next ones
        # Rows in the order of steps, so those of the last observations, without gradient, are the last ones.
        inputs = self.network.trunk_input(self._by_step(batch.observations).flatten(0, 1).flatten(1))

        def average(step: Tensor, sequence: Tensor) -> Tensor:
            heads = self._without_gradient(self.average, self._dense_average, inputs[step * n + sequence])
            return torch.softmax(heads.chunk(2, -1)[0], -1)

        dense = self._dense
        outputs = self._forward(self.network, inputs) if dense is None else dense.outputs(inputs)[0]
        logits, q = outputs.unflatten(0, (k + 1, n)).chunk(2, -1)
        steps = self._steps(batch, torch.softmax(logits.detach(), -1), q.detach(), finals.t(), now.gamma)
        loss = self.loss(logits[:-1], q[:-1], steps, average, now)
        fixed = self._below_q if now.critic_only else ()
        norm = set_gradients(loss, self._parameters, self.settings.max_gradient_norm, dense, n * k, fixed)
        stats = self._stats(batch, steps, norm) if diagnose else None
        take_step(self.optimiser, self.settings.learning_rate * now.learning_rate)
        move_towards(self._averages, self._parameters, 1.0 - self.settings.alpha)
        return stats

    def loss(self, logits: Tensor, q: Tensor, steps: Steps, average: AveragePolicy, now: PhaseValues) -> Tensor:
        """The mean over all steps, to be minimised, of

            c_Q·½(Qret − Q(s, a))² − z*·logits − imitation·w·Σ_a p(a|s)·log π(a|s),

        z* the gradient of the actor's gain within the trust region, the last term for demonstrations. With
        `critic_only`, the critic's term alone. With `achieved_returns`, demonstrations have no z*, and their targets
        are the returns where known.

        logits, q: [k, n, A]. steps: those that the trust region limits are marked. average: called only for states
        that it may limit.
        """
        loss = acer.CRITIC * acer.critic_loss(of_actions(q, steps.actions), steps.q_ret)
        if now.critic_only:
            return loss
        z = self._limited_gradient(q.detach(), steps, average, now.entropy * self.settings.entropy_coefficient)
        if self.settings.achieved_returns:
            z = z.masked_fill(steps.demonstrated.unsqueeze(-1), 0.0)
        loss = loss - (z * logits).sum() / steps.rho.numel()
        if now.imitation and steps.player is not None:
            loss = loss + acer.imitation_loss(logits, steps.player, now.imitation * steps.weights)
        return loss

    @torch.no_grad()
    def _steps(self, batch: Sequences, pi: Tensor, q: Tensor, finals: Tensor, gamma: float) -> Steps:
        """Numbers of every step, of π and Q of all actions, [k + 1, n, A], and V of final observations, [k, n]."""
        scale, kind = self.settings.reward_scale, q.dtype
        low, high = (-math.inf, math.inf) if self.bounds is None else (scale * one for one in self.bounds)
        actions, mu = self._by_step(batch.actions), self._by_step(batch.behaviour_probabilities).to(kind)
        rewards = self._by_step(batch.rewards).to(kind) * scale
        ends = self._by_step(batch.terminated), self._by_step(batch.truncated)
        exact = (pi * q).sum(-1)
        values = exact.clamp(low, high)
        outside = (exact != values)[:-1]
        pi, q_taken = pi[:-1], of_actions(q[:-1], actions)
        rho = acer.importance_weights(of_actions(pi, actions), of_actions(mu, actions))
        q_ret = acer.retrace(rewards, *ends, q_taken, values, finals.clamp(low, high), rho, gamma)
        demonstrated = self._tensor(batch.source == DEMONSTRATIONS)
        weights = demonstrated.to(kind).expand_as(rho)
        if self.settings.achieved_returns and batch.known is not None and batch.returns is not None:
            known, returns = self._by_step(batch.known), self._by_step(batch.returns).to(kind) * scale
            q_ret = torch.where(known, returns, q_ret)
            w = acer.imitation_weight(returns, values[:-1], self.tolerance * scale)
            weights = weights * torch.where(known, w, 1.0)
        player = None if batch.player is None else self._by_step(batch.player).to(kind)
        numbers = rho, q_taken, q_ret.clamp(low, high), values[:-1], weights, outside, torch.zeros_like(outside)
        return Steps(actions, mu, player, demonstrated, pi, *numbers)

    @torch.no_grad()
    def _limited_gradient(self, q: Tensor, steps: Steps, average: AveragePolicy, entropy_weight: float) -> Tensor:
        """z*, [k, n, A], of Q of all actions; marks the steps that are limited."""
        delta, pi = self.settings.delta, steps.pi
        g = acer.policy_gradient(
            pi, steps.mu, steps.actions, q, steps.values, steps.q_ret, acer.TRUNCATION, entropy_weight
        )
        reached = acer.within_reach(g, delta).nonzero(as_tuple=True)
        if len(reached[0]):
            g[reached], steps.limited[reached] = acer.to_trust_region(g[reached], pi[reached], average(*reached), delta)
        return g

    @undisturbed
    @torch.no_grad()
    def fit_values(self, played: Sequences, gamma: float) -> None:
        """Set the Q head to V of the current policy, the same for every action, estimated from its own live play.

        An untrained critic would degrade a good policy before it has learned that policy's values. The hidden layers
        and the policy stay bit-identical.
        """
        n, k = played.actions.shape
        features = self._features(played.observations).view(n, k + 1, -1)
        following = features[:, 1:].clone()
        following[self._tensor(played.terminated)] = 0.0
        if len(played.finals.observations):
            stopped = self._tensor(played.finals.sequence), self._tensor(played.finals.step)
            following[stopped] = self._features(played.finals.observations)
        rewards = self._tensor(played.rewards) * self.settings.reward_scale
        w = acer.lstd(features[:, :-1].flatten(0, 1), following.flatten(0, 1), rewards.flatten(), gamma)
        for network in (self.network, self.average):
            network.q_head.weight.copy_(w[:-1].expand_as(network.q_head.weight))
            network.q_head.bias.fill_(float(w[-1]))

    @torch.no_grad()
    def _stats(self, batch: Sequences, steps: Steps, norm: Tensor) -> UpdateStats:
        """Statistics of an update, before its step."""
        pi, rho = steps.pi, steps.rho
        scalars = {
            "q_error": (steps.q_ret - steps.q_taken).square().mean().sqrt(),
            "value": steps.values.mean(),
            "entropy": -(pi * (pi + acer.EPSILON).log()).sum(-1).mean(),
            "gradient_norm": norm,
            "values_outside": steps.outside.float().mean(),
            "trust_region_active": steps.limited.float().mean(),
        }
        weights = {"importance_weight": rho.t().cpu(), "truncated_share": (rho > acer.TRUNCATION).float().t().cpu()}
        figures = {name: float(value) for name, value in scalars.items()}
        return UpdateStats(figures, means_by_source(batch.source, **weights))

    def _by_step(self, array: NDArray[np.generic]) -> Tensor:
        """A tensor [k, n, ...] of an array [n, k, ...]."""
        return self._tensor(array).transpose(0, 1)

    def _layers(self, network: ActorCritic) -> LeafGradients | None:
        """The trunk and both heads, side by side, as dense layers; None with convolutions, and with bfloat16."""
        dense = DenseLayers.of([*network.trunk, network.policy_head], network.q_head)
        return None if dense is None or self.settings.precision == "bfloat16" else LeafGradients([dense])

    def _forward(self, network: ActorCritic, inputs: Tensor) -> Tensor:
        """Policy logits and Q values, [rows, 2A], of the trunk's inputs; the heads are always in float32."""
        with autocast(self.settings.precision, self._device):
            features = network.trunk(inputs).to(network.policy_head.weight.dtype)
        return torch.cat([network.policy_head(features), network.q_head(features)], dim=-1)

    @torch.no_grad()
    def _without_gradient(self, network: ActorCritic, dense: LeafGradients | None, inputs: Tensor) -> Tensor:
        return self._forward(network, inputs) if dense is None else dense.without_gradient(inputs)

    def _features(self, observations: Observations) -> Tensor:
        """Inputs of the heads, with a 1 for the bias: [rows, width + 1]."""
        features = self.network.features(self._tensor(observations.reshape(-1, self.network.observation.size)))
        return torch.cat([features, torch.ones_like(features[:, :1])], dim=1)

    def _value(self, observations: Tensor) -> Tensor:
        """V(s) = Σ_a π(a|s) Q(s, a), [rows]."""
        heads = self._without_gradient(self.network, self._dense, self.network.trunk_input(observations))
        logits, q = heads.t().chunk(2)
        return (torch.softmax(logits, dim=0) * q).sum(0)


class ReturnRange:
    """The smallest and largest discounted return of any step of the episodes so far.

    A critic that bootstraps from actions absent from the data can diverge; the returns so far bound the plausible
    values. Live play arrives as sequences of `streams` games that continue from one sequence to the next.
    """

    def __init__(self, streams: int) -> None:
        self._open: list[list[float]] = [[] for _ in range(streams)]
        self._low, self._high = np.inf, -np.inf

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The value bounds: the return range, widened by `MARGIN` and including 0; None until an episode has ended."""
        if self._low > self._high:
            return None
        low, high = min(self._low, 0.0), max(self._high, 0.0)
        more = MARGIN * (high - low)
        return low - more, high + more

    def add_episode(self, rewards: NDArray[np.floating], gamma: float) -> None:
        """Add a complete episode by its rewards [T]."""
        returns = discounted_returns(rewards, gamma)
        self._low, self._high = min(self._low, float(returns.min())), max(self._high, float(returns.max()))

    def add_live(self, live: Sequences, gamma: float) -> None:
        """Add the episodes that end in these sequences."""
        for stream, (rewards, over) in enumerate(zip(live.rewards, live.terminated | live.truncated, strict=True)):
            start = 0
            for end in (np.flatnonzero(over) + 1).tolist():
                self.add_episode(np.array([*self._open[stream], *rewards[start:end].tolist()]), gamma)
                self._open[stream], start = [], end
            self._open[stream] += rewards[start:].tolist()

    def drop_partial_episodes(self) -> None:
        """Discard unfinished episodes, which will not be continued."""
        self._open = [[] for _ in self._open]

    def get_state(self) -> dict[str, object]:
        return {"open": [list(one) for one in self._open], "low": self._low, "high": self._high}

    def set_state(self, state: dict[str, Any]) -> None:
        self._open = [list(one) for one in state["open"]]
        self._low, self._high = float(state["low"]), float(state["high"])


@dataclass(eq=False)
class AcerAgent(ReplayAgent):
    """Learns from live play and from memory.

    Each iteration stores its live sequences and their share of demonstrations, updates once on the live sequences, and
    then Poisson(`replay_ratio`) times on samples from memory. achieved: for each phase, by its name, in which the
    rewards of the demonstrations are those of play, these rewards of every episode, [T], and their discount.
    """

    learner: AcerLearner
    memory: SequenceMemory
    settings: AcerLoopSettings
    behaviour: Behaviour
    achieved: Mapping[str, Achieved] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.returns = ReturnRange(self.settings.num_envs)

    def fit_initial_values(self, play: Callable[[], Sequences], now: PhaseValues) -> None:
        """Fit the critic to the initial policy. Skipped for an untrained, uniform policy, which is learned together
        with its critic."""
        if not self.settings.value_decisions:
            return
        rollouts = [play() for _ in range(math.ceil(self.settings.value_decisions / self.settings.decisions))]
        together = concatenate(rollouts)
        if not is_uniform(together.behaviour_probabilities):
            self.learner.fit_values(together, now.gamma)
        for sequences in rollouts:
            self.memory.push(sequences)
            self.returns.add_live(sequences, now.gamma)

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        new = self._next_demonstrations(now, self.settings.num_envs)
        demonstrations = None if new is None else self.behaviour.at_insertion(new, self.learner.probabilities)
        parts = [part for part in (live, demonstrations) if part is not None]
        self.memory.push(interleave(*parts) if len(parts) == 2 else parts[0])
        if live is not None:
            self.returns.add_live(live, now.gamma)
        self.learner.bounds = self.returns.bounds
        if live is not None:
            self.learner.update(live, now)
        if len(self.memory) < self.settings.start:
            return
        for number in range(int(self.generator.poisson(self.settings.replay_ratio))):
            batch = self.memory.sample(self.settings.num_envs, self.generator)
            batch = self.behaviour.at_sampling(batch, self.learner.probabilities)
            stats = self.learner.update(batch, now, diagnose=number == 0)
            self.log.add_batch(batch.source, stats)

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        if not phase.uses_demonstrations:
            self.memory.remove(DEMONSTRATIONS)
        if not phase.live:
            self.memory.remove(LIVE)
        for rewards, gamma in self.achieved.get(phase.name, ()):
            self.returns.add_episode(rewards, gamma)

    def change_environment(self) -> None:
        self.returns = ReturnRange(self.settings.num_envs)
        self.memory.clear()

    def drop_partial_episodes(self) -> None:
        self.returns.drop_partial_episodes()

    def measurements(self) -> dict[str, float]:
        row = {f"memory/{source}": share for source, share in self.memory.shares().items()}
        row["memory/sequences"] = float(len(self.memory))
        if self.learner.bounds is not None:
            scale = self.learner.settings.reward_scale
            row["learner/value_low"], row["learner/value_high"] = (scale * one for one in self.learner.bounds)
        return row


new_network = ActorCritic.untrained


def build(run: "Run[AcerSettings, AcerLoopSettings]") -> AcerAgent:
    """Make the agent, which trains the policy's network in place. A PPO network gets a Q head first."""
    policy, loop, phases = run.policy, run.loop, run.settings.phases
    if isinstance(policy.network, Actor):
        network = with_q_head(policy.network, torch.Generator().manual_seed(run.settings.seed))
    else:
        network = network_of(run, ActorCritic)
    require_capacity(loop, loop.num_envs * (1 + max(phase.demonstrations.largest for phase in phases)))
    demonstrations, behaviour = sequences_for(run), Behaviour(run.settings.behaviour)
    learner, achieved = AcerLearner(network, run.algorithm, run.device), dict[str, Achieved]()
    if demonstrations is not None and run.demonstrations is not None:
        recorded = demonstrations.items
        assert isinstance(recorded, RecordedSequences)
        behaviour.prepare(recorded, policy.probabilities, str(run.demonstrations.folder))
        learner.tolerance = recorded.spread
        alike = zip(phases, run.gammas, rewarded_alike(phases, policy.environment), strict=True)
        achieved = {phase.name: [(one, gamma) for one in recorded.rewards] for phase, gamma, same in alike if same}
    memory = SequenceMemory(loop.capacity, loop.steps, policy.observation, policy.actions)
    return AcerAgent(learner, memory, demonstrations, loop, run.log, run.for_agent, behaviour, achieved)
