"""Options that are files: a path instead of a name, and the option of another group that a file is made for."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from qwop.common.command import Command
from qwop.common.errors import BadInput
from qwop.common.option_files import with_option_files
from qwop.common.settings import Settings, choice_of
from qwop.common.typed_texts import quoted
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.main import main as finetune
from qwop.finetune.schedules.phase import Phase, Ramp
from qwop.finetune.settings import FinetuneSettings
from qwop.study.command import main as study

OWN = "scale: 0.5\nphases:\n  brief: {hours: 2, learning_rate: [1, 0]}\n"


def test_a_schedule_brings_the_algorithm_that_it_is_made_for() -> None:
    settings = finetune.read(["schedule=from-clone"])
    assert isinstance(settings.algorithm, PpoSettings)
    assert settings.loop.num_envs == 64  # the loop follows
    assert settings.notes("QWOP-v1") == []
    assert isinstance(finetune.read(["+schedule=kurodo"]).algorithm, AcerSettings)
    assert isinstance(finetune.read(["schedule=live-only"]).algorithm, AcerSettings)  # made for any: the default


def test_options_of_hydra_may_stand_behind_a_schedule() -> None:
    assert with_option_files(["schedule=kurodo", "--cfg=job"], FinetuneSettings)[-1] == "--cfg=job"


def test_an_algorithm_that_was_chosen_stays_and_a_note_says_so() -> None:
    settings = finetune.read(["schedule=from-clone", "algorithm=acer"])
    assert isinstance(settings.algorithm, AcerSettings)
    assert settings.notes("QWOP-v1") == ["note: this schedule is made for algorithm=ppo-clone; the run learns by acer"]
    small = finetune.read(["schedule=from-clone", "algorithm=ppo-small"])
    assert small.loop.num_envs == 8
    assert small.notes("QWOP-v1") == []
    with pytest.raises(BadInput, match="algorithm is not set"):
        finetune.read(["schedule=from-clone", "algorithm=null"])


def test_settings_for_qwop_in_another_environment_are_noted() -> None:
    going_on = ["policy=cart-pole.safetensors", "schedule=live-only"]
    (note,) = finetune.read(going_on).notes("CartPole-v1")
    assert note.startswith("note: algorithm=acer has the settings for QWOP; algorithm=ppo-small has those for small")
    assert finetune.read([*going_on, "algorithm=ppo-small"]).notes("CartPole-v1") == []
    assert finetune.read([*going_on, "algorithm.gamma=0.9"]).notes("CartPole-v1") == []  # somebody chose
    assert finetune.read(going_on).notes("QWOP-v1") == []


def test_settings_of_the_algorithm_that_a_schedule_brings_can_be_changed() -> None:
    settings = finetune.read(["schedule=champion", "algorithm.clip=0.3", "schedule.scale=0.1"])
    assert isinstance(settings.algorithm, PpoSettings)
    assert settings.algorithm.clip == 0.3


def test_a_setting_that_a_schedule_leaves_out_needs_no_plus() -> None:
    assert finetune.read(["schedule=kurodo-published"]).schedule.keep == "last"
    assert finetune.read(["schedule=kurodo-published", "schedule.keep=best"]).schedule.keep == "best"
    assert finetune.read(["schedule=from-clone", "schedule.keep=last"]).schedule.keep == "last"
    with pytest.raises(BadInput, match=r"schedule\.keep=first"):
        finetune.read(["schedule=kurodo", "schedule.keep=first"])
    assert finetune.read(["schedule.keep=best"]).schedule.phases[0].name == "mixed"  # of the default schedule


def test_a_setting_within_what_a_study_leaves_out_needs_no_plus(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(
        "command: qwop-finetune\nspace: {loop.steps: {type: int, low: 1, high: 9}}\n"
        "objective: {file: a.json, figure: mean}\n"
    )
    read = study.read([f"study={own}", "study.budget.trials=7", "study.objective.direction=minimise"]).study
    assert (read.budget.trials, read.budget.repeats, read.objective.direction) == (7, 3, "minimise")
    with pytest.raises(BadInput, match=r"study\.budget\.trails: no such setting"):
        study.read([f"study={own}", "study.budget.trails=7"])


@pytest.mark.parametrize("name", ["careful.yaml", "with space, and comma.yml"])
def test_a_path_is_a_schedule_of_ones_own(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(OWN)
    settings = finetune.read([f"schedule={tmp_path / name}", "schedule.phases.brief.hours=3"])
    assert settings.schedule.scale == 0.5
    assert settings.schedule.phases == (Phase("brief", 3.0, learning_rate=Ramp(1.0, 0.0)),)
    assert isinstance(settings.algorithm, AcerSettings)
    (tmp_path / name).write_text("algorithm: ppo-small\n" + OWN)
    assert isinstance(finetune.read([f"schedule={tmp_path / name}"]).algorithm, PpoSettings)


@pytest.mark.parametrize("name", ["o'k.yaml", "a,b=1.yaml", "früh und spät.yaml"])
def test_a_path_may_stand_in_quotes_as_any_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(OWN)
    assert finetune.read([f"schedule={quoted(str(tmp_path / name))}"]).schedule.scale == 0.5


def test_a_schedule_of_ones_own_and_its_phases_may_have_any_names(tmp_path: Path) -> None:
    (tmp_path / "früh.yaml").write_text("phases: {früh: {decisions: 100}, 後: {decisions: 50}}", encoding="utf-8")
    given = f"schedule={tmp_path / 'früh.yaml'}"
    lengths = {
        phase.name: phase.decisions for phase in finetune.read([given, "schedule.phases.früh.decisions=7"]).phases
    }
    assert lengths == {"früh": 7, "後": 50}
    assert [phase.name for phase in finetune.read([given, "~schedule.phases.後"]).phases] == ["früh"]
    with pytest.raises(BadInput, match=r"schedule\.phases\.früh\.houers: no such setting"):
        finetune.read([given, "schedule.phases.früh.houers=1"])


@pytest.mark.parametrize("option", [["--config-dir", "{}"], ["--config-dir={}"], ["-cd", "{}"]])
def test_a_schedule_in_a_folder_of_ones_own_brings_its_algorithm(tmp_path: Path, option: list[str]) -> None:
    (tmp_path / "schedule").mkdir()
    (tmp_path / "schedule" / "mine.yaml").write_text("algorithm: ppo\n" + OWN)
    arguments = [one.format(tmp_path) for one in option]
    assert with_option_files([*arguments, "schedule=mine"], FinetuneSettings)[-1] == "algorithm=ppo"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "mine.yaml: .*; expected a file of your own, or one of anneal, any-start"),
        ("a: [", "mine.yaml: not YAML settings"),
        ("3", "mine.yaml: not YAML settings .not a mapping"),
        ("[1, 2]", "mine.yaml: not YAML settings .not a mapping"),
        (
            "algorithm: sarsa\n" + OWN,
            "mine.yaml: algorithm: sarsa, expected acer, acer-clone, acer-corrections, acer-expert, acer-replay",
        ),
        ("scale: 1.0", "schedule.phases is not set"),
        ("phases: {one: {hours: few}}", "schedule.phases.one.hours=few: expected"),
    ],
)
def test_a_file_that_is_no_schedule_is_refused_by_name(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "mine.yaml").write_text(content)
    with pytest.raises(BadInput, match=message):
        finetune.read([f"schedule={tmp_path / 'mine.yaml'}"])


def test_a_name_that_is_none_mentions_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no such option; choose one of anneal, .*, or a file of your own"):
        finetune.read([f"schedule={tmp_path}/careful"])


def test_groups_without_files_take_no_paths() -> None:
    @dataclass(frozen=True)
    class Dog(Settings):
        """A dog."""

    @dataclass(frozen=True)
    class Walk(Settings):
        """A walk."""

        companion: Dog = choice_of({"dog": Dog}, "dog", "Who walks.")

    command = Command("walk-with-a-path", Walk, lambda settings: None, "Walk.", [])
    with pytest.raises(BadInput, match=r"companion=cat: no such option; choose one of dog$"):
        command.read(["companion=cat"])


def test_from_person_is_a_longer_and_bolder_from_clone_without_imitation() -> None:
    clone, person = (finetune.read([f"schedule={name}"]) for name in ("from-clone", "from-person"))
    assert any(phase.imitates for phase in clone.schedule.phases)
    assert not any(phase.imitates for phase in person.schedule.phases)
    pairs = list(zip(clone.schedule.phases, person.schedule.phases, strict=True))
    assert all(mine.hours < theirs.hours and mine.evaluations <= theirs.evaluations for mine, theirs in pairs)
    assert all(mine.entropy.start <= theirs.entropy.start for mine, theirs in pairs)
    own = ("hours", "evaluations", "entropy", "weight_average")
    without = tuple(
        replace(mine, imitation=Ramp(0.0, 0.0), **{name: getattr(theirs, name) for name in own})
        for mine, theirs in pairs
    )
    assert replace(clone, schedule=replace(clone.schedule, phases=without)) == person


def test_a_wrong_setting_in_a_file_is_refused_with_the_files_name(
    tmp_path: Path, run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own.yaml"
    path.write_text(OWN.replace("hours: 2", "hours: many"))
    said = f"{path}: schedule.phases.brief.hours=many"
    with pytest.raises(BadInput, match=re.escape(said)):
        finetune.read([f"schedule={path}"])
    code, _, wrong = run_command(finetune, f"schedule={path}")
    assert code == 2
    assert wrong.startswith(f"qwop-finetune: {said}")
    with pytest.raises(BadInput) as refused:  # of the command line itself
        finetune.read([f"schedule={path}", "seed=-1"])
    assert str(refused.value).startswith("seed=")
