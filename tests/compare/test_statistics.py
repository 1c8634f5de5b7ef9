"""Statistics against values worked out by hand."""

import itertools

import numpy as np
import pytest
from qwop.compare.results import COVERAGE, difference, improvement, interquartile_mean, mean, mean_curve


def all_resamples(values: list[float]) -> np.ndarray:
    """Every resample of a small sample; the bootstrap draws from these, each as likely as the others."""
    return np.array(list(itertools.product(values, repeat=len(values))))


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        ([3.0], 3.0),
        ([1.0, 2.0, 9.0], 4.0),  # ⌊3/4⌋ = 0: the mean
        ([100.0, 1.0, 2.0, -50.0], 1.5),
        ([5.0, 1.0, 2.0, 3.0, 40.0, 4.0, 6.0, 7.0], 4.5),  # of 3, 4, 5, 6
        ([0.0] * 7 + [1.0] * 3, 1 / 6),  # ⌊10/4⌋ = 2 at each end leave 5 zeros and a one
    ],
)
def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end(values: list[float], middle: float) -> None:
    assert interquartile_mean(values)[0] == pytest.approx(middle)


def test_intervals_are_the_percentiles_of_all_resamples() -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    every = all_resamples(values)
    for (_, *ends), exact in (
        (mean(values), every.mean(axis=1)),
        (interquartile_mean(values), np.sort(every, axis=1)[:, 1:3].mean(axis=1)),
    ):
        assert ends == np.quantile(exact, [0.025, 0.975]).tolist()


def test_three_seeds_reach_from_the_lowest_to_the_highest() -> None:
    assert mean([3.0, 5.0, 10.0]) == (6.0, 3.0, 10.0)


def test_a_single_seed_has_no_interval() -> None:
    assert mean([3.0]) == interquartile_mean([3.0]) == (3.0, None, None)
    assert difference({0: 3.0}, {0: 1.0}) == (False, (2.0, None, None))
    assert improvement([3.0], [1.0]) == improvement([3.0], [1.0, 2.0]) == (1.0, None, None)


def test_equal_seeds_are_paired() -> None:
    """Each seed gains 1: the difference is certain, however much the seeds differ."""
    row, other = {0: 11.0, 1: 21.0, 2: 41.0, 5: 0.0}, {2: 40.0, 1: 20.0, 0: 10.0, 7: 99.0}
    assert difference(row, other) == (True, (1.0, 1.0, 1.0))


def test_other_seeds_are_resampled_apart() -> None:
    assert difference({0: 0.0, 1: 2.0}, {2: 10.0, 3: 14.0}) == (False, (-11.0, -14.0, -8.0))


@pytest.mark.parametrize(
    ("row", "other", "probability"),
    [
        ([1.0, 2.0, 3.0], [0.0], 1.0),
        ([0.0], [1.0, 2.0, 3.0], 0.0),
        ([1.0, 2.0, 3.0], [2.0], 0.5),  # lost, tied, won
        ([1.0, 4.0], [2.0, 3.0, 0.0], 4 / 6),
        ([1.0, 1.0], [1.0, 1.0], 0.5),
    ],
)
def test_probability_of_improvement_counts_won_pairs_and_half_of_the_ties(
    row: list[float], other: list[float], probability: float
) -> None:
    assert improvement(row, other)[0] == pytest.approx(probability)


def test_the_interval_of_the_probability_resamples_both_rows() -> None:
    """Of 1 and 4 against 2: a resample of the row is 11, 14, 41 or 44, so 0, ½, ½ or 1."""
    assert improvement([1.0, 4.0], [2.0, 2.0]) == (0.5, 0.0, 1.0)


def test_curves_are_averaged_where_all_seeds_have_been() -> None:
    curve = mean_curve([[(0, 0), (10, 10)], [(2, 4), (8, 16), (20, 40)]], points=3)
    assert curve == [(2, 3, 2, 4), (6, 9, 6, 12), (10, 15, 10, 20)]


def test_coverage_of_the_intervals_is_as_the_page_gives_it() -> None:
    generator = np.random.default_rng(1)
    for seeds in (3, 10):
        ends = [mean(generator.normal(size=seeds).tolist())[1:] for _ in range(200)]
        hits = sum(low <= 0 <= high for low, high in ends if low is not None and high is not None)
        assert hits / 2 == pytest.approx(COVERAGE[seeds], abs=6)
