"""An environment and a page that do what a test says."""

import json
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from PIL import Image
from websockets.sync.client import ClientConnection


class Scripted(gymnasium.Env[Any, Any]):
    """Shows the number of the decision and gives a reward of 1, for ever.

    script: changes of what it gives now, by `observation`, `reward` and `terminated`; it may raise. `decisions` is 0 in
    a reset. shape: of its pictures.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(
        self, render_mode: str | None = None, actions: Any = None, shape: tuple[int, ...] = (8, 8, 3),
        script: Callable[["Scripted"], dict[str, Any]] = lambda env: {},
    ) -> None:  # fmt: skip
        self.render_mode, self.action_space = render_mode, actions or spaces.Discrete(2)
        self._script, self._shape = script, shape
        self.games = self.decisions = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.games, self.decisions = self.games + 1, 0
        return self._now()["observation"], {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.decisions += 1
        now = self._now()
        return now["observation"], now["reward"], now["terminated"], False, {}

    def render(self) -> Any:
        return np.arange(np.prod(self._shape), dtype=np.uint8).reshape(self._shape)

    def _now(self) -> dict[str, Any]:
        observation = np.full(2, self.decisions, np.float32)
        return {"observation": observation, "reward": 1.0, "terminated": False} | self._script(self)


class Page:
    """Does what the page does, without a browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection, self.number, self.total, self.frame, self.image = connection, 0, 0.0, 0, b""
        self.ended: dict[str, Any] | None = None

    def send(self, kind: str, **more: Any) -> None:
        """Send a message, and take the answers until none comes."""
        self.number += kind in ("start", "back")
        self.connection.send(json.dumps({"type": kind, "game": self.number, **more}))
        with suppress(TimeoutError):
            while True:
                answer = self.connection.recv(timeout=0.3)
                if isinstance(answer, bytes):
                    header, self.image = np.frombuffer(answer[:12], "<f4"), answer[12:]
                    assert header[0] == self.number
                    self.frame, self.total = int(header[1]), float(header[2])
                elif (message := json.loads(answer))["type"] == "ended":
                    self.ended = message

    def keys(self, *held: int) -> None:
        self.send("keys", keys=held)

    @property
    def picture(self) -> Any:
        return np.asarray(Image.open(BytesIO(self.image)))
