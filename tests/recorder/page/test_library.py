"""Games that the page lists."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.writer import DatasetWriter
from qwop.envs import replay
from qwop.envs.qwop.session import GameStart, Opening
from qwop.recorder.page.library import Library

from ...fakes import dataset_of, game_of

INFO = qwop_info(frames_per_step=3, reward="shaped", observation_lag=0)
SHORT, LONG, FALL = [0] * 3 + [1] * 6, [5] * 10 + [10] * 20, [4] * 200


def record(folder: Path, *games: list[int], player: str = "me") -> list[str]:
    """Names of the new games."""
    writer = DatasetWriter(folder, INFO)
    return [writer.write(game_of(keys, INFO, player=player)).stem for keys in games]


def test_own_games_are_listed_first_and_newest_first(tmp_path: Path) -> None:
    *_, damaged = record(tmp_path / "own", SHORT, FALL, LONG)
    (tmp_path / "own" / "episodes" / f"{damaged}.parquet").write_bytes(b"damaged")
    record(tmp_path / "expert", LONG, player="expert")
    entries = Library(tmp_path / "own", {"embedded": tmp_path / "expert"}).entries()
    assert [(entry["collection"], entry["name"][:14]) for entry in entries] == [
        ("own", "episode-000001"),
        ("own", "episode-000000"),
        ("embedded", "episode-000000"),
    ]
    fall, short, expert = entries
    assert (fall["outcome"], short["outcome"], expert["player"]) == ("fell", "stopped", "expert")
    assert short["seconds"] == pytest.approx(6 / 30)
    assert expert["metres"] == pytest.approx(replay(LONG).events[-1, 0])


def test_the_page_hears_if_a_game_cannot_be_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = record(tmp_path, SHORT)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.rename", full)
    answer = {"type": "not discarded", "name": name, "reason": "no space left on device"}
    assert Library(tmp_path).discard(name) == answer


def test_games_that_the_page_cannot_play_again_are_left_out(tmp_path: Path) -> None:
    assert Library(tmp_path).entries() == []  # no dataset yet
    elsewhere = game_of(SHORT, INFO, start=GameStart(opening=Opening(2), trigonometry="fdlibm"))
    dataset_of(tmp_path, INFO, replace(game_of(SHORT, INFO), keys=None), elsewhere)
    assert Library(tmp_path).entries() == []
