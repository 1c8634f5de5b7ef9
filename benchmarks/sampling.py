"""Microseconds to sample a batch of sequences or transitions, by the number that are stored.

    python benchmarks/sampling.py

Sequences are drawn uniformly, in constant time; prioritised transitions by a sum tree, in O(log n).
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.sequences import Sequences, TruncatedObservations
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.replay.prioritised_memory import PrioritisedMemory, PrioritySettings
from qwop.finetune.replay.sequence_memory import SequenceMemory
from rich.console import Console
from rich.table import Table

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BATCH, STEPS, ACTIONS = 32, 8, 11
OBSERVATION = ObservationSpec((4,))
CHUNK = 1_000
ROUNDS = 300


def sequence_memory(size: int) -> SequenceMemory:
    """A full memory of so many sequences."""
    memory = SequenceMemory(size, STEPS, OBSERVATION, ACTIONS)
    chunk = Sequences(
        observations=OBSERVATION.zeros(CHUNK, STEPS + 1),
        actions=np.zeros((CHUNK, STEPS), dtype=np.int64),
        rewards=np.zeros((CHUNK, STEPS), dtype=np.float32),
        behaviour_probabilities=np.full((CHUNK, STEPS, ACTIONS), 1 / ACTIONS, dtype=np.float32),
        terminated=np.zeros((CHUNK, STEPS), dtype=np.bool_),
        truncated=np.zeros((CHUNK, STEPS), dtype=np.bool_),
        finals=TruncatedObservations(np.zeros(0, np.int64), np.zeros(0, np.int64), OBSERVATION.zeros(0)),
        source=np.zeros(CHUNK, dtype=np.int8),
    )
    for _ in range(size // CHUNK):
        memory.push(chunk)
    return memory


def prioritised_memory(size: int) -> PrioritisedMemory:
    """A full memory of so many transitions."""
    memory = PrioritisedMemory(size, OBSERVATION, PrioritySettings())
    chunk = Transitions(
        observations=OBSERVATION.zeros(CHUNK),
        actions=np.zeros(CHUNK, dtype=np.int64),
        rewards=np.zeros(CHUNK, dtype=np.float32),
        discounts=np.ones(CHUNK, dtype=np.float32),
        next_observations=OBSERVATION.zeros(CHUNK),
        source=np.zeros(CHUNK, dtype=np.int8),
    )
    for _ in range(size // CHUNK):
        memory.push(chunk)
    return memory


def microseconds(sample: Callable[[], object]) -> float:
    """Median time of a call."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        sample()
        times.append(time.perf_counter() - began)
    return float(np.median(times)) * 1e6


def main() -> None:
    table = Table("stored", "sequences", "prioritised transitions", title=f"microseconds to sample {BATCH}")
    generator = np.random.default_rng(0)
    for size in SIZES:
        uniform, prioritised = sequence_memory(size), prioritised_memory(size)
        row = (
            microseconds(partial(uniform.sample, BATCH, generator)),
            microseconds(partial(prioritised.sample, BATCH, 0.5, generator)),
        )
        table.add_row(f"{size:,}", *(f"{value:.0f}" for value in row))
    Console().print(table)


if __name__ == "__main__":
    main()
