"""Demonstrations: decisions of recorded games, asked for in one way, whatever an algorithm makes of them; and their
behaviour probabilities μ in replay."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.behaviour_probabilities import floored, smoothed
from ...datasets.control import corrected, without_shared
from ...datasets.schema import Episode
from ...envs.spec import Observations
from ...pretrain.rows import LONGEST_SECONDS, Rows, reaction, rows_of, targets
from ..experience.sequences import (
    DEMONSTRATIONS,
    NStep,
    Sequences,
    Transitions,
    TruncatedObservations,
    discounted_returns,
)
from ..schedules.environments import relabelled_demonstrations, require_same_dynamics
from ..schedules.phase import PUBLISHED_RATE
from .settings import BehaviourSettings

if TYPE_CHECKING:
    from ..run import Run

Probabilities = Callable[[Observations], NDArray[np.float32]]
"""π(·|s), [n, A], of observations [n, *shape]."""

ONE_HOT_SHARE = 0.01
"""Largest share of one-hot decisions that `recorded` accepts: a stochastic agent is sometimes certain."""

Items = TypeVar("Items", covariant=True)


class Demonstrations(Generic[Items]):
    """Serves items, read by their numbers, int64 [n]: in recorded order by `next`, or drawn by `sample`.

    `next` reads from `streams` cursors that start evenly spread, move on by `stride` items, alternate, and wrap around
    at the end. The state is the number of items served.
    """

    def __init__(self, items: Any, streams: int = 1, stride: int = 1) -> None:
        self.items = items
        self._streams, self._stride, self._served = streams, stride, 0

    def next(self, n: int) -> Items:
        """The next n items in recorded order."""
        turns, stream = np.divmod(self._served + np.arange(n, dtype=np.int64), self._streams)
        self._served += n
        numbers = stream * len(self.items) // self._streams + turns * self._stride
        items: Items = self.items[numbers % len(self.items)]
        return items

    def sample(self, n: int, generator: np.random.Generator) -> Items:
        """n items, drawn uniformly with replacement."""
        items: Items = self.items[generator.integers(len(self.items), size=n)]
        return items

    def get_state(self) -> int:
        return self._served

    def set_state(self, state: int) -> None:
        self._served = int(state)


class RecordedSequences:
    """The sequences of `steps` decisions that begin at each decision of some episodes, joined end to end.

    A sequence may span the end of an episode, as in live play, and the last ones go on with the first episode. gamma:
    the discount of the returns.

    observations [len, *shape], actions int64 [len] and behaviour_probabilities float32 [len, A]: of every decision, in
    recorded order. The latter may be replaced. rewards: of each whole episode, [T]. spread: the standard deviation of
    the returns of games played to their end; 1 without any.
    """

    def __init__(self, episodes: Iterable[Episode], steps: int, gamma: float) -> None:
        every = list(episodes)
        suffixes = [without_shared(episode) for episode in every]
        lengths = np.array([len(episode) for episode in suffixes])
        ends = np.cumsum(lengths) - 1
        self._steps = steps
        self.observations = np.concatenate([episode.observations[:-1] for episode in suffixes])
        self._finals = np.stack([episode.observations[-1] for episode in suffixes])
        self._episode = np.repeat(np.arange(len(suffixes)), lengths)
        self.actions = np.concatenate([episode.actions for episode in suffixes]).astype(np.int64)
        self.rewards = [episode.rewards for episode in every]
        self._rewards = np.concatenate([episode.rewards for episode in suffixes])
        self.behaviour_probabilities = np.concatenate([episode.behaviour_probabilities for episode in suffixes])
        self._player = _to_imitate(suffixes)
        returns = np.concatenate([discounted_returns(episode.rewards, gamma) for episode in suffixes])
        self._returns = returns.astype(np.float32)
        self._terminated = np.zeros(len(self.actions), dtype=np.bool_)
        self._terminated[ends] = [episode.terminated for episode in suffixes]
        # An abandoned game did not terminate, so its last step bootstraps as at a time limit.
        self._truncated = np.zeros(len(self.actions), dtype=np.bool_)
        self._truncated[ends] = ~self._terminated[ends]
        self._known = self._terminated[ends][self._episode]
        whole = self._returns[self._known]
        self.spread = max(float(whole.std()), float(np.finfo(np.float32).tiny)) if len(whole) else 1.0

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.actions)

    def __getitem__(self, numbers: NDArray[np.int64]) -> Sequences:
        rows = (numbers[:, None] + np.arange(self._steps + 1)) % len(self)
        decisions = rows[:, :-1]
        truncated = self._truncated[decisions]
        sequence, step = truncated.nonzero()
        return Sequences(
            observations=self.observations[rows],
            actions=self.actions[decisions],
            rewards=self._rewards[decisions],
            behaviour_probabilities=self.behaviour_probabilities[decisions],
            terminated=self._terminated[decisions],
            truncated=truncated,
            finals=TruncatedObservations(sequence, step, self._finals[self._episode[decisions[sequence, step]]]),
            source=np.full(len(rows), DEMONSTRATIONS, dtype=np.int8),
            player=self._player[decisions],
            returns=self._returns[decisions],
            known=self._known[decisions],
        )


class Behaviour:
    """Sets the behaviour probabilities μ of demonstrations in replay, at the point that the mode defines.

    The modes differ in their effect on ACER where the policy gives a demonstrated action the probability π(a):

    - `recorded`: the stored probabilities. Exact for demonstrations of a stochastic agent. A greedy agent's or a
      person's are one-hot, which makes ρ meaningless, so they are refused even when mixed with others.
    - `current`: π of the learner when the demonstration enters the memory, as in the published system. ρ starts at 1,
      so traces are not cut, and the gradient towards the action has full strength however small π(a) is. Biased.
    - `current_at_sampling`: π of the learner whenever the demonstration is sampled. ρ is always 1; nothing is
      truncated.
    - `smoothed`: (1 − ε)·one-hot + ε/A. ρ is about π(a): the gradient is weak where imitation is needed, and traces are
      cut early. The default, because it does not go stale: with `current`, the stored policy ages, and ρ of
      demonstrations that stay in memory grows into the hundreds.
    - `cloned`: π of a cloned policy, mixed with a floor so that ρ stays finite. Closest to the theory.
    """

    def __init__(self, settings: BehaviourSettings) -> None:
        self._settings = settings

    def prepare(self, demonstrations: RecordedSequences, clone: Probabilities, name: str) -> None:
        """Set the μ of all demonstrations, in modes where it is known from the start.

        clone: policy for the mode `cloned`. name: of the demonstrations, for error messages. Raises BadInput for
        probabilities that cannot be used in importance weights.
        """
        mode, recorded = self._settings.mode, demonstrations.behaviour_probabilities
        if mode == "recorded":
            one_hot = float(((recorded > 0).sum(axis=1) == 1).mean())
            if one_hot > ONE_HOT_SHARE:
                raise BadInput(
                    f"behaviour.mode=recorded: {one_hot:.0%} of the decisions in {name} were recorded as certain "
                    "(one-hot), which no importance weight can use; choose current, smoothed or cloned"
                )
        elif mode == "smoothed":
            actions, epsilon = recorded.shape[1], self._settings.epsilon
            demonstrations.behaviour_probabilities = smoothed(demonstrations.actions, actions, epsilon)
        elif mode == "cloned":
            demonstrations.behaviour_probabilities = self._cloned(demonstrations, clone, name)

    def at_insertion(self, sequences: Sequences, current: Probabilities) -> Sequences:
        """Set the μ of demonstrations that enter the memory."""
        return self._replaced("current", sequences, current)

    def at_sampling(self, batch: Sequences, current: Probabilities) -> Sequences:
        """Set the μ of the demonstrations in a batch from memory, which may also hold live sequences."""
        return self._replaced("current_at_sampling", batch, current)

    def _cloned(self, demonstrations: RecordedSequences, clone: Probabilities, name: str) -> NDArray[np.float32]:
        actions, floor = demonstrations.behaviour_probabilities.shape[1], self._settings.floor
        if actions * floor >= 1:
            raise BadInput(
                f"behaviour.floor={floor:g}: {actions} actions cannot all have this probability; expected less than "
                f"{1 / actions:.3g}"
            )
        probabilities = clone(demonstrations.observations)
        if is_uniform(probabilities):
            raise BadInput(
                f"behaviour.mode=cloned: the initial policy is untrained, so it is no clone of {name}; start from a "
                "policy of qwop-pretrain, or choose current or smoothed"
            )
        return floored(probabilities, floor)

    def _replaced(self, mode: str, sequences: Sequences, current: Probabilities) -> Sequences:
        """The sequences, with μ of demonstrations replaced by the current policy's probabilities, if this is the
        mode."""
        which = np.flatnonzero(sequences.source == DEMONSTRATIONS)
        if self._settings.mode != mode or not len(which):
            return sequences
        observations = sequences.observations[which, :-1]
        behaviour = sequences.behaviour_probabilities.copy()
        behaviour[which] = current(observations.reshape(-1, *observations.shape[2:])).reshape(behaviour[which].shape)
        return replace(sequences, behaviour_probabilities=behaviour)


def is_uniform(probabilities: NDArray[np.float32]) -> bool:
    """True for the probabilities [..., A] of an untrained policy: all within a fifth of 1/A."""
    return bool(np.abs(probabilities * probabilities.shape[-1] - 1).max() < 0.2)


def sequences_for(run: "Run[Any, Any]") -> Demonstrations[Sequences] | None:
    """The demonstrations of a run as sequences of its loop, one stream for each game; None if no phase uses any.

    Rewards are those of the phases that use them; γ is that of the first of these phases.
    """
    if (episodes := _episodes(run)) is None:
        return None
    steps = run.loop.steps
    return Demonstrations(RecordedSequences(episodes, steps, _gamma(run)), run.loop.num_envs, steps)


def transitions_for(run: "Run[Any, Any]") -> Demonstrations[Transitions] | None:
    """The same as transitions of the settings' `n_steps`, with clipped rewards where the settings clip them."""
    if (episodes := _episodes(run)) is None:
        return None
    return Demonstrations(recorded_transitions(episodes, run.algorithm, _gamma(run)))


