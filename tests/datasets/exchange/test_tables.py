"""Tables of other tools through `qwop-dataset import`: read as the numbers they are, or refused with the file's name.

Rows that are missing, doubled or of two games would teach transitions that never happened, and nothing would show it.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import qwop
from gymnasium import spaces
from qwop.common.errors import BadInput
from qwop.datasets import Episode, open_dataset
from qwop.datasets.exchange import table_files
from qwop.datasets.exchange.import_command import DatasetImportSettings, command, run

from ...fakes import Odd, registered

NUMBERS = ["x", "v", "t", "w"]
"""Columns of an observation of CartPole."""


def rows(game: int = 0, steps: Sequence[int] = range(4), **more: Any) -> pd.DataFrame:
    """Rows of a game in CartPole's form."""
    n = len(steps)
    table = {
        "episode": game,
        "step": [*steps],
        "x": np.resize([0.25, 0.5, 0.75, 1.5], n),
        "v": 0.125,
        "t": 0.0,
        "w": -2,
    }
    return pd.DataFrame({**table, "action": np.resize([0, 1, 0, 1], n), "reward": 1.0 + game, **more})


def ended(n: int, end: bool = True) -> list[bool]:
    return [end and step == n - 1 for step in range(n)]


GAMES = pd.concat(
    [
        rows(terminated=ended(4)),
        rows(1, range(1), x=2.5, terminated=ended(1)),
        rows(2, range(6), w=0.75, terminated=ended(6, False)),
    ],
    ignore_index=True,
)
"""Three games, the last of which was cut off."""


def robots(table: pd.DataFrame) -> pd.DataFrame:
    """A table in LeRobot's form."""
    names = {"episode": "episode_index", "step": "frame_index", "reward": "next.reward", "terminated": "next.done"}
    count = {"index": range(len(table)), "timestamp": table["step"] / 30, "task_index": 0}
    state = pd.Series([*table[NUMBERS].to_numpy(np.float32)], index=table.index)
    return table.drop(columns=NUMBERS).rename(columns=names).assign(**count, **{"observation.state": state})


def csv(at: Path, table: pd.DataFrame, **more: Any) -> Path:
    table.to_csv(at / "d.csv", index=False, **more)
    return at / "d.csv"


def text(at: Path, content: str, encoding: str = "utf-8", name: str = "d.csv") -> Path:
    (at / name).write_bytes(content.encode(encoding))
    return at / name


def parquet(at: Path, table: pd.DataFrame) -> Path:
    table.to_parquet(at / "d.parquet")
    return at / "d.parquet"


def files(at: Path, *parts: pd.DataFrame) -> Path:
    """A folder of Parquet files, with what file managers and Spark leave in it."""
    (at / "d").mkdir()
    for number, part in enumerate(parts):
        part.to_parquet(at / "d" / f"{number}.parquet")
    (at / "d" / ".DS_Store").touch()
    (at / "d" / "_SUCCESS").touch()
    return at / "d"


def lerobot(at: Path, *parts: pd.DataFrame, name: str = "file-{:03d}", **more: Any) -> Path:
    """A dataset in LeRobot's layout, a file for each part. more: other entries of its description."""
    (at / "d" / "data" / "chunk-000").mkdir(parents=True)
    (at / "d" / "meta").mkdir()
    features: dict[str, Any] = {column: {"dtype": "float32", "shape": [1]} for column in robots(GAMES).columns}
    features["observation.images.top"] = {"dtype": "video", "shape": [96, 96, 3]}
    info = {"codebase_version": "v3.0", "fps": 30, "total_frames": sum(map(len, parts)), "features": features}
    (at / "d" / "meta" / "info.json").write_text(json.dumps(info | more))
    for number, part in enumerate(parts):
        robots(part).to_parquet(at / "d" / "data" / "chunk-000" / f"{name.format(number)}.parquet", index=False)
    return at / "d"


