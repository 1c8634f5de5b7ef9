"""Whole decisions for many games at once: frames, observations, rewards, ends and resets in one compiled call.

Each game is a row of every array. Rows are independent, so any thread can play any range of rows with the same result.
Nothing is allocated.
"""

from .. import batch
from .. import layout as at
from ..workspace import CHOSEN, CHOSEN_COUNT, FIRST_KEYS, KEYS, PLAYED_NOW, PLAYING, PLAYING_COUNT, PRESSED, TO_PLAY
from .compiled import inlined, kernel
from .features import joint_angle, observe_game, observe_start
from .game import advance
from .rewards import decision_reward

_FRAMES_A_SECOND = 30.0
_TORSO_X, _TORSO_Y = 6 * at.TORSO + at.X, 6 * at.TORSO + at.Y
_HURDLE = 6 * at.HURDLE_BASE + at.X


@kernel
def play_games(
    lanes, reals, integers, counters, numbers, observations, final_observations, orders, task, fresh_reals,
    fresh_integers, memory, work, first_row, last_row, follow,
):  # fmt: skip
    """Carry out the `orders` for the games of rows first_row … last_row − 1, as many at once as there are lanes.

    With `follow`, a game that is over is followed by a new one: `final_observations` has what ended it, `observations`
    the first of the next, and the counters and numbers of the last decision stay.
    """
    for start in range(first_row, last_row, len(lanes)):
        stop = min(start + len(lanes), last_row)
        for what in (batch.DECIDE, batch.BEGIN):
            count = 0
            for row in range(start, stop):
                if what == batch.DECIDE:
                    wanted = orders[row, batch.DO] == batch.DECIDE
                else:
                    over = counters[row, batch.TERMINATED] != 0 or counters[row, batch.TRUNCATED] != 0
                    wanted = orders[row, batch.DO] == batch.BEGIN or (
                        follow and orders[row, batch.DO] == batch.DECIDE and over
                    )
                if wanted:
                    work[count, CHOSEN] = row
                    count += 1
            work[0, CHOSEN_COUNT] = count
            if count == 0:
                continue
            if what == batch.DECIDE:
                _begin_decisions(reals, numbers, orders, work)
            else:
                _begin_games(
                    reals, integers, counters, observations, final_observations, orders, fresh_reals, fresh_integers,
                    task, memory, work,
                )  # fmt: skip
            _play(lanes, reals, integers, counters, observations, task, memory, work)
            if what == batch.DECIDE:
                _end_decisions(reals, counters, numbers, task, work)
            else:
                _end_idling(reals, counters, numbers, orders, work)


@kernel
def _begin_decisions(reals, numbers, orders, work):
    for place in range(work[0, CHOSEN_COUNT]):
        game = work[place, CHOSEN]
        work[place, FIRST_KEYS], work[place, KEYS] = orders[game, batch.FIRST_KEYS_DOWN], orders[game, batch.KEYS_DOWN]
        work[place, TO_PLAY] = orders[game, batch.FRAMES_TO_PLAY]
        numbers[game, batch.FROM_X], numbers[game, batch.FROM_Y] = reals[game, _TORSO_X], reals[game, _TORSO_Y]
        numbers[game, batch.FROM_HURDLE] = reals[game, _HURDLE]


@kernel
def _end_decisions(reals, counters, numbers, task, work):
    """Write the decisions' rewards, and the outcomes of the games."""
    for place in range(work[0, CHOSEN_COUNT]):
        game = work[place, CHOSEN]
        counters[game, batch.PLAYED] = work[place, PLAYED_NOW]
        counters[game, batch.IDLE_BEFORE] = counters[game, batch.IDLE]
        _measure(reals[game], counters[game], numbers[game])
        counters[game, batch.TERMINATED] = 0
        counters[game, batch.TRUNCATED] = 0
        counters[game, batch.OUTCOME] = batch.RUNNING
        if reals[game, at.ENDED] != 0.0:
            counters[game, batch.TERMINATED] = 1
            finished = reals[game, at.LANDED] != 0.0 and reals[game, at.SCORE] >= batch.FINISH_SCORE
            counters[game, batch.OUTCOME] = batch.FINISHED if finished else batch.FELL
        elif counters[game, batch.FRAMES] >= task[batch.TASK_LIMIT]:
            counters[game, batch.TRUNCATED] = 1
            counters[game, batch.OUTCOME] = batch.STOPPED
        knee = min(joint_angle(reals[game], at.LEFT_KNEE), joint_angle(reals[game], at.RIGHT_KNEE))
        numbers[game, batch.REWARD] = decision_reward(
            task[batch.TASK_REWARD], task[batch.TASK_SHAPING], task[batch.TASK_FALL_PENALTY],
            task[batch.TASK_PUSH_PENALTY], numbers[game, batch.FROM_X], numbers[game, batch.FROM_Y],
            reals[game, _TORSO_X], reals[game, _TORSO_Y], knee, numbers[game, batch.FROM_HURDLE], reals[game, _HURDLE],
            counters[game, batch.OUTCOME] == batch.FINISHED, counters[game, batch.OUTCOME] == batch.FELL,
        )  # fmt: skip


