from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, SOURCES, Sequences, interleave
from qwop.finetune.replay.sequence_memory import SequenceMemory

from .contents import check, contents


@pytest.fixture
def memory() -> SequenceMemory:
    return SequenceMemory(capacity=10, steps=4, observation=ObservationSpec((2,)), actions=3)


def firsts(sequences: Sequences) -> list[int]:
    return (sequences.observations[:, 0, 0] / 1000).astype(int).tolist()


def test_the_oldest_leave_first(memory: SequenceMemory, make_sequences: Callable[..., Sequences]) -> None:
    for first in range(0, 24, 4):
        memory.push(make_sequences(4, first=first))
        check(memory)
    assert firsts(contents(memory)) == list(range(14, 24))


def test_half_of_what_is_stored_are_demonstrations_after_any_even_number_of_pushes(
    memory: SequenceMemory, make_sequences: Callable[..., Sequences]
) -> None:
    live = shown = 0
    for n in (1, 2, 3, 1, 5, 2, 4, 3, 1):
        memory.push(
            interleave(
                make_sequences(n, first=live, source=LIVE),
                make_sequences(n, first=500 + shown, source=DEMONSTRATIONS),
            )
        )
        live, shown = live + n, shown + n
        assert memory.shares() == {"live": 0.5, "demonstrations": 0.5}
        check(memory)


def test_an_interleaved_ratio_is_kept_everywhere(make_sequences: Callable[..., Sequences]) -> None:
    both = interleave(make_sequences(12), make_sequences(4, source=DEMONSTRATIONS))
    assert [int((both.source[i : i + 4] == DEMONSTRATIONS).sum()) for i in range(0, 16, 4)] == [1, 1, 1, 1]


def test_interleaving_keeps_what_belongs_together(make_sequences: Callable[..., Sequences]) -> None:
    live = make_sequences(5, first=0, truncated_every=2)
    shown = make_sequences(5, first=100, source=DEMONSTRATIONS, truncated_every=3)
    both = interleave(live, shown)
    both.check_valid()
    assert [value for value in firsts(both) if value < 100] == [0, 1, 2, 3, 4]
    assert [value for value in firsts(both) if value >= 100] == [100, 101, 102, 103, 104]
    stopped = both.observations[both.finals.sequence, both.finals.step] + 0.5
    assert np.array_equal(both.finals.observations, stopped.astype(np.float32))


def test_none_of_a_removed_source_is_left_and_the_rest_keeps_its_order(
    memory: SequenceMemory, make_sequences: Callable[..., Sequences]
) -> None:
    for first in range(0, 16, 4):
        memory.push(
            interleave(make_sequences(4, first=first), make_sequences(2, first=900 + first, source=DEMONSTRATIONS))
        )
    live = [value for value in firsts(contents(memory)) if value < 900]
    removed = memory.remove(DEMONSTRATIONS)
    assert removed == 10 - len(live)
    assert memory.shares() == {"live": 1.0, "demonstrations": 0.0}
    assert firsts(contents(memory)) == live
    sampled = memory.sample(1000, np.random.default_rng(0))
    assert (sampled.source == LIVE).all()
    check(memory)


def test_a_memory_goes_on_as_a_ring_after_a_removal(
    memory: SequenceMemory, make_sequences: Callable[..., Sequences]
) -> None:
    memory.push(interleave(make_sequences(5), make_sequences(5, source=DEMONSTRATIONS)))
    memory.remove(DEMONSTRATIONS)
    memory.push(make_sequences(7, first=5))
    assert firsts(contents(memory)) == list(range(2, 12))


def test_sampling_is_uniform(memory: SequenceMemory, make_sequences: Callable[..., Sequences]) -> None:
    memory.push(make_sequences(10))
    memory.push(make_sequences(3, first=10))
    counts = np.bincount(firsts(memory.sample(20_000, np.random.default_rng(1))), minlength=13)
    assert counts[:3].tolist() == [0, 0, 0]
    chi_square = ((counts[3:] - 2000) ** 2 / 2000).sum()
    assert chi_square < 27.9  # 99.9 % of the distribution with 9 degrees of freedom


def test_a_sample_brings_the_observations_that_time_limits_stopped_at(
    memory: SequenceMemory, make_sequences: Callable[..., Sequences]
) -> None:
    memory.push(make_sequences(10, truncated_every=3))
    memory.push(make_sequences(4, first=10, truncated_every=2))
    sampled = memory.sample(200, np.random.default_rng(2))
    sampled.check_valid()
    assert len(sampled.finals.observations) == sampled.truncated.sum() > 0
    stopped = sampled.observations[sampled.finals.sequence, sampled.finals.step] + 0.5
    assert np.array_equal(sampled.finals.observations, stopped.astype(np.float32))


