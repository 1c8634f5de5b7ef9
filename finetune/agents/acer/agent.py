"""ACER agent: stores live play and demonstrations in memory and updates from both."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ....common.errors import BadInput
from ....policies.networks import Actor, ActorCritic, with_q_head
from ...experience.sequences import (
    DEMONSTRATIONS,
    LIVE,
    Sequences,
    concatenate,
    discounted_returns,
    interleave,
)
from ...log import RunLog
from ...replay.behaviour import Behaviour, is_uniform
from ...replay.demonstrations import Demonstrations, RecordedSequences, sequences_for
from ...replay.sequence_memory import SequenceMemory
from ...schedules.environments import rewarded_alike
from ...schedules.phase import Phase, PhaseValues
from ..agent import Agent, FractionalCounter, MakeNetwork, Part, of_kind
from .learner import AcerLearner
from .settings import AcerLoopSettings, AcerSettings

if TYPE_CHECKING:
    from ...run import Run

MARGIN = 0.25
"""Margin for a better policy, beyond the returns seen so far: a fraction of their range."""


class ReturnRange:
    """The smallest and largest discounted return of any step of the episodes seen so far.

    A critic that bootstraps from actions absent from the data can diverge; the returns seen so far bound the plausible
    values. Live play arrives as sequences of `streams` games that continue from one sequence to the next.
    demonstrations: rewards [T] of each demonstrated episode, which a player achieved.
    """

    def __init__(self, streams: int, demonstrations: Sequence[NDArray[np.floating]] = ()) -> None:
        self._demonstrations = demonstrations
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

    def add_demonstrations(self, gamma: float) -> None:
        """Add the demonstrations, in an environment with their rewards."""
        for rewards in self._demonstrations:
            self.add_episode(rewards, gamma)

    def add_live(self, live: Sequences, gamma: float) -> None:
        """Add the episodes that end in these sequences."""
        for stream, (rewards, over) in enumerate(zip(live.rewards, live.terminated | live.truncated, strict=True)):
            start = 0
            for end in (np.flatnonzero(over) + 1).tolist():
                self.add_episode(np.array([*self._open[stream], *rewards[start:end].tolist()]), gamma)
                self._open[stream], start = [], end
            self._open[stream] += rewards[start:].tolist()

    def restart(self) -> None:
        """Reset all statistics, because rewards or their discount change; see `add_demonstrations`."""
        self._low, self._high = np.inf, -np.inf
        self.drop_partial_episodes()

    def drop_partial_episodes(self) -> None:
        """Discard unfinished episodes, which will not be continued."""
        self._open = [[] for _ in self._open]

    def get_state(self) -> dict[str, object]:
        return {"open": [list(one) for one in self._open], "low": float(self._low), "high": float(self._high)}

    def set_state(self, state: dict[str, Any]) -> None:
        self._open = [list(one) for one in state["open"]]
        self._low, self._high = float(state["low"]), float(state["high"])


@dataclass(eq=False)
class AcerAgent(Agent):
    """Learns from live play and from memory.

    Each iteration stores its live sequences and their share of demonstrations, updates once on the live sequences, and
    then Poisson(`replay_ratio`) times on samples from memory. achieved: the discount of each phase, by its name, in
    which the demonstrations' rewards are those of play.
    """

    learner: AcerLearner
    memory: SequenceMemory
    demonstrations: Demonstrations[Sequences] | None
    behaviour: Behaviour
    returns: ReturnRange
    settings: AcerLoopSettings
    log: RunLog
    generator: np.random.Generator
    achieved: Mapping[str, float] = field(default_factory=dict)
    demonstrations_due: FractionalCounter = field(default_factory=FractionalCounter)

    def fit_initial_values(self, play: Callable[[], Sequences], now: PhaseValues) -> None:
        """Fit the critic to the initial policy. Skipped for an untrained, uniform policy, which is learned together
        with its critic."""
        if not self.settings.value_decisions:
            return
        with self.log.timer.section("fitting values"):
            rounds = math.ceil(self.settings.value_decisions / self.settings.decisions)
            rollouts = [play() for _ in range(rounds)]
            together = concatenate(rollouts)
            if not is_uniform(together.behaviour_probabilities):
                self.learner.fit_values(together, now.gamma)
            for sequences in rollouts:
                self.memory.push(sequences)
                self.returns.add_live(sequences, now.gamma)

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        timer = self.log.timer
        with timer.section("memory"):
            demonstrations = self._next_demonstrations(now)
            parts = [part for part in (live, demonstrations) if part is not None]
            self.memory.push(interleave(*parts) if len(parts) == 2 else parts[0])
            if live is not None:
                self.returns.add_live(live, now.gamma)
            self.learner.clip_bootstrap(self.returns.bounds)
        if live is not None:
            with timer.section("learning"):
                self.learner.update(live, now)
        if len(self.memory) < self.settings.start:
            return
        for number in range(int(self.generator.poisson(self.settings.replay_ratio))):
            with timer.section("memory"):
                batch = self.memory.sample(self.settings.num_envs, self.generator)
                batch = self.behaviour.at_sampling(batch, self.learner.probabilities)
            with timer.section("learning"):
                stats = self.learner.update(batch, now, diagnose=number == 0)
            self.log.add_batch(batch.source, stats)

    def begin_phase(self, phase: Phase) -> None:
        if not phase.uses_demonstrations:
            self.memory.remove(DEMONSTRATIONS)
        if not phase.live:
            self.memory.remove(LIVE)
            self.returns.drop_partial_episodes()
        if phase.name in self.achieved:
            self.returns.add_demonstrations(self.achieved[phase.name])

    def change_environment(self) -> None:
        self.returns.restart()
        self.memory.clear()

    def drop_partial_episodes(self) -> None:
        self.returns.drop_partial_episodes()

    def measurements(self) -> dict[str, float]:
        shares = {f"memory/{source}": share for source, share in self.memory.shares().items()}
        row = shares | {"memory/sequences": float(len(self.memory))}
        if self.learner.bounds is not None:
            row["learner/value_low"], row["learner/value_high"] = self.learner.bounds
        return row

    @property
    def parts(self) -> Mapping[str, Part]:
        return {
            "generator": self.generator,
            "demonstrations_due": self.demonstrations_due,
            "returns": self.returns,
            "learner": self.learner,
            "memory": self.memory,
            "demonstrations": self.demonstrations,
        }

    def _next_demonstrations(self, now: PhaseValues) -> Sequences | None:
        """Demonstrations to store in this iteration; None in a phase without demonstrations."""
        if self.demonstrations is None or not now.uses_demonstrations:
            return None
        count = self.demonstrations_due.take(now.demonstrations * self.settings.num_envs)
        return self.behaviour.at_insertion(self.demonstrations.next(count), self.learner.probabilities)


def new_network(settings: AcerSettings) -> MakeNetwork:
    """The untrained network of these settings."""
    return lambda observation, actions, generator: ActorCritic(observation, actions, settings.hidden, generator)


def build(run: "Run[AcerSettings, AcerLoopSettings]") -> AcerAgent:
    """Make the agent, which trains the policy's network in place. A PPO network gets a Q head first."""
    policy, loop, phases = run.policy, run.loop, run.settings.phases
    if isinstance(policy.network, Actor):
        network = with_q_head(policy.network, torch.Generator().manual_seed(run.settings.seed))
    else:
        network = of_kind(policy.network, ActorCritic, "acer")
    most = max(phase.demonstrations.largest for phase in phases)
    if loop.capacity < loop.num_envs * (1 + most):
        raise BadInput(
            f"loop.capacity={loop.capacity}: too small for one iteration, which brings {loop.num_envs} live sequences "
            f"and {loop.num_envs * most:g} of demonstrations"
        )
    demonstrations, behaviour = sequences_for(run), Behaviour(run.settings.behaviour)
    learner = AcerLearner(network, run.algorithm, run.device)
    returns, achieved = ReturnRange(loop.num_envs), dict[str, float]()
    if demonstrations is not None and run.demonstrations is not None:
        recorded = demonstrations.items
        assert isinstance(recorded, RecordedSequences)
        behaviour.prepare(recorded, policy.probabilities, str(run.demonstrations.folder))
        learner.tolerance = recorded.spread
        returns = ReturnRange(loop.num_envs, recorded.rewards)
        alike = rewarded_alike(phases, policy.environment)
        achieved = {phase.name: gamma for phase, gamma, same in zip(phases, run.gammas, alike, strict=True) if same}
        if alike[0]:
            returns.add_demonstrations(run.gammas[0])
    memory = SequenceMemory(loop.capacity, loop.steps, policy.observation, policy.actions)
    return AcerAgent(learner, memory, demonstrations, behaviour, returns, loop, run.log, run.for_agent, achieved)
