"""Atari games (extra `atari`) with the preprocessing of Mnih et al. 2015, by ale-py's vector environment."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import gymnasium
import numpy as np
from ale_py.vector_env import AtariVectorEnv as Consoles
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pydantic import Field

from ..common.settings import Settings, Share
from .actions import number_below
from .spec import Capabilities
from .vector import Infos, OwnVectorEnv, Step, in_step, infos_of_step, require_count

FRAMES_A_SECOND = 60
"""Frames a second of the console."""

KEYS = {"UP": "w", "DOWN": "s", "LEFT": "a", "RIGHT": "d", "FIRE": " ", "NOOP": "e"}
"""Keys of a person who plays, by the parts of actions' names, as ale-py has them."""

LONGEST_HISTORY = 5000
"""Decisions after which the next game gets a new seed, so that few must be replayed to continue it. A seed costs ale-py
a fifth of a second."""


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
    def decisions_per_second(self) -> float:
        """Decisions a second on the console."""
        return FRAMES_A_SECOND / self.frameskip

    @property
    def longest(self) -> int:
        """Decisions after which a game is truncated."""
        return max(round(self.time_limit * self.decisions_per_second), 1)

    def consoles(self, game: str, count: int, **more: Any) -> Consoles:
        """Make ale-py's games. They end neither at the time limit nor begin again by themselves: a game that ale-py
        truncates lacks its last picture."""
        own: dict[str, Any] = {"stack_num": self.stack, "img_height": self.size, "img_width": self.size}
        return Consoles(
            game,
            count,
            max_num_frames_per_episode=2**31 - 1,
            repeat_action_probability=self.repeat_action_probability,
            full_action_space=self.full_action_space,
            frameskip=self.frameskip,
            noop_max=self.noop_max,
            use_fire_reset=self.fire,
            reward_clipping=False,
            **{**own, **more},
        )


def console_seed(seed: Any) -> Any:
    """Return the seed, or array of seeds, that ale-py takes, from 1 to 2³¹ − 1 (it ignores 0)."""
    return 1 + seed % (2**31 - 1)


class AtariEnv(gymnasium.Env[NDArray[Any], np.int64]):
    """An Atari game with the preprocessing of Mnih et al. 2015: `ALE/Pong-v5` without `obs_type`.

    Observation: uint8 [stack, size, size], grey, oldest picture first; pictures before the game began are black. A
    decision repeats its action for `frameskip` frames; its picture is the maximum of the last two, made smaller by
    averaging areas. Action: Discrete, those that the game needs, or all 18. The reward is the game's score, not
    clipped.

    A game starts with one frame of FIRE, if it has the button, and up to `noop_max` − 1 frames in all, the others
    without a button.

    Ends: `terminated` when the game is over, `truncated` at the time limit. `info` has `lives`. See `AtariTask` for the
    settings, `AtariVectorEnv` for the form that trains. `render` returns the console's picture, uint8 [210, 160, 3],
    which the same game of a second console draws.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012  (Gymnasium's form)

    @classmethod
    def capabilities(cls, **settings: Any) -> Capabilities:
        """Return the abilities of the environment that `gymnasium.make` makes with these settings."""
        fields = {*AtariTask.model_fields}
        task = AtariTask(**{name: value for name, value in settings.items() if name in fields})
        return Capabilities(decisions_per_second=task.decisions_per_second, training=True, settings=dict(task))

    def __init__(self, game: str, render_mode: Literal["rgb_array"] | None = None, **task: Any) -> None:
        """Make the game of this name, such as "space_invaders"."""
        self.task = own = AtariTask(**task)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": own.decisions_per_second}
        self._game = own.consoles(game, 1)
        self.observation_space, self.action_space = self._game.single_observation_space, self._game.single_action_space
        self._screen, self._picture = None, np.zeros((210, 160, 3), np.uint8)
        if render_mode is not None:
            self._screen = own.consoles(
                game, 1, stack_num=1, img_height=210, img_width=160, grayscale=False, maxpool=False
            )
        self._buttons = self._game.ale.get_action_set()
        self._decisions, self._is_seeded, self._is_closed = 0, False, False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        self._require_open()
        super().reset(seed=seed)
        seeds = None
        if seed is not None or not self._is_seeded:
            seeds = np.array([console_seed(self.np_random_seed or 0)])
        self._decisions, self._is_seeded = 0, True
        observations, infos = self._game.reset(seed=seeds)
        if self._screen is not None:
            self._picture = self._screen.reset(seed=seeds)[0][0, 0]
        return observations[0], {"lives": int(infos["lives"][0])}

    def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        self._require_open()
        actions = np.array([number_below(len(self._buttons), "action", action)])
        observations, rewards, (terminated,), _, infos = self._game.step(actions)
        if self._screen is not None:
            self._picture = self._screen.step(actions)[0][0, 0]
        self._decisions += 1
        truncated = not terminated and self._decisions >= self.task.longest
        return observations[0], float(rewards[0]), bool(terminated), truncated, {"lives": int(infos["lives"][0])}

    def render(self) -> NDArray[np.uint8] | None:
        return None if self._screen is None else self._picture

    def close(self) -> None:
        self._is_closed = True

    def _require_open(self) -> None:
        if self._is_closed:
            raise gymnasium.error.ClosedEnvironmentError("the game is closed: make a new one")

    def get_action_meanings(self) -> list[str]:
        """Return the names of the actions."""
        return [button.name for button in self._buttons]

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Return the action of each combination of keys."""
        names = enumerate(self.get_action_meanings())
        return {tuple(key for part, key in KEYS.items() if part in name): action for action, name in names}


