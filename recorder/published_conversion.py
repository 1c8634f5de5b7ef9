"""Conversion of published recordings to one convention: x relative to the torso, shaped reward, whole game frames.

The published files follow one of two conventions: absolute x with the change of the score as the reward, or x relative
to the torso with the shaped reward. The numbers decide which; the file's name is not used.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..envs.names import FEATURES, FRAMES_A_SECOND
from ..envs.qwop.motion import FRAME_SECONDS, START_X
from ..envs.qwop.rewards import rewards_along
from .expert_file import EXPECTED, ExpertFile

CLOCK_SECONDS = 1 / FRAMES_A_SECOND
"""Time step of the game's clock in one frame."""

JUMP_LINE = 989.0
"""Position of the jump, in units. Beyond it a runner who is still upright can only end the game by landing."""

LOW = 3.5
"""Units below the origin. A head or an arm lower than this in the last recorded row hits the track within the decision
that is missing. In the published files every fall has at least 4.5, every landing at most 2.5."""

TIME_LIMIT = 119.0
"""Seconds. The recordings were cut at 120 s of the game's clock, which the estimated frames give to about 1 %."""

AGREEMENT = 0.2
"""Largest mean difference between the recorded Δx and Δx by the velocities, as a fraction of the latter. The published
files have 0.04 to 0.05; a reward of 2·Δx mistaken for the shaped one would have about 1."""

SLOW = 0.5
"""Units per decision. Smallest denominator of that fraction: contacts alone shake a standing body by hundredths."""

STILL = 1e-4
"""Units. A smaller Δx may be rounding error, of float32 in a file or in the sum of the penalties."""

RELATIVE = "x relative to the torso and shaped reward: both kept"
ABSOLUTE = "absolute x: made relative to the torso; reward, the change of the score: replaced by the shaped reward"
"""Note about a file of either convention."""

_COLUMN = {name: column for column, name in enumerate(FEATURES)}
_X = np.array([column for name, column in _COLUMN.items() if name.endswith(".position_x")])
_Y, _VX, _VY = _X + 1, _X - 2, _X - 1
_TORSO_X, _TORSO_Y, _TORSO_VX = (_COLUMN[f"torso.{number}"] for number in ("position_x", "position_y", "velocity_x"))
_KNEES = [_COLUMN["joint.leftKnee"], _COLUMN["joint.rightKnee"]]
_FALLS = [_COLUMN[f"{body}.position_y"] for body in ("head", "leftArm", "rightArm", "leftForearm", "rightForearm")]


@dataclass(frozen=True)
class ConvertedGame:
    """A converted game of T decisions.

    observations: float32 [T + 1, 71]. actions: int16 [T]. rewards: float32 [T], shaped. frames: int64 [T], game frames
    per decision. metres: position of the torso in the last row. outcome: 'finished', 'fell' or 'stopped'.
    """

    observations: NDArray[np.float32]
    actions: NDArray[np.int16]
    rewards: NDArray[np.float32]
    frames: NDArray[np.int64]
    metres: float
    outcome: str

    @property
    def times(self) -> NDArray[np.float64]:
        """Seconds on the game's clock since the first row, float64 [T + 1]."""
        return np.concatenate([[0.0], np.cumsum(self.frames) * CLOCK_SECONDS])


@dataclass(frozen=True)
class Converted:
    """A converted recording.

    rows: the recording's rows of each game. frames_per_decision: mean over the
    decisions in which something moves. notes: findings and changes, one sentence each.
    """

    games: tuple[ConvertedGame, ...]
    rows: tuple[slice, ...]
    frames_per_decision: float
    notes: tuple[str, ...]


def convert(recording: ExpertFile) -> Converted:
    """Convert the games of a recording; BadInput if its numbers cannot come from QWOP.

    The observation after a game's last action was not recorded. The last row therefore becomes the final observation,
    and its action and reward are dropped: one decision of hundreds, so that the game ends one decision early. A game
    of a single row has no decision left and is dropped.
    """
    relative = not recording.observations[:, _TORSO_X].any()
    rows = [game for game in recording.games if game.stop - game.start > 1]
    if not rows:
        raise BadInput(f"no game has two or more rows; {EXPECTED}")
    progress = _torso_steps(recording, rows, relative)
    games = tuple(_game(recording, game, moved, relative) for game, moved in zip(rows, progress, strict=True))
    frames = np.concatenate([game.frames for game in games])
    moving = frames[frames > 0]
    if len(moving) == 0:
        raise BadInput(f"nothing moves in any game; {EXPECTED}")
    dropped = len(recording.games) - len(rows)
    outcomes = [game.outcome for game in games]
    counts = ", ".join(f"{name} {outcomes.count(name)}" for name in dict.fromkeys(outcomes))
    notes = (
        RELATIVE if relative else ABSOLUTE,
        f"a decision lasts {moving.mean():.2f} game frames on average",
        f"{len(games)} games, {len(frames)} decisions ({counts}); the last row of each became its final observation"
        + (f"; {dropped} of a single row dropped" if dropped else ""),
    )
    return Converted(games, tuple(rows), float(moving.mean()), notes)


