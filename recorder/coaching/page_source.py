"""A person corrects a policy on a local page in the browser."""

from pathlib import Path
from typing import Any

from ...common.errors import BadInput
from ...common.progress import plain_console
from ...policies.files import load_policy
from ...policies.threads import use_one_thread
from ..page.environment_keys import key_map
from ..page.environment_source import decisions_a_second, environment_server, require_pictures
from ..page.library import Library
from ..page.server import PageServer
from ..settings import EnvironmentPageSettings, RecorderPageSettings
from ..source import Source
from .environment_stage import repeats_games
from .page_game import CoachedPageGame
from .recording import Recording

COACH_KEYS = ("t", "m")
"""Keys of the page, besides Backspace and its own, while a policy is corrected."""


def open_coached_page(settings: RecorderPageSettings | EnvironmentPageSettings, folder: Path, news: str = "") -> Source:
    """Serve the page of a policy's games, which are recorded as they end or are left by going back.

    news: a line that the page shows. BadInput for invalid settings.
    """
    assert settings.policy is not None
    use_one_thread()
    if isinstance(settings, EnvironmentPageSettings):
        return _open_environment(settings, folder, news)
    if not (played := load_policy(settings.policy).environment).capabilities.keys:
        raise BadInput(
            f"source.policy={settings.policy}: plays {played}, not QWOP; give source=environment with source.id"
        )
    recording = Recording(settings, folder)
    _rehearse(recording)
    server = PageServer(
        Library(folder, {}),
        lambda: CoachedPageGame(recording.new_game(), settings.back),
        {"player": settings.player, "coach": _coach(settings, news, goes_back=True)},
        settings.port,
    )
    return server.source(recording.info, settings.open)


def _rehearse(recording: Recording) -> None:
    """Play a frame of QWOP and go back: kernels are loaded, or compiled, now rather than as a person first does."""
    game = recording.rehearsal()
    game.frame(1)
    game.go_back(0)


def _open_environment(settings: EnvironmentPageSettings, folder: Path, news: str) -> Source:
    assert settings.policy is not None
    policy = load_policy(settings.policy)
    spec = policy.environment
    if spec.id != settings.id or settings.settings:
        raise BadInput(
            f"source.id={settings.id}: the policy {settings.policy} plays {spec}; give source.id={spec.id} without "
            "source.settings"
        )
    env = spec.make(render_mode="rgb_array")
    try:
        keys = key_map(env, policy.actions, settings.actions, settings.default_action)
        if own := {*keys.keys} & {*COACH_KEYS}:
            raise BadInput(
                f"source.actions: {min(own)} is a key of the page itself while a policy is corrected; choose others"
            )
        require_pictures(env, spec)
        recording = Recording(settings, folder, env, keys, decisions_a_second(settings, env))
        goes_back = repeats_games(env, recording.info)
        back = settings.back if goes_back else 0.0
        server = environment_server(
            settings, folder, env, keys,
            lambda: CoachedPageGame(recording.new_game(), back, plain_console().print),
            _coach(settings, news, goes_back),
        )  # fmt: skip
    except BaseException:
        env.close()
        raise
    return server.source(recording.info, settings.open, env.close)


def _coach(settings: RecorderPageSettings | EnvironmentPageSettings, news: str, goes_back: bool) -> dict[str, Any]:
    back = settings.back if goes_back else 0
    return {"release": settings.release, "back": back, "news": news}
