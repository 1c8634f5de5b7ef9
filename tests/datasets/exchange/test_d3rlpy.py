from collections.abc import Callable

import numpy as np
import pytest
from qwop.datasets.exchange.d3rlpy import to_d3rlpy
from qwop.datasets.schema import DatasetInfo, Episode

pytest.importorskip("d3rlpy", reason="d3rlpy is not installed: pip install --no-deps d3rlpy==2.8.1 beside its extra")


@pytest.mark.parametrize(("terminated", "truncated"), [(True, False), (False, True), (False, False)])
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
