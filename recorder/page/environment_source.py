"""Pages of Gymnasium environments, which run in this process: a person plays alone (`source=environment`), or corrects
a policy."""

import itertools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...common.errors import BadInput, naming
from ...common.progress import plain_console
from ...common.shared_settings import LARGEST_SEED
from ...datasets.folder import require_same
from ...datasets.origin import Origin
from ...datasets.schema import DatasetInfo
from ...envs.actions import Env, action_names
from ...envs.names import ACTIONS, FRAMES_A_SECOND
from ...envs.spec import EnvironmentSpec, interface_of
from ..next_command import NextCommand
from ..settings import EnvironmentPageSettings, LocalPageSettings, RecorderPageSettings
from ..source import Recorded, Source, games_of
from .environment_game import Coach, EnvironmentGame
from .environment_keys import KeyMap, key_map
from .environment_play import repeats_games
from .library import Library, read_environment_entry
from .server import EnvironmentServer

if TYPE_CHECKING:
    from ...policies.policy import Policy  # which loads PyTorch

FASTEST = 30.0
"""Default limit of decisions a second, however fast the environment is shown."""

COACH_KEYS = ("t", "m")
"""Keys of the page, besides Backspace and its own, while a policy is corrected."""


def open_environment(settings: EnvironmentPageSettings, folder: Path, news: str = "") -> Source:
    """Serve the page; the games played on it are recorded as they end. news: a line that the page of a policy shows.

    BadInput for invalid settings, for an environment without discrete actions or pictures, and if `folder` holds a
    dataset of another one.
    """
    if settings.policy is not None:
        return open_corrections(settings, folder, news)
    spec = EnvironmentSpec(settings.id, settings.settings)
    if spec.capabilities.keys:
        raise BadInput(f"source.id={settings.id}: source=page plays QWOP, and records its keys frame by frame")
    with ExitStack() as opened:
        env = spec.make(render_mode="rgb_array")
        opened.callback(env.close)
        info = DatasetInfo(
            spec,
            *interface_of(env.observation_space, env.action_space, str(spec)),
            action_names=action_names(env),
        )
        keys = key_map(env, info.actions, settings.actions, settings.default_action)
        require_same(folder, info)
        report = plain_console().print

        def new_game() -> EnvironmentGame:
            return EnvironmentGame(env, keys, info, settings.player, settings.epsilon, report)

        server = _server(settings, folder, info, env, keys, new_game, next_command=NextCommand(folder, report))
        opened.pop_all()
    return server.source(info, settings.open, env.close)


def open_corrections(settings: EnvironmentPageSettings | RecorderPageSettings, folder: Path, news: str) -> Source:
    """Serve the page on which a person corrects a policy that plays in this process; see `open_environment`."""
    from ...policies.files import load_policy
    from ...policies.threads import use_one_thread

    assert settings.policy is not None
    use_one_thread()
    policy = load_policy(settings.policy)
    spec = policy.environment
    if isinstance(settings, EnvironmentPageSettings) and (spec.id != settings.id or settings.settings):
        raise BadInput(
            f"source.id={settings.id}: the policy {settings.policy} plays {spec}; give source.id={spec.id} without "
            "source.settings"
        )
    with ExitStack() as opened:
        info, games = coached_games(settings, policy, folder)
        start = {"max_idle_frames": settings.max_idle_frames} if settings.max_idle_frames else {}
        env = info.environment.make(render_mode="rgb_array", **start)
        opened.callback(env.close)
        if isinstance(settings, EnvironmentPageSettings):
            keys = key_map(env, policy.actions, settings.actions, settings.default_action)
        else:
            keys = key_map(env, policy.actions, {}, ACTIONS.index("none"))
        if own := {*keys.keys} & {*COACH_KEYS}:
            raise BadInput(
                f"source.actions: {min(own)} is a key of the page itself while a policy is corrected; choose others"
            )
        back = settings.back if repeats_games(env, info) else 0.0
        coaches = Coaches(policy, settings, games, folder, decisions_a_second(settings, env), back)

        def new_game() -> EnvironmentGame:
            coach, seed = coaches.next()
            report = plain_console().print
            return EnvironmentGame(env, keys, info, settings.player, settings.epsilon, report, coach, seed)

        shown = {"release": settings.release, "back": back, "news": news}
        server = _server(settings, folder, info, env, keys, new_game, shown)
        opened.pop_all()
    return server.source(info, settings.open, env.close)


