"""Kernels that compute observations, 71, 94 or 112 features, from a state table."""

import numpy as np

from .. import layout as at
from ..batch import CONTACT, FEATURES, FEATURES_ONLY, FOOT_FEATURES, FULL_FEATURES, LINE
from ..bodies import (
    HALF_HEIGHT,
    HALF_WIDTH,
    JOINT_A,
    JOINT_B,
    LOWER_ANGLE,
    REFERENCE_ANGLE,
    START,
    TRACK_SPACING,
    TRACK_Y,
)
from .compiled import inlined, kernel
from .trigonometry import gnu_sine_and_cosine

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

_BODIES = np.array([at.HEAD, *_LIMBS])
_COLUMNS = np.array([0, *range(5 + len(_JOINTS), 5 + len(_JOINTS) + 5 * len(_LIMBS), 5)])

_START_ROW = np.zeros(at.REALS)
_START_ROW[: at.EVENTS] = np.hstack([START, np.zeros((at.MOVING, 3))]).ravel()
for _hip in (at.LEFT_HIP, at.RIGHT_HIP):
    _START_ROW[at.JOINT + at.JOINT_REALS * _hip + at.LOWER] = LOWER_ANGLE[_hip]

_GROUND = TRACK_Y - HALF_HEIGHT[at.TRACK]
"""y of the track's surface."""

_FIRST_SEAM = HALF_WIDTH[at.TRACK]
"""x of a seam between two boxes of the track, which follow each other every `TRACK_SPACING`."""


@inlined
def joint_angle(reals, joint):
    """Return the angle of a joint (`layout.LEFT_KNEE`, ...), radians."""
    angle_a = reals[6 * JOINT_A[joint] + at.ANGLE]
    angle_b = reals[6 * JOINT_B[joint] + at.ANGLE]
    return angle_b - angle_a - REFERENCE_ANGLE[joint]


@inlined
def _observe_body(reals, body, out, column):
    out[column] = reals[6 * body + at.ANGLE]
    out[column + 1] = reals[6 * body + at.VX]
    out[column + 2] = reals[6 * body + at.VY]
    out[column + 3] = reals[6 * body + at.X] - reals[6 * at.TORSO + at.X]
    out[column + 4] = reals[6 * body + at.Y]


@kernel
def observe(reals, out):
    """Write the 71 features of a state (float64 [84 or more]) into `out` (float32 [71])."""
    for place in range(len(_BODIES)):
        _observe_body(reals, _BODIES[place], out, _COLUMNS[place])
    for place in range(len(_JOINTS)):
        out[5 + place] = joint_angle(reals, _JOINTS[place])


@inlined
def _within(value, low, high):
    return min(max(value, low), high)


@kernel
def observe_more(state, jumped, head_torque, left_hip_lower, right_hip_lower, out):
    """Write the last 23 numbers of a full observation (see `names.FULL_FEATURES`) into out[71:94].

    state: float64 [84 or more]; the others are of the same moment.
    """
    column = FEATURES
    for body in range(at.HURDLE_BASE):
        out[column + body] = state[6 * body + at.SPIN]
    column += at.HURDLE_BASE
    torso_x = state[6 * at.TORSO + at.X]
    base, top = 6 * at.HURDLE_BASE, 6 * at.HURDLE_TOP
    ahead = state[top + at.X] - torso_x
    near = 1.0 if -15.0 < ahead < 25.0 else 0.0
    # Far behind looks like far ahead, so that what is learned of running before the hurdle holds after it.
    out[column] = ahead / 10.0 if near != 0.0 else 2.5
    out[column + 1] = near
    out[column + 2] = near * _within(state[top + at.ANGLE], -4.0, 4.0)
    out[column + 3] = near * _within(state[top + at.Y] - 5.0, -10.0, 10.0)
    out[column + 4] = near * _within(state[top + at.VX] / 10.0, -10.0, 10.0)
    out[column + 5] = near * _within(state[base + at.X] - state[top + at.X], -10.0, 10.0)
    out[column + 6] = _within(LINE - torso_x, -10.0, 40.0) / 10.0
    out[column + 7] = jumped
    out[column + 8] = _within(head_torque / 100.0, -10.0, 10.0)
    out[column + 9] = 1.0 if left_hip_lower == -1.0 else 0.0
    out[column + 10] = 1.0 if right_hip_lower == -0.8 else 0.0


