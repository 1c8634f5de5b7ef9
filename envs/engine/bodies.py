"""The game's bodies and joints, as measured in the running game, in double precision.

Units: 1 unit = 20 screen pixels = 0.1 game metres; radians; y grows downward. Every body is a box about its centre of
mass. Derived tables are computed here once, with the operations and the order of the original.
"""

import math

import numpy as np
from numpy.typing import NDArray

from . import layout as at

# half width, half height, mass, 1 / mass, 1 / inertia, friction, category bits, mask bits
_BODIES = (
    (3.275, 1.425, 18.6675, 0.053569037096558185, 0.012598303677779489, 0.2, 2, 65533),  # torso
    (1.075, 1.325, 5.6975, 0.17551557700745943, 0.18086620215453098, 0.2, 2, 65533),  # head
    (1.75, 0.55, 3.8500000000000005, 0.2597402597402597, 0.23156635340884965, 0.2, 2, 65533),  # leftForearm
    (2.525, 1, 10.1, 0.09900990099009901, 0.04027180109757439, 0.2, 2, 65533),  # leftThigh
    (1.85, 0.625, 4.625, 0.21621621621621623, 0.17010946366789667, 0.2, 2, 65533),  # leftArm
    (2.5, 0.75, 7.5, 0.13333333333333333, 0.05871559633027523, 0.2, 2, 65533),  # leftCalf
    (1.35, 0.675, 10.935000000000002, 0.09144947416552353, 0.1204272910821709, 1.5, 2, 65533),  # leftFoot
    (2.225, 0.675, 6.0075, 0.16645859342488556, 0.09237008652479196, 0.2, 2, 65533),  # rightForearm
    (1.95, 0.75, 5.85, 0.17094017094017094, 0.1174846535671278, 0.2, 2, 65533),  # rightArm
    (2.5, 0.75, 7.5, 0.13333333333333333, 0.05871559633027523, 0.2, 2, 65533),  # rightCalf
    (1.35, 0.725, 11.745000000000001, 0.08514261387824605, 0.10877949071482061, 1.5, 2, 65533),  # rightFoot
    (2.65, 1, 10.6, 0.09433962264150944, 0.03527813872540085, 0.2, 2, 65533),  # rightThigh
    (1.675, 0.3, 2.01, 0.49751243781094534, 0.5154456510883958, 0.2, 4, 65529),  # hurdleBase
    (0.5375, 3.65, 7.847499999999999, 0.12742911755336095, 0.028085808742949164, 0.2, 4, 65531),  # hurdleTop
    (0, 0, 0, 0, 0, 0, 0, 0),  # the row of events
    (16, 1.6, 0, 0, 0, 0.2, 1, 65535),  # track
    (16, 1.6, 0, 0, 0, 0.2, 1, 65535),
    (16, 1.6, 0, 0, 0, 0.2, 1, 65535),
    (6.275, 7.475, 0, 0, 0, 0.2, 1, 65535),  # block
)  # fmt: skip

# x, y, angle at a reset
_START = (
    (2.5111726226000157, -1.8709517533957938, -1.2514497119301329),  # torso
    (3.888130278719558, -5.621802929095265, 0.06448415835225099),  # head
    (5.830008603424893, -2.8733539631159584, -1.2049772618421237),  # leftForearm
    (2.5648987628203876, 1.648090668682522, -2.0177234426823394),  # leftThigh
    (4.417861014480877, -2.806563606410589, 0.9040095895272826),  # leftArm
    (3.12585731974087, 5.525511655361298, -1.5903971528225265),  # leftCalf
    (3.926921842806667, 8.08884032049622, 0.12027524643408766),  # leftFoot
    (0.4078206420797428, -1.0599953233084172, -1.7553358283857299),  # rightForearm
    (1.1812303663272852, -3.5000256518601014, -0.5222217404634386),  # rightArm
    (-0.07253905736790486, 5.347881871063159, -0.7588859967104447),  # rightCalf
    (-1.1254742643908706, 7.567193169625567, 0.5897605418219602),  # rightFoot
    (1.6120186135678773, 2.0615320561881516, 1.4849422964528027),  # rightThigh
    (500, 8.775, 0),  # hurdleBase
    (500.86499999999995, 5.0575, 0),  # hurdleTop
)  # fmt: skip

