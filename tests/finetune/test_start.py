from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune import start as starting
from qwop.finetune.schedules.phase import FULL, NONE, Phase
from qwop.finetune.settings import FinetuneSettings, ScheduleSettings
from qwop.finetune.start import PRETRAINED, Start, find_start
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

CARTPOLE = EnvironmentSpec("CartPole-v1")


@pytest.fixture
def demos(tmp_path: Path, make_episode: Callable[..., Episode], monkeypatch: pytest.MonkeyPatch) -> str:
    """Demonstrations of CartPole, which are also the embedded ones here; the working folder is empty."""
    writer = DatasetWriter(tmp_path / "demos", DatasetInfo(CARTPOLE, ObservationSpec((4,)), 2))
    for length in (30, 25, 20):
        writer.write(make_episode(length, actions=2, shape=(4,)))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(starting, "embedded_dataset", lambda: tmp_path / "demos")
    return str(tmp_path / "demos")


def find(
    policy: str | None = None,
    demonstrations: str | None = None,
    environment: str | None = None,
    needs_demonstrations: bool = True,
) -> Start:
    phase = Phase("only", 1.0, demonstrations=FULL if needs_demonstrations else NONE)
    named = {"policy": policy, "demonstrations": demonstrations, "environment": environment}
    return find_start(FinetuneSettings(schedule=ScheduleSettings(phases=(phase,)), **named))


def save(path: Path) -> str:
    save_policy(
        path, Policy(ActorCritic(4, 2, (16,), torch.Generator().manual_seed(7)), CARTPOLE, ObservationSpec((4,)))
    )
    return str(path)


def test_with_nothing_named_the_embedded_demonstrations_are_cloned_and_used(demos: str) -> None:
    start = find()
    assert start.demonstrations is not None
    assert start.policy.environment == CARTPOLE
    assert [note.split(":")[0] for note in start.notes] == ["demonstrations", "policy"]
    assert start.notes[1] == f"policy: a new clone of {demos}"


def test_the_pretrained_policy_serves_where_there_is_one(demos: str) -> None:
    save(PRETRAINED)
    start = find()
    assert start.policy.network.hidden == (16,)
    assert f"policy: {PRETRAINED}" in start.notes


def test_named_demonstrations_without_a_policy_are_cloned_whatever_lies_about(demos: str) -> None:
    save(PRETRAINED)
    assert find(demonstrations=demos).policy.network.hidden != (16,)


def test_an_untrained_policy_stands_for_a_clone_until_it_is_made(demos: str) -> None:
    start = find(demonstrations=demos)
    made = start.with_clone(3)
    assert start.to_clone is not None
    assert made.to_clone is None
    assert (made.policy.environment, made.policy.observation) == (start.policy.environment, start.policy.observation)
    assert not start.policy.network.scaler.fitted
    assert made.policy.network.scaler.fitted
    assert made.policy.training["cloned_from"]["episodes"] == 3
    assert made.with_clone(4) is made


def test_demonstrations_are_not_read_where_no_phase_uses_them(demos: str, tmp_path: Path) -> None:
    start = find(policy=save(tmp_path / "policy.safetensors"), needs_demonstrations=False)
    assert start.demonstrations is None


@pytest.mark.parametrize("environment", [None, "CartPole-v1"])
def test_a_new_policy_takes_environment_and_scale_from_the_demonstrations(demos: str, environment: str | None) -> None:
    start = find(policy="scratch", demonstrations=demos, environment=environment)
    assert start.policy.environment == CARTPOLE
    assert start.policy.network.scaler.mean.abs().max() > 1
    assert np.allclose(start.policy.probabilities(np.zeros((1, 4), np.float32)), 0.5, atol=0.1)


@pytest.mark.parametrize("named", [{"demonstrations": "demos"}, {"policy": "champion"}])
def test_an_environment_that_a_policy_or_demonstrations_bring_is_not_chosen(named: dict[str, str]) -> None:
    with pytest.raises(
        BadInput, match="environment=Acrobot-v1: a policy or demonstrations bring their own; leave it out"
    ):
        find(environment="Acrobot-v1", **named)


