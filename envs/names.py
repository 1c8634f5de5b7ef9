"""The game's names: actions, keys, bodies, joints, the numbers of an observation.

The actions' numbering and the observations' order are those of the published recordings.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

FRAMES_A_SECOND = 30
"""Frames per second of the game's clock."""

UNITS_A_METRE = 10.0

GROUND_Y = 9.14275
"""Height of the ground, units: the top of the track's boxes."""

LONGEST_GAME = 3600
"""Seconds that a game's time limit may be: an hour, of a game that a good runner ends within one minute."""

LONGEST_KEYS = 300_000
"""Frames of keys that a file may hold for one game: nearly three hours."""

KEY_Q, KEY_W, KEY_O, KEY_P = 1, 2, 4, 8

ACTIONS = ("qw", "qo", "qp", "q", "wo", "wp", "w", "op", "o", "p", "none")

KEY_BITS = {"q": KEY_Q, "w": KEY_W, "o": KEY_O, "p": KEY_P}

ACTION_KEYS = np.array([sum(KEY_BITS[key] for key in name if name != "none") for name in ACTIONS], dtype=np.uint8)
"""uint8 [11]: the keys that are down while an action lasts."""

ACTION_KEYS.setflags(write=False)

Numbers = Literal["features", "full", "contact"]
NUMBERS = get_args(Numbers)
"""Kinds of observations that are numbers, from the fewest to the most."""

Reward = Literal["speed", "shaped", "race"]
REWARDS = get_args(Reward)
"""Rewards of QWOP; see `qwop.envs.qwop.rewards`."""

BODIES = (
    "torso", "head", "leftForearm", "leftThigh", "leftArm", "leftCalf", "leftFoot",
    "rightForearm", "rightArm", "rightCalf", "rightFoot", "rightThigh", "hurdleBase", "hurdleTop",
)  # fmt: skip
"""The bodies in the order of a state's rows."""

OUTCOMES = ("running", "finished", "fell", "stopped")
"""Outcomes of a game: landed with a score of at least 100 m, fell, or stopped by the time limit.

The info of a single game has the word; those of a vector, which hold numbers only, its place here.
"""


def outcome_name(outcome: Any) -> str:
    """Return the word for an outcome that an info gives as a word or as its place in `OUTCOMES`."""
    return outcome if isinstance(outcome, str) else OUTCOMES[int(outcome)]


EVENT_COLUMNS = ("score", "fallen", "jumped", "landed", "ended", "clock")
SCORE, FALLEN, JUMPED, LANDED, ENDED, CLOCK = range(len(EVENT_COLUMNS))
"""Columns of a game's events, and their places."""

OBSERVED_JOINTS = (
    "leftAnkle", "leftElbow", "leftHip", "leftKnee", "leftShoulder", "neck",
    "rightAnkle", "rightElbow", "rightHip", "rightKnee", "rightShoulder",
)  # fmt: skip

OBSERVED_LIMBS = (
    "leftArm", "leftCalf", "leftFoot", "leftForearm", "leftThigh",
    "rightArm", "rightCalf", "rightFoot", "rightForearm", "rightThigh", "torso",
)  # fmt: skip

_BODY_NUMBERS = ("angle", "velocity_x", "velocity_y", "position_x", "position_y")

FEATURES = (
    *(f"head.{number}" for number in _BODY_NUMBERS),
    *(f"joint.{joint}" for joint in OBSERVED_JOINTS),
    *(f"{body}.{number}" for body in OBSERVED_LIMBS for number in _BODY_NUMBERS),
)
"""The 71 columns of a `features` observation; positions in x are relative to the torso's."""

FULL_FEATURES = (
    *FEATURES,
    *(f"{body}.angular_velocity" for body in BODIES[:12]),
    *(f"hurdle.{number}" for number in ("distance", "near", "angle", "height", "velocity_x", "lean")),
    "finish.distance", "finish.jumped",
    "hidden.head_torque", "hidden.left_hip_out", "hidden.right_hip_out",
)  # fmt: skip
"""The 94 columns of a `full` observation: the 71, and what else decides the game's future; see `QWOPEnv`."""

CONTACT_FEATURES = (
    *FULL_FEATURES,
    *(
        f"{foot}.{number}"
        for foot in ("leftFoot", "rightFoot")
        for number in (
            *(f"{end}.{of}" for end in ("heel", "toe") for of in ("height", "touch", "velocity_x", "velocity_y")),
            "seam",
        )
    ),
)
"""The 112 columns of a `contact` observation: the 94, and the lower corners of the feet, which meet the track; see
`QWOPEnv`."""

HIDDEN_COLUMNS = ("head_torque", "left_hip_lower", "right_hip_lower")
"""Values of a frame beside its bodies and events: torque, N·m, and the hips' lower limits, radians."""


def keys_of_decisions(
    actions: NDArray[np.int16], frames: Sequence[int], late: Sequence[bool], idle: int
) -> tuple[NDArray[np.uint8], ...]:
    """The keys of every frame of each decision, bits as in `KEY_BITS`.

    actions: int16 [T]. frames: of each decision. late: True for decisions whose first frame has the previous keys.
    idle: frames before the first decision, without keys, which count as its own.
    """
    bits = ACTION_KEYS[actions].astype(np.uint8)
    keys = np.concatenate([np.zeros(idle, dtype=np.uint8), np.repeat(bits, frames)])
    ends = [0, *(np.cumsum(frames) + idle).tolist()]
    for decision in np.flatnonzero(late).tolist():
        keys[ends[decision + 1] - frames[decision]] = bits[decision - 1] if decision else 0
    return tuple(keys[begin:end] for begin, end in pairwise(ends))