def npz(at: Path, whole: bool = False, **more: Any) -> Path:
    """The games as arrays. whole: with the observation that ended each, which repeats the one before."""
    seen = [one[NUMBERS].to_numpy(np.float32) for _, one in GAMES.groupby("episode")]
    ends = GAMES["terminated"].to_numpy()
    arrays = {
        "observations": np.concatenate([np.concatenate([one, one[-1:]]) if whole else one for one in seen]),
        "actions": GAMES["action"].to_numpy(),
        "rewards": GAMES["reward"].to_numpy(),
        "terminations": ends,
        "truncations": (GAMES["episode"].diff(-1) != 0).to_numpy() & ~ends,
    } | more
    np.savez(at / "d.npz", **{name: array for name, array in arrays.items() if array is not None})
    return at / "d.npz"


def packed(at: Path, ending: str, pack: Callable[[bytes], bytes], cut: int = 0) -> Path:
    content = pack(GAMES.to_csv(index=False).encode())
    (at / f"d.csv.{ending}").write_bytes(content[: len(content) - cut])
    return at / f"d.csv.{ending}"


def typed(*column: str, separator: str = ";") -> str:
    """A table of one game whose first numbers are written as a person or a spreadsheet has them."""
    lines = [separator.join(("0", str(step), one, "0", "0", "0", "1")) for step, one in enumerate(column)]
    return "\n".join([separator.join(("episode", "step", *NUMBERS, "action")), *lines]) + "\n"


def brought(path: Path, **more: Any) -> list[Episode]:
    settings = {"environment_id": "CartPole-v1", **more}
    run(DatasetImportSettings(dataset=str(path), out=str(path.parent / "out"), **settings))
    return list(open_dataset(path.parent / "out"))


def require_games(found: list[Episode], table: pd.DataFrame = GAMES) -> None:
    assert len(found) == table["episode"].nunique()
    for episode, (_, one) in zip(found, table.groupby("episode"), strict=True):
        seen = one[NUMBERS].to_numpy(np.float32)
        np.testing.assert_array_equal(episode.observations, np.concatenate([seen, seen[-1:]]))
        assert episode.actions.tolist() == one["action"].tolist()
        assert episode.rewards.tolist() == one["reward"].tolist()
        assert (episode.terminated, episode.truncated) == (one["terminated"].iloc[-1], not one["terminated"].iloc[-1])


def renamed(at: Path, **names: str) -> Path:
    """Parquet with other names for some columns, all of them sorted as texts."""
    table = GAMES.drop(columns="step").rename(columns=names)
    return parquet(at, table[sorted(table)])


