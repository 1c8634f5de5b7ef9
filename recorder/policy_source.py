"""`source=policy`: games of a policy, with the exact probabilities that its actions are drawn with."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ..common.errors import BadInput, naming
from ..datasets.behaviour_probabilities import RECORDED
from ..datasets.schema import DatasetInfo, Episode
from ..envs.actions import action_names
from ..envs.spec import EnvironmentSpec, interface_of
from ..policies.files import load_policy
from ..policies.policy import Policy
from ..policies.rollout import play
from ..policies.threads import use_one_thread
from .settings import PolicySettings
from .source import Identity, Source, identity_of, next_game


def open_policy(
    settings: PolicySettings, folder: Path, played_in: Callable[[EnvironmentSpec], EnvironmentSpec] | None = None
) -> Source:
    """Play games of a policy and seed, continuing after those in `folder`. Games are yielded as they end. `played_in`
    maps the policy's environment to another one of the same game in which to play. Raises BadInput for a file that is
    not a policy and for invalid settings.
    """
    use_one_thread()
    policy = load_policy(settings.policy, given=settings.environment.keys())
    own = policy.environment
    policy = replace(policy, environment=EnvironmentSpec(own.id, {**own.settings, **settings.environment}))
    with naming(settings.policy):
        capabilities = policy.environment.capabilities
    if settings.max_idle_frames and not capabilities.idle_start:
        raise BadInput(
            f"source.max_idle_frames={settings.max_idle_frames}: {policy.environment.id} has no idle frames at the "
            "start; leave it at 0"
        )
    more = {"max_idle_frames": settings.max_idle_frames} if settings.max_idle_frames else {}
    with naming(settings.policy):  # raises for invalid settings now, rather than at the first game
        env = policy.environment.make(**more)
        interface = interface_of(env.observation_space, env.action_space, str(policy.environment))
        policy.require_fit(*interface, settings.policy, str(policy.environment))
        names = None if capabilities.action_names else action_names(env)
        env.close()
    environment = policy.environment if played_in is None else played_in(policy.environment)
    other = None if policy.environment == own else str(policy.environment)
    other = other if environment == policy.environment else environment.id
    games = identity_of(settings, settings.policy, other, settings.max_idle_frames)
    first = next_game(folder, games)
    notes = [f"{settings.policy}: playing {environment}", *environment.limit_note]
    if first:
        notes.append(f"{folder} already has games of this policy and seed: continuing with game {first + 1}")
    if settings.greedy and settings.episodes > 1 and capabilities.idle_start and not settings.max_idle_frames:
        notes.append("all greedy games from the same start are the same: set source.max_idle_frames, for example to 30")
    return Source(
        info=DatasetInfo(policy.environment, policy.observation, policy.actions, action_names=names),
        episodes=_episodes(policy, settings, environment, games, first),
        total=settings.episodes,
        notes=notes,
    )


def _episodes(
    policy: Policy, settings: PolicySettings, environment: EnvironmentSpec, identity: Identity, first: int
) -> Iterator[Episode]:
    able = environment.capabilities
    for game in play(
        policy,
        episodes=settings.episodes,
        seed=settings.seed,
        greedy=settings.greedy,
        num_envs=settings.num_envs,
        max_idle_frames=settings.max_idle_frames,
        environment=environment,
        first=first,
        ordered=False,
    ):
        yield Episode(
            observations=game.observations,
            actions=game.actions,
            behaviour_probabilities=game.probabilities,
            rewards=game.rewards,
            times=game.times if able.decisions_per_second is not None else None,
            keys=game.keys,
            terminated=game.terminated,
            truncated=game.truncated,
            outcome=game.outcome,
            player=settings.player,
            source=identity.source,
            mu_kind=RECORDED,
            seed=game.seed,
            metres=float(game.info["distance"]) if able.runs else None,
            origin=replace(identity.origin, game=game.index),
            max_idle_frames=identity.max_idle_frames,
        )
