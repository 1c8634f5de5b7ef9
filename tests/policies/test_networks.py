"""The actor-critic network and its observation scaling."""

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs.spec import ObservationSpec
from qwop.policies.networks import SCALED_LIMIT, Actor, ActorCritic, DuelingQ, EnsembleQ, VectorNetwork, dueling
from qwop.policies.scaling import ObservationScaler, RunningStatistics


def test_published_size_has_54166_parameters() -> None:
    assert sum(parameter.numel() for parameter in ActorCritic(71, 11).parameters()) == 54_166


def test_forward_gives_logits_and_q_of_every_action_for_any_leading_axes() -> None:
    network = ActorCritic(71, 11)
    logits, q = network(torch.zeros(5, 3, 71))
    assert logits.shape == q.shape == (5, 3, 11)


def test_trunk_is_orthogonal_with_gain_root_two_heads_with_a_hundredth_and_biases_are_zero() -> None:
    network = ActorCritic(71, 11)
    first, second = network.trunk[0].weight, network.trunk[2].weight
    torch.testing.assert_close(first.T @ first, 2 * torch.eye(71), rtol=0, atol=1e-4)
    torch.testing.assert_close(second @ second.T, 2 * torch.eye(128), rtol=0, atol=1e-4)
    for head in (network.policy_head, network.q_head):
        torch.testing.assert_close(head.weight @ head.weight.T, 1e-4 * torch.eye(11), rtol=0, atol=1e-8)
    assert all(not layer.bias.any() for layer in (network.trunk[0], network.trunk[2], network.policy_head))


def test_generator_decides_the_weights() -> None:
    def weights(seed: int) -> torch.Tensor:
        return ActorCritic(4, 2, generator=torch.Generator().manual_seed(seed)).trunk[0].weight

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_scaler_changes_nothing_until_it_is_fitted() -> None:
    rows = torch.randn(8, 3)
    assert torch.equal(ObservationScaler(3)(rows), rows)


def test_fitted_scaler_gives_mean_zero_and_deviation_one() -> None:
    rows = np.random.default_rng(0).normal([5.0, -300.0], [0.1, 20.0], size=(4000, 2)).astype(np.float32)
    scaled = ObservationScaler(2).fit(rows)(torch.from_numpy(rows))
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(scaled.std(0), 1, atol=1e-3)


@pytest.mark.parametrize("constant", [0.0, 7.25, -1e6])
def test_constant_column_is_centred_not_divided_by_zero(constant: float) -> None:
    rows = np.full((10, 1), constant, dtype=np.float32)
    scaler = ObservationScaler(1).fit(rows)
    assert scaler(torch.from_numpy(rows)).abs().max() == 0
    assert scaler(torch.tensor([[constant + 1]])).abs().max() == 1


def test_running_statistics_are_those_of_everything_so_far() -> None:
    rows = np.random.default_rng(0).normal([5.0, -300.0, 1e5], [0.1, 20.0, 0.5], size=(900, 3))
    running, scaler = RunningStatistics(3), ObservationScaler(3)
    assert not scaler.fitted
    for part in np.split(rows, [1, 300, 310]):
        running.add(part)
    running.put_into(scaler)
    whole = ObservationScaler(3).fit(rows)
    assert scaler.fitted
    torch.testing.assert_close(scaler.mean, whole.mean)
    torch.testing.assert_close(scaler.std, whole.std)
    again = RunningStatistics(3)
    again.set_state(running.get_state())
    for one in (running, again):
        one.add(rows[:7])
    assert all(np.array_equal(running.get_state()[name], again.get_state()[name]) for name in running.get_state())


def test_an_actor_starts_near_uniform_and_does_not_see_beyond_eight_deviations() -> None:
    network = Actor(94, 11, generator=torch.Generator().manual_seed(0))
    rows = torch.randn(20, 94, generator=torch.Generator().manual_seed(1))
    probabilities = torch.softmax(network.logits(rows), -1)
    assert (probabilities - 1 / 11).abs().max() < 0.02
    assert torch.equal(network.logits(torch.full((1, 94), 1e9)), network.logits(torch.full((1, 94), SCALED_LIMIT)))


