"""Windows before rewards and before none."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.finetune.agents.ftw.learner import RewardStores
from qwop.finetune.experience.sequences import Sequences

Make = Callable[..., Sequences]


def stores(capacity: int = 800, seed: int = 0) -> RewardStores:
    return RewardStores(capacity, np.random.default_rng(seed))


def signals_of(played: Sequences, *nonzero: tuple[int, int]) -> NDArray[np.float32]:
    signals = np.zeros(played.actions.shape, dtype=np.float32)
    for place in nonzero:
        signals[place] = -1.0
    return signals


def test_a_batch_has_as_many_of_both_kinds_however_rare_one_is(make_sequences: Make) -> None:
    played = make_sequences(6, steps=20)
    one = stores()
    one.add(played, signals_of(played, (3, 9)))
    assert len(one) == 1
    batch = one.sample(32)
    assert batch.observations.shape == (32, 3, 2)
    assert (batch.rewards == 0).sum() == 16
    assert (batch.rewards == -1).sum() == 16


def test_a_window_is_the_observation_before_the_reward_and_the_two_before_that(make_sequences: Make) -> None:
    """`make_sequences` numbers observation t of sequence i as 1000 i + t."""
    played = make_sequences(4, steps=20)
    one = stores()
    one.add(played, signals_of(played, (3, 9)))
    batch = one.sample(2000)
    rewarded = batch.observations[batch.rewards != 0][:, :, 0]
    assert (rewarded == [3007, 3008, 3009]).all()
    others = batch.observations[batch.rewards == 0][:, :, 0]
    assert (np.diff(others, axis=1) == 1).all()
    assert 3009 not in others[:, 2]


def test_no_window_spans_two_episodes(make_sequences: Make) -> None:
    played = make_sequences(1, steps=12)
    played.terminated[0, 5] = True
    one = stores(capacity=80)
    one.add(played, signals_of(played, (0, 4)))
    batch = one.sample(4000)
    ends = set(batch.observations[:, 2, 0].tolist())
    assert ends == {2, 3, 4, 5, 8, 9, 10, 11}  # the observations 6 and 7 are the first two of their episode
    truncated = replace(played, terminated=played.truncated, truncated=played.terminated)
    other = stores(capacity=80)
    other.add(truncated, signals_of(played, (0, 4)))
    assert set(other.sample(4000).observations[:, 2, 0].tolist()) == ends


def test_nothing_can_be_drawn_while_every_reward_is_of_a_kind(make_sequences: Make) -> None:
    played, one = make_sequences(2, steps=8), stores()
    one.add(played, np.ones((2, 8), dtype=np.float32))
    assert len(one) == 0
    one.add(played, np.zeros((2, 8), dtype=np.float32))
    assert len(one) > 0


def test_the_newest_windows_replace_the_oldest_in_small_parts(make_sequences: Make) -> None:
    one = stores(capacity=16)
    for number in range(12):
        played = make_sequences(3, steps=8, first=10 * number)
        one.add(played, np.ones((3, 8), dtype=np.float32))
        one.add(played, np.zeros((3, 8), dtype=np.float32))
    plays = set((one.sample(4000).observations[:, 0, 0] // 10_000).astype(int).tolist())
    assert plays == {4, 5, 6, 7, 8, 9, 10, 11}  # two windows of each


@pytest.mark.parametrize("plays", [5, 11], ids=["filling", "full"])
def test_a_copy_draws_the_same(plays: int, make_sequences: Make) -> None:
    generator, other_generator = np.random.default_rng(3), np.random.default_rng(4)
    one, other = RewardStores(16, generator), RewardStores(16, other_generator)
    assert other.get_state() == {}
    for first in range(plays):  # two windows of each kind, into stores of 16
        played = make_sequences(2, steps=9, first=first)
        one.add(played, signals_of(played, (0, 4), (1, 8)))
    other.set_state(one.get_state())
    other_generator.bit_generator.state = generator.bit_generator.state
    for _ in range(3):
        mine, copied = one.sample(8), other.sample(8)
        assert np.array_equal(mine.observations, copied.observations)
        assert np.array_equal(mine.rewards, copied.rewards)
        played = make_sequences(2, steps=9, first=50)
        for each in (one, other):
            each.add(played, signals_of(played, (0, 4)))


@pytest.mark.parametrize("capacity", [1, 5])
def test_small_stores_hold_what_they_can(capacity: int, make_sequences: Make) -> None:
    one, played = stores(capacity), make_sequences(4, steps=9)
    for _ in range(3):
        one.add(played, signals_of(played, (0, 4), (2, 7)))
    assert 1 <= len(one) <= capacity
