from dataclasses import replace

import numpy as np
import pytest
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, interleave
from qwop.finetune.replay.memory import SequenceMemory

from ..fakes import check_sequences, make_sequences
from .contents import contents


@pytest.fixture
def memory() -> SequenceMemory:
    return SequenceMemory(capacity=10, steps=4, observation=ObservationSpec((2,)), actions=3)


def firsts(sequences: Sequences) -> list[int]:
    return (sequences.observations[:, 0, 0] / 1000).astype(int).tolist()


def test_interleaving_keeps_what_belongs_together() -> None:
    live = make_sequences(5, first=0, truncated_every=2)
    shown = make_sequences(5, first=100, source=DEMONSTRATIONS, truncated_every=3)
    both = interleave(live, shown)
    check_sequences(both)
    assert [int(both.source[i : i + 2].sum()) for i in range(0, 10, 2)] == [1] * 5  # the ratio is kept everywhere
    assert [value for value in firsts(both) if value < 100] == [0, 1, 2, 3, 4]
    assert [value for value in firsts(both) if value >= 100] == [100, 101, 102, 103, 104]
    stopped = both.observations[both.finals.sequence, both.finals.step] + 0.5
    assert np.array_equal(both.finals.observations, stopped.astype(np.float32))


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
