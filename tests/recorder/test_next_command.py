from collections.abc import Callable
from pathlib import Path

import pytest
from qwop.commands import record
from qwop.recorder.page.server import ENOUGH, NextCommand
from qwop.recorder.settings import RecorderPageSettings, RecordSettings


@pytest.fixture
def add_games(tmp_path: Path) -> Callable[[int], Path]:
    """Add empty files with the names of this many episodes; the folder."""
    folder = tmp_path / "me"

    def add(count: int) -> Path:
        episodes = folder / "episodes"
        episodes.mkdir(exist_ok=True, parents=True)
        there = len([*episodes.iterdir()])
        for number in range(there, there + count):
            (episodes / f"episode-{number:06d}-0123456789ab.parquet").touch()
        return folder

    return add


def test_the_command_is_named_once_with_the_game_that_makes_them_enough(
    add_games: Callable[[int], Path], tmp_path: Path
) -> None:
    said: list[str] = []
    named = NextCommand(tmp_path / "me", said.append)
    add_games(ENOUGH - 1)
    assert named.after_game() is None
    folder = add_games(1)
    assert named.after_game() == named.command == f"qwop-pretrain dataset={folder} out=runs/me"
    assert named.after_game() is None
    assert len(said) == 1
    assert said[0].endswith(f"qwop-pretrain dataset={folder} out=runs/me")


def test_a_folder_with_enough_games_is_not_told_again(add_games: Callable[[int], Path]) -> None:
    said: list[str] = []
    named = NextCommand(add_games(ENOUGH), said.append)
    add_games(1)
    assert named.after_game() is None
    assert said == []


@pytest.mark.parametrize(
    ("player", "folder"), [("AC/DC", "data/AC-DC"), ("..", "data/-"), ("../../me", "data/..-..-me")]
)
def test_games_of_any_player_are_recorded_within_data(player: str, folder: str) -> None:
    assert RecordSettings(source=RecorderPageSettings(player=player)).folder == folder


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("", "data/me"),
        ("source=keys source.files=[*.txt]", "data/me"),
        ("source=keys source.files=[*.txt] source.player=ada", "data/ada"),
        ("source=environment source.id=CartPole-v1", "data/me-CartPole-v1"),
        ("source=import source.files=[*.npz] source.player=kurodo", "data/kurodo"),
        ("source=policy source.policy=champion", "data/policy"),
        ("source=keyboard", "data/me"),
        ("source=keys dataset=games", "games"),
    ],
)
def test_each_source_has_a_folder(line: str, folder: str) -> None:
    assert record.read(line.split()).folder == folder
