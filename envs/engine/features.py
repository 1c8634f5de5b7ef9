"""The 71 numbers that a player sees, from a state table (compiled)."""

import numpy as np

from . import layout as at
from .bodies import JOINT_A, JOINT_B, REFERENCE_ANGLE, START
from .compiled import compiled

# As named in `names.OBSERVED_JOINTS` and `names.OBSERVED_LIMBS`, whose order is that of the published recordings.
_JOINTS = np.array(
    [
        at.LEFT_ANKLE, at.LEFT_ELBOW, at.LEFT_HIP, at.LEFT_KNEE, at.LEFT_SHOULDER, at.NECK,
        at.RIGHT_ANKLE, at.RIGHT_ELBOW, at.RIGHT_HIP, at.RIGHT_KNEE, at.RIGHT_SHOULDER,
    ]
)  # fmt: skip
_LIMBS = np.array(
    [
        at.LEFT_ARM, at.LEFT_CALF, at.LEFT_FOOT, at.LEFT_FOREARM, at.LEFT_THIGH,
        at.RIGHT_ARM, at.RIGHT_CALF, at.RIGHT_FOOT, at.RIGHT_FOREARM, at.RIGHT_THIGH, at.TORSO,
    ]
)  # fmt: skip

FEATURES = 5 + len(_JOINTS) + 5 * len(_LIMBS)


@compiled
def joint_angle(reals, joint):
    """The angle that a joint (`layout.LEFT_KNEE`, ...) is bent by, radians."""
    angle_a = reals[6 * JOINT_A[joint] + at.ANGLE]
    angle_b = reals[6 * JOINT_B[joint] + at.ANGLE]
    return angle_b - angle_a - REFERENCE_ANGLE[joint]


@compiled
def _observe_body(reals, body, out, column):
    out[column] = reals[6 * body + at.ANGLE]
    out[column + 1] = reals[6 * body + at.VX]
    out[column + 2] = reals[6 * body + at.VY]
    out[column + 3] = reals[6 * body + at.X] - reals[6 * at.TORSO + at.X]
    out[column + 4] = reals[6 * body + at.Y]


@compiled
def observe(reals, out):
    """Write the 71 numbers of a state (float64 [84 or more]) into `out` (float32 [71])."""
    _observe_body(reals, at.HEAD, out, 0)
    for place in range(len(_JOINTS)):
        out[5 + place] = joint_angle(reals, _JOINTS[place])
    for place in range(len(_LIMBS)):
        _observe_body(reals, _LIMBS[place], out, 5 + len(_JOINTS) + 5 * place)


@compiled
def observe_all(states, out):
    """`observe` for every row: float64 [n, 84] into float32 [n, 71]."""
    for row in range(states.shape[0]):
        observe(states[row], out[row])


@compiled
def bent_knees(states, out):
    """The smaller knee angle of every row: float64 [n, 84] into float64 [n]."""
    for row in range(states.shape[0]):
        out[row] = min(joint_angle(states[row], at.LEFT_KNEE), joint_angle(states[row], at.RIGHT_KNEE))


@compiled
def observe_start(out):
    """The 71 numbers of the runner where a reset makes him, before the frame that it plays."""
    state = np.zeros(6 * at.MOVING)
    for body in range(at.MOVING):
        for column in range(3):
            state[6 * body + column] = START[body, column]
    observe(state, out)
