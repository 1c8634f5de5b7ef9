"""Slot indices of a ring buffer: the filled slots, and the order in which they are overwritten."""

import numpy as np
from numpy.typing import NDArray


class Ring:
    """Slots 0 … capacity − 1, of which 0 … size − 1 are filled, the oldest at `start` (0 until the ring is full)."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.size = 0
        self.start = 0

    def push(self, n: int) -> NDArray[np.int64]:
        """Allocate slots, int64 [n], for the next n items, each overwriting the oldest once the ring is full."""
        if n > self.capacity:
            raise ValueError(f"{n} items at once into a memory of {self.capacity}")
        slots = (self.start + self.size + np.arange(n)) % self.capacity
        evicted = max(0, self.size + n - self.capacity)
        self.start = (self.start + evicted) % self.capacity
        self.size += n - evicted
        return slots

    def by_age(self) -> NDArray[np.int64]:
        """The filled slots, oldest first: int64 [size]."""
        return (self.start + np.arange(self.size)) % self.capacity

    def refill(self, size: int, start: int = 0) -> NDArray[np.int64]:
        """Reset to `size` items with the oldest at `start`; return their slots, oldest first."""
        self.start, self.size = start, size
        return self.by_age()

    def check_valid(self) -> None:
        """Assert that `start` is 0 unless the ring is full."""
        assert 0 <= self.size <= self.capacity
        assert 0 <= self.start < self.capacity
        assert self.start == 0 or self.size == self.capacity
