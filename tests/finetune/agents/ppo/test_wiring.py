"""PPO's agent: what reaches its learner, and from where."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.ppo.learner import PpoAgent, PpoLearner, build, new_network
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.log import RunLog, UpdateStats
from qwop.finetune.schedules.phase import FULL, Phase, PhaseValues
from qwop.policies.networks import Actor, ActorCritic, ValuedActor, Values
from qwop.policies.policy import Policy

from ...runs import make_run

SETTINGS = PpoSettings(gamma=0.9, gamma_rate=10.0, hidden=(4,))

PICTURES = ObservationSpec((36, 36), "uint8")


class Recording(PpoLearner):
    """Keeps what its updates are called with, and learns nothing."""

    def __init__(self) -> None:
        super().__init__(Actor(2, 3, (4,)), Values(2, (4,)), SETTINGS, torch.device("cpu"), np.random.default_rng(0))
        self.updates: list[tuple[Sequences, PhaseValues]] = []

    def update(self, played: Sequences, now: PhaseValues) -> UpdateStats:
        self.updates.append((played, now))
        return UpdateStats({"kl": 0.5}, {})


def build_for(policy: Policy, settings: PpoSettings = SETTINGS) -> PpoAgent:
    return build(make_run((Phase("x", 1.0),), settings, PpoLoopSettings(), policy))


def test_one_update_an_iteration_with_the_factors_of_the_phase(make_sequences: Callable[..., Sequences]) -> None:
    learner, log = Recording(), RunLog(Path())
    agent = PpoAgent(learner, log)
    for critic_only in (False, True):
        live = make_sequences(4)
        now = PhaseValues(0.9, learning_rate=0.5, entropy=0.2, critic_only=critic_only, imitation=0.7, kickstarting=0.6)
        agent.learn(live, now)
        played, used = learner.updates.pop()
        assert played is live
        assert used == now
        assert not learner.updates
    assert log.row() == {"learner/kl": 0.5}


def test_demonstrations_are_imitated_where_only_the_judgement_of_play_differs(
    make_episode: Callable[..., Episode], make_sequences: Callable[..., Sequences], tmp_path: Path
) -> None:
    played = {"frames_per_step": 2, "reward": "shaped"}
    info = DatasetInfo(EnvironmentSpec("QWOP-v1", played), ObservationSpec((71,)), 11)
    writer = DatasetWriter(tmp_path / "shown", info)
    writer.write(make_episode(5, actions=11, shape=(71,)))
    policy = Policy(Actor(71, 11, (4,)), info.environment, info.observation)

    def build_in(**changed: Any) -> PpoAgent:
        phase = Phase("imitating", 1.0, imitation=FULL, environment=changed)
        return build(make_run((phase,), SETTINGS, PpoLoopSettings(), policy, open_dataset(tmp_path / "shown")))

    agent = build_in(reward="race", shaping=0.5, time_limit=30.0)
    live = make_sequences(2, actions=11, shape=(71,))
    assert "imitation_loss" in agent.learner.update(live, PhaseValues(0.9, imitation=1.0)).scalars
    with pytest.raises(BadInput, match=r"schedule\.phases\.imitating: uses demonstrations of"):
        build_in(frames_per_step=3)


def test_a_policys_values_are_continued_and_kept_as_they_were() -> None:
    values = Values(4, (6, 5), torch.Generator().manual_seed(3))
    policy = Policy(Actor(4, 2, (4,)), EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)), values=values)
    agent = build_for(policy)
    scaled = torch.randn(3, 4)
    before = values(scaled)
    assert torch.equal(agent.values(scaled), before)
    with torch.no_grad():
        agent.values.head.bias.add_(1.0)
    assert torch.equal(values(scaled), before)


@pytest.mark.parametrize(("size", "changes"), [(4, {}), (36 * 36, {"convolutions": "nips"})])
def test_a_new_policy_and_its_values_are_those_of_the_settings(size: int, changes: dict[str, Any]) -> None:
    observation = ObservationSpec((4,)) if size == 4 else PICTURES
    for shared in (False, True):
        settings = SETTINGS.with_(shared=shared, **changes)
        network = new_network(settings)(observation, 2, torch.Generator().manual_seed(0))
        assert isinstance(network, ValuedActor) == shared
        policy = Policy(network, EnvironmentSpec("CartPole-v1"), observation)
        agent = build_for(policy, settings)
        assert (agent.values is None) == shared
        learned = [network, *(() if agent.values is None else (agent.values,))]
        for module in learned:
            convolutions = [one for one in module.modules() if isinstance(one, torch.nn.Conv2d)]
            assert len(convolutions) == (2 if changes else 0)


def test_a_clone_takes_a_value_head_on_its_own_layers() -> None:
    clone = ActorCritic(PICTURES, 2, (4,), torch.Generator().manual_seed(3), "nips")
    policy = Policy(clone, EnvironmentSpec("CartPole-v1"), PICTURES)
    agent = build_for(policy, SETTINGS.with_(shared=True))
    rows = torch.randint(0, 256, (5, PICTURES.size), dtype=torch.uint8)
    assert isinstance(agent.network, ValuedActor)
    assert agent.values is None
    assert torch.equal(agent.network.logits(rows), clone.logits(rows))
    with torch.no_grad():
        agent.network.policy_head.bias.add_(1.0)
    assert not torch.equal(agent.network.logits(rows), clone.logits(rows))