def frames_between(observations: NDArray[np.float64], moved: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """Estimate the number of frames between rows, int64 [n − 1], of observations [n, 71]; 0 if nothing moved.

    In each frame the velocities change first and then move the bodies, so over N frames of constant acceleration
    Δp = 0.04·(N·(v + v′)/2 + (v′ − v)/2). N is the least-squares solution over the positions of all bodies. If the
    torso's Δx is known (`moved` float64 [n − 1], else NaN), x is absolute, which is far more accurate; else it is
    relative to the torso.
    """
    is_absolute = np.zeros(len(observations) - 1, dtype=bool) if moved is None else np.isfinite(moved)
    torso_dx = np.zeros(len(is_absolute)) if moved is None else np.where(is_absolute, moved, 0.0)
    x = observations[:, _X] - observations[:, [_TORSO_X]]
    before, after = (
        np.concatenate(
            [rows[:, _VX] - np.where(is_absolute, 0.0, rows[:, _TORSO_VX])[:, None], rows[:, _VY]],
            axis=1,
        )
        for rows in (observations[:-1], observations[1:])
    )
    change = np.concatenate([np.diff(x, axis=0) + torso_dx[:, None], np.diff(observations[:, _Y], axis=0)], axis=1)
    mean = (before + after) / 2
    rest = change / FRAME_SECONDS - (after - before) / 2
    squares = (mean**2).sum(axis=1)
    frames = np.divide((rest * mean).sum(axis=1), squares, out=np.zeros(len(is_absolute)), where=squares > 1e-9)
    rounded: NDArray[np.int64] = np.maximum(np.rint(frames), 0).astype(np.int64)
    return rounded


def _game(recording: ExpertFile, rows: slice, moved: NDArray[np.float64], relative: bool) -> ConvertedGame:
    originals = recording.observations[rows]
    frames = frames_between(originals, moved)
    travelled = np.where(np.isfinite(moved), moved, np.minimum(_by_velocity(originals, frames), 0)).sum()
    end = (START_X if relative else originals[0, _TORSO_X]) + travelled
    observations = originals.copy()
    observations[:, _X] -= originals[:, [_TORSO_X]]
    rewards = recording.rewards[rows][:-1] if relative else _shaped(originals, originals[:, _TORSO_X])
    return ConvertedGame(
        observations=observations.astype(np.float32),
        actions=recording.actions[rows][:-1],
        rewards=rewards.astype(np.float32),
        frames=frames,
        metres=float(end / 10),
        outcome=_outcome(end, float(originals[-1, _FALLS].max()), float(frames.sum() * CLOCK_SECONDS)),
    )


def _outcome(end: float, lowest: float, seconds: float) -> str:
    """Infer the outcome from the last row, one decision before the end: torso at `end`, head or arms at `lowest`."""
    if lowest > LOW:
        return "fell"
    return "finished" if end >= JUMP_LINE and seconds < TIME_LIMIT else "stopped"


def _shaped(observations: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    return rewards_along("shaped", x, observations[:, _TORSO_Y], observations[:, _KNEES].min(axis=1))


def _by_velocity(observations: NDArray[np.float64], frames: NDArray[np.int64]) -> NDArray[np.float64]:
    """Δx over `frames` frames, from the torso's velocities before and after them; see `frames_between`."""
    before, after = observations[:-1, _TORSO_VX], observations[1:, _TORSO_VX]
    return FRAME_SECONDS * (frames * (before + after) / 2 + (after - before) / 2)


def _torso_steps(recording: ExpertFile, games: list[slice], relative: bool) -> list[NDArray[np.float64]]:
    """Determine the torso's Δx in each decision of each game, NaN if unknown.

    With relative x it follows from the shaped reward: max(Δx, 0) = r − penalties, and the penalties follow from the
    observations. A value of 0 means that the torso moved back by an unknown distance. Raises BadInput if r − penalties
    is negative or Δx disagrees with the velocities, since the file is then no published recording.
    """
    progress, expected = [], []
    for game in games:
        observations = recording.observations[game]
        if relative:
            progress.append(recording.rewards[game][:-1] - _shaped(observations, np.zeros(len(observations))))
            expected.append(np.maximum(_by_velocity(observations, frames_between(observations)), 0))
        else:
            progress.append(np.diff(observations[:, _TORSO_X]))
            expected.append(_by_velocity(observations, frames_between(observations, progress[-1])))
    every, by_velocity = np.concatenate(progress), np.concatenate(expected)
    error = np.abs(every - by_velocity).mean()
    least = max(np.abs(by_velocity).mean(), SLOW)
    if error > AGREEMENT * least or (relative and every.min() < -STILL):
        whence = "its rewards, read as the shaped reward," if relative else "its positions"
        raise BadInput(
            f"x is {'relative' if relative else 'absolute'}, but Δx by {whence} differs from Δx by its velocities by "
            f"{error:.2f} units per decision; {EXPECTED}"
        )
    return [np.where(moved > STILL, moved, np.nan) for moved in progress] if relative else progress
