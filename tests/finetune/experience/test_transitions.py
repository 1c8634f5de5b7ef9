"""Transitions of n steps against a definition that looks along one episode at a time."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.finetune.experience.sequences import (
    DEMONSTRATIONS,
    LIVE,
    NStep,
    Sequences,
    Transitions,
    TruncatedObservations,
    concatenate,
    mixed,
)

from ..fakes import check_sequences, make_sequences, make_transitions


def chunk(observations: NDArray[Any], rewards: Any, terminated: Any, truncated: Any, finals: Any) -> Sequences:
    """Sequences of n streams from arrays [n, k (+ 1)] of numbers; finals {(stream, step): number}."""
    shape = np.shape(rewards)
    places = sorted(finals)
    return Sequences(
        observations=np.asarray(observations, dtype=np.float32)[..., None],
        actions=np.asarray(observations, dtype=np.int64)[:, :-1],
        rewards=np.asarray(rewards, dtype=np.float32),
        behaviour_probabilities=np.full((*shape, 2), 0.5, dtype=np.float32),
        terminated=np.asarray(terminated, dtype=np.bool_),
        truncated=np.asarray(truncated, dtype=np.bool_),
        finals=TruncatedObservations(
            np.array([i for i, _ in places], dtype=np.int64),
            np.array([t for _, t in places], dtype=np.int64),
            np.array([finals[place] for place in places], dtype=np.float32).reshape(-1, 1),
        ),
        source=np.full(shape[0], LIVE, dtype=np.int8),
    )


def rows(transitions: Transitions) -> list[tuple[float, ...]]:
    """A list of (s, a, R, d, s')."""
    columns = (transitions.observations[:, 0], transitions.actions, transitions.rewards, transitions.discounts)
    return list(zip(*(c.tolist() for c in columns), transitions.next_observations[:, 0].tolist(), strict=True))


def by_definition(observations: NDArray[Any], rewards: Any, ends: Any, n: int, gamma: float) -> list[tuple[float, ...]]:
    """(s, a, R, d, s') of every decision of one stream; ends {step: (terminated, final)}."""
    found = []
    for t in range(len(rewards)):
        total, m = 0.0, 0
        while m < n and t + m < len(rewards):
            total += gamma**m * rewards[t + m]
            m += 1
            if t + m - 1 in ends:
                break
        last = t + m - 1
        if last in ends:
            terminated, final = ends[last]
            discount, after = (0.0, observations[last + 1]) if terminated else (gamma**m, final)
        elif m == n:
            discount, after = gamma**m, observations[last + 1]
        else:
            continue
        found.append((observations[t], observations[t], total, discount, after))
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 5), st.lists(st.integers(1, 6), min_size=1, max_size=5), st.data())
def test_every_decision_starts_one_transition_however_the_play_is_cut(
    streams: int, n: int, cuts: list[int], data: st.DataObject
) -> None:
    total = sum(cuts)
    observations = (100 * np.arange(streams)[:, None] + np.arange(total + 1)).astype(float)
    rewards = np.array(
        data.draw(st.lists(st.integers(-5, 5), min_size=streams * total, max_size=streams * total))
    ).reshape(streams, total)
    kinds = np.array(
        data.draw(st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=streams * total, max_size=streams * total))
    ).reshape(streams, total)
    one, found, at = NStep(n), [], 0
    for k in cuts:
        here = slice(at, at + k)
        finals = {(int(i), int(t)): 1000.0 + observations[i, at + t] for i, t in np.argwhere(kinds[:, here] == 2)}
        piece = chunk(
            observations[:, at : at + k + 1], rewards[:, here], kinds[:, here] == 1, kinds[:, here] == 2, finals
        )
        found += rows(one.push(piece, 0.9))
        at += k
    expected = []
    for i in range(streams):
        ends = {int(t): (kinds[i, t] == 1, 1000.0 + observations[i, t]) for t in np.flatnonzero(kinds[i])}
        expected += by_definition(observations[i], rewards[i], ends, n, 0.9)
    assert len(found) == len(expected)
    for mine, theirs in zip(sorted(found), sorted(expected), strict=True):
        # Nothing after a terminal step is ever looked at.
        assert mine[:4] == pytest.approx(theirs[:4], abs=1e-5)
        assert mine[3] == 0 or mine[4] == theirs[4]


def test_demonstrations_are_spread_among_live_transitions() -> None:
    both = mixed(make_transitions(4), make_transitions(2, DEMONSTRATIONS, first=100))
    assert both.actions.tolist() == [0, 100, 1, 2, 101, 3]
    assert both.source.tolist() == [0, 1, 0, 0, 1, 0]
    assert len(mixed(make_transitions(3), make_transitions(0))) == 3


def test_pictures_stay_bytes_also_those_that_wait_and_those_that_limits_stopped_at() -> None:
    def images(one: Sequences) -> Sequences:
        finals = one.finals._replace(observations=one.finals.observations.astype(np.uint8))
        return replace(one, observations=one.observations.astype(np.uint8), finals=finals)

    one, never = NStep(3), [[False] * 2]
    one.push(images(chunk(np.array([[0, 1, 2]]), [[1, 2]], never, never, {})), 0.9)
    made = one.push(images(chunk(np.array([[2, 3, 50]]), [[3, 4]], never, [[False, True]], {(0, 1): 7.0})), 0.9)
    assert made.observations.dtype == made.next_observations.dtype == np.uint8
    assert made.observations.ravel().tolist() == [0, 1, 2, 3]
    assert made.next_observations.ravel().tolist() == [3, 7, 7, 7]


def test_sequences_put_together_in_another_order_keep_what_is_theirs() -> None:
    random, order = np.random.default_rng(0), np.array([4, 0, 2])
    parts = [make_sequences(2, truncated_every=1), make_sequences(3, first=10, truncated_every=2)]
    taught = [
        replace(part, teacher=random.random((len(part), 4, 3), np.float32), state=(random.random((len(part), 2)),))
        for part in parts
    ]
    joined = concatenate(taught, order)
    check_sequences(joined)
    for name in ("rewards", "teacher"):
        every = np.concatenate([getattr(part, name) for part in taught])
        np.testing.assert_array_equal(getattr(joined, name), every[order])
    np.testing.assert_array_equal(joined.state[0], np.concatenate([part.state[0] for part in taught])[order])
    assert len(joined.finals.sequence) == 3
    stopped = joined.observations[joined.finals.sequence, joined.finals.step] + 0.5
    np.testing.assert_array_equal(joined.finals.observations, stopped)
