"""The copy of the policy that plays."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.collector import WORTH_A_GPU, WORTH_HOLDING, PolicySnapshot, place_to_act
from qwop.policies.networks import Actor, Network
from qwop.policies.q_networks import QNetwork
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.policies.two_timescale import TwoTimescaleActorCritic


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


def test_it_takes_buffers_such_as_the_share_of_random_actions() -> None:
    network = QNetwork(2, 3, (4,), torch.Generator().manual_seed(0), dueling=True, layer_norm=True)
    snapshot = PolicySnapshot(network)
    network.epsilon.fill_(0.3)
    snapshot.take(network)
    probabilities, _ = snapshot.step(SEEN, ())
    np.testing.assert_allclose(np.sort(probabilities, axis=1), [[0.1, 0.1, 0.8]] * 2, rtol=1e-5)


def test_it_takes_the_period_of_a_slow_core_and_is_fed_as_the_network_is() -> None:
    def probabilities(policy: PolicySnapshot) -> list[list[list[float]]]:
        state, found = policy.initial_state(2), []
        for t in range(5):
            chances, state = policy.step(SEEN + t, state)
            state = policy.feed(state, np.array([0, 2]), np.array([1.0, -t], dtype=np.float32))
            found.append(chances.tolist())
        return found

    network, made = (
        TwoTimescaleActorCritic(2, 3, (4,), 4, 4, period, torch.Generator().manual_seed(0)) for period in (3, 2)
    )
    snapshot = PolicySnapshot(network)
    before = probabilities(snapshot)
    network.set_period(2)
    assert probabilities(snapshot) == before
    snapshot.take(network)
    after = probabilities(snapshot)
    assert after == probabilities(PolicySnapshot(made))
    assert (after[0], after[1]) == (before[0], before[1])
    assert after[2] != before[2]


def test_the_state_of_a_policy_goes_in_and_comes_out_as_arrays_that_are_left_alone() -> None:
    snapshot = PolicySnapshot(recurrent())
    state = snapshot.initial_state(2)
    assert not any(part.any() for part in state)
    first, following = snapshot.step(SEEN, state)
    kept = [part.copy() for part in following]
    second, last = snapshot.step(SEEN, following)
    assert not np.array_equal(first, second)
    assert all(map(np.array_equal, following, kept))
    assert not any(map(np.array_equal, following, last))


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
