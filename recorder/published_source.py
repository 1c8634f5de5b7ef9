"""`source=import`: published recordings as episodes of one convention: x relative to the torso, shaped reward, whole
game frames.

The published files follow one of two conventions: absolute x with the change of the score as the reward, or x relative
to the torso with the shaped reward. The numbers decide which; the file's name is not used.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput, naming
from ..common.npz import read_arrays
from ..common.reading import MEGABYTE
from ..datasets.behaviour_probabilities import SMOOTHED
from ..datasets.exchange.imported import ImportDefaults, imported_episode
from ..datasets.origin import Origin
from ..datasets.reconstruction.samples import write_samples
from ..datasets.schema import DatasetInfo, Episode, mu_in_words
from ..envs.names import ACTIONS, FEATURES, FRAMES_A_SECOND
from ..envs.qwop.rewards import rewards_along
from ..envs.spec import EnvironmentSpec, ObservationSpec
from .settings import ImportSettings
from .source import Source, find_files, require_new

ARRAYS = ("obs", "actions", "rewards", "episode_starts", "episode_returns")

EXPECTED = "expected an expert file of stable-baselines (.npz), such as a published recording"

LARGEST = 256 * MEGABYTE
"""Bytes of a recording, at most; the published ones have a few megabytes."""

RETURN_TOLERANCE = 1e-3
"""Largest difference between the sum of a game's rewards and its return, summed in another order and precision."""

OBSERVATION_LAG = 1
"""Frames by which the observations of the published recordings lag the physics."""

CLOCK_SECONDS = 1 / FRAMES_A_SECOND
"""Time step of the game's clock in one frame."""

FRAME_SECONDS = 0.04
"""Time step of the physics, seconds of simulation per frame."""

START_X = 2.5
"""The torso's x at the start, units; observations hold x relative to the torso."""

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

_COLUMN = {name: column for column, name in enumerate(FEATURES)}
_X = np.array([column for name, column in _COLUMN.items() if name.endswith(".position_x")])
_Y, _VX, _VY = _X + 1, _X - 2, _X - 1
_TORSO_X, _TORSO_Y, _TORSO_VX = (_COLUMN[f"torso.{number}"] for number in ("position_x", "position_y", "velocity_x"))
_KNEES = [_COLUMN["joint.leftKnee"], _COLUMN["joint.rightKnee"]]
_FALLS = [_COLUMN[f"{body}.position_y"] for body in ("head", "leftArm", "rightArm", "leftForearm", "rightForearm")]


def open_import(settings: ImportSettings, folder: Path) -> Source:
    """Open the games of all files, which are all read, validated and converted before the first game is yielded.

    Raises BadInput for a file that is not a published recording, whose decisions differ in length from the other
    files', or that `folder` already contains.
    """
    paths = find_files(settings.files, "demos/kuro_try1.npz", EXPECTED)
    recordings = [read_expert_file(path) for path in paths]
    require_new(paths, [recording.digest for recording in recordings], folder)
    converted, lengths, notes = [], [], []
    for path, recording in zip(paths, recordings, strict=True):
        with naming(path):
            games, more = convert(recording)
        converted.append(games)
        lengths.append(max(1, round(frames_per_decision(games))))
        notes += [f"{path.name}: {note}" for note in more]
        if lengths[-1] != lengths[0]:
            raise BadInput(
                f"{path}: its decisions last {lengths[-1]} game frames, those of {paths[0].name} {lengths[0]}; import "
                "them into separate datasets"
            )
    spec = EnvironmentSpec(
        "QWOP-v1", {"frames_per_step": lengths[0], "reward": "shaped", "observation_lag": OBSERVATION_LAG}
    )
    info = DatasetInfo(spec, ObservationSpec((len(FEATURES),)), len(ACTIONS))

    def episodes() -> Iterator[Episode]:
        for recording, games in zip(recordings, converted, strict=True):
            # The episodes' float32 would not do for `qwop-dataset reconstruct`.
            write_samples(folder, recording.digest, [recording.observations[game.rows] for game in games])
            for number, game in enumerate(games):
                yield imported_episode(
                    info,
                    ImportDefaults(settings.player, settings.epsilon),
                    game.observations,
                    game.actions,
                    game.rewards,
                    terminated=game.outcome != "stopped",
                    source=recording.name,
                    origin=Origin(sha256=recording.digest, game=number),
                    times=game.times,
                    outcome=game.outcome,
                    metres=game.metres,
                )

    return Source(
        info=info,
        episodes=episodes(),
        total=sum(map(len, converted)),
        notes=[*notes, f"behaviour probabilities: {mu_in_words(SMOOTHED, settings.epsilon)}; recorded as {spec}"],
    )


@dataclass(frozen=True)
class ExpertFile:
    """An expert file of n decisions.

    name: of the file. digest: of its arrays. observations: float64 [n, 71]. actions: int16 [n]. rewards: float64 [n].
    games: rows of each game.
    """

    name: str
    digest: str
    observations: NDArray[np.float64]
    actions: NDArray[np.int16]
    rewards: NDArray[np.float64]
    games: tuple[slice, ...]