def test_a_new_policy_of_an_environment_needs_discrete_actions(demos: str) -> None:
    with pytest.raises(BadInput, match=r"expected Discrete\(n\)"):
        find(policy="scratch", environment="Pendulum-v1", needs_demonstrations=False)
    with pytest.raises(BadInput, match="name its environment"):
        find(policy="scratch", needs_demonstrations=False)


def test_demonstrations_of_another_task_are_refused_with_what_differs(
    demos: str, tmp_path: Path, make_episode: Callable[..., Episode]
) -> None:
    other = DatasetInfo(EnvironmentSpec("CartPole-v1", {"sutton_barto_reward": True}), ObservationSpec((4,)), 2)
    DatasetWriter(tmp_path / "other", other).write(make_episode(9, actions=2, shape=(4,)))
    with pytest.raises(BadInput, match="sutton_barto_reward is True, not set"):
        find(policy=save(tmp_path / "policy.safetensors"), demonstrations=str(tmp_path / "other"))


def test_a_policy_that_plays_something_else_is_told_what_to_give_in_place_of_the_embedded_games(
    demos: str, tmp_path: Path
) -> None:
    own = Policy(ActorCritic(6, 3, (16,)), EnvironmentSpec("Acrobot-v1"), ObservationSpec((6,)))
    save_policy(tmp_path / "policy.safetensors", own)
    with pytest.raises(BadInput, match=r"plays Acrobot-v1, .*demonstrations=DIR.*schedule=live-only"):
        find(policy=str(tmp_path / "policy.safetensors"))
    with pytest.raises(BadInput, match="environment is CartPole-v1, not Acrobot-v1; give"):
        find(policy=str(tmp_path / "policy.safetensors"), demonstrations=demos)


@pytest.mark.parametrize(("setting", "value", "refused"), [("reward", "race", False), ("frames_per_step", 2, True)])
def test_demonstrations_may_be_rewarded_but_not_played_in_another_way_than_the_policy(
    tmp_path: Path, make_episode: Callable[..., Episode], setting: str, value: object, refused: bool
) -> None:
    task = {"frames_per_step": 3, "reward": "shaped"}
    shown = DatasetInfo(EnvironmentSpec("QWOP-v1", task), ObservationSpec((4,)), 11)
    DatasetWriter(tmp_path / "shown", shown).write(make_episode(9, actions=11, shape=(4,)))
    network = ActorCritic(4, 11, (16,), torch.Generator().manual_seed(7))
    own = Policy(network, EnvironmentSpec("QWOP-v1", {**task, setting: value}), ObservationSpec((4,)))
    save_policy(tmp_path / "policy.safetensors", own)
    named = {"policy": str(tmp_path / "policy.safetensors"), "demonstrations": str(tmp_path / "shown")}
    if refused:
        with pytest.raises(BadInput, match="frames_per_step is 3, not 2"):
            find(**named)
    else:
        assert find(**named).policy.environment == own.environment


def test_games_with_keys_are_replayed_for_the_policys_task(tmp_path: Path) -> None:
    info = qwop_info(frames_per_step=3, reward="shaped")
    keys = np.array([0] * 4 + [9, 9, 9, 6, 6, 6] * 5, dtype=np.uint8)
    DatasetWriter(tmp_path / "me", info).write(episode_from_keys(keys, info, player="me", source="page", epsilon=0.05))
    task = qwop_info(frames_per_step=1, observation="contact", reward="race")
    network = ActorCritic(task.observation, task.actions, (16,), torch.Generator().manual_seed(0))
    save_policy(tmp_path / "policy.safetensors", Policy(network, task.environment, task.observation))
    start = find(policy=str(tmp_path / "policy.safetensors"), demonstrations=str(tmp_path / "me"))
    assert start.demonstrations is not None
    assert start.demonstrations[0].observations.shape == (31, 112)
    assert start.notes[-1].startswith("demonstrations: replayed for the policy's task, QWOP-v1")
