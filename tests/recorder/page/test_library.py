"""Games that the page lists."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets.arrays import write_episode
from qwop.datasets.from_keys import episode_from_keys, qwop_info, replay_episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.session import GameStart, Opening
from qwop.policies.champion import keys_path
from qwop.recorder.page.library import Library

INFO = qwop_info(frames_per_step=3, reward="shaped", observation_lag=0)


def record(folder: Path, *games: list[int], player: str = "me") -> None:
    writer = DatasetWriter(folder, INFO)
    for keys in games:
        episode = episode_from_keys(np.array(keys, np.uint8), INFO, player=player, source="page", epsilon=0.05)
        writer.write(episode)


def name_of(folder: Path, number: int) -> str:
    (path,) = folder.glob(f"episodes/episode-{number:06d}-*.parquet")
    return path.stem


SHORT, LONG, FALL = [0] * 3 + [1] * 6, [5] * 10 + [10] * 20, [4] * 200


def test_own_games_are_listed_first_and_newest_first(tmp_path: Path) -> None:
    record(tmp_path / "own", SHORT, FALL)
    record(tmp_path / "expert", LONG, player="expert")
    entries = Library(tmp_path / "own", {"embedded": tmp_path / "expert"}).entries()
    assert [(entry.collection, entry.name[:14]) for entry in entries] == [
        ("own", "episode-000001"),
        ("own", "episode-000000"),
        ("embedded", "episode-000000"),
    ]
    fall, short, expert = entries
    assert (fall.outcome, short.outcome, expert.player) == ("fell", "stopped", "expert")
    assert short.figures["seconds"] == pytest.approx(6 / 30)
    assert expert.figures["metres"] == pytest.approx(replay(LONG).events[-1, 0])


def test_the_best_unfinished_game_is_the_farthest(tmp_path: Path) -> None:
    record(tmp_path / "own", SHORT, LONG)
    best = max(Library(tmp_path / "own").entries(), key=lambda entry: entry.rank)
    farthest = max((SHORT, LONG), key=lambda keys: float(replay(keys).events[-1, 0]))
    assert best.name[:14] == f"episode-{(SHORT, LONG).index(farthest):06d}"


def test_the_newest_games_are_listed_of_very_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwop.recorder.page.library.LISTED", 2)
    record(tmp_path / "own", SHORT, SHORT, LONG)
    names = [entry.name[:14] for entry in Library(tmp_path / "own").entries()]
    assert names == ["episode-000002", "episode-000001"]


def test_the_best_game_is_that_of_all_and_listed_however_old_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwop.recorder.page.library.LISTED", 2)
    record(tmp_path / "own", SHORT, LONG, SHORT, LONG, SHORT, SHORT)
    (tmp_path / "own" / "episodes" / f"{name_of(tmp_path / 'own', 3)}.parquet").write_bytes(b"damaged")
    library = Library(tmp_path / "own")
    names = [entry.name[:14] for entry in library.entries()]
    assert names == ["episode-000005", "episode-000004", "episode-000001"]
    library.discard(name_of(tmp_path / "own", 1))
    record(tmp_path / "own", LONG)
    assert [entry.name[:14] for entry in library.entries()] == ["episode-000006", "episode-000005"]


def test_older_games_are_ranked_as_if_they_were_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    champion = read_keys(keys_path("champion"))
    waited = [0] * 50 + champion.tolist()  # another time on the clock, the same from the first key
    record(tmp_path, SHORT, champion.tolist(), waited, LONG, FALL, SHORT)
    library = Library(tmp_path)
    listed = sorted(library.entries(), key=lambda entry: entry.rank, reverse=True)
    monkeypatch.setattr("qwop.recorder.page.library.LISTED", 1)
    while listed:
        best = Library(tmp_path).entries()[-1]
        assert best == listed[0]
        library.discard(listed.pop(0).name)


def test_older_games_of_other_environments_are_ranked_by_their_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwop.recorder.page.library.LISTED", 1)
    for rewards in ([1.0, 0.5], [-1.0, 4.0], [2.0, 0.0]):
        write_episode(tmp_path, np.zeros((3, 4)), [0, 1], rewards, environment="CartPole-v1")
    found = Library(tmp_path).to_json()
    assert [game["total"] for game in found] == [2.0, 3.0]


def test_games_recorded_meanwhile_appear(tmp_path: Path) -> None:
    library = Library(tmp_path / "own")
    assert library.entries() == []
    record(tmp_path / "own", SHORT)
    assert len(library.entries()) == 1
    record(tmp_path / "own", LONG)
    assert len(library.entries()) == 2


def test_the_keys_of_a_game_replay_it(tmp_path: Path) -> None:
    record(tmp_path / "own", SHORT, FALL)
    keys = Library(tmp_path / "own").game("own", name_of(tmp_path / "own", 1)).keys_of_frames
    assert keys.tolist() == FALL[: len(keys)]
    assert replay(keys).events[-1, 4] == 1


def test_a_game_that_began_otherwise_is_listed_as_it_was_played(tmp_path: Path) -> None:
    keys = read_keys(keys_path("champion"))
    start = GameStart(opening=Opening(2), trigonometry="fdlibm")  # in which the same keys fall sooner
    game = episode_from_keys(keys, INFO, player="me", source="a page", epsilon=0.05, start=start)
    DatasetWriter(tmp_path, INFO).write(game)
    played = replay_episode(game)
    assert played.events[-1, 0] != replay(game.keys_of_frames).events[-1, 0]

    library = Library(tmp_path)
    (entry,) = library.entries()
    assert entry.rank == (False, 0.0, pytest.approx(played.events[-1, 0]))


def test_a_discarded_game_is_out_of_the_dataset_but_not_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    record(folder, SHORT, LONG)
    content = (folder / "episodes" / f"{name_of(folder, 1)}.parquet").read_bytes()
    library = Library(folder)
    target = library.discard(name_of(folder, 1))
    assert target.read_bytes() == content
    assert [entry.name[:14] for entry in library.entries()] == ["episode-000000"]
    record(folder, SHORT)  # takes the number again
    library.discard(name_of(folder, 1))
    assert len(list((folder / "aside").iterdir())) == 2


def test_a_game_with_the_number_of_a_discarded_one_is_listed_with_its_own_figures(tmp_path: Path) -> None:
    record(tmp_path, SHORT, LONG)
    library = Library(tmp_path)
    library.entries()
    library.discard(name_of(tmp_path, 1))
    record(tmp_path, FALL)  # by another recorder
    assert library.entries()[0] == Library(tmp_path).entries()[0]


def test_a_page_is_told_if_a_game_cannot_be_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, SHORT)
    library, name = Library(tmp_path), name_of(tmp_path, 0)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.rename", full)
        answer = {"type": "not discarded", "name": name, "reason": "no space left on device"}
        assert json.loads(library.answer_discard(name)) == answer
    with pytest.raises(ValueError, match="no such game"):
        library.answer_discard("episode-000009-0123456789ab")


@pytest.mark.parametrize("name", ["episode-000009-0123456789ab", "../own/episode-000000", "dataset", ""])
def test_unknown_names_are_refused(tmp_path: Path, name: str) -> None:
    record(tmp_path / "own", SHORT)
    library = Library(tmp_path / "own")
    with pytest.raises(KeyError):
        library.game("own", name)
    with pytest.raises(KeyError):
        library.discard(name)
    with pytest.raises(KeyError):
        library.game("elsewhere", "episode-000000")


def test_games_of_qwop_without_keys_are_left_out(tmp_path: Path) -> None:
    episode = episode_from_keys(np.array(SHORT, np.uint8), INFO, player="me", source="page", epsilon=0.05)
    DatasetWriter(tmp_path, INFO).write(replace(episode, keys=None))
    assert Library(tmp_path).entries() == []
