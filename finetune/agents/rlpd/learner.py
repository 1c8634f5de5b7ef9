"""RLPD: ensemble, target ensemble, optimiser, one update on transitions, and the agent with its memory."""

import copy
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ....common.errors import BadInput
from ....policies.q_networks import EnsembleQ
from ...experience.sequences import DEMONSTRATIONS, Sequences, Transitions, joined
from ...log import UpdateStats, means_by_source
from ...replay.demonstrations import transitions_for
from ...replay.transition_memory import TransitionMemory
from ...schedules.phase import PhaseValues
from ..agent import Learner, QAgent, critic_of, require_capacity
from ..dqn.losses import margin_loss
from ..updates import descend, move_towards, of_actions
from . import losses as rlpd
from .settings import RlpdLoopSettings, RlpdSettings

if TYPE_CHECKING:
    from ...run import Run


class RlpdLearner(Learner[EnsembleQ, RlpdSettings]):
    """Trains the ensemble in place; the target ensemble is its moving average.

    generator: samples the subsets of members.
    """

    def __init__(
        self, network: EnsembleQ, settings: RlpdSettings, device: torch.device, generator: np.random.Generator
    ) -> None:
        super().__init__(network, settings, device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self._generator = generator
        self._parameters: list[Tensor] = list(self.network.parameters())
        self._targets: list[Tensor] = list(self.target.parameters())
        self.optimiser = torch.optim.Adam(self._parameters, eps=settings.adam_epsilon, fused=True)

    def update(self, batch: Transitions, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        """Take one optimiser step on L + imitation · Σ_i mean_b J_E,i·[b is a demonstration]."""
        actions = self._tensor(batch.actions)
        rewards = self._tensor(batch.rewards) * self.settings.reward_scale
        q = self.network.member_values(self._tensor(batch.observations).flatten(1))
        with torch.no_grad():
            following = self._tensor(batch.next_observations).flatten(1)
            subset = self._generator.choice(self.network.members, self.settings.subset, replace=False)
            target = rlpd.subset_target(
                rewards,
                self._tensor(batch.discounts),
                self.network.member_values(following),
                self.target.member_values(following),
                self._tensor(subset),
            )
        index = actions.expand(self.network.members, -1)
        q_taken = of_actions(q, index)
        loss = rlpd.ensemble_loss(q_taken, target)
        if now.imitation:
            demonstrated = self._tensor(batch.source == DEMONSTRATIONS)
            shortfall = demonstrated * margin_loss(q, index, self.settings.margin)
            loss = loss + now.imitation * shortfall.mean(dim=1).sum()

        rate = self.settings.learning_rate * now.learning_rate
        norm = descend(self.optimiser, loss, rate, self.settings.max_gradient_norm)
        move_towards(self._targets, self._parameters, self.settings.tau)
        return self._stats(batch, q_taken.detach(), target, norm) if diagnose else None

    def _stats(self, batch: Transitions, q_taken: Tensor, target: Tensor, norm: Tensor) -> UpdateStats:
        errors = (target - q_taken).abs().mean(0).cpu().numpy()
        scalars = {
            "q_error": float((target - q_taken).square().mean().sqrt()),
            "value": float(q_taken.mean()),
            "disagreement": float(q_taken.std(dim=0, correction=0).mean()),
            "gradient_norm": float(norm),
        }
        return UpdateStats(scalars, means_by_source(batch.source, td_error=errors))


class RlpdAgent(QAgent):
    """Learns from batches of both live and demonstrated transitions.

    Demonstrations are stored separately, because the memory would overwrite them. In a phase with `demonstrations` d,
    every batch holds d of them for each live transition. d = 1 is the paper's symmetric sampling; d = 0 uses none.
    """

    learner: RlpdLearner
    settings: RlpdLoopSettings

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        if live is not None:
            self.memory.push(self.n_step.push(live, now.gamma))
        if now.live and len(self.memory) < self.settings.start:
            return
        due = self.updates_due.take(self.decisions * self.settings.updates_per_decision)
        for number in range(due):
            batch = self._batch(now)
            stats = self.learner.update(batch, now, diagnose=number == 0)
            self.log.add_batch(batch.source, stats)

    def _batch(self, now: PhaseValues) -> Transitions:
        """Live and demonstrated transitions in the phase's ratio, both sampled uniformly."""
        size, count = self.settings.batch_size, 0
        if self.demonstrations is not None:
            share = now.demonstrations / (1.0 + now.demonstrations) if now.live else 1.0
            count = min(self.demonstrations_due.take(size * share), size)
        parts = []
        if count < size:
            parts.append(self.memory.sample(size - count, 0.0, self.generator).transitions)
        if count:
            assert self.demonstrations is not None
            parts.append(self.demonstrations.sample(count, self.generator))
        return joined(parts)


new_network = EnsembleQ.untrained


def build(run: "Run[RlpdSettings, RlpdLoopSettings]") -> RlpdAgent:
    """Make the agent, which trains the policy's network in place."""
    network, loop, algorithm = critic_of(run, EnsembleQ), run.loop, run.algorithm
    require_capacity(loop, loop.num_envs * (loop.steps + algorithm.n_steps))
    if network.members < algorithm.subset:
        raise BadInput(f"algorithm.subset={algorithm.subset}: the policy's ensemble has {network.members} members")
    memory = TransitionMemory(loop.capacity, run.policy.observation)
    learner = RlpdLearner(network, algorithm, run.device, run.for_agent)
    return RlpdAgent(learner, memory, transitions_for(run), loop, run.log, run.for_agent)