class AtariVectorEnv(OwnVectorEnv):
    """n games with the same observations as `AtariEnv`: environment i is an `AtariEnv` reset with seed + i.

    Resets, and games that follow one that ended, are as in `OwnVectorEnv`.

    training: a lost life counts as `terminated`, though the game goes on; `infos["game_goes_on"]`, bool [n], is true in
    such a step. idle_limit: decisions in a row without a reward or a lost life after which a game is truncated (an
    agent may never press FIRE again, and the game then never ends).

    `get_state` and `set_state` continue games exactly, by playing them again from their seeds.
    """

    def __init__(
        self,
        num_envs: int,
        game: str,
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        training: bool = False,
        idle_limit: int | None = None,
        **task: Any,
    ) -> None:
        require_count("num_envs", num_envs)
        if idle_limit is not None:
            require_count("idle_limit", idle_limit)
        self.task = own = AtariTask(**task)
        self._training, self._idle_limit = training, idle_limit
        self._games = own.consoles(game, num_envs)
        observations, actions = self._games.single_observation_space, len(self._games.ale.get_action_set())
        self._declare(num_envs, render_mode, autoreset_mode, own.decisions_per_second, observations, actions)
        self._lives = np.zeros(num_envs, dtype=np.int64)
        self._idle, self._decisions = np.zeros((2, num_envs), dtype=np.int64)
        self._seeds = console_seed(np.random.SeedSequence().generate_state(num_envs).astype(np.int64))

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], Infos]:
        mask, seeds = self._to_reset(seed, options)
        for row in np.flatnonzero(mask).tolist():
            if (one := seeds[row]) is not None:
                self._seeds[row] = console_seed(one)
            elif self._begun_ever[row]:
                self._seeds[row] = self._next_seeds[row]
        new = mask | ~self._begun_ever  # ale-py begins all games at first
        return self._begin(new, new), {"lives": self._lives.copy(), "_lives": mask}

    def step(self, actions: Any) -> Step:
        self._require_all_begun()
        choices = np.asarray(actions, dtype=np.int64)
        self._keep(choices)
        observations, paid, terminated, _, states = self._games.step(choices)
        rewards, lives = paid.astype(np.float64), states["lives"].astype(np.int64)
        lost, self._lives = lives < self._lives, lives
        self._decisions += 1
        self._idle = np.where((rewards != 0) | lost, 0, self._idle + 1)
        is_late = (self._decisions >= self.task.longest) | (self._idle >= (self._idle_limit or np.inf))
        truncated = ~terminated & is_late
        over, every = terminated | truncated, np.ones(self.num_envs, dtype=np.bool_)
        infos = infos_of_step({"lives": lives}, observations, over)
        if over.any():
            long = over & (np.array([*map(len, self._commands)]) >= LONGEST_HISTORY)
            self._seeds[long] = self._next_seeds[long]
            observations = self._begin(over, long)
        if self._training:
            infos |= {"game_goes_on": lost & ~over, "_game_goes_on": every}
            terminated = terminated | lost
        return observations, rewards, terminated, truncated, infos

    def get_state(self) -> dict[str, object]:
        """Return the seeds and actions that led to the games under way, for `set_state`."""
        return {"seeds": self._seeds.copy(), "actions": [*map(np.array, self._commands)]}

    def set_state(self, state: dict[str, Any]) -> NDArray[np.uint8]:
        """Continue the games that `get_state` found under way, by playing them again: less than a minute. Returns the
        observations."""
        observations, _ = self.reset(seed=0)
        for new, running, actions in in_step(state["actions"]):
            if new.any():
                self._seeds[new] = np.asarray(state["seeds"])[new]
                observations = self._begin(new, new)
            if running.any():
                observations = self.step(actions)[0]
        return observations

    @property
    def _next_seeds(self) -> NDArray[np.int64]:
        return console_seed(self._seeds + self.num_envs)  # type: ignore[no-any-return]

    def _begin(self, mask: NDArray[np.bool_], seeded: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Begin games where `mask`, bool [n], is true: from their seeds where `seeded` is, else with the random numbers
        that follow those of the game before. Return all observations."""
        self._forget(seeded)
        self._begun_ever |= seeded
        seeds = np.where(seeded, self._seeds, -1)[mask]
        observations, infos = self._games.reset(seed=seeds, options={"reset_mask": mask})
        self._lives = infos["lives"].astype(np.int64)
        self._idle[mask] = self._decisions[mask] = 0
        return observations  # type: ignore[no-any-return]
