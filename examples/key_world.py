r"""An environment of one's own: a runner in a corridor, moved by a keyboard of two keys.

cd examples
qwop-record source=environment source.id=key_world:KeyWorld-v0 source.player=me     # key 0: left, key 1: right
qwop-finetune environment=key_world:KeyWorld-v0 algorithm=ppo-small schedule.decisions=20000
qwop-evaluate policy=runs/finetune/policy.safetensors imports=[key_world]
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

SIZE = 9


class KeyWorld(gymnasium.Env[dict[str, Any], Any]):
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.action_space = spaces.MultiBinary(2)
        numbers = spaces.Box(-SIZE, SIZE, (1,), np.float32)
        self.observation_space = spaces.Dict({"place": spaces.Discrete(SIZE), "distance": numbers})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.goal = (int(one) for one in self.np_random.choice(SIZE, 2, replace=False))
        return self.observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        left, right = action
        self.place = int(np.clip(self.place + int(right) - int(left), 0, SIZE - 1))
        arrived = self.place == self.goal
        return self.observation(), 1.0 if arrived else -0.1, arrived, False, {}

    def observation(self) -> dict[str, Any]:
        return {"place": self.place, "distance": np.array([self.goal - self.place], np.float32)}

    def render(self) -> np.ndarray[Any, Any]:
        picture = np.full((1, SIZE, 3), 255, np.uint8)
        picture[0, self.goal], picture[0, self.place] = (0, 160, 0), (200, 0, 0)
        return picture.repeat(40, 0).repeat(40, 1)


gymnasium.register("KeyWorld-v0", KeyWorld, max_episode_steps=50)
