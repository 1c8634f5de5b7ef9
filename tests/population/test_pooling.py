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


def weights(learners: list[dict[str, Any]]) -> list[tuple[float, float]]:
    return [(float(one["network"]["trunk.weight"]), float(one["values"]["head.weight"])) for one in learners]


def test_all_begin_as_the_first_but_for_their_random_numbers() -> None:
    begun = Pool(0.5).begin([learner(1.0), learner(3.0)])
    assert weights(begun) == [(1.0, -1.0)] * 2
    assert [one["shuffle"]["state"] for one in begun] == [1.0, 3.0]


def test_their_common_weights_take_nesterovs_steps() -> None:
    pool = Pool(0.5)
    pool.begin([learner(1.0), learner(1.0)])
    # Δ = 0.5, v = 0.5, θ = 1 + 0.5 + 0.5 · 0.5 = 1.75
    assert weights(pool.share([learner(2.0), learner(1.0)])) == [(1.75, -1.75)] * 2
    # Δ = 2.0 - 1.75 = 0.25, v = 0.25 + 0.25 = 0.5, θ = 1.75 + 0.25 + 0.5 · 0.5 = 2.25
    assert weights(pool.share([learner(1.5), learner(2.5)])) == [(2.25, -2.25)] * 2


def test_without_momentum_they_are_the_mean() -> None:
    pool = Pool(0.0)
    pool.begin([learner(1.0)] * 3)
    for _ in range(2):
        assert weights(pool.share([learner(2.0), learner(4.0), learner(9.0)])) == [(5.0, -5.0)] * 3


def test_statistics_averages_and_the_optimisers_memory_are_means_without_momentum() -> None:
    pool = Pool(0.9)
    pool.begin([learner(0.0), learner(0.0)])
    pool.share([learner(5.0, mean=1.0, steps=4), learner(7.0, mean=3.0, steps=4)])
    first, second = pool.share([learner(8.0, mean=4.0, steps=8), learner(6.0, mean=8.0, steps=8)])
    for one in (first, second):
        assert float(one["network"]["scaler.mean"]) == one["seen"]["mean"][0] == 6.0
        assert float(one["average"]["weights"]["trunk.weight"]) == 7.0
        memory = one["optimiser"]["state"][0]
        assert (float(memory["exp_avg"]), float(memory["step"]), one["optimiser"]["lr"]) == (7.0, 8.0, 0.1)
        assert one["seen"]["count"] == one["average"]["decisions"] == 8
    assert (first["shuffle"]["state"], second["shuffle"]["state"]) == (8.0, 6.0)


def test_a_pool_continues_from_its_state() -> None:
    pool, other = Pool(0.7), Pool(0.7)
    pool.begin([learner(1.0)] * 2)
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
