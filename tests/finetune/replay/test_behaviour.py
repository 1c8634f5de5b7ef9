from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.datasets.behaviour_probabilities import floored
from qwop.datasets.schema import Episode
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, interleave
from qwop.finetune.replay.behaviour import Behaviour, Probabilities
from qwop.finetune.replay.demonstrations import Demonstrations, RecordedSequences
from qwop.finetune.replay.settings import BehaviourSettings


def policy(observations: NDArray[Any]) -> NDArray[np.float32]:
    """A stand-in whose probabilities depend on what it sees."""
    logits = np.stack([np.sin(observations[:, 0]), np.cos(observations[:, 0]), observations[:, 1] * 0], axis=1)
    weights = np.exp(logits)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def unused(observations: NDArray[Any]) -> None:
    raise AssertionError("this mode asks no policy now")


def served(
    mode: str, episode: Episode, clone: Probabilities = unused, current: Probabilities = unused, **settings: Any
) -> tuple[Behaviour, Sequences]:
    recorded = RecordedSequences([episode], 4, gamma=0.9)
    behaviour = Behaviour(BehaviourSettings(mode=mode, **settings))
    behaviour.prepare(recorded, clone, "demos")
    return behaviour, behaviour.at_insertion(Demonstrations(recorded, stride=4).next(2), current)


def test_recorded_probabilities_are_served_as_they_are(make_episode: Callable[..., Episode]) -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), size=20).astype(np.float32)
    _, sequences = served("recorded", make_episode(20, probabilities=probabilities))
    assert np.array_equal(sequences.behaviour_probabilities.reshape(-1, 3), probabilities[:8])


@pytest.mark.parametrize("share", [0.05, 0.45, 1.0])
def test_one_hot_recordings_are_refused_also_where_they_are_a_part(
    make_episode: Callable[..., Episode], share: float
) -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), size=20).astype(np.float32)
    greedy = slice(0, round(20 * share))
    probabilities[greedy] = np.eye(3, dtype=np.float32)[np.arange(20) % 3][greedy]
    with pytest.raises(BadInput, match=rf"{share:.0%} of the decisions in demos were recorded as certain \(one-hot\)"):
        served("recorded", make_episode(20, probabilities=probabilities))


def test_a_stochastic_agent_may_be_all_but_certain(make_episode: Callable[..., Episode]) -> None:
    sure = np.tile(np.array([1.0, 1e-9, 1e-12], dtype=np.float32), (20, 1))
    _, sequences = served("recorded", make_episode(20, probabilities=sure))
    assert np.array_equal(sequences.behaviour_probabilities.reshape(-1, 3), sure[:8])


def test_current_is_the_policy_at_insertion_and_stays_so(make_episode: Callable[..., Episode]) -> None:
    behaviour, sequences = served("current", make_episode(20), current=policy)
    expected = policy(sequences.observations[:, :-1].reshape(-1, 2)).reshape(2, 4, 3)
    assert np.array_equal(sequences.behaviour_probabilities, expected)
    # ρ = π/(μ + 1e-6) of every action is 1 to 1e-3 wherever π is at least 1e-3.
    rho = expected / (sequences.behaviour_probabilities + 1e-6)
    assert np.abs(rho - 1).max() < 1e-3
    assert behaviour.at_sampling(sequences, unused) is sequences


def test_current_at_sampling_changes_demonstrations_alone(
    make_episode: Callable[..., Episode], make_sequences: Callable[..., Sequences]
) -> None:
    behaviour, sequences = served("current_at_sampling", make_episode(20))
    live = make_sequences(3, source=LIVE)
    batch = behaviour.at_sampling(interleave(live, sequences), policy)
    shown = batch.source == DEMONSTRATIONS
    expected = policy(batch.observations[shown, :-1].reshape(-1, 2)).reshape(2, 4, 3)
    assert np.array_equal(batch.behaviour_probabilities[shown], expected)
    assert np.array_equal(batch.behaviour_probabilities[~shown], live.behaviour_probabilities)


def test_smoothed_spreads_epsilon_over_all_actions(make_episode: Callable[..., Episode]) -> None:
    _, sequences = served("smoothed", make_episode(20), epsilon=0.3)
    taken = np.take_along_axis(sequences.behaviour_probabilities, sequences.actions[..., None], axis=-1)
    assert taken == pytest.approx(0.8)
    assert sequences.behaviour_probabilities.sum(axis=-1) == pytest.approx(1.0)
    assert sequences.behaviour_probabilities.min() == pytest.approx(0.1)


def test_cloned_is_the_clone_above_its_floor(make_episode: Callable[..., Episode]) -> None:
    _, sequences = served("cloned", make_episode(20), clone=policy, floor=0.01)
    expected = floored(policy(sequences.observations[:, :-1].reshape(-1, 2)), 0.01).reshape(2, 4, 3)
    assert np.array_equal(sequences.behaviour_probabilities, expected)


def test_a_floor_that_so_many_actions_cannot_have_is_refused(make_episode: Callable[..., Episode]) -> None:
    episode = make_episode(20, actions=30)

    def clone(observations: NDArray[Any]) -> NDArray[np.float32]:
        return np.random.default_rng(0).dirichlet(np.ones(30), size=len(observations)).astype(np.float32)

    with pytest.raises(BadInput, match=r"behaviour\.floor=0\.04: 30 actions cannot all .* less than 0\.0333"):
        served("cloned", episode, clone=clone, floor=0.04)
    _, sequences = served("cloned", episode, clone=clone, floor=0.03)
    assert sequences.behaviour_probabilities.min() >= 0.03 - 1e-7


def test_an_untrained_policy_is_no_clone(make_episode: Callable[..., Episode]) -> None:
    def untrained(observations: NDArray[Any]) -> NDArray[np.float32]:
        return np.tile(np.array([0.34, 0.33, 0.33], dtype=np.float32), (len(observations), 1))

    with pytest.raises(BadInput, match=r"behaviour\.mode=cloned: the initial policy is untrained"):
        served("cloned", make_episode(20), clone=untrained)


def test_a_floor_keeps_a_distribution() -> None:
    mixed = floored(np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]], dtype=np.float32), 0.01)
    assert mixed.sum(axis=1) == pytest.approx(1.0)
    assert mixed.min() == pytest.approx(0.01)


@pytest.mark.parametrize("wrong", [{"mode": "guessed"}, {"epsilon": 0.0}, {"floor": 0.0}, {"floor": 0.5}])
def test_settings_that_cannot_be_used_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))):
        BehaviourSettings(**wrong)
