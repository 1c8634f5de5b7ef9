"""Records of matches, ratings, and the opponents that follow from them."""

import math

import numpy as np
import pytest
from qwop.population.ratings import ANCHOR, Record, compare_scores, opponent_probabilities, win_probability


@pytest.mark.parametrize("numbers", [(0, 1, 2, 3), (3, 2, 1, 0)], ids=["parent first", "parent last"])
def test_a_copy_is_rated_as_its_parent(numbers: tuple[int, ...]) -> None:
    parent, child, other, rival = numbers
    record = Record(4)
    record.add(parent, rival, 1.0, 20.0)
    record.add(child, rival, 0.25, 20.0)
    record.add(child, parent, 0.0, 20.0)
    record.add(other, rival, 0.5, 20.0)
    record.inherit(child, parent)
    ratings = record.ratings().ratings
    assert ratings[child] == pytest.approx(ratings[parent])
    assert ratings[parent] > ratings[other]
    assert record.matches[parent, child] == 0.0  # a copy has not yet raced against its parent


def test_scores_made_alone_are_compared_pair_by_pair() -> None:
    record = Record(3)
    compare_scores([np.array([3.0, 5.0]), np.array([4.0, 4.0, 4.0]), np.array([])], record)
    assert record.matches.tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
    assert record.points[0, 1] == 1.0  # of two: one above, one below
    compare_scores([np.array([4.0]), np.array([4.0]), np.array([9.0])], record)
    assert record.points[0, 1] == 1.5
    assert record.points[2].tolist() == [1.0, 1.0, 0.0]


def duels(*games: tuple[int, int, float], agents: int, count: float = 1.0) -> Record:
    """Matches (one, other, result), each as often as `count`."""
    record = Record(agents)
    for one, other, result in games:
        record.add(one, other, result, count)
    return record


def test_win_probabilities() -> None:
    assert win_probability(np.array([0.0, 100.0, 200.0, -100.0])) == pytest.approx(
        [0.5, 0.6400650, 0.7597469, 1 - 0.6400650]
    )
    assert win_probability(1e9) == 1.0


def test_seven_wins_of_ten_are_a_lead_of_147() -> None:
    record = duels((0, 1, 0.7), agents=2, count=1e7)  # so many that the prior says nothing
    for pinned in (0, 1):
        found = record.ratings(pinned)
        assert found.ratings[0] - found.ratings[1] == pytest.approx(147.1907, abs=1e-3)
        assert found.ratings[pinned] == ANCHOR
        assert found.errors[pinned] == 0.0
    # The error of a logit is 1/√(n·p·(1 − p)).
    assert found.errors[0] == pytest.approx(400 / math.log(10) / math.sqrt(1e7 * 0.7 * 0.3), rel=1e-4)


def test_a_prior_bounds_the_undefeated_and_a_draw_is_half_a_win() -> None:
    undefeated = duels((0, 1, 1.0), agents=3, count=20).ratings(pinned=1)
    assert 300 < undefeated.ratings[0] - ANCHOR < 1000
    assert (undefeated.ratings[2], undefeated.errors[2]) == pytest.approx((ANCHOR, 350.0))  # who met nobody
    assert duels((0, 1, 0.5), agents=2, count=10).ratings(pinned=1).ratings == pytest.approx([ANCHOR, ANCHOR])


def test_the_fit_is_where_the_likelihood_is_flat() -> None:
    random = np.random.default_rng(0)
    true = random.normal(1000, 150, 6)
    one, other = np.transpose([random.choice(6, 2, replace=False) for _ in range(400)])
    results = (random.random(400) < win_probability(true[one] - true[other])).astype(float)
    found = duels(*zip(one, other, results, strict=True), agents=6).ratings()

    def log_posterior(psi: np.ndarray) -> float:
        won = win_probability(psi[one] - psi[other])
        likelihood = (results * np.log(won) + (1 - results) * np.log(1 - won)).sum()
        return float(likelihood - ((psi - ANCHOR) ** 2).sum() / (2 * 350.0**2))

    for agent in range(6):
        for step in (-0.5, 0.5):
            other_ratings = found.ratings.copy()
            other_ratings[agent] += step
            assert log_posterior(other_ratings) < log_posterior(found.ratings)
    centred = found.ratings - found.ratings.mean()
    assert np.abs(centred - (true - true.mean())).max() < 4 * found.errors.max()


def test_errors_from_the_mean_leave_out_the_common_level() -> None:
    assert (duels((0, 1, 0.5), agents=2, count=1000.0).ratings().errors < 10.0).all()  # with the level: 350 / √2


def test_the_probabilities_of_opponents() -> None:
    found = opponent_probabilities(np.array([1000.0, 1100.0, 1200.0, 900.0]), 0)
    assert found == pytest.approx([0.0, 0.4127779, 0.1744442, 0.4127779], abs=1e-6)
