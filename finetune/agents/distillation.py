"""Distillation of a policy, on its own play, into a network that a learner can continue (Rusu et al. 2016)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from ...datasets.behaviour_probabilities import RECORDED
from ...datasets.schema import Episode
from ...policies.networks import ActorCritic
from ...policies.q_networks import EpsilonGreedy
from ...policies.rollout import play
from ...policies.sizes import NATURE
from ...pretrain.cloning import cloning_epochs
from ...pretrain.rows import rows_of
from ...pretrain.settings import CloningSettings
from ..experience.transitions import Transitions
from ..schedules.phase import PhaseValues
from .agent import Makes
from .q_learning import demonstrated_transitions
from .settings import Discounted, LiveSettings, QSettings

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
    rows = rows_of(own_play(run))
    network.scaler.fit(rows.observations)
    *_, nats = cloning_epochs(network, rows, CloningSettings(epochs=PASSES), seed)
    note(run, len(rows), f"with a loss of {nats:.3f} nats")
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
    rows = rows_of(games)
    network.scaler.fit(rows.observations)
    update, shown = begin(network), demonstrated_transitions(games, run.algorithm, run.gammas[0])
    now, generator = PhaseValues(run.gammas[0], imitation=1.0), np.random.default_rng(seed)
    for _ in range(UPDATES):
        update(shown[generator.integers(len(shown), size=BATCH)], now)
    with torch.no_grad():
        best = network(torch.from_numpy(rows.observations).to(run.device)).argmax(-1).cpu().numpy()
    chosen = rows.actions if rows.probabilities is None else rows.probabilities.argmax(-1)
    note(run, len(rows), f"in {np.mean(best == chosen):.0%} of which it chooses alike")
    return network


def note(run: "Run[Discounted, LiveSettings]", decisions: int, result: str) -> None:
    """Print the line that says what was distilled."""
    run.observer.note(f"note: distilled on {decisions:,} decisions of its own play, {result}")


def own_play(run: "Run[Discounted, LiveSettings]") -> list[Episode]:
    """Whole games that the run's policy plays with drawn actions in the environment of the first phase, of `DECISIONS`
    or more in all. Prints a note first, because distillation takes a minute."""
    run.observer.note(
        f"note: the policy's network ({run.policy.network.architecture}) does not fit the algorithm; it is distilled "
        "on its own play first"
    )
    policy, environment, games = run.policy, run.environments.specs[0], list[Episode]()
    while sum(map(len, games)) < DECISIONS:
        played = play(
            policy,
            episodes=AT_ONCE,
            num_envs=AT_ONCE,
            seed=run.settings.seed,
            greedy=False,
            max_idle_frames=run.settings.max_idle_frames if environment.capabilities.idle_start else 0,
            environment=environment,
            first=len(games),
        )
        games += [
            Episode(
                game.observations,
                game.actions,
                game.probabilities,
                game.rewards,
                game.times,
                None,
                game.terminated,
                game.truncated,
                game.outcome,
                player="policy",
                source="policy",
                mu_kind=RECORDED,
            )
            for game in played
        ]
    return games
