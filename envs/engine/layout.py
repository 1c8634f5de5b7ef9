"""Offsets of a game's numbers in its two rows.

A game is one row of float64 (`reals`) and one row of int32 (`integers`), and nothing else: copying the two rows saves
the game. Offsets are plain integers, so that kernels compile them in.

The body table is 19 rows of 6 (x, y, angle, vx, vy, angular velocity): 14 moving bodies, a row that holds the events
(score, fallen, jumped, landed, ended, clock), the three boxes of the track and the block behind the start.
"""

# The moving bodies, in the order of `names.BODIES`.
TORSO, HEAD, LEFT_FOREARM, LEFT_THIGH, LEFT_ARM, LEFT_CALF, LEFT_FOOT = range(7)
RIGHT_FOREARM, RIGHT_ARM, RIGHT_CALF, RIGHT_FOOT, RIGHT_THIGH, HURDLE_BASE, HURDLE_TOP = range(7, 14)
MOVING = 14
TRACK = 15
TRACKS = 3
BLOCK = 18
ROWS = 19

# Joints, in the order of creation.
HURDLE_JOINT, NECK, RIGHT_SHOULDER, LEFT_SHOULDER, LEFT_HIP, RIGHT_HIP = range(6)
LEFT_ELBOW, RIGHT_ELBOW, LEFT_KNEE, RIGHT_KNEE, LEFT_ANKLE, RIGHT_ANKLE = range(6, 12)
JOINTS = 12

# 14 moving bodies, 3 boxes and the block are 18 leaves; 17 inner nodes join them.
NODES = 35

# A runner's body reaches at most two boxes of the track, which are 32 apart, and either the hurdle or the block:
# 12 * 2 + 12, and the hurdle's two parts two boxes each.
CONTACTS = 40

# --- reals ---
X, Y, ANGLE, VX, VY, SPIN = range(6)
EVENTS = 6 * MOVING
SCORE, FALLEN, JUMPED, LANDED, ENDED, CLOCK = range(EVENTS, EVENTS + 6)
CAMERA = 6 * ROWS
HEAD_TORQUE = CAMERA + 1
COS = HEAD_TORQUE + 1
SIN = COS + ROWS
SLEEP_TIME = SIN + ROWS
BOX = SLEEP_TIME + ROWS  # a body's box over its last movement: left, top, −right, −bottom
NODE_BOX = BOX + 4 * ROWS
JOINT = NODE_BOX + 4 * NODES
PIVOT_X, PIVOT_Y, MOTOR_FORCE, LIMIT_FORCE, LOWER, UPPER, MOTOR_SPEED, JOINT_REALS = range(8)
CONTACT = JOINT + JOINT_REALS * JOINTS
# A contact's manifold: normal and point of the reference face, two points, two normal and two tangential impulses.
PLANE_X, PLANE_Y, FACE_X, FACE_Y, POINT, NORMAL_IMPULSE, TANGENT_IMPULSE, CONTACT_REALS = 0, 1, 2, 3, 4, 8, 10, 12
MOVED = CONTACT + CONTACT_REALS * CONTACTS  # how far a body moved when it last left its box in the tree, x and y
REALS = MOVED + 2 * MOVING

# --- integers ---
AWAKE = 0
LEAF = AWAKE + ROWS  # the tree's node of a body
NODE_BODY = LEAF + ROWS
PARENT = NODE_BODY + NODES  # free nodes are chained through it
CHILD_1 = PARENT + NODES
CHILD_2 = CHILD_1 + NODES
ROOT = CHILD_2 + NODES
FREE = ROOT + 1
MADE = FREE + 1  # nodes made so far
LIMIT_STATE = MADE + 1
CONTACT_COUNT = LIMIT_STATE + JOINTS
ORDER = CONTACT_COUNT + 1  # the contacts' places, the oldest first
USED = ORDER + CONTACTS
BODY_A = USED + CONTACTS
BODY_B = BODY_A + CONTACTS
TOUCHING = BODY_B + CONTACTS
FACE = TOUCHING + CONTACTS  # 0: the reference face is A's, 1: B's
POINTS = FACE + CONTACTS
KEY = POINTS + CONTACTS  # two a contact
LEAVING = KEY + 2 * CONTACTS  # during a frame: the bodies that left their boxes in the tree, as a bit mask
IN_TREE = LEAVING + 1  # the bodies that exist, as a bit mask
PAIRED = IN_TREE + 1  # the bodies that a body has contacts with, as a bit mask
INTEGERS = PAIRED + ROWS

NONE = -1

# --- lanes ---
# Numbers of a game beside those of others while an island is solved, each `width` times in a row (`island`).
# A body has its six numbers, then these; the old pose makes way for the box over the movement.
COSINE, SINE, OLD_X, OLD_Y, OLD_COSINE, OLD_SINE, MOVED_X, MOVED_Y, LANE_BODY = range(6, 15)
LEFT, TOP, RIGHT, BOTTOM = OLD_X, OLD_Y, OLD_COSINE, OLD_SINE
# A joint has its seven numbers, then these; R: from a body's centre to the joint; MASS: the inverse of K.
STATE, R_AX, R_AY, R_BX, R_BY, MASS_XX, MASS_XY, MASS_YY, LIMIT_IMPULSE, LANE_JOINT = range(JOINT_REALS, 17)
LANE_JOINTS = LANE_BODY * ROWS
LANE_CONTACTS = LANE_JOINTS + LANE_JOINT * JOINTS
# Numbers that a contact keeps during a frame: two of each from ARM_AX to EQUALIZED_MASS, one a point; then K of the two
# normals, and its inverse.
NORMAL_X, NORMAL_Y, SOLVED, FRICTION, ARM_AX, ARM_AY, ARM_BX, ARM_BY = 0, 1, 2, 3, 4, 6, 8, 10
NORMAL_MASS, TANGENT_MASS, EQUALIZED_MASS = 12, 14, 16
K_XX, K_XY, K_YY, INVERSE_XX, INVERSE_XY, INVERSE_YY, LANE_CONTACT = range(18, 25)
LANE = LANE_CONTACTS + LANE_CONTACT * CONTACTS

# The foot that came down last.
NO_FOOT, LEFT_DOWN, RIGHT_DOWN = range(3)
