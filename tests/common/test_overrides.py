"""Settings of a schedule's phases, from the command line."""

import pytest
from qwop.common.errors import BadInput
from qwop.finetune.main import main as finetune
from qwop.finetune.schedules.phase import Ramp


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
        ("schedule.phases.mixed.entrpy=1", "no such setting; did you mean schedule.phases.mixed.entropy?"),
        ("schedule.phases.mixed.entropy=-1", "expected a number or [start, end], at least 0"),
        ("+schedule.phases.mixed.hours=1", "is there already; leave the + out"),
    ],
)
def test_a_mistake_in_a_phase_adds_nothing(override: str, said: str) -> None:
    with pytest.raises(BadInput) as wrong:
        finetune.read(["schedule=demonstrations-throughout", override])
    assert said in str(wrong.value)
