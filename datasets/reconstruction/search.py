"""The keys between two samples: sequences are played until the game shows exactly the numbers of the later one.

The search goes from sample to sample. From the games that agree with one sample to the last bit, key sequences are
played in order of their number of changes until a game comes near the next sample; then all sequences that stay near
that game are played, and those that agree exactly are kept. Several may remain: when motors push at full force,
different keys give the same game, and hidden numbers (the hips' limits) may differ until a later sample decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...envs.engine import layout as at
from ...envs.engine import native, workspace
from ...envs.engine.batch import FEATURES

EFFECTIVE_KEYS = np.array([thighs | calves for thighs in (0, 1, 2) for calves in (0, 4, 8)], dtype=np.uint8)
"""Key combinations that differ in their effect: Q overrides W, and O overrides P."""

_CHANGES = np.array([[int(a & 3 != b & 3) + int(a & 12 != b & 12) for b in EFFECTIVE_KEYS] for a in EFFECTIVE_KEYS])
_PLACE = {int(keys): place for place, keys in enumerate(EFFECTIVE_KEYS)}

NEAR = 1e-6
"""Units, radians and units a second. Games this close in all numbers differ only by rounding: a single frame with other
keys makes a difference of at least 1e-2, or none."""

MOST_GAMES = 60_000
"""Games to play side by side, at most: 700 MB."""

_MOTOR_SPEEDS = [at.JOINT + at.JOINT_REALS * joint + at.MOTOR_SPEED for joint in range(at.JOINTS)]
_LASTING = np.setdiff1d(np.arange(at.REALS), _MOTOR_SPEEDS)
"""The numbers of a game that outlive a frame; the keys set the motors' speeds anew."""

Game = tuple[NDArray[np.float64], NDArray[np.int32]]


@dataclass(frozen=True)
class Candidates:
    """Games that agree with a sample: reals float64 [n, REALS], integers int32 [n, INTEGERS].

    keys: of each, those of its frames since the sample before. parents: int64 [n], the place of the game that it comes
    from among the candidates of the sample before.
    """

    reals: NDArray[np.float64]
    integers: NDArray[np.int32]
    keys: list[bytes]
    parents: NDArray[np.int64]


@dataclass(frozen=True)
class Explained:
    """The first samples of a game, explained.

    samples: how many. candidates: of the start and of every sample after it that shows another frame.
    """

    samples: int
    candidates: list[Candidates]

    def keys(self) -> NDArray[np.uint8]:
        """The keys of every frame up to the last explained sample, uint8 [n]; of equivalent ones, those first found."""
        parts, place = [], 0
        for candidates in reversed(self.candidates[1:]):
            parts.append(candidates.keys[place])
            place = int(candidates.parents[place])
        return np.frombuffer(b"".join(reversed(parts)), dtype=np.uint8).copy()

    @property
    def last(self) -> Game:
        """The game at the last explained sample: rows [1, REALS] and [1, INTEGERS], copied."""
        return self.candidates[-1].reals[:1].copy(), self.candidates[-1].integers[:1].copy()


