"""The two-timescale core: which part moves when, and what gradients pass."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.policy import Policy
from qwop.policies.recurrent import CoreOutput, TwoTimescaleActorCritic, TwoTimescaleState
from qwop.policies.rollout import play
from qwop.policies.state import reset_rows
from torch import Tensor


def make_network(period: int = 3, seed: int = 0) -> TwoTimescaleActorCritic:
    return TwoTimescaleActorCritic(4, 2, (16,), 16, 16, period, torch.Generator().manual_seed(seed))


def observations(n: int, steps: int, seed: int = 0) -> Tensor:
    return torch.randn(steps, n, 4, generator=torch.Generator().manual_seed(seed))


def think(
    network: TwoTimescaleActorCritic, seen: Tensor, slow_gradient: float = 1.0
) -> tuple[list[CoreOutput], list[TwoTimescaleState]]:
    """Thoughts about observations [steps, n, 4], and the states after them; action 1 and reward −1 after each."""
    state, thoughts, states = network.initial_state(seen.shape[1]), [], []
    for one in seen:
        output, state = network.core(network.perceive(one), state, slow_gradient)
        state = network.feed(state, torch.ones(len(one), dtype=torch.int64), -torch.ones(len(one)))
        thoughts.append(output)
        states.append(TwoTimescaleState(*state))
    return thoughts, states


@pytest.mark.parametrize(("period", "ticks"), [(3, [0, 3, 6, 9]), (1, [*range(11)]), (20, [0])])
def test_the_slow_core_changes_at_multiples_of_its_period_only(period: int, ticks: list[int]) -> None:
    thoughts, states = think(make_network(period), observations(2, 11))
    assert [t for t, output in enumerate(thoughts) if output.ticked.all()] == ticks
    slow = [torch.cat([state.slow, state.slow_cell], dim=1) for state in states]
    assert [t for t in range(1, 11) if not torch.equal(slow[t], slow[t - 1])] == ticks[1:]
    for t, (before, after) in enumerate(pairwise(thoughts), 1):
        same = torch.equal(before.prior.mean, after.prior.mean) and torch.equal(before.prior.std, after.prior.std)
        assert same == (t not in ticks)
    fast = [state.fast for state in states]
    assert not any(torch.equal(one, other) for one, other in pairwise(fast))


def test_the_slow_core_ticks_at_each_episodes_first_decision_whatever_the_other_rows_do() -> None:
    network, seen = make_network(3), observations(2, 7)
    state, initial, ticked = network.initial_state(2), network.initial_state(2), []
    for t, one in enumerate(seen):
        output, state = network.think(one, state)
        ticked.append(output.ticked.tolist())
        if t == 1:
            state = reset_rows(state, initial, np.array([False, True]))
            fresh, after = (network.think(seen[0], one)[0].latent[1] for one in (initial, state))
            assert torch.equal(fresh, after)  # a new episode knows nothing of the one before
    assert [row for row, _ in ticked] == [True, False, False, True, False, False, True]
    assert [row for _, row in ticked] == [True, False, True, False, False, True, False]


def test_the_latent_is_drawn_from_the_posterior_and_not_from_the_prior() -> None:
    network = make_network()
    with torch.no_grad():
        network.posterior.mean.bias.fill_(3.0)
        network.prior.mean.bias.fill_(-3.0)
    output, _ = network.think(observations(500, 1)[0], network.initial_state(500))
    noise = (output.latent - output.posterior.mean) / output.posterior.std
    assert abs(noise.mean().item()) < 0.05
    assert noise.std().item() == pytest.approx(1.0, abs=0.03)
    assert output.latent.min() > 2.0
    logits, _ = network.step(observations(500, 1)[0], network.initial_state(500))
    assert torch.equal(logits, network.policy_head(output.latent))


def test_untrained_distributions_have_a_standard_deviation_of_a_tenth() -> None:
    (output,), _ = think(make_network(), observations(50, 1))
    for gaussian in (output.posterior, output.prior):
        assert gaussian.std.mean().item() == pytest.approx(0.1, rel=0.02)
    network = make_network()
    with torch.no_grad():
        network.prior.spread.bias.fill_(1.0)  # softplus(1)/softplus(0)/10
        network.prior.spread.weight.zero_()
    assert network.prior(torch.zeros(1, 16)).std[0, 0].item() == pytest.approx(0.1 * 1.3132617 / 0.6931472, rel=1e-5)


def slow_gradients(factor: float) -> tuple[Tensor, Tensor]:
    """Gradients of a decision's logits: of the slow core with its prior, and of the fast core."""
    network = make_network()
    thoughts, _ = think(network, observations(3, 2), factor)
    network.policy_head(thoughts[1].latent).square().sum().backward()
    slow, fast = (
        torch.cat([weight.grad.flatten() for part in parts for weight in part.parameters() if weight.grad is not None])
        for parts in ((network.slow_core, network.prior), (network.fast_core, network.posterior))
    )
    return slow, fast


def test_gradients_into_the_slow_core_scale_with_their_factor() -> None:
    (whole, fast), (part, same), (none, again) = (slow_gradients(factor) for factor in (1.0, 0.3, 0.0))
    assert whole.abs().max() > 0
    torch.testing.assert_close(part, 0.3 * whole)
    assert not none.any()
    torch.testing.assert_close(same, fast)
    torch.testing.assert_close(again, fast)


def test_the_last_action_and_reward_are_observed_once() -> None:
    network, seen = make_network(), observations(1, 3)
    _, first = network.think(seen[0], network.initial_state(1))
    one, other = (network.feed(first, torch.tensor([action]), torch.tensor([0.5])) for action in (0, 1))
    more = network.feed(first, torch.tensor([0]), torch.tensor([-1.5]))
    assert TwoTimescaleState(*more).fed[0].tolist() == pytest.approx([1.0, 0.0, -np.log(2.5)])
    latents = [network.think(seen[1], state)[0].latent for state in (first, one, other, more)]
    assert not any(torch.equal(latents[i], latents[j]) for i in range(4) for j in range(i))
    forgotten = network.think(seen[1], one)[1]
    assert not TwoTimescaleState(*forgotten).fed.any()


def test_a_period_can_change_between_decisions() -> None:
    network = make_network(3)
    network.set_period(2)
    thoughts, _ = think(network, observations(1, 5))
    assert [output.ticked.item() for output in thoughts] == [True, False, True, False, True]
    assert network.description()["period"] == 2


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
