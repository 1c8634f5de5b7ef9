"""A scripted person, for figures."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import Episode
from qwop.datasets.control import PERSON, POLICY
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import save_policy
from qwop.pretrain.rows import reaction

from ..fakes import untrained
from .scripts import load_script

script = load_script("scripted_person")


@pytest.fixture
def player(tmp_path: Path) -> Callable[..., str]:
    """Writes a policy of new weights for an environment of these settings."""

    def make(id: str = "QWOP-v1", seed: int = 1, **settings: Any) -> str:
        policy = untrained(EnvironmentSpec(id, settings), seed)
        return str(save_policy(tmp_path / f"{id}-{seed}.safetensors", policy))

    return make


def games(settings: Any, folder: Path) -> list[Episode]:
    return [*script.open_scripted(settings, folder).episodes]


def test_the_person_takes_over_and_lets_go_and_goes_back(player: Callable[..., str], tmp_path: Path) -> None:
    settings = script.ScriptedSettings(policy=player(observation="contact", frames_per_step=2), minutes=0.4)
    episodes = games(settings, tmp_path / "data")
    actors = np.concatenate([game.actors for game in episodes])  # type: ignore[arg-type]
    assert {PERSON, POLICY} == {*actors.tolist()}
    assert any(game.branch is not None for game in episodes)
    again = games(settings, tmp_path / "data")
    assert [one.keys_of_frames.tolist() for one in again] == [one.keys_of_frames.tolist() for one in episodes]


def test_whole_games_are_the_persons_alone(player: Callable[..., str], tmp_path: Path) -> None:
    policy = player(observation="contact", frames_per_step=1)
    settings = script.ScriptedSettings(policy=policy, minutes=0.05, whole=True, late=3, slips=0.0, attempts=0)
    (game,) = games(settings, tmp_path / "data")
    assert game.actors is not None
    assert (game.actors == PERSON).all()
    from qwop import load_policy

    assert reaction([game], load_policy("champion").probabilities, 8) == 3


def test_another_environments_person_is_a_policy_of_it(player: Callable[..., str], tmp_path: Path) -> None:
    settings = script.ScriptedSettings(
        policy=player("CartPole-v1"), person=player("CartPole-v1", 2), minutes=0.02, seed=3
    )
    episodes = games(settings, tmp_path / "data")
    assert sum(len(game) for game in episodes) >= 0.02 * 60 * 50
    assert all(game.actors is not None for game in episodes)
    with pytest.raises(BadInput, match=r"champion: a policy of QWOP-v1.*one of CartPole-v1"):
        games(replace(settings, person="champion"), tmp_path / "data")
