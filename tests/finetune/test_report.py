import json
from pathlib import Path
from typing import Any

import pytest
from qwop.finetune.report import evaluation_charts, phase_bands, write_report

Row = dict[str, Any]


def row(decisions: int, phase: str, share: float, **numbers: float) -> Row:
    return {
        "decisions": decisions,
        "phase": phase,
        "speed/decisions_per_second": 9.0,
        "memory/live": 1 - share,
        "memory/demonstrations": share,
        **numbers,
    }


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, list[Row]]:
    rows = [
        row(100, "alone", 0.0, **{"live/metres": 1.5, "live/importance_weight": 1.0, "learner/td_error": 0.1}),
        row(200, "alone", 0.0, **{"live/metres": 2.5, "live/importance_weight": 1.1}),
        row(300, "mixed", 0.5, **{"live/metres": 3.5, "demonstrations/importance_weight": 40.0}),
        row(400, "alone_again", 0.0, **{"live/metres": 4.5}),
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows) + '{"cut o')
    (tmp_path / "phases").mkdir()
    evaluation = {"episodes": 100, "finishes": 93, "best_seconds": 55.5, "median_seconds": 57.0, "mean_metres": 99.25}
    evaluation["mean_metres_interval"] = [98.5, 100.0]
    evaluation["drawn"] = {"episodes": 50, "finishes": 41, "median_seconds": 61.25, "mean_metres": 90.0}
    (tmp_path / "phases" / "1-alone.json").write_text(json.dumps(evaluation))
    for later in ("0-start", "10-last"):
        games = {"episodes": 100, "finishes": 7, "median_seconds": None, "mean_metres": 60.0}
        (tmp_path / "phases" / f"{later}.json").write_text(json.dumps(games))
    return tmp_path, rows


def test_bands_follow_the_phases_and_know_where_demonstrations_were(run: tuple[Path, list[Row]]) -> None:
    _, rows = run
    bands = [(band.start, band.end, band.name, band.shaded) for band in phase_bands(rows)]
    assert bands == [(0, 200, "alone", False), (200, 300, "mixed", True), (300, 400, "alone_again", False)]


def test_the_page_holds_curves_evaluations_and_film_and_fetches_nothing(run: tuple[Path, list[Row]]) -> None:
    folder, _ = run
    (folder / "best.mp4").write_bytes(b"film")
    page = write_report(folder, "a <run>").read_text()
    assert "a &lt;run&gt;" in page
    for title in ("metres", "share of memory", "importance weight", "learner: td error"):
        assert f'aria-label="{title}"' in page
    assert "99.25 (98.50 … 100.00)" in page
    assert "<td>50</td><td>41</td><td>61.25</td>" in page  # drawn games
    assert page.index("0-start") < page.index("1-alone") < page.index("10-last")
    assert "data:video/mp4;base64,ZmlsbQ==" in page
    assert 'src="http' not in page
    assert "<script" not in page


def test_charts_of_the_evaluations_lie_over_the_phases(run: tuple[Path, list[Row]]) -> None:
    _, rows = run
    start = {"episodes": 31, "finishes": 0, "median_seconds": None, "decisions": 0}
    drawn = {"episodes": 100, "finishes": 25, "median_seconds": 60.0}
    end = {"episodes": 31, "finishes": 31, "median_seconds": 43.0, "decisions": 400, "drawn": drawn}
    finishes, seconds, returns = evaluation_charts([start, end], rows)
    assert finishes.count("<polyline") == seconds.count("<circle") == 2  # greedy and drawn games
    assert 'class="shaded"><title>mixed</title>' in finishes
    assert returns == ""


def test_the_page_shows_the_policy_that_was_kept_and_the_command(run: tuple[Path, list[Row]]) -> None:
    folder, _ = run
    page = write_report(folder, "run", "qwop-finetune 'schedule=a b'", final="1-alone").read_text()
    assert page.count("(kept)") == 1
    assert '<tr class="marked"><td>1-alone (kept)</td>' in page
    assert "<pre>qwop-finetune &#x27;schedule=a b&#x27;</pre>" in page
    assert "(kept)" not in write_report(folder, "run").read_text()


def test_the_page_begins_with_the_gain_from_the_start_to_the_policy_that_is_left(run: tuple[Path, list[Row]]) -> None:
    folder, _ = run
    assert "From start to end: finished 7 of 100 → 7 of 100, 60.0 → 60.0 m" in write_report(folder, "run").read_text()
    page = write_report(folder, "run", final="1-alone").read_text()
    assert "From start to end: finished 7 of 100 → 93 of 100, 60.0 → 99.2 m" in page


def test_a_run_without_film_or_evaluation_has_a_page_too(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("")
    page = write_report(tmp_path, "empty").read_text()
    assert "<h1>" in page
    assert "<h2>" not in page
