"""Settings of a schedule's phases, from the command line."""

import pytest
from qwop.common.errors import BadInput
from qwop.common.overrides import normalise
from qwop.finetune.main import main as finetune
from qwop.finetune.schedules.phase import Ramp
from qwop.finetune.settings import FinetuneSettings
from qwop.study.command import main as study


@pytest.mark.parametrize("plus", ["", "+", "++"])
def test_a_phase_is_given_a_setting_that_its_schedule_leaves_out(plus: str) -> None:
    settings = finetune.read(["schedule=demonstrations-throughout", f"{plus}schedule.phases.mixed.entropy=[1,0]"])
    phase = settings.schedule.phases[0]
    assert phase.entropy == Ramp(1.0, 0.0)
    assert phase.hours == 65


def test_an_environment_setting_of_a_phase_needs_no_plus_either() -> None:
    settings = finetune.read(["schedule=demonstrations-throughout", "schedule.phases.mixed.environment.reward=race"])
    assert settings.schedule.phases[0].environment == {"reward": "race"}
    settings = finetune.read(["schedule=from-clone", "schedule.phases.values.environment.shaping=0.5"])
    assert settings.schedule.phases[0].environment == {"reward": "race", "shaping": 0.5}
    settings = finetune.read(["schedule=from-clone", "schedule.phases.values.environment={shaping: 0.5}"])
    assert settings.schedule.phases[0].environment == {"reward": "race", "shaping": 0.5}
    settings = finetune.read(["schedule=from-clone", "schedule.phases.race.restarts.order=backwards"])
    restarts = settings.schedule.phases[1].restarts
    assert restarts is not None
    assert (restarts.share, restarts.order) == (0.3, "backwards")


def test_an_added_phase_keeps_its_plus() -> None:
    added = [
        "schedule=demonstrations-throughout",
        "+schedule.phases.more={hours: 1}",
        "schedule.phases.mixed.imitation=1",
    ]
    assert [phase.name for phase in finetune.read(added).schedule.phases] == ["mixed", "more"]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("schedule.phases.mixd.entropy=1", "no such setting; did you mean schedule.phases.mixed"),
        ("schedule.phases.mixd.hours=1", "no such setting; did you mean schedule.phases.mixed.hours"),
        ("schedule.phases.polish.hours=1", "no such setting; the settings of schedule.phases are mixed"),
        ("environment.goal=3", "no such setting; did you mean 'schedule.phases.NAME.environment={goal: …}'?"),
        ("phases.mixd.hours=1", "no such setting; did you mean schedule.phases.mixed.hours?"),
        ("schedul.phases.mixed.hours=1", "no such setting; did you mean schedule.phases.mixed.hours?"),
        ("algorithm.num_envs=3", "no such setting; did you mean loop.num_envs?"),
        ("schedule.phases.mixed.entrpy=1", "no such setting; did you mean schedule.phases.mixed.entropy?"),
        ("schedule.phases.mixed.entropy=-1", "expected a number or [start, end], at least 0"),
        ("+schedule.phases.mixed.hours=1", "is there already; leave the + out"),
    ],
)
def test_a_mistake_in_a_phase_adds_nothing(override: str, said: str) -> None:
    with pytest.raises(BadInput) as wrong:
        finetune.read(["schedule=demonstrations-throughout", override])
    assert said in str(wrong.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["schedul=kurodo"], "schedul: no such setting; did you mean schedule?"),
        (["schedule=kuroda"], "schedule=kuroda: no such option; did you mean kurodo? The options are "),
        (
            ["schedule=kurodo", "algorithm=dqm"],
            "algorithm=dqm: no such option; did you mean dqn? The options are acer,",
        ),
        (["schedule=from-clone", "schedule.phases.rase.hours=1"], "did you mean schedule.phases.race.hours?"),
    ],
)
def test_the_nearest_name_is_suggested(words: list[str], said: str) -> None:
    with pytest.raises(BadInput) as wrong:
        finetune.read(words)
    assert said in str(wrong.value)


def test_a_value_in_the_place_of_named_settings_says_how_to_name_them() -> None:
    with pytest.raises(BadInput, match=r"behaviour=\[a\]: expected settings by name, such as behaviour\.name=value"):
        finetune.read(["schedule=kurodo", "behaviour=[a]"])


@pytest.mark.parametrize("given", ["study={a:1}", "study=[a]", "study="])
def test_what_is_no_name_of_an_option_is_told_the_names(given: str) -> None:
    with pytest.raises(BadInput) as wrong:
        study.read([given])
    assert str(wrong.value).startswith(f"{given}: expected the name of an option, cartpole-dqn, or a file of your own")


def test_commas_of_a_number_are_no_plus() -> None:
    with pytest.raises(BadInput, match=r"^schedule\.decisions=4,096: several values"):
        finetune.read(["schedule.decisions=4,096"])


def test_lengths_alone_change_the_default_schedule() -> None:
    schedule = finetune.read(["schedule.scale=0.1"]).schedule
    assert [phase.name for phase in schedule.phases] == ["mixed", "values", "fade", "polish"]
    assert schedule.scale == 0.1
    settings = finetune.read(["environment=CartPole-v1", "algorithm=dqn-small", "schedule.decisions=75000"])
    assert [phase.name for phase in settings.schedule.phases] == ["alone"]
    assert settings.schedule.decisions == 75000
    assert settings.starts_from_scratch
    assert not finetune.read(["schedule.scale=0.1"]).starts_from_scratch


def test_two_lengths_of_a_schedule_are_refused() -> None:
    with pytest.raises(BadInput, match=r"schedule\.decisions=75000: scale=0\.5 sets the length, too"):
        finetune.read(["schedule=kurodo", "schedule.decisions=75000", "schedule.scale=0.5"])


def test_a_phase_may_have_its_length_in_decisions() -> None:
    phases = finetune.read(["schedule=kurodo-published", "schedule.phases.mixed.decisions=5000"]).schedule.phases
    assert [phase.length(10.0) for phase in phases] == [900_000, 5000, 900_000]
    added = finetune.read(["schedule=kurodo", "+schedule.phases.more={decisions: 7}"]).schedule.phases[-1]
    assert (added.hours, added.length(10.0)) == (None, 7)


@pytest.mark.parametrize("option", ["-m", "--multirun"])
def test_the_default_of_a_group_that_is_changed_stands_beside_the_change(option: str) -> None:
    typed = [option, "seed=1,2", "environment=CartPole-v1", "schedule.decisions=10"]
    made = normalise(typed, FinetuneSettings)
    assert made[0] == option
    assert {*made[1:]} == {"schedule=live-only", "seed=1,2", "environment=CartPole-v1", "++schedule.decisions=10"}
    assert normalise([*typed[1:], option], FinetuneSettings)[-1] == option
