"""Recorded games as sequences and transitions, the order in which they are served, and what of them is imitated."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.datasets.behaviour_probabilities import smoothed
from qwop.datasets.control import Branch
from qwop.datasets.schema import Episode
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.agents.dqn.settings import DqnLoopSettings, DqnSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, interleave
from qwop.finetune.replay.demonstrations import (
    Behaviour,
    Demonstrations,
    Probabilities,
    RecordedSequences,
    recorded_transitions,
    transitions_for,
)
from qwop.finetune.replay.settings import BehaviourSettings
from qwop.finetune.schedules.phase import FULL, Phase
from qwop.policies.policy import Policy
from qwop.policies.q_networks import QNetwork

from ..fakes import check_sequences, make_episode, make_sequences, make_transitions, write_games
from ..runs import make_run


def serving(episodes: list[Episode], steps: int, streams: int = 1) -> Demonstrations[Sequences]:
    return Demonstrations(RecordedSequences(episodes, steps, 0.9), streams, steps)


def firsts(sequences: Sequences) -> list[int]:
    return sequences.observations[:, 0, 0].astype(int).tolist()


def test_sequences_come_in_the_order_of_the_recording_again_and_again() -> None:
    demonstrations = serving([make_episode(6), make_episode(5, first=6)], 4)
    parts = [demonstrations.next(1) for _ in range(11)]
    assert np.concatenate([part.rewards[0] for part in parts]).tolist() == list(range(11)) * 4
    assert all((part.source == DEMONSTRATIONS).all() for part in parts)


def test_streams_take_turns_each_from_its_own_place_and_serve_everything_equally_often() -> None:
    demonstrations = serving([make_episode(40)], 5, 4)
    assert firsts(demonstrations.next(4)) == [0, 10, 20, 30]
    assert firsts(demonstrations.next(2)) == [5, 15]
    assert firsts(demonstrations.next(4)) == [25, 35, 10, 20]
    demonstrations = serving([make_episode(7), make_episode(13, first=7)], 4, 3)
    rewards = np.concatenate([demonstrations.next(3).rewards for _ in range(20)]).ravel()
    assert np.bincount(rewards.astype(int)).tolist() == [12] * 20


def test_a_sequence_may_span_the_end_of_an_episode_and_is_cut_there() -> None:
    demonstrations = serving([make_episode(3), make_episode(9, first=100, terminated=False, truncated=True)], 5)
    one = demonstrations.next(1)
    check_sequences(one)
    assert one.terminated[0].tolist() == [False, False, True, False, False]
    assert one.observations[0, :, 0].astype(int).tolist() == [0, 1, 2, 100, 101, 102]
    assert not len(one.finals.observations)
    demonstrations.next(1)
    last = demonstrations.next(1)
    assert last.truncated[0].tolist() == [False, True, False, False, False]
    assert last.finals.observations[0, 0] == 109  # what the recording ended with, not the start of the next


def test_other_items_are_served_and_drawn_in_the_same_way() -> None:
    one = Demonstrations(make_transitions(5))
    assert one.next(3).actions.tolist() == [0, 1, 2]
    assert one.next(4).actions.tolist() == [3, 4, 0, 1]
    drawn = np.bincount(one.sample(5000, np.random.default_rng(0)).actions, minlength=5)
    assert ((drawn - 1000) ** 2 / 1000).sum() < 18.5  # χ², 4 degrees of freedom, p = 0.001
    assert one.next(1).actions.tolist() == [2]


def test_returns_are_those_of_the_rest_of_the_game_and_known_where_it_came_to_its_end() -> None:
    episodes = [make_episode(3, first=1), make_episode(2, first=5, terminated=False, truncated=True)]
    recorded = RecordedSequences(episodes, 5, gamma=0.5)
    one = recorded[np.zeros(1, dtype=np.int64)]
    assert one.returns is not None
    assert one.known is not None
    assert one.returns[0].tolist() == [2.75, 3.5, 3.0, 8.0, 6.0]
    assert one.known[0].tolist() == [True, True, True, False, False]
    assert recorded.spread == pytest.approx(np.std([2.75, 3.5, 3.0]))


def game(actors: list[int]) -> Episode:
    """A game in shared control, whose actions are those of the person (1) or of a policy (0)."""
    one = make_episode(len(actors))
    mu = smoothed(one.actions, 3, 0.05)
    mu[np.array(actors) == 0] = [0.2, 0.3, 0.5]
    mixed = {"behaviour_probabilities": mu, "mu_kind": "mixed", "mu_epsilon": 0.05}
    return replace(one, **mixed, actors=np.array(actors, dtype=np.int8))


def test_a_policy_is_imitated_by_its_probabilities_and_a_person_by_the_actions() -> None:
    mu = np.array([[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]], dtype=np.float32)
    policy = make_episode(2, probabilities=mu)
    for episode, expected in (
        (policy, mu.tolist()),
        (replace(policy, mu_kind="smoothed", mu_epsilon=0.05), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        (game([0, 1]), [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),  # the person alone
    ):
        one = serving([episode], 2).next(1)
        assert one.player is not None
        assert one.player[0].tolist() == expected
        assert np.array_equal(one.behaviour_probabilities[0], episode.behaviour_probabilities)


def test_a_branchs_own_decisions_are_served_once() -> None:
    line = game([0, 0, 1, 1])
    demonstrations = serving([line, replace(line, branch=Branch(0, 3))], steps=5)
    assert len(demonstrations.items) == 5
    assert demonstrations.next(1).observations[0, :5, 0].tolist() == [0, 1, 2, 3, 3]


def test_decisions_are_transitions_that_respect_the_ends_of_their_games() -> None:
    games = [make_episode(30), make_episode(7, first=100, terminated=False, truncated=True)]
    made = recorded_transitions(games, DqnSettings(n_steps=3), 0.9)
    assert len(made) == 37
    assert np.flatnonzero(made.discounts == 0).tolist() == [27, 28, 29]  # the second one was cut off, not over
    assert made.discounts[-3:] == pytest.approx([0.729, 0.81, 0.9])
    assert made.rewards[0] == pytest.approx(0 + 0.9 * 1 + 0.81 * 2)
    assert made.next_observations[-1, 0] == 107
    assert set(made.source) == {DEMONSTRATIONS}


def test_their_rewards_are_clipped_where_those_of_live_play_are() -> None:
    for clip, expected in ((True, [-1, -1, 0, 1, 1]), (False, [-2, -1, 0, 1, 2])):
        found = recorded_transitions([make_episode(5, first=-2.0)], DqnSettings(clip_rewards=clip), 0.9)
        np.testing.assert_array_equal(found.rewards, expected)


def test_their_discount_is_that_of_the_first_phase_that_uses_them(tmp_path: Path) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"})
    shown = write_games(tmp_path / "demos", spec, [6])
    phases = (
        Phase("fast", 1.0, environment={"frames_per_step": 1}),
        Phase("shown", 1.0, environment={"frames_per_step": 3}, demonstrations=FULL),
    )
    policy = Policy(QNetwork(71, 11, (4,), dueling=True, layer_norm=True), spec, shown.info.observation)
    found = transitions_for(make_run(phases, DqnSettings(gamma=0.9, gamma_rate=20.0), DqnLoopSettings(), policy, shown))
    assert found is not None
    assert found.next(1).discounts[0] == pytest.approx(0.81)  # at 10 decisions a second, not 30


# μ, by the mode in which demonstrations enter the memory


def policy(observations: NDArray[Any]) -> NDArray[np.float32]:
    """A stand-in whose probabilities depend on what it sees."""
    logits = np.stack([np.sin(observations[:, 0]), np.cos(observations[:, 0]), observations[:, 1] * 0], axis=1)
    weights = np.exp(logits)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def pi_of(sequences: Sequences) -> NDArray[np.float32]:
    return policy(sequences.observations[:, :-1].reshape(-1, 2)).reshape(*sequences.actions.shape, 3)


def unused(observations: NDArray[Any]) -> None:
    raise AssertionError("this mode asks no policy now")


def served(
    mode: str, episode: Episode, clone: Probabilities = unused, current: Probabilities = unused, **settings: Any
) -> tuple[Behaviour, Sequences]:
    recorded = RecordedSequences([episode], 4, gamma=0.9)
    behaviour = Behaviour(BehaviourSettings(mode=mode, **settings))
    behaviour.prepare(recorded, clone, "demos")
    return behaviour, behaviour.at_insertion(Demonstrations(recorded, stride=4).next(2), current)


RECORDED = np.random.default_rng(0).dirichlet(np.ones(3), size=20).astype(np.float32)


@pytest.mark.parametrize("mu", [RECORDED, np.tile(np.array([1.0, 1e-9, 1e-12], dtype=np.float32), (20, 1))])
def test_recorded_probabilities_are_served_as_they_are_also_all_but_certain_ones(mu: NDArray[np.float32]) -> None:
    _, sequences = served("recorded", make_episode(20, probabilities=mu))
    assert np.array_equal(sequences.behaviour_probabilities.reshape(-1, 3), mu[:8])


@pytest.mark.parametrize("share", [0.05, 0.45, 1.0])
def test_one_hot_recordings_are_refused_also_where_they_are_a_part(share: float) -> None:
    probabilities, greedy = RECORDED.copy(), slice(0, round(20 * share))
    probabilities[greedy] = np.eye(3, dtype=np.float32)[np.arange(20) % 3][greedy]
    with pytest.raises(BadInput, match=rf"{share:.0%} of the decisions in demos were recorded as certain \(one-hot\)"):
        served("recorded", make_episode(20, probabilities=probabilities))


def test_current_is_the_policy_at_insertion_and_stays_so() -> None:
    behaviour, sequences = served("current", make_episode(20), current=policy)
    assert np.array_equal(sequences.behaviour_probabilities, pi_of(sequences))
    assert behaviour.at_sampling(sequences, unused) is sequences


def test_current_at_sampling_changes_demonstrations_alone() -> None:
    behaviour, sequences = served("current_at_sampling", make_episode(20))
    live = make_sequences(3, source=LIVE)
    batch = behaviour.at_sampling(interleave(live, sequences), policy)
    shown = batch.source == DEMONSTRATIONS
    assert np.array_equal(batch.behaviour_probabilities[shown], pi_of(batch)[shown])
    assert np.array_equal(batch.behaviour_probabilities[~shown], live.behaviour_probabilities)


def test_smoothed_spreads_epsilon_over_all_actions() -> None:
    _, sequences = served("smoothed", make_episode(20), epsilon=0.3)
    expected = np.full((2, 4, 3), 0.1) + 0.7 * np.eye(3)[sequences.actions]
    assert sequences.behaviour_probabilities == pytest.approx(expected)


def test_cloned_is_the_clone_above_its_floor() -> None:
    _, sequences = served("cloned", make_episode(20), clone=policy, floor=0.01)
    assert sequences.behaviour_probabilities == pytest.approx(0.97 * pi_of(sequences) + 0.01)


def many(observations: NDArray[Any]) -> NDArray[np.float32]:
    return np.random.default_rng(0).dirichlet(np.ones(30), size=len(observations)).astype(np.float32)


def uniform(observations: NDArray[Any]) -> NDArray[np.float32]:
    return np.tile(np.array([0.34, 0.33, 0.33], dtype=np.float32), (len(observations), 1))


@pytest.mark.parametrize(
    ("actions", "clone", "floor", "message"),
    [
        (30, many, 0.04, r"behaviour\.floor=0\.04: 30 actions cannot all .* less than 0\.0333"),
        (3, uniform, 0.01, r"behaviour\.mode=cloned: the initial policy is untrained"),
    ],
)
def test_a_floor_that_so_many_actions_cannot_have_and_an_untrained_clone_are_refused(
    actions: int, clone: Probabilities, floor: float, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        served("cloned", make_episode(20, actions=actions), clone=clone, floor=floor)