def numbered(name: str) -> dict[str, str]:
    """Names of the numbers of an observation, which as texts have another order."""
    return {column: name.format(place + 8, place // 2, place % 2 + 9) for place, column in enumerate(NUMBERS)}


ENDLESS = GAMES.drop(columns=["episode", "step", "terminated"]).rename(columns=numbered("obs_{}"))
DONE = GAMES.assign(done=GAMES["episode"].diff(-1) != 0).drop(columns=["episode", "step"])
EUROPE = {"sep": ";", "decimal": ","}
GERMAN = {True: "WAHR", False: "FALSCH"}

READ: dict[str, Callable[[Path], Path]] = {
    "CSV": lambda at: csv(at, GAMES),
    "no steps": lambda at: csv(at, GAMES.drop(columns="step")),
    "steps from 1": lambda at: csv(at, GAMES.assign(step=GAMES["step"] + 1)),
    "times instead of steps": lambda at: csv(at, GAMES.assign(time=GAMES["step"] / 30).drop(columns="step")),
    "gzip": lambda at: packed(at, "gz", gzip.compress),
    "pandas with its index": lambda at: text(at, GAMES.drop(columns="step").to_csv()),
    "Excel in Germany": lambda at: csv(at, GAMES.replace({"terminated": GERMAN}), encoding="cp1252", **EUROPE),
    "decimal commas in UTF-16": lambda at: csv(at, GAMES, encoding="utf-16", **EUROPE),
    "decimal commas in quotes, with a mark of bytes": lambda at: csv(
        at, GAMES, encoding="utf-8-sig", quoting=1, **EUROPE
    ),
    "tabs": lambda at: text(at, GAMES.to_csv(index=False, sep="\t", decimal=","), name="d.tsv"),
    "Excel's first line": lambda at: text(at, "sep=;\r\n" + GAMES.to_csv(index=False, **EUROPE)),
    "lines of an old Mac": lambda at: csv(at, GAMES, lineterminator="\r"),
    "NumPy's first line": lambda at: text(at, "# " + GAMES.to_csv(index=False)),
    "empty lines": lambda at: text(at, "\n" + GAMES.to_csv(index=False).replace("\n", "\n\n")),
    "rows of separators at the end": lambda at: text(at, GAMES.to_csv(index=False) + ",,,,,,,,\n" * 3),
    "columns without a name": lambda at: text(at, GAMES.to_csv(index=False).replace("\n", ",,\n")),
    "spaces after commas": lambda at: text(at, GAMES.to_csv(index=False).replace(",", ", ")),
    "an episode that looks like a number with marks": lambda at: csv(
        at, GAMES.replace({"episode": {0: "1.2.3", 1: "NA", 2: "nan"}})
    ),
    "others' names": lambda at: renamed(at, **numbered("obs[{}]"), episode="episode_id", terminated="terminal"),
    "two numbers in the names": lambda at: renamed(at, **numbered("obs_{1}_{2}"), reward="rewards"),
    "categories and nullable types": lambda at: parquet(
        at, GAMES.astype({"episode": "category", "action": "Int8", "terminated": "boolean", "x": "float16"})
    ),
    "numbers of a database": lambda at: parquet(at, GAMES.assign(x=[Decimal(str(one)) for one in GAMES["x"]])),
    "an index of episodes": lambda at: parquet(at, GAMES.set_index(["episode", "step"])),
    "npz": npz,
    "npz with the last observations": lambda at: npz(at, whole=True),
    "npz by column": lambda at: npz(at, observations=np.asfortranarray(GAMES[NUMBERS].to_numpy(np.float32))),
    "files that go on with an episode": lambda at: files(at, GAMES[:2], GAMES[2:5], GAMES[5:]),
    "many files": lambda at: files(at, *(GAMES[row : row + 1] for row in range(11))),  # as texts, 10 comes before 2
    "files that number their own episodes": lambda at: files(
        at, GAMES[:0], GAMES[:5], GAMES[5:].assign(episode=0), GAMES[:0]
    ),
    "LeRobot 2": lambda at: lerobot(at, *(one for _, one in GAMES.groupby("episode")), name="episode_{:06d}"),
    "LeRobot 3": lambda at: lerobot(at, GAMES),
    "done beside terminations, in Parquet": lambda at: parquet(at, DONE),
}  # fmt: skip
"""The three games as programs and spreadsheets write them."""


@pytest.mark.parametrize("form", READ)
def test_a_table_is_read_as_the_numbers_that_it_holds(tmp_path: Path, form: str) -> None:
    require_games(brought(READ[form](tmp_path)))


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (("2,5E-01", "5,0e+0", "0,125", "-1,500"), [0.25, 5, 0.125, -1.5]),
        (("\N{MINUS SIGN}0,25", "+0,5", ",75", "1,"), [-0.25, 0.5, 0.75, 1]),
        (("0.25", "5", "0.125", "1e1"), [0.25, 5, 0.125, 10]),
    ],
    ids=range(3),
)
def test_numbers_are_read_as_they_are_typed(tmp_path: Path, column: tuple[str, ...], wanted: list[float]) -> None:
    (game,) = brought(text(tmp_path, typed(*column)))
    assert game.observations[:-1, 0].tolist() == wanted


def twice(**more: Any) -> pd.DataFrame:
    return pd.concat([rows(), rows(**more)])


