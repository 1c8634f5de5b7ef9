"""An environment and a page, for tests."""

import json
from contextlib import suppress
from io import BytesIO
from typing import Any

import numpy as np
from gymnasium import spaces
from PIL import Image
from websockets.sync.client import ClientConnection

from ...fakes import Odd


class Endless(Odd):
    """Shows the number of the decision, [2], and a picture; a game never ends. See `Odd` for changes."""

    shape: tuple[int, ...] = (8, 8, 3)

    def __init__(self, **changes: Any) -> None:
        observations = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        usual = {"observations": observations, "see": lambda n: np.full(2, n, np.float32), "length": 10**9}
        super().__init__(**usual | changes)

    def render(self) -> Any:
        return np.arange(np.prod(self.shape), dtype=np.uint8).reshape(self.shape)


class Page:
    """Does what the page does, without a browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection, self.number, self.total, self.frame, self.image = connection, 0, 0.0, 0, b""
        self.ended: dict[str, Any] | None = None

    def send(self, kind: str, **more: Any) -> None:
        """Send a message, and take the answers until none comes."""
        self.number += kind in ("start", "back")
        self.connection.send(json.dumps({"type": kind, "game": self.number, **more}))
        self.take(60)  # the picture
        with suppress(TimeoutError):
            while True:
                self.take(0.3)

    def take(self, timeout: float) -> None:
        answer = self.connection.recv(timeout)
        if isinstance(answer, bytes):
            header, self.image = np.frombuffer(answer[:12], "<f4"), answer[12:]
            assert header[0] == self.number
            self.frame, self.total = int(header[1]), float(header[2])
        elif (message := json.loads(answer))["type"] == "ended":
            self.ended = message

    @property
    def result(self) -> dict[str, Any]:
        """Of a game that ends, once it is written."""
        while self.ended is None:
            self.take(60)
        return self.ended

    def keys(self, *held: int) -> None:
        self.send("keys", keys=held)

    @property
    def picture(self) -> Any:
        return np.asarray(Image.open(BytesIO(self.image)))
