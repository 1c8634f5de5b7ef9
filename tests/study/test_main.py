"""The command as a person uses it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import study as main

pytestmark = pytest.mark.slow

TINY = Path(__file__).with_name("tiny.yaml")

Run = Callable[..., Any]


@pytest.fixture
def run(run_command: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the command in an empty folder; gives its `code`, `out` and `err`."""

    def call(*arguments: str) -> Any:
        monkeypatch.chdir(tmp_path)
        return run_command(main, *arguments)

    return call


def test_a_study_leaves_its_journal_its_runs_and_a_report_and_goes_on_with_more_trials(
    run: Run, tmp_path: Path
) -> None:
    result = run(f"study={TINY}", "out=study")
    assert result.code == 0, result.err
    assert "fresh seeds (in the search" in result.out
    following = result.out.splitlines()[-1]
    assert following.startswith("next: qwop-finetune ")
    assert following.endswith(" seed=0 out=study-best")
    document = json.loads((tmp_path / "study" / "study.json").read_text())
    assert [one["state"] for one in document["trials"]] == ["complete", "complete"]
    (winner,) = (one for one in document["trials"] if one["number"] == document["winner"])
    for kind in ("search", "fresh"):
        for seed, figure in winner[kind].items():
            folder = tmp_path / "study" / "trials" / f"{winner['number']:04d}" / f"seed-{seed}"
            assert json.loads((folder / "phases" / "1-alone.json").read_text())["mean_return"] == figure
            assert f"seed: {seed}\n" in (folder / "config.yaml").read_text()
            assert not (folder / "checkpoints").exists()
    page = (tmp_path / "study" / "report.html").read_text()
    assert all(words in page for words in ("The finalists, with fresh seeds", "qwop-compare ", "parcoords"))

    more = run(f"study={TINY}", "out=study", "study.budget.trials=3")
    assert more.code == 0, more.err
    after = json.loads((tmp_path / "study" / "study.json").read_text())["trials"]
    assert len(after) == 3
    assert [one["search"] for one in after[:2]] == [one["search"] for one in document["trials"]]
    fewer = run(f"study={TINY}", "out=study")
    assert "trial 3 of 3" in fewer.out
    refusal = run(f"study={TINY}", "out=study", "study.budget.repeats=3")
    assert refusal.code == 2
    assert "study: was started with study.budget.repeats: 2, not 3" in refusal.err
    refusal = run(f"study={TINY}", "out=study", "study.settings=[schedule=live-only,schedule.scale=0.5]")
    assert "not [schedule=live-only, schedule.scale=0.5]; go on with that" in refusal.err

    for name in ("config.yaml", "study.json", "report.html"):  # as interrupted, but for the first
        (tmp_path / "study" / name).unlink()
    refusal = run(f"study={TINY}", "out=study", "study.settings=[schedule=live-only]")
    assert refusal.code == 2
    assert "out=study: holds journal.log" in refusal.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("learning_rate: {", "learnin_rate: {", "study.space.algorithm.learnin_rate: algorithm.learnin_rate: no such"),
        ("video=false", "seed=3", "study.settings=seed=3: the study gives each run its own out and seed"),
        ("qwop-finetune", "qwop-fly", "study.command=qwop-fly: expected qwop-finetune, qwop-pretrain or qwop-evaluate"),
        ("trials: 2", "trials: 0", "study.budget.trials=0: expected a whole number from 1 to 10,000"),
        ("phases/1-alone", "/tmp/1-alone", "study.objective.file=/tmp/1-alone.json: expected a path within"),
        ("figure:", "figur:", "study.objective.figur: no such setting; did you mean"),
    ],
)
def test_a_wrong_study_is_one_line_and_nothing_runs(run: Run, tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "wrong.yaml").write_text(TINY.read_text().replace(old, new))
    result = run("study=wrong.yaml", "out=study")
    assert result.code == 2
    assert result.err.removeprefix("qwop-study: ").removeprefix("wrong.yaml: ").startswith(message), result.err
    assert result.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.yaml"]
