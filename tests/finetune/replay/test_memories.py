"""What all replay memories have in common: a ring of items, whose sources can be removed and whose state goes on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.replay.memory import Memory
from qwop.finetune.replay.sequence_memory import SequenceMemory
from qwop.finetune.replay.transition_memory import PrioritisedMemory, TransitionMemory

from ..conftest import _sequences
from ..transitions import make_transitions
from .contents import check, contents

PICTURES = ObservationSpec((2, 3, 1), "uint8")


@dataclass
class Kind:
    """memory: of a capacity and a kind of observations. items: n of a source, numbered from `first`."""

    memory: Callable[[int, ObservationSpec], Memory[Any]]
    items: Callable[..., Any]
    seen: ObservationSpec
    number: Callable[[Any], Any]

    def numbers(self, items: Any) -> list[int]:
        return np.asarray(self.number(items)).astype(int).tolist()

    def sample(self, memory: Any, n: int, seed: int = 0) -> Any:
        random = np.random.default_rng(seed)
        if isinstance(memory, SequenceMemory):
            return memory.sample(n, random)
        return memory.sample(n, 1.0, random).transitions


def sequences(n: int, first: int = 0, source: int = LIVE) -> Sequences:
    return _sequences(n, first=first, source=source, truncated_every=2)


def transitions(n: int, first: int = 0, source: int = LIVE) -> Transitions:
    return make_transitions(n, source, first=first)


def _transitions(make: Callable[[int, ObservationSpec], Memory[Any]]) -> Kind:
    return Kind(make, transitions, ObservationSpec((1,)), lambda items: items.actions)


KINDS = {
    "sequences": Kind(
        lambda capacity, seen: SequenceMemory(capacity, 4, seen, 3),
        sequences,
        ObservationSpec((2,)),
        lambda items: items.rewards[:, 0] / 1000,
    ),
    "transitions": _transitions(TransitionMemory),
    "prioritised": _transitions(lambda capacity, seen: PrioritisedMemory(capacity, seen, 0.6)),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@kinds
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(operations=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1), st.booleans()), max_size=12))
def test_it_holds_what_a_list_would_hold(kind: Kind, operations: list[tuple[int, int, bool]]) -> None:
    memory: Any = kind.memory(7, kind.seen)
    naive: list[tuple[int, int]] = []
    count = 0
    for n, source, removing in operations:
        if removing:
            before = len(naive)
            naive = [(number, one) for number, one in naive if one != source]
            assert memory.remove(source) == before - len(naive)
        else:
            memory.push(kind.items(n, first=count, source=source))
            naive = (naive + [(count + i, source) for i in range(n)])[-7:]
            count += n
        check(memory)
        held = contents(memory)
        assert list(zip(kind.numbers(held), held.source.tolist(), strict=True)) == naive
        shares = memory.shares()
        assert shares["demonstrations"] == pytest.approx(np.mean([one for _, one in naive] or [0]))
        if naive:
            assert {*kind.numbers(kind.sample(memory, 50))} <= {number for number, _ in naive}


@kinds
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(pushes=st.lists(st.integers(1, 7), min_size=1, max_size=6))
def test_a_restored_memory_samples_and_evicts_the_same(kind: Kind, pushes: list[int]) -> None:
    memory, restored = kind.memory(7, kind.seen), kind.memory(7, kind.seen)
    both: Any = (memory, restored)
    for number, n in enumerate(pushes):
        both[0].push(kind.items(n, first=10 * number))
        if isinstance(memory, PrioritisedMemory):
            memory.update(np.arange(len(memory)), np.linspace(0, 7, len(memory)).astype(np.float32))
    restored.set_state(memory.get_state())
    check(restored)
    for _ in range(2):
        one, other = (kind.numbers(kind.sample(each, 20, seed=5)) for each in both)
        assert one == other
        for each in both:
            each.push(kind.items(3, first=900))
    assert kind.numbers(contents(memory)) == kind.numbers(contents(restored))


@kinds
def test_every_item_is_drawn_as_often_as_any_other_the_newest_too(kind: Kind) -> None:
    memory: Any = kind.memory(10, kind.seen)
    memory.push(kind.items(10))
    memory.push(kind.items(3, first=10))
    counts = np.bincount(kind.numbers(kind.sample(memory, 20_000, seed=1)), minlength=13)
    assert counts[:3].tolist() == [0, 0, 0]
    assert ((counts[3:] - 2000) ** 2 / 2000).sum() < 27.9  # χ², 9 degrees of freedom, p = 0.001


@kinds
def test_more_than_it_holds_at_once_is_refused(kind: Kind) -> None:
    memory: Any = kind.memory(3, kind.seen)
    with pytest.raises(ValueError, match="4 items at once into a memory of 3"):
        memory.push(kind.items(4))


@kinds
def test_pictures_stay_bytes_also_after_a_removal_and_in_the_state(kind: Kind) -> None:
    random = np.random.default_rng(0)

    def pictures(n: int, source: int) -> Any:
        items = kind.items(n, source=source)
        if isinstance(items, Transitions):
            seen = random.integers(256, size=(2, n, *PICTURES.shape)).astype(np.uint8)
            return replace(items, observations=seen[0], next_observations=seen[1])
        seen = random.integers(256, size=(n, 5, *PICTURES.shape)).astype(np.uint8)
        finals = seen[items.finals.sequence, items.finals.step] + 1
        return replace(items, observations=seen, finals=items.finals._replace(observations=finals))

    live, shown = pictures(5, LIVE), pictures(3, DEMONSTRATIONS)
    one, other = kind.memory(8, PICTURES), kind.memory(8, PICTURES)
    both: Any = (one, other)
    for items in (live, shown):
        both[0].push(items)
    other.set_state(one.get_state())
    for memory in both:
        assert memory.remove(DEMONSTRATIONS) == 3
        check(memory)
        for found in (contents(memory), kind.sample(memory, 5)):
            assert found.observations.dtype == np.uint8
        held = contents(memory)
        assert np.array_equal(held.observations, live.observations)
        if isinstance(held, Transitions):
            assert np.array_equal(held.next_observations, live.next_observations)
        else:
            assert np.array_equal(held.finals.observations, live.finals.observations)
        memory.clear()
        assert len(memory) == 0
