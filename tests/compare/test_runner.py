"""Running what is missing, by small scripts in place of trainings."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from qwop.common.errors import BadInput
from qwop.compare import runner
from qwop.compare.runner import Job, jobs_of, run_missing

WORK = """
import os, pathlib, sys, time
words = dict(word.split("=", 1) for word in sys.argv[1:])
folder = pathlib.Path(words["out"])
folder.mkdir(parents=True, exist_ok=True)
if words.get("fails"):
    sys.exit("work: " + words["fails"])
(folder / "began").write_text(str(time.monotonic()))
pace = pathlib.Path("pace")
time.sleep(float(pace.read_text() if pace.exists() else words.get("takes", 0)))
cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
(folder / "threads").write_text(f"{cores} {os.environ['OMP_NUM_THREADS']}")
(folder / "ended").write_text(str(time.monotonic()))
with (folder / "calls").open("a") as file:
    file.write(words.get("call", "-"))
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("work.py").write_text(WORK)


def jobs(seeds: int = 2, **rows: str | list[str]) -> list[Job]:
    return jobs_of(rows, seeds, Path("out"))


def test_names_in_braces_are_replaced_and_settings_in_braces_stay() -> None:
    line = "qwop-evaluate policy={base}/policy.safetensors original.folder={out}/{x} 'environment={reward: shaped}'"
    _, _, first, second = jobs(base="qwop-pretrain seed=7", row=line)
    assert first.commands == [
        ["qwop-evaluate", "policy=out/base-0/policy.safetensors", "original.folder=out/{x}",
         "environment={reward: shaped}", "seed=0", "out=out/row-0"],
    ]  # fmt: skip
    assert second.commands[0][1] == "policy=out/base-1/policy.safetensors"
    assert second.after == [Path("out/base-1")]
    job, _ = jobs(row=["qwop-pretrain seed=1{seed} out={run}/tuned", "qwop-dataset describe data/me"])
    assert job.commands == [  # its own seed and folder stay
        ["qwop-pretrain", "seed=10", "out=out/row-0/tuned"], ["qwop-dataset", "describe", "data/me"],
    ]  # fmt: skip


def test_a_row_with_one_run_serves_every_seed_and_any_name_is_a_folder() -> None:
    games = {"command": "python work.py out={run}", "seeds": [5]}
    first, *others = jobs_of({"_o's/a b": games, "row": 'qwop-pretrain "dataset={_o\'s/a b}"'}, [0, 5], Path("my out"))
    assert first.folder == Path("my out/_o's-a b-5")
    assert first.commands == [["python", "work.py", "out=my out/_o's-a b-5"]]
    assert [job.commands[0][1] for job in others] == ["dataset=my out/_o's-a b-5"] * 2
    with pytest.raises(BadInput, match="it's: No closing quotation"):
        jobs(row="python it's")


def test_what_is_done_is_not_repeated() -> None:
    """A run computes with one thread on its core."""
    work = ["python work.py out={run}/a call=x", "python work.py out={run}/b call=y"]
    for _ in range(2):
        assert run_missing(jobs(row=work), 2) == {}
    assert [Path(f"out/row-1/{name}/calls").read_text() for name in "ab"] == ["x", "y"]
    note = json.loads(Path("out/made/row-1.json").read_text())
    assert (note["seed"], note["row"], [one["command"] for one in note["done"]]) == (
        1, work, ["python work.py out=out/row-1/a call=x", "python work.py out=out/row-1/b call=y"],
    )  # fmt: skip
    assert {"seconds", "day", "software", "machine"} <= note["done"][0].keys()
    own = [f"[{core}] 1" for core in os.sched_getaffinity(0)] if hasattr(os, "sched_getaffinity") else ["[] 1"]
    assert Path("out/row-0/a/threads").read_text() in own
    with pytest.raises(BadInput, match=r"out/row-0: was made by python work.py out=\{run\}/a.*; give out= another"):
        run_missing(jobs(row="python work.py out={run} takes=0.1"), 1)


@pytest.mark.parametrize(("workers", "overlap"), [(1, False), (2, True)])
def test_as_many_runs_as_workers_go_on_at_the_same_time(workers: int, overlap: bool) -> None:
    run_missing(jobs(row="python work.py out={run} takes=1.5"), workers)
    first, second = (
        [float(Path(f"out/row-{seed}/{name}").read_text()) for name in ("began", "ended")] for seed in (0, 1)
    )
    assert (first[0] < second[1] and second[0] < first[1]) is overlap


def test_a_failed_run_has_its_last_line_and_the_others_go_on() -> None:
    rows = {
        "good": "python work.py out={run}",
        "bad": "python work.py out={run} fails=oh",
        "late": "python work.py out={bad}/x",
    }
    failures = run_missing(jobs(**rows, seeds=1), 2)
    assert failures == {Path("out/bad-0"): "work: oh", Path("out/late-0"): "needs bad-0, which failed"}
    assert Path("out/good-0/ended").exists()
    assert not Path("out/made/bad-0.json").exists()


PROGRAM = """
from pathlib import Path
from qwop.common.ends import one_line_end
from qwop.compare.runner import jobs_of, run_missing
with one_line_end("compare"):
    run_missing(jobs_of({"row": "python work.py out={run}"}, 2, Path("out")), 1)
"""


def test_an_interrupted_comparison_ends_its_runs_and_goes_on_when_it_is_repeated() -> None:
    """A shell's background job and its runs ignore Ctrl-C's signal."""
    Path("pace").write_text("60")
    background = ["sh", "-c", 'trap "" INT; exec "$0" "$@"']
    process = subprocess.Popen([*background, sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, text=True)
    while not Path("out/row-0/began").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, message = process.communicate(timeout=60)
    assert (process.returncode, message) == (143, "\ncompare: interrupted\n")
    assert not Path("out/row-0/ended").exists()
    assert not Path("out/row-1").exists()
    Path("pace").write_text("0")
    assert run_missing(jobs(row="python work.py out={run}"), 1) == {}
    assert [Path(f"out/row-{seed}/calls").read_text() for seed in (0, 1)] == ["-", "-"]


def test_an_interrupted_training_is_resumed() -> None:
    words = ("qwop-finetune", "environment=CartPole-v1", "out=tuned")
    assert "resume=true" not in runner._line(words)
    Path("tuned").mkdir()
    Path("tuned/metrics.jsonl").touch()
    assert runner._line(words)[-1] == "resume=true"
    assert "resume=true" not in runner._line(("qwop-pretrain", *words[1:]))
