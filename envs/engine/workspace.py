"""Working memory of the kernels."""

import numpy as np
from numpy.typing import NDArray

from . import layout as at
from . import native
from .bodies import RUNNER_BODIES, RUNNER_JOINTS

# `work`, whole numbers: what there is to do, a game in a row; counts are in the first row. For `batch`, the games of a
# decision, the keys of its first frame and of the others, and frames to play and played; for `game`, those that play a
# frame, and their keys; for the solver, the game in each lane, how many contacts the island has there, and which, and
# in the first row the island's bodies and joints (which `world` gathers with a stack).
CHOSEN_COUNT, CHOSEN, FIRST_KEYS, KEYS, TO_PLAY, PLAYED_NOW, PLAYING_COUNT, PLAYING, PRESSED = range(9)
LANES_USED, GAME, BODY_COUNT, JOINT_COUNT, TOUCHES, TOUCH = range(9, 15)
BODIES = TOUCH + at.CONTACTS
JOINTS = BODIES + at.ROWS
STACK = JOINTS + at.JOINTS
WORK = STACK + at.ROWS


def workspace(width: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Working memory of the kernels for this many lanes, for one thread: `memory` and `work`.

    width: as many as the library has, by default.

    The last row of each is for islands that are solved alone. Only the runner's island in them outlives a call.
    """
    width = native.engine().width if width is None else width
    memory, work = np.zeros((width + 1) * at.LANE), np.zeros((width + 1, WORK), dtype=np.int64)
    work[0, BODY_COUNT], work[0, JOINT_COUNT] = len(RUNNER_BODIES), len(RUNNER_JOINTS)
    work[0, BODIES : BODIES + len(RUNNER_BODIES)] = RUNNER_BODIES
    work[0, JOINTS : JOINTS + len(RUNNER_JOINTS)] = RUNNER_JOINTS
    return memory, work
