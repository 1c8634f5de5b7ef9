from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from qwop.datasets.schema import Episode
from qwop.finetune.experience.sequences import DEMONSTRATIONS, Sequences
from qwop.finetune.replay.demonstrations import Demonstrations, better


def firsts(sequences: Sequences) -> list[int]:
    return sequences.observations[:, 0, 0].astype(int).tolist()


def test_sequences_come_in_the_order_of_the_recording(make_episode: Callable[..., Episode]) -> None:
    demonstrations = Demonstrations([make_episode(50), make_episode(30, first=50)], streams=1, steps=4)
    served = [demonstrations.next(1) for _ in range(20)]
    rewards = np.concatenate([one.rewards[0] for one in served])
    assert rewards.tolist() == list(range(80))
    assert all((one.source == DEMONSTRATIONS).all() for one in served)


def test_each_stream_has_its_own_place_and_they_take_turns(make_episode: Callable[..., Episode]) -> None:
    demonstrations = Demonstrations([make_episode(40)], streams=4, steps=5)
    assert firsts(demonstrations.next(4)) == [0, 10, 20, 30]
    assert firsts(demonstrations.next(2)) == [5, 15]
    assert firsts(demonstrations.next(4)) == [25, 35, 10, 20]


def test_a_stream_starts_again_at_the_end(make_episode: Callable[..., Episode]) -> None:
    demonstrations = Demonstrations([make_episode(6), make_episode(5, first=6)], streams=1, steps=4)
    rewards = np.concatenate([demonstrations.next(1).rewards[0] for _ in range(11)])
    assert rewards.tolist() == list(range(11)) * 4


def test_all_streams_together_serve_everything_equally_often(make_episode: Callable[..., Episode]) -> None:
    demonstrations = Demonstrations([make_episode(7), make_episode(13, first=7)], streams=3, steps=4)
    rewards = np.concatenate([demonstrations.next(3).rewards for _ in range(20)]).ravel()
    assert np.bincount(rewards.astype(int)).tolist() == [12] * 20


def test_a_sequence_may_span_the_end_of_an_episode_and_is_cut_there(make_episode: Callable[..., Episode]) -> None:
    demonstrations = Demonstrations(
        [make_episode(3), make_episode(9, first=100, terminated=False, truncated=True)], streams=1, steps=5
    )
    one = demonstrations.next(1)
    one.check_valid()
    assert one.terminated[0].tolist() == [False, False, True, False, False]
    assert one.observations[0, :, 0].astype(int).tolist() == [0, 1, 2, 100, 101, 102]
    assert not len(one.finals.observations)
    demonstrations.next(1)
    last = demonstrations.next(1)
    assert last.truncated[0].tolist() == [False, True, False, False, False]
    assert last.finals.observations[0, 0] == 109  # what the recording ended with, not the start of the next


def test_a_game_that_was_left_is_truncated(make_episode: Callable[..., Episode]) -> None:
    demonstrations = Demonstrations([make_episode(4, terminated=False, truncated=True)], streams=1, steps=4)
    one = demonstrations.next(1)
    assert one.truncated[0].tolist() == [False, False, False, True]
    assert one.finals.observations[0, 0] == 4


def test_the_cursors_are_its_state(make_episode: Callable[..., Episode]) -> None:
    def fresh() -> Demonstrations:
        return Demonstrations([make_episode(23)], streams=3, steps=4)

    one, other = fresh(), fresh()
    one.next(7)
    other.set_state(one.get_state())
    assert firsts(one.next(9)) == firsts(other.next(9))


def test_returns_are_those_of_the_rest_of_the_game_and_known_where_it_came_to_its_end(
    make_episode: Callable[..., Episode],
) -> None:
    episodes = [make_episode(3, first=1), make_episode(2, first=5, terminated=False, truncated=True)]
    demonstrations = Demonstrations(episodes, streams=1, steps=5)
    spread = demonstrations.discount_returns(0.5)
    one = demonstrations.next(1)
    assert one.returns is not None
    assert one.known is not None
    assert one.returns[0].tolist() == [2.75, 3.5, 3.0, 8.0, 6.0]
    assert one.known[0].tolist() == [True, True, True, False, False]
    assert spread == pytest.approx(np.std([2.75, 3.5, 3.0]))


def test_a_policy_is_imitated_by_its_probabilities_and_a_person_by_the_actions(
    make_episode: Callable[..., Episode],
) -> None:
    drawn = make_episode(2, probabilities=np.array([[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]], dtype=np.float32))
    person = replace(drawn, mu_kind="smoothed", mu_epsilon=0.05)
    for episode, expected in (
        (drawn, [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]]),
        (person, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    ):
        one = Demonstrations([episode], streams=1, steps=2).next(1)
        assert one.player is not None
        assert one.player[0].tolist() == expected


def test_demonstrations_are_better_where_the_returns_that_are_known_exceed_the_values(
    make_sequences: Callable[..., Sequences],
) -> None:
    returns = np.array([[2, 2, 2], [2, 2, 2], [9, 9, 3], [9, 9, 3], [0, 0, 0]], dtype=np.float32)
    known = np.array([[1, 1, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0]], dtype=np.bool_)
    values = np.array([[1, 1, 4], [1, 1, 3.9], [1, 1, 4], [1, 1, 4], [1, 1, 1]], dtype=np.float32)
    shown = replace(make_sequences(5, steps=3), returns=returns, known=known)
    assert better(shown, values).tolist() == [False, True, False, True, True]
