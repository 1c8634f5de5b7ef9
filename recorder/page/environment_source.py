"""`source=environment`: a person plays any Gymnasium environment on a local page in the browser."""

from collections.abc import Callable, Mapping
from pathlib import Path

import gymnasium

from ...common.errors import BadInput
from ...common.progress import plain_console
from ...datasets.folder import require_same
from ...datasets.schema import DatasetInfo
from ...envs.actions import Env, action_names
from ...envs.spec import EnvironmentSpec, interface_of
from ..next_command import NextCommand
from ..settings import EnvironmentPageSettings
from ..source import Source
from .environment_game import EnvironmentGame
from .environment_keys import KeyMap, key_map
from .library import Library, read_environment_entry
from .server import PageGame, PageServer

FASTEST = 30.0
"""Default limit of decisions a second, however fast the environment is shown."""


def open_environment(settings: EnvironmentPageSettings, folder: Path) -> Source:
    """Serve the page; the games played on it are recorded as they end.

    BadInput for invalid settings, for an environment without discrete actions or pictures, and if `folder` holds a
    dataset of another one.
    """
    spec = EnvironmentSpec(settings.id, settings.settings)
    if spec.capabilities.keys:
        raise BadInput(f"source.id={settings.id}: source=page plays QWOP, and records its keys frame by frame")
    env = spec.make(render_mode="rgb_array")
    try:
        shapes = interface_of(env.observation_space, env.action_space, str(spec))
        info = DatasetInfo(spec, *shapes, action_names=action_names(env))
        keys = key_map(env, info.actions, settings.actions, settings.default_action)
        require_same(folder, info)
        require_pictures(env, spec)
        report = plain_console().print
        server = environment_server(
            settings, folder, env, keys,
            lambda: EnvironmentGame(env, keys, info, settings.player, settings.epsilon, report),
            next_command=NextCommand(folder, report),
        )  # fmt: skip
    except BaseException:
        env.close()
        raise
    return server.source(info, settings.open, env.close)


def environment_server(
    settings: EnvironmentPageSettings, folder: Path, env: Env, keys: KeyMap, new_game: Callable[[], PageGame],
    coach: Mapping[str, object] | None = None, next_command: NextCommand | None = None,
) -> PageServer:  # fmt: skip
    """The server of an environment's page. coach: sent to the page where a policy plays, which never waits."""
    shown = {
        "id": EnvironmentSpec(settings.id).id,
        "fps": decisions_a_second(settings, env),
        "keys": keys.keys,
        "help": keys.help(),
        "waits": coach is None and keys.default is None,
    }
    return PageServer(
        Library(folder, {}, read_environment_entry),
        new_game,
        {"player": settings.player, "environment": shown, "coach": coach},
        settings.port,
        num_keys=len(keys.keys),
        next_command=next_command,
        max_pages=1,  # there is one environment: many cannot be drawn on several threads
    )


def decisions_a_second(settings: EnvironmentPageSettings, env: Env) -> float:
    """Decisions a second that a person plays: as set, or as the environment is shown, `FASTEST` at most."""
    return settings.fps or min(float(env.metadata.get("render_fps") or FASTEST), FASTEST)


def require_pictures(env: gymnasium.Env[object, object], spec: EnvironmentSpec) -> None:
    """BadInput if the environment, made by `spec`, cannot draw itself."""
    with spec.refusing():
        env.reset(seed=0)
        env.render()
