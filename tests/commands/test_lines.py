"""Every documented command line gives the settings that it promises, in every phase."""

import copy
import re
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import finetune
from qwop.common import command
from qwop.common.errors import BadInput
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.replay.settings import BehaviourSettings
from qwop.finetune.schedules.phase import Phase
from qwop.finetune.settings import FinetuneSettings

from .lines import in_own_folder, read_expected, settings_of

EXPECTED = read_expected()


@pytest.mark.parametrize("line", EXPECTED)
def test_a_documented_line_gives_its_settings_in_every_phase(line: str) -> None:
    with in_own_folder():
        assert settings_of(line) == EXPECTED[line]


def settings(line: str) -> FinetuneSettings:
    choices: FinetuneSettings = finetune.read(line.split())
    return choices


def of_phases(line: str, name: str) -> list[Any]:
    """The value that a setting of the algorithm or the loop has in each phase; None where it has none."""
    return [getattr(a, name, getattr(b, name, None)) for a, b in settings(line).trained_by]


def test_what_is_typed_reaches_every_phase_whose_algorithm_has_it() -> None:
    line = "schedule=kurodo algorithm.learning_rate=1e-5 loop.num_envs=8 algorithm.epochs=2 algorithm.delta=3"
    assert of_phases(line, "learning_rate") == [1e-5] * 7
    assert of_phases(line, "num_envs") == [8] * 7
    assert of_phases(line, "epochs") == [2, 2, None, None, 2, 2, 2]
    assert of_phases(line, "delta") == [None, None, 3.0, 3.0, None, None, None]


def test_it_does_not_depend_on_where_the_schedule_lies(tmp_path: Path) -> None:
    shipped = Path(str(resources.files("qwop.conf"))) / "schedule" / "kurodo.yaml"
    own = shutil.copy(shipped, tmp_path / "mine.yaml")
    more = "algorithm.gamma=0.9 schedule.phases.fade.algorithm.epochs=9 loop.steps=16"
    assert settings(f"schedule={own} {more}").trained_by == settings(f"schedule=kurodo {more}").trained_by


def long(phase: Phase) -> bool:
    """True for a phase that a stage does not leave out."""
    return phase.length(1.0) > 0


def test_a_phase_has_settings_of_its_own_which_come_before_those_of_all() -> None:
    line = (
        "schedule=kurodo schedule.phases.fade.algorithm.epochs=9 algorithm.epochs=2 schedule.phases.polish.loop.steps=8"
    )
    assert of_phases(line, "epochs") == [2, 2, None, None, 2, 9, 9]
    assert of_phases(line, "steps")[4:] == [64, 64, 8]
    assert [len([*filter(long, stage.phases)]) for stage in settings(line).stages()] == [2, 2, 1, 1, 1]
    assert [len([*filter(long, stage.phases)]) for stage in settings("schedule=kurodo").stages()] == [2, 2, 3]
    other = "schedule=kurodo schedule.phases.fade.algorithm=ppo-small schedule.phases.polish.algorithm=dqn"
    assert [one.name for one, _ in settings(other).trained_by][3:] == ["acer", "ppo", "ppo", "dqn"]
    assert of_phases(other, "scale_returns")[3:] == [None, False, True, None]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("algorithm.clpi=1", "algorithm.clpi: no such setting"),
        ("algorithm.dueling=true", "algorithm.dueling: a setting of algorithm=dqn or ddqn, which is not chosen"),
        ("schedule.phases.mixed.algorithm.epochs=3", "schedule.phases.mixed.algorithm.epochs: no such setting"),
        ("schedule.phases.fade.loop.replay_ratio=3", "schedule.phases.fade.loop.replay_ratio: no such setting"),
        ("schedule.phases.fade.algorithm.epochs=0", "schedule.phases.fade.algorithm.epochs=0: expected a whole number"),
    ],
)
def test_what_no_algorithm_of_the_schedule_has_is_refused(word: str, message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}"):
        settings(f"schedule=kurodo {word}")


def test_an_algorithm_on_the_command_line_takes_the_place_of_the_schedules() -> None:
    assert settings("schedule=champion algorithm=ppo").algorithm == PpoSettings()
    assert settings("schedule=champion").algorithm == PpoSettings(
        gamma=0.975, minibatch=1024, gae_lambda=0.98, hidden=(512, 256)
    )
    assert settings("schedule=champion algorithm.epochs=9").algorithm.gamma == 0.975


def test_a_preset_sets_what_it_promises_whatever_group_it_lies_in(monkeypatch: pytest.MonkeyPatch) -> None:
    preset = {"algorithm": {"name": "acer", "gamma": 0.9}, "loop": {"steps": 7}, "behaviour": {"mode": "recorded"}}
    options = command._compose

    def compose(group: str, option: str) -> dict[str, Any]:
        return copy.deepcopy(preset) if group == "algorithm" else options(group, option)

    monkeypatch.setattr(command, "_compose", compose)
    choices = settings("schedule.decisions=5 algorithm=acer-small behaviour.epsilon=0.2")
    assert (choices.algorithm.gamma, choices.loop.steps) == (0.9, 7)
    assert choices.behaviour == BehaviourSettings(mode="recorded", epsilon=0.2)
