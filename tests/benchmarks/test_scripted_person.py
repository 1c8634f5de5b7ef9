"""A scripted person, for figures."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.datasets import Episode
from qwop.datasets.control import PERSON, POLICY
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.pretrain.reaction import reaction

from .scripts import load_script

script = load_script("scripted_person")


@pytest.fixture
def untrained(tmp_path: Path) -> Callable[..., str]:
    def make(id: str = "QWOP-v1", seed: int = 1, **settings: Any) -> str:
        spec = EnvironmentSpec(id, settings)
        observation, actions = spec.interface()
        network = ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(seed))
        return str(save_policy(tmp_path / f"{id}-{seed}.safetensors", Policy(network, spec, observation)))

    return make


def games(settings: Any, folder: Path) -> list[Episode]:
    return [*script.open_scripted(settings, folder).episodes]


def test_the_person_takes_over_and_lets_go_and_goes_back(untrained: Callable[..., str], tmp_path: Path) -> None:
    settings = script.ScriptedSettings(policy=untrained(observation="contact", frames_per_step=2), minutes=0.4)
    episodes = games(settings, tmp_path / "data")
    actors = np.concatenate([game.actors for game in episodes])  # type: ignore[arg-type]
    assert {PERSON, POLICY} == {*actors.tolist()}
    assert any(game.branch is not None for game in episodes)
    again = games(settings, tmp_path / "data")
    assert [one.keys_of_frames.tolist() for one in again] == [one.keys_of_frames.tolist() for one in episodes]


def test_whole_games_are_the_persons_alone(untrained: Callable[..., str], tmp_path: Path) -> None:
    policy = untrained(observation="contact", frames_per_step=1)
    settings = script.ScriptedSettings(policy=policy, minutes=0.05, whole=True, late=3, slips=0.0, attempts=0)
    (game,) = games(settings, tmp_path / "data")
    assert game.actors is not None
    assert (game.actors == PERSON).all()
    from qwop import load_policy

    assert reaction([game], load_policy("champion").probabilities, 8) == 3


def test_another_environments_person_is_a_policy_of_it(untrained: Callable[..., str], tmp_path: Path) -> None:
    settings = script.ScriptedSettings(
        policy=untrained("CartPole-v1"), person=untrained("CartPole-v1", 2), minutes=0.02, seed=3
    )
    episodes = games(settings, tmp_path / "data")
    assert sum(len(game) for game in episodes) >= 0.02 * 60 * 50
    assert all(game.actors is not None for game in episodes)
    with pytest.raises(BadInput, match=r"champion: a policy of QWOP-v1.*one of CartPole-v1"):
        games(replace(settings, person="champion"), tmp_path / "data")
