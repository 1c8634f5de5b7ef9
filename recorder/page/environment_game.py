"""A game of any Gymnasium environment on the page, which a person plays alone or takes over from a policy."""

import io
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ...common.errors import BadInput, quoted
from ...common.shared_settings import LARGEST_SEED
from ...datasets.control import PERSON, POLICY, Branch, coached
from ...datasets.exchange.imported import ImportDefaults, imported_episode
from ...datasets.origin import NO_ORIGIN
from ...datasets.schema import DatasetInfo, Episode
from ...envs.actions import Env
from ..collector import facts_of_run
from ..game_writer import new_name
from ..source import Identity
from .messages import NOBODY, POLICY_ACTS

if TYPE_CHECKING:
    from ...policies.policy import Policy  # which loads PyTorch
    from ...policies.state import ArrayState

REPEATED = 50
"""Decisions that are played twice to see if games can go back."""


@dataclass(frozen=True)
class Coach:
    """The policy of the games that a person corrects.

    games: identity of all of them, without the number. numbers: of games, and of lines that begin by going back; a
    game's start and its draws follow from the seed and the number. back: decisions that one goes back at a time; with 0
    a game cannot go back.
    """

    policy: "Policy"
    games: Identity
    numbers: Iterator[int]
    back: int


@dataclass(frozen=True)
class _Decision:
    """memory: of the policy before it. probabilities: the policy's. mu: those that its action was drawn with,
    None for a person's."""

    memory: "ArrayState"
    probabilities: NDArray[np.float32]
    mu: NDArray[np.float32] | None


class EnvironmentGame:
    """A game from a reset with a seed of its own, which a person plays alone or takes over from a policy.

    A frame is a decision. Where `meant` gives no action, it is skipped: the game waits for the player. If the
    environment fails, the game ends as truncated with the decision before, and `report` is called with the reason.

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
        report: Callable[[str], None] = lambda text: None,
        coach: Coach | None = None,
    ) -> None:
        self.env, self._meant, self._info = env, meant, info
        self._player, self._epsilon, self._report, self._coach = player, epsilon, report, coach
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
        self.terminated = self.truncated = self._has_keys = self._in_dataset = False
        self._problem = ""

    @property
    def over(self) -> bool:
        """True once the game has ended by itself."""
        return self.terminated or self.truncated

    @property
    def to_record(self) -> bool:
        """True if there is something to record: a person's game from the first key on, of a policy's game what no
        episode has yet."""
        own = self._has_own if self._coach else self._has_keys and bool(self.actions)
        return own and not self._in_dataset

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
        """Play these frames, see `frame`, until the game is over; their number."""
        frames = 0
        for bits in keys:
            if self.over:
                break
            frames += 1
            self.frame(bits)
        return frames

    def frame(self, bits: int) -> None:
        """Play a decision in which the person holds these keys (bits), or `POLICY_ACTS`, unless the game is over. In a
        frame of `NOBODY` the game waits."""
        if self.over or bits == NOBODY:
            return
        with self._lock:
            self._has_keys = self._has_keys or bits > 0
            try:
                self._decide(bits)
            except Exception as error:  # of any environment
                self._fail(quoted(error, 300) or type(error).__name__)

    def go_back(self) -> Episode | None:
        """Return to an earlier state; the line that is left, None if all of it is in an episode.

        A game that cannot go back is over there, with all that was played.
        """
        if self._coach is None or not self._coach.back or self._problem:
            return None
        with self._lock:
            place = max(len(self.actions) - self._coach.back, 0)
            own, line = self._has_own, self._episode() if self.to_record else None
            try:
                self.replay(place)
            except BadInput as error:
                self._fail(str(error))
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

    def replay(self, steps: int) -> None:
        """Play the first decisions once more, from the same seed. BadInput if the environment gives another game."""
        over = False
        try:
            same = np.array_equal(self._array(self.env.reset(seed=self._seed)[0]), self.observations[0])
            for action, before in zip(self.actions[:steps], self.observations[1:], strict=False):
                observation, _, terminated, truncated, _ = self.env.step(action)
                same, over = same and np.array_equal(self._array(observation), before), terminated or truncated
        except Exception as error:  # of any environment
            why = f"{quoted(error, 200) or type(error).__name__}, so the game cannot go back"
            raise BadInput(f"{self._info.environment.id}: {why}") from None
        if not same or over != (self.over and steps == len(self.actions)):
            raise BadInput(
                f"{self._info.environment.id}: the same seed and actions give another game, so it cannot go back"
            )

    def _array(self, observation: Any) -> NDArray[Any]:
        return self._info.observation.array(observation)

    def _decide(self, bits: int) -> None:
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

    def _fail(self, problem: str) -> None:
        """End the game because of its environment."""
        self.truncated, self._problem = True, problem
        self._report(f"{problem}; the game is kept up to the {len(self.actions)} decisions before")

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
        odds = np.stack([one.probabilities for one in self._decisions])
        own = [one.mu for one in self._decisions if one.mu is not None]
        return coached(episode, actors, own, policy_probabilities=odds, branch=self.branch)


def repeats_games(env: Env, info: DatasetInfo) -> bool:
    """True if the same seed and actions give the same observations twice, so that its games can go back."""
    game = EnvironmentGame(env, lambda action: action, info, "", 0)
    for action in np.random.default_rng(0).integers(info.actions, size=REPEATED).tolist():
        game.frame(action)
    try:
        game.replay(len(game.actions))
    except BadInput:
        return False
    return True