def read_expert_file(path: Path) -> ExpertFile:
    """Read an expert file; BadInput for a faulty one. Never unpickles anything.

    It is an .npz with one row per decision, episode after episode: `obs` [n, 71], `actions` [n] or [n, 1], `rewards`
    [n], `episode_starts` bool [n], and `episode_returns`, one per episode. The observation after an episode's last
    action is missing.
    """
    arrays = read_arrays(path, lambda _: ARRAYS, LARGEST, EXPECTED)
    with naming(path):
        observations = _require("obs", arrays["obs"], (None, len(FEATURES)))
        rows = len(observations)
        actions = arrays["actions"][:, 0] if arrays["actions"].shape[1:] == (1,) else arrays["actions"]
        actions = _require("actions", actions, (rows,), "iu")
        if ((actions < 0) | (actions >= len(ACTIONS))).any():
            raise BadInput(f"actions from {actions.min()} to {actions.max()}, expected 0 … {len(ACTIONS) - 1}")
        rewards = _require("rewards", arrays["rewards"], (rows,)).astype(np.float64)
        starts = _require("episode_starts", arrays["episode_starts"], (rows,), "b")
        if not starts[0]:
            raise BadInput("episode_starts does not begin with a start")
        games = tuple(starmap(slice, pairwise([*np.flatnonzero(starts).tolist(), rows])))
        returns = _require("episode_returns", arrays["episode_returns"], (len(games),))
        for number, game in enumerate(games):
            total = rewards[game].sum()
            if abs(total - returns[number]) > RETURN_TOLERANCE * max(1.0, abs(total)):
                raise BadInput(
                    f"game {number} has the return {returns[number]:.3f}, but its rewards sum to {total:.3f}; "
                    "the file is damaged"
                )
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays.values())).hexdigest()[:12]
    return ExpertFile(path.name, digest, observations.astype(np.float64), actions.astype(np.int16), rewards, games)


def _require(name: str, array: NDArray[Any], shape: tuple[int | None, ...], kinds: str = "fiu") -> NDArray[Any]:
    """The array, which has numbers of these kinds of NumPy's; BadInput for another one."""
    sizes = zip(shape, array.shape, strict=False)
    fits = array.ndim == len(shape) and all(size in (None, length) for size, length in sizes)
    if not fits or array.size == 0 or array.dtype.kind not in kinds:
        expected = ", ".join("n" if size is None else str(size) for size in shape)
        what = {"iu": "whole numbers", "b": "bool"}.get(kinds, "numbers")
        raise BadInput(f"{name} are {array.dtype} {list(array.shape)}, expected {what} [{expected}]")
    if not np.isfinite(array).all():
        raise BadInput(f"{name} hold NaN or infinity in row {np.argwhere(~np.isfinite(array))[0][0]}")
    return array


@dataclass(frozen=True)
class ConvertedGame:
    """A converted game of T decisions.

    rows: of the recording. observations: float64 [T + 1, 71]. actions: int16 [T]. rewards: float64 [T], shaped.
    frames: int64 [T], game frames per decision. progress, by_velocity: float64 [T], the torso's Δx as its x or rewards
    have it, and as its velocities have it. metres: position of the torso in the last row. outcome: 'finished', 'fell'
    or 'stopped'.
    """

    rows: slice
    observations: NDArray[np.float64]
    actions: NDArray[np.int16]
    rewards: NDArray[np.float64]
    frames: NDArray[np.int64]
    progress: NDArray[np.float64]
    by_velocity: NDArray[np.float64]
    metres: float
    outcome: str

    @property
    def times(self) -> NDArray[np.float64]:
        """Seconds on the game's clock since the first row, float64 [T + 1]."""
        return np.concatenate([[0.0], np.cumsum(self.frames) * CLOCK_SECONDS])


def convert(recording: ExpertFile) -> tuple[list[ConvertedGame], list[str]]:
    """Convert the games of a recording; what was found and changed, one sentence each. BadInput if its numbers cannot
    come from QWOP.

    The observation after a game's last action was not recorded. The last row therefore becomes the final observation,
    and its action and reward are dropped: one decision of hundreds, so that the game ends one decision early. A game
    of a single row has no decision left and is dropped.
    """
    relative = not recording.observations[:, _TORSO_X].any()
    games = [_game(recording, rows, relative) for rows in recording.games if rows.stop - rows.start > 1]
    if not games:
        raise BadInput(f"no game has two or more rows; {EXPECTED}")
    _require_agreement(games, relative)
    length, dropped = frames_per_decision(games), len(recording.games) - len(games)
    if not length:
        raise BadInput(f"nothing moves in any game; {EXPECTED}")
    outcomes = [game.outcome for game in games]
    counts = ", ".join(f"{name} {outcomes.count(name)}" for name in dict.fromkeys(outcomes))
    return games, [
        "x relative to the torso and shaped reward: both kept" if relative
        else "absolute x: made relative to the torso; reward, the change of the score: replaced by the shaped reward",
        f"a decision lasts {length:.2f} game frames on average",
        f"{len(games)} games, {sum(len(game.actions) for game in games)} decisions ({counts}); the last row of each "
        "became its final observation" + (f"; {dropped} of a single row dropped" if dropped else ""),
    ]  # fmt: skip


