"""Whole decisions for many games at once: frames, observations, rewards, ends and resets in one compiled call.

Each game is a row of every array. Rows do not touch each other, so a range of rows can be played by any thread and
the result is the same. Nothing is allocated.
"""

from . import layout as at
from .compiled import compiled
from .features import joint_angle, observe_game, observe_start
from .game import advance
from .rewards import decision_reward

# Columns of `numbers` (float64): what the last decision came to.
REWARD, DISTANCE, SCORE, CLOCK, TIME = range(5)
NUMBERS = 5

# Columns of `counters` (int64). The first three belong to the game under way, the others to the last decision, which
# may have ended the game before it.
FRAMES, FIRST_KEY, IDLE, PLAYED, TERMINATED, TRUNCATED, OUTCOME, IDLE_BEFORE = range(8)
COUNTERS = 8

RUNNING, FINISHED, FELL, STOPPED = range(4)

FINISH_SCORE = 100.0
"""Metres that a game must have scored when the jump lands, to be finished."""

# Entries of `task` (float64; all but the weight of the shaping are whole).
TASK_FRAMES, TASK_REWARD, TASK_LAG, TASK_LIMIT, TASK_OBSERVATION, TASK_SHAPING = range(6)

_FRAMES_A_SECOND = 30.0


@compiled
def _play(reals, integers, counters, keys, frames, task, observation, scratch):
    """Up to `frames` frames with the same keys, less if the game ends; returns how many. Observes as it goes."""
    played = 0
    while played < frames and reals[at.ENDED] == 0.0:
        if task[TASK_LAG] == 1:
            observe_game(task[TASK_OBSERVATION], reals, observation)
        advance(reals, integers, keys, scratch)
        played += 1
        counters[FRAMES] += 1
        if keys != 0 and counters[FIRST_KEY] == 0:
            counters[FIRST_KEY] = counters[FRAMES]
    if task[TASK_LAG] == 0:
        observe_game(task[TASK_OBSERVATION], reals, observation)
    return played


@compiled
def _measure(reals, counters, numbers):
    numbers[DISTANCE] = reals[6 * at.TORSO + at.X] / 10.0
    numbers[SCORE] = reals[at.SCORE]
    numbers[CLOCK] = reals[at.CLOCK]
    numbers[TIME] = 0.0
    if counters[FIRST_KEY] > 0:
        numbers[TIME] = (counters[FRAMES] - counters[FIRST_KEY] + 1) / _FRAMES_A_SECOND


@compiled
def _begin(reals, integers, counters, idle, task, fresh_reals, fresh_integers, observation, scratch):
    """A new game in this row: the fresh state, then `idle` frames without a key."""
    reals[:] = fresh_reals
    integers[:] = fresh_integers
    counters[FRAMES] = 1  # the frame that a reset plays
    counters[FIRST_KEY] = 0
    if task[TASK_LAG] == 1:
        observe_start(task[TASK_OBSERVATION], observation)
    counters[IDLE] = _play(reals, integers, counters, 0, idle, task, observation, scratch)


@compiled
def reset_games(
    reals, integers, counters, numbers, observations, mask, idle, task, fresh_reals, fresh_integers, scratch
):
    """New games where `mask` (bool [n]) is true, with `idle` (int64 [n]) idle frames; their first observations."""
    for row in range(reals.shape[0]):
        if mask[row]:
            _begin(
                reals[row], integers[row], counters[row], idle[row], task,
                fresh_reals, fresh_integers, observations[row], scratch,
            )  # fmt: skip
            counters[row, IDLE_BEFORE] = counters[row, IDLE]
            counters[row, PLAYED] = counters[row, IDLE]
            counters[row, TERMINATED] = 0
            counters[row, TRUNCATED] = 0
            counters[row, OUTCOME] = RUNNING
            _measure(reals[row], counters[row], numbers[row])
            numbers[row, REWARD] = 0.0


@compiled
def play_decision(reals, integers, counters, numbers, observation, keys, frames, task, scratch):
    """One decision of one game: `frames` frames with `keys` down, what it earned, and whether the game is over."""
    x, y = reals[6 * at.TORSO + at.X], reals[6 * at.TORSO + at.Y]
    counters[PLAYED] = _play(reals, integers, counters, keys, frames, task, observation, scratch)
    counters[IDLE_BEFORE] = counters[IDLE]
    _measure(reals, counters, numbers)
    counters[TERMINATED] = 0
    counters[TRUNCATED] = 0
    counters[OUTCOME] = RUNNING
    if reals[at.ENDED] != 0.0:
        counters[TERMINATED] = 1
        counters[OUTCOME] = FINISHED if reals[at.LANDED] != 0.0 and reals[at.SCORE] >= FINISH_SCORE else FELL
    elif counters[FRAMES] >= task[TASK_LIMIT]:
        counters[TRUNCATED] = 1
        counters[OUTCOME] = STOPPED
    knee = min(joint_angle(reals, at.LEFT_KNEE), joint_angle(reals, at.RIGHT_KNEE))
    numbers[REWARD] = decision_reward(
        task[TASK_REWARD], task[TASK_SHAPING], x, y, reals[6 * at.TORSO + at.X], reals[6 * at.TORSO + at.Y], knee,
        counters[OUTCOME] == FINISHED, counters[OUTCOME] == FELL,
    )  # fmt: skip


@compiled
def step_games(
    reals, integers, counters, numbers, observations, final_observations, keys, next_idle, task,
    fresh_reals, fresh_integers, scratch, first_row, last_row,
):  # fmt: skip
    """A decision in every game of rows first_row … last_row − 1; a game that is over is followed by a new one.

    keys int64 [n]: keys down during the decision. next_idle int64 [n]: idle frames of the row's next game. Where a
    game ended, `final_observations` has what ended it and `observations` the first of the next.
    """
    for row in range(first_row, last_row):
        play_decision(
            reals[row], integers[row], counters[row], numbers[row], observations[row], keys[row],
            task[TASK_FRAMES], task, scratch,
        )  # fmt: skip
        if counters[row, TERMINATED] or counters[row, TRUNCATED]:
            final_observations[row] = observations[row]
            _begin(
                reals[row], integers[row], counters[row], next_idle[row], task,
                fresh_reals, fresh_integers, observations[row], scratch,
            )  # fmt: skip
