"""Environments of every kind of space, and of packages that need a wrapper or a call, registered by importing this
module; for `matrix.py`."""

import importlib
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

try:
    import gym_classics2

    gym_classics2.register()
except ImportError:
    pass  # its rows say that the environment is not registered

LENGTH = 12


class Kind(gymnasium.Env[Any, Any]):
    """Twelve decisions with observations and actions of a kind; the reward is 1 for the last of all actions."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, observations: Any, actions: Any, info: Any = None, not_finite: bool = False,
                 render_mode: str | None = None) -> None:  # fmt: skip
        self.observation_space, self.action_space, self.info = observations, actions, info or {}
        self.not_finite, self.render_mode, self.count = not_finite, render_mode, 0

    def seen(self) -> Any:
        if self.not_finite:
            return np.full(self.observation_space.shape, np.nan, np.float32)
        self.observation_space.seed(self.count)
        return self.observation_space.sample()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self.seen(), dict(self.info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not in {self.action_space}")
        self.count += 1
        return self.seen(), float(np.sum(np.ravel(action))), self.count >= LENGTH, False, dict(self.info)

    def render(self) -> np.ndarray[Any, Any]:
        return np.full((64, 96, 3), 20 * self.count % 256, np.uint8)


class AgainstChance(gymnasium.Env[Any, Any]):
    """A game of PettingZoo's for two, the second of whom draws among the legal moves. An illegal move loses."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, game: str, render_mode: str | None = None) -> None:
        module = importlib.import_module(f"pettingzoo.classic.{game}")
        self.render_mode, self.game = render_mode, module.env(render_mode=render_mode)
        self.me, self.other = self.game.possible_agents
        self.observation_space, self.action_space = (
            self.game.observation_space(self.me),
            self.game.action_space(self.me),
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.game.reset(seed=seed)
        return self.game.observe(self.me), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.game.step(action)
        if self.game.agent_selection == self.other and not any(self.game.terminations.values()):
            legal = self.game.observe(self.other)["action_mask"]
            self.game.step(self.np_random.choice(np.flatnonzero(legal)))
        over = any(self.game.terminations.values())
        return self.game.observe(self.me), float(self.game.rewards[self.me]), over, False, {}

    def render(self) -> Any:
        return self.game.render()[::4, ::4]


ROW = spaces.Box(-1, 1, (3,), np.float32)
KINDS: dict[str, dict[str, Any]] = {
    "Shifted": {"observations": ROW, "actions": spaces.Discrete(3, start=-1)},
    "Keyboard": {"observations": ROW, "actions": spaces.MultiBinary(2)},
    "Dials": {"observations": ROW, "actions": spaces.MultiDiscrete([2, 3])},
    "Dict": {"observations": spaces.Dict({"a": ROW, "b": spaces.Discrete(3)}), "actions": spaces.Discrete(2)},
    "Tuple": {"observations": spaces.Tuple((ROW, spaces.MultiBinary(2))), "actions": spaces.Discrete(2)},
    "Scalar": {"observations": spaces.Box(0, 1, (), np.float32), "actions": spaces.Discrete(2)},
    "ChannelsLast": {"observations": spaces.Box(0, 255, (36, 36, 9), np.uint8), "actions": spaces.Discrete(2)},
    "ChannelsFirst": {"observations": spaces.Box(0, 255, (3, 36, 36), np.uint8), "actions": spaces.Discrete(2)},
    "Frames": {"observations": spaces.Box(0, 255, (2, 3, 36, 36), np.uint8), "actions": spaces.Discrete(2)},
    "OwnInfo": {
        "observations": ROW,
        "actions": spaces.Discrete(2),
        "info": {"time": "12:30:05", "distance": {"front": 1.0}, "outcome": 5, "score": None},
    },
    "Pair": {"observations": ROW, "actions": spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3)))},
    "NotFinite": {
        "observations": spaces.Box(-np.inf, np.inf, (3,), np.float32),
        "actions": spaces.Discrete(2),
        "not_finite": True,
    },
    "Continuous": {"observations": ROW, "actions": spaces.Box(-1, 1, (2,), np.float32)},
    "Huge": {"observations": ROW, "actions": spaces.MultiBinary(16)},
}

for _name, _settings in KINDS.items():
    gymnasium.register(f"Matrix{_name}-v0", Kind, kwargs=_settings)

gymnasium.register("MatrixTicTacToe-v0", AgainstChance, kwargs={"game": "tictactoe_v3"})
