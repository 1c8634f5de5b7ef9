"""Seeds of a study's runs: even numbers in the search, odd ones afterwards, none of them twice."""

MOST_TRIALS = 10_000
MOST_RUNS = 100
"""Runs of a trial in the search, and of a finalist afterwards, at most."""

MOST_STUDIES = 1000
"""Largest seed of a study; that of its last run still is a seed of a command."""


def search_seed(study: int, trial: int, run: int) -> int:
    """The seed of a trial's run in the search. Numbers count from 0."""
    return 2 * _number(study, trial, run)


def fresh_seed(study: int, trial: int, run: int) -> int:
    """The seed of a finalist's run after the search, which no run of any search has."""
    return 2 * _number(study, trial, run) + 1


def _number(study: int, trial: int, run: int) -> int:
    if not (0 <= study <= MOST_STUDIES and 0 <= trial < MOST_TRIALS and 0 <= run < MOST_RUNS):
        raise ValueError(f"study {study}, trial {trial}, run {run}: out of range")
    return (study * MOST_TRIALS + trial) * MOST_RUNS + run
