"""Records of matches, ratings, and the opponents that follow from them."""

import math

import numpy as np
import pytest
from qwop.population.ratings import (
    ANCHOR,
    Record,
    compare_scores,
    fit_ratings,
    opponent_probabilities,
    win_probability,
)


def test_ratings_rise_for_winners_and_fall_for_losers() -> None:
    record = Record(3)
    record.add(1, 1, 1.0)  # a match with itself says nothing
    assert record.ratings().ratings == pytest.approx([1000.0, 1000.0, 1000.0])
    for _ in range(10):
        record.add(0, 1, 1.0)
        record.add(1, 2, 0.5)
    first, second, third = record.ratings().ratings
    assert first > 1100.0
    assert second < third < 1000.0  # the third has drawn with one who loses


def test_old_matches_fade_and_errors_grow() -> None:
    record = Record(2)
    record.add(0, 1, 1.0, 10.0)
    before = record.ratings()
    record.fade(0.5)
    after = record.ratings()
    assert record.matches[0, 1] == record.matches[1, 0] == record.points[0, 1] == 5.0
    assert after.ratings[0] < before.ratings[0]
    assert after.errors[0] > before.errors[0]


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


def duels(*games: tuple[int, int, float], agents: int) -> tuple[np.ndarray, np.ndarray]:
    """Matches (winner's place, other's place, result) as sides and results."""
    sides = np.zeros((len(games), agents))
    for number, (one, other, _) in enumerate(games):
        sides[number, [one, other]] = 1, -1
    return sides, np.array([result for *_, result in games])


SEVEN_OF_TEN = duels(*[(0, 1, 1.0)] * 7, *[(0, 1, 0.0)] * 3, agents=2)


def test_win_probabilities() -> None:
    assert win_probability(np.array([0.0, 100.0, 200.0, -100.0])) == pytest.approx(
        [0.5, 0.6400650, 0.7597469, 1 - 0.6400650]
    )
    assert win_probability(1e9) == 1.0


def test_seven_wins_of_ten_are_a_lead_of_147() -> None:
    for pinned in (0, 1):
        found = fit_ratings(*SEVEN_OF_TEN, pinned=pinned, prior=math.inf)
        assert found.ratings[0] - found.ratings[1] == pytest.approx(147.1907, abs=1e-3)
        assert found.ratings[pinned] == ANCHOR
        assert found.errors[pinned] == 0.0
    # The error of a logit is 1/√(n·p·(1 − p)).
    assert found.errors[0] == pytest.approx(400 / math.log(10) / math.sqrt(10 * 0.7 * 0.3), rel=1e-4)


def test_pairs_of_clones_need_half_the_lead() -> None:
    sides, results = SEVEN_OF_TEN
    found = fit_ratings(2 * sides, results, pinned=1, prior=math.inf)
    assert found.ratings[0] - found.ratings[1] == pytest.approx(147.1907 / 2, abs=1e-3)


def test_a_prior_bounds_the_undefeated_and_a_draw_is_half_a_win() -> None:
    undefeated = fit_ratings(*duels(*[(0, 1, 1.0)] * 20, agents=3), pinned=1)
    assert 300 < undefeated.ratings[0] - ANCHOR < 1000
    assert (undefeated.ratings[2], undefeated.errors[2]) == pytest.approx((ANCHOR, 350.0))  # who met nobody
    drawn = fit_ratings(*duels(*[(0, 1, 0.5)] * 10, agents=2), pinned=1, prior=math.inf)
    assert drawn.ratings == pytest.approx([ANCHOR, ANCHOR])


def test_the_fit_is_where_the_likelihood_is_flat() -> None:
    random = np.random.default_rng(0)
    true = random.normal(1000, 150, 6)
    games = [tuple(random.choice(6, 2, replace=False)) for _ in range(400)]
    played = [(i, j, float(random.random() < win_probability(true[i] - true[j]))) for i, j in games]
    sides, results = duels(*played, agents=6)
    found = fit_ratings(sides, results)

    def log_posterior(psi: np.ndarray) -> float:
        won = win_probability(sides @ psi)
        likelihood = (results * np.log(won) + (1 - results) * np.log(1 - won)).sum()
        return float(likelihood - ((psi - ANCHOR) ** 2).sum() / (2 * 350.0**2))

    for agent in range(6):
        for step in (-0.5, 0.5):
            other = found.ratings.copy()
            other[agent] += step
            assert log_posterior(other) < log_posterior(found.ratings)
    centred = found.ratings - found.ratings.mean()
    assert np.abs(centred - (true - true.mean())).max() < 4 * found.errors.max()


def test_counts_stand_for_matches() -> None:
    sides, results = np.array([[1.0, -1.0], [1.0, -1.0]]), np.array([1.0, 0.0])
    one_by_one = fit_ratings(np.repeat(sides, [3, 2], axis=0), np.repeat(results, [3, 2]))
    record = Record(2)
    record.add(0, 1, 0.6, 5.0)
    for counted in (fit_ratings(sides, results, counts=np.array([3.0, 2.0])), record.ratings()):
        assert counted.ratings == pytest.approx(one_by_one.ratings)
        assert counted.errors == pytest.approx(one_by_one.errors)
    assert record.ratings(pinned=1).ratings[1] == ANCHOR


def test_errors_from_the_mean_leave_out_the_common_level() -> None:
    sides, results, counts = np.array([[1.0, -1.0]]), np.array([0.5]), np.array([1000.0])
    errors = fit_ratings(sides, results, counts=counts).errors
    assert (errors < 10.0).all()  # with the level: 350 / √2


def test_the_probabilities_of_opponents() -> None:
    found = opponent_probabilities(np.array([1000.0, 1100.0, 1200.0, 900.0]), 0)
    assert found == pytest.approx([0.0, 0.4127779, 0.1744442, 0.4127779], abs=1e-6)