def frames_per_decision(games: list[ConvertedGame]) -> float:
    """Mean over the decisions in which something moves; 0 without one."""
    frames = np.concatenate([game.frames for game in games])
    return float(frames[frames > 0].mean()) if frames.any() else 0.0


def _game(recording: ExpertFile, rows: slice, relative: bool) -> ConvertedGame:
    """The game in these rows.

    With relative x, the torso's Δx follows from the shaped reward: max(Δx, 0) = r − penalties, and the penalties follow
    from the observations. A value of 0 means that the torso moved back by an unknown distance, which its velocities
    give.
    """
    originals, rewards = recording.observations[rows], recording.rewards[rows][:-1]
    x = originals[:, _TORSO_X]
    shaped = rewards_along("shaped", x, originals[:, _TORSO_Y], originals[:, _KNEES].min(axis=1))
    if relative:
        progress = rewards - shaped
        moved = np.where(progress > STILL, progress, np.nan)
        frames = _frames_between(originals, moved)
        by_velocity = np.maximum(_by_velocity(originals, _frames_between(originals, np.full(len(moved), np.nan))), 0)
        moved = np.where(np.isfinite(moved), moved, np.minimum(_by_velocity(originals, frames), 0))
    else:
        progress = moved = np.diff(x)
        frames = _frames_between(originals, moved)
        by_velocity = _by_velocity(originals, frames)
    end = (START_X if relative else x[0]) + moved.sum()
    observations = originals.copy()
    observations[:, _X] -= x[:, None]
    outcome = "finished" if end >= JUMP_LINE and frames.sum() * CLOCK_SECONDS < TIME_LIMIT else "stopped"
    return ConvertedGame(
        rows=rows,
        observations=observations,
        actions=recording.actions[rows][:-1],
        rewards=rewards if relative else shaped,
        frames=frames,
        progress=progress,
        by_velocity=by_velocity,
        metres=float(end / 10),
        outcome="fell" if originals[-1, _FALLS].max() > LOW else outcome,
    )


def _frames_between(observations: NDArray[np.float64], moved: NDArray[np.float64]) -> NDArray[np.int64]:
    """Estimate the number of frames between rows, int64 [n − 1], of observations [n, 71]; 0 if nothing moved.

    In each frame the velocities change first and then move the bodies, so over N frames of constant acceleration
    Δp = 0.04·(N·(v + v′)/2 + (v′ − v)/2). N is the least-squares solution over the positions of all bodies. If the
    torso's Δx is known (`moved` float64 [n − 1], else NaN), x is absolute, which is far more accurate; else it is
    relative to the torso.
    """
    is_absolute = np.isfinite(moved)
    x = observations[:, _X] - observations[:, [_TORSO_X]]
    before, after = (
        np.concatenate([rows[:, _VX] - np.where(is_absolute, 0.0, rows[:, _TORSO_VX])[:, None], rows[:, _VY]], axis=1)
        for rows in (observations[:-1], observations[1:])
    )
    torso_dx = np.where(is_absolute, moved, 0.0)[:, None]
    change = np.concatenate([np.diff(x, axis=0) + torso_dx, np.diff(observations[:, _Y], axis=0)], axis=1)
    mean = (before + after) / 2
    rest = change / FRAME_SECONDS - (after - before) / 2
    squares = (mean**2).sum(axis=1)
    frames = np.divide((rest * mean).sum(axis=1), squares, out=np.zeros(len(is_absolute)), where=squares > 1e-9)
    rounded: NDArray[np.int64] = np.maximum(np.rint(frames), 0).astype(np.int64)
    return rounded


def _by_velocity(observations: NDArray[np.float64], frames: NDArray[np.int64]) -> NDArray[np.float64]:
    """Δx over `frames` frames, from the torso's velocities before and after them; see `_frames_between`."""
    before, after = observations[:-1, _TORSO_VX], observations[1:, _TORSO_VX]
    return FRAME_SECONDS * (frames * (before + after) / 2 + (after - before) / 2)


def _require_agreement(games: list[ConvertedGame], relative: bool) -> None:
    """BadInput if r − penalties is negative or Δx disagrees with the velocities: the file is no published recording."""
    progress = np.concatenate([game.progress for game in games])
    by_velocity = np.concatenate([game.by_velocity for game in games])
    error = np.abs(progress - by_velocity).mean()
    if error > AGREEMENT * max(np.abs(by_velocity).mean(), SLOW) or (relative and progress.min() < -STILL):
        whence = "its rewards, read as the shaped reward," if relative else "its positions"
        raise BadInput(
            f"x is {'relative' if relative else 'absolute'}, but Δx by {whence} differs from Δx by its velocities by "
            f"{error:.2f} units per decision; {EXPECTED}"
        )
