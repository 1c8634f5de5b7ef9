"""The report of a run: a page of its curves, its evaluations and its film, which fetches nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from qwop.finetune.report import evaluation_charts, phase_bands, write_report

START = {"episodes": 31, "finishes": 7, "median_seconds": 60.0, "mean_metres": 60.0, "decisions": 0,
         "drawn": {"episodes": 100, "finishes": 20, "median_seconds": None, "mean_metres": 50.0}}  # fmt: skip
ALONE = {"episodes": 31, "finishes": 29, "best_seconds": 55.5, "median_seconds": 57.0, "mean_metres": 99.25,
         "decisions": 200, "mean_metres_interval": [98.5, 100.0],
         "drawn": {"episodes": 100, "finishes": 41, "median_seconds": 61.25, "mean_metres": 90.0}}  # fmt: skip
LAST = {"episodes": 31, "finishes": 31, "median_seconds": 50.5, "mean_metres": 100.0, "decisions": 400}


def row(decisions: int, phase: str, share: float, **numbers: float) -> dict[str, Any]:
    memory = {"memory/live": 1 - share, "memory/demonstrations": share}
    return {"decisions": decisions, "phase": phase, "speed/decisions_per_second": 9.0, **memory, **numbers}


ROWS = [
    row(100, "alone", 0.0, **{"live/metres": 1.5, "live/importance_weight": 1.0, "learner/td_error": 0.1}),
    row(200, "alone", 0.0, **{"live/metres": 2.5, "live/importance_weight": 1.1}),
    row(300, "mixed", 0.5, **{"live/metres": 3.5, "demonstrations/importance_weight": 40.0}),
    row(400, "alone_again", 0.0, **{"live/metres": 4.5}),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ROWS) + '{"cut o')
    (tmp_path / "phases").mkdir()
    for name, evaluation in (("0-start", START), ("1-alone", ALONE), ("10-last", LAST)):
        (tmp_path / "phases" / f"{name}.json").write_text(json.dumps(evaluation))
    return tmp_path


def test_bands_follow_the_phases_and_know_where_demonstrations_were() -> None:
    bands = [(band.start, band.end, band.name, band.shaded) for band in phase_bands(ROWS)]
    assert bands == [(0, 200, "alone", False), (200, 300, "mixed", True), (300, 400, "alone_again", False)]


def test_charts_of_the_evaluations_lie_over_the_phases() -> None:
    finishes, seconds, returns = evaluation_charts([START, ALONE, LAST], ROWS)
    assert finishes.count("<polyline") == seconds.count("<polyline") == 2  # greedy and drawn games
    assert 'class="shaded"><title>mixed</title>' in finishes
    assert returns == ""


def test_the_page_holds_progress_curves_evaluations_and_film_and_fetches_nothing(run: Path) -> None:
    (run / "best.mp4").write_bytes(b"film")
    page = write_report(run, "a <run>", "qwop-finetune 'schedule=a b'").read_text()
    for part in (
        "a &lt;run&gt;", "<pre>qwop-finetune &#x27;schedule=a b&#x27;</pre>", "data:video/mp4;base64,ZmlsbQ==",
        *(f'aria-label="{title}"' for title in ("metres", "share of memory", "importance weight", "learner: td error")),
        "99.25 (98.50 … 100.00)", "<td>100</td><td>41</td><td>61.25</td>",
        "From start to end: finished 7 of 31 → 31 of 31, median 60.00 → 50.50 s",
    ):  # fmt: skip
        assert part in page
    assert page.index("0-start") < page.index("1-alone") < page.index("10-last")
    assert not any(part in page for part in ('src="http', "<script", "(kept)"))


def test_the_page_shows_the_policy_that_was_kept_and_that_an_empty_run_has_none(run: Path, tmp_path: Path) -> None:
    page = write_report(run, "run", final="1-alone").read_text()
    assert page.count("(kept)") == 1
    assert '<tr class="marked"><td>1-alone (kept)</td>' in page
    assert "From start to end: finished 7 of 31 → 29 of 31" in page
    (empty := tmp_path / "empty").mkdir()
    (empty / "metrics.jsonl").touch()
    assert "<h2>" not in write_report(empty, "empty").read_text()