@kernel
def _observe_foot(state, foot, out, column):
    """Write the `FOOT_FEATURES` numbers of a foot (see `names.CONTACT_FEATURES`) into out[column:]."""
    x, y = state[6 * foot + at.X], state[6 * foot + at.Y]
    velocity_x, velocity_y, spin = state[6 * foot + at.VX], state[6 * foot + at.VY], state[6 * foot + at.SPIN]
    sine, cosine = gnu_sine_and_cosine(state[6 * foot + at.ANGLE])
    below = HALF_HEIGHT[foot]
    for end in range(2):
        ahead = HALF_WIDTH[foot] if end == 1 else -HALF_WIDTH[foot]
        arm_x, arm_y = cosine * ahead - sine * below, sine * ahead + cosine * below
        height = _GROUND - (y + arm_y)
        out[column] = _within(height, -1.0, 3.0)
        out[column + 1] = _within(height, -0.05, 0.15) * 10.0
        out[column + 2] = velocity_x - spin * arm_y
        out[column + 3] = velocity_y + spin * arm_x
        column += 4
    boxes = (x - _FIRST_SEAM) / TRACK_SPACING
    out[column] = _within((boxes - np.floor(boxes + 0.5)) * TRACK_SPACING, -3.0, 3.0)


@kernel
def observe_feet(state, out):
    """Write the last 18 numbers of a contact observation into out[94:112]. state: float64 [84 or more]."""
    _observe_foot(state, at.LEFT_FOOT, out, FULL_FEATURES)
    _observe_foot(state, at.RIGHT_FOOT, out, FULL_FEATURES + FOOT_FEATURES)


@inlined
def _lower_limit(reals, joint):
    return reals[at.JOINT + at.JOINT_REALS * joint + at.LOWER]


@kernel
def hidden_of(reals, out):
    """Write the `HIDDEN` numbers of a game, float64 [3]."""
    out[0] = reals[at.HEAD_TORQUE]
    out[1] = _lower_limit(reals, at.LEFT_HIP)
    out[2] = _lower_limit(reals, at.RIGHT_HIP)


@kernel
def observe_game(kind, reals, out):
    """Write the observation of a game (its row of reals): FEATURES_ONLY, FULL or CONTACT."""
    observe(reals, out)
    if kind != FEATURES_ONLY:
        left, right = _lower_limit(reals, at.LEFT_HIP), _lower_limit(reals, at.RIGHT_HIP)
        observe_more(reals, reals[at.JUMPED], reals[at.HEAD_TORQUE], left, right, out)
    if kind == CONTACT:
        observe_feet(reals, out)


@kernel
def observe_all(kind, states, jumped, hidden, out):
    """Write the observation of every row: states [n, 84] into float32 [n, 71, 94 or 112].

    jumped [n] and hidden [n, 3] are needed for FULL and CONTACT.
    """
    for row in range(states.shape[0]):
        observe(states[row], out[row])
        if kind != FEATURES_ONLY:
            observe_more(states[row], jumped[row], hidden[row, 0], hidden[row, 1], hidden[row, 2], out[row])
        if kind == CONTACT:
            observe_feet(states[row], out[row])


@kernel
def bent_knees(states, out):
    """Write the smaller knee angle of every row: float64 [n, 84] into float64 [n]."""
    for row in range(states.shape[0]):
        out[row] = min(joint_angle(states[row], at.LEFT_KNEE), joint_angle(states[row], at.RIGHT_KNEE))


@kernel
def observe_start(kind, scratch, out):
    """Write the observation of the start position, before the frame that a reset plays.

    scratch: float64 [REALS or more].
    """
    for place in range(len(_START_ROW)):
        scratch[place] = _START_ROW[place]
    observe_game(kind, scratch, out)


@kernel
def distances(reals, seen, scratch, out):
    """Largest difference between the 71 features of each game and `seen`: float64 [n, REALS], [71] into out [n].

    In double precision, as the published recordings are; scratch: float64 [71].
    """
    for row in range(len(reals)):
        observe(reals[row], scratch)
        largest = 0.0
        for column in range(FEATURES):
            largest = max(largest, abs(scratch[column] - seen[column]))
        out[row] = largest
