"""Environments without a limit of decisions: their games end, and a line says so."""

import gymnasium
import pytest
import torch
from qwop.envs.spec import LONGEST, EnvironmentSpec, ObservationSpec
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.rollout import play

from .conftest import Make


@pytest.fixture
def endless(odd: Make) -> EnvironmentSpec:
    return odd(end=lambda over: False)


def played(spec: EnvironmentSpec) -> int:
    policy = Policy(ActorCritic(3, 2, (4,), torch.Generator().manual_seed(0)), spec, ObservationSpec((3,)))
    (game,) = play(policy, episodes=1, seed=0, greedy=True, num_envs=1, keep_observations=False)
    assert game.truncated
    assert not game.terminated
    return len(game.actions)


def test_games_without_an_end_are_truncated(endless: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    assert endless.default_limit == LONGEST
    (note,) = endless.limit_note
    assert note.startswith("Odd-v0 sets no limit of decisions, so its games are truncated after 5,000")
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    assert played(endless) == 30


def test_a_setting_changes_the_limit(endless: EnvironmentSpec) -> None:
    spec = EnvironmentSpec(endless.id, {"max_episode_steps": 7})
    assert spec.limit_note == []
    assert played(spec) == 7


@pytest.mark.parametrize("id", ["Odd-v0", "CartPole-v1"])
def test_games_end_where_a_setting_takes_the_limit_away(
    endless: EnvironmentSpec, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    spec = EnvironmentSpec(id, {"max_episode_steps": -1})
    assert spec.default_limit == 30
    assert id == "CartPole-v1" or played(spec) == 30
    assert EnvironmentSpec("CartPole-v1", {"max_episode_steps": None}).default_limit is None


def test_an_id_without_a_version_has_a_limit_too(endless: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    spec = EnvironmentSpec("Odd")
    assert spec.default_limit == 30
    assert played(spec) == 30


def test_a_vector_form_that_is_not_played_sets_no_limit(
    endless: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwop.envs.spec.LONGEST", 30)
    vector = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
    monkeypatch.setattr(gymnasium.registry[endless.id], "vector_entry_point", vector)
    assert endless.default_limit == 30
    assert played(endless) == 30


@pytest.mark.parametrize("name", ["CartPole-v1", "CartPole", "QWOP-v1", "QWOP", "ALE/Pong-v5", "Unknown-v0", "Unknown"])
def test_environments_with_a_limit_keep_theirs(name: str) -> None:
    assert EnvironmentSpec(name).limit_note == []
