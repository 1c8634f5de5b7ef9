"""`source=policy`: games of a policy, with the exact probabilities that its actions were drawn with."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ..datasets.behaviour_probabilities import RECORDED
from ..datasets.schema import DatasetInfo, Episode
from ..envs.spec import EnvironmentSpec
from ..policies.champion import policy_path
from ..policies.files import load_policy
from ..policies.policy import Policy
from ..policies.rollout import Game, play
from .settings import PolicySettings
from .source import Source, recorded_sources


def open_policy(
    settings: PolicySettings, folder: Path, world: Callable[[EnvironmentSpec], EnvironmentSpec] | None = None
) -> Source:
    """The next games of a policy and seed: those after the ones that `folder` has of them already.

    Each is given as soon as it has ended. `world` makes of the policy's environment the one, of the same game, that
    they are played in. BadInput for a file that is no policy or settings that cannot be.
    """
    policy = load_policy(settings.policy)
    own = policy.environment
    policy = replace(policy, environment=EnvironmentSpec(own.id, {**own.settings, **settings.environment}))
    more = {"max_idle_frames": settings.max_idle_frames} if settings.max_idle_frames else {}
    policy.environment.make(**more)  # is refused now rather than when the first game is asked for
    played_in = policy.environment if world is None else world(policy.environment)
    other = "" if policy.environment == own else f" in {policy.environment}"
    origin = _origin(settings, other if played_in == policy.environment else f" in {played_in.id}")
    first = _next_game(recorded_sources(folder), origin)
    notes = [f"{settings.policy}: playing {played_in}"]
    if first:
        notes.append(f"{folder} has games of this policy and seed: going on from game {first}")
    if settings.greedy and settings.episodes > 1 and not settings.max_idle_frames:
        notes.append("greedy games differ by their start alone: for QWOP set source.max_idle_frames, 30 for example")
    return Source(
        info=DatasetInfo(policy.environment, policy.observation, policy.actions),
        episodes=_episodes(policy, settings, played_in, origin, first),
        total=settings.episodes,
        notes=notes,
    )


def _origin(settings: PolicySettings, where: str) -> str:
    """What all games of one policy file, seed and way of playing have in `Episode.source`, before their number."""
    path = policy_path(settings.policy)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    way = "greedy" if settings.greedy else "sampled"
    idle = f" after up to {settings.max_idle_frames} idle frames" if settings.max_idle_frames else ""
    return f"{path.name} sha256:{digest} {way}{idle} seed {settings.seed}{where} game "


def _next_game(sources: list[str], origin: str) -> int:
    return max((int(source.removeprefix(origin)) + 1 for source in sources if source.startswith(origin)), default=0)


def _episodes(
    policy: Policy, settings: PolicySettings, played_in: EnvironmentSpec, origin: str, first: int
) -> Iterator[Episode]:
    games = play(
        policy,
        episodes=settings.episodes,
        seed=settings.seed,
        greedy=settings.greedy,
        num_envs=settings.num_envs,
        max_idle_frames=settings.max_idle_frames,
        environment=played_in,
        first=first,
        ordered=False,
    )
    return (_episode(game, settings.player, f"{origin}{game.index}") for game in games)


def _episode(game: Game, player: str, source: str) -> Episode:
    metres = game.info.get("distance")
    return Episode(
        observations=game.observations,
        actions=game.actions,
        behaviour_probabilities=game.probabilities,
        rewards=game.rewards,
        times=game.times,
        keys=game.keys,
        terminated=game.terminated,
        truncated=game.truncated,
        outcome=game.outcome,
        player=player,
        source=source,
        probabilities_from=RECORDED,
        seed=game.seed,
        metres=None if metres is None else float(metres),
    )
