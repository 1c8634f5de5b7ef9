"""`source=environment`: games of any Gymnasium environment, which runs in this process and is shown on the page. A
person plays them alone, or takes over from a policy."""

import io
import itertools
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ...common.errors import BadInput, quoted
from ...common.shared_settings import LARGEST_SEED
from ...datasets.control import PERSON, POLICY, Branch, coached
from ...datasets.exchange.imported import ImportDefaults, imported_episode
from ...datasets.folder import require_same
from ...datasets.origin import NO_ORIGIN
from ...datasets.schema import DatasetInfo, Episode
from ...envs.actions import Env, action_names
from ...envs.spec import EnvironmentSpec, interface_of
from ..collector import facts_of_run
from ..game_writer import GameWriter, new_name
from ..settings import EnvironmentPageSettings
from ..source import Identity, Source, identity_of, next_game
from .environment_keys import key_map
from .library import Library
from .messages import NOBODY, POLICY_ACTS, Keys, Message, Turn, encode, picture
from .server import RecorderServer, Send

if TYPE_CHECKING:
    from ...policies.networks import ArrayState
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
        keys = key_map(env, settings.actions)
        coach = None
        if policy is not None:
            file = str(settings.policy)
            policy.require_fit(info.observation, info.actions, file, str(spec))
            games = identity_of(settings, file)
            coach = Coach(policy, games, itertools.count(next_game(folder, games)), max(1, round(settings.back * fps)))
        with spec.refusing():
            env.reset(seed=0)
            env.render()
        page = {
            "environment": {
                "id": spec.id, "fps": fps, "keys": keys.keys, "help": keys.help(),
                "waits": coach is None and keys.default is None,
            },
            "coach": coach and {"release": settings.release},
        }  # fmt: skip
        new_game = partial(EnvironmentGame, env, keys.action, info, settings.player, settings.epsilon, coach)
        session = partial(EnvironmentSession, new_game)
        server = RecorderServer(Library(folder), session, lambda: page, settings.port, {}, environment=True)
        opened.pop_all()
    return server.source(info, settings.open, env.close)


def _policy(settings: EnvironmentPageSettings) -> "Policy | None":
    """The policy that is corrected; BadInput for one of another environment than the settings'."""
    if settings.policy is None:
        return None
    from ...policies.devices import use_one_thread
    from ...policies.files import load_policy

    use_one_thread()
    policy = load_policy(settings.policy)
    spec = policy.environment
    if spec.id != settings.id or settings.settings:
        raise BadInput(
            f"source.id={settings.id}: the policy {settings.policy} plays {spec}; give source.id={spec.id} without "
            "source.settings"
        )
    return policy


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


@dataclass(frozen=True)
class Coach:
    """The policy of the games that a person corrects.

    games: identity of all of them, without the number. numbers: of games, and of lines that begin by going back; a
    game's start and its draws follow from the seed and the number. back: decisions that one goes back at a time.
    """

    policy: "Policy"
    games: Identity
    numbers: Iterator[int]
    back: int


class _Decision(NamedTuple):
    """memory: of the policy before it. odds: the policy's probabilities. mu: those that its action was drawn with, None
    for a person's."""

    memory: "ArrayState"
    odds: NDArray[np.float32]
    mu: NDArray[np.float32] | None


