import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from qwop.common.command import Command
from qwop.common.command_line import command_line
from qwop.common.settings import Settings, nested, setting


@dataclass(frozen=True)
class Weather(Settings):
    """The weather."""

    rain: bool = setting(False, "Rain.")


@dataclass(frozen=True)
class Walk(Settings):
    """The settings of the example."""

    place: str = setting("park", "Place.")
    numbers: tuple[int, ...] = setting((1, 2), "Numbers.")
    free: Mapping[str, Any] = setting({}, "Anything.")
    limit: int | None = setting(3, "Limit.")
    weather: Weather = nested(Weather, "The weather.", inline=True)
    outside: Weather = nested(Weather, "The weather elsewhere.")


WALK = Command("stroll", Walk, print, about="Walk.", examples=[])


@pytest.mark.parametrize(
    "settings",
    [
        Walk(),
        Walk(place="a long way", numbers=(7, 8, 9), free={"a": 1, "b": True}, limit=None),
        Walk(weather=Weather(True), outside=Weather(True)),
        Walk(numbers=(5,)),
    ],
)
def test_a_command_line_gives_its_settings_again(settings: Walk) -> None:
    program, *words = shlex.split(command_line("qwop-walk", settings))
    assert program == "qwop-walk"
    assert WALK.read(words) == settings


def test_defaults_are_left_out_and_one_setting_may_stand_in_front() -> None:
    assert command_line("walk", Walk()) == "walk"
    assert command_line("walk", Walk(place="a wood", limit=4), "place") == "walk 'a wood' limit=4"
