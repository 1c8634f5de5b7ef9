"""Datasets from tables: CSV, Parquet, NumPy's arrays and LeRobot's folders."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import polars as pl
import pytest
import qwop
from gymnasium import spaces
from qwop.common.errors import BadInput
from qwop.datasets import Episode, open_dataset
from qwop.datasets.exchange.import_command import DatasetImportSettings, command, run

GAMES = 3


@pytest.fixture(scope="module")
def played() -> list[dict[str, Any]]:
    """Games of chance in CartPole's shapes: the first two terminated, the last one cut off."""
    random = np.random.default_rng(0)
    return [
        {
            "observations": random.normal(size=(n + 1, 4)).astype(np.float32),
            "actions": random.integers(2, size=n),
            "rewards": np.arange(1, n + 1, dtype=np.float32) - 10 * number,
            "terminated": number < GAMES - 1,
        }
        for number, n in enumerate((4, 1, 6))
    ]


def joined(played: Sequence[dict[str, Any]], rows: Callable[[Any], Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of all games; rows: which observations there are."""
    ends = [np.arange(len(one["actions"])) == len(one["actions"]) - 1 for one in played]
    return {
        "observations": np.concatenate([rows(one["observations"]) for one in played]),
        "actions": np.concatenate([one["actions"] for one in played]),
        "rewards": np.concatenate([one["rewards"] for one in played]),
        "terminations": np.concatenate([end & one["terminated"] for end, one in zip(ends, played, strict=True)]),
        "truncations": np.concatenate([end & (not one["terminated"]) for end, one in zip(ends, played, strict=True)]),
    }


def brought(path: Path, **more: Any) -> list[Episode]:
    out = path.with_name("dataset")
    run(DatasetImportSettings(dataset=str(path), out=str(out), environment_id="CartPole-v1", **more))
    return list(open_dataset(out))


def require_equal(found: list[Episode], played: Sequence[dict[str, Any]], last: bool = True) -> None:
    assert len(found) == len(played)
    for episode, one in zip(found, played, strict=True):
        wanted = one["observations"] if last else np.concatenate([one["observations"][:-1], one["observations"][-2:-1]])
        np.testing.assert_array_equal(episode.observations, wanted)
        np.testing.assert_array_equal(episode.actions, one["actions"])
        np.testing.assert_array_equal(episode.rewards, one["rewards"])
        assert (episode.terminated, episode.truncated) == (one["terminated"], not one["terminated"])


def whole(rows: Any) -> Any:
    return rows


def before(rows: Any) -> Any:
    return rows[:-1]


@pytest.mark.parametrize(("rows", "last"), [(whole, True), (before, False)])
def test_an_npz_of_arrays(tmp_path: Path, played: list[dict[str, Any]], rows: Any, last: bool) -> None:
    np.savez(tmp_path / "mine.npz", **joined(played, rows))
    require_equal(brought(tmp_path / "mine.npz"), played, last)


def test_arrays_may_be_stored_by_column(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    arrays = joined(played, whole)
    np.savez(tmp_path / "mine.npz", **{**arrays, "observations": np.asfortranarray(arrays["observations"])})
    require_equal(brought(tmp_path / "mine.npz"), played)


def test_next_observations_have_the_last_one(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    following = np.concatenate([one["observations"][1:] for one in played])
    np.savez(tmp_path / "mine.npz", **joined(played, before), next_observations=following)
    require_equal(brought(tmp_path / "mine.npz"), played)


def table_of(played: Sequence[dict[str, Any]]) -> pd.DataFrame:
    parts = []
    for number, one in enumerate(played):
        end = np.arange(len(one["actions"])) == len(one["actions"]) - 1
        columns = {f"x{i}": column[:-1] for i, column in enumerate(one["observations"].T)}
        rest = {"action": one["actions"], "reward": one["rewards"], "terminated": end & one["terminated"]}
        parts.append(pd.DataFrame({"episode": number, **columns, **rest}))
    return pd.concat(parts, ignore_index=True)


def text(change: Callable[[str], str] = str, encoding: str = "utf-8", **more: Any) -> Callable[..., Any]:
    """Writes what pandas gives, changed."""
    return lambda table, path: path.write_bytes(change(table.to_csv(index=False, **more)).encode(encoding))


def named(**names: str) -> Callable[..., Any]:
    """Writes Parquet with other names for some columns, all of them sorted as texts."""
    return lambda table, path: table.rename(columns=names)[sorted(table.rename(columns=names))].to_parquet(path)


def numbered(name: str) -> dict[str, str]:
    """Names of the numbers of an observation, which as texts have another order."""
    return {f"x{i}": name.format(i + 8, i // 2, i % 2 + 9) for i in range(4)}


OTHERS = numbered("observation.x{}")
FORMS: dict[str, tuple[str, Callable[[pd.DataFrame, Path], Any]]] = {
    "named columns": (".csv", text()),
    "LeRobot's names": (
        ".parquet", named(**OTHERS, episode="episode_index", reward="next.reward", terminated="next.done"),
    ),
    "others' names": (".parquet", named(**OTHERS, episode="episode_id", reward="rewards", terminated="terminal")),
    "done alone": (".parquet", named(**OTHERS, episode="run", terminated="done")),
    "numbers after points": (".parquet", named(**numbered("obs.{}"))),
    "numbers in brackets": (".parquet", named(**numbered("obs[{}]"))),
    "two numbers": (".parquet", named(**numbered("obs_{1}_{2}"))),
    "spaces after commas": (".csv", text(lambda one: one.replace(",", ", "))),
    "spaces after an episode's number": (".csv", text(lambda one: one.replace("\n0,", "\n0 ,", 1))),
    "separators at the ends of lines": (".csv", text(lambda one: one.replace("\n", ",\n"))),
    "Excel in Germany, truths too": (
        ".csv",
        text(lambda one: one.replace("True", "WAHR").replace("False", "FALSCH"), "cp1252", sep=";", decimal=","),
    ),
    "R": (
        ".csv",
        lambda table, path: path.write_text(table.to_csv(quoting=2).replace("True", "TRUE").replace("False", "FALSE")),
    ),
    "R in Europe": (".csv", lambda table, path: table.to_csv(path, sep=";", decimal=",")),
    "pandas with its index": (".csv", lambda table, path: table.to_csv(path)),
    "polars": (".csv", lambda table, path: pl.from_pandas(table).write_csv(path)),
    "categories and nullable types": (
        ".parquet",
        lambda table, path: table.astype({"episode": "category", "action": "Int8", "terminated": "boolean"}).to_parquet(
            path
        ),
    ),
    "polars' Parquet": (".parquet", lambda table, path: pl.from_pandas(table).write_parquet(path)),
}  # fmt: skip
"""A table as programs and spreadsheets write it."""


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_read_as_the_numbers_that_it_holds(tmp_path: Path, played: list[dict[str, Any]], form: str) -> None:
    ending, write = FORMS[form]
    write(table_of(played), tmp_path / f"mine{ending}")
    require_equal(brought(tmp_path / f"mine{ending}"), played, last=False)


def test_columns_may_have_other_names(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    table = table_of(played).rename(columns={"action": "key", "reward": "points"}).drop(columns="episode")
    table["noise"] = 1.5
    table.to_parquet(tmp_path / "mine.parquet")
    columns = {"action": "key", "reward": "points", "observation": ["x0", "x1", "x2", "x3"]}
    require_equal(brought(tmp_path / "mine.parquet", columns=columns), played, last=False)


def test_columns_may_have_any_names(played: list[dict[str, Any]], tmp_path: Path) -> None:
    names = {"x0": "Höhe (m)", "x1": "Länge, x", "x2": "ω", "x3": "1e3", "action": "動作"}
    table_of(played).rename(columns=names).to_csv(tmp_path / "mine.csv", index=False)
    typed = "columns={action: 動作, observation: [Höhe (m), 'Länge, x', ω, 1e3]}"
    asked = ["dataset=mine.csv", "out=out", "environment_id=CartPole-v1", typed]
    require_equal(brought(tmp_path / "mine.csv", columns=command.read(asked).columns), played, last=False)


@pytest.mark.parametrize("column", ["action", "action_name", "key"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_actions_may_be_given_by_their_names_alone(
    tmp_path: Path, played: list[dict[str, Any]], column: str, suffix: str
) -> None:
    table = table_of(played).rename(columns={"action": column})
    table[column] = table[column].map({0: "push left", 1: "push right"})
    path = tmp_path / f"mine{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    columns = {"action": column} if column == "key" else {}
    require_equal(brought(path, columns=columns), played, last=False)


@pytest.mark.parametrize("column", ["action", "action_name"])
def test_a_row_without_an_actions_name_is_the_observation_that_ended_its_episode(tmp_path: Path, column: str) -> None:
    table = pd.DataFrame({f"x{i}": [0.1, 0.2, 0.3] for i in range(4)})
    table[column] = ["push left", "push right", None]
    table.to_csv(tmp_path / "mine.csv", index=False)
    (episode,) = brought(tmp_path / "mine.csv")
    assert (episode.actions.tolist(), len(episode.observations)) == ([0, 1], 3)


def test_a_text_that_is_no_actions_name_is_named(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    table = table_of(played)
    table["action"] = table["action"].map({0: "push left", 1: "push rigth"})
    table.to_csv(tmp_path / "mine.csv", index=False)
    said = r"column action holds push rigth, expected only numbers, or only names of actions .push left, push right."
    with pytest.raises(BadInput, match=said):
        brought(tmp_path / "mine.csv")


def test_numbered_files_have_the_order_of_their_numbers(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    table = table_of(played).drop(columns="episode")
    for row in range(len(table)):  # eleven files; as texts, part.10 comes before part.2
        table[row : row + 1].to_parquet(folder / f"part.{row}.parquet")
    require_equal(brought(folder), played, last=False)


class Parts(gymnasium.Env[Any, Any]):
    """An environment of named parts, which Gymnasium sorts."""

    def __init__(self) -> None:
        box = spaces.Box(-9, 9, (2,), np.float32)
        where = spaces.Dict({"place": spaces.Discrete(3), "at": box})
        self.observation_space = spaces.Dict({"x": box, "where": where, "told": spaces.Text(9)})
        self.action_space = spaces.Dict({"steer": spaces.Discrete(3), "gas": spaces.Discrete(3)})

    def get_action_meanings(self) -> list[str]:
        return ["None", "NA", *"bcdefgh"]


@pytest.fixture
def parts() -> Iterator[str]:
    gymnasium.register("Parts-v0", Parts)
    yield "Parts-v0"
    gymnasium.registry.pop("Parts-v0")


def test_columns_named_as_the_parts_of_an_environment_have_their_order(tmp_path: Path, parts: str) -> None:
    columns = {
        "obs.x.1": [0.25, 0.5],
        "obs.x.0": [0.125, 0.0],
        "obs.where.place": [2, 1],
        "obs.where.at.0": [7.0, 8.0],
        "obs.where.at.1": [5.0, 6.0],
        "action.steer": [0, 2],
        "action.gas": [1, 0],
    }
    pd.DataFrame(columns).to_csv(tmp_path / "mine.csv", index=False)
    run(DatasetImportSettings(dataset=str(tmp_path / "mine.csv"), out=str(tmp_path / "out"), environment_id=parts))
    (episode,) = open_dataset(tmp_path / "out")
    assert episode.actions.tolist() == [3, 2]  # gas, then steer
    assert episode.observations[:2].tolist() == [[7, 5, 0, 0, 1, 0.125, 0.25], [8, 6, 0, 1, 0, 0, 0.5]]


def test_other_columns_keep_the_order_of_the_file(tmp_path: Path, parts: str) -> None:
    columns = {"at": [7.0], "b": [5.0], "place": [2], "c": [1.0], "x": [0.5], "action.0": [1], "action.1": [0]}
    pd.DataFrame(columns).to_csv(tmp_path / "mine.csv", index=False)
    run(DatasetImportSettings(dataset=str(tmp_path / "mine.csv"), out=str(tmp_path / "out"), environment_id=parts))
    (episode,) = open_dataset(tmp_path / "out")
    assert (episode.actions[0], episode.observations[0].tolist()) == (3, [7, 5, 0, 0, 1, 1, 0.5])


def test_a_csv_may_have_actions_called_none(tmp_path: Path, parts: str) -> None:
    seen = [[0.0] * 7] * 3
    qwop.write_episode(tmp_path / "data", seen, np.array([[0, 0], [0, 1]]), environment=parts)
    # Without the names, the numbers would be those that the environment takes.
    table = open_dataset(tmp_path / "data").steps().assign(action=8)
    table.to_csv(tmp_path / "mine.csv", index=False)
    run(DatasetImportSettings(dataset=str(tmp_path / "mine.csv"), out=str(tmp_path / "out"), environment_id=parts))
    (episode,) = open_dataset(tmp_path / "out")
    assert episode.actions.tolist() == [0, 1]


def test_columns_that_are_left_out_are_named(
    tmp_path: Path, played: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    table = table_of(played).rename(columns={f"x{i}": f"obs_{i}" for i in range(4)})
    table.assign(time=0, weather=1.0).to_csv(tmp_path / "mine.csv")
    brought(tmp_path / "mine.csv")
    said = capsys.readouterr().out.splitlines()
    assert "left out: time, weather" in said
    assert not any("one episode of all rows" in line for line in said)


@pytest.mark.parametrize("name", ["mine.csv", "mine.npz"])
def test_rows_without_any_end_become_one_episode_and_that_is_said(
    tmp_path: Path, played: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    table = table_of(played).drop(columns=["episode", "terminated"])
    if name.endswith("csv"):
        table.to_csv(tmp_path / name, index=False)
    else:
        np.savez(tmp_path / name, obs=table[[f"x{i}" for i in range(4)]], acts=table["action"], rews=table["reward"])
    (episode,) = brought(tmp_path / name)
    assert episode.rewards.tolist() == [reward for one in played for reward in one["rewards"].tolist()]
    assert any("one episode of all rows" in line for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("name", ["mine.csv", "mine.npz"])
def test_beside_terminations_done_has_the_other_endings(
    tmp_path: Path, played: list[dict[str, Any]], name: str
) -> None:
    table = table_of([{**one, "terminated": number == 0} for number, one in enumerate(played)])
    table["done"] = table["episode"].diff(-1) != 0
    table = table.drop(columns="episode")
    if name.endswith("csv"):
        table.to_csv(tmp_path / name, index=False)
    else:
        ends = {"terminated": table["terminated"].astype(bool), "done": table["done"]}
        seen = table[[f"x{i}" for i in range(4)]]
        np.savez(tmp_path / name, obs=seen, act=table["action"], rew=table["reward"], **ends)  # as Tianshou's
    found = brought(tmp_path / name)
    assert [len(one) for one in found] == [len(one["actions"]) for one in played]
    assert [(one.terminated, one.truncated) for one in found] == [(True, False), (False, True), (False, True)]


@pytest.mark.parametrize(
    "words", [("T", "F"), ("y", "n"), ("True ", " False"), ("on", "off"), (1.0, 0.0), ("yes", None)]
)
def test_endings_are_words_or_numbers(tmp_path: Path, played: list[dict[str, Any]], words: tuple[Any, Any]) -> None:
    table = table_of(played)
    table["terminated"] = [words[not end] for end in table["terminated"]]
    table.to_csv(tmp_path / "mine.csv", index=False)
    require_equal(brought(tmp_path / "mine.csv"), played, last=False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda table: table.assign(terminated=table["terminated"].map({True: "done", False: ""})),
            "holds done in row 3",
        ),
        (lambda table: table.assign(terminated=0.5), "column terminated holds 0.5 in row 0, expected true or false"),
        (
            lambda table: table.assign(terminated=[None if n == 2 else end for n, end in enumerate(table.terminated)]),
            r"column terminated is empty in row 2, expected true or false \(1 or 0\); fill it in, or leave the column",
        ),
        (lambda table: table.assign(truncated=None), "column truncated is empty in row 0"),
        (lambda table: table.assign(episode=0), "episode 0 goes on after its end in row 3"),
        (
            lambda table: table.assign(episode=[0, 1] * 5 + [0], terminated=0),
            "episode 0 goes on in row 2, after others",
        ),
        (
            lambda table: table.assign(step=[0, 1, 2, 3, 0, *range(6)]).drop(columns=["episode", "terminated"]),
            "row 4: step goes from 3 to 0 within episode from row 0: rows are missing, there twice .* columns.episode=",
        ),
    ],
    ids=range(7),
)
def test_rows_of_which_it_is_not_clear_where_an_episode_ends_are_refused(
    tmp_path: Path, played: list[dict[str, Any]], change: Callable[[pd.DataFrame], pd.DataFrame], said: str
) -> None:
    change(table_of(played)).to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(BadInput, match=said):
        brought(tmp_path / "mine.csv")
    assert not (tmp_path / "dataset").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda text: text.replace(b"x1", b"x0"),
            "its first line has x0 twice, expected the names of the columns, each once",
        ),
        (lambda text: text.replace(b",1.0,", b",1,0,"), "line 2 has 9 values for 8 columns"),
        (lambda text: text.decode().encode("utf-16-le"), "is not UTF-8 text; save it as UTF-8"),
        (
            lambda text: text.replace(b",", b";").replace(b"2.0", b"2,0"),
            "has numbers with a point and with a comma",
        ),
        (lambda text: text.replace(b"2.0", b"two"), "column reward holds two, expected numbers$"),
    ],
    ids=range(5),
)
def test_a_csv_that_is_not_clear_is_refused(
    tmp_path: Path, played: list[dict[str, Any]], change: Callable[[bytes], bytes], said: str
) -> None:
    (tmp_path / "mine.csv").write_bytes(change(table_of(played).to_csv(index=False).encode()))
    with pytest.raises(BadInput, match=rf"mine\.csv: {said}"):
        brought(tmp_path / "mine.csv")


def test_a_csv_may_have_episodes_called_na_and_nan(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    table = table_of(played).drop(columns="terminated").replace({"episode": {0: "NA", 1: "nan", 2: "None"}})
    table.to_csv(tmp_path / "mine.csv", index=False)
    assert [len(episode) for episode in brought(tmp_path / "mine.csv")] == [len(one["actions"]) for one in played]


@pytest.mark.parametrize("index", [["episode"], ["episode", "frame"]], ids=len)
def test_an_index_may_have_the_episodes_and_is_no_observation(
    tmp_path: Path, played: list[dict[str, Any]], index: list[str]
) -> None:
    table = table_of(played).drop(columns="terminated").assign(frame=7)
    table.set_index(index).drop(columns="frame", errors="ignore").to_parquet(tmp_path / "mine.parquet")
    assert [len(episode) for episode in brought(tmp_path / "mine.parquet")] == [len(one["actions"]) for one in played]


def test_times_are_no_observations(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    table_of(played).assign(x3=pd.Timestamp(0)).to_parquet(tmp_path / "mine.parquet")
    with pytest.raises(BadInput, match=r"column x3 holds times .* expected numbers"):
        brought(tmp_path / "mine.parquet")


def test_files_of_a_table_have_the_same_columns(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    (tmp_path / "mine").mkdir()
    table_of(played).to_parquet(tmp_path / "mine" / "a.parquet")
    table_of(played).rename(columns={"x3": "y"}).to_parquet(tmp_path / "mine" / "b.parquet")
    with pytest.raises(BadInput, match=r"(x3|y) is a column of b\.parquet or of a\.parquet, not of both"):
        brought(tmp_path / "mine")


@pytest.mark.parametrize("value", [None, {"a": 1}])
def test_a_column_has_a_name(tmp_path: Path, played: list[dict[str, Any]], value: Any) -> None:
    table_of(played).to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(BadInput, match=r"columns=.*: expected names of columns"):
        brought(tmp_path / "mine.csv", columns={"action": value})


def split_up(played: Sequence[dict[str, Any]], folder: Path, files: Sequence[Sequence[int]], **more: Any) -> Path:
    """Rows of a table in several files."""
    folder.mkdir()
    for number, rows in enumerate(files):
        table_of(played).assign(**more).iloc[[*rows]].to_parquet(folder / f"{number}.parquet")
    (folder / ".DS_Store").touch()  # of a file manager
    (folder / "_SUCCESS").touch()  # of Spark
    return folder


STEPS = [0, 1, 2, 3, 0, 0, 1, 2, 3, 4, 5]


def test_files_may_go_on_with_an_episode_where_its_step_says_so(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    files = [range(2), range(2, 5), range(5, 11)]
    require_equal(brought(split_up(played, tmp_path / "mine", files, step=STEPS)), played, last=False)
    with pytest.raises(BadInput, match=r"episode 0 is in 0\.parquet and in 1\.parquet, and nothing says if it is one"):
        brought(split_up(played, tmp_path / "other", files))


def test_files_may_number_their_own_episodes(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    files = [range(4), range(4, 11)]
    made = split_up(played, tmp_path / "mine", files, step=STEPS, episode=[0] * 5 + [1] * 6)
    assert [len(episode) for episode in brought(made)] == [4, 1, 6]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_steps_comes_back_as_it_was(tmp_path: Path, played: list[dict[str, Any]], suffix: str) -> None:
    np.savez(tmp_path / "mine.npz", **joined(played, whole))
    first = brought(tmp_path / "mine.npz")
    steps = open_dataset(tmp_path / "dataset").steps()
    (tmp_path / "again").mkdir()
    path = tmp_path / "again" / f"steps{suffix}"
    steps.to_csv(path) if suffix == ".csv" else steps.to_parquet(path)
    again = brought(path)
    require_equal(again, played, last=False)
    assert [one.mu for one in again] == [one.mu for one in first]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"actions": None}, "has no column action, but observations, rewards"),
        ({"rewards": np.ones(3)}, "rewards have 3 rows, expected 11"),
        ({"terminations": np.array([0, np.nan, 1])}, "terminations have 3 rows, expected 11"),
        ({"observations": np.zeros((5, 4))}, "observations have 5 rows, expected 11"),
        ({"observations": np.full((11, 4), np.inf)}, "episode 0: .*not finite"),
        ({"actions": np.full(11, 7)}, "episode 0: actions of row 0 are 7"),
        ({"truncations": np.full(11, np.nan)}, "column truncations is empty in row 0, expected true or false"),
        ({"truncations": np.full(11, "not")}, "column truncations holds not in row 0, expected true or false"),
        ({"actions": np.full(11, 0.5)}, "actions of row 0 are 0.5, expected what Discrete.2. has, such as 0"),
        ({"actions": np.where(np.arange(11) == 3, np.nan, 0)}, "episode 0: actions of row 3 are nan"),
        ({"actions": np.full(11, 1e30)}, "actions of row 0 are 1e.30, expected"),
        (
            {"actions": np.full(11, "left")},
            "column actions holds left, expected only numbers, or only names of actions",
        ),
        ({"actions": np.int64(1)}, "actions are a single value, expected a row for each decision"),
        ({"observations": np.float64(1)}, "observations are a single value"),
        ({"rewards": np.float64(1)}, "rewards are a single value"),
    ],
    ids=range(15),
)
def test_damaged_arrays_are_named_and_leave_nothing(
    tmp_path: Path, played: list[dict[str, Any]], change: dict[str, Any], said: str
) -> None:
    arrays = {name: array for name, array in (joined(played, before) | change).items() if array is not None}
    np.savez(tmp_path / "mine.npz", **arrays)
    with pytest.raises(BadInput, match=said):
        brought(tmp_path / "mine.npz")
    assert not (tmp_path / "dataset").exists()


def test_a_table_without_actions_says_how_to_name_them(tmp_path: Path) -> None:
    pd.DataFrame({"x": [1, 2], "key": [0, 1]}).to_csv(tmp_path / "mine.csv")
    with pytest.raises(BadInput, match=r"has no column action.*columns\.action="):
        brought(tmp_path / "mine.csv")


def lerobot_of(played: Sequence[dict[str, Any]], folder: Path, *, files: str, one: bool) -> Path:
    """A folder as LeRobot writes it. files: the pattern of its files. one: all episodes are in one file."""
    table = table_of(played)
    table["observation.state"] = table[["x0", "x1", "x2"]].to_numpy(np.float32).tolist()
    table["observation.spin"] = table["x3"].astype(np.float32)
    table["frame_index"] = table.groupby("episode").cumcount()
    names = {"episode": "episode_index", "reward": "next.reward", "terminated": "next.done"}
    table = table.drop(columns=["x0", "x1", "x2", "x3"]).rename(columns=names)
    types = {name: {"dtype": "float32", "shape": [1]} for name in table.columns}
    film = {"observation.images.top": {"dtype": "video", "shape": [96, 96, 3]}}
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps({"codebase_version": "v3.0", "features": types | film}))
    for number, part in [(0, table)] if one else table.groupby("episode_index"):
        path = folder / files.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        part.to_parquet(path)
    return folder


@pytest.mark.parametrize(
    ("files", "one"),
    [("data/chunk-000/episode_{:06d}.parquet", False), ("data/chunk-000/file-{:03d}.parquet", True)],
    ids=["version 2", "version 3"],
)
def test_lerobots_episodes(
    tmp_path: Path, played: list[dict[str, Any]], files: str, one: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lerobot_of(played, tmp_path / "robot", files=files, one=one)
    require_equal(brought(folder), played, last=False)
    assert "left out: observation.images.top, a picture" in capsys.readouterr().out


def test_lerobots_features_can_be_chosen(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    folder = lerobot_of(played, tmp_path / "robot", files="data/chunk-000/file-{:03d}.parquet", one=True)
    with pytest.raises(BadInput, match=r"episode 0: observations have shape \[3\], expected"):
        brought(folder, columns={"observation": "observation.state"})
    columns = {"observation": ["observation.state", "observation.spin"], "reward": "observation.spin"}
    found = brought(folder, columns=columns)
    np.testing.assert_array_equal(found[2].rewards, played[2]["observations"][:-1, 3])


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({}, "meta/info.json: its features cannot be read"),
        ({"features": {"observation.image": {"dtype": "video"}, "action": {"dtype": "int64"}}}, "only pictures"),
        ({"features": {"observation.state": {"dtype": "float32"}}}, "has no files of rows"),
    ],
    ids=range(3),
)
def test_a_lerobot_folder_that_cannot_be_imported_is_named(tmp_path: Path, info: dict[str, Any], said: str) -> None:
    (tmp_path / "robot" / "meta").mkdir(parents=True)
    (tmp_path / "robot" / "meta" / "info.json").write_text(json.dumps(info))
    with pytest.raises(BadInput, match=said):
        brought(tmp_path / "robot")
    assert not (tmp_path / "dataset").exists()
