"""`source=policy`: games of a policy, with the exact probabilities that its actions are drawn with."""

from dataclasses import replace
from pathlib import Path

from ..common.errors import BadInput, naming
from ..datasets.behaviour_probabilities import RECORDED
from ..datasets.schema import DatasetInfo, Episode
from ..envs.actions import action_names
from ..envs.spec import EnvironmentSpec, interface_of
from ..policies.devices import use_one_thread
from ..policies.files import load_policy
from ..policies.rollout import play
from .settings import PolicySettings
from .source import Source, identity_of, next_game


def open_policy(settings: PolicySettings, folder: Path) -> Source:
    """Play games of a policy and seed, continuing after those in `folder`. Games are yielded as they end.

    Raises BadInput for a file that is not a policy and for invalid settings.
    """
    use_one_thread()
    policy = load_policy(settings.policy, overrides=settings.environment.keys())
    own = policy.environment
    environment = EnvironmentSpec(own.id, {**own.settings, **settings.environment})
    policy = replace(policy, environment=environment)
    with naming(settings.policy):
        able = environment.capabilities
    if settings.max_idle_frames and not able.idle_start:
        raise BadInput(
            f"source.max_idle_frames={settings.max_idle_frames}: {environment.id} has no idle frames at the start; "
            "leave it at 0"
        )
    more = {"max_idle_frames": settings.max_idle_frames} if settings.max_idle_frames else {}
    with naming(settings.policy):  # raises for invalid settings now, rather than at the first game
        env = environment.make(**more)
        interface = interface_of(env.observation_space, env.action_space, str(environment))
        policy.require_fit(*interface, settings.policy, str(environment))
        names = None if able.action_names else action_names(env)
        env.close()
    other = None if environment == own else str(environment)
    games = identity_of(settings, settings.policy, other, settings.max_idle_frames)
    first = next_game(folder, games)
    notes = [f"{settings.policy}: playing {environment}", *environment.limit_note]
    if first:
        notes.append(f"{folder} already has games of this policy and seed: continuing with game {first + 1}")
    if settings.greedy and settings.episodes > 1 and able.idle_start and not settings.max_idle_frames:
        notes.append("all greedy games from the same start are the same: set source.max_idle_frames, for example to 30")
    names_of_play = ("episodes", "seed", "greedy", "num_envs", "max_idle_frames")
    rollout = play(policy, **{name: getattr(settings, name) for name in names_of_play}, first=first, ordered=False)
    episodes = (
        Episode(
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
            source=games.source,
            mu_kind=RECORDED,
            seed=game.seed,
            metres=float(game.info["distance"]) if able.runs else None,
            origin=replace(games.origin, game=game.index),
            max_idle_frames=games.max_idle_frames,
        )
        for game in rollout
    )
    info = DatasetInfo(environment, policy.observation, policy.actions, action_names=names)
    return Source(info, episodes, total=settings.episodes, notes=notes)