# body a, body b, anchor on a (x, y), anchor on b (x, y), reference angle, lower and upper limit, largest motor torque,
# whether the motor is on
_JOINTS = (
    (at.HURDLE_TOP, at.HURDLE_BASE, 0.18, 3.7299999999999995, 1.045, 0.0125, 0, 0, 0, 0, 0),  # hurdleJoint
    (at.HEAD, at.TORSO, -0.22839485113389013, 1.1126087775923434, 2.859519853416241, 0.1894010834667077, -1.308996406363529, -0.5, 0, 0, 0),  # neck
    (at.RIGHT_ARM, at.TORSO, 1.2001841231501342, 0.014095940491621661, 2.0154692227269657, -0.963716471396211, -0.7853907065463961, -0.5, 1.5, 1000, 1),  # rightShoulder
    (at.LEFT_ARM, at.TORSO, -1.06207890966549, 0.17409394631566927, 1.9283425691848988, 0.5346402981158307, -2.09438311816829, -2, 0, 1000, 1),  # leftShoulder
    (at.LEFT_THIGH, at.TORSO, 1.5149934600879298, 0.10302974517488483, -2.1617729534350554, 0.17997450596313957, 0.7258477508944043, -1.5, 0.5, 6000, 1),  # leftHip
    (at.RIGHT_THIGH, at.TORSO, -2.0961942262183917, 0.18536556036297194, -2.162191390759836, -0.6165265219145436, -2.719359381718199, -1.3, 0.7, 6000, 1),  # rightHip
    (at.LEFT_FOREARM, at.LEFT_ARM, -1.2620587423023988, 0.15722668659641342, 1.6027887369842992, -0.14793204384539627, 2.09438311816829, -0.1, 0.5, 0, 0),  # leftElbow
    (at.RIGHT_FOREARM, at.RIGHT_ARM, 1.786878910753607, -0.0875161173956252, -1.3780071636887363, 0.014064825719664498, 1.2968199012274688, -0.1, 0.5, 0, 0),  # rightElbow
    (at.LEFT_CALF, at.LEFT_THIGH, 2.0031668711363886, 0.29778450493880393, -2.039930985466258, -0.06884320616201656, -0.3953113764119829, -1.6, 0, 3000, 1),  # leftKnee
    (at.RIGHT_CALF, at.RIGHT_THIGH, 1.9464226250774301, 0.23026118775573867, 2.0958596632699917, 0.29461641905670727, 2.2893406247158676, -1.3, 0.3, 3000, 1),  # rightKnee
    (at.LEFT_FOOT, at.LEFT_CALF, -0.6270934582479109, -0.06637286435491148, -2.425382538900126, 0.13895539751438638, -1.7244327585010226, -0.5, 0.5, 2000, 0),  # leftAnkle
    (at.RIGHT_FOOT, at.RIGHT_CALF, -0.7779783144804977, -0.20811593451266924, -2.2591139640195603, 0.08142886510219238, -1.5708045825942758, -0.5, 0.5, 2000, 0),  # rightAnkle
)  # fmt: skip


def _column(table: tuple[tuple[float, ...], ...], column: int, dtype: type = np.float64) -> NDArray[np.generic]:
    return np.array([row[column] for row in table], dtype=dtype)


HALF_WIDTH = _column(_BODIES, 0)
HALF_HEIGHT = _column(_BODIES, 1)
MASS = _column(_BODIES, 2)
INVERSE_MASS = _column(_BODIES, 3)
INVERSE_INERTIA = _column(_BODIES, 4)
FRICTION = _column(_BODIES, 5)
CATEGORY = _column(_BODIES, 6, np.int64)
MASK = _column(_BODIES, 7, np.int64)
RADIUS = 0.005  # the skin around every shape

START = np.array(_START)
TRACK_Y = 10.74275
TRACK_SPACING = 32.0
BLOCK_X, BLOCK_Y = -39.996249999999996, 2.10625

JOINT_A = _column(_JOINTS, 0, np.int64)
JOINT_B = _column(_JOINTS, 1, np.int64)
ANCHOR_A = np.array([row[2:4] for row in _JOINTS])
ANCHOR_B = np.array([row[4:6] for row in _JOINTS])
REFERENCE_ANGLE = _column(_JOINTS, 6)
LOWER_ANGLE = _column(_JOINTS, 7)
UPPER_ANGLE = _column(_JOINTS, 8)
MAX_MOTOR_TORQUE = _column(_JOINTS, 9)
MOTOR_ON = _column(_JOINTS, 10, np.int64)


