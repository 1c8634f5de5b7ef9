"""A game of any Gymnasium environment on the page, which a person plays alone or takes over from a policy."""

import io
import itertools
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ...common.errors import BadInput, quoted
from ...common.shared_settings import LARGEST_SEED
from ...datasets.control import PERSON, POLICY, Branch, coached
from ...datasets.exchange.imported import ImportDefaults, imported_episode
from ...datasets.origin import NO_ORIGIN, Origin
from ...datasets.schema import DatasetInfo, Episode
from ...envs.actions import Env
from ..collector import facts_of_run
from ..game_writer import new_name
from ..source import Identity, next_game
from . import messages

if TYPE_CHECKING:
    from ...policies.policy import Policy  # which loads PyTorch
    from ...policies.state import ArrayState

REPEATED = 50
"""Decisions that are played twice to see if games can go back."""


class EnvironmentPlay:
    """A game from a reset with this seed. env: one that `EnvironmentSpec.make` made, which gives nothing but what an
    episode can hold."""

    def __init__(self, env: Env, info: DatasetInfo, seed: int) -> None:
        self.env, self._info, self._seed = env, info, seed
        observation, start = self.env.reset(seed=self._seed)
        self._infos = [start]
        self.observations = [self._info.observation.array(observation)]
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self.terminated = self.truncated = False

    def again(self, steps: int) -> "EnvironmentPlay":
        """Play the first decisions once more, from the same seed. BadInput if the environment gives another game."""
        try:
            replay = EnvironmentPlay(self.env, self._info, self._seed)
            for action in self.actions[:steps]:
                replay.step(action)
        except Exception as error:  # of any environment
            why = f"{quoted(error, 200) or type(error).__name__}, so the game cannot go back"
            raise BadInput(f"{self._info.environment.id}: {why}") from None
        ended = self.over and steps == len(self.actions)
        same = all(np.array_equal(*both) for both in zip(replay.observations, self.observations, strict=False))
        if not same or replay.over != ended:
            raise BadInput(
                f"{self._info.environment.id}: the same seed and actions give another game, so it cannot go back"
            )
        return replay

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated

    def step(self, action: int) -> None:
        """Play a decision. Whatever the environment raises passes."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.observations.append(self._info.observation.array(observation))
        self._infos.append(info)
        self.actions.append(action)
        self.rewards.append(float(np.float32(reward)))
        self.terminated, self.truncated = terminated, truncated

    def picture(self) -> bytes:
        """The environment's picture, grey or in colours, as a PNG; the fastest compression, as the page is on this
        machine."""
        picture, file = np.asarray(self.env.render()), io.BytesIO()
        Image.fromarray(picture[..., 0] if picture.shape[2:] == (1,) else picture).save(file, "PNG", compress_level=1)
        return file.getvalue()

    def result(self) -> dict[str, Any]:
        """The end of the game, as the page shows it."""
        outcome = "terminated" if self.terminated else "truncated"
        return {"outcome": outcome, "total": sum(self.rewards), "steps": len(self.actions)}

    def episode(self, player: str, source: str, epsilon: float, origin: Origin = NO_ORIGIN) -> Episode:
        """The game as far as it was played, with the player's probabilities smoothed by ε."""
        actions, rewards = np.array(self.actions, dtype=np.int16), np.array(self.rewards)
        of_run = facts_of_run(actions, self._infos) if self._info.environment.capabilities.keys else {}
        return imported_episode(
            self._info, ImportDefaults(player, epsilon), np.stack(self.observations), actions, rewards,
            terminated=self.terminated, source=source, origin=origin, **{"times": None, "seed": self._seed, **of_run},
        )  # fmt: skip


def repeats_games(env: Env, info: DatasetInfo) -> bool:
    """True if the same seed and actions give the same observations twice, so that its games can go back."""
    game = EnvironmentPlay(env, info, seed=1)
    for action in np.random.default_rng(0).integers(info.actions, size=REPEATED).tolist():
        game.step(action)
        if game.over:
            break
    try:
        game.again(len(game.actions))
    except BadInput:
        return False
    return True


class Coach:
    """The policy of the games that a person corrects. Each has a number, which goes on after those in `folder`; its
    start and its draws follow from the seed and the number.

    games: identity of all of them, without the number. back: decisions that one goes back at a time; with 0 a game
    cannot go back.
    """

    def __init__(self, policy: "Policy", games: Identity, folder: Path, back: int) -> None:
        self.policy, self.games, self.back = policy, games, back
        self._numbers = itertools.count(next_game(folder, games))

    def new_number(self) -> int:
        """Number of a game, or of a line that begins by going back."""
        return next(self._numbers)

    def start(self, number: int) -> tuple[int, np.random.Generator | None]:
        """Seed of a game's reset, and the source of its draws, None for a greedy policy."""
        random = np.random.default_rng([self.games.origin.seed or 0, number])
        seed = int(random.integers(LARGEST_SEED + 1))
        return seed, None if self.games.origin.greedy else random


@dataclass(frozen=True)
class _Decision:
    """memory: of the policy before it. probabilities: the policy's. drawn_with: those that its action was drawn with,
    None for a person's."""

    memory: "ArrayState"
    probabilities: NDArray[np.float32]
    drawn_with: NDArray[np.float32] | None


