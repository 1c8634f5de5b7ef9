"""Choice of a clone's decision rate: clones of the same games at several rates play, and the best runner is kept.

They play greedily, as drawn, and as drawn with sharpened probabilities. A greedy clone can repeat a mistake forever, a
drawn one slips now and then; a sharpened one does less of both.

A person changes keys at any frame. Decisions that are too rare lose what the person did, frequent ones are mostly
repeats of the last, and which rate gives a clone that runs depends on the player.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from ..datasets.embedded import embedded_dataset
from ..datasets.reader import Dataset, open_dataset
from ..datasets.relabelled_dataset import can_be_relabelled, with_task
from ..datasets.schema import Episode
from ..envs.qwop.task import FRAMES_A_SECOND
from ..evaluation.evaluate import Evaluation, evaluate
from ..evaluation.settings import EvaluationSettings
from ..policies.policy import Policy
from .clone import clone
from .settings import PretrainSettings

GAMES = 30
"""Games of a trial in each way to play. They are not those that the kept clone is measured in."""

SEED_OF_TRIALS = 1_000_003
"""Added to the run's seed for the games of trials."""

CLEARLY = 0.2
"""Difference of two shares of finished games above which one way to play is clearly better."""

SHARPNESS = 5.0
"""Sharpness of a sharpened clone. With 1, 2, 3, 5 and 10 the worst of three clones of a finisher's games finishes 44,
63, 64, 77 and 64 of 100 drawn games, and greedily 58 %."""

WAYS = {"greedy": (True, 1.0), "drawn": (False, 1.0), "sharpened": (False, SHARPNESS)}
"""The ways to play: whether greedily, and with which sharpness."""

SEED_OF_CLONES = 7_919
"""Distance of the seeds of clones of the same games."""


@dataclass(frozen=True)
class Trial:
    """A clone at one decision rate. dataset: the games that it was cloned from. games: its own, in the order of
    `WAYS`."""

    frames_per_step: int
    dataset: Dataset
    clone: Policy
    games: tuple[Evaluation, ...]

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key: games finished in the best way to play, then metres."""
        return max(map(_success, self.games))

    @property
    def finishes(self) -> int:
        """Games finished in the best way to play."""
        return round(self.rank[0] * GAMES)

    @property
    def policy(self) -> Policy:
        """The clone, sharpened if it finishes more games so than with its own probabilities, and marked to be played so
        if it finishes more than greedily, too."""
        greedy, chance, sharp = (_success(games)[0] for games in self.games)
        if sharp <= chance:
            return self.clone
        return replace(self.clone, sharpness=SHARPNESS, greedy=sharp <= greedy)

    def __str__(self) -> str:
        shares, metres = zip(*map(_success, self.games), strict=True)
        finishes = (f"{round(share * GAMES)} of {GAMES} {way}" for share, way in zip(shares, WAYS, strict=True))
        rate = decisions_a_second(self.frames_per_step)
        return f"{rate}: {', '.join(finishes)} ({', '.join(f'{mean:.1f}' for mean in metres)} m)"


def decisions_a_second(frames_per_step: int) -> str:
    """The decision rate in words: '15 a second'."""
    return f"{FRAMES_A_SECOND / frames_per_step:g} a second"


def rates_to_try(dataset: Dataset, frames_per_step: Sequence[int] | None) -> tuple[int, ...]:
    """The rates to clone a dataset at, in frames per decision; empty if it is cloned as it was recorded.

    Games of policies whose probabilities were recorded, of other environments and without keys stay as recorded.
    """
    if frames_per_step is None or not dataset.played_by_people or not can_be_relabelled(dataset):
        return ()
    return tuple(dict.fromkeys(frames_per_step))


def games_for_scaling(dataset: Dataset) -> list[Episode]:
    """Embedded games as this dataset observes them, if none of its own games was finished; else none.

    Scaled by falls alone, what lies beyond them (the hurdle, the finish, speed) would have enormous values, which
    nothing could be learned from later.
    """
    if not dataset.played_by_people or not can_be_relabelled(dataset):
        return []
    if any(episode.outcome == "finished" for episode in dataset):
        return []
    task = dataset.info.environment.all_settings
    names = ("frames_per_step", "observation", "observation_lag")
    return list(with_task(open_dataset(embedded_dataset()), *(task[name] for name in names)))


def try_clone(games: Dataset, frames: int, number: int, settings: PretrainSettings, device: torch.device) -> Trial:
    """Clone games, which are at this rate, and let the clone play. number: of the clone of these games."""
    seed = settings.seed + number * SEED_OF_CLONES
    policy = clone(games, games.info, settings.cloning, seed, device=device, scaled_with=games_for_scaling(games))
    seed = settings.seed + SEED_OF_TRIALS
    how = EvaluationSettings(episodes=GAMES, seed=seed, max_idle_frames=settings.max_idle_frames)
    evaluations = (
        evaluate(replace(policy, sharpness=sharpness), how.with_(greedy=greedy)) for greedy, sharpness in WAYS.values()
    )
    return Trial(frames, games, policy, tuple(evaluations))


def best(trials: Sequence[Trial]) -> Trial:
    """The trial that runs best; where none finishes, the one nearest to the embedded games' rate, which can show it
    how."""
    if any(trial.finishes for trial in trials):
        return max(trials, key=lambda trial: trial.rank)
    return min(trials, key=lambda trial: trial.frames_per_step)


def runs_greedily(games: Sequence[Evaluation], policy: Policy) -> bool:
    """False if a clone finishes clearly more of its drawn games than of its greedy ones: then it is to be played drawn.
    A sharpened one, if it finishes more at all.

    games: greedy and drawn ones; without any, the clone is played as it is marked.
    """
    if not games:
        return policy.greedy
    greedy, chance = (_success(one)[0] for one in games)
    return chance <= greedy + (CLEARLY if policy.sharpness == 1.0 else 0.0)


def _success(evaluation: Evaluation) -> tuple[float, float]:
    """Share of games finished and mean metres; without a track, the mean return alone counts."""
    figures = evaluation.summary()
    if "finishes" not in figures:
        return 0.0, figures["mean_return"]
    return figures["finishes"] / figures["episodes"], figures["mean_metres"]
