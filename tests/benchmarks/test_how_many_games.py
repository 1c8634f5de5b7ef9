"""Cells of the curve over the number of games: their games and commands, the table and the figure."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from qwop.common.command import Command

from .scripts import load_script

script = load_script("how_many_games")


def test_games_are_drawn_by_the_seed_and_more_contain_fewer() -> None:
    solved = [number % 4 == 0 for number in range(40)]
    three, ten = (script.some_of(solved, "any", count, seed=1) for count in (3, 10))
    assert ten[:3] == three
    assert sorted(script.some_of(solved, "any", 40, seed=1)) == list(range(40))
    assert script.some_of(solved, "any", 3, seed=2) != three


@pytest.mark.parametrize(("which", "wanted"), [("finished", True), ("fallen", False)])
def test_only_games_of_a_kind_are_shown_and_all_of_them_if_there_are_not_enough(which: str, wanted: bool) -> None:
    solved = [number % 4 == 0 for number in range(40)]
    shown = script.some_of(solved, which, 40, seed=0)
    assert len(shown) == solved.count(wanted)
    assert all(solved[number] == wanted for number in shown)


@pytest.mark.parametrize("environment", ["QWOP-v1", "DoorKey-v0"])  # the others say less than the latter
@pytest.mark.parametrize("way", list(script.WAYS))
@pytest.mark.parametrize("games", [0, 3])
def test_the_commands_of_a_cell_are_accepted(environment: str, way: str, games: int) -> None:
    cell = script.Cell(environment, "data", "any", games, 7, way)
    command, words = script.command_of(cell, Path("games"), Path("run") / way)
    read = checked(command, words)
    assert read.seed == 7
    if way != "clone":
        assert read.schedule.decisions == script.TASK_OF[environment].decisions
        demonstrated = any(max(phase.demonstrations.start, phase.demonstrations.end) for phase in read.schedule.phases)
        assert demonstrated == (way == "replay" and games > 0)
        assert (read.policy == "scratch") == (way == "replay" or not games)


def checked(command: Command[Any], words: list[str]) -> Any:
    return command.read(words)


def cell(dataset: str, which: str, games: int, way: str, seed: int, solved: float) -> dict[str, Any]:
    return {
        "dataset": dataset, "which": which, "games": games, "way": way, "seed": seed, "solved": solved,
        "judged": 50, "mean_return": 200.0 + games, "mean_metres": None, "demonstrator": 0.6, "cpu": 10.0 + games,
    }  # fmt: skip


CELLS = [
    cell("CartPole-v1", "any", 0, "live", 0, 0.1),
    cell("CartPole-v1", "any", 3, "live", 1, 0.9),
    cell("CartPole-v1", "any", 3, "live", 0, 0.5),
    cell("CartPole-v1", "any", 3, "clone", 0, 0.25),
    cell("kurodo-contact", "any", 3, "live", 0, 0.8),
    cell("kurodo-contact", "fallen", 3, "live", 0, 0.1),
    cell("beginner-contact", "any", 3, "live", 0, 0.0),
]


def test_the_table_has_the_mean_share_for_each_number_of_games_and_every_seed() -> None:
    rows = script.table(CELLS).splitlines()
    assert (
        rows[2]
        == "| CartPole-v1 | as they come | clone, then play | 10 %, 200 |  | 70 % (50, 90), 203 |  |  | 10 to 13 |"
    )
    assert rows[3] == "| CartPole-v1 | as they come | clone |  |  | 25 %, 203 |  |  | 13 to 13 |"


def test_the_figure_has_a_chart_for_each_environment_and_one_for_each_choice_of_games() -> None:
    drawn = ElementTree.fromstring(script.figure(CELLS))
    charts = {chart.get("aria-label"): chart for chart in drawn if chart.get("aria-label")}
    assert list(charts) == [
        "QWOP, Kurodo's games: % of games solved",
        "CartPole: % of games solved",
        "QWOP, Kurodo's games, then play: % of games solved",
    ]
    texts = ["".join(one.itertext()) for one in charts["QWOP, Kurodo's games, then play: % of games solved"].iter()]
    assert {"0", "1", "3", "10", "40", "as they come", "falls alone", "a beginner"} <= set(texts)
