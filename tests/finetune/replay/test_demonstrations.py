from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from qwop.datasets.behaviour_probabilities import smoothed
from qwop.datasets.control import Branch
from qwop.datasets.schema import Episode
from qwop.finetune.experience.sequences import DEMONSTRATIONS, Sequences
from qwop.finetune.replay.demonstrations import Demonstrations, RecordedSequences

from ..transitions import make_transitions


def serving(episodes: list[Episode], steps: int, streams: int = 1, gamma: float = 0.9) -> Demonstrations[Sequences]:
    return Demonstrations(RecordedSequences(episodes, steps, gamma), streams, steps)


def firsts(sequences: Sequences) -> list[int]:
    return sequences.observations[:, 0, 0].astype(int).tolist()


def test_sequences_come_in_the_order_of_the_recording(make_episode: Callable[..., Episode]) -> None:
    demonstrations = serving([make_episode(50), make_episode(30, first=50)], 4, 1)
    served = [demonstrations.next(1) for _ in range(20)]
    rewards = np.concatenate([one.rewards[0] for one in served])
    assert rewards.tolist() == list(range(80))
    assert all((one.source == DEMONSTRATIONS).all() for one in served)


def test_each_stream_has_its_own_place_and_they_take_turns(make_episode: Callable[..., Episode]) -> None:
    demonstrations = serving([make_episode(40)], 5, 4)
    assert firsts(demonstrations.next(4)) == [0, 10, 20, 30]
    assert firsts(demonstrations.next(2)) == [5, 15]
    assert firsts(demonstrations.next(4)) == [25, 35, 10, 20]


def test_a_stream_starts_again_at_the_end(make_episode: Callable[..., Episode]) -> None:
    demonstrations = serving([make_episode(6), make_episode(5, first=6)], 4, 1)
    rewards = np.concatenate([demonstrations.next(1).rewards[0] for _ in range(11)])
    assert rewards.tolist() == list(range(11)) * 4


def test_all_streams_together_serve_everything_equally_often(make_episode: Callable[..., Episode]) -> None:
    demonstrations = serving([make_episode(7), make_episode(13, first=7)], 4, 3)
    rewards = np.concatenate([demonstrations.next(3).rewards for _ in range(20)]).ravel()
    assert np.bincount(rewards.astype(int)).tolist() == [12] * 20


def test_a_sequence_may_span_the_end_of_an_episode_and_is_cut_there(make_episode: Callable[..., Episode]) -> None:
    demonstrations = serving([make_episode(3), make_episode(9, first=100, terminated=False, truncated=True)], 5, 1)
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
    demonstrations = serving([make_episode(4, terminated=False, truncated=True)], 4, 1)
    one = demonstrations.next(1)
    assert one.truncated[0].tolist() == [False, False, False, True]
    assert one.finals.observations[0, 0] == 4


def test_it_goes_on_where_it_was(make_episode: Callable[..., Episode]) -> None:
    one, other = (serving([make_episode(23)], steps=4, streams=3) for _ in range(2))
    one.next(7)
    other.set_state(one.get_state())
    assert firsts(one.next(9)) == firsts(other.next(9))


def test_other_items_are_asked_for_in_the_same_way() -> None:
    one = Demonstrations(make_transitions(5))
    assert one.next(3).actions.tolist() == [0, 1, 2]
    assert one.next(4).actions.tolist() == [3, 4, 0, 1]
    drawn = np.bincount(one.sample(5000, np.random.default_rng(0)).actions, minlength=5)
    assert ((drawn - 1000) ** 2 / 1000).sum() < 18.5  # χ², 4 degrees of freedom, p = 0.001
    assert one.next(1).actions.tolist() == [2]


def test_returns_are_those_of_the_rest_of_the_game_and_known_where_it_came_to_its_end(
    make_episode: Callable[..., Episode],
) -> None:
    episodes = [make_episode(3, first=1), make_episode(2, first=5, terminated=False, truncated=True)]
    recorded = RecordedSequences(episodes, 5, gamma=0.5)
    one = recorded[np.zeros(1, dtype=np.int64)]
    assert one.returns is not None
    assert one.known is not None
    assert one.returns[0].tolist() == [2.75, 3.5, 3.0, 8.0, 6.0]
    assert one.known[0].tolist() == [True, True, True, False, False]
    assert recorded.spread == pytest.approx(np.std([2.75, 3.5, 3.0]))


def test_a_policy_is_imitated_by_its_probabilities_and_a_person_by_the_actions(
    make_episode: Callable[..., Episode],
) -> None:
    drawn = make_episode(2, probabilities=np.array([[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]], dtype=np.float32))
    person = replace(drawn, mu_kind="smoothed", mu_epsilon=0.05)
    for episode, expected in (
        (drawn, [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]]),
        (person, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    ):
        one = serving([episode], 2, 1).next(1)
        assert one.player is not None
        assert one.player[0].tolist() == expected


def game(actors: list[int]) -> Episode:
    steps = len(actors)
    actions = (np.arange(steps) % 3).astype(np.int16)
    mu = smoothed(actions, 3, 0.05)
    mu[np.array(actors) == 0] = [0.2, 0.3, 0.5]
    return Episode(
        observations=np.arange(steps + 1, dtype=np.float32)[:, None],
        actions=actions,
        behaviour_probabilities=mu,
        rewards=np.ones(steps, dtype=np.float32),
        times=np.arange(steps + 1, dtype=np.float64),
        keys=None,
        terminated=True,
        truncated=False,
        outcome="terminated",
        player="me",
        source="a test",
        mu_kind="mixed",
        mu_epsilon=0.05,
        actors=np.array(actors, dtype=np.int8),
    )


def test_the_person_alone_is_imitated_and_probabilities_stay_exact() -> None:
    shown = game([0, 1, 1, 0])
    one = serving([shown], steps=4).next(1)
    assert one.player is not None
    assert one.player[0].sum(axis=1).tolist() == [0, 1, 1, 0]
    assert np.array_equal(one.behaviour_probabilities[0], shown.behaviour_probabilities)


def test_a_branchs_own_decisions_are_served_once() -> None:
    line = game([0, 0, 1, 1])
    branch = replace(line, branch=Branch(0, 3))
    demonstrations = serving([line, branch], steps=5)
    assert len(demonstrations.items) == 5
    assert demonstrations.next(1).observations[0, :5, 0].tolist() == [0, 1, 2, 3, 3]
