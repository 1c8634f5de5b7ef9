import shlex
from collections.abc import Mapping
from typing import Any

import pytest
from qwop.commands import finetune
from qwop.common.command import Command
from qwop.common.run_folder import command_line
from qwop.common.settings import Settings, Several


class Weather(Settings):
    """The weather."""

    rain: bool = False
    """Rain."""


class Walk(Settings):
    """The settings of the example."""

    place: str = "park"
    """Place."""
    numbers: Several[int] = (1, 2)
    """Numbers."""
    free: Mapping[str, Any] = {}
    """Anything."""
    limit: int | None = 3
    """Limit."""
    outside: Weather = Weather()
    """The weather elsewhere."""


WALK = Command("stroll", Walk, print, about="Walk.", examples=[])


@pytest.mark.parametrize(
    "settings",
    [
        Walk(),
        Walk(place="a long way", numbers=(7, 8, 9), free={"a": 1, "b": True}, limit=None),
        Walk(outside=Weather(rain=True)),
        Walk(numbers=(5,)),
    ],
)
def test_a_command_line_gives_its_settings_again(settings: Walk) -> None:
    program, *words = shlex.split(command_line("qwop-walk", settings))
    assert program == "qwop-walk"
    assert WALK.read(words) == settings


@pytest.mark.parametrize(
    "text",
    ["a,b", "a=b", "(a)", "[a]", "{a: 1}", "it's", 'a "b"', "a\\b", "a\\", "a\\'b", "é", "~a", "null", "1e3", " a"],
)
def test_texts_that_hydra_reads_otherwise_are_quoted(text: str) -> None:
    settings = Walk(place=text, free={"a": text})
    words = shlex.split(command_line("qwop-walk", settings))[1:]
    assert WALK.read(words) == settings


@pytest.mark.parametrize(
    "line",
    [
        "qwop-finetune schedule=kurodo algorithm.epochs=7 loop.num_envs=32",
        "qwop-finetune schedule=champion '~schedule.phases.shaped' schedule.phases.strides.hours=3 algorithm=ppo",
        "qwop-finetune schedule=live-only '+schedule.phases.more={hours: 2, environment: {reward: speed}}' "
        "algorithm=dqn 'algorithm.hidden=[8]' distributed=ray distributed.actors=3",
    ],
)
def test_a_line_that_was_typed_is_kept_and_settings_that_were_changed_give_one_that_is_equal(line: str) -> None:
    settings = finetune.read(shlex.split(line)[1:])
    assert command_line("qwop-finetune", settings) == shlex.join(shlex.split(line))
    other = settings.with_(seed=3)
    _, *words = shlex.split(command_line("qwop-finetune", other))
    again = finetune.read(words)
    assert again.trained_by == other.trained_by
    assert [one.with_(algorithm={}) for one in again.phases] == [one.with_(algorithm={}) for one in other.phases]
    assert again.with_(schedule=other.schedule) == other


def test_what_was_asked_for_but_did_not_make_it_can_be_left_out() -> None:
    assert command_line("walk", Walk(place="wood", limit=4), without=("limit",)) == "walk place=wood"


def test_defaults_are_left_out_and_one_setting_may_stand_in_front() -> None:
    assert command_line("walk", Walk()) == "walk"
    assert command_line("walk", Walk(place="a wood", limit=4), "place") == "walk 'a wood' limit=4"
