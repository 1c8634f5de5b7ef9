"""`qwop-distil`: train a policy to play the games that were searched with it, and otherwise to play as before."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..common.errors import BadInput
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console, progress_bar
from ..common.run_folder import next_command, write_configuration
from ..common.settings import to_plain
from ..datasets.editing.new_dataset import require_outside
from ..datasets.reader import open_dataset
from ..datasets.schema import Episode
from ..envs.spec import EnvironmentSpec
from ..policies.devices import choose_device, undisturbed, use_one_thread
from ..policies.files import load_policy, save_policy
from ..policies.networks import Network
from ..policies.policy import Policy
from ..policies.rollout import play
from .main import seconds_of
from .settings import DistilCommandSettings, DistilSettings

POLICY = "policy.safetensors"

LATE = 0.3
"""Probability of a late decision in half of the policy's own games, so that it stays as sure of itself with delays."""

WARM_UP = 50
"""Warm-up steps of the learning rate."""

LAST = 0.02
"""Share of the learning rate that is left at the end; it falls linearly."""

ROWS = 8192
"""Decisions of which the margins are computed at once."""


def margins(logits: Tensor, actions: Tensor) -> Tensor:
    """M(s, a) = log π(a|s) − max_{b≠a} log π(b|s), [n]: positive where the greedy policy takes the action.

    logits [n, A], actions int64 [n].
    """
    columns = actions.unsqueeze(-1)
    best_other = logits.scatter(-1, columns, -torch.inf).max(-1).values
    return logits.gather(-1, columns).squeeze(-1) - best_other


def distil_loss(logits: Tensor, actions: Tensor, margin: float) -> Tensor:
    """mean max(0, 2m − M(s, a)): a multi-class hinge loss (Crammer and Singer 2001) with twice the margin required, so
    that few decisions end just below it."""
    return torch.relu(2 * margin - margins(logits, actions)).mean()


def own_play_loss(log_before: Tensor, log_now: Tensor) -> Tensor:
    """Mean KL[π_before(·|s) ‖ π(·|s)] of log-probabilities [n, A]."""
    return (log_before.exp() * (log_before - log_now)).sum(-1).mean()


@undisturbed
def distil(
    network: Network,
    states: Tensor,
    actions: Tensor,
    own: Tensor,
    settings: DistilSettings,
    progress: Callable[[int], None] = lambda missed: None,
) -> int:
    """Train the network in place. Returns the number of searched actions that the greedy policy does not take then.

        L = mean max(0, 2m − M(s, a)) + own·KL[π_before(·|s') ‖ π(·|s')]

    over searched decisions, states s float32 [n, size] and actions a int64 [n], whose margin is not large anyway, and
    states s' of the policy's own play, float32 [k, size]. `progress` is called after each step with the number of
    searched actions missed when last counted. BadInput where the training diverges.
    """
    generator = torch.Generator().manual_seed(settings.seed)
    log_before = _log_probabilities(network, own)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, betas=(0.9, 0.99))
    scale = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / WARM_UP) * max(LAST, 1.0 - step / settings.steps)
    )

    for step in range(settings.steps):
        if step % settings.mine_every == 0:
            gaps = _margins(network, states, actions)
            missed, near = int((gaps < 0).sum()), torch.nonzero(gaps < settings.near).squeeze(-1)
        batch = near
        if len(near) > settings.batch:
            batch = near[torch.randperm(len(near), generator=generator)[: settings.batch].to(near.device)]
        mine = torch.randint(len(own), (settings.own_batch,), generator=generator).to(own.device)
        log_now = network.logits(own[mine]).log_softmax(-1)
        loss = settings.own * own_play_loss(log_before[mine], log_now)
        if len(batch):
            loss = loss + distil_loss(network.logits(states[batch]), actions[batch], settings.margin)
        if not torch.isfinite(loss):
            raise BadInput(f"learning_rate={settings.learning_rate:g}: the training diverges; lower it")
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        scale.step()
        progress(missed)
    gaps = _margins(network, states, actions)
    if not torch.isfinite(gaps).all():
        raise BadInput(f"learning_rate={settings.learning_rate:g}: the training diverges; lower it")
    return int((gaps < 0).sum())


@torch.no_grad()
def _margins(network: Network, states: Tensor, actions: Tensor) -> Tensor:
    parts = zip(torch.split(states, ROWS), torch.split(actions, ROWS), strict=True)
    return torch.cat([margins(network.logits(some), choices) for some, choices in parts])


@torch.no_grad()
def _log_probabilities(network: Network, states: Tensor) -> Tensor:
    return torch.cat([network.logits(some).log_softmax(-1) for some in torch.split(states, ROWS)])


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
    if policy.initial_state(1) or policy.observation.is_image or policy.environment.id != "QWOP-v1":
        raise BadInput(f"{settings.policy}: expected a memoryless policy of numbers for QWOP-v1, as a search needs")
    finishes = _finishes(settings, policy)
    write_configuration(settings, out)
    with progress_bar("steps", console) as bar:
        task = bar.add_task("its own games", total=None)
        games = [*finishes.values()]
        states = torch.from_numpy(np.concatenate([game.observations[:-1] for game in games]))
        actions = torch.from_numpy(np.concatenate([game.actions for game in games]).astype(np.int64))
        own = torch.from_numpy(_own_states(policy, settings))
        bar.update(task, total=settings.distil.steps)

        def show(missed: int) -> None:
            bar.update(task, advance=1, description=f"{missed:,} of {len(actions):,} decisions missed")

        network.to(device)
        missed = distil(network, states.to(device), actions.to(device), own.to(device), settings.distil, show)
        network.to("cpu")
    training = {"command": "qwop-distil", "from": dict(policy.training), "settings": to_plain(settings)}
    path = save_policy(out / POLICY, replace(policy, training=training, greedy=True, sharpness=1.0))
    console.print(
        f"{len(games)} games: {len(actions) - missed:,} of {len(actions):,} decisions are the policy's now\n"
        f"policy: {path}\n{next_command('qwop-evaluate', policy=path)}"
    )


def _finishes(settings: DistilCommandSettings, policy: Policy) -> dict[int, Episode]:
    """The fastest finished game from each start, by its frames up to the end of the first decision.

    BadInput if there is none, or for games of another environment.
    """
    fastest: dict[int, Episode] = {}
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
                fastest[start] = min(fastest.get(start, game), game, key=seconds_of)
    if not fastest:
        raise BadInput(f"games={[*settings.games]}: no finished game; search for some with qwop-search")
    return fastest


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
