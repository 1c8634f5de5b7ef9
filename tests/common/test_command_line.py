import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from qwop.common.command import Command
from qwop.common.command_line import command_line
from qwop.common.settings import Settings, nested, setting
from qwop.finetune.main import main as finetune


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
        "qwop-finetune schedule=kurodo algorithm=acer",
        "qwop-finetune seed=3 schedule=from-clone algorithm=ppo loop.num_envs=64",
        "qwop-finetune schedule=champion '~schedule.phases.shaped' schedule.phases.strides.hours=3 algorithm=ppo",
        "qwop-finetune schedule=live-only '+schedule.phases.more={hours: 2, environment: {reward: speed}}' "
        "algorithm=dqn 'algorithm.hidden=[8]' distributed=ray distributed.actors=3",
        "qwop-finetune schedule=live-only '~schedule.phases.alone' '+schedule.phases.first={hours: 2}' "
        "'+schedule.phases.alone={hours: 3}' algorithm=acer",
    ],
)
def test_groups_are_given_by_an_option_and_what_differs_from_it(line: str) -> None:
    assert command_line("qwop-finetune", finetune.read(shlex.split(line)[1:])) == shlex.join(shlex.split(line))


def test_what_was_asked_for_but_did_not_make_it_can_be_left_out() -> None:
    assert command_line("walk", Walk(place="wood", limit=4), without=("limit",)) == "walk place=wood"


def test_defaults_are_left_out_and_one_setting_may_stand_in_front() -> None:
    assert command_line("walk", Walk()) == "walk"
    assert command_line("walk", Walk(place="a wood", limit=4), "place") == "walk 'a wood' limit=4"
