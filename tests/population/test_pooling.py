"""The common weights of agents that pool what they learn."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from qwop.population.pooling import Pool, mean_state


def learner(weight: float, mean: float = 0.0, steps: int = 0) -> dict[str, Any]:
    """A learner's state: one weight, a statistic of observations, the optimiser's memory and random numbers."""
    network = {"trunk.weight": torch.tensor([weight]), "scaler.mean": torch.tensor([mean])}
    return {
        "network": network,
        "values": {"head.weight": torch.tensor([-weight])},
        "optimiser": {"state": {0: {"exp_avg": torch.tensor([weight]), "step": torch.tensor(float(steps))}}, "lr": 0.1},
        "seen": {"count": steps, "mean": np.array([mean])},
        "average": {"weights": {"trunk.weight": torch.tensor([weight])}, "decisions": steps},
        "shuffle": {"state": weight},
    }


def weights(parts: dict[str, Any]) -> tuple[float, float]:
    return float(parts["network"]["trunk.weight"]), float(parts["values"]["head.weight"])


def test_all_but_random_numbers_is_common_from_the_beginning() -> None:
    first = learner(1.0)
    random = first.pop("shuffle")
    assert Pool(0.5).begin({**first, "shuffle": random}) == first


def test_their_common_weights_take_nesterovs_steps() -> None:
    pool = Pool(0.5)
    pool.begin(learner(1.0))
    # Δ = 0.5, v = 0.5, θ = 1 + 0.5 + 0.5 · 0.5 = 1.75
    assert weights(pool.share([learner(2.0), learner(1.0)])) == (1.75, -1.75)
    # Δ = 2.0 - 1.75 = 0.25, v = 0.25 + 0.25 = 0.5, θ = 1.75 + 0.25 + 0.5 · 0.5 = 2.25
    assert weights(pool.share([learner(1.5), learner(2.5)])) == (2.25, -2.25)


def test_without_momentum_they_are_the_mean() -> None:
    pool = Pool(0.0)
    pool.begin(learner(1.0))
    for _ in range(2):
        assert weights(pool.share([learner(2.0), learner(4.0), learner(9.0)])) == (5.0, -5.0)


def test_statistics_averages_and_the_optimisers_memory_are_means_without_momentum() -> None:
    pool = Pool(0.9)
    pool.begin(learner(0.0))
    pool.share([learner(5.0, mean=1.0, steps=4), learner(7.0, mean=3.0, steps=4)])
    common = pool.share([learner(8.0, mean=4.0, steps=8), learner(6.0, mean=8.0, steps=8)])
    assert float(common["network"]["scaler.mean"]) == common["seen"]["mean"][0] == 6.0
    assert float(common["average"]["weights"]["trunk.weight"]) == 7.0
    memory = common["optimiser"]["state"][0]
    assert (float(memory["exp_avg"]), float(memory["step"]), common["optimiser"]["lr"]) == (7.0, 8.0, 0.1)
    assert common["seen"]["count"] == common["average"]["decisions"] == 8
    assert "shuffle" not in common


def test_a_pool_continues_from_its_state() -> None:
    pool, other = Pool(0.7), Pool(0.7)
    pool.begin(learner(1.0))
    pool.share([learner(2.0), learner(3.0)])
    other.set_state(copy.deepcopy(pool.get_state()))
    state = pool.get_state()
    after = [learner(5.0), learner(4.0)]
    assert weights(pool.share(after)) == weights(other.share(after))
    assert float(state["velocity"]["network"]["trunk.weight"]) == 1.5  # a state that was taken stays as it was


@pytest.mark.parametrize("kind", [torch.tensor, np.array])
def test_means_are_of_fractions_only(kind: Any) -> None:
    found = mean_state([{"a": (kind([1.0, 3.0]), kind([1])), "n": 4}, {"a": (kind([2.0, 6.0]), kind([5])), "n": 6}])
    assert found["a"][0].tolist() == [1.5, 4.5]
    assert (found["a"][1].tolist(), found["n"]) == ([1], 4)
