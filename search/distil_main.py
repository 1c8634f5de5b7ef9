"""`qwop-distil`: train a policy to play the games that were searched with it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ..common.command import write_configuration
from ..common.command_line import next_command
from ..common.errors import BadInput
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console, progress_bar
from ..common.settings import to_plain
from ..datasets.editing.new_dataset import require_outside
from ..datasets.reader import open_dataset
from ..datasets.schema import Episode
from ..envs.spec import EnvironmentSpec
from ..policies.devices import choose_device
from ..policies.files import load_policy, save_policy
from ..policies.networks import LayeredNetwork
from ..policies.policy import Policy
from ..policies.rollout import Game, play
from ..policies.threads import use_one_thread
from .distil import distil
from .found import seconds_of
from .settings import DistilCommandSettings

POLICY = "policy.safetensors"

LATE = 0.3
"""Probability of a late decision in half of the policy's own games, so that it stays as sure of itself with delays."""


def run(settings: DistilCommandSettings) -> None:
    """Distil, and write the policy to `out`."""
    require_outside(Path(settings.out), [*map(Path, settings.games)])
    with exclusive_lock(Path(settings.out), "out"):
        _distil(settings)


def _distil(settings: DistilCommandSettings) -> None:
    out, console, device = Path(settings.out), plain_console(), choose_device(settings.device)
    if (out / POLICY).exists():
        raise BadInput(f"{out}: holds a policy already, which stays; name another folder with out=, or move it away")
    use_one_thread()
    policy = load_policy(settings.policy)
    policy = replace(policy, environment=policy.environment.without("delay"))  # as its games were searched
    network = policy.network
    if not isinstance(network, LayeredNetwork) or policy.observation.is_image or policy.environment.id != "QWOP-v1":
        raise BadInput(f"{settings.policy}: expected a memoryless policy of numbers for QWOP-v1, as a search needs")
    found = _finished(settings, policy)
    write_configuration(settings, out)
    with progress_bar("steps", console) as bar:
        task = bar.add_task("its own games", total=None)
        games = _with_own(found, policy, settings.keep)
        states = torch.from_numpy(np.concatenate([game.observations[:-1] for game in games]))
        actions = torch.from_numpy(np.concatenate([game.actions for game in games]).astype(np.int64))
        own = torch.from_numpy(_own_states(policy, settings))
        bar.update(task, total=settings.distil.steps)

        def show(missed: int) -> None:
            bar.update(task, advance=1, description=f"{missed:,} of {len(actions):,} decisions missed")

        network.to(device)
        missed = distil(network, states.to(device), actions.to(device), own.to(device), settings.distil, show)
        network.to("cpu")
    made = {"command": "qwop-distil", "from": dict(policy.training), "settings": to_plain(settings)}
    saved = save_policy(out / POLICY, replace(policy, training=made, greedy=True, sharpness=1.0))
    console.print(
        f"{len(games)} games: {len(actions) - missed:,} of {len(actions):,} decisions are the policy's now\n"
        f"policy: {saved}\n{next_command('qwop-evaluate', policy=saved)}"
    )


def _finished(settings: DistilCommandSettings, policy: Policy) -> dict[int, Episode]:
    """The fastest finished game from each start, by its frames up to the end of the first decision.

    BadInput if there is none, or for games of another environment.
    """
    found: dict[int, Episode] = {}
    for folder in settings.games:
        dataset = open_dataset(folder)
        if dataset.info.environment.without("delay") != policy.environment:
            raise BadInput(
                f"{dataset.folder}: games of {dataset.info.environment}, but the policy plays {policy.environment}; "
                "search with this policy"
            )
        for game in dataset:
            if game.outcome == "finished":
                if game.keys is None:
                    raise BadInput(
                        f"{dataset.folder}: games without the keys of each frame, which those of a search have"
                    )
                start = len(game.keys[0])
                found[start] = min(found.get(start, game), game, key=seconds_of)
    if not found:
        raise BadInput(f"games={[*settings.games]}: no finished game; search for some with qwop-search")
    return found


def _with_own(found: Mapping[int, Episode], policy: Policy, starts: int) -> list[Episode | Game]:
    """The games found and the policy's own greedy ones from the first `starts`: for each, the fastest that finishes."""
    games: dict[int, Episode | Game] = dict(found)
    if starts:
        for game in play(policy, episodes=starts, seed=0, greedy=True, idle_frames=range(starts)):
            if game.outcome == "finished" and game.keys is not None:
                start = len(game.keys[0])
                games[start] = min(games.get(start, game), game, key=seconds_of)
    return list(games.values())


def _own_states(policy: Policy, settings: DistilCommandSettings) -> NDArray[np.float32]:
    """States of the policy's own games, float32 [k, size]."""
    late = EnvironmentSpec(policy.environment.id, {**policy.environment.settings, "delay": LATE})
    states = []
    for environment, greedy in ((policy.environment, False), (late, True), (late, False)):
        games = play(
            policy,
            episodes=settings.own_games,
            seed=settings.distil.seed,
            greedy=greedy,
            max_idle_frames=settings.max_idle_frames,
            environment=environment,
        )
        states += [game.observations[:-1] for game in games]
    return np.concatenate(states)
