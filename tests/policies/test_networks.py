"""The networks and their observation scaling."""

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs.spec import ObservationSpec
from qwop.policies.encoders import ROWS_AT_ONCE, Convolutions, ObservationScaler, PixelScaler, RunningStatistics
from qwop.policies.networks import (
    SCALED_LIMIT,
    Actor,
    ActorCritic,
    Network,
    TanhActorCritic,
    ValuedActor,
    Values,
    with_q_head,
)
from qwop.policies.q_networks import EnsembleQ, QNetwork
from qwop.policies.recurrent import RecurrentActorCritic

ATARI = ObservationSpec((4, 84, 84), "uint8")
DUELING = 3136 * 512 + 512 + 512 + 1  # a second layer of 512, and V; the convolutions are shared


@pytest.mark.parametrize(
    ("network", "count"),
    [
        (ActorCritic(71, 11), 54_166),
        (QNetwork(71, 11, dueling=True, layer_norm=True), 105_740),
        (QNetwork(ATARI, 4, (512,)), 1_686_180),
        (QNetwork(ATARI, 4, (512,), dueling=True), 1_686_180 + DUELING),
        (QNetwork(ATARI, 4, (256,), convolutions="nips"), 677_172),
    ],
    ids=["published actor-critic", "published dueling Q", "Atari", "dueling Atari", "Atari of 2013"],
)
def test_networks_have_the_published_numbers_of_parameters(network: torch.nn.Module, count: int) -> None:
    assert sum(parameter.numel() for parameter in network.parameters()) == count


def test_trunk_is_orthogonal_with_gain_root_two_heads_with_a_hundredth_and_biases_are_zero() -> None:
    network = ActorCritic(71, 11)
    first, second = network.trunk[0].weight, network.trunk[2].weight
    torch.testing.assert_close(first.T @ first, 2 * torch.eye(71), rtol=0, atol=1e-4)
    torch.testing.assert_close(second @ second.T, 2 * torch.eye(128), rtol=0, atol=1e-4)
    for head in (network.policy_head, network.q_head):
        torch.testing.assert_close(head.weight @ head.weight.T, 1e-4 * torch.eye(11), rtol=0, atol=1e-8)
    assert all(not layer.bias.any() for layer in (network.trunk[0], network.trunk[2], network.policy_head))


@pytest.mark.parametrize(
    ("architecture", "observation"),
    [
        *((one, ObservationSpec((4,))) for one in (ActorCritic, Actor, ValuedActor, QNetwork, EnsembleQ)),
        *((one, ObservationSpec((36, 36), "uint8")) for one in (ActorCritic, Actor, ValuedActor, QNetwork)),
    ],
)
def test_generator_decides_the_weights(architecture: type[Network], observation: ObservationSpec) -> None:
    def weights(seed: int) -> list[torch.Tensor]:
        network = architecture(observation, 3, (8,), generator=torch.Generator().manual_seed(seed))
        return [one for one in network.parameters() if one.ndim > 1 and one.std() > 0]  # biases are all alike

    first, again, other = weights(1), weights(1), weights(2)
    assert len(first) >= 2
    assert all(map(torch.equal, first, again))
    assert not any(map(torch.equal, first, other))


@pytest.mark.parametrize("constant", [0.0, 7.25, -1e6])
def test_constant_column_is_centred_not_divided_by_zero(constant: float) -> None:
    rows = np.full((10, 1), constant, dtype=np.float32)
    scaler = ObservationScaler(1).fit(rows)
    assert scaler(torch.from_numpy(rows)).abs().max() == 0
    assert scaler(torch.tensor([[constant + 1]])).abs().max() == 1
    rows = np.float32([[1e6], [1e6 + 0.0625]] * 5)  # neighbours in float32, whose rounding is not stretched
    assert ObservationScaler(1).fit(rows).std == 1


