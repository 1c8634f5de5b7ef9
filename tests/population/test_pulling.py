"""Agents that pull each other towards their mean."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from qwop.population.pulling import pulled


def state(weight: float, scale: float = 1.0) -> dict[str, object]:
    network = {"layer.weight": torch.tensor([weight]), "scaler.mean": torch.tensor([scale]), "count": torch.tensor(7)}
    return {"network": network, "optimiser": weight}


def weights(states: list[dict[str, dict[str, torch.Tensor]]], name: str = "layer.weight") -> list[float]:
    return [float(one["network"][name]) for one in states]


def test_weights_go_a_share_of_the_way_to_the_mean_of_their_family() -> None:
    states = [state(0.0, 1.0), state(5.0, 2.0), state(4.0, 3.0), state(2.0, 4.0)]
    found = pulled(states, founders=[0, 1, 0, 0], share=0.25)
    assert weights(found) == [0.5, 5.0, 3.5, 2.0]  # towards 2, and alone
    assert weights(found, "scaler.mean") == [1.0, 2.0, 3.0, 4.0]  # each keeps its own statistics
    assert weights(found, "count") == [7] * 4
    assert [one["optimiser"] for one in found] == [0.0, 5.0, 4.0, 2.0]
    assert weights(states) == [0.0, 5.0, 4.0, 2.0]  # those given are as they were


def test_a_whole_pull_makes_a_family_equal_and_none_leaves_all_as_it_is() -> None:
    states = [state(0.0), state(3.0), state(6.0)]
    assert weights(pulled(states, [1, 1, 1], 1.0)) == [3.0, 3.0, 3.0]
    assert all(one is before for one, before in zip(pulled(states, [1, 1, 1], 0.0), states, strict=True))


@given(st.lists(st.tuples(st.floats(-8, 8, width=32), st.integers(0, 2)), min_size=1, max_size=8), st.floats(0, 1))
def test_a_pull_keeps_the_mean_of_each_family(agents: list[tuple[float, int]], share: float) -> None:
    before, founders = [one for one, _ in agents], np.array([founder for _, founder in agents])
    after = np.array(weights(pulled([state(one) for one in before], founders.tolist(), share)))
    for founder in set(founders.tolist()):
        family = founders == founder
        np.testing.assert_allclose(after[family].mean(), np.mean(np.array(before)[family]), atol=1e-5)