class EnvironmentGame:
    """A game from a reset with a seed of its own, which a person plays alone or takes over from a policy.

    A frame is a decision. Where `meant` gives no action, it is skipped: the game waits for the player. If the
    environment fails, the game ends as truncated with the decision before, and the page shows the reason.

    env: one that `EnvironmentSpec.make` made, which gives nothing but what an episode can hold, and that one game at a
    time plays. meant: the action of the keys that the person holds, given as bits. coach: None for a person alone.
    name: of the current line, see `Origin.page_game`.
    """

    def __init__(
        self,
        env: Env,
        meant: Callable[[int], int | None],
        info: DatasetInfo,
        player: str,
        epsilon: float,
        coach: Coach | None = None,
    ) -> None:
        self.env, self._meant, self._info = env, meant, info
        self._player, self._epsilon, self._coach = player, epsilon, coach
        self._lock = threading.Lock()  # between the play and the copies of the game
        self.name = new_name()
        self.number: int | None = None
        self.branch: Branch | None = None
        self._seed, self._random = secrets.randbelow(LARGEST_SEED + 1), None
        self._memory: ArrayState = ()
        if coach is not None:
            self.number, origin = next(coach.numbers), coach.games.origin
            draws = np.random.default_rng([origin.seed or 0, self.number])
            self._seed = int(draws.integers(LARGEST_SEED + 1))
            self._random = None if origin.greedy else draws
            self._memory = coach.policy.initial_state(1)
        observation, start = env.reset(seed=self._seed)
        self.observations, self._infos = [info.observation.array(observation)], [start]
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self._decisions: list[_Decision] = []
        self.terminated = self.truncated = self._in_dataset = False
        self._problem = ""

    @property
    def over(self) -> bool:
        """True once the game has ended by itself."""
        return self.terminated or self.truncated

    @property
    def to_record(self) -> bool:
        """True if there is something to record: decisions that no episode has."""
        return self._has_own and not self._in_dataset

    @property
    def _has_own(self) -> bool:
        """True if the current line has a decision that no other one has."""
        return len(self.actions) > (0 if self.branch is None else self.branch.step)

    def result(self) -> dict[str, Any]:
        """The end of the game, as the page shows it."""
        outcome = "terminated" if self.terminated else "truncated"
        total, steps = sum(self.rewards), len(self.actions)
        return {"outcome": outcome, "total": total, "steps": steps, "problem": self._problem}

    def picture(self) -> bytes:
        """The environment's picture, grey or in colours, as a PNG; the fastest compression, as the page is on this
        machine."""
        picture, file = np.asarray(self.env.render()), io.BytesIO()
        Image.fromarray(picture[..., 0] if picture.shape[2:] == (1,) else picture).save(file, "PNG", compress_level=1)
        return file.getvalue()

    def episode(self) -> Episode:
        """The game as far as it was played, which is recorded now."""
        with self._lock:
            self._in_dataset = True
            return self._episode()

    def so_far(self) -> Episode | None:
        """The same for a copy, None if there is nothing to record; called in another thread."""
        with self._lock:
            return self._episode() if self.to_record else None

    def advance(self, keys: Sequence[int]) -> int:
        """Play frames in which the person holds these keys (bits), or `POLICY_ACTS`, until the game is over; their
        number. In a frame of `NOBODY` the game waits."""
        for number, bits in enumerate(keys):
            if self.over:
                return number
            with self._lock:
                try:
                    self._decide(bits)
                except Exception as error:  # of any environment
                    self._fail(error)
        return len(keys)

    def go_back(self) -> Episode | None:
        """Return to an earlier state; the line that is left, None if all of it is in an episode.

        The game is played again from its seed. One that is another game then is over, with all that was played.
        """
        if self._coach is None or self._problem:
            return None
        with self._lock:
            place = max(len(self.actions) - self._coach.back, 0)
            own, line = self._has_own, self._episode() if self.to_record else None
            try:
                self._replay(place)
            except Exception as error:  # of any environment
                self._fail(error, ", so the game cannot go back")
                return None
            if own:
                assert self.number is not None
                self.branch, self.number = Branch(self.number, place), next(self._coach.numbers)
                self._in_dataset, self.name = False, new_name()
            elif self.branch is not None:
                self.branch = Branch(self.branch.game, min(self.branch.step, place))
            if place < len(self._decisions):
                self._memory = self._decisions[place].memory
            for values in (self.actions, self.rewards, self._decisions):
                del values[place:]
            del self.observations[place + 1 :], self._infos[place + 1 :]
            self.terminated = self.truncated = False
            return line

    def _replay(self, steps: int) -> None:
        """Play the first decisions once more; ValueError if the environment gives another game."""
        observation, over = self.env.reset(seed=self._seed)[0], False
        for step, before in enumerate(self.observations[: steps + 1]):
            if over or not np.array_equal(self._array(observation), before):
                raise ValueError("the same seed and actions give another game")
            if step < steps:
                observation, _, terminated, truncated, _ = self.env.step(self.actions[step])
                over = terminated or truncated

    def _array(self, observation: Any) -> NDArray[Any]:
        return self._info.observation.array(observation)

    def _decide(self, bits: int) -> None:
        if bits == NOBODY:
            return
        if self._coach is None:
            if (action := self._meant(bits)) is not None:
                self._step(action)
            return
        policy, before = self._coach.policy, self._memory
        odds, memory = policy.step(self.observations[-1][None], before)
        action, mu = self._meant(bits), None
        if bits == POLICY_ACTS:
            from ...policies.policy import choose

            actions, (mu,) = choose(odds, None if self._random is None else self._random.random(1))
            action = int(actions[0])
        if action is None:
            return
        self._step(action)
        if memory:
            reward = np.array(self.rewards[-1:], dtype=np.float32)
            memory = policy.feed(memory, np.array([action]), reward)
        self._memory = memory
        self._decisions.append(_Decision(before, odds[0], mu))

    def _step(self, action: int) -> None:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.observations.append(self._array(observation))
        self._infos.append(info)
        self.actions.append(action)
        self.rewards.append(float(np.float32(reward)))
        self.terminated, self.truncated = terminated, truncated

    def _fail(self, error: Exception, so: str = "") -> None:
        """End the game because of its environment."""
        self.truncated, self._problem = True, (quoted(error, 300) or type(error).__name__) + so

    def _episode(self) -> Episode:
        """The game as far as it was played, with the player's probabilities smoothed by ε."""
        games = Identity("page", NO_ORIGIN, None) if self._coach is None else self._coach.games
        origin = replace(games.origin, game=self.number, page_game=self.name)
        actions = np.array(self.actions, dtype=np.int16)
        of_run = facts_of_run(actions, self._infos) if self._info.environment.capabilities.keys else {}
        episode = imported_episode(
            self._info, ImportDefaults(self._player, self._epsilon), np.stack(self.observations), actions,
            np.array(self.rewards), terminated=self.terminated, source=games.source, origin=origin,
            **{"times": None, "seed": self._seed, **of_run},
        )  # fmt: skip
        if self._coach is None:
            return episode
        actors = np.array([PERSON if one.mu is None else POLICY for one in self._decisions], dtype=np.int8)
        odds = np.stack([one.odds for one in self._decisions])
        own = [one.mu for one in self._decisions if one.mu is not None]
        return coached(episode, actors, own, policy_probabilities=odds, branch=self.branch)


class EnvironmentSession:
    """The games of one page, one after the other; a game that is left is recorded as far as it was played. new_game:
    starts a game."""

    def __init__(self, new_game: Callable[[], EnvironmentGame], send: Send, writer: GameWriter) -> None:
        self._new_game, self._send, self._writer = new_game, send, writer
        self._game: EnvironmentGame | None = None
        """Also after its end, from which the person can go back."""
        self._number, self._frames = -1, 0
        """The page's number of the game, and the frames that were played under it."""

    def receive(self, message: Message) -> None:
        """Play on with the keys that the page sends, and send it the pictures."""
        game = self._game
        match message:
            case Turn(type="start", game=number):
                self.leave()
                self._game = self._new_game()
                self._number, self._frames = number, 0
                self._show(self._game)
            case Turn(game=number):
                if game is not None:
                    line = game.go_back()
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
            path = self._record(game)
            self._send(encode(type="ended", game=self._number, name=path and path.stem, **game.result()))

    def _record(self, game: EnvironmentGame) -> Path | None:
        """Write a game as far as it was played; its path, None if there is nothing to record."""
        if game.to_record:
            return self._writer.write(game.episode())
        self._writer.forget(game.name)
        return None
