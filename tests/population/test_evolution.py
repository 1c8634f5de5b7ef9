"""Exploit and explore."""

from dataclasses import replace

import numpy as np
import pytest
from qwop.envs.race.events import EVENTS
from qwop.population.evolution import BURN_IN, GENES, REWARD, Member, Range, exploit, explore, should_copy


def make(id: int, rating: float = 1000.0, seed: int = 0, games: int = BURN_IN) -> Member:
    random = np.random.default_rng(seed)
    return Member(
        id,
        rating,
        {name: gene.draw(random) for name, gene in GENES.items()},
        {event: REWARD.draw(random) for event in EVENTS},
        games=games,
    )


@pytest.mark.parametrize(("gap", "copies"), [(147.0, False), (147.3, True), (-400.0, False), (0.0, False)])
def test_an_agent_copies_one_that_beats_it_in_more_than_seven_of_ten(gap: float, copies: bool) -> None:
    assert should_copy(make(0), make(1, 1000.0 + gap)) is copies


def test_by_the_literal_rule_equals_copy_each_other() -> None:
    assert should_copy(make(0), make(1), literal=True)
    assert not should_copy(make(0, 1147.3), make(1), literal=True)


def test_nobody_copies_itself_or_soon_after_a_copy() -> None:
    assert not should_copy(make(0, games=BURN_IN - 1), make(1, 1500.0))
    assert not should_copy(make(0), make(0, 1500.0))
    copied = exploit(make(0), make(1, 1500.0))
    assert not should_copy(copied, make(2, 2500.0))
    assert should_copy(replace(copied, games=BURN_IN), make(2, 2500.0))


def test_a_copy_has_all_that_its_parent_has_and_keeps_its_place() -> None:
    child, parent = make(3, seed=1), replace(make(7, 1300.0, seed=2), generation=4)
    copied = exploit(child, parent)
    assert (copied.genes, copied.rewards, copied.rating) == (parent.genes, parent.rewards, 1300.0)
    assert (copied.id, copied.parent, copied.generation, copied.games) == (3, 7, 5, 0)
    explore(copied, np.random.default_rng(0))
    assert parent == replace(make(7, 1300.0, seed=2), generation=4)


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


def test_the_period_is_drawn_anew() -> None:
    random = np.random.default_rng(0)
    before = Member(0, 1000.0, {"period": 11.0}, {})
    found = [explore(before, random).genes["period"] for _ in range(6000)]
    assert {*found} == {float(period) for period in range(5, 21)}
    assert 0.03 < np.mean(np.array(found) != 11.0) < 0.065


def test_first_values_are_within_their_ranges() -> None:
    random = np.random.default_rng(0)
    drawn = {name: np.array([gene.draw(random) for _ in range(2000)]) for name, gene in GENES.items()}
    for name, gene in GENES.items():
        assert gene.low <= drawn[name].min() <= drawn[name].max() <= gene.high
    # Half of a logarithmic range lies below its geometric mean.
    assert abs((drawn["learning_rate"] < (1e-5 * 5e-3) ** 0.5).mean() - 0.5) < 0.04
    assert {*drawn["period"]} == {*range(5, 21)}
