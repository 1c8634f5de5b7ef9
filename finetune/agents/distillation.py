"""Distillation of a policy, on its own play, into a network that a learner can continue (Rusu et al. 2016)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from ...policies.networks import ActorCritic
from ...policies.q_networks import EpsilonGreedy
from ...policies.rollout import Game, play
from ...policies.sizes import NATURE
from ...pretrain.cloning import cloning_epochs
from ...pretrain.rows import NONE, Rows
from ...pretrain.settings import CloningSettings
from ..experience.sequences import DEMONSTRATIONS, Sequences, TruncatedObservations
from ..experience.transitions import NStep, Transitions, joined
from ..schedules.phase import PhaseValues
from .agent import Makes
from .settings import ClipsRewards, Discounted, LiveSettings, QSettings

if TYPE_CHECKING:
    from ..run import Run

DECISIONS, AT_ONCE = 40_000, 8
"""Decisions of the policy's own play, at least, and games played side by side."""

PASSES = 20


UPDATES, BATCH = 2_000, 256
"""Updates of Q values, and decisions of each."""

Q = TypeVar("Q", bound=EpsilonGreedy)


def distilled(run: "Run[Discounted, LiveSettings]", hidden: Sequence[int], convolutions: str = NATURE) -> ActorCritic:
    """An `ActorCritic` without a memory that decides as the run's policy does: fitted to the probabilities that the
    policy draws its actions from, in whole games of its own. Its Q head is untrained."""
    policy, seed = run.policy, run.settings.seed
    generator = torch.Generator().manual_seed(seed)
    network = ActorCritic(policy.observation, policy.actions, hidden, generator, convolutions)
    if run.rehearsed:
        return network
    rows = _rows(own_play(run))
    network.scaler.fit(rows.observations)
    *_, nats = cloning_epochs(network, rows, CloningSettings(epochs=PASSES), seed)
    _note(run, len(rows), f"with a loss of {nats:.3f} nats")
    return network


def distilled_values(
    run: "Run[QSettings, LiveSettings]",
    make: Makes[Q],
    begin: Callable[[Q], Callable[[Transitions, PhaseValues], object]],
) -> Q:
    """A network of Q values, fitted to whole games of the run's policy as if to demonstrations: by their rewards, and
    by the margin loss of their actions (Hester et al. 2018).

    make: makes the untrained network. begin: makes its learner, and returns its update.
    """
    policy, seed = run.policy, run.settings.seed
    network = make(policy.observation, policy.actions, torch.Generator().manual_seed(seed))
    if run.rehearsed:
        return network
    games = own_play(run)
    rows = _rows(games)
    network.scaler.fit(rows.observations)
    update, shown = begin(network), _transitions(games, run.algorithm, run.gammas[0])
    now, generator = PhaseValues(run.gammas[0], imitation=1.0), np.random.default_rng(seed)
    for _ in range(UPDATES):
        update(shown[generator.integers(len(shown), size=BATCH)], now)
    with torch.no_grad():
        best = network(torch.from_numpy(rows.observations).to(run.device)).argmax(-1).cpu().numpy()
    assert rows.probabilities is not None
    _note(run, len(rows), f"in {np.mean(best == rows.probabilities.argmax(-1)):.0%} of which it chooses alike")
    return network


def _note(run: "Run[Discounted, LiveSettings]", decisions: int, result: str) -> None:
    run.observer.note(
        f"note: the policy's network ({run.policy.network.architecture}) does not fit the algorithm; distilled on "
        f"{decisions:,} decisions of its own play, {result}"
    )


def own_play(run: "Run[Discounted, LiveSettings]") -> list[Game]:
    """Whole games that the run's policy plays with drawn actions in the environment of the first phase, of `DECISIONS`
    or more in all."""
    policy, environment, games = run.policy, run.environments.specs[0], list[Game]()
    while sum(map(len, games)) < DECISIONS:
        games += play(
            policy,
            episodes=AT_ONCE,
            num_envs=AT_ONCE,
            seed=run.settings.seed,
            greedy=False,
            max_idle_frames=run.settings.max_idle_frames if environment.capabilities.idle_start else 0,
            environment=environment,
            first=len(games),
        )
    return games


def _rows(games: list[Game]) -> Rows:
    """Decisions to clone, with the probabilities that their actions were drawn with."""
    taken = [game.actions.astype(np.int64) for game in games]
    return Rows(
        np.concatenate([game.observations[:-1].reshape(len(game), -1) for game in games]),
        np.concatenate(taken),
        np.concatenate([np.concatenate([[NONE], actions[:-1]]) for actions in taken]),
        np.concatenate([game.probabilities for game in games]),
    )


def _transitions(games: list[Game], settings: QSettings, gamma: float) -> Transitions:
    """Every decision of the games, as a demonstration."""
    parts = []
    for game in games:
        ends = np.arange(len(game))[None] == len(game) - 1
        one = Sequences(
            observations=game.observations[None],
            actions=game.actions.astype(np.int64)[None],
            rewards=game.rewards[None],
            behaviour_probabilities=game.probabilities[None],
            terminated=ends & game.terminated,
            truncated=ends & (not game.terminated),
            finals=TruncatedObservations(np.array([0]), np.array([len(game) - 1]), game.observations[-1:]),
            source=np.array([DEMONSTRATIONS], dtype=np.int8),
        )
        if isinstance(settings, ClipsRewards):
            one = settings.with_clipped_rewards(one)
        parts.append(NStep(settings.n_steps).push(one, gamma))
    return joined(parts)
