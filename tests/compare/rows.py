"""Runs made of numbers alone."""

from typing import Any

from qwop.compare.results import Run


def run(seed: int, log: list[dict[str, Any]] | None = None, environment: str = "CartPole-v1", **greedy: Any) -> Run:
    return Run(f"run-{seed}", seed, environment, {"mean_return": 0.0, **greedy}, {}, "qwop-finetune", log=log or [])


def runner(seed: int, share: float, seconds: float | None, log: list[dict[str, Any]] | None = None) -> Run:
    """A run of QWOP."""
    figures = {
        "finishes": int(10 * share),
        "finish_share": share,
        "mean_metres": 100 * share,
        "median_seconds": seconds,
    }
    return run(seed, log, "QWOP-v1", **figures)


def returns(*values: float, first: int = 0) -> list[Run]:
    """Runs with these mean returns, and seeds from `first`."""
    return [run(seed, mean_return=value) for seed, value in enumerate(values, first)]
