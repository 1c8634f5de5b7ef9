"""Stores of observations before rewarding and unrewarding steps, for reward prediction (Jaderberg et al. 2017)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....envs.spec import Observations
from ...experience.sequences import Sequences
from ...replay.ring import Ring

WINDOW = 3
"""Observations that a reward is predicted from."""

SHARE = 8
"""Largest fraction of a store filled from one iteration, so that it spans several."""


class Windows(NamedTuple):
    """observations [m, 3, *shape]: three consecutive ones of an episode. rewards float32 [m]: of the action after
    them."""

    observations: Observations
    rewards: NDArray[np.float32]


class RewardStores:
    """The newest windows, in one store for rewarding and one for unrewarding steps; a batch takes half from each."""

    def __init__(self, capacity: int, generator: np.random.Generator) -> None:
        self._none, self._some = _Store(capacity), _Store(capacity)
        self._generator = generator

    def __len__(self) -> int:
        """Number of windows in the smaller store; 0 while either is empty."""
        return min(len(self._none), len(self._some))

    def add(self, played: Sequences, signals: NDArray[np.float32]) -> None:
        """Add windows of live play; signals, [n, k], are the rewards to predict."""
        over = played.terminated | played.truncated
        within = np.ones(over.shape, dtype=np.bool_)
        within[:, : WINDOW - 1] = False
        for before in range(1, WINDOW):
            within[:, before:] &= ~over[:, :-before]
        for store, chosen in ((self._none, within & (signals == 0)), (self._some, within & (signals != 0))):
            row, step = chosen.nonzero()
            most = -(-store.capacity // SHARE)
            if len(row) > most:
                kept = self._generator.choice(len(row), most, replace=False)
                row, step = row[kept], step[kept]
            if len(row):
                steps = step[:, None] + np.arange(1 - WINDOW, 1)
                store.add(Windows(played.observations[row[:, None], steps], signals[row, step]))

    def sample(self, count: int) -> Windows:
        """Sample count // 2 windows of each kind, with replacement; neither store may be empty."""
        halves = [store.sample(count // 2, self._generator) for store in (self._none, self._some)]
        return Windows(*(np.concatenate(parts) for parts in zip(*halves, strict=True)))

    def get_state(self) -> dict[str, object]:
        """The windows; the caller saves the generator."""
        return {"none": self._none.get_state(), "some": self._some.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        self._none.set_state(state["none"])
        self._some.set_state(state["some"])


class _Store:
    """A ring of windows."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._ring = Ring(capacity)
        self._windows: Windows | None = None

    def __len__(self) -> int:
        return self._ring.size

    def add(self, windows: Windows) -> None:
        if self._windows is None:
            self._windows = Windows(*(np.zeros((self.capacity, *part.shape[1:]), part.dtype) for part in windows))
        slots = self._ring.push(len(windows.rewards))
        for mine, new in zip(self._windows, windows, strict=True):
            mine[slots] = new

    def sample(self, count: int, generator: np.random.Generator) -> Windows:
        assert self._windows is not None
        slots = generator.integers(len(self), size=count)
        return Windows(self._windows.observations[slots], self._windows.rewards[slots])

    def get_state(self) -> dict[str, object] | None:
        """Copies of the filled slots, oldest first, and the slot of the oldest, because windows are sampled by slot."""
        if self._windows is None:
            return None
        windows = {name: part[self._ring.by_age()] for name, part in self._windows._asdict().items()}
        return {**windows, "start": self._ring.start}

    def set_state(self, state: dict[str, Any] | None) -> None:
        self._ring, self._windows = Ring(self.capacity), None
        if state is not None:
            self._ring.refill(0, int(state.get("start", 0)))  # earlier versions moved the oldest to slot 0
            self.add(Windows(np.asarray(state["observations"]), np.asarray(state["rewards"])))
