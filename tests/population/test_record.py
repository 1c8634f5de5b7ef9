"""The record of matches and the ratings that follow."""

import numpy as np
import pytest
from qwop.population.ratings import fit_ratings
from qwop.population.record import Record, compare_scores


def test_ratings_rise_for_winners_and_fall_for_losers() -> None:
    record = Record(3)
    assert record.ratings().ratings == pytest.approx([1000.0, 1000.0, 1000.0])
    for _ in range(10):
        record.add(0, 1, 1.0)
        record.add(1, 2, 0.5)
    first, second, third = record.ratings().ratings
    assert first > 1100.0
    assert second < third < 1000.0  # the third has drawn with one who loses


def test_matches_that_are_counted_together_rate_as_the_same_matches_one_by_one() -> None:
    record = Record(2)
    record.add(0, 1, 0.7, 10.0)
    results = np.array([1.0] * 7 + [0.0] * 3)
    expected = fit_ratings(np.array([[1.0, -1.0]] * 10), results)
    assert record.ratings().ratings == pytest.approx(expected.ratings)
    assert record.ratings().errors == pytest.approx(expected.errors)


def test_the_first_rival_is_pinned() -> None:
    record = Record(2)
    record.add(0, 1, 0.7, 1e6)  # so many that the prior hardly counts
    found = record.ratings(pinned=1)
    assert found.ratings == pytest.approx([1147.1907, 1000.0], abs=1e-2)
    assert found.errors[1] == 0.0


def test_old_matches_fade_and_errors_grow() -> None:
    record = Record(2)
    record.add(0, 1, 1.0, 10.0)
    before = record.ratings()
    record.fade(0.5)
    after = record.ratings()
    assert record.matches[0, 1] == record.matches[1, 0] == 5.0
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


def test_a_match_with_itself_says_nothing() -> None:
    record = Record(2)
    record.add(1, 1, 1.0)
    assert not record.matches.any()


def test_scores_made_alone_are_compared_pair_by_pair() -> None:
    record = Record(3)
    compare_scores([np.array([3.0, 5.0]), np.array([4.0, 4.0, 4.0]), np.array([])], record)
    assert record.matches.tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
    assert record.points[0, 1] == 1.0  # of two: one above, one below
    compare_scores([np.array([4.0]), np.array([4.0]), np.array([9.0])], record)
    assert record.points[0, 1] == 1.5
    assert record.points[2].tolist() == [1.0, 1.0, 0.0]


def test_a_record_is_saved_and_restored() -> None:
    record, other = Record(2), Record(2)
    record.add(0, 1, 1.0)
    state = record.get_state()
    record.add(0, 1, 0.0)
    other.set_state(state)
    assert other.points.tolist() == [[0, 1], [0, 0]]
