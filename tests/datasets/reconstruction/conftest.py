import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.datasets import embedded_dataset, open_dataset
from qwop.envs.engine import bodies, layout
from qwop.envs.names import BODIES, FEATURES
from qwop.envs.qwop.session import Opening, PlayedGame, Session

NUMBERS = {"position_x": 0, "position_y": 1, "angle": 2, "velocity_x": 3, "velocity_y": 4}


def observed(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """The 71 features in double precision, as the page calculates them, x absolute: float64 [n, 71] of [n, 14, 6]."""
    columns = []
    for name in FEATURES:
        part, number = name.split(".")
        if part == "joint":
            joint = getattr(layout, re.sub("([A-Z])", r"_\1", number).upper())  # leftAnkle: LEFT_ANKLE
            a, b = states[:, bodies.JOINT_A[joint], 2], states[:, bodies.JOINT_B[joint], 2]
            columns.append(b - a - bodies.REFERENCE_ANGLE[joint])
        else:
            columns.append(states[:, BODIES.index(part), NUMBERS[number]])
    return np.stack(columns, axis=1)


Sampled = tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]


@pytest.fixture(scope="session")
def published() -> Callable[..., Sampled]:
    """Play games on one page and sample them as the published recordings were.

    Of each game the samples float64 [n, 71], which lag by a frame and come every few frames, and the frames they show:
    −1 is the start, which the first two samples show.
    """

    def sample(
        games: Sequence[PlayedGame], trigonometry: str = "fdlibm", every: Sequence[int] = (3, 4, 3), seed: int = 0
    ) -> Sampled:
        random = np.random.default_rng(seed)
        session = Session(trigonometry)
        samples, shown = [], []
        start = np.hstack([bodies.START, np.zeros((14, 3))])[None]
        for game in games:
            session.begin(game.opening)
            states = session.play(game.keys).states
            frames = np.cumsum(random.choice(every, size=len(states)))
            frames = np.concatenate([[-1, -1], frames[frames < len(states) - 1]])
            samples.append(observed(np.concatenate([start, states])[frames + 1]))
            shown.append(frames)
        return samples, shown

    return sample


@pytest.fixture(scope="session")
def expert_games() -> list[PlayedGame]:
    """The embedded games, of 1,200 frames and more: past the hurdle."""
    episodes = open_dataset(embedded_dataset())[:3]
    return [PlayedGame(np.concatenate(episode.keys), Opening()) for episode in episodes if episode.keys is not None]


@pytest.fixture(scope="session")
def clumsy_games() -> list[PlayedGame]:
    """Short games of random keys, each held for some frames, that end in a fall; some begin with a key held."""
    random = np.random.default_rng(3)

    def game(held: int) -> PlayedGame:
        keys = np.repeat(random.integers(16, size=100), random.integers(1, 12, size=100)).astype(np.uint8)
        return PlayedGame(keys, Opening(held=held))

    return [game(held) for held in (0, 1, 8)]
