"""`qwop-reestimate`: copy a dataset with behaviour probabilities re-estimated by cloning its player."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from ..common.command_line import clone_next
from ..common.folder_lock import whole_folder
from ..common.progress import plain_console, progress_bar
from ..datasets.describe import describe
from ..datasets.reader import Dataset, open_dataset
from ..datasets.schema import SCHEMA_VERSION, Episode
from ..datasets.writer import DatasetWriter
from ..policies.devices import choose_device
from ..policies.threads import use_one_thread
from .clone import clone
from .cross_fitting import ActionProbabilities, cross_fitted
from .measures import measure
from .settings import ReestimateSettings


def run(chosen: ReestimateSettings) -> None:
    """Write the dataset `out`, whole or not at all: the same episodes, with μ from clones that never saw them."""
    console = plain_console()
    dataset, out = open_dataset(chosen.dataset), Path(chosen.out)
    use_one_thread()
    with whole_folder(out, "out") as folder:
        episodes = reestimate(dataset, chosen, console)
        writer = DatasetWriter(folder, replace(dataset.info, version=SCHEMA_VERSION))
        for episode in episodes:
            writer.write(episode)
    found = measure(
        np.concatenate([episode.behaviour_probabilities for episode in episodes]),
        np.concatenate([episode.actions for episode in episodes]),
    )
    console.print(
        f"of actions that the clones never saw: {found.nats:.3f} nats each, the most probable one taken in "
        f"{found.accuracy:.1%}, calibration error {found.calibration_error:.3f}"
    )
    console.print(describe(out).table(f"{out}"))
    console.print(clone_next(out))


def reestimate(dataset: Dataset, chosen: ReestimateSettings, console: Console) -> list[Episode]:
    """The episodes with new probabilities, in the dataset's order. Shows its progress."""
    cloning, device = chosen.cloning, choose_device(chosen.device)
    episodes = list(dataset)
    found: dict[int, Episode] = {}
    with progress_bar("passes", console) as progress:
        task = progress.add_task("cloning", total=chosen.folds * cloning.epochs)

        def fit(others: Sequence[Episode], fold: int) -> ActionProbabilities:
            progress.update(task, description=f"fold {fold + 1} of {chosen.folds}")
            made = clone(others, dataset.info, cloning, chosen.seed + fold, lambda *_: progress.advance(task), device)
            # Early stopping may have left passes out.
            progress.update(task, completed=(fold + 1) * cloning.epochs)
            return made.policy.probabilities

        for index, episode in cross_fitted(episodes, fit, folds=chosen.folds, floor=chosen.floor, seed=chosen.seed):
            found[index] = episode
    return [found[index] for index in range(len(episodes))]
