"""The command line of comparisons."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import compare, finetune
from qwop.compare import command

from .conftest import BRIEF


def test_words_that_are_no_settings_name_rows() -> None:
    settings = compare.read(["with=runs/with-*", "jobs=2", "more=[a,b]", "own=qwop-finetune seed=1 'x={a: 1}'"])
    assert settings.jobs == 2
    assert settings.row == {
        "with": "runs/with-*", "more": ["a", "b"], "own": "qwop-finetune seed=1 'x={a: 1}'",
    }  # fmt: skip


def test_rows_of_folders_are_compared(runs_folder: Path, tmp_path: Path, run_command: Callable[..., Any]) -> None:
    out = f"out={tmp_path / 'out'}"
    result = run_command(compare, f"fast={runs_folder}/fast-*", f"slow={runs_folder}/slow-*", "against=fast", out)
    assert (result.code, result.err) == (0, "")
    assert "| fast | 2 of 2 | " in result.out
    assert f"report: {tmp_path}/out/report.html" in result.out
    lines = json.loads((tmp_path / "out/results.json").read_text())["lines"]
    assert {line["row"]: line.get("against") for line in lines} == {"fast": None, "slow": "fast"}


def test_a_file_has_rows_and_settings_and_the_command_line_counts_more(
    runs_folder: Path, tmp_path: Path, run_command: Callable[..., Any]
) -> None:
    rows = tmp_path / "rows.yaml"
    rows.write_text(f"title: From a file\nagainst: slow\nrows:\n  slow: {runs_folder}/slow-*\n")
    run_command(compare, f"rows={rows}", f"fast={runs_folder}/fast-*", "against=fast", f"out={tmp_path / 'out'}")
    assert "difference from fast" in (tmp_path / "out/table.md").read_text()
    assert "<h1>From a file</h1>" in (tmp_path / "out/report.html").read_text()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "no rows: give folders of finished runs"),
        (["job=2"], "job: no such setting; did you mean jobs?"),
        (["with=3"], "with: 3, expected folders of finished runs, or command lines"),
        (["with=nowhere/*"], "with=nowhere/*: no such folder"),
        (["a=qwop-fintune seed=1"], "a: qwop-fintune: no such command"),
        (["a=qwop-finetune sed=1"], "a: sed: no such setting; did you mean seed?"),
        (["rows=nowhere.yaml"], "rows=nowhere.yaml: nowhere.yaml: no such file"),
        (["rows=bad.yaml"], "bad.yaml: row is unknown; expected rows, against, jobs, seeds, title"),
        (["rows=list.yaml"], "rows=list.yaml: "),
        (["rows=empty.yaml"], "no rows"),
    ],
)
def test_a_wrong_line_is_one_sentence_and_nothing_is_written(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_command: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text("row: {}\n")
    Path("list.yaml").write_text("- a\n")
    Path("empty.yaml").write_text("seeds: 3\n")
    result = run_command(compare, *words)
    assert result.code == 2
    assert result.err.startswith(f"qwop-compare: {complaint}")
    assert result.err.count("\n") == 1
    assert not Path("runs/compare").exists()


def test_a_failed_run_is_named_at_the_end(tmp_path: Path, run_command: Callable[..., Any], runs_folder: Path) -> None:
    bad = f"bad=qwop-evaluate policy={tmp_path}/none.safetensors"
    result = run_command(compare, f"fast={runs_folder}/fast-*", bad, "seeds=1", f"out={tmp_path / 'out'}")
    assert result.code == 2
    assert result.err.startswith("qwop-compare: bad-0 failed: qwop-evaluate: ")
    assert "Failed: bad-0: qwop-evaluate: " in (tmp_path / "out/table.md").read_text()


def test_fine_tuning_with_several_seeds_is_a_comparison_of_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(command, "run", calls.append)
    finetune.run(finetune.read([*BRIEF, "seeds=3", "seed=5", "out=runs/three"]))
    (settings,) = calls
    assert settings.out == "runs/three"
    assert settings.row == {"run": {"command": f"qwop-finetune {' '.join(BRIEF)}", "seeds": [5, 6, 7]}}
