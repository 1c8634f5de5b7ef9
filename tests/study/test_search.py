"""The search: repeats, pruning, failures, death and company."""

import errno
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optuna.study import Study
from qwop.study.journal import JOURNAL
from qwop.study.results import mean
from qwop.study.runs import RunFailed

from .conftest import side_by_side

Make = Callable[..., Any]


def test_every_trial_has_its_repeats_and_counts_by_their_mean(bench: Make) -> None:
    own = bench()
    results = own.search()
    assert [len(one.search) for one in results.trials] == [3] * 6
    for one, recorded in zip(results.trials, own.study.trials, strict=True):
        assert recorded.value == pytest.approx(mean(one.search.values()))
        assert recorded.intermediate_values[2] == pytest.approx(mean([*one.search.values()][:2]))
    assert len(set(own.calls)) == 18


def test_the_seed_decides_the_study_and_another_gives_another(bench: Make) -> None:
    one, same, other = (bench(name=name, seed=seed).search() for name, seed in (("a", 3), ("b", 3), ("c", 4)))
    assert one.trials == same.trials
    assert all(here.values != there.values for here, there in zip(one.trials, other.trials, strict=True))


def test_the_sampler_learns_where_good_values_are(bench: Make) -> None:
    results = bench(lambda trial, seed, values: float(values["x"]), trials=40, repeats=1).search()
    points = [float(one.values["x"]) for one in results.trials]
    assert np.mean(points[20:]) > np.mean(points[:3]) + 0.15
    assert len(set(points)) == len(points)


@pytest.mark.parametrize("runs", [0, 1, 7, 11])
def test_a_killed_search_goes_on_and_equals_one_that_was_not(bench: Make, killed_at: Make, runs: int) -> None:
    killed_at(bench, runs, name="killed", pruner="median", prune_after=2)
    again = bench(name="killed", pruner="median", prune_after=2)
    results = again.search()
    assert results.trials == bench(name="whole", pruner="median", prune_after=2).search().trials
    twice = [call for call, times in Counter(again.calls).items() if times > 1]
    assert len(twice) <= 1  # the run that was in progress


def test_a_disk_that_fails_after_a_trials_end_was_written_is_named(
    bench: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, tell = bench(lambda trial, seed, values: 1.0), Study.tell

    def failing(study: Study, *arguments: Any, **settings: Any) -> None:
        tell(study, *arguments, **settings)
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(own.folder / JOURNAL))

    monkeypatch.setattr(Study, "tell", failing)
    with pytest.raises(OSError, match=JOURNAL):
        own.search()
    monkeypatch.undo()
    assert [one.state for one in bench(lambda trial, seed, values: 1.0).search().trials] == ["complete"] * 6


def test_two_processes_share_a_search(bench: Make) -> None:
    def slow(trial: int, seed: int, values: Any) -> float:
        time.sleep(0.01)
        return float(seed)

    side_by_side(*[lambda: bench(slow, trials=8).search()] * 2)
    own = bench(slow, trials=8)
    assert [one.state for one in own.results.trials] == ["complete"] * 8
    assert len(own.calls) == len(set(own.calls)) == 24


def test_a_process_takes_over_the_trial_of_one_that_dies_beside_it(bench: Make, killed_at: Make) -> None:
    killed_at(bench, 1)
    side_by_side(*[lambda: bench().search()] * 2)
    assert [len(one.search) for one in bench().results.trials] == [3] * 6


@pytest.mark.parametrize(
    ("settings", "rows", "pruned", "best"),
    [
        # Even after a lucky first run.
        ({"prune_after": 3}, [[10, 10, 10], [11, 11, 11], [9, 12, 9], [500, -500], [1], [10, 11, 12]], {3, 4}, {1, 5}),
        ({"prune_after": 2, "direction": "minimise"},
         [[10, 10, 10], [11, 11, 11], [500], [1, 1, 1], [9.9, 10, 10], [10.6]], {2, 5}, {3}),
    ],
)  # fmt: skip
def test_a_mean_that_is_worse_than_the_median_is_given_up(
    settings: dict[str, Any], rows: list[list[float]], pruned: set[int], best: set[int], bench: Make
) -> None:
    figures = [list(row) for row in rows]
    results = bench(lambda trial, seed, values: figures[trial].pop(0), pruner="median", **settings).search()
    assert {one.number for one in results.trials if one.state == "pruned"} == pruned
    assert {one.state for one in results.trials} == {"complete", "pruned"}
    assert [[*one.search.values()] for one in results.trials] == rows
    assert results.ranked[0].number in best


def test_a_trial_that_fails_says_why_and_the_search_goes_on(bench: Make) -> None:
    def fails(trial: int, seed: int, values: Any) -> float:
        if trial == 1:
            raise RunFailed("the network exploded")
        return 1.0

    results = bench(fails).search()
    assert [one.state for one in results.trials] == ["complete", "failed", *["complete"] * 4]
    assert results.trials[1].error == "the network exploded"


def test_more_trials_continue_a_search_whose_last_line_a_kill_cut_off(bench: Make) -> None:
    few = bench(trials=3)
    before = few.search().trials
    with (few.folder / JOURNAL).open("a") as file:
        file.write('{"op_code": 6, "work')
    after = bench(trials=5).search().trials
    assert after[:3] == before
    assert after == bench(trials=5, name="at once").search().trials
