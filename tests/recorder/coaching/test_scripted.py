"""A scripted person, for figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.commands import record as main
from qwop.common.errors import BadInput
from qwop.datasets import Episode
from qwop.datasets.control import PERSON, POLICY
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.pretrain.reaction import reaction
from qwop.recorder.coaching.scripted_source import open_scripted
from qwop.recorder.settings import ScriptedSettings


@pytest.fixture
def untrained(tmp_path: Path) -> Callable[..., str]:
    def make(id: str = "QWOP-v1", seed: int = 1, **settings: Any) -> str:
        spec = EnvironmentSpec(id, settings)
        observation, actions = spec.interface()
        network = ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(seed))
        return str(save_policy(tmp_path / f"{id}-{seed}.safetensors", Policy(network, spec, observation)))

    return make


def games(settings: ScriptedSettings, folder: Path) -> list[Episode]:
    return [*open_scripted(settings, folder).episodes]


def test_the_person_takes_over_and_lets_go_and_goes_back(untrained: Callable[..., str], tmp_path: Path) -> None:
    settings = ScriptedSettings(policy=untrained(observation="contact", frames_per_step=2), minutes=0.4)
    found = games(settings, tmp_path / "data")
    actors = np.concatenate([game.actors for game in found])  # type: ignore[arg-type]
    assert {PERSON, POLICY} == {*actors.tolist()}
    assert any(game.branch is not None for game in found)
    again = games(settings, tmp_path / "data")
    assert [one.keys_of_frames.tolist() for one in again] == [one.keys_of_frames.tolist() for one in found]


def test_the_next_command_learns_from_the_corrections(
    untrained: Callable[..., str], tmp_path: Path, run_command: Callable[..., Any]
) -> None:
    policy, data = untrained(observation="contact", frames_per_step=2), tmp_path / "data"
    done = run_command(main, "source=scripted", f"source.policy={policy}", "source.minutes=0.05", f"dataset={data}")
    assert done.code == 0, done.err
    learn = f"qwop-finetune policy={policy} schedule=corrections demonstrations={data} out=runs/data"
    assert done.out.splitlines()[-1] == f"next: {learn}"


def test_the_next_command_suits_another_environment(
    untrained: Callable[..., str], tmp_path: Path, run_command: Callable[..., Any]
) -> None:
    policy, person, data = untrained("CartPole-v1"), untrained("CartPole-v1", 2), tmp_path / "data"
    words = [f"source.policy={policy}", f"source.person={person}", "source.minutes=0.01", f"dataset={data}"]
    done = run_command(main, "source=scripted", *words)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1].endswith("algorithm=ppo-small schedule.decisions=200000")


def test_whole_games_are_the_persons_alone(untrained: Callable[..., str], tmp_path: Path) -> None:
    policy = untrained(observation="contact", frames_per_step=1)
    settings = ScriptedSettings(policy=policy, minutes=0.05, whole=True, late=3, slips=0.0, attempts=0)
    (game,) = games(settings, tmp_path / "data")
    assert game.actors is not None
    assert (game.actors == PERSON).all()
    from qwop import load_policy

    assert reaction([game], load_policy("champion").probabilities, 8) == 3


def test_another_environments_person_is_a_policy_of_it(untrained: Callable[..., str], tmp_path: Path) -> None:
    settings = ScriptedSettings(
        policy=untrained("CartPole-v1"), person=untrained("CartPole-v1", 2), minutes=0.02, seed=3
    )
    found = games(settings, tmp_path / "data")
    assert sum(len(game) for game in found) >= 0.02 * 60 * 50
    assert all(game.actors is not None for game in found)
    with pytest.raises(BadInput, match=r"champion: a policy of QWOP-v1.*one of CartPole-v1"):
        games(settings.with_(person="champion"), tmp_path / "data")
