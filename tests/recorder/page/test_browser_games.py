"""Games of the page on their way into the dataset."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.datasets.folder import ASIDE
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.writer import DatasetWriter
from qwop.envs.qwop.keys_file import read_keys
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.page.browser_games import BrowserGames, ReceivedGame
from qwop.recorder.page.messages import Begin

INFO = qwop_info(frames_per_step=3, reward="shaped", observation_lag=0)
KEYS = [0] * 5 + [5] * 20 + [10] * 15


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def receiver(tmp_path: Path, said: list[str]) -> "Receiver":
    return Receiver(tmp_path, said)


class Receiver(BrowserGames):
    """Games of the browser into a folder."""

    def __init__(self, folder: Path, said: list[str]) -> None:
        super().__init__(INFO, 0.05, folder, said.append)
        self._writer = GameWriter(DatasetWriter(folder, INFO))

    def keep(self, game: ReceivedGame, sha256: str | None = None) -> dict[str, str]:
        return self.record(game, self._writer, sha256)


def received(game: Any, frames: int | None = None, tempo: float = 1, file: str | None = None) -> ReceivedGame:
    begin = Begin(type="begin", game=game.game, player="ada", tempo=tempo, file=file)
    return ReceivedGame(begin, bytearray(game.frames[:frames]))


def test_a_game_is_recorded_with_its_keys(receiver: Receiver, tmp_path: Path, game_of: Callable[..., Any]) -> None:
    game = game_of(KEYS)
    assert receiver.keep(received(game, tempo=0.5), game.sha256)["name"][:14] == "episode-000000"
    (episode,) = open_dataset(tmp_path)
    np.testing.assert_array_equal(episode.keys_of_frames, KEYS)
    assert (episode.player, episode.source, episode.outcome) == ("ada", "page at 0.5 times the pace", "stopped")


@pytest.mark.parametrize("file", [None, "mine.txt"])
def test_a_game_that_is_sent_again_is_recorded_once(
    tmp_path: Path, game_of: Callable[..., Any], file: str | None
) -> None:
    game = game_of(KEYS)
    for _ in range(2):  # the second receiver finds the game in the dataset
        receiver = Receiver(tmp_path, [])
        for frames in (None, 20, None):
            assert receiver.keep(received(game, frames, file=file))["name"][:14] == "episode-000000"
    assert len(open_dataset(tmp_path)) == 1


def test_more_of_a_game_takes_the_place_of_its_beginning(
    receiver: Receiver, tmp_path: Path, game_of: Callable[..., Any]
) -> None:
    game = game_of(KEYS)
    assert receiver.keep(received(game, 20))["name"][:14] == "episode-000000"
    assert receiver.keep(received(game), game.sha256)["name"][:14] == "episode-000001"
    (episode,) = open_dataset(tmp_path)
    np.testing.assert_array_equal(episode.keys_of_frames, KEYS)
    assert len(list((tmp_path / ASIDE).glob("episode-*-discarded.aside"))) == 1  # nothing recorded is deleted


def test_other_games_with_the_same_keys_are_other_games(
    receiver: Receiver, tmp_path: Path, game_of: Callable[..., Any]
) -> None:
    for number in (1, 2):
        receiver.keep(received(game_of(KEYS, number)))
    assert len(open_dataset(tmp_path)) == 2


def test_a_game_without_a_key_is_not_recorded(receiver: Receiver, game_of: Callable[..., Any]) -> None:
    assert receiver.keep(received(game_of([0] * 9))) == {}


def test_a_game_that_the_browser_played_otherwise_is_kept_apart_and_said(
    receiver: Receiver, said: list[str], tmp_path: Path, game_of: Callable[..., Any]
) -> None:
    answer = receiver.keep(received(game_of(KEYS)), "0" * 64)
    assert answer == {"problem": "the browser played it otherwise than the simulator does"}
    assert list(tmp_path.glob("*.parquet")) == []
    (path,) = (tmp_path / ASIDE).glob("differing-*")
    assert path.name == "differing-000000000001.txt"
    assert read_keys(path).tolist() == KEYS
    assert str(path) in said[0]


def test_a_game_that_went_on_in_the_browser_after_its_end_is_kept_apart(
    receiver: Receiver, game_of: Callable[..., Any]
) -> None:
    game = received(game_of([4] * 200))  # falls
    game.frames += b"\4\4"
    assert "problem" in receiver.keep(game)


def test_frames_that_are_there_are_not_appended_again_and_a_gap_is_refused(game_of: Callable[..., Any]) -> None:
    game = game_of(KEYS)
    whole = received(game, 0)
    for start, end in ((0, 10), (5, 20), (0, 3), (20, None)):
        assert whole.add(start, bytes(game.frames[start:end]))
    assert whole.frames == bytes(game.frames)
    assert not whole.add(len(game.frames) + 1, b"\1")


def test_a_copy_of_a_game_under_way_has_its_frames_so_far(receiver: Receiver, game_of: Callable[..., Any]) -> None:
    game = received(game_of(KEYS), 20)
    copied = receiver.so_far(game)
    assert copied is not None
    np.testing.assert_array_equal(copied.keys_of_frames, KEYS[:20])
    assert copied.origin.page_game == game.begin.game
    assert receiver.so_far(received(game_of(KEYS), 5)) is None  # no key yet
    fallen = received(game_of([4] * 200))
    fallen.frames += b"\4\4"  # after its end
    assert receiver.so_far(fallen) is None
