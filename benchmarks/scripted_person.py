"""A scripted person who corrects a policy, for repeatable figures: another policy's keys, late and with slips.

It takes over when the play looks wrong, lets go after a second without trouble, and goes back from a fall. It sees the
present frame and never the future.

    python benchmarks/scripted_person.py runs/me/policy.safetensors data/scripted --minutes 5
"""

import argparse
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.engine import layout as at
from qwop.envs.names import ACTIONS, FRAMES_A_SECOND
from qwop.envs.qwop.observations import observe_as
from qwop.policies.devices import use_one_thread
from qwop.policies.files import load_policy
from qwop.policies.policy import Policy
from qwop.recorder.page.environment_game import Coach, EnvironmentGame, coached_environment
from qwop.recorder.page.messages import POLICY_ACTS
from qwop.recorder.settings import RecorderPageSettings
from qwop.recorder.source import Source, identity_of, next_game

LEANS = (-1.0, 0.2)
"""Leans of a runner's trunk that look usual, radians from upright; backwards is negative."""

LOWEST = 1.5
"""Height of the trunk, in units downwards from the start's, below which a runner looks as if it falls."""

CALM_SECONDS = 1.0
"""Time without trouble after which the person lets go."""

LONGEST_SLIP = 3
"""Decisions for which a slip keeps the keys, at most."""

UNLIKELY = 0.2
"""Probability of an action under the person's policy, below which it looks wrong."""

LOOKED_BACK, AGREED = 15, 0.6
"""Decisions that the person has in mind, and the share of them that has to look right."""


@dataclass(frozen=True)
class Hands:
    """Delay and slips of the hands that play what was meant. late: decisions. slips: share of the decisions in which
    the keys are kept for one to `LONGEST_SLIP` decisions."""

    late: int = 1
    slips: float = 0.05


class Eyes(Protocol):
    """Judgement of the present state, by the present and the past, never the future. idle: what is held before the
    first keys, as `choose` gives it."""

    idle: int

    def choose(self) -> int:
        """The number of the action that the person means, plus 1."""
        ...

    def trouble(self) -> bool:
        """True if the play looks wrong."""
        ...


class QwopEyes:
    """Plays as a policy of QWOP would, and judges by the trunk's lean and height."""

    idle = ACTIONS.index("none") + 1

    def __init__(self, policy: Policy, game: EnvironmentGame) -> None:
        self._policy, self._game = policy, game
        self._kind = str(policy.environment.all_settings["observation"])

    def choose(self) -> int:
        env = self._game.env.unwrapped
        observation = observe_as(self._kind, env.state[None], env.events[None], env.hidden[None])
        return int(self._policy.act(observation)[0][0]) + 1

    def trouble(self) -> bool:
        state = self._game.env.unwrapped.state
        return (
            not LEANS[0] < float(state[at.TORSO, at.ANGLE]) + np.pi / 2 < LEANS[1]
            or float(state[at.TORSO, at.Y]) > LOWEST
        )


class EnvironmentEyes:
    """Plays as a policy of the same environment would, and judges by the share of actions that it would have taken."""

    idle = 0

    def __init__(self, policy: Policy, game: EnvironmentGame) -> None:
        self._policy, self._game = policy, game
        self._agreements: deque[bool] = deque(maxlen=LOOKED_BACK)

    def choose(self) -> int:
        likely = self._policy.probabilities(self._game.observations[-1][None])[0]
        return int(likely.argmax()) + 1

    def trouble(self) -> bool:
        if self._game.actions:
            before, action = self._game.observations[-2][None], self._game.actions[-1]
            self._agreements.append(bool(self._policy.probabilities(before)[0][action] >= UNLIKELY))
        return sum(self._agreements) < AGREED * len(self._agreements)


class ScriptedPerson:
    """Sees trouble and takes over, plays late and with slips, and lets go after a second without trouble.

    calm: decisions without trouble after which the person lets go. whole: the person plays the whole game.
    """

    def __init__(
        self, game: EnvironmentGame, eyes: Eyes, hands: Hands, random: np.random.Generator, calm: float,
        *, whole: bool = False,
    ) -> None:  # fmt: skip
        self._enough = calm
        self._game, self._eyes, self._hands, self._random, self._whole = game, eyes, hands, random, whole
        self._queue: deque[int] = deque()
        self._slip = 0
        self._calm = 0
        self._playing = False
        self._alone = whole
        """True from a takeover without a key to the first key: the policy does not act meanwhile."""

    def take_over(self) -> None:
        """Play from now on, until all is calm."""
        self._playing, self._calm, self._slip = True, 0, 0
        self._queue = deque([self._eyes.idle] * self._hands.late)
        self._alone = True

    def frame(self) -> int:
        """Look at the game, let go if all is calm, and return what is held in the next decision."""
        trouble = self._eyes.trouble()
        self._calm = 0 if trouble else self._calm + 1
        if not self._playing and (trouble or self._whole):
            self._playing, self._slip = True, 0
            self._queue = deque([self._eyes.idle] * self._hands.late)
        if self._playing and not self._whole and self._calm > self._enough:
            self._playing = False
        held = self._keys() if self._playing else 0
        self._alone = self._alone and self._playing and not held
        return held if held or self._alone else POLICY_ACTS

    def _keys(self) -> int:
        choice = self._eyes.choose()
        if self._random.random() < self._hands.slips:
            self._slip = int(self._random.integers(1, LONGEST_SLIP + 1))
        self._queue.append(choice if self._slip == 0 else self._queue[-1] if self._queue else 0)
        self._slip = max(0, self._slip - 1)
        return self._queue.popleft()


