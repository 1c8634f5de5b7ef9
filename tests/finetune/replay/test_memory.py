"""Replay memories: a ring of items whose sources can be removed, and whose pictures take their bytes once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, interleave
from qwop.finetune.replay.memory import FrameStore, SequenceMemory
from qwop.finetune.replay.transition_memory import TransitionMemory

from ..fakes import check_sequences, make_sequences
from .contents import KINDS, Kind, as_pictures, check, contents

kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@kinds
@pytest.mark.parametrize("pictures", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(operations=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1), st.booleans()), max_size=12))
def test_it_holds_what_a_list_would_hold(kind: Kind, pictures: bool, operations: list[tuple[int, int, bool]]) -> None:
    memory = kind.memory(7, pictures)
    naive: list[tuple[int, int, bytes]] = []
    count = 0
    for n, source, removing in operations:
        if removing:
            before = len(naive)
            naive = [one for one in naive if one[1] != source]
            assert memory.remove(source) == before - len(naive)
        else:
            items = kind.items(n, first=count, source=source)
            items = as_pictures(items, count) if pictures else items
            memory.push(items)
            naive = (naive + [(count + i, source, items.observations[i].tobytes()) for i in range(n)])[-7:]
            count += n
        check(memory)
        held = contents(memory)
        found = zip(kind.numbers(held), held.source.tolist(), map(bytes, held.observations), strict=True)
        assert list(found) == naive
        shares = memory.shares()
        assert shares["demonstrations"] == pytest.approx(np.mean([one for _, one, _ in naive] or [0]))
        if naive:
            assert {*kind.numbers(kind.sample(memory, 50))} <= {number for number, *_ in naive}


@kinds
def test_every_item_is_drawn_as_often_as_any_other_the_newest_too(kind: Kind) -> None:
    memory = kind.memory(10)
    memory.push(kind.items(10))
    memory.push(kind.items(3, first=10))
    counts = np.bincount(kind.numbers(kind.sample(memory, 20_000, seed=1)), minlength=13)
    assert counts[:3].tolist() == [0, 0, 0]
    assert ((counts[3:] - 2000) ** 2 / 2000).sum() < 27.9  # χ², 9 degrees of freedom, p = 0.001
    with pytest.raises(ValueError, match="11 items at once into a memory of 10"):
        memory.push(kind.items(11))


# Observations in memory.


GREY = ObservationSpec((4, 36, 36), "uint8")


def stacks(count: int, seed: int = 0, stack: int = 4) -> NDArray[np.uint8]:
    """The observations [count, stack, 36, 36] of an episode of distinct frames."""
    frames = np.random.default_rng(seed).integers(256, size=(count + stack - 1, 36, 36)).astype(np.uint8)
    return np.stack([frames[i : i + stack] for i in range(count)])


def pairs(seen: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Each observation with the next one, [count - 1, 2, stack, 36, 36]."""
    return np.stack([seen[:-1], seen[1:]], axis=1)


@pytest.mark.parametrize(
    ("observation", "once"),
    [
        (ObservationSpec((71,)), False),
        (ObservationSpec((128,), "uint8"), False),  # the memory of an Atari game is no picture
        (ObservationSpec((84, 84), "uint8"), True),
        (GREY, True),
    ],
)
def test_pictures_alone_are_kept_by_frames(observation: ObservationSpec, once: bool) -> None:
    assert isinstance(TransitionMemory(3, observation)._columns["observations"], FrameStore) is once


def test_a_frame_that_many_stacks_show_is_stored_once_and_leaves_with_the_last_of_them() -> None:
    store, seen = FrameStore(50, 2, GREY), pairs(stacks(301))
    for first in range(0, 300, 25):
        slots = np.arange(first, first + 25) % 50
        for _ in range(2):  # the same pictures again keep their slots
            store[slots] = seen[first : first + 25]
            check(store)
            assert len(store._frames) == min(first + 25, 50) + 4 + (25 < first < 50)
            assert np.array_equal(store[slots], seen[first : first + 25])
    store.drop(np.arange(50))
    check(store)
    assert not store._frames


@pytest.fixture
def memory() -> SequenceMemory:
    return SequenceMemory(capacity=10, steps=4, observation=ObservationSpec((2,)), actions=3)


def test_a_sample_brings_the_observations_that_time_limits_stopped_at(memory: SequenceMemory) -> None:
    memory.push(make_sequences(10, truncated_every=3))
    memory.push(make_sequences(4, first=10, truncated_every=2))
    sampled = memory.sample(200, np.random.default_rng(2))
    check_sequences(sampled)
    assert len(sampled.finals.observations) == sampled.truncated.sum() > 0
    stopped = sampled.observations[sampled.finals.sequence, sampled.finals.step] + 0.5
    assert np.array_equal(sampled.finals.observations, stopped.astype(np.float32))


def test_what_a_player_did_and_achieved_is_kept_for_demonstrations_and_is_nothing_for_live_play(
    memory: SequenceMemory,
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