class Search:
    """Explains samples. trigonometry: one of `TRIGONOMETRIES`. frames: that usually pass between samples."""

    def __init__(self, trigonometry: str, frames: int) -> None:
        self.trigonometry = trigonometry
        self._workspace = workspace()
        self._scratch = np.empty(FEATURES)
        usual = frames + 2
        # Most frames and most changes of keys, cheapest first.
        self._plan = (
            *((usual, changes) for changes in range(5)),
            *((usual + 4, changes) for changes in range(4)),
            (2 * usual + 6, 2),
            (usual, 5),
            *(((usual, 6), (usual, 8)) if frames <= 4 else ()),
        )

    def explain(self, samples: NDArray[np.float64], start: Game) -> Explained:
        """Explain as many of the samples, float64 [n, 71], as possible, from a game at its start.

        The first samples may show the start itself, and one sample the same frame as that before it.
        """
        place = 0
        while place < len(samples) and self.distances(start[0], samples[place])[0] == 0:
            place += 1
        candidates = [Candidates(*start, [b""], np.zeros(1, dtype=np.int64))]
        while place < len(samples):
            if place == 0 or not np.array_equal(samples[place], samples[place - 1]):
                successors = self._next(candidates[-1], samples[place])
                if successors is None:
                    break
                candidates.append(successors)
            place += 1
        return Explained(place, candidates)

    def comes_near(self, start: Game, sample: NDArray[np.float64]) -> bool:
        """True if few frames, with two changes of keys after the first at most, lead from a game near to a sample."""
        begun = Candidates(*start, [b""], np.zeros(1, dtype=np.int64))
        return self._near(begun, sample, self._plan[0][0], 4) is not None

    def play(self, game: Game, keys: Sequence[int] | NDArray[np.uint8]) -> None:
        """Play a frame of every game, each with its own keys."""
        native.call(
            "play_frame", *game, np.ascontiguousarray(keys, dtype=np.uint8), *self._workspace,
            width=native.MANY, trigonometry=self.trigonometry,
        )  # fmt: skip

    def distances(self, reals: NDArray[np.float64], sample: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest difference of each game from a sample, float64 [n]."""
        out = np.empty(len(reals))
        native.call("distances", reals, sample, self._scratch, out)
        return out

    def _next(self, now: Candidates, sample: NDArray[np.float64]) -> Candidates | None:
        """The games that agree with the sample; None if there are none."""
        for frames, changes in self._plan:
            # The keys of a game's first frame are held already when it begins.
            if near := self._near(now, sample, frames, changes + (0 if now.keys[0] else 3)):
                return self._equal(now, sample, *near)
        return None

    def _near(
        self, now: Candidates, sample: NDArray[np.float64], most_frames: int, most_changes: int
    ) -> tuple[int, bytes] | None:
        """The place and keys of a game that comes near the sample within a number of frames and key changes."""
        reals, integers = now.reals, now.integers
        origin = np.arange(len(reals))
        places = np.array([_PLACE[keys[-1]] if keys else 0 for keys in now.keys])
        changes = np.zeros(len(reals), dtype=np.int64)
        keys = np.zeros((len(reals), 0), dtype=np.uint8)
        for _ in range(most_frames):
            after = changes[:, None] + _CHANGES[places]
            parent, choice = np.nonzero(after <= most_changes)
            if len(parent) > MOST_GAMES:
                break
            reals, integers = reals[parent], integers[parent]
            self.play((reals, integers), EFFECTIVE_KEYS[choice])
            origin, places, changes = origin[parent], choice, after[parent, choice]
            keys = np.concatenate([keys[parent], EFFECTIVE_KEYS[choice][:, None]], axis=1)
            away = self.distances(reals, sample)
            best = int(away.argmin())
            if away[best] < NEAR:
                return int(origin[best]), keys[best].tobytes()
        return None

    def _equal(self, now: Candidates, sample: NDArray[np.float64], place: int, keys: bytes) -> Candidates | None:
        """The games that stay near that of the candidate at `place` with `keys` and finally agree with the sample."""
        guide = now.reals[[place]], now.integers[[place]]
        near = _near_rows(now.reals, guide[0])
        reals, integers, parents = now.reals[near], now.integers[near], near
        paths = [b""] * len(near)
        for pressed in keys:
            self.play(guide, [pressed])
            parent = np.repeat(np.arange(len(reals)), len(EFFECTIVE_KEYS))
            # The guide's keys come first, so that they are kept among equal games.
            order = np.concatenate([[pressed], EFFECTIVE_KEYS[pressed != EFFECTIVE_KEYS]]).astype(np.uint8)
            choice = np.tile(order, len(reals))
            reals, integers = reals[parent], integers[parent]
            self.play((reals, integers), choice)
            near = _near_rows(reals, guide[0])
            near = near[_first_of_equals(reals[near], integers[near])]
            reals, integers, parents = reals[near], integers[near], parents[parent[near]]
            paths = [paths[parent[row]] + bytes([choice[row]]) for row in near]
        same = np.flatnonzero(self.distances(reals, sample) == 0)
        if not len(same):
            return None
        return Candidates(reals[same], integers[same], [paths[row] for row in same], parents[same])


def _near_rows(reals: NDArray[np.float64], guide: NDArray[np.float64]) -> NDArray[np.int64]:
    bodies = slice(0, at.EVENTS)
    return np.flatnonzero(np.abs(reals[:, bodies] - guide[:, bodies]).max(axis=1) < NEAR)


def _first_of_equals(reals: NDArray[np.float64], integers: NDArray[np.int32]) -> NDArray[np.int64]:
    """The first row of each set of games with the same future, in order."""
    first: dict[bytes, int] = {}
    for row in range(len(reals)):
        first.setdefault(reals[row, _LASTING].tobytes() + integers[row].tobytes(), row)
    return np.array(list(first.values()), dtype=np.int64)