def _vertices() -> NDArray[np.float64]:
    """Corners of each body, [19, 4, 2]: (-w, -h), (w, -h), (w, h), (-w, h)."""
    signs = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    corners: NDArray[np.float64] = np.stack([HALF_WIDTH, HALF_HEIGHT], axis=1)[:, None, :] * signs
    return corners


def _edges() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit tangent and middle of each edge, [19, 4, 2]; a tangent's length may miss 1 in the last bit, as there."""
    tangents, middles = np.zeros((at.ROWS, 4, 2)), np.zeros((at.ROWS, 4, 2))
    for body in range(at.ROWS):
        for edge in range(4):
            (ax, ay), (bx, by) = VERTICES[body, edge].tolist(), VERTICES[body, (edge + 1) % 4].tolist()
            dx, dy = bx - ax, by - ay
            length = math.sqrt(dx * dx + dy * dy)
            if length > 0:
                tangents[body, edge] = dx * (1 / length), dy * (1 / length)
            middles[body, edge] = 0.5 * (ax + bx), 0.5 * (ay + by)
    return tangents, middles


VERTICES = _vertices()
EDGE_TANGENT, EDGE_MIDDLE = _edges()
EDGE_NORMAL = np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])

# The joints of each body and the body at the other end, the latest made first; -1 ends a row.
BODY_JOINTS = np.full((at.MOVING, 6), -1, dtype=np.int64)
BODY_NEIGHBOURS = np.full((at.MOVING, 6), -1, dtype=np.int64)
for _body in range(at.MOVING):
    _ends = [(j, a, b) for j, (a, b) in enumerate(zip(JOINT_A, JOINT_B, strict=True)) if _body in (a, b)]
    for _place, (_joint, _a, _b) in enumerate(reversed(_ends)):
        BODY_JOINTS[_body, _place] = _joint
        BODY_NEIGHBOURS[_body, _place] = _b if _a == _body else _a

# The bodies that each may have contacts with, as a bit mask.
PARTNERS = np.zeros(at.ROWS, dtype=np.int64)
for _a in range(at.ROWS):
    for _b in range(at.ROWS):
        if min(_a, _b) < at.MOVING and MASK[_a] & CATEGORY[_b] and CATEGORY[_a] & MASK[_b]:
            PARTNERS[_a] |= 1 << _b

# Bodies are made in this order at a reset, and destroyed in the other.
CREATION = np.array([at.HURDLE_BASE, at.HURDLE_TOP, *range(12)], dtype=np.int64)
DESTRUCTION = np.array(
    [
        at.HURDLE_BASE, at.HURDLE_TOP, at.TORSO, at.HEAD,
        at.LEFT_ARM, at.LEFT_FOREARM, at.LEFT_THIGH, at.LEFT_CALF, at.LEFT_FOOT,
        at.RIGHT_ARM, at.RIGHT_FOREARM, at.RIGHT_THIGH, at.RIGHT_CALF, at.RIGHT_FOOT,
    ],
    dtype=np.int64,
)  # fmt: skip


# The runner's bodies in the order in which the original gathers them when nothing but the track touches: depth first from
# the body made last, as in `world`; touching the track changes nothing in it.
RUNNER_BODIES = np.array(
    [
        at.RIGHT_THIGH, at.TORSO, at.HEAD, at.RIGHT_ARM, at.RIGHT_FOREARM, at.LEFT_ARM,
        at.LEFT_FOREARM, at.LEFT_THIGH, at.LEFT_CALF, at.LEFT_FOOT, at.RIGHT_CALF, at.RIGHT_FOOT,
    ],
    dtype=np.int64,
)  # fmt: skip

# Joints that share no body may be solved in any order. In this one, those at the torso, which must wait for one
# another, stand between others, which a processor can work on meanwhile.
RUNNER_JOINTS = np.array(
    [
        at.RIGHT_KNEE, at.RIGHT_HIP, at.RIGHT_ANKLE, at.LEFT_HIP, at.LEFT_KNEE, at.LEFT_SHOULDER,
        at.LEFT_ANKLE, at.RIGHT_SHOULDER, at.LEFT_ELBOW, at.NECK, at.RIGHT_ELBOW,
    ],
    dtype=np.int64,
)  # fmt: skip

CLOCK_TICK = 0.03333333333333333
"""Seconds that the game's clock advances in a frame."""

HEAD_STIFFNESS, HEAD_ANGLE = -4.0, 0.2
"""The head's torque grows by HEAD_STIFFNESS · (angle + HEAD_ANGLE) in each frame."""
