"""Columns of the arrays of a batch of games, which `native` plays: a game is a row of each."""

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
