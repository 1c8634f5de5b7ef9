"""`qwop-dataset reestimate`: copy a dataset with behaviour probabilities re-estimated by cloning its player.

Each episode's come from a clone that never saw it (cross-fitting).
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from ..common.errors import BadInput
from ..common.progress import plain_console, progress_bar
from ..datasets.behaviour_probabilities import CLONED, floored
from ..datasets.editing.new_dataset import finish, new_folder, write_dataset
from ..datasets.reader import Dataset, open_dataset
from ..datasets.schema import Episode
from ..policies.devices import choose_device, use_one_thread
from .clone import clone
from .measures import measure
from .settings import ReestimateSettings


def run(settings: ReestimateSettings) -> None:
    """Write the dataset `out`, whole or not at all: the same episodes, with μ from clones that never saw them."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    use_one_thread()
    with new_folder(out, [dataset.folder]) as folder:
        episodes = reestimate(dataset, settings, console)
        write_dataset(folder, dataset.info, episodes, len(episodes), console)
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
    """The episodes with μ := π̂, in the dataset's order. Shows its progress.

    Episodes are dealt to the folds at random. The clone that estimates the probabilities of one fold is fitted to all
    other folds, because a clone is overconfident about actions that it was trained on. No probability is below the
    floor, which keeps importance weights finite.
    """
    cloning, device, actions = settings.cloning, choose_device(settings.device), dataset.info.actions
    folds, floor, episodes = settings.folds, settings.floor, list(dataset)
    for path, episode in zip(dataset.files, episodes, strict=True):
        if episode.shares_control:
            raise BadInput(
                f"{path}: a policy and a person shared control, and the policy's probabilities are exact; leave such "
                "games out with qwop-dataset copy"
            )
    if folds > len(episodes):
        raise BadInput(f"folds={folds}: expected 2 to {len(episodes)}, the number of episodes")
    if floor >= 1 / actions:
        raise BadInput(f"floor={floor:g}: expected less than 1/{actions}, as there are {actions} actions")
    order = np.random.default_rng(settings.seed).permutation(len(episodes))
    estimated = list(episodes)
    with progress_bar("passes", console) as bar:
        task = bar.add_task("cloning", total=folds * cloning.epochs)
        for fold in range(folds):
            bar.update(task, description=f"fold {fold + 1} of {folds}")
            held_out = set(order[fold::folds].tolist())
            others = [episode for number, episode in enumerate(episodes) if number not in held_out]
            policy = clone(others, dataset.info, cloning, settings.seed + fold, lambda *_: bar.advance(task), device)
            bar.update(task, completed=(fold + 1) * cloning.epochs)  # early stopping may have left passes out
            for number in held_out:
                mu = floored(policy.probabilities(episodes[number].observations[:-1]), floor)
                estimated[number] = replace(
                    episodes[number], behaviour_probabilities=mu, mu_kind=CLONED, mu_epsilon=None
                )
    return estimated
