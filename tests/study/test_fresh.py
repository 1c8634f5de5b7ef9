"""The finalists and their fresh seeds."""

from collections.abc import Callable
from typing import Any

import pytest
from qwop.study.results import with_error
from qwop.study.runs import RunFailed
from qwop.study.settings import MOST_RUNS, MOST_STUDIES, MOST_TRIALS, seed_of

from .conftest import side_by_side

Make = Callable[..., Any]


def test_seeds_of_search_and_fresh_runs_are_all_different() -> None:
    runs = [(study, trial, run) for study in (0, 1, 7) for trial in (0, 1, 99, 100) for run in (0, 1, 99)]
    seeds = {(seed_of(*one, fresh=fresh), fresh) for fresh in (False, True) for one in runs}
    assert len({seed for seed, _ in seeds}) == 2 * len(runs)
    assert all(seed % 2 == fresh for seed, fresh in seeds)
    assert seed_of(MOST_STUDIES, MOST_TRIALS - 1, MOST_RUNS - 1, fresh=True) < 2**32


def test_the_finalists_run_with_seeds_that_the_search_did_not_have(bench: Make) -> None:
    own = bench()
    assert own.search().winner is None
    results_there = own.finish()
    search = {seed for one in results_there.trials for seed in one.search}
    fresh = {seed for one in results_there.trials for seed in one.fresh}
    assert len(search) == 18
    assert len(fresh) == 8
    assert not search & fresh
    assert {seed for _, seed in own.calls} == search | fresh


def test_the_winner_is_the_best_by_fresh_seeds_not_by_the_search(bench: Make) -> None:
    good_then_bad = {0: (10.0, 1.0), 1: (9.0, 8.0)}

    def lucky(trial: int, seed: int, values: Any) -> float:
        return good_then_bad.get(trial, (0.0, 0.0))[seed % 2]

    results_there = bench(lucky).finish()
    assert [one.number for one in results_there.finalists] == [0, 1]
    assert results_there.winner is not None
    assert results_there.winner.number == 1
    assert results_there.winner.fresh_values == [8.0] * 4


def test_a_finalist_with_a_failed_run_does_not_win(bench: Make) -> None:
    def fails_fresh(trial: int, seed: int, values: Any) -> float:
        if trial == 0 and seed == seed_of(0, 0, 2, fresh=True):
            raise RunFailed("diverged")
        return 10.0 - trial

    results_there = bench(fails_fresh).finish()
    assert [*results_there.finalists[0].fresh.values()] == [10.0, 10.0, None, 10.0]
    assert results_there.winner is not None
    assert results_there.winner.number == 1


def test_fresh_runs_go_on_where_they_were_interrupted(bench: Make) -> None:
    def interrupted(trial: int, seed: int, values: Any) -> float:
        if seed == seed_of(0, 4, 1, fresh=True):
            raise KeyboardInterrupt
        return float(trial)

    with pytest.raises(KeyboardInterrupt):
        bench(interrupted).finish()
    own = bench(lambda trial, seed, values: float(trial))
    results_there = own.finish()
    assert all(len(one.fresh) == 4 for one in results_there.finalists)
    assert sum(call == (5, seed_of(0, 5, 0, fresh=True)) for call in own.calls) == 1


def test_two_processes_share_the_fresh_runs(bench: Make) -> None:
    bench().search()
    side_by_side(*[lambda: bench().finish()] * 2)
    calls = bench().calls
    assert len(calls) == len(set(calls)) == 18 + 8


def test_the_mean_and_its_standard_error() -> None:
    assert with_error([1.0, 2.0, 4.0, 5.0]) == "3 ± 0.91"  # √((4 + 1 + 1 + 4)/3/4)
    assert with_error([1.0]) == "1"
