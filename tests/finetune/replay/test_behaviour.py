"""μ of demonstrations, by the mode in which they enter the memory."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.datasets.schema import Episode
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, interleave
from qwop.finetune.replay.demonstrations import Behaviour, Demonstrations, Probabilities, RecordedSequences
from qwop.finetune.replay.settings import BehaviourSettings

from ..fakes import make_episode, make_sequences


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
