"""Transitions of n steps against a definition that looks along one episode at a time."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, TruncatedObservations
from qwop.finetune.experience.transitions import NStep, Transitions, mixed

from ..transitions import make_transitions


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


NEVER = [[False] * 3]


def test_three_rewards_and_what_comes_after() -> None:
    (first,) = rows(NStep(3).push(chunk([[0, 1, 2, 3]], [[1, 2, 3]], NEVER, NEVER, {}), 0.9))
    s, a, reward, discount, after = first
    assert (s, a, after) == (0, 0, 3)
    assert reward + discount * 10 == pytest.approx(12.52, abs=1e-5)


def test_the_end_of_an_episode_flushes_what_waits_and_nothing_comes_after() -> None:
    found = rows(NStep(3).push(chunk([[0, 1, 50]], [[1, 2]], [[False, True]], [[False] * 2], {}), 0.9))
    assert [(s, d) for s, _, _, d, _ in found] == [(0, 0.0), (1, 0.0)]
    assert [reward for _, _, reward, _, _ in found] == pytest.approx([2.8, 2.0])


def test_a_time_limit_is_not_an_end() -> None:
    found = rows(NStep(3).push(chunk([[0, 1, 50]], [[1, 2]], [[False] * 2], [[False, True]], {(0, 1): 7.0}), 0.9))
    assert [(s, after) for s, _, _, _, after in found] == [(0, 7.0), (1, 7.0)]
    assert [d for _, _, _, d, _ in found] == pytest.approx([0.81, 0.9])


def test_what_is_not_over_waits_for_the_next_sequences() -> None:
    one = NStep(3)
    assert len(one.push(chunk([[0, 1, 2]], [[1, 2]], [[False] * 2], [[False] * 2], {}), 0.9)) == 0
    (first,) = rows(one.push(chunk([[2, 3]], [[3]], [[False]], [[False]], {}), 0.9))
    assert first == pytest.approx((0, 0, 5.23, 0.729, 3), abs=1e-6)


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
        state = one.get_state()
        found += rows(one.push(piece, 0.9))
        one.set_state(state)
        one.push(piece, 0.9)
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


def test_images_stay_bytes_also_those_that_wait_and_those_that_limits_stopped_at() -> None:
    def images(sequences: Sequences) -> Sequences:
        finals = sequences.finals._replace(observations=sequences.finals.observations.astype(np.uint8))
        return replace(sequences, observations=sequences.observations.astype(np.uint8), finals=finals)

    one = NStep(3)
    one.push(images(chunk([[0, 1, 2]], [[1, 2]], [[False] * 2], [[False] * 2], {})), 0.9)
    made = one.push(images(chunk([[2, 3, 50]], [[3, 4]], [[False] * 2], [[False, True]], {(0, 1): 7.0})), 0.9)
    assert made.observations.dtype == made.next_observations.dtype == np.uint8
    assert made.observations.ravel().tolist() == [0, 1, 2, 3]
    assert made.next_observations.ravel().tolist() == [3, 7, 7, 7]


def test_a_choice_keeps_all_columns_together() -> None:
    chosen = make_transitions(6)[np.array([4, 1])]
    assert all(len(getattr(chosen, one.name)) == 2 for one in fields(chosen))
    assert chosen.actions.tolist() == chosen.rewards.tolist() == [4, 1]