def changed(**more: Any) -> Callable[[Path], Path]:
    return lambda at: csv(at, GAMES.assign(**more))


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    # Two games in one, or rows twice.
    "steps that are equal": (lambda at: csv(at, rows(steps=[0, 0, 1, 1, 2, 2])), "row 1: step goes from 0 to 0"),
    "no rows": (lambda at: csv(at, GAMES[:0]), "d.csv: has no rows"),
    "no ends": (
        lambda at: csv(at, GAMES.drop(columns=["episode", "terminated"])), r"columns\.episode=",
    ),
    "a file downloaded twice": (lambda at: files(at, rows(), rows()), "1.parquet: row 0: the same game as"),
    "one number in two files, without steps": (
        lambda at: files(at, *[rows().drop(columns="step")] * 2), "episode 0 is in 0.parquet and in 1.parquet",
    ),
    "an episode that goes on after others": (
        changed(episode=[0, 1] * 5 + [0], terminated=0), "goes on in row 2, after",
    ),
    "an episode that goes on after its end": (changed(episode=0, step=range(11)), "episode 0 goes on after its end in"),
    "times that go back": (
        lambda at: csv(at, twice(x=9.0).assign(time=[0, 1, 2, 3] * 2).drop(columns="step")), "time goes from 3 to 0",
    ),
    "times that are twice": (
        lambda at: csv(at, twice().assign(time=[0, 1, 2, 3] * 2).sort_values("time").drop(columns="step")),
        "row 1: time goes from 0 to 0",
    ),
    # Rows that are missing within a game.
    "a gap": (lambda at: csv(at, rows(steps=[0, 1, 2, 5, 6, 7])), "row 3: step goes from 2 to 5 within episode 0"),
    "a gap in an index": (lambda at: text(at, rows().drop(columns="step").drop(index=2).to_csv()), "from 1 to 3"),
    "a gap between files": (lambda at: files(at, rows(steps=[0, 1]), rows(steps=[3, 4])), "1.parquet: row 0: step"),
    "a step without a number": (lambda at: csv(at, rows(steps=[0, 1, None, 3])), "row 2: step is missing"),  # type: ignore[list-item]
    "a row without an episode": (changed(episode=[0, 0, None, *[2] * 8]), "row 2: episode is missing"),
    "LeRobot without features": (lambda at: lerobot(at, features=None), "meta/info.json: cannot be read"),
    "LeRobot: a file that is not there": (lambda at: lerobot(at, rows(), total_frames=8), "says 8 frames, but"),
    # Files that were put together or cut.
    "two tables with their headings": (lambda at: text(at, 2 * rows().to_csv(index=False)), "holds action, expected"),
    "a line that was cut": (lambda at: text(at, rows().to_csv(index=False)[:-9]), "Row #5: Expected 8 columns, got 6"),
    "a packed file that was cut": (lambda at: packed(at, "gz", gzip.compress, cut=30), "cannot be read"),
    "other columns in another file": (
        lambda at: files(at, GAMES, GAMES.rename(columns={"w": "y"})), "is a column of 1.parquet or of 0.parquet",
    ),
    "a spreadsheet": (lambda at: text(at, "PK\3\4", name="d.xlsx"), "cannot be imported"),
    "bytes that are no text": (lambda at: csv(at, GAMES, encoding="utf-16-le"), "is not UTF-8 text"),
    "a name twice": (lambda at: text(at, GAMES.to_csv(index=False).replace("w", "x")), "x.* exists 2 times"),
    # Numbers that are none.
    "an empty cell": (changed(v=[0.0, None, *[0.0] * 9]), "observations hold a number that is not finite in row 1"),
    "times": (lambda at: parquet(at, GAMES.assign(x=pd.Timestamp(0))), "column x is timestamp"),
    "an action that there is not": (changed(action=2), "actions of row 0 are 2"),
    "an action that is no name": (
        changed(action="push rigth"), "column action holds push rigth, expected only numbers, or only names of actions",
    ),
    "whole numbers that float32 rounds": (changed(x=2**24 + 1), r"observations\[0, 0\] is 16777217"),
    "whole numbers that float64 rounds": (
        lambda at: parquet(at, GAMES.assign(x=2**53 + 1)), r"column x: row \[0\] is 9007199254740993",
    ),
    "thousands or decimals": (lambda at: text(at, typed("1.234", "2.345")), "1.234 can be read in two ways"),
    "a point and a comma": (lambda at: text(at, typed("0.5", "0,5")), "with a point and with a comma"),
    # Endings of which nobody knows what they say.
    "a word that is no truth": (changed(terminated=["TRUE", "MAYBE", *[""] * 9]), "holds MAYBE in row 1, expected"),
    "endings that are empty": (changed(truncated=None), "column truncated is empty in row 0"),
    # Arrays.
    "npz of other lengths of rewards": (lambda at: npz(at, rewards=np.ones(3)), "rewards have 3 rows, expected 11"),
    "npz of one number": (lambda at: npz(at, actions=np.int64(1)), "actions are a single value"),
    "a table without actions": (lambda at: csv(at, GAMES.drop(columns="action")), r"columns\.action="),
}  # fmt: skip
"""Data that are not what they seem, and what the one line says beside the file's name. Nothing is written."""