def test_scaling_is_saved_with_the_weights_but_not_learned() -> None:
    network = ActorCritic(4, 2)
    assert {"scaler.mean", "scaler.std"} <= network.state_dict().keys()
    assert not any(name.startswith("scaler") for name, _ in network.named_parameters())


def test_dueling_takes_the_mean_off_the_advantages() -> None:
    values, advantages = torch.tensor([[2.0]]), torch.tensor([[1.0], [2.0], [6.0]])
    assert dueling(values, advantages).flatten().tolist() == [0.0, 1.0, 5.0]
    assert torch.equal(dueling(values, advantages + 7), dueling(values, advantages))


def test_dueling_q_of_the_published_size_has_105740_parameters() -> None:
    assert sum(parameter.numel() for parameter in DuelingQ(71, 11).parameters()) == 105_740


def test_dueling_q_gives_quantiles_whose_mean_is_q() -> None:
    network = DuelingQ(4, 3, (8, 8), torch.Generator().manual_seed(0), quantiles=5)
    rows = torch.randn(6, 2, 4)
    assert network.quantile_values(rows).shape == (6, 2, 3, 5)
    torch.testing.assert_close(network(rows), network.quantile_values(rows).mean(-1))


def test_the_members_of_an_ensemble_have_layers_of_their_own_and_q_is_their_mean() -> None:
    network = EnsembleQ(4, 3, (8, 6), torch.Generator().manual_seed(0), members=5)
    rows = torch.randn(6, 2, 4)
    values = network.member_values(rows)
    assert values.shape == (5, 6, 2, 3)
    torch.testing.assert_close(network(rows), values.mean(0))
    assert all(not torch.allclose(values[0], values[i]) for i in range(1, 5))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter[1:] = 0.0
    torch.testing.assert_close(network.member_values(rows)[0], values[0])  # nothing of it is another's
    assert not network.member_values(rows)[1:].any()


@pytest.mark.parametrize("architecture", [DuelingQ, EnsembleQ])
def test_q_networks_act_epsilon_greedily_with_exact_probabilities(architecture: type[DuelingQ | EnsembleQ]) -> None:
    network = architecture(4, 3, (8,), torch.Generator().manual_seed(0))
    rows = torch.randn(20, 4)
    best = network(rows).argmax(-1)
    for epsilon in (0.0, 0.3):
        network.epsilon.fill_(epsilon)
        expected = (1 - epsilon) * torch.nn.functional.one_hot(best, 3) + epsilon / 3
        torch.testing.assert_close(torch.softmax(network.logits(rows), dim=-1), expected, rtol=0, atol=1e-7)


def test_the_first_of_equal_q_values_is_the_greedy_action() -> None:
    network = DuelingQ(4, 3, (8,))
    torch.nn.init.zeros_(network.advantage[-1].weight)
    assert network.logits(torch.randn(5, 4)).argmax(-1).tolist() == [0] * 5


@pytest.mark.parametrize("architecture", [ActorCritic, Actor, DuelingQ, EnsembleQ])
def test_images_are_refused_and_not_flattened(architecture: type[VectorNetwork]) -> None:
    with pytest.raises(BadInput, match=r"uint8 \[84, 84, 4\]: .* images need a network for images"):
        architecture(ObservationSpec((84, 84, 4), "uint8"), 6, (8,))


def test_numbers_of_any_shape_are_taken_as_rows() -> None:
    network = ActorCritic(ObservationSpec((3, 5)), 2, (8,))
    rows = torch.randn(7, 15)
    logits, state = network.step(rows.reshape(7, 3, 5), network.initial_state(7))
    assert torch.equal(logits, network.logits(rows))
    assert state == ()
