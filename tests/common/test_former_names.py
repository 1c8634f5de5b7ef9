"""Names of earlier versions are taken, and said to be former ones."""

import pytest
from qwop.common.former_names import current_overrides, current_phases, current_settings
from qwop.finetune.main import main as finetune


@pytest.mark.parametrize(
    ("given", "now"),
    [
        ("schedule=alone", "schedule=live-only"),
        ("+schedule=mix-only", "+schedule=demonstrations-throughout"),
        ("schedule=speed", "schedule=ddqn-speed"),
        ("schedule=taught", "schedule=vtrace-kickstarted"),
        ("schedule.phases.taught.teaching=[1,0]", "schedule.phases.taught.kickstarting=[1,0]"),
        ("+schedule.phases.more={hours: 1, teaching: 0.5}", "+schedule.phases.more={hours: 1, kickstarting: 0.5}"),
        ("teaching.weight=0.5", "kickstarting.weight=0.5"),
        ("+teaching.weight=0.5", "+kickstarting.weight=0.5"),
    ],
)
def test_a_former_name_is_taken_with_a_note(given: str, now: str) -> None:
    assert current_overrides([given]) == ([now], [f"{given} is now {now}"])


def test_a_setting_that_is_gone_is_left_out_if_it_had_today_s_value() -> None:
    given, other = "algorithm.trust_region=logits", "algorithm.trust_region=probabilities"
    assert current_overrides([given, other]) == ([other], [f"{given} is the only choice now, and no setting"])
    assert current_overrides(["evolution.literal=false", "agent.control_gamma=0.9"])[0] == []
    file = {"algorithm": {"trust_region": "logits", "delta": 1.0, "prediction_batch": 64}}
    assert current_settings(file) == {"algorithm": {"delta": 1.0, "prediction_batch": 64}}


@pytest.mark.parametrize("given", ["schedule=kurodo", "player=alone", "environment.teaching=1", "--help", "teaching"])
def test_other_texts_stay(given: str) -> None:
    expected = "kickstarting" if given == "teaching" else given
    assert current_overrides([given])[0] == [expected]


def test_a_phase_is_renamed_in_the_schedules_that_renamed_it() -> None:
    theirs, own = "schedule.phases.wheels.hours=3", "~schedule.phases.wheels"
    made, _ = current_overrides(["schedule=champion", theirs, own])
    assert made[1:] == ["schedule.phases.shaped.hours=3", "~schedule.phases.shaped"]
    assert current_overrides(["schedule=mine.yaml", theirs])[0][1] == theirs


def test_a_file_with_former_names_is_read() -> None:
    file = {"phases": {"a": {"hours": 1, "teaching": 1.0, "environment": {"teaching": 2}}}, "teaching": {"weight": 3}}
    assert current_settings(file) == {
        "phases": {"a": {"hours": 1, "kickstarting": 1.0, "environment": {"teaching": 2}}},
        "kickstarting": {"weight": 3},
    }


def test_a_run_that_began_with_a_former_phase_goes_on() -> None:
    assert current_phases({"wheels": 1, "race": 2}, {"shaped": 1, "race": 2}) == {"shaped": 1, "race": 2}
    assert current_phases({"wheels": 1}, {"wheels": 1, "shaped": 2}) == {"wheels": 1}  # a schedule of the user's own


def test_the_command_has_the_settings_of_today_s_name() -> None:
    former = ["policy=scratch", "environment=CartPole-v1", "algorithm=ppo-small"]
    assert finetune.read([*former, "schedule=alone"]) == finetune.read([*former, "schedule=live-only"])
