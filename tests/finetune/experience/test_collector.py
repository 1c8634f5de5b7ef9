"""Live play."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from qwop.common.errors import BadInput
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.collector import WORTH_A_GPU, WORTH_HOLDING, Collector, PolicySnapshot, place_to_act
from qwop.policies.networks import Actor, Network
from qwop.policies.q_networks import QNetwork
from qwop.policies.recurrent import RecurrentActorCritic, TwoTimescaleActorCritic

from ..fakes import Counting, Memoryless, Remembering, Saving, check_sequences, make_collector, vector

POLICY = Memoryless()


def test_sequences_follow_each_other_and_episodes_each_other() -> None:
    collector = make_collector()
    first, _ = collector.collect(POLICY)
    second, _ = collector.collect(POLICY)
    check_sequences(first)
    steps = np.concatenate([first.observations[:, :-1, 1], second.observations[:, :-1, 1]], axis=1)
    assert steps.tolist() == [
        [0, 1, 2, 3, 0, 1, 2, 3, 0, 1],
        [0, 1, 2, 0, 1, 2, 0, 1, 2, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    ]
    assert np.array_equal(first.observations[:, -1], second.observations[:, 0])


def test_ends_and_limits_are_told_apart_and_limits_keep_their_final_observation_also_of_pictures() -> None:
    for image in (False, True):
        sequences, _ = make_collector(image=image).collect(POLICY)
        check_sequences(sequences)
        assert np.argwhere(sequences.terminated).tolist() == [[0, 3]]
        assert np.argwhere(sequences.truncated).tolist() == [[1, 2]]
        assert (sequences.finals.sequence.tolist(), sequences.finals.step.tolist()) == ([1], [2])
        assert sequences.finals.observations.ravel().tolist() == [0, 3]
        kind = np.uint8 if image else np.float32
        assert sequences.observations.dtype == sequences.finals.observations.dtype == kind


def test_behaviour_probabilities_are_what_the_actions_were_drawn_with() -> None:
    collector = make_collector()
    drawn = [collector.collect(POLICY)[0] for _ in range(200)]
    flat = drawn[0].observations[:, :-1].reshape(-1, 2)
    assert np.array_equal(drawn[0].behaviour_probabilities.reshape(-1, 3), POLICY.step(flat, ())[0])
    preferred = np.concatenate([(one.actions == one.observations[:, :-1, 1] % 3).ravel() for one in drawn])
    assert preferred.mean() == pytest.approx(0.8, abs=0.03)
    assert np.array_equal(drawn[0].rewards, drawn[0].actions)


def test_episodes_that_end_are_reported_with_their_return() -> None:
    collector = make_collector()
    sequences, ends = collector.collect(POLICY)
    limited, ended = ends
    assert (limited.decisions, ended.decisions) == (3, 4)
    assert ended.total_reward == sequences.rewards[0, :4].sum()
    assert (ended.metres, ended.seconds, ended.finished) == (0.0, 1.5, True)
    second, later = collector.collect(POLICY)
    whole = sequences.rewards[0, 4] + second.rewards[0, :3].sum()
    assert next(end for end in later if end.decisions == 4).total_reward == whole


def test_a_policys_state_follows_each_game_is_fed_and_begins_anew_with_the_next() -> None:
    collector, policy = make_collector(), Remembering()
    parts = [collector.collect(policy)[0] for _ in range(2)]
    seen = np.stack(policy.states, axis=1)
    after, actions, rewards = (np.stack(fed, axis=1) for fed in zip(*policy.fed, strict=True))
    steps = np.concatenate([part.observations[:, :-1, 1] for part in parts], axis=1)
    assert np.array_equal(seen, steps)
    assert np.array_equal(after, steps + 1)
    assert np.array_equal(actions, np.concatenate([part.actions for part in parts], axis=1))
    assert np.array_equal(rewards, np.concatenate([part.rewards for part in parts], axis=1))
    assert np.array_equal(parts[0].behaviour_probabilities.argmax(-1), seen[:, :5] % 3)
    for played in parts:  # recurrent networks are unrolled again from there
        assert np.array_equal(played.state[0][:, 0], played.observations[:, 0, 1])


def test_games_that_do_not_come_out_the_same_are_refused() -> None:
    collector = make_collector()
    collector.collect(POLICY)
    state = collector.get_state()
    state["observations"] = state["observations"] + 1
    with pytest.raises(BadInput, match="do not come out the same"):
        make_collector().set_state(state)


def test_a_restart_begins_new_games_and_forgets_the_policys_state() -> None:
    collector, policy = make_collector(Saving), Remembering()
    collector.collect(policy)
    collector.restart()
    sequences, ends = collector.collect(policy)
    assert sequences.observations[:, 0, 1].tolist() == [0, 0, 0]
    assert policy.states[5].tolist() == [0, 0, 0]
    assert {end.decisions for end in ends} == {3, 4}  # not 1 + 4, counted from before


def test_another_environment_starts_new_games_in_it() -> None:
    collector = make_collector()
    collector.collect(POLICY)
    collector.enter(vector(*(Counting(2, "end") for _ in range(3))))
    sequences, ends = collector.collect(POLICY)
    assert sequences.observations[:, :-1, 1].tolist() == [[0, 1, 0, 1, 0]] * 3
    assert {end.decisions for end in ends} == {2}


class Marked(Saving):
    """Three games: one begun from a saved state, one that goes on after its ends, and a whole one."""

    def step(self, actions: Any) -> Any:
        *played, infos = super().step(actions)
        marks = {"restarted": np.array([True, False, False]), "game_goes_on": np.array([False, True, False])}
        return (*played, {**infos, **marks})


def test_only_whole_games_are_reported_as_episodes() -> None:
    env: Any = Marked([lambda: Counting(3, "end")] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    collector = Collector(env, 7, np.random.default_rng(0))
    sequences, ends = collector.collect(Memoryless())
    assert sequences.terminated.sum() == 6
    assert [end.decisions for end in ends] == [3, 3]
    assert [end.total_reward for end in ends] == [sequences.rewards[2, :3].sum(), sequences.rewards[2, 3:6].sum()]
    assert collector.get_state()["lengths"].tolist() == [1, 7, 1]


def recurrent() -> RecurrentActorCritic:
    return RecurrentActorCritic(2, 3, (4,), 4, torch.Generator().manual_seed(0))


SEEN = np.array([[0.5, -1.0], [2.0, 3.0]], dtype=np.float32)


def policy_of(network: Actor) -> Any:
    return pytest.approx(torch.softmax(network.logits(torch.from_numpy(SEEN)), -1).detach().numpy(), rel=1e-6)


@pytest.mark.parametrize("decisions", [1, WORTH_HOLDING])
@pytest.mark.parametrize("live", [True, False])
def test_it_stays_as_it_was_taken_while_the_network_learns(live: bool, decisions: int) -> None:
    network = Actor(2, 3, (4,), torch.Generator().manual_seed(0))
    snapshot = PolicySnapshot(network, live=live, decisions=decisions)
    before, _ = snapshot.step(SEEN, ())
    assert before == policy_of(network)
    with torch.no_grad():
        network.trunk[0].weight.mul_(-3.0)
        network.policy_head.bias.add_(torch.tensor([1.0, 0.0, 0.0]))
        network.scaler.mean.fill_(0.3)
    assert live or np.array_equal(snapshot.step(SEEN, ())[0], before)
    snapshot.take(network)
    assert snapshot.step(SEEN, ())[0] == policy_of(network)
    assert before != policy_of(network)


def test_it_takes_the_share_of_random_actions_and_the_period_of_a_slow_core_and_is_fed_as_the_network_is() -> None:
    def probabilities(policy: PolicySnapshot) -> list[list[list[float]]]:
        state, found = policy.initial_state(2), []
        for t in range(5):
            chances, state = policy.step(SEEN + t, state)
            state = policy.feed(state, np.array([0, 2]), np.array([1.0, -t], dtype=np.float32))
            found.append(chances.tolist())
        return found

    generator = torch.Generator().manual_seed(0)
    greedy = QNetwork(2, 3, (4,), generator, dueling=True, layer_norm=True)
    slow = TwoTimescaleActorCritic(2, 3, (4,), 4, 4, 3, generator)
    for network, change in ((greedy, lambda: greedy.epsilon.fill_(0.3)), (slow, lambda: slow.set_period(2))):
        snapshot = PolicySnapshot(network)
        before = probabilities(snapshot)
        change()
        assert probabilities(snapshot) == before
        snapshot.take(network)
        after = probabilities(snapshot)
        assert after == probabilities(PolicySnapshot(network)) != before
    assert after[:2] == before[:2]  # the slow core steps in decision 2, not 3
    assert np.sort(probabilities(PolicySnapshot(greedy))[0][0]) == pytest.approx([0.1, 0.1, 0.8])


PICTURES = ObservationSpec((2, 36, 36), "uint8")


@pytest.mark.parametrize(
    ("network", "worth"),
    [
        (Actor(2, 3, (64, 64)), False),
        (Actor(2, 3, (1024, WORTH_A_GPU // 1024)), True),
        (Actor(PICTURES, 3, (8,)), True),
    ],
    ids=["narrow", "wide", "pictures"],
)
def test_a_gpu_acts_where_it_is_worth_it(network: Network, worth: bool) -> None:
    assert place_to_act(network, torch.device("cuda")).type == ("cuda" if worth else "cpu")
    assert place_to_act(network, torch.device("cpu")).type == "cpu"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_acts_as_the_cpu_does() -> None:
    generator, random = torch.Generator().manual_seed(0), np.random.default_rng(0)
    for network in (
        QNetwork(2, 3, (4,), generator, dueling=True, layer_norm=True),
        recurrent(),
        Actor(PICTURES, 3, (8,), generator),
    ):
        here, there = PolicySnapshot(network), PolicySnapshot(network, device=torch.device("cuda"))
        states = [one.initial_state(4) for one in (here, there)]
        for _ in range(3):
            for parameter in network.parameters():
                parameter.data.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
            seen = (10 * random.uniform(size=(4, *network.observation.shape))).astype(network.observation.dtype)
            found = []
            for number, one in enumerate((here, there)):
                one.take(network)
                probabilities, states[number] = one.step(seen, states[number])
                found.append(probabilities)
            np.testing.assert_allclose(*found, atol=1e-2)  # a GPU's convolutions round numbers to ten bits (TF32)


@torch.no_grad()
def test_a_message_to_actors_has_the_weights_once() -> None:
    network = Actor(4, 3, (64, 64), torch.Generator().manual_seed(0))
    snapshot, seen = PolicySnapshot(network), np.ones((5, 4), dtype=np.float32)
    snapshot.take(network)
    message = pickle.dumps(snapshot)
    assert len(message) < 4 * sum(one.numel() for one in network.parameters()) + 8000
    there = pickle.loads(message)
    assert np.array_equal(there.step(seen, ())[0], snapshot.step(seen, ())[0])
    network.trunk[0].weight.mul_(-3.0)
    for each in (snapshot, there):
        each.take(network)
    assert np.array_equal(there.step(seen, ())[0], snapshot.step(seen, ())[0])
