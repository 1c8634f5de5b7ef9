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


def test_a_file_has_rows_and_settings_and_the_command_line_counts_more(
    runs_folder: Path, tmp_path: Path, run_command: Callable[..., Any]
) -> None:
    """A failed run is named at the end."""
    rows, out = tmp_path / "rows.yaml", tmp_path / "out"
    bad = f"qwop-evaluate policy={tmp_path}/none.safetensors"
    rows.write_text(f"title: From a file\nseeds: 1\nagainst: slow\nrows: {{slow: {runs_folder}/slow-*, bad: {bad}}}\n")
    result = run_command(compare, f"rows={rows}", f"fast={runs_folder}/fast-*", "against=fast", f"out={out}")
    assert "| fast | 2 of 2 | " in result.out
    assert f"report: {tmp_path}/out/report.html" in result.out
    lines = json.loads((out / "results.json").read_text())["lines"]
    assert {line["row"]: line.get("against") for line in lines} == {"fast": None, "slow": "fast"}
    assert "<h1>From a file</h1>" in (out / "report.html").read_text()
    assert result.code == 2
    assert result.err.startswith("qwop-compare: bad-0 failed: qwop-evaluate: ")
    assert "Failed: bad-0: qwop-evaluate: " in (out / "table.md").read_text()


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
        (["rows=bad.yaml"], "rows=bad.yaml: job: no such setting; did you mean jobs?"),
        (["rows=list.yaml"], "rows=list.yaml: "),
        (["rows=inner.yaml"], "rows=inner.yaml: rows are a, expected names of rows"),
        (["rows=empty.yaml"], "no rows"),
    ],
)
def test_a_wrong_line_is_one_sentence_and_nothing_is_written(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_command: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"bad": "job: 2\nrows: {a: b}", "list": "- a", "inner": "rows: a", "empty": "seeds: 3"}.items():
        Path(f"{name}.yaml").write_text(f"{text}\n")
    result = run_command(compare, *words)
    assert result.code == 2
    assert result.err.startswith(f"qwop-compare: {complaint}")
    assert result.err.count("\n") == 1
    assert not Path("runs/compare").exists()


def test_fine_tuning_with_several_seeds_is_a_comparison_of_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(command, "run", calls.append)
    finetune.run(finetune.read([*BRIEF, "seeds=3", "seed=5", "out=runs/three"]))
    (settings,) = calls
    assert settings.out == "runs/three"
    assert settings.row == {"run": {"command": f"qwop-finetune {' '.join(BRIEF)}", "seeds": [5, 6, 7]}}
