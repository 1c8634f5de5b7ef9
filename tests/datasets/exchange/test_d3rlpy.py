from collections.abc import Callable

import numpy as np
import pytest
from qwop.datasets.exchange.d3rlpy import channel_first, to_d3rlpy
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.spec import EnvironmentSpec, ObservationSpec


@pytest.mark.needs(module="d3rlpy")
@pytest.mark.parametrize(("terminated", "truncated"), [(True, False), (False, True)])
def test_every_transition_arrives_with_its_next_observation(
    info: DatasetInfo, make_episode: Callable[..., Episode], terminated: bool, truncated: bool
) -> None:
    episodes = [make_episode(steps=4, seed=seed, terminated=terminated, truncated=truncated) for seed in (1, 2)]
    converted = to_d3rlpy(episodes, info)
    assert converted.dataset_info.action_size == 11
    assert converted.transition_count == 8
    for ours, theirs in zip(episodes, converted.episodes, strict=True):
        assert theirs.transition_count == 4
        for step in range(4):
            transition = converted.transition_picker(theirs, step)
            assert np.array_equal(transition.observation, ours.observations[step])
            assert transition.action == ours.actions[step]
            assert transition.reward == ours.rewards[step]
            assert transition.terminal == (terminated and step == 3)
            if not transition.terminal:
                assert np.array_equal(transition.next_observation, ours.observations[step + 1])


@pytest.mark.parametrize(
    ("shape", "converted_shape", "pixel"),
    [((12, 10), (1, 12, 10), (7, 5)), ((12, 10, 3), (3, 12, 10), (7, 5, 2)), ((4, 12, 10), (4, 12, 10), (3, 7, 5))],
)
def test_images_become_channel_first(
    shape: tuple[int, ...], converted_shape: tuple[int, ...], pixel: tuple[int, ...]
) -> None:
    images = np.random.default_rng(0).integers(256, size=(5, *shape), dtype=np.uint8)
    converted = channel_first(images)
    assert converted.shape == (5, *converted_shape)
    assert np.array_equal(converted[:, -1, 7, 5], images[:, *pixel])


def test_numbers_keep_their_shape() -> None:
    observations = np.zeros((5, 12, 10, 3), dtype=np.float32)
    assert channel_first(observations).shape == observations.shape


@pytest.mark.needs(module="d3rlpy")
def test_images_arrive_with_their_type(make_episode: Callable[..., Episode]) -> None:
    info = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec((12, 10), "uint8"), 2)
    images = np.random.default_rng(0).integers(256, size=(5, 12, 10), dtype=np.uint8)
    converted = to_d3rlpy([make_episode(steps=4, observations=images, count=2, keys=None)], info)
    transition = converted.transition_picker(converted.episodes[0], 1)
    assert transition.observation.dtype == np.uint8
    assert np.array_equal(transition.observation, images[1][None])
