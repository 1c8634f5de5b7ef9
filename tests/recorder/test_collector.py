"""The wrapper that records the games played in an environment."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from qwop import BadInput, Collector, Episode, open_dataset
from qwop.envs.names import ACTION_KEYS

from ..fakes import Odd, registered

TWO = (0.25, 0.75)


SEEN = np.zeros(2, np.float32)
ROW = spaces.Box(-np.inf, np.inf, (2,), np.float32)


def reused(decisions: int) -> Any:
    """The observation is one array, whose numbers change."""
    SEEN[:] = decisions
    return SEEN


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with (
        registered(Odd, observations=ROW, see=reused, pay=float, actions=spaces.Discrete(2, start=3)) as id,
        Collector(gymnasium.make(id), tmp_path / "data", player="ada") as collector,
    ):
        yield collector


def recorded(collector: Collector) -> list[Episode]:
    return list(open_dataset(collector.folder))


def test_a_game_is_recorded_as_it_was_played(collector: Collector) -> None:
    collector.reset(seed=11)
    for action in (3, 4, 4):
        collector.step(action)
    (game,) = recorded(collector)
    assert game.observations.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert (game.actions.tolist(), game.rewards.tolist()) == ([0, 1, 1], [1, 2, 3])
    assert (game.terminated, game.truncated, game.player, game.seed) == (True, False, "ada", 11)
    assert (game.mu_kind, game.mu_epsilon) == ("smoothed", 0.05)


def test_known_probabilities_are_recorded_if_every_decision_has_them(collector: Collector) -> None:
    for known in ((TWO, TWO, TWO), (TWO, None, TWO)):
        collector.reset()
        for probabilities in known:
            collector.step(4, probabilities)
    whole, part = recorded(collector)
    assert whole.mu_kind == "recorded"
    np.testing.assert_allclose(whole.behaviour_probabilities, [TWO] * 3)
    assert part.mu_kind == "smoothed"
    assert whole.seed is part.seed is None


def test_a_game_that_is_left_is_recorded_as_truncated(collector: Collector) -> None:
    collector.reset(seed=1)
    collector.reset(seed=2)
    collector.step(3)
    collector.reset(seed=3)
    collector.step(4)
    collector.step(4)
    collector.close()
    first, second = recorded(collector)
    assert [(len(game), game.seed, game.outcome) for game in (first, second)] == [(1, 2, "stopped"), (2, 3, "stopped")]
    assert first.truncated
    assert not first.terminated


def test_a_game_is_kept_up_to_the_first_number_that_cannot_be_stored(tmp_path: Path) -> None:
    rewards = {2: np.ma.masked, 3: np.nan}
    with registered(Odd, pay=lambda n: rewards.get(n, 1.0), length=4) as id:
        collector = Collector(gymnasium.make(id, disable_env_checker=True), tmp_path)
        collector.reset(seed=7)
        for decision in range(3):
            collector.step(0, TWO if decision == 0 else None)
        with pytest.raises(BadInput, match=r"rewards\[1\] is masked"):
            collector.step(0)
    (game,) = recorded(collector)
    assert (game.rewards.tolist(), game.outcome, game.truncated, game.seed) == ([1.0], "stopped", True, 7)
    np.testing.assert_allclose(game.behaviour_probabilities, [TWO])


def test_settings_belong_to_the_dataset(tmp_path: Path) -> None:
    def pole(**settings: Any) -> Collector:
        return Collector(gymnasium.make("CartPole-v1", **settings), tmp_path / "half")

    with pole(sutton_barto_reward=True, max_episode_steps=2) as half:
        half.reset()
        half.step(0)
        half.step(1)
    dataset = open_dataset(tmp_path / "half")
    assert dataset.info.environment.settings == {"sutton_barto_reward": True, "max_episode_steps": 2}
    assert (dataset[0].truncated, len(dataset[0])) == (True, 2)
    with pole() as other:
        other.reset()
        other.step(0)
        with pytest.raises(BadInput, match="half"):
            other.close()


def test_an_environment_without_an_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"the environment has no id; register it, and make it by gymnasium\.make"):
        Collector(Odd(), tmp_path)


def test_games_of_qwop_can_be_cloned(tmp_path: Path) -> None:
    with Collector(gymnasium.make("qwop:QWOP-v1", frames_per_step=4), tmp_path, player="me") as env:
        env.reset(seed=0)
        for action in (1, 2, 1, 2):
            *_, info = env.step(action)
    (game,) = open_dataset(tmp_path)
    assert (game.actions.tolist(), game.outcome) == ([1, 2, 1, 2], "stopped")
    assert game.keys is not None
    np.testing.assert_array_equal(np.stack(game.keys[1:]), [ACTION_KEYS[action] * np.ones(4) for action in (2, 1, 2)])
    assert game.metres == info["distance"]
    assert (game.times[-1] - game.times[0]) == pytest.approx(16 / 30)
