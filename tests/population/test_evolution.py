"""Exploit and explore."""

import numpy as np
import pytest
from qwop.envs.race.events import EVENTS
from qwop.population.agents import FtwAgents
from qwop.population.evolution import REWARD, Member, Range, explore, should_copy

GENES = FtwAgents().genes
BURN_IN = 1000


def make(id: int, rating: float = 1000.0, seed: int = 0, decisions: int = BURN_IN) -> Member:
    random = np.random.default_rng(seed)
    genes = {name: gene.draw(random) for name, gene in GENES.items()}
    return Member(id, rating, genes, {event: REWARD.draw(random) for event in EVENTS}, decisions=decisions, founder=id)


@pytest.mark.parametrize(
    ("other", "gap", "decisions", "copies"),
    [
        (1, 147.0, BURN_IN, False),
        (1, 147.3, BURN_IN, True),
        (1, -400.0, BURN_IN, False),
        (1, 500.0, BURN_IN - 1, False),  # soon after its last copy
        (0, 500.0, BURN_IN, False),  # itself
    ],
)
def test_an_agent_copies_one_that_beats_it_in_more_than_seven_of_ten(
    other: int, gap: float, decisions: int, copies: bool
) -> None:
    assert should_copy(make(0, decisions=decisions), make(other, 1000.0 + gap), BURN_IN) is copies


def test_one_value_in_twenty_changes_by_a_fifth() -> None:
    random = np.random.default_rng(0)
    names = [f"gene {number}" for number in range(50_000)]
    before = Member(0, 1000.0, dict.fromkeys(names, 2.0), dict.fromkeys(names, -0.5))
    after = explore(before, random, dict.fromkeys(names, Range(1.0, 3.0)))
    ratios = np.array([*after.genes.values()] + [4 * -value for value in after.rewards.values()]) / 2.0
    changed = ratios[ratios != 1.0]
    assert 0.047 < len(changed) / 100_000 < 0.053
    assert sorted({*changed.round(12).tolist()}) == [0.8, 1.2]
    assert abs((changed > 1).mean() - 0.5) < 0.03
    assert all(value < 0 for value in after.rewards.values())


def test_a_reward_can_turn_its_sign_only_by_being_drawn_anew() -> None:
    random = np.random.default_rng(0)
    before = Member(0, 1000.0, {}, dict.fromkeys(map(str, range(20_000)), 0.5))
    after = np.array([*explore(before, random, {}, redraw=0.1).rewards.values()])
    assert 0.04 < (after < 0).mean() < 0.06
    assert explore(before, random, {}, redraw=0.1, rewards=False).rewards == before.rewards


def test_whole_numbers_are_drawn_anew_within_their_range_and_a_range_of_one_value_never_changes() -> None:
    random = np.random.default_rng(0)
    genes = {**dict.fromkeys(map(str, range(20_000)), Range(5, 20, whole=True)), "one": Range(0.0, 0.0, True)}
    after = explore(Member(0, 1000.0, {**dict.fromkeys(genes, 7.0), "one": 0.0}), random, genes, chance=0.5).genes
    assert {*after.values()} == {0.0, *map(float, range(5, 21))}
    assert after["one"] == 0.0


def test_first_values_are_uniform_or_so_in_the_logarithm() -> None:
    random = np.random.default_rng(0)
    for gene, mean in ((Range(3e-4, 5e-3, True), (np.log(3e-4) + np.log(5e-3)) / 2), (Range(-1.0, 1.0), 0.0)):
        drawn = np.array([gene.draw(random) for _ in range(4000)])
        assert gene.low <= drawn.min() < drawn.max() <= gene.high
        assert abs((np.log(drawn) if gene.logarithmic else drawn).mean() - mean) < 0.1