@dataclass(frozen=True)
class ScriptedSettings:
    """policy: that runs. person: policy whose keys the person presses. minutes: of play; the last game is played to its
    end. whole: the person plays whole games. late, slips: see `Hands`. attempts: times that the person goes back from a
    fall in one game. fps: decisions a second in other environments than QWOP; None: as they are shown."""

    policy: str
    person: str = "champion"
    player: str = "scripted"
    minutes: float = 5.0
    whole: bool = False
    late: int = 1
    slips: float = 0.05
    attempts: int = 2
    greedy: bool = False
    seed: int = 0
    back: float = 3.0
    max_idle_frames: int = 30
    fps: float | None = None
    epsilon: float = 0.05


def record_scripted(settings: ScriptedSettings, folder: Path) -> None:
    """Record the games of a scripted person into a dataset."""
    source = open_scripted(settings, folder)
    writer = DatasetWriter(folder, source.info)
    for episode in source.episodes:
        writer.write(episode)


def open_scripted(settings: ScriptedSettings, folder: Path) -> Source:
    """Play until the minutes are over; every game is played to its end. BadInput for a person who cannot play."""
    use_one_thread()
    policy = load_policy(settings.policy)
    person = load_person(settings.person, policy)
    page = RecorderPageSettings(
        policy=settings.policy, player=settings.player, greedy=settings.greedy, seed=settings.seed,
        epsilon=settings.epsilon,
    )  # fmt: skip
    info = DatasetInfo(coached_environment(policy), policy.observation, policy.actions)
    games = identity_of(page, settings.policy)
    qwop = info.environment.capabilities.keys
    env = info.environment.make(**({"max_idle_frames": settings.max_idle_frames} if qwop else {}))
    fps = settings.fps or float(env.metadata.get("render_fps") or FRAMES_A_SECOND)
    coach = Coach(policy, games, itertools.count(next_game(folder, games)), round(settings.back * fps))

    def new_game() -> EnvironmentGame:
        return EnvironmentGame(env, number_of, info, settings.player, settings.epsilon, coach=coach)

    def eyes(game: EnvironmentGame) -> Eyes:
        return QwopEyes(person, game) if qwop else EnvironmentEyes(person, game)

    return Source(info=info, episodes=_episodes(new_game, eyes, settings, fps))


def number_of(keys: int) -> int | None:
    """The action that is held as its number plus 1."""
    return keys - 1 if keys else None


def load_person(name: str, policy: Policy) -> Policy:
    """Load the policy that plays for a person who corrects `policy`; BadInput for one that cannot."""
    person, spec = load_policy(name), policy.environment
    if person.initial_state(1) or spec.capabilities.keys != person.environment.capabilities.keys:
        raise BadInput(
            f"{name}: a policy of {person.environment}; to play for a person it has to be one of {spec.id} without a "
            "memory"
        )
    if not spec.capabilities.keys:
        person.require_fit(policy.observation, policy.actions, name, str(spec))
    return person


def _episodes(
    new_game: Callable[[], EnvironmentGame], eyes: Callable[[EnvironmentGame], Eyes], settings: ScriptedSettings,
    fps: float,
) -> Iterator[Episode]:  # fmt: skip
    """Yield the games and the lines that begin before their ends, until the minutes are over."""
    remaining = settings.minutes * 60 * fps
    hands = Hands(settings.late, settings.slips)
    while remaining > 0:
        game = new_game()
        random = np.random.default_rng([settings.seed, game.number or 0, 1])
        scripted = ScriptedPerson(game, eyes(game), hands, random, CALM_SECONDS * fps, whole=settings.whole)
        for attempt in range(settings.attempts + 1):
            if attempt:
                game.go_back()
                scripted.take_over()
            first = len(game.actions)
            while not game.over:
                game.advance([scripted.frame()])
            remaining -= len(game.actions) - first
            episode = game.episode()
            yield episode
            if episode.outcome != "fell" or remaining <= 0:
                break


def main() -> None:
    parser = argparse.ArgumentParser(description="Record games of a policy that a scripted person corrects.")
    parser.add_argument("policy", help="policy that runs: its file, or champion")
    parser.add_argument("folder", type=Path, help="dataset of the games")
    for name, default in (("person", "champion"), ("minutes", 5.0), ("late", 1), ("slips", 0.05), ("seed", 0)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--whole", action="store_true", help="the person plays whole games")
    options = vars(parser.parse_args())
    folder = options.pop("folder")
    record_scripted(ScriptedSettings(**options), folder)


if __name__ == "__main__":
    main()
