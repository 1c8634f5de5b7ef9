"""A round of one agent."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.agents.ppo.learner import PpoLearner
from qwop.finetune.experience.collector import PolicySnapshot
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.log import UpdateStats
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.files import load_policy
from qwop.population.agents import FtwAgents, PopulationAgents, PpoAgents, VtraceAgents
from qwop.population.rewards import HAND_MADE, event_rewards, initial_rewards
from qwop.population.settings import WorkSettings
from qwop.population.training import AgentTrainer, RivalState, TrainingTask
from torch.utils._pytree import tree_leaves

from ..finetune.runs import assert_same

RACE = EnvironmentSpec("QWOPRace-v1", {"frames_per_step": 2, "observation": "contact", "time_limit": 4.0})
WORK = WorkSettings(num_games=4, steps=10, unrolls=2)
AGENTS = {
    "vtrace": VtraceAgents(hidden=(16,), memory=16),
    "ftw": FtwAgents(hidden=(16,), memory=16, latent=8),
    "ppo": PpoAgents(hidden=(16,)),
}
GPUS = [
    pytest.param(name, marks=[pytest.mark.gpu, pytest.mark.skipif(not found, reason=f"needs {name}")])
    for name, found in {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}.items()
]
kinds = pytest.mark.parametrize("agents", AGENTS.values(), ids=AGENTS.keys())


Updates = list[tuple[PpoLearner, PhaseValues, dict[str, torch.Tensor]]]


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> Updates:
    """PPO's updates from now on: the learner, its phase's values, and the weights after it."""
    noted: Updates = []
    learn = PpoLearner.update

    def update(learner: PpoLearner, played: Sequences, now: PhaseValues) -> UpdateStats:
        mu, _ = PolicySnapshot(learner.network).step(played.observations[:, 0], ())
        assert np.array_equal(mu, played.behaviour_probabilities[:, 0])  # the newest play
        assert played.signals is not None
        assert played.signals.shape[:2] == played.actions.shape
        stats = learn(learner, played, now)
        noted.append((learner, now, {name: one.detach().double() for name, one in learner.network.named_parameters()}))
        return stats

    monkeypatch.setattr(PpoLearner, "update", update)
    return noted


def genes_of(agents: PopulationAgents, seed: int = 0) -> dict[str, float]:
    random = np.random.default_rng(seed)
    return {name: gene.draw(random) for name, gene in agents.genes.items()}


def task_for(trainer: AgentTrainer, agents: PopulationAgents, seed: int = 0) -> TrainingTask:
    genes, rewards = genes_of(agents, seed), initial_rewards("drawn", np.random.default_rng(seed))
    other = genes_of(agents, seed + 1)
    rival = RivalState(other, HAND_MADE, trainer.begin(other, seed + 1)["network"])
    return TrainingTask(genes, rewards, trainer.begin(genes, seed), None, 5, {1: rival}, (1,))


def equal(one: Any, other: Any) -> bool:
    """True if two states are the same to the bit."""
    try:
        assert_same(one, other)
    except AssertionError:
        return False
    return True


@kinds
def test_a_round_depends_on_its_order_alone_leaves_it_unchanged_and_the_next_one_goes_on(
    agents: PopulationAgents,
) -> None:
    trainer = AgentTrainer(RACE, agents, WORK)
    task = task_for(trainer, agents)
    kept = copy.deepcopy((task.learner, task.rivals[1].network))
    first = trainer.train(task)
    following = replace(task, learner=first.learner, play=first.play, seed=6)
    second, anew = trainer.train(following), trainer.train(replace(following, play=None))
    for place in (trainer, AgentTrainer(RACE, agents, WORK)):  # which has learned before, and which has not
        again = place.train(task)
        assert equal((first.learner, first.play), (again.learner, again.play))
    assert equal(kept, (task.learner, task.rivals[1].network))
    assert not equal(first.learner["network"], task.learner["network"])
    assert first.play["lengths"].max() > 0
    assert second.play["lengths"].max() > anew.play["lengths"].max()  # races under way went on
    steps = [max(int(one["step"]) for one in done.learner["optimiser"]["state"].values()) for done in (first, second)]
    assert steps == [WORK.unrolls * agents.passes, 2 * WORK.unrolls * agents.passes]


@pytest.mark.parametrize(("window", "share"), [(0, 1.0), (160, 0.25)])
def test_an_agent_is_judged_by_the_mean_of_its_recent_weights(window: int, share: float, updates: Updates) -> None:
    agents = PpoAgents(hidden=(16,), weight_average=window)
    trainer = AgentTrainer(RACE, agents, WORK)
    task = task_for(trainer, agents)
    first = trainer.train(task).learner
    first["average"]["decisions"] = 100_000  # so long that the window is full
    updates.clear()
    done = trainer.train(replace(task, learner=first))
    judged = dict(trainer.policy(task.genes, task.rewards, done.learner, {}).network.named_parameters())
    assert len(updates) == WORK.unrolls
    for name, before in first["average"]["weights"].items():
        mean = before.double()
        for _, _, weights in updates:
            mean = mean + share * (weights[name] - mean)  # 40 decisions of 160
        torch.testing.assert_close(judged[name].double(), mean, rtol=1e-5, atol=1e-7)
    assert done.learner["average"]["decisions"] == 100_080
    assert not all(torch.equal(judged[name], updates[-1][2][name].float()) for name in judged) or not window


@kinds
def test_policies_of_agents_have_their_own_weights_and_rewards(agents: PopulationAgents) -> None:
    trainer, genes = AgentTrainer(RACE, agents, WORK), genes_of(agents)
    rewards = initial_rewards("drawn", np.random.default_rng(0))
    states = [trainer.begin(genes, seed) for seed in (0, 1)]
    policies = [trainer.policy(genes, rewards, state, {}) for state in states]
    trainer.train(task_for(trainer, agents))
    for state, policy in zip(states, policies, strict=True):
        assert equal(dict(policy.network.state_dict()), dict(state["network"]))
        assert policy.environment.settings["weights"] == event_rewards(rewards).tolist()
        if "period" in genes:
            assert policy.network.description()["period"] == genes["period"]
    assert not equal(dict(states[0]["network"]), dict(states[1]["network"]))


CART = EnvironmentSpec("CartPole-v1")


@pytest.mark.parametrize(
    ("game", "size", "said"),
    [
        (RACE, None, r"an agent of this population .recurrent.* a rival .* choose agent="),
        (CART, None, "begin with; choose agent= and its widths"),  # another game
        (CART, 8, "begin with; choose agent= and its widths"),
    ],
)
def test_a_policy_that_no_agent_can_begin_with_is_refused(game: EnvironmentSpec, size: int | None, said: str) -> None:
    policy = load_policy("champion")
    if size is not None:
        small = AgentTrainer(CART, PpoAgents(hidden=(size,)), WORK)
        genes = genes_of(PpoAgents(), 3)
        policy = small.policy(genes, {}, small.begin(genes, 0), {})
    with pytest.raises(BadInput, match=said):
        AgentTrainer(game, AGENTS["vtrace"], WORK).begin(genes_of(AGENTS["vtrace"], 3), 0, policy)


def test_an_agent_can_begin_as_a_policy_that_sees_less() -> None:
    champion, genes = load_policy("champion"), {"learning_rate": 1e-3, "entropy": 0.01}
    trainer = AgentTrainer(RACE, PpoAgents(), WORK)
    begun = trainer.begin(genes, 3, champion)
    assert begun["statistics"]["count"] == 0  # the scaling stays
    policy = trainer.policy(genes, HAND_MADE, begun, {})
    names = list(RACE.capabilities.observation_names or ())
    own = torch.randn(5, len(names), generator=torch.Generator().manual_seed(0))
    columns = [names.index(name) for name in champion.environment.capabilities.observation_names or ()]
    assert len(columns) == 112
    unseen = [at for at in range(len(names)) if at not in columns]
    state = policy.network.state_dict()
    assert not state["scaler.mean"][unseen].any()
    assert (state["scaler.std"][unseen] == 1.0).all()
    others = own.clone()
    others[:, unseen] += 5.0
    for rows in (own, others):
        torch.testing.assert_close(policy.network.logits(rows), champion.network.logits(own[:, columns]))
    with pytest.raises(BadInput, match="cannot begin with"):
        AgentTrainer(RACE, AGENTS["ppo"], WORK).begin(genes, 3, champion)
    published = EnvironmentSpec("QWOPRace-v1", {**RACE.settings, "observation": "features"})
    with pytest.raises(BadInput, match=r"which the race does not show; give race.observation=contact"):
        AgentTrainer(published, PpoAgents(), WORK).begin(genes, 3, champion)


def test_ppo_learns_with_the_genes_of_its_agent(updates: Updates) -> None:
    agents = PpoAgents(hidden=(16,), passes=5, minibatch=17, gamma=0.9, gamma_rate=5.0, precision="bfloat16")
    trainer = AgentTrainer(RACE, agents, WORK)
    task = replace(task_for(trainer, agents), genes={"learning_rate": 2e-4, "entropy": 0.07})
    first = trainer.train(task)
    second = trainer.train(replace(task, learner=first.learner, play=first.play))
    assert len(updates) == 2 * WORK.unrolls
    for learner, now, _ in updates:
        settings = learner.settings
        assert (settings.learning_rate, settings.entropy_coefficient) == (2e-4, 0.07)
        assert (settings.epochs, settings.minibatch, settings.precision) == (5, 17, "bfloat16")
        assert now.gamma == pytest.approx(0.9 ** (5 / 15))
        assert learner.values is not None
        assert learner.network.hidden == learner.values.hidden == (16,)
    shuffles = [state["shuffle"]["state"]["state"] for state in (task.learner, first.learner, second.learner)]
    assert len({*shuffles}) == 3


@kinds
@pytest.mark.parametrize("device", ["cpu", *GPUS])
def test_a_round_leaves_a_state_that_any_machine_goes_on_with(agents: PopulationAgents, device: str) -> None:
    there, here = AgentTrainer(RACE, agents, WORK, device=device), AgentTrainer(RACE, agents, WORK)
    task = task_for(there, agents)
    done = there.train(task)
    assert {one.device.type for one in tree_leaves(done.learner) if isinstance(one, torch.Tensor)} == {"cpu"}
    assert here.train(replace(task, learner=done.learner, play=done.play)).learner.keys() == done.learner.keys()
