"""Networks with a memory: ticks of the slow core, noise that is a hash of what was observed, and their games."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.policy import Policy
from qwop.policies.recurrent import TwoTimescaleActorCritic, absorb, digest, standard_normal
from qwop.policies.rollout import play


def make_network(period: int = 3) -> TwoTimescaleActorCritic:
    return TwoTimescaleActorCritic(4, 2, (16,), 16, 16, period, torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("period", "ticks"), [(3, [0, 3, 6, 9]), (1, [*range(11)]), (20, [0])])
def test_the_slow_core_changes_at_multiples_of_its_period_only(period: int, ticks: list[int]) -> None:
    network, thoughts, states = make_network(), [], []
    network.set_period(period)
    state = network.initial_state(2)
    for seen in torch.randn(11, 2, 4, generator=torch.Generator().manual_seed(0)):
        _, output, state = network.think(network.perceive(seen), state)
        thoughts.append(output)
        states.append([torch.cat(state[:2], dim=1), torch.cat(state[2:4], dim=1)])
    assert [t for t, output in enumerate(thoughts) if output.ticked.all()] == ticks
    fast, slow = ([not torch.equal(*pair) for pair in pairwise(part)] for part in zip(*states, strict=True))
    prior = [not torch.equal(one.prior.mean, other.prior.mean) for one, other in pairwise(thoughts)]
    assert slow == prior == [t in ticks for t in range(1, 11)]
    assert all(fast)
    assert network.description()["period"] == period


def test_evaluation_feeds_the_actions_and_rewards_of_each_game() -> None:
    """Stepped along its own records, the network gives the probabilities that the games were played with."""
    network = make_network()
    policy = Policy(network, EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))
    for game in play(policy, episodes=5, seed=0, greedy=False, num_envs=2):
        state = policy.initial_state(1)
        for t in range(len(game)):
            probabilities, state = policy.step(game.observations[t : t + 1], state)
            assert np.array_equal(probabilities[0], game.probabilities[t])
            state = policy.feed(state, game.actions[t : t + 1].astype(np.int64), game.rewards[t : t + 1])


def keys_of(*observations: torch.Tensor) -> torch.Tensor:
    keys = torch.zeros(len(observations[0]), dtype=torch.int64)
    for one in observations:
        keys = absorb(keys, digest(one))
    return keys


def test_the_numbers_are_standard_normal_and_independent() -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = standard_normal(keys_of(torch.randn(4000, 5, generator=generator)), 16).double()
    assert numbers.dtype == torch.float64
    assert numbers.mean(0).abs().max() < 0.08
    assert (numbers.std(0) - 1).abs().max() < 0.06
    assert (numbers.abs() > 1.96).double().mean().item() == pytest.approx(0.05, abs=0.005)
    covariance = torch.from_numpy(np.corrcoef(numbers.T.numpy()))
    assert (covariance - torch.eye(16)).abs().max() < 0.08
    following = numbers[1:] * numbers[:-1]
    assert following.mean(0).abs().max() < 0.08


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_a_key_depends_on_each_number_and_on_their_order(dtype: torch.dtype) -> None:
    seen = (torch.arange(2 * 11).reshape(2, 11) * 7 % 50).to(dtype)
    base = keys_of(seen)
    for place in range(11):
        other = seen.clone()
        other[0, place] += 1
        assert keys_of(other)[0] != base[0]
        assert keys_of(other)[1] == base[1]
    assert keys_of(seen.flip(1))[0] != base[0]
    assert keys_of(seen, seen + 1)[0] != keys_of(seen + 1, seen)[0]
    assert keys_of(seen, seen)[0] != base[0]


def test_the_mixing_is_that_of_splitmix64() -> None:
    """Without bits set, the numbers of key 0 are those of a SplitMix64 whose seed is 0; its first three words."""
    words = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    uniforms = torch.tensor([((word >> 11) + 0.5) * 2.0**-53 for word in words], dtype=torch.float64)
    numbers = standard_normal(torch.zeros(1, dtype=torch.int64), 3)[0]
    torch.testing.assert_close(torch.special.ndtr(numbers.double()), uniforms, rtol=1e-6, atol=1e-7)
