"""Numbers that kernels share with Python: columns of a batch of games, a row each; observations; small pictures."""

# Columns of `orders` (int64): what to do with a game (leave it, begin a new one, play a decision), the keys down in the
# decision's first frame and in the others, its frames, and the idle frames at the beginning of the row's next game.
DO, FIRST_KEYS_DOWN, KEYS_DOWN, FRAMES_TO_PLAY, NEXT_IDLE = range(5)
ORDERS = 5
NOTHING, BEGIN, DECIDE = range(3)

# Columns of `numbers` (float64): what the last decision came to, and the torso and the hurdle before it.
REWARD, DISTANCE, SCORE, CLOCK, TIME, FROM_X, FROM_Y, FROM_HURDLE = range(8)
NUMBERS = 8

# Columns of `counters` (int64). The first three belong to the game under way, the others to the last decision, which
# may have ended the game before it.
FRAMES, FIRST_KEY, IDLE, PLAYED, TERMINATED, TRUNCATED, OUTCOME, IDLE_BEFORE = range(8)
COUNTERS = 8

RUNNING, FINISHED, FELL, STOPPED = range(4)

FINISH_SCORE = 100.0
"""Metres that a game must have scored when the jump lands, to be finished."""

# Entries of `task` (float64; all but the last three are whole).
TASK_REWARD, TASK_LAG, TASK_LIMIT, TASK_OBSERVATION, TASK_SHAPING, TASK_FALL_PENALTY, TASK_PUSH_PENALTY = range(7)

SPEED, SHAPED, RACE = range(3)
"""Entries of `task[TASK_REWARD]`; see `qwop.rewards`."""

# --- observations; see `names.FEATURES` and the following ---
FEATURES_ONLY, FULL, CONTACT = range(3)
FEATURES = 5 + 11 + 5 * 11  # the head, joints, limbs
FULL_FEATURES = FEATURES + 12 + 6 + 2 + 3
FOOT_FEATURES = 9
CONTACT_FEATURES = FULL_FEATURES + 2 * FOOT_FEATURES

HIDDEN = 3
"""Numbers of a game that its bodies do not show: the torque on the head, the lower limits of the left and right hip."""

LINE = 1000.0
"""The finish, units."""

# --- small pictures; see `qwop.pixels` ---
UNITS_SHOWN = 22.0
"""Width and height of the view, units (2.2 m)."""

TORSO_AT = 0.45
"""Place of the torso in the picture, as a fraction of its width."""

GROUND_AT = 0.86
"""Height of the ground in the picture, as a fraction of its height."""

LIFT_ABOVE = -5.0
"""The view rises with a torso above this, units."""

METRE = 10.0
LENGTH = 1000.0
"""Units between two marks on the track, and to the line."""

MARK = 0.35
"""Half the width of a mark on the track, units."""

BAR = 1 / 28
"""Height of the bar, as a fraction of the picture's."""