class EnvironmentGame:
    """A game from a reset with a seed of its own, which a person plays alone or takes over from a policy.

    A frame is a decision. Where `meant` gives no action, it is skipped: the game waits for the player. env renders
    `rgb_array` and is played by one game at a time. If it fails, the game ends as truncated with the decision before,
    and `report` is called with the reason.

    meant: the action of the keys that the person holds, given as bits. coach: None for a person alone. name: of the
    current line, see `Origin.page_game`.
    """

    def __init__(
        self,
        env: Env,
        meant: Callable[[int], int | None],
        info: DatasetInfo,
        player: str,
        epsilon: float,
        report: Callable[[str], None] = lambda text: None,
        coach: Coach | None = None,
    ) -> None:
        self._meant, self._player, self._epsilon = meant, player, epsilon
        self._report, self._problem = report, ""
        self._lock = threading.Lock()  # between the play and the copies of the game
        self.name = new_name()
        self.number = None if coach is None else coach.new_number()
        self._random: np.random.Generator | None = None
        if coach is None or self.number is None:
            seed = secrets.randbelow(LARGEST_SEED + 1)
        else:
            seed, self._random = coach.start(self.number)
        self.play = EnvironmentPlay(env, info, seed)
        self._frames = 0
        self._pressed = self._recorded = False
        self._coach = coach
        self.branch: Branch | None = None
        self._decisions: list[_Decision] = []
        self._memory: ArrayState = () if coach is None else coach.policy.initial_state(1)

    @property
    def over(self) -> bool:
        """True once the game has ended by itself."""
        return self.play.over

    @property
    def to_record(self) -> bool:
        """True if there is something to record: a person's game from the first key on, of a policy's game what no
        episode has yet."""
        own = self._has_own if self._coach else self._pressed and bool(self.play.actions)
        return own and not self._recorded

    @property
    def _has_own(self) -> bool:
        """True if the current line has a decision that no other one has."""
        return len(self._decisions) > (0 if self.branch is None else self.branch.step)

    def result(self) -> dict[str, Any]:
        """The end of the game, as the page shows it."""
        return {**self.play.result(), **({"problem": self._problem} if self._problem else {})}

    def episode(self) -> Episode:
        """The game as far as it was played, which is recorded now."""
        with self._lock:
            self._recorded = True
            return self._episode()

    def so_far(self) -> Episode | None:
        """The same for a copy, None if there is nothing to record; called in another thread."""
        with self._lock:
            return self._episode() if self.to_record else None

    def picture(self, number: int, changed: bool = True) -> bytes:
        """Encode the picture of this game, which the page numbers. changed: false if the page has the picture."""
        image = self.play.picture() if changed else b""
        return messages.picture(number, self._frames, sum(self.play.rewards), image)

    def advance(self, number: int, keys: Sequence[int]) -> bytes:
        """Play these frames, see `frame`, until the game is over; encode the last picture."""
        before = len(self.play.actions)
        for bits in keys:
            if self.over:
                break
            self._frames += 1
            with self._lock:
                self.frame(bits)
        return self.picture(number, len(self.play.actions) > before)

    def frame(self, bits: int) -> None:
        """Play a decision in which the person holds these keys (bits), or `POLICY_ACTS`, unless the game is over. In a
        frame of `NOBODY` the game waits."""
        self._pressed = self._pressed or bits > 0
        if self.over or bits == messages.NOBODY:
            return
        try:
            self._decide(bits)
        except Exception as error:  # of any environment
            self._fail(quoted(error, 300) or type(error).__name__)

    def go_back(self) -> Episode | None:
        """Return to an earlier state; the line that is left, None if all of it is in an episode.

        A game that cannot go back is over there, with all that was played.
        """
        self._frames = 0
        if self._coach is None or not self._coach.back or self._problem:
            return None
        with self._lock:
            place = max(len(self._decisions) - self._coach.back, 0)
            own, line = self._has_own, self._episode() if self.to_record else None
            try:
                self.play = self.play.again(place)
            except BadInput as error:
                self._fail(str(error))
                return None
            if own:
                assert self.number is not None
                self.branch, self.number = Branch(self.number, place), self._coach.new_number()
                self._recorded, self.name = False, new_name()
            elif self.branch is not None:
                self.branch = Branch(self.branch.game, min(self.branch.step, place))
            if place < len(self._decisions):
                self._memory = self._decisions[place].memory
            del self._decisions[place:]
            return line

    def _decide(self, bits: int) -> None:
        if self._coach is None:
            if (action := self._meant(bits)) is not None:
                self.play.step(action)
            return
        policy, before = self._coach.policy, self._memory
        odds, memory = policy.step(self.play.observations[-1][None], before)
        action, drawn_with = self._meant(bits), None
        if bits == messages.POLICY_ACTS:
            from ...policies.policy import choose

            actions, (drawn_with,) = choose(odds, None if self._random is None else self._random.random(1))
            action = int(actions[0])
        if action is None:
            return
        self.play.step(action)
        if memory:
            reward = np.array(self.play.rewards[-1:], dtype=np.float32)
            memory = policy.feed(memory, np.array([action]), reward)
        self._memory = memory
        self._decisions.append(_Decision(before, odds[0], drawn_with))

    def _fail(self, problem: str) -> None:
        """End the game because of its environment."""
        self.play.truncated = True
        self._problem = problem
        self._report(f"{problem}; the game is kept up to the {len(self.play.actions)} decisions before")

    def _episode(self) -> Episode:
        if self._coach is None:
            return self.play.episode(self._player, "page", self._epsilon, Origin(page_game=self.name))
        games = self._coach.games
        origin = replace(games.origin, game=self.number, page_game=self.name)
        episode = self.play.episode(self._player, games.source, self._epsilon, origin)
        drawn_with = [one.drawn_with for one in self._decisions]
        actors = np.array([PERSON if mu is None else POLICY for mu in drawn_with], dtype=np.int8)
        odds = np.stack([one.probabilities for one in self._decisions])
        own = [mu for mu in drawn_with if mu is not None]
        return coached(episode, actors, own, policy_probabilities=odds, branch=self.branch)
