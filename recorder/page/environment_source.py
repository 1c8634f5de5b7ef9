"""`source=environment`: a Gymnasium environment that runs in this process and is shown on the page. A person plays it
alone, or corrects a policy."""

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...common.errors import BadInput
from ...common.progress import plain_console
from ...datasets.folder import require_same
from ...datasets.schema import DatasetInfo
from ...envs.actions import Env, action_names
from ...envs.spec import EnvironmentSpec, interface_of
from ..game_writer import GameWriter
from ..settings import EnvironmentPageSettings
from ..source import Source, identity_of, next_game
from .environment_game import Coach, EnvironmentGame, repeats_games
from .environment_keys import key_map
from .library import Library
from .messages import Keys, Message, Turn, encode, picture
from .server import RecorderServer, Send

if TYPE_CHECKING:
    from ...policies.policy import Policy  # which loads PyTorch

FASTEST = 30.0
"""Default limit of decisions a second, however fast the environment is shown."""


def open_environment(settings: EnvironmentPageSettings, folder: Path, max_idle_frames: int = 0) -> Source:
    """Serve the page; the games played on it are recorded as they end. max_idle_frames: of games of QWOP.

    BadInput for invalid settings, for an environment without discrete actions or pictures, for a policy of another one,
    and if `folder` holds another dataset.
    """
    policy = _policy(settings)
    spec = EnvironmentSpec(settings.id, settings.settings) if policy is None else coached_environment(policy)
    if policy is None and spec.capabilities.keys:
        raise BadInput(f"source.id={settings.id}: source=page plays QWOP, and records its keys frame by frame")
    with ExitStack() as opened:
        env = spec.make(render_mode="rgb_array", **({"max_idle_frames": max_idle_frames} if max_idle_frames else {}))
        opened.callback(env.close)
        info = DatasetInfo(spec, *interface_of(env.observation_space, env.action_space, str(spec)), action_names(env))
        require_same(folder, info)
        fps = settings.fps or decisions_a_second(env)
        keys = key_map(env, info.actions, settings.actions, settings.default_action)
        coach, coaching = None, None
        if policy is not None:
            file = str(settings.policy)
            policy.require_fit(info.observation, info.actions, file, str(spec))
            back, identity = settings.back if repeats_games(env, info) else 0.0, identity_of(settings, file)
            coach = Coach(policy, identity, itertools.count(next_game(folder, identity)), round(back * fps))
            coaching = {"release": settings.release, "back": back}
        with spec.refusing():
            env.reset(seed=0)
            env.render()
        environment = {
            "id": spec.id, "fps": fps, "keys": keys.keys, "help": keys.help(),
            "waits": coach is None and keys.default is None,
        }  # fmt: skip

        report = plain_console().print
        new_game = partial(EnvironmentGame, env, keys.action, info, settings.player, settings.epsilon, report, coach)
        session = partial(EnvironmentSession, new_game)
        description = {"environment": environment, "coach": coaching}
        server = RecorderServer(Library(folder), session, lambda: description, settings.port, {}, environment=True)
        opened.pop_all()
    return server.source(info, settings.open, env.close)


def _policy(settings: EnvironmentPageSettings) -> "Policy | None":
    """The policy that is corrected; BadInput for one of another environment than the settings'."""
    if settings.policy is None:
        return None
    from ...policies.files import load_policy
    from ...policies.threads import use_one_thread

    use_one_thread()
    policy = load_policy(settings.policy)
    spec = policy.environment
    if spec.id != settings.id or settings.settings:
        raise BadInput(
            f"source.id={settings.id}: the policy {settings.policy} plays {spec}; give source.id={spec.id} without "
            "source.settings"
        )
    return policy


class EnvironmentSession:
    """The games of one page, one after the other; a game that is left is recorded as far as it was played. new_game:
    starts a game."""

    def __init__(self, new_game: Callable[[], EnvironmentGame], send: Send, writer: GameWriter) -> None:
        self._new_game, self._send, self._writer = new_game, send, writer
        self._game: EnvironmentGame | None = None
        """Also after its end, from which the person can go back."""
        self._file: Path | None = None
        """The file of the game that has ended."""
        self._number, self._frames = -1, 0
        """The page's number of the game, and the frames that were played under it."""

    def receive(self, message: Message) -> None:
        """Play on with the keys that the page sends, and send it the pictures."""
        game = self._game
        match message:
            case Turn(type="start", game=number):
                self.leave()
                self._game, self._file = self._new_game(), None
                self._number, self._frames = number, 0
                self._show(self._game)
            case Turn(game=number):
                if game is not None and (self._file is None or self._file.exists()):
                    line, self._file = game.go_back(), None
                    self._number, self._frames = number, 0
                    self._show(game)
                    if line is not None:
                        self._writer.write(line)
            case Keys(game=number, keys=keys):
                if game is not None and number == self._number and not game.over:
                    before = len(game.actions)
                    self._frames += game.advance(keys)
                    self._writer.note(game.name, game.so_far)
                    self._show(game, len(game.actions) > before)
            case _:
                raise ValueError("not a message of this page")

    def leave(self) -> None:
        """Record the game as far as it was played."""
        if self._game is not None:
            self._record(self._game)

    def _show(self, game: EnvironmentGame, changed: bool = True) -> None:
        """Send what the page shows; then record a game that is over. changed: false if it has the picture."""
        self._send(picture(self._number, self._frames, sum(game.rewards), game.picture() if changed else b""))
        if game.over:
            self._file = self._record(game)
            name = self._file.stem if self._file else None
            self._send(encode(type="ended", game=self._number, name=name, **game.result()))

    def _record(self, game: EnvironmentGame) -> Path | None:
        """Write a game as far as it was played; its path, None if there is nothing to record."""
        if game.to_record:
            return self._writer.write(game.episode())
        self._writer.forget(game.name)
        return None


def coached_environment(policy: "Policy") -> EnvironmentSpec:
    """The environment of a policy's games that a person corrects: of QWOP, at its own pace and without idle frames."""
    own = policy.environment
    if not own.capabilities.keys:
        return own
    return EnvironmentSpec(own.id, {k: v for k, v in own.settings.items() if k not in ("delay", "max_idle_frames")})


def decisions_a_second(env: Env) -> float:
    """Decisions a second that a person plays unless they set another number: as the environment is shown, `FASTEST` at
    most."""
    return min(float(env.metadata.get("render_fps") or FASTEST), FASTEST)