@kernel
def _begin_games(
    reals, integers, counters, observations, final_observations, orders, fresh_reals, fresh_integers, task, memory,
    work,
):  # fmt: skip
    """Begin new games in these rows, and order their idle frames, in which no key is down."""
    for place in range(work[0, CHOSEN_COUNT]):
        game = work[place, CHOSEN]
        _copy(observations[game], final_observations[game])
        _copy(fresh_reals, reals[game])
        _copy(fresh_integers, integers[game])
        counters[game, batch.FRAMES] = 1  # the frame that a reset plays
        counters[game, batch.FIRST_KEY] = 0
        work[place, FIRST_KEYS], work[place, KEYS] = 0, 0
        work[place, TO_PLAY] = orders[game, batch.NEXT_IDLE]
        if task[batch.TASK_LAG] == 1:
            observe_start(task[batch.TASK_OBSERVATION], memory, observations[game])


@kernel
def _end_idling(reals, counters, numbers, orders, work):
    for place in range(work[0, CHOSEN_COUNT]):
        game = work[place, CHOSEN]
        counters[game, batch.IDLE] = work[place, PLAYED_NOW]
        if orders[game, batch.DO] == batch.BEGIN:
            counters[game, batch.IDLE_BEFORE] = counters[game, batch.IDLE]
            counters[game, batch.PLAYED] = counters[game, batch.IDLE]
            counters[game, batch.TERMINATED] = 0
            counters[game, batch.TRUNCATED] = 0
            counters[game, batch.OUTCOME] = batch.RUNNING
            _measure(reals[game], counters[game], numbers[game])
            numbers[game, batch.REWARD] = 0.0


@kernel
def _play(lanes, reals, integers, counters, observations, task, memory, work):
    """Play `work[i, TO_PLAY]` frames of each game `work[i, CHOSEN]`, fewer if it ends.

    `work[i, FIRST_KEYS]` are down in the first of them, `work[i, KEYS]` in the others. `work[i, PLAYED_NOW]`
    receives the number played. Writes the observations, too.
    """
    for place in range(work[0, CHOSEN_COUNT]):
        work[place, PLAYED_NOW] = 0
    while True:
        playing = 0
        for place in range(work[0, CHOSEN_COUNT]):
            game = work[place, CHOSEN]
            if work[place, PLAYED_NOW] < work[place, TO_PLAY] and reals[game, at.ENDED] == 0.0:
                if task[batch.TASK_LAG] == 1:
                    observe_game(task[batch.TASK_OBSERVATION], reals[game], observations[game])
                keys = work[place, FIRST_KEYS if work[place, PLAYED_NOW] == 0 else KEYS]
                work[place, PLAYED_NOW] += 1
                counters[game, batch.FRAMES] += 1
                if keys != 0 and counters[game, batch.FIRST_KEY] == 0:
                    counters[game, batch.FIRST_KEY] = counters[game, batch.FRAMES]
                work[playing, PLAYING], work[playing, PRESSED] = game, keys
                playing += 1
        work[0, PLAYING_COUNT] = playing
        if playing == 0:
            break
        advance(lanes, reals, integers, memory, work)
    if task[batch.TASK_LAG] == 0:
        for place in range(work[0, CHOSEN_COUNT]):
            game = work[place, CHOSEN]
            observe_game(task[batch.TASK_OBSERVATION], reals[game], observations[game])


@inlined
def _measure(reals, counters, numbers):
    numbers[batch.DISTANCE] = reals[6 * at.TORSO + at.X] / 10.0
    numbers[batch.SCORE] = reals[at.SCORE]
    numbers[batch.CLOCK] = reals[at.CLOCK]
    numbers[batch.TIME] = 0.0
    if counters[batch.FIRST_KEY] > 0:
        numbers[batch.TIME] = (counters[batch.FRAMES] - counters[batch.FIRST_KEY] + 1) / _FRAMES_A_SECOND


@inlined
def _copy(source, target):
    for place in range(len(source)):
        target[place] = source[place]
