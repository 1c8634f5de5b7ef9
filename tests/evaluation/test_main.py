"""`qwop-evaluate` as a person uses it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.commands import record
from qwop.envs import EnvironmentSpec, replay
from qwop.envs.qwop.keys_file import read_keys, write_keys
from qwop.policies.files import save_policy

from ..fakes import Odd, registered, untrained

pytestmark = pytest.mark.slow

Evaluate = Callable[..., Any]


def test_writes_a_report_the_best_games_keys_and_its_film(
    policy_file: Path, tmp_path: Path, evaluate: Evaluate
) -> None:
    out = tmp_path / "report"
    code, printed, _ = evaluate(f"policy={policy_file}", "episodes=6", "greedy=false", f"out={out}", "seed=3")
    assert code == 0
    assert "finished" in printed
    assert "0 of 6" in printed
    assert "frame late" in printed

    report = json.loads((out / "evaluation.json").read_text())
    for name in ("episodes", "finishes", "best_seconds", "median_seconds", "mean_seconds", "mean_metres"):
        assert name in report
    assert len(report["mean_metres_interval"]) == 2
    assert (report["episodes"], len(report["games"]), report["settings"]["seed"]) == (6, 12, 3)
    assert (report["late"]["share"], report["late"]["episodes"], len(report["late"]["games"])) == (0.3, 6, 6)
    assert report["late"]["environment"]["settings"]["delay"] == 0.3
    assert report["policy"] == str(policy_file)
    assert report["world"] == "simulator"

    best = report["games"][report["best_game"]]
    keys = read_keys(out / "best_keys.txt")
    game = replay(keys)
    assert len(game.states) == len(keys) + 1
    assert game.events[-1, 0] == pytest.approx(best["metres"])
    assert (out / "best.mp4").stat().st_size > 10_000
    assert "episodes: 6" in (out / "config.yaml").read_text()
    files = ["best.mp4", "best_keys.txt", "config.yaml", "evaluation.json", "report.html"]
    assert sorted(path.name for path in out.iterdir()) == files
    page = (out / "report.html").read_text()
    assert f"qwop-evaluate policy={policy_file} episodes=6 greedy=false out={out} seed=3" in page
    assert "episodes: 6" in page
    assert "<th>late decisions</th>" in page
    assert page.count("<svg") == 2  # nobody finished or reached a mark: distance and return
    assert f"Best of all 12 games, number {report['best_game']}<" in page
    assert f"<b>{report['best_metres']:.2f} m</b>best distance, any start<" in page
    assert "<td>11</td>" in page  # all games, of both starts
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_the_film_of_an_earlier_evaluation_does_not_stay_beside_another(
    policy_file: Path, tmp_path: Path, evaluate: Evaluate
) -> None:
    for words in ([f"policy={policy_file}", "max_idle_frames=30", "episodes=2"], ["keys=champion"]):
        assert evaluate(*words, "video=false", f"out={tmp_path}").code == 0
        (tmp_path / "best.mp4").write_bytes(b"film")
        assert evaluate(*words, "video=false", f"out={tmp_path}").code == 0
        assert not (tmp_path / "best.mp4").exists()
    assert evaluate(f"policy={policy_file}", "episodes=3", "video=false", f"out={tmp_path}").code == 0
    assert "episodes: 3" in (tmp_path / "config.yaml").read_text()


def test_another_decision_rate_can_be_tried_and_the_report_lies_beside_the_policy(
    policy_file: Path, evaluate: Evaluate
) -> None:
    arguments = [f"policy={policy_file}", "episodes=2", "video=false", "+environment.frames_per_step=2"]
    assert evaluate(*arguments).code == 0
    out = policy_file.with_name("runner-evaluation")
    files = ["best_keys.txt", "config.yaml", "evaluation.json", "report.html"]
    assert sorted(path.name for path in out.iterdir()) == files
    settings = json.loads((out / "evaluation.json").read_text())["environment"]["settings"]
    assert settings == {"frames_per_step": 2, "time_limit": 3.0, "observation_lag": 1}


def test_keys_are_played_again(tmp_path: Path, evaluate: Evaluate) -> None:
    keys = np.random.default_rng(0).integers(0, 16, 30).repeat(9).astype(np.uint8)
    game = replay(keys)
    file = write_keys(tmp_path / "mine.txt", keys, "a game")
    code, printed, _ = evaluate(f"keys={file}")
    assert code == 0
    out = tmp_path / "mine-replay"
    assert sorted(path.name for path in out.iterdir()) == ["best.mp4", "config.yaml", "evaluation.json", "report.html"]
    report = json.loads((out / "evaluation.json").read_text())
    assert report["outcome"] == "fell"
    assert report["frames"] == len(game.states) - 1 < len(keys)
    assert report["metres"] == game.events[-1, 0]
    assert '"title": "' + str(file) in (out / "report.html").read_text()
    assert f"{report['frames']} of {len(keys)}" in printed


def test_the_champion_is_there_from_any_folder(
    tmp_path: Path, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert evaluate("policy=champion", "episodes=2", "video=false").code == 0
    evaluation = json.loads((tmp_path / "champion-evaluation" / "evaluation.json").read_text())
    assert evaluation["policy"] == "champion"
    assert evaluate("keys=champion", "video=false").code == 0
    replayed = json.loads((tmp_path / "champion-replay" / "evaluation.json").read_text())
    assert replayed["outcome"] == "finished"


class Undrawn(Odd):
    """A game of three decisions without pictures."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()


def test_a_policy_that_cannot_be_watched_is_to_be_recorded(
    tmp_path: Path, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch, run_command: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    with registered(Undrawn) as id:
        save_policy("policy.safetensors", untrained(EnvironmentSpec(id)))
        code, printed, _ = evaluate("policy=policy.safetensors", "episodes=2")
        assert code == 0
        assert "no film" in printed
        assert printed.splitlines()[-1] == "next: qwop-record source=policy source.policy=policy.safetensors"
        assert run_command(record, "source=policy", "source.policy=policy.safetensors").code == 0