def rows_for(run: "Run[Any, Any]", lag: int | None = 0) -> Demonstrations[Rows] | None:
    """A person's decisions, for phases that imitate; None if no phase does.

    lag: decisions by which a person is late; None: measured. BadInput without demonstrations, or a person's decisions.
    """
    if not any(phase.imitates for phase in run.settings.phases):
        return None
    if run.demonstrations is None:
        raise BadInput("imitation: the run has no demonstrations; name them (demonstrations=data/kurodo)")
    require_same_dynamics(run.settings.phases, run.policy.environment, run.demonstrations)
    if lag is None:
        rate = run.policy.environment.capabilities.decisions_per_second or PUBLISHED_RATE
        lag = reaction(run.demonstrations, run.policy.probabilities, round(LONGEST_SECONDS * rate))
    rows = rows_of(run.demonstrations, policy=0.0, lag=lag)
    if not len(rows):
        raise BadInput(
            f"{run.demonstrations.folder}: a person acted in none of its decisions; there is none to imitate"
        )
    return Demonstrations(rows)


def recorded_transitions(episodes: Sequence[Episode], settings: Any, gamma: float) -> Transitions:
    """Every decision of the episodes as a transition, in recorded order, with the settings' `n_steps`."""
    recorded = RecordedSequences(episodes, sum(len(episode) for episode in episodes), gamma)
    whole = recorded[np.zeros(1, dtype=np.int64)]
    if getattr(settings, "clip_rewards", False):
        whole = whole.with_clipped_rewards()
    return NStep(settings.n_steps).push(whole, gamma)


def _episodes(run: "Run[Any, Any]") -> list[Episode] | None:
    if run.demonstrations is None or not any(phase.uses_demonstrations for phase in run.settings.phases):
        return None
    return relabelled_demonstrations(run.settings.phases, run.policy.environment, run.demonstrations)


def _gamma(run: "Run[Any, Any]") -> float:
    """γ of the first phase that uses demonstrations."""
    return run.gammas[[phase.uses_demonstrations for phase in run.settings.phases].index(True)]


def _to_imitate(episodes: list[Episode]) -> NDArray[np.float32]:
    """Probabilities to imitate in every decision, float32 [N, A]; in shared control 0 in the policy's own
    decisions."""
    if all(episode.actors is None for episode in episodes):
        recorded = rows_of(episodes, observations=False).probabilities
        if recorded is not None:
            return recorded
        actions = np.concatenate([episode.actions for episode in episodes])
        ones: NDArray[np.float32] = np.eye(episodes[0].behaviour_probabilities.shape[1], dtype=np.float32)[actions]
        return ones
    return np.concatenate([targets(episode) * corrected(episode)[:, None] for episode in episodes])
