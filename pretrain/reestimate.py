"""`qwop-dataset reestimate`: copy a dataset with behaviour probabilities re-estimated by cloning its player.

Each episode's come from a clone that never saw it (cross-fitting).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ..common.errors import BadInput
from ..common.progress import plain_console, progress_bar
from ..datasets.behaviour_probabilities import CLONED, floored
from ..datasets.editing.new_dataset import finish, new_folder, write_dataset
from ..datasets.reader import Dataset, open_dataset
from ..datasets.schema import Episode
from ..policies.devices import choose_device
from ..policies.threads import use_one_thread
from .clone import clone
from .measures import measure
from .settings import ReestimateSettings

ActionProbabilities = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""π(·|s), float32 [n, A], of observations [n, *shape]."""

Fit = Callable[[Sequence[Episode], int], ActionProbabilities]
"""Clones the player of the given episodes, for one fold; folds are numbered from 0."""


def cross_fitted(
    episodes: Sequence[Episode], fit: Fit, *, folds: int, floor: float, seed: int
) -> Iterator[tuple[int, Episode]]:
    """Yield each episode's index and the episode with μ := π̂, fold by fold.

    Episodes are dealt to `folds` folds at random. The clone that estimates the probabilities of one fold is fitted to
    all other folds, because a clone is overconfident about actions that it was trained on. No probability is below
    `floor`, which keeps importance weights finite. Raises BadInput unless there are 2 … len(episodes) folds.
    """
    if not 2 <= folds <= len(episodes):
        raise BadInput(f"folds={folds}: expected 2 to {len(episodes)}, the number of episodes")
    count = episodes[0].behaviour_probabilities.shape[1]
    if not 0 < floor < 1 / count:
        raise BadInput(f"floor={floor:g}: expected more than 0 and less than 1/{count}, as there are {count} actions")
    order = np.random.default_rng(seed).permutation(len(episodes))
    for fold in range(folds):
        held_out = set(order[fold::folds].tolist())
        clone = fit([episode for index, episode in enumerate(episodes) if index not in held_out], fold)
        for index in sorted(held_out):
            episode = episodes[index]
            probabilities = floored(clone(episode.observations[:-1]), floor)
            yield index, replace(episode, behaviour_probabilities=probabilities, mu_kind=CLONED, mu_epsilon=None)


def run(settings: ReestimateSettings) -> None:
    """Write the dataset `out`, whole or not at all: the same episodes, with μ from clones that never saw them."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    use_one_thread()
    with new_folder(out, [dataset.folder]) as folder:
        episodes = reestimate(dataset, settings, console)
        write_dataset(folder, dataset.info, episodes, len(episodes), console, [])
    measures = measure(
        np.concatenate([episode.behaviour_probabilities for episode in episodes]),
        np.concatenate([episode.actions for episode in episodes]),
    )
    console.print(
        f"of actions that the clones never saw: {measures.nats:.3f} nats each, the most probable one taken in "
        f"{measures.accuracy:.1%}, calibration error {measures.calibration_error:.3f}"
    )
    finish(out, console)


def reestimate(dataset: Dataset, settings: ReestimateSettings, console: Console) -> list[Episode]:
    """The episodes with new probabilities, in the dataset's order. Shows its progress."""
    cloning, device = settings.cloning, choose_device(settings.device)
    episodes = list(dataset)
    for path, episode in zip(dataset.files, episodes, strict=True):
        if episode.shares_control:
            raise BadInput(
                f"{path}: a policy and a person shared control, and the policy's probabilities are exact; leave such "
                "games out with qwop-dataset copy"
            )
    with progress_bar("passes", console) as progress:
        task = progress.add_task("cloning", total=settings.folds * cloning.epochs)

        def fit(others: Sequence[Episode], fold: int) -> ActionProbabilities:
            progress.update(task, description=f"fold {fold + 1} of {settings.folds}")
            policy = clone(
                others, dataset.info, cloning, settings.seed + fold, lambda *_: progress.advance(task), device
            )
            # Early stopping may have left passes out.
            progress.update(task, completed=(fold + 1) * cloning.epochs)
            return policy.probabilities

        pairs = cross_fitted(episodes, fit, folds=settings.folds, floor=settings.floor, seed=settings.seed)
        return [episode for _, episode in sorted(pairs, key=lambda pair: pair[0])]