def test_statistics_are_of_all_rows_of_a_large_dataset() -> None:
    rows = np.random.default_rng(0).normal([5.0, -300.0], [0.1, 20.0], size=(ROWS_AT_ONCE + 10, 2)).astype(np.float32)
    rows[ROWS_AT_ONCE - 1 :] += 1e6
    scaler = ObservationScaler(2).fit(rows)
    np.testing.assert_allclose(scaler.mean, rows.mean(0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(scaler.std, rows.std(0, dtype=np.float64), rtol=1e-6)


def test_an_actor_starts_near_uniform_and_does_not_see_beyond_eight_deviations() -> None:
    network = Actor(94, 11, generator=torch.Generator().manual_seed(0))
    rows = torch.randn(20, 94, generator=torch.Generator().manual_seed(1))
    probabilities = torch.softmax(network.logits(rows), -1)
    assert (probabilities - 1 / 11).abs().max() < 0.02
    for one in (network.logits, Values(94, (16,))):
        assert torch.equal(one(torch.full((1, 94), 1e9)), one(torch.full((1, 94), SCALED_LIMIT)))


@pytest.mark.parametrize(("kind", "becomes"), [(Actor, TanhActorCritic), (ValuedActor, ActorCritic)])
def test_an_actor_keeps_its_probabilities_with_a_q_head(kind: type[Actor], becomes: type[ActorCritic]) -> None:
    actor = kind(5, 3, (8, 6), torch.Generator().manual_seed(0))
    rows = torch.randn(50, 5, generator=torch.Generator().manual_seed(1)) * 3
    assert isinstance(actor.scaler, ObservationScaler)
    actor.scaler.fit(rows.numpy())
    made = with_q_head(actor, torch.Generator().manual_seed(2))
    assert type(made) is becomes
    assert torch.equal(made.logits(rows), actor.logits(rows))
    assert made(rows)[1].shape == (50, 3)
    assert all(one is not other for one, other in zip(made.parameters(), actor.parameters(), strict=False))
    beyond = torch.full((1, 5), 1e3)
    assert torch.equal(made.logits(beyond), actor.logits(beyond)) is (becomes is TanhActorCritic)


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


@pytest.mark.parametrize("architecture", [QNetwork, EnsembleQ])
def test_q_networks_act_epsilon_greedily_with_exact_probabilities(architecture: type[QNetwork | EnsembleQ]) -> None:
    network = architecture(4, 3, (8,), torch.Generator().manual_seed(0))
    rows = torch.randn(20, 4)
    best = network(rows).argmax(-1)  # the first of equal ones
    for epsilon in (0.0, 0.3):
        network.epsilon.fill_(epsilon)
        expected = (1 - epsilon) * torch.nn.functional.one_hot(best, 3) + epsilon / 3
        torch.testing.assert_close(torch.softmax(network.logits(rows), dim=-1), expected, rtol=0, atol=1e-7)


SHAPES = [((3, 5), "float32"), *(
    (shape, "uint8") for shape in [(84, 84), (4, 84, 84), (36, 36, 3), (2, 40, 50, 3), (36, 36, 9), (2, 3, 40, 50)]
)]  # fmt: skip


@pytest.mark.parametrize("architecture", [ActorCritic, Actor, ValuedActor, QNetwork])
@pytest.mark.parametrize(("shape", "dtype"), SHAPES)
def test_observations_of_any_shape_are_taken_also_as_rows(
    architecture: type[Network], shape: tuple[int, ...], dtype: str
) -> None:
    network = architecture(ObservationSpec(shape, dtype), 6, (8,), torch.Generator().manual_seed(0))
    seen = torch.randint(256, (5, *shape), dtype=getattr(torch, dtype))
    logits, state = network.step(seen, network.initial_state(5))
    assert logits.shape == (5, 6)
    assert state == ()
    torch.testing.assert_close(network.logits(seen.flatten(1).unflatten(0, (5, 1)))[:, 0], logits)


@pytest.mark.parametrize(
    ("shape", "lit", "channel"),
    [
        ((2, 36, 40, 3), (1, 5, 7, 2), 1 * 3 + 2),
        ((2, 3, 36, 40), (1, 2, 5, 7), 1 * 3 + 2),
        ((36, 40, 6), (5, 7, 4), 4),
        ((6, 36, 40), (4, 5, 7), 4),
    ],
)
def test_colours_and_frames_are_the_channels_of_their_pixel(
    shape: tuple[int, ...], lit: tuple[int, ...], channel: int
) -> None:
    """A convolution of size 1 would mix rows and columns if channels were taken from the wrong axis."""
    spec = ObservationSpec(shape, "uint8")
    picture = torch.zeros(shape)
    picture[lit] = 1.0
    as_channels = Convolutions(spec)[0](picture.flatten()[None])
    assert as_channels.shape == (1, 6, 36, 40)
    assert as_channels[0, channel, 5, 7] == 1.0
    assert as_channels.sum() == 1.0


EVERY = [ActorCritic, Actor, ValuedActor, QNetwork, RecurrentActorCritic]


@pytest.mark.parametrize("architecture", EVERY)
@pytest.mark.parametrize("shape", [(2, 36, 36), (128,)], ids=["pictures", "a console's memory"])
def test_bytes_count_as_the_numbers_of_their_scaler(architecture: type[Network], shape: tuple[int, ...]) -> None:
    spec = ObservationSpec(shape, "uint8")
    network = architecture(spec, 6, (8,), generator=torch.Generator().manual_seed(0))
    seen = torch.randint(256, (5, spec.size), dtype=torch.uint8)
    from_bytes, _ = network.step(seen, network.initial_state(5))
    from_numbers, _ = network.step(seen.float(), network.initial_state(5))
    assert spec.is_image or network.layer_input(seen).max() <= 1.0
    assert isinstance(network, QNetwork) or not torch.allclose(from_bytes, from_bytes[:1])
    torch.testing.assert_close(from_bytes, from_numbers)
    assert PixelScaler()(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx([0.0, 0.2, 1.0])


@pytest.mark.parametrize(
    ("architecture", "shape", "said"),
    [
        (ActorCritic, (20, 84), r"pictures of 20 × 84 pixels, .* at least 36 × 36; enlarge them"),
        (EnsembleQ, (84, 84, 4), r"uint8 \[84, 84, 4\]: an ensemble takes numbers"),
    ],
)
def test_pictures_that_a_network_cannot_see_are_refused(
    architecture: type[Network], shape: tuple[int, ...], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        architecture(ObservationSpec(shape, "uint8"), 6, (8,))


def test_running_statistics_are_those_of_all_rows_so_far() -> None:
    rows = np.random.default_rng(0).normal([5.0, -300.0], [2.0, 0.1], (70, 2))
    statistics, running = RunningStatistics(2), ObservationScaler(2)
    for part in np.split(rows, [1, 40]):
        statistics.add(part)
    statistics.put_into(running)
    np.testing.assert_allclose(running.mean, rows.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(running.std, rows.std(axis=0), rtol=1e-6)