class Coaches:
    """Makes the policy's side of each game, numbered after those in `folder`; its start and its draws follow from the
    seed and its number. fps: decisions a second."""

    def __init__(
        self, policy: "Policy", settings: LocalPageSettings, games: Recorded, folder: Path, fps: float, back: float
    ) -> None:
        self._policy, self._settings, self._games = policy, settings, games
        self._release, self._back = round(settings.release * fps), round(back * fps)
        self._numbers = itertools.count(max(games_of(folder, games), default=-1) + 1)

    def next(self) -> tuple[Coach, int]:
        """The policy's side of the next game, and the seed of its reset."""
        first = next(self._numbers)
        random = np.random.default_rng([self._settings.seed, first])
        seed = int(random.integers(LARGEST_SEED + 1))
        numbers = itertools.chain([first], self._numbers)
        drawn = None if self._settings.greedy else random
        games = self._games
        coach = Coach(self._policy, games.source, games.origin, numbers.__next__, self._release, self._back, drawn)
        return coach, seed


def coached_games(settings: LocalPageSettings, policy: "Policy", folder: Path) -> tuple[DatasetInfo, Recorded]:
    """Description of a dataset of coached games of a policy, and the games' identity but for their number.

    BadInput if the policy cannot be played, or `folder` holds another dataset.
    """
    from ...policies.champion import policy_path
    from ...policies.files import policy_digest

    assert settings.policy is not None
    own, name = policy.environment, settings.policy
    names = None
    if own.capabilities.keys:
        task = {key: value for key, value in own.settings.items() if key not in ("delay", "max_idle_frames")}
        own = EnvironmentSpec(own.id, task)
    else:
        with naming(name):
            env = own.make()
            names = None if own.capabilities.action_names else action_names(env)
            env.close()
    info = DatasetInfo(own, policy.observation, policy.actions, names)
    require_same(folder, info)
    path = policy_path(name)
    origin = Origin(sha256=policy_digest(path), seed=settings.seed, greedy=settings.greedy)
    return info, Recorded(path.name, origin, None)


def frames_a_second(policy: "Policy") -> float:
    """Frames that a coached game of a policy plays a second, unless settings give another number."""
    if policy.environment.capabilities.keys:
        return float(FRAMES_A_SECOND)
    env = policy.environment.make()
    env.close()
    return float(env.metadata.get("render_fps") or FRAMES_A_SECOND)


def decisions_a_second(settings: LocalPageSettings, env: Env) -> float:
    """Decisions a second that a person plays: as set, or as the environment is shown, `FASTEST` at most."""
    fps = settings.fps if isinstance(settings, EnvironmentPageSettings) else None
    return fps or min(float(env.metadata.get("render_fps") or FASTEST), FASTEST)


def _server(
    settings: EnvironmentPageSettings | RecorderPageSettings, folder: Path, info: DatasetInfo, env: Env, keys: KeyMap,
    new_game: Callable[[], EnvironmentGame], coach: Mapping[str, object] | None = None,
    next_command: NextCommand | None = None,
) -> EnvironmentServer:  # fmt: skip
    """The server of an environment's page, once it has drawn itself. coach: sent to the page where a policy plays,
    which never waits."""
    with info.environment.refusing():
        env.reset(seed=0)
        env.render()
    environment = {
        "id": info.environment.id,
        "fps": decisions_a_second(settings, env),
        "keys": keys.keys,
        "help": keys.help(),
        "waits": coach is None and keys.default is None,
    }
    return EnvironmentServer(
        Library(folder, {}, read_environment_entry),
        new_game,
        {"player": settings.player, "environment": environment, "coach": coach},
        settings.port,
        num_keys=len(keys.keys),
        next_command=next_command,
    )
