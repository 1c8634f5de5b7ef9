"""Command lines that give the same settings again."""

import shlex
from pathlib import Path

import pytest
from qwop.commands import finetune, pretrain
from qwop.common.run_folder import command_line, words_of, write_configuration

LINE = "qwop-finetune schedule=kurodo '+schedule.phases.more={hours: 2, environment: {reward: speed}}' policy='a b'"


def test_a_line_that_was_typed_is_kept_with_its_settings_and_in_a_runs_folder(tmp_path: Path) -> None:
    settings = finetune.read(shlex.split(LINE)[1:])
    line = command_line("qwop-finetune", settings.with_(seed=3).words)
    assert line == shlex.join(shlex.split(LINE))
    assert words_of(write_configuration(settings, tmp_path) / "config.yaml") == shlex.split(line)[1:]
    assert finetune.read(shlex.split(line)[1:]) == settings
    assert "words" not in dict(settings)  # which trackers get


def test_settings_can_be_left_out() -> None:
    assert command_line("walk", ["place=wood", "+limit=4"], without=("limit",)) == "walk place=wood"


@pytest.mark.parametrize("text", ["", "seed: 0\n", "# 3\n", "# [\n", "# a line\nseed: 0\n"])
def test_settings_of_another_origin_have_no_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(text)
    assert words_of(tmp_path / "config.yaml") == []


def test_settings_without_a_command_line_have_no_words() -> None:
    assert type(pretrain.read([]))().words == ()
