"""An Atari game as a Gymnasium environment, by Gymnasium's own wrappers."""

from typing import Annotated, Any, ClassVar, Literal

import gymnasium
import numpy as np
from ale_py.env import AtariEnv as Console
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from numpy.typing import NDArray
from pydantic import Field

from ...common.settings import Settings, Share
from ..spec import Capabilities

NOOP, FIRE = 0, "FIRE"

FRAMES_A_SECOND = 60
"""Frames a second of the console."""


class AtariTask(Settings):
    """The settings of an Atari game; see `AtariEnv`. Defaults are those of Mnih et al. 2015."""

    called: ClassVar[str] = "Atari"

    frameskip: Annotated[int, Field(ge=2, le=60)] = 4
    """Frames (60 a second) that a decision lasts; it shows the maximum of the last two."""
    stack: Annotated[int, Field(ge=1, le=16)] = 4
    """Newest pictures in an observation."""
    size: Annotated[int, Field(ge=36, le=144)] = 84
    """Height and width of a picture, in pixels."""
    noop_max: Annotated[int, Field(ge=0, le=1000)] = 30
    """A game starts with fewer than this many frames without a button, drawn. 0: none."""
    fire: bool = True
    """Press FIRE at the start of a game that has it, such as Breakout."""
    repeat_action_probability: Share = 0.0
    """Probability that a frame repeats the action before (Machado et al. 2018: 0.25)."""
    full_action_space: bool = False
    """Offer all 18 actions, not only those that the game needs."""
    time_limit: Annotated[float, Field(gt=0, le=86_400)] = 1800.0
    """Seconds of the console after which a game is truncated."""

    @property
    def observation_space(self) -> "gymnasium.spaces.Box":
        shape = (self.stack, self.size, self.size)
        return gymnasium.spaces.Box(0, 255, shape, np.uint8)

    @property
    def decisions_per_second(self) -> float:
        """Decisions a second on the console."""
        return FRAMES_A_SECOND / self.frameskip

    @property
    def longest(self) -> int:
        """Decisions after which a game is truncated."""
        return max(round(self.time_limit * self.decisions_per_second), 1)


def console_seed(seed: int) -> int:
    """Return the seed that ale-py takes, from 1 to 2³¹ − 1 (it ignores 0)."""
    return 1 + seed % (2**31 - 1)


class Noops:
    """Draws the frames without a button at the starts of games as ale-py does, from a seed of its own.

    ale-py draws from 0 to noop_max − 1 by C++'s `std::mt19937` and `std::uniform_int_distribution`.
    """

    def __init__(self, noop_max: int) -> None:
        self._range = max(noop_max, 1)
        self._generator = np.random.RandomState()

    def seed(self, seed: int) -> None:
        """Begin again from this seed."""
        self._generator = np.random.RandomState(seed)

    def draw(self) -> int:
        """Draw the frames of the next game (Lemire 2019, as GNU's C++ library does it)."""
        rejected = 2**32 % self._range
        while True:
            product = int(self._generator.randint(2**32, dtype=np.uint32)) * self._range
            if product % 2**32 >= rejected:
                return product >> 32


class AtariEnv(gymnasium.Env[NDArray[Any], np.int64]):
    """An Atari game with the preprocessing of Mnih et al. 2015: `ALE/Pong-v5` without `obs_type`.

    Observation: uint8 [stack, size, size], grey, oldest picture first; pictures before the game began are black. A
    decision repeats its action for `frameskip` frames; its picture is the maximum of the last two, made smaller by
    averaging areas. Action: Discrete, those that the game needs, or all 18. The reward is the game's score, not
    clipped.

    A game starts with one frame of FIRE, if it has the button, and up to `noop_max` − 1 frames in all, the others
    without a button.

    Ends: `terminated` when the game is over, `truncated` at the time limit. `info` has `lives`. See `AtariTask` for the
    settings, `AtariVectorEnv` for the form that trains.

    It is Gymnasium's `AtariPreprocessing` and `FrameStackObservation` around ale-py's environment. `render` returns the
    console's picture, uint8 [210, 160, 3].
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 15}  # noqa: RUF012  (Gymnasium's form)

    @classmethod
    def capabilities(cls, **settings: Any) -> Capabilities:
        """Return the abilities of the environment that `gymnasium.make` makes with these settings."""
        fields = {*AtariTask.model_fields}
        task = AtariTask(**{name: value for name, value in settings.items() if name in fields})
        return Capabilities(decisions_per_second=task.decisions_per_second, training=True, settings=dict(task))

    def __init__(self, game: str, render_mode: Literal["human", "rgb_array"] | None = None, **task: Any) -> None:
        """Make the game of this name, such as "space_invaders"."""
        self.task = AtariTask(**task)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": self.task.decisions_per_second}
        self._game = Console(
            game=game,
            obs_type="grayscale",
            frameskip=1,
            repeat_action_probability=self.task.repeat_action_probability,
            full_action_space=self.task.full_action_space,
            render_mode=render_mode,
        )
        self._start = _Start(self._game, self.task)
        self._stacked = FrameStackObservation(
            AtariPreprocessing(self._start, 0, self.task.frameskip, self.task.size),
            self.task.stack,
            padding_type="zero",
        )
        self.observation_space = self.task.observation_space
        self.action_space = gymnasium.spaces.Discrete(len(self._game.get_action_meanings()))
        self._decisions, self._closed = 0, False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        self._require_open()
        super().reset(seed=seed)
        observation, info = self._stacked.reset(seed=seed)
        self._decisions = 0
        return np.array(observation), {"lives": info["lives"]}

    def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        self._require_open()
        observation, reward, terminated, _, info = self._stacked.step(action)
        self._decisions += 1
        truncated = self._decisions >= self.task.longest
        return np.array(observation), float(reward), bool(terminated), truncated, {"lives": info["lives"]}

    def render(self) -> NDArray[np.uint8] | None:
        return self._game.render()

    def close(self) -> None:
        self._closed = True
        self._stacked.close()

    def _require_open(self) -> None:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError("the game is closed: make a new one")

    def get_action_meanings(self) -> list[str]:
        """Return the names of the actions."""
        return self._game.get_action_meanings()

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the action of each combination of keys, as ale-py names them."""
        return self._game.get_keys_to_action()


class _Start(gymnasium.Wrapper[NDArray[np.uint8], np.int64, NDArray[np.uint8], np.int64]):
    """Begins a game as ale-py's vector environment does: seed, FIRE, frames without a button."""

    def __init__(self, env: Console, task: AtariTask) -> None:
        super().__init__(env)
        self._console = env
        self._noops = Noops(task.noop_max)
        meanings = env.get_action_meanings()
        self._fire = meanings.index(FIRE) if task.fire and FIRE in meanings else None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        if seed is not None:
            self._console.ale.setInt("random_seed", console_seed(seed))
            self._console.load_game()
            self._noops.seed(console_seed(seed))
        observation, info = self.env.reset()
        fire = [] if self._fire is None else [self._fire]
        for action in fire + [NOOP] * (self._noops.draw() - len(fire)):
            observation, _, terminated, _, info = self.env.step(np.int64(action))
            if terminated:
                observation, info = self.env.reset()
        return observation, dict(info)
