"""The stages of the champion's training."""

from pathlib import Path

import pytest
from qwop.commands import distil, finetune, search
from qwop.common.command import Command

from .scripts import load_script

COMMANDS: dict[str, Command] = {"qwop-finetune": finetune, "qwop-search": search, "qwop-distil": distil}

champion = load_script("champion")


def test_each_stage_is_a_command_that_takes_its_settings(tmp_path: Path) -> None:
    found = champion.stages(tmp_path, 301, ["algorithm.precision=bfloat16"])
    assert [stage.folder.name for stage in found][-1] == "champion"
    for stage in found:
        name, *settings = stage.command
        COMMANDS[name].read([*settings, f"out={stage.folder}"])


def test_a_stage_uses_only_policies_and_games_of_earlier_ones(tmp_path: Path) -> None:
    earlier: set[str] = set()
    for stage in champion.stages(tmp_path, 301):
        used = {part for word in stage.command for part in word.replace("[", "/").split("/") if part in NAMES}
        assert used <= earlier
        assert used or not earlier
        earlier.add(stage.folder.name)


def test_stages_that_are_done_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(champion.subprocess, "run", lambda command, **how: ran.append(command))
    first, second, *_ = champion.stages(tmp_path, 301)
    for stage in (first, second):
        stage.folder.mkdir()
    (second.folder / "checkpoints").mkdir()
    (second.folder / "checkpoints" / "decisions-1.checkpoint").touch()
    for stage in (first, first, second):
        champion.run_once(*stage)
    assert [command[-1] for command in ran] == [f"out={first.folder}", "resume=true"]


NAMES = {*champion.TRAINING, *champion.LESSON}
