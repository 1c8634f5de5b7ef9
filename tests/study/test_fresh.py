"""The finalists and their fresh seeds."""

import multiprocessing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qwop.study.results import SingleRuns, StudyResults, TrialResult, mean, standard_error
from qwop.study.runs import RunFailed
from qwop.study.seeds import MOST_RUNS, MOST_STUDIES, MOST_TRIALS, fresh_seed, search_seed

Make = Callable[..., Any]


def trial(number: int, search: list[float], fresh: list[float | None] = [], state: str = "complete") -> TrialResult:  # noqa: B006
    return TrialResult(number, state, {"x": "1"}, tuple(search), tuple(fresh))


def results(*trials: TrialResult, sign: int = 1, finalists: int = 2, fresh: int = 2, **more: Any) -> StudyResults:
    return StudyResults(trials, sign, finalists, fresh, **more)


def test_seeds_of_search_and_fresh_runs_are_all_different() -> None:
    runs = [(study, trial, run) for study in (0, 1, 7) for trial in (0, 1, 99, 100) for run in (0, 1, 99)]
    seeds = [make(*one) for make in (search_seed, fresh_seed) for one in runs]
    assert len(set(seeds)) == 2 * len(runs)
    assert all(search_seed(*one) % 2 == 0 and fresh_seed(*one) % 2 == 1 for one in runs)
    assert fresh_seed(MOST_STUDIES, MOST_TRIALS - 1, MOST_RUNS - 1) < 2**32
    with pytest.raises(ValueError, match="out of range"):
        search_seed(0, 0, MOST_RUNS)


def test_the_finalists_run_with_seeds_that_the_search_did_not_have(bench: Make) -> None:
    made = bench()
    found = made.finish()
    searched = {seed for one in found.trials for seed in found.search_seeds(one)}
    fresh = {seed for one in found.trials for seed in found.fresh_seeds(one)}
    assert len(searched) == 18
    assert len(fresh) == 8
    assert not searched & fresh
    assert {seed for _, seed in made.calls} == searched | fresh


def test_the_winner_is_the_best_by_fresh_seeds_not_by_the_search(bench: Make) -> None:
    good_then_bad = {0: (10.0, 1.0), 1: (9.0, 8.0)}

    def lucky(trial: int, seed: int, values: Any) -> float:
        return good_then_bad.get(trial, (0.0, 0.0))[seed % 2]

    found = bench(lucky).finish()
    assert [one.number for one in found.finalists] == [0, 1]
    assert found.winner is not None
    assert found.winner.number == 1
    assert found.winner.fresh == (8.0,) * 4


def test_a_finalist_with_a_failed_run_does_not_win(bench: Make) -> None:
    def fails_fresh(trial: int, seed: int, values: Any) -> float:
        if trial == 0 and seed == fresh_seed(0, 0, 2):
            raise RunFailed("diverged")
        return 10.0 - trial

    found = bench(fails_fresh).finish()
    assert found.finalists[0].fresh == (10.0, 10.0, None, 10.0)
    assert found.winner is not None
    assert found.winner.number == 1


def test_fresh_runs_go_on_where_they_were_interrupted(bench: Make) -> None:
    def interrupted(trial: int, seed: int, values: Any) -> float:
        if seed == fresh_seed(0, 4, 1):
            raise KeyboardInterrupt
        return float(trial)

    with pytest.raises(KeyboardInterrupt):
        bench(interrupted).finish()
    made = bench(lambda trial, seed, values: float(trial))
    found = made.finish()
    assert all(len(one.fresh) == 4 for one in found.finalists)
    assert sum(call == (5, fresh_seed(0, 5, 0)) for call in made.calls) == 1


def test_two_processes_share_the_fresh_runs(bench: Make) -> None:
    bench().search()
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=lambda: bench().finish()) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    calls = bench().calls
    assert len(calls) == len(set(calls)) == 18 + 8


def test_there_is_no_winner_until_all_fresh_runs_are_over() -> None:
    assert results(trial(0, [1, 1], [1, 1]), trial(1, [2, 2], [2])).winner is None


def test_the_mean_and_its_standard_error() -> None:
    values = [1.0, 2.0, 4.0, 5.0]
    assert mean(values) == 3
    assert standard_error(values) == pytest.approx(np.sqrt((4 + 1 + 1 + 4) / 3 / 4))
    assert np.isnan(standard_error([1.0]))


def test_single_runs_are_checked_by_the_other_runs_alone() -> None:
    lucky = trial(0, [500, 100, 100])
    lasting = trial(1, [480, 490, 460], [480, 500])
    late = trial(2, [400, 500, 500])
    alone = trial(3, [500], state="pruned")
    found = results(lucky, lasting, late, alone, goal=475).single_runs
    assert found == SingleRuns(475, (lucky, lasting), (lasting,))


def test_without_a_goal_the_threshold_is_the_last_of_the_best_single_runs() -> None:
    trials = [trial(0, [1, 9]), trial(1, [3, 4]), trial(2, [2, 1]), trial(3, [8, 0])]
    found = results(*trials, sign=-1).single_runs
    assert found is not None
    assert found.threshold == 2
    assert [one.number for one in found.winners] == [0, 2]
    assert [one.number for one in found.lasting] == [2]
    assert results(trial(0, [1])).single_runs is None