@pytest.mark.parametrize("form", REFUSED)
def test_data_that_are_not_what_they_seem_are_refused(tmp_path: Path, form: str) -> None:
    write, said = REFUSED[form]
    path = write(tmp_path)
    with pytest.raises(BadInput, match=said) as raised:
        brought(path)
    assert path.name in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "SMALL", 2**20)
    path = packed(tmp_path, "gz", lambda _: gzip.compress(b"x,action\n" + b"0" * 3_000_000))
    with pytest.raises(BadInput, match=r"d\.csv\.gz: unpacks to more than 1 MB"):
        brought(path)


@pytest.mark.parametrize("words", [("y", "n"), ("True ", " False"), (1.0, 0.0), ("yes", None), ("PRAWDA", "FAŁSZ")])
def test_endings_are_words_of_any_spreadsheet_or_numbers(tmp_path: Path, words: tuple[Any, Any]) -> None:
    require_games(brought(csv(tmp_path, GAMES.assign(terminated=[words[not end] for end in GAMES["terminated"]]))))


@pytest.mark.parametrize("kind", [csv, parquet])
@pytest.mark.parametrize("column", ["action", "action_name", "key"])
def test_actions_may_be_given_by_their_names_alone(tmp_path: Path, column: str, kind: Any) -> None:
    names = GAMES["action"].map({0: "push left", 1: "push right"})
    table = GAMES.drop(columns="action").assign(**{column: names})
    require_games(brought(kind(tmp_path, table), columns={"action": "key"} if column == "key" else {}))


@pytest.mark.parametrize("actions", [["push left", "push right", None], [0, 1, None]])
def test_a_row_without_an_action_is_the_observation_that_ended_its_episode(tmp_path: Path, actions: list[Any]) -> None:
    (episode,) = brought(csv(tmp_path, rows(steps=range(3)).assign(action=actions), na_rep="NA"))
    assert (episode.actions.tolist(), len(episode.observations)) == ([0, 1], 3)


def test_next_observations_have_the_last_one(tmp_path: Path) -> None:
    following = GAMES[NUMBERS].to_numpy(np.float32) + 1
    found = brought(npz(tmp_path, next_observations=following))
    assert [one.observations[-1].tolist() for one in found] == following[[3, 4, 10]].tolist()


def test_columns_may_have_any_names_and_keep_them(tmp_path: Path) -> None:
    names = {"x": "Höhe (m)", "v": "Länge, x", "t": "ω", "w": "1e3", "action": "動作"}
    path = csv(tmp_path, GAMES.rename(columns=names).assign(noise=1.5, action_name="push left"))
    typed_columns = "columns={action: 動作, observation: [Höhe (m), 'Länge, x', ω, 1e3]}"
    asked = command.read([f"dataset={path}", "out=out", "environment_id=CartPole-v1", typed_columns])
    require_games(brought(path, columns=asked.columns))
    dataset = open_dataset(tmp_path / "out")
    assert dataset.info.observation_names == ("Höhe (m)", "Länge, x", "ω", "1e3")
    assert dataset.info.action_names == ("push left", "push right")
    assert "Höhe (m)" in dataset.steps().columns


@pytest.mark.parametrize("value", [None, {"a": 1}])
def test_a_column_has_a_name(tmp_path: Path, value: Any) -> None:
    with pytest.raises(BadInput, match=r"columns=.*: expected names of columns"):
        brought(csv(tmp_path, GAMES), columns={"action": value})


@pytest.mark.parametrize("kind", [csv, parquet])
def test_a_table_of_steps_comes_back_as_it_was(tmp_path: Path, kind: Any) -> None:
    brought(npz(tmp_path))
    (tmp_path / "again").mkdir()
    require_games(brought(kind(tmp_path / "again", open_dataset(tmp_path / "out").steps())))


