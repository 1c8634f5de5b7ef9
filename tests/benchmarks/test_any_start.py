"""Rows of the benchmark of demonstrations from any start, and their table."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import finetune

from .scripts import load_script

script = load_script("any_start")


@pytest.mark.parametrize("row", list(script.ROWS))
def test_the_commands_of_a_row_are_accepted(row: str) -> None:
    for command in script.ROWS[row]:
        program, *settings = shlex.split(
            command.format(seed=3, run="runs/one", runs="runs", games="data/few", others="[1,2]")
        )
        if program == "qwop-finetune":
            assert finetune.read(settings).seed == 3


def test_what_is_done_is_not_repeated_and_a_short_run_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []

    def call(command: str, limit: float) -> None:
        called.append(shlex.split(command))
        out = script._out(command)
        out.mkdir(parents=True, exist_ok=True)
        (out / ("dataset.json" if command.startswith("qwop-dataset") else "policy.safetensors")).write_bytes(b"")

    monkeypatch.setattr(script, "_call", call)
    monkeypatch.setattr(script, "open_dataset", lambda folder: Games(["finished"] * 4))
    script.carry_out("expert", 3, tmp_path, 60.0, short=True)
    script.carry_out("expert-kept", 3, tmp_path, 60.0, short=True)
    slider, first, kept = called
    assert f"out={tmp_path}/slider-3" in slider
    assert "schedule.phases.race.decisions=0" in first
    assert "resume=true" not in first
    assert f"policy={tmp_path}/slider-3/policy.safetensors" in kept
    script.carry_out("expert", 3, tmp_path, 60.0, short=True)
    assert called[-1] == [*first, "resume=true"]
    assert json.loads((tmp_path / "expert-3.json").read_text())["seed"] == 3
    called.clear()
    for _ in range(2):
        script.carry_out("cloned-3", 3, tmp_path, 60.0, short=True)
    assert [program for program, *_ in called] == ["qwop-dataset", "qwop-pretrain", "qwop-finetune", "qwop-finetune"]
    assert all(f"{tmp_path}/cloned-3-3/games" in " ".join(words) for words in called)


def test_fewer_games_are_drawn_from_those_that_finish_and_more_contain_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = ["finished", "fell"] * 8
    monkeypatch.setattr(script, "open_dataset", lambda folder: Games(outcomes))
    one, three = (
        set(range(16)) - set(json.loads(script._games(row, 0, tmp_path)["others"])) for row in ("expert-1", "expert-3")
    )
    assert (len(one), len(three)) == (1, 3)
    assert one < three
    assert all(outcomes[number] == "finished" for number in three)
    assert one != set(range(16)) - set(json.loads(script._games("cloned-1", 1, tmp_path)["others"]))
    assert script._games("expert-3", 0, tmp_path)["games"] == f"{tmp_path}/games"
    assert script._games("expert", 0, tmp_path) == {"games": "data/kurodo-contact", "others": "[]"}


class Games:
    """A dataset of games that end like this."""

    def __init__(self, outcomes: list[str]) -> None:
        self._outcomes = outcomes

    def __len__(self) -> int:
        return len(self._outcomes)

    def metadata(self, index: int) -> dict[str, Any]:
        return {"outcome": self._outcomes[index]}


def test_the_table_has_each_phase_over_all_seeds_and_the_policy_that_was_kept(tmp_path: Path) -> None:
    for seed, finishes in enumerate((20, 30)):
        phases = {"0-start": evaluation(0, 10), "1-mixed": evaluation(500, finishes), "1-mixed-250": evaluation(250, 5)}
        kept = {"fresh": {"finishes": 290, "median_seconds": 41.5}, "kept": "1-mixed", "processor_seconds": 200.0}
        found = json.dumps({"row": "kurodo", "seed": seed, "phases": phases, **kept})
        (tmp_path / f"kurodo-{seed}.json").write_text(found)
    (tmp_path / "kurodo-1-0.json").write_text(json.dumps({"row": "kurodo-1", "seed": 0, "phases": {}}))
    _, _, start, mixed, last = script.table_of(["kurodo", "expert"], tmp_path).splitlines()
    assert start.startswith("| kurodo: 0-start | 2 | 0 | 10.0 ± 0.0 (10, 10) |")
    assert mixed.startswith(
        "| kurodo: 1-mixed | 2 | 500 | 25.0 ± 63.5 (20, 30) | 42.2 ± 0.0 (42.25, 42.25) | 90.0 ± 0.0"
    )
    assert last.startswith("| kurodo: the policy kept, 300 drawn | 2 | 500 | 25.0 ± 63.5 (20, 30) |")
    assert last.endswith("| 290.0 ± 0.0 (290, 290) | 41.5 ± 0.0 (41.5, 41.5) | 200.0 ± 0.0 |")


def evaluation(decisions: int, finishes: int) -> dict[str, Any]:
    drawn = {"finishes": 90, "median_seconds": 43.0}
    return {"decisions": decisions, "finishes": finishes, "median_seconds": 42.25, "drawn": drawn}
