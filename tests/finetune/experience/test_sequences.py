"""Sequences put together."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from qwop.finetune.experience.sequences import Sequences, concatenate


def test_what_a_teacher_said_stays_with_its_sequence(make_sequences: Callable[..., Sequences]) -> None:
    parts = [make_sequences(2), make_sequences(3, first=10)]
    said = [np.random.default_rng(number).random((len(part), 4, 3), np.float32) for number, part in enumerate(parts)]
    order = np.array([4, 0, 2, 1, 3])
    taught = [replace(part, teacher=one) for part, one in zip(parts, said, strict=True)]
    joined = concatenate(taught, order)
    assert joined.teacher is not None
    np.testing.assert_array_equal(joined.teacher, np.concatenate(said)[order])


def test_some_sequences_keep_what_is_theirs(make_sequences: Callable[..., Sequences]) -> None:
    every = make_sequences(6, truncated_every=2)
    chosen = concatenate([every], np.array([4, 1]))
    chosen.check_valid()
    assert chosen.rewards.tolist() == every.rewards[[4, 1]].tolist()
    kept = [([4, 1].index(i), t, seen) for i, t, seen in zip(*every.finals, strict=True) if i in (4, 1)]
    assert kept
    found = list(zip(*chosen.finals, strict=True))
    assert len(found) == len(kept)
    for i, t, seen in kept:
        assert any((i, t) == (j, u) and np.array_equal(seen, other) for j, u, other in found)