@pytest.mark.parametrize(
    ("write", "sentences"),
    [
        (
            lambda at: lerobot(at, GAMES),
            [
                "left out: observation.images.top, a picture",
                "the last observation of an episode where the file lacks it",
                "next.done does not say why an episode ended: it counts as terminated, and as truncated if it has 500",
            ],
        ),
        (
            lambda at: csv(at, ENDLESS.assign(weather=1.0)),
            ["one episode of all rows", "left out: weather"],
        ),
    ],
    ids=["LeRobot", "no ends"],
)
def test_what_is_left_out_and_filled_in_is_in_the_notes(
    tmp_path: Path, write: Callable[[Path], Path], sentences: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = brought(write(tmp_path))
    assert [reward for one in found for reward in one.rewards.tolist()] == GAMES["reward"].tolist()
    notes = " ".join(capsys.readouterr().out.split())
    assert [one for one in sentences if one not in notes] == []


def test_done_at_the_environments_limit_is_truncated(tmp_path: Path) -> None:
    lengths = (3, 500)  # CartPole-v1 is cut off at 500 decisions
    table = pd.concat([rows(game, range(n), done=ended(n)) for game, n in enumerate(lengths)])
    found = brought(csv(tmp_path, table))
    assert [(one.terminated, one.truncated) for one in found] == [(True, False), (False, True)]


def test_an_episode_ends_before_the_start_of_the_next_one(tmp_path: Path) -> None:
    starts = (GAMES["episode"].diff() != 0).to_numpy()
    found = brought(npz(tmp_path, terminations=None, truncations=None, episode_starts=starts))
    assert [len(one.rewards) for one in found] == GAMES.groupby("episode").size().tolist()
    assert all(one.terminated for one in found)


class Parts(Odd):
    """An environment of named parts, which Gymnasium sorts."""

    def __init__(self) -> None:
        box = spaces.Box(-9, 9, (2,), np.float32)
        where = spaces.Dict({"place": spaces.Discrete(3), "at": box})
        super().__init__(
            spaces.Dict({"steer": spaces.Discrete(3), "gas": spaces.Discrete(3)}),
            spaces.Dict({"x": box, "where": where, "told": spaces.Text(9)}),
        )

    def get_action_meanings(self) -> list[str]:
        return ["None", "NA", *"bcdefgh"]


@pytest.fixture
def parts() -> Iterator[str]:
    with registered(Parts) as id:
        yield id


@pytest.mark.parametrize(
    ("columns", "action", "first"),
    [
        (  # gas comes before steer
            {"obs.x.1": [0.25], "obs.x.0": [0.125], "obs.where.place": [2], "obs.where.at.0": [7.0],
             "obs.where.at.1": [5.0], "action.steer": [0], "action.gas": [1]},
            3, [7, 5, 0, 0, 1, 0.125, 0.25],
        ),
        (
            {"at": [7.0], "b": [5.0], "place": [2], "c": [1.0], "x": [0.5], "action.0": [1], "action.1": [0]},
            3, [7, 5, 0, 0, 1, 1, 0.5],
        ),
    ],
    ids=["names of the parts", "other names"],
)  # fmt: skip
def test_columns_named_as_the_parts_of_an_environment_have_their_order_and_others_the_files(
    tmp_path: Path, parts: str, columns: dict[str, Any], action: int, first: list[float]
) -> None:
    (episode,) = brought(csv(tmp_path, pd.DataFrame(columns)), environment_id=parts)
    assert (episode.actions.tolist(), episode.observations[0].tolist()) == ([action], first)


def test_actions_may_be_called_none(tmp_path: Path, parts: str) -> None:
    qwop.write_episode(tmp_path / "data", [[0.0] * 7] * 3, np.array([[0, 0], [0, 1]]), environment=parts)
    # Without the names, the numbers would be those that the environment takes.
    table = open_dataset(tmp_path / "data").steps().assign(action=8)
    (episode,) = brought(csv(tmp_path, table), environment_id=parts)
    assert episode.actions.tolist() == [0, 1]