def test_too_many_at_once_are_refused(memory: SequenceMemory, make_sequences: Callable[..., Sequences]) -> None:
    with pytest.raises(ValueError, match="memory of 10"):
        memory.push(make_sequences(11))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.booleans()), max_size=12))
def test_it_holds_what_a_list_would_hold(
    make_sequences: Callable[..., Sequences], operations: list[tuple[int, int, bool]]
) -> None:
    memory, naive = SequenceMemory(capacity=7, steps=4, observation=ObservationSpec((2,)), actions=3), []
    count = 0
    for n, kind, removing in operations:
        source = kind % len(SOURCES)
        if removing:
            memory.remove(source)
            naive = [(number, one) for number, one in naive if one != source]
        else:
            memory.push(make_sequences(n, first=count, source=source, truncated_every=2))
            naive = (naive + [(count + i, source) for i in range(n)])[-7:]
            count += n
        check(memory)
        held = contents(memory)
        assert list(zip(firsts(held), held.source.tolist(), strict=True)) == naive


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(pushes=st.lists(st.integers(1, 7), min_size=1, max_size=6))
def test_a_restored_memory_samples_and_evicts_the_same(
    make_sequences: Callable[..., Sequences], pushes: list[int]
) -> None:
    memory = SequenceMemory(capacity=7, steps=4, observation=ObservationSpec((2,)), actions=3)
    for number, n in enumerate(pushes):
        memory.push(make_sequences(n, first=10 * number, truncated_every=2))
    restored = SequenceMemory(capacity=7, steps=4, observation=ObservationSpec((2,)), actions=3)
    restored.set_state(memory.get_state())
    for _ in range(2):
        one, other = (each.sample(20, np.random.default_rng(5)) for each in (memory, restored))
        assert firsts(one) == firsts(other)
        assert np.array_equal(one.finals.observations, other.finals.observations)
        for each in (memory, restored):
            each.push(make_sequences(3, first=900))


def as_images(sequences: Sequences) -> Sequences:
    """The same with observations of bytes."""
    finals = sequences.finals._replace(observations=sequences.finals.observations.astype(np.uint8))
    return replace(sequences, observations=sequences.observations.astype(np.uint8), finals=finals)


def test_images_stay_bytes(make_sequences: Callable[..., Sequences]) -> None:
    def fresh() -> SequenceMemory:
        return SequenceMemory(capacity=8, steps=4, observation=ObservationSpec((2, 3, 1), "uint8"), actions=3)

    one, other = fresh(), fresh()
    stored = as_images(make_sequences(5, shape=(2, 3, 1), truncated_every=2))
    one.push(stored)
    other.set_state(one.get_state())
    for memory in (one, other):
        check(memory)
        for found in (contents(memory), memory.sample(5, np.random.default_rng(0))):
            assert found.observations.dtype == found.finals.observations.dtype == np.uint8
        assert np.array_equal(contents(memory).observations, stored.observations)
        assert np.array_equal(contents(memory).finals.observations, stored.finals.observations)
    assert one.sample(3, np.random.default_rng(0)).finals.observations.shape[1:] == (2, 3, 1)


def test_what_a_player_did_and_achieved_is_kept_for_demonstrations_and_is_nothing_for_live_play(
    memory: SequenceMemory, make_sequences: Callable[..., Sequences]
) -> None:
    achieved = np.arange(8, dtype=np.float32).reshape(2, 4)
    shown = replace(
        make_sequences(2, first=10, source=DEMONSTRATIONS),
        player=np.full((2, 4, 3), 0.25, dtype=np.float32),
        returns=achieved,
        known=achieved > 5,
    )
    for _ in range(4):  # overwrites demonstrations with live play
        memory.push(interleave(make_sequences(1), shown))
    held = contents(memory)
    live = held.source == LIVE
    assert held.player is not None
    assert held.returns is not None
    assert held.known is not None
    assert not any(column[live].any() for column in (held.player, held.returns, held.known))
    assert np.array_equal(held.returns[~live][-2:], achieved)
    assert np.array_equal(held.known[~live][-2:], achieved > 5)
    assert (held.player[~live] == 0.25).all()
