"""What the algorithms share: counters, discounts, demonstrations, values at time limits, a teacher, running scales."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from qwop.datasets.reader import open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.agent import FractionalCounter, RunningScale
from qwop.finetune.agents.dqn.settings import DdqnSettings, DqnLoopSettings, DqnSettings
from qwop.finetune.agents.losses import final_values, kickstarting_loss
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.replay.demonstrations import recorded_transitions, transitions_for
from qwop.finetune.schedules.phase import FULL, Phase
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy
from qwop.policies.q_networks import DuelingQ
from qwop.policies.scaling import ObservationScaler

from ..runs import make_run

CPU = torch.device("cpu")


def test_values_stand_at_the_steps_that_time_limits_ended(make_sequences: Callable[..., Sequences]) -> None:
    batch = make_sequences(5, truncated_every=2)
    found = final_values(batch, lambda seen: seen[:, 0], CPU)
    expected = torch.zeros(5, 4)
    for sequence, step, seen in zip(*batch.finals, strict=True):
        expected[int(sequence), int(step)] = float(seen[0])
    assert torch.equal(found, expected)
    assert (found != 0).sum() == 3


def test_observations_of_any_shape_are_rows_for_the_values(make_sequences: Callable[..., Sequences]) -> None:
    batch = make_sequences(2, shape=(2, 3), truncated_every=1)
    shapes = []

    def value(seen: torch.Tensor) -> torch.Tensor:
        shapes.append(tuple(seen.shape))
        return seen.sum(-1)

    final_values(batch, value, CPU)
    assert shapes == [(2, 6)]


def test_without_limits_nothing_is_valued(make_sequences: Callable[..., Sequences]) -> None:
    def never(seen: torch.Tensor) -> torch.Tensor:
        raise AssertionError("no final observation to value")

    batch = make_sequences(3)
    assert torch.equal(final_values(replace(batch), never, CPU), torch.zeros(3, 4))


def test_a_quarter_gives_one_every_fourth_time() -> None:
    due = FractionalCounter()
    assert [due.take(0.25) for _ in range(8)] == [0, 0, 0, 1, 0, 0, 0, 1]


@given(st.lists(st.floats(0, 50), max_size=50))
def test_nothing_is_lost_or_given_twice(amounts: list[float]) -> None:
    due, given_out = FractionalCounter(), 0
    for number, amount in enumerate(amounts, 1):
        given_out += due.take(amount)
        assert sum(amounts[:number]) - 1 - 1e-9 < given_out <= sum(amounts[:number]) + 1e-9


def test_a_teacher_is_imitated_by_cross_entropy() -> None:
    teacher = torch.tensor([[[0.5, 0.5], [1.0, 0.0]]])
    logits = torch.tensor([[[0.25, 0.75], [0.8, 0.2]]]).log().requires_grad_()
    loss = kickstarting_loss(logits.log_softmax(-1), teacher)
    assert loss.item() == pytest.approx((0.5 * 1.3862944 + 0.5 * 0.2876821 + 0.2231436) / 2)
    (gradient,) = torch.autograd.grad(loss, logits)  # (π − π_T) / nk
    assert gradient.flatten().tolist() == pytest.approx([-0.125, 0.125, -0.1, 0.1])


def test_the_discount_keeps_its_horizon_in_seconds() -> None:
    settings = AcerSettings(gamma=0.99, gamma_rate=9.0)
    assert settings.gamma_at(9.0) == 0.99
    assert settings.gamma_at(25.0) == pytest.approx(0.9964, abs=5e-5)
    assert settings.gamma_at(18.0) ** 18 == pytest.approx(0.99**9)


@pytest.mark.parametrize("settings", [AcerSettings(), PpoSettings(), DdqnSettings()])
def test_the_discount_stays_where_no_rate_is_known(settings: AcerSettings | PpoSettings | DdqnSettings) -> None:
    assert settings.gamma_at(2 * settings.gamma_rate) == pytest.approx(settings.gamma**0.5)
    assert settings.gamma_at(None) == settings.gamma


QWOP = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"})


def test_their_discount_is_that_of_the_first_phase_that_uses_them(
    tmp_path: Path, make_episode: Callable[..., Episode]
) -> None:
    info = DatasetInfo(QWOP, ObservationSpec((71,)), 11)
    DatasetWriter(tmp_path / "demos", info).write(make_episode(6, actions=11, shape=(71,)))
    phases = (
        Phase("fast", 1.0, environment={"frames_per_step": 1}),
        Phase("shown", 1.0, environment={"frames_per_step": 3}, demonstrations=FULL),
    )
    policy = Policy(DuelingQ(71, 11, (4,)), QWOP, info.observation)
    settings = DqnSettings(gamma=0.9, gamma_rate=20.0)
    found = transitions_for(make_run(phases, settings, DqnLoopSettings(), policy, open_dataset(tmp_path / "demos")))
    assert found is not None
    assert found.next(1).discounts[0] == pytest.approx(0.81)  # at 10 decisions a second, not 30


def test_their_rewards_are_clipped_where_those_of_live_play_are(make_episode: Callable[..., Episode]) -> None:
    episode = make_episode(5, first=-2.0)
    for clip, expected in ((True, [-1, -1, 0, 1, 1]), (False, [-2, -1, 0, 1, 2])):
        found = recorded_transitions([episode], DqnSettings(clip_rewards=clip), 0.9)
        np.testing.assert_array_equal(found.rewards, expected)


def mean_of(network: Actor) -> np.ndarray:
    assert isinstance(network.scaler, ObservationScaler)
    return network.scaler.mean.numpy().copy()


def test_live_play_counts_before_the_first_update_and_after_later_ones(
    make_sequences: Callable[..., Sequences],
) -> None:
    network = Actor(2, 3, (8,), torch.Generator().manual_seed(0))
    scale = RunningScale(network)
    one, two = make_sequences(2), make_sequences(2, first=10)
    rows = [played.observations[:, :-1].reshape(-1, 2) for played in (one, two)]
    with scale.learning_from(one):
        np.testing.assert_allclose(mean_of(network), rows[0].mean(0), rtol=1e-5)
    np.testing.assert_allclose(mean_of(network), rows[0].mean(0), rtol=1e-5)
    with scale.learning_from(two):
        np.testing.assert_allclose(mean_of(network), rows[0].mean(0), rtol=1e-5)
    np.testing.assert_allclose(mean_of(network), np.concatenate(rows).mean(0), rtol=1e-5)


def test_statistics_that_a_network_came_with_stay(make_sequences: Callable[..., Sequences]) -> None:
    network = Actor(2, 3, (8,), torch.Generator().manual_seed(0))
    assert isinstance(network.scaler, ObservationScaler)
    network.scaler.fit(np.array([[1.0, 2.0], [3.0, 6.0]], dtype=np.float32))
    scale = RunningScale(network)
    for first in (0, 10):
        with scale.learning_from(make_sequences(2, first=first)):
            pass
    assert mean_of(network).tolist() == [2.0, 4.0]
