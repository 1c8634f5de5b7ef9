"""One number for every state of a dozen games, the same on each operating system, processor and version of Python."""

import hashlib
from pathlib import Path

import numpy as np
from qwop.envs import replay

GAMES = np.load(Path(__file__).parents[1] / "recorded_games.npz")
NAMES = sorted({name.split("/")[0] for name in GAMES.files if "/" in name})
STATES = "1dcdef7730afdf362c7160445bc44308dd08a8a71e14407044307d5adb4b7a1d"
"""SHA-256 of the states, little-endian float64 [frames, 14, 6], of every game after either reset, in order."""


def test_every_state_of_the_recorded_games_is_the_same_everywhere() -> None:
    found = hashlib.sha256()
    for name in NAMES:
        for reset in "ab":
            found.update(replay(GAMES[f"{name}/keys"], reset=reset).states.astype("<f8").tobytes())
    assert found.hexdigest() == STATES
