"""Networks with a memory: ticks of the slow core, noise that is a hash of what was observed, and their games; single
steps of the external memory against a float64 reference of the paper's equations."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.external_memory import ExternalMemory, Heads, Slots, allocation
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


# The external memory

N, W, R = 5, 3, 2


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


class Reference:
    """The DNC of Graves et al. 2016, one slot at a time, in NumPy's float64."""

    def __init__(self) -> None:
        self.m, self.u, self.w, self.p = np.zeros((N, W)), np.zeros(N), np.zeros(N), np.zeros(N)
        self.links, self.r, self.reads = np.zeros((N, N)), np.zeros((R, N)), np.zeros((R, W))

    def content(self, key: NDArray[Any], strength: float) -> NDArray[Any]:
        scores = [strength * key @ slot / (math.sqrt(key @ key) * math.sqrt(slot @ slot) + 1e-6) for slot in self.m]
        return np.exp(scores) / np.exp(scores).sum()

    def step(self, interface: NDArray[Any]) -> None:
        sizes = [R * W, R, W, 1, W, W, R, 1, 1, 3 * R]
        keys, strengths, key, strength, erase, vector, free, alloc, gate, modes = np.split(
            interface, np.cumsum(sizes)[:-1]
        )
        beta = 1 + np.log1p(np.exp(strengths))
        for i in range(N):
            self.u[i] = self.u[i] + self.w[i] - self.u[i] * self.w[i]
            for head in range(R):
                self.u[i] *= 1 - logistic(free[head]) * self.r[head, i]
        a, used = np.zeros(N), 1.0
        for slot in np.argsort(self.u, kind="stable"):
            a[slot] = (1 - self.u[slot]) * used
            used *= self.u[slot]
        chosen = self.content(key, 1 + math.log1p(math.exp(strength[0])))
        self.w = logistic(gate) * (logistic(alloc) * a + (1 - logistic(alloc)) * chosen)
        for i in range(N):
            self.m[i] = self.m[i] * (1 - self.w[i] * logistic(erase)) + self.w[i] * vector
        before = self.links.copy()
        for i in range(N):
            for j in range(N):
                link = (1 - self.w[i] - self.w[j]) * before[i, j] + self.w[i] * self.p[j]
                self.links[i, j] = 0.0 if i == j else link
        self.p = (1 - self.w.sum()) * self.p + self.w
        for head in range(R):
            pi = np.exp(modes[3 * head : 3 * head + 3])
            pi /= pi.sum()
            backward, forward = self.links.T @ self.r[head], self.links @ self.r[head]
            chosen = self.content(keys[head * W : head * W + W], beta[head])
            self.r[head] = pi[0] * backward + pi[1] * chosen + pi[2] * forward
            self.reads[head] = self.m.T @ self.r[head]


def test_steps_are_those_of_the_paper() -> None:
    random = torch.Generator().manual_seed(0)
    made = ExternalMemory(4, N, W, R, random).double()
    reference, slots, heads = Reference(), made.initial_slots(1), made.initial_heads(1)
    slots, heads = Slots(*(one.double() for one in slots)), Heads(*(one.double() for one in heads))
    for _ in range(6):
        output = 2 * torch.randn(1, 4, generator=random, dtype=torch.float64)
        with torch.no_grad():
            reference.step(made.interface(output)[0].numpy())
            slots, heads = made(output, slots, heads)
        expected = (reference.m, reference.u, reference.w, reference.p, reference.links)
        for mine, theirs in zip((*slots, *heads), (*expected, reference.r, reference.reads.ravel()), strict=True):
            np.testing.assert_allclose(mine[0].numpy(), theirs, rtol=1e-9, atol=1e-9)


def test_weights_stay_within_their_bounds_and_gradients_are_finite() -> None:
    random = torch.Generator().manual_seed(1)
    made = ExternalMemory(4, N, W, R, random)
    slots, heads = made.initial_slots(7), made.initial_heads(7)
    for _ in range(30):
        slots, heads = made(5 * torch.randn(7, 4, generator=random), slots, heads)
        for one in (slots.usage, slots.write_weights, heads.weights, slots.links, slots.precedence):
            assert (one >= -1e-6).all()
        sums = [slots.write_weights.sum(-1), heads.weights.sum(-1), slots.links.sum(-1), slots.links.sum(-2)]
        assert all((one <= 1 + 1e-5).all() for one in [slots.usage, allocation(slots.usage).sum(-1), *sums])
    heads.reads.sum().backward()
    assert made.interface.weight.grad is not None
    assert torch.isfinite(made.interface.weight.grad).all()
    assert made.interface.weight.grad.abs().max() > 0


def test_both_cores_write_one_memory_the_slow_one_at_its_ticks() -> None:
    network = TwoTimescaleActorCritic(4, 2, (8,), 8, 4, 3, torch.Generator().manual_seed(0), memory_slots=N)
    state, slow, words = network.initial_state(2), [], []
    for _ in range(7):
        with torch.no_grad():
            _, state = network.step(torch.randn(2, 4), state)
        slow.append(state[-3])  # what the slow core has read
        words.append(state[8])
    assert [not torch.equal(a, b) for a, b in pairwise(slow)] == [False, False, True] * 2
    assert not any(torch.equal(a, b) for a, b in pairwise(words))
    assert not any(part.any() for part in network.initial_state(2))
