"""Data of other tools through `qwop-dataset import`: read as the numbers they are, or refused with the file's name.

Rows that are missing, doubled or of two games would teach transitions that never happened, and nothing would show it.
"""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from decimal import Decimal
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pandas as pd
import pytest
import qwop

X = [0.25, 0.5, 0.75, 1.5]
ACTIONS = [0, 1, 0, 1]
"""A game of four decisions: the first number of each observation, and the actions."""


class Imported(NamedTuple):
    code: int
    said: str
    games: list[qwop.Episode]


def bring(path: Path, *more: str) -> Imported:
    """`qwop-dataset import PATH`, through the console script."""
    out = path.parent / "out"
    told = ["import", str(path), f"out={out}", "environment_id=CartPole-v1", *more]
    stdout = path.parent / "said.txt"
    with pytest.MonkeyPatch.context() as patch, stdout.open("w", encoding="utf-8") as file:
        patch.setattr(sys, "argv", ["qwop-dataset", *told])
        patch.setattr(sys, "stdout", file)
        patch.setattr(sys, "stderr", file)
        code = run_script("qwop-dataset")
    games = [*qwop.open_dataset(out)] if code == 0 else []
    assert code == 0 or not out.exists(), "a refused import leaves a dataset"
    return Imported(code, stdout.read_text(encoding="utf-8"), games)


def run_script(name: str) -> int:
    """Run a console script with the arguments in `sys.argv`; return its exit code."""
    (script,) = entry_points(group="console_scripts", name=name)
    try:
        script.load()()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def rows(game: int = 0, steps: Sequence[int] = range(4), **more: Any) -> pd.DataFrame:
    """Rows of a game in CartPole's form."""
    n = len(steps)
    table = {"episode": game, "step": [*steps], "x": np.resize(X, n), "v": 0.125, "t": 0.0, "w": -2.0}
    return pd.DataFrame({**table, "action": np.resize(ACTIONS, n), **more})


def tables(folder: Path, **files: pd.DataFrame) -> Path:
    """A folder of Parquet files."""
    (folder / "d").mkdir()
    for name, table in files.items():
        table.to_parquet(folder / "d" / f"{name}.parquet", index=False)
    return folder / "d"


def csv(folder: Path, table: pd.DataFrame, **more: Any) -> Path:
    table.to_csv(folder / "d.csv", index=False, **more)
    return folder / "d.csv"


def text(folder: Path, content: str, encoding: str = "utf-8", name: str = "d.csv") -> Path:
    (folder / name).write_bytes(content.encode(encoding))
    return folder / name


def timed(table: pd.DataFrame) -> pd.DataFrame:
    """The times of the rows instead of their steps."""
    return table.assign(time=table["step"] / 30).drop(columns="step")


def lerobot(folder: Path, *files: pd.DataFrame, total: int | None = None) -> Path:
    """A dataset in LeRobot's layout, a file for each table. total: rows in its description, if not all."""
    data = folder / "d" / "data" / "chunk-000"
    data.mkdir(parents=True)
    (folder / "d" / "meta").mkdir()
    shapes = {"observation.state": ("float32", [4]), "action": ("int64", [1]), "next.done": ("bool", [1])}
    whole = ("episode_index", "frame_index", "index", "task_index")
    shapes |= {name: ("int64", [1]) for name in whole} | {"timestamp": ("float32", [1])}
    features = {name: {"dtype": kind, "shape": shape} for name, (kind, shape) in shapes.items()}
    total = sum(map(len, files)) if total is None else total
    info = {"codebase_version": "v3.0", "fps": 30, "total_frames": total, "features": features}
    (folder / "d" / "meta" / "info.json").write_text(json.dumps(info))
    for number, table in enumerate(files):
        table.to_parquet(data / f"file-{number:03d}.parquet", index=False)
    return folder / "d"


def robot(game: int = 0, steps: Sequence[int] = range(4), offset: float = 0.0, done: bool = True) -> pd.DataFrame:
    """Rows of a game in LeRobot's form."""
    n = len(steps)
    states = [np.array([x + offset, 0.125, 0.0, -2.0], np.float32) for x in np.resize(X, n)]
    ends = {"next.done": np.arange(n) == (n - 1 if done else n)}
    order = {"frame_index": [*steps], "timestamp": np.array(steps) / 30, "index": [*steps], "task_index": 0}
    return pd.DataFrame(
        {"observation.state": states, "action": np.resize(ACTIONS, n), "episode_index": game, **order, **ends}
    )


REFUSED: dict[str, Callable[[Path], Path]] = {
    # Two games in one, or rows twice.
    "steps that are equal": lambda at: csv(at, rows(steps=[0, 0, 1, 1, 2, 2])),
    "every row twice": lambda at: csv(at, rows().loc[rows().index.repeat(2)]),
    "the last row twice": lambda at: csv(at, pd.concat([rows(), rows()[-1:]])),
    "two recordings of one number, sorted": lambda at: csv(
        at, pd.concat([rows(), rows(x=9.0)]).sort_values("step", kind="stable")
    ),
    "two recordings of one number, one after the other": lambda at: csv(at, pd.concat([rows(), rows(x=9.0)])),
    "a file downloaded twice": lambda at: tables(at, **{"games": rows(), "games (1)": rows()}),
    "a file of two games downloaded twice": lambda at: tables(
        at, **{"games": pd.concat([rows(), rows(1, x=3.0)]), "games (1)": pd.concat([rows(), rows(1, x=3.0)])}
    ),
    "LeRobot: two files of one number": lambda at: lerobot(at, robot(done=False), robot(offset=1, done=False)),
    "LeRobot: a file downloaded twice": lambda at: lerobot(at, robot(), robot()),
    "LeRobot: frames that are equal": lambda at: lerobot(at, robot(steps=[0, 1, 1, 2])),
    # Rows that are missing within a game.
    "a gap": lambda at: csv(at, rows(steps=[0, 1, 2, 5, 6, 7])),
    "one row missing": lambda at: csv(at, rows(steps=[0, 1, 3, 4])),
    "a gap in the second game": lambda at: csv(at, pd.concat([rows(), rows(1, steps=[0, 1, 2, 9])])),
    "a gap between files": lambda at: tables(at, a=rows(steps=[0, 1]), b=rows(steps=[3, 4])),
    "steps from 1 with a gap": lambda at: csv(at, rows(steps=[1, 2, 3, 5])),
    "a step without a number": lambda at: csv(at, rows().astype({"step": object}).replace({"step": {2: None}})),
    "LeRobot: a gap": lambda at: lerobot(at, robot(steps=[0, 1, 4, 5])),
    "LeRobot: a gap between files": lambda at: lerobot(at, robot(steps=[0, 1], done=False), robot(steps=[4, 5])),
    "LeRobot: a file that is not there": lambda at: lerobot(at, robot(), total=8),
    "a row without an episode": lambda at: csv(
        at, rows().astype({"episode": object}).assign(episode=[0, 0, None, None])
    ),
    "times that go back, and no steps": lambda at: csv(at, timed(pd.concat([rows(), rows(x=9.0)]))),
    "every row twice, with times": lambda at: csv(at, timed(rows().loc[rows().index.repeat(2)])),
    # Files that were put together or cut.
    "two tables with their headings": lambda at: text(at, 2 * rows().to_csv(index=False)),
    "a line that was cut": lambda at: text(at, rows().to_csv(index=False)[:-9]),
    "a compressed file that was cut": lambda at: cut(compressed(at, "gz", gzip.compress)),
    # Numbers that are none.
    "an empty cell": lambda at: csv(at, rows(v=[0.0, None, 0.0, 0.0])),
    "a mark of a missing number": lambda at: csv(at, rows(v=[0.0, None, 0.0, 0.0]), na_rep="#N/A"),
    "a number that is infinite": lambda at: csv(at, rows(v=np.inf)),
    "a formula that failed": lambda at: csv(at, rows(v=["0", "#DIV/0!", "0", "0"])),
    "an action between two": lambda at: csv(at, rows().assign(action=[0.0, 0.5, 1.0, 0.0])),
    "an action that there is not": lambda at: csv(at, rows().assign(action=[0, 1, 2, 0])),
    "whole numbers that float32 rounds": lambda at: csv(at, rows(x=[2**24 + 1, 0, 0, 0])),
    "whole numbers among others, in Parquet": lambda at: tables(at, d=rows(x=[2**53 + 1, 0, 0, 0])),
    "a rule of a table in Markdown": lambda at: text(at, typed("-", "0", "1", "2", separator="|")),
    "thousands or decimals": lambda at: text(at, typed("1.234", "2.345", "3.456", "4.567")),
    "thousands with points": lambda at: text(at, typed("1.234,5", "0,5", "-2.000,25", "1.000.000,0")),
    "thousands with commas": lambda at: text(at, typed('"1,234.5"', "0.5", "0.25", "0.75", separator=",")),
    "thousands with spaces": lambda at: text(at, typed("1\u00a0234,5", "0,5", "0,25", "9,0")),
    "decimals with a point and with a comma": lambda at: text(at, typed("0.5", "0,5", "1,5", "2,5")),
    "a spreadsheet": lambda at: text(at, "PK\3\4", name="d.xlsx"),
}
"""Data that are not what they seem: one line that names the file, exit code 2, and nothing is written."""


def compressed(folder: Path, ending: str, compress: Callable[[bytes], bytes]) -> Path:
    path = folder / f"d.csv.{ending}"
    path.write_bytes(compress(rows().to_csv(index=False).encode()))
    return path


def cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-30])
    return path


def european(table: pd.DataFrame, **more: Any) -> str:
    return str(table.to_csv(index=False, sep=";", decimal=",", **more))


def typed(*columns: str, separator: str = ";") -> str:
    """A table of one game whose observations are written as a person or a spreadsheet has them."""
    head = separator.join(("episode", "step", "x", "v", "t", "w", "action"))
    lines = [separator.join(("0", str(step), one, "0", "0", "0", "1")) for step, one in enumerate(columns)]
    return "\n".join([head, *lines]) + "\n"


READ: dict[str, tuple[Callable[[Path], Path], Sequence[float]]] = {
    "steps from 1": (lambda at: csv(at, rows(steps=[1, 2, 3, 4])), X),
    "no steps": (lambda at: csv(at, rows().drop(columns="step")), X),
    "gzip": (lambda at: compressed(at, "gz", gzip.compress), X),
    "bzip2": (lambda at: compressed(at, "bz2", bz2.compress), X),
    "xz": (lambda at: compressed(at, "xz", lzma.compress), X),
    "an ending in capitals": (lambda at: csv(at, rows()).rename(at / "D.CSV"), X),
    # Spreadsheets.
    "decimal commas": (lambda at: text(at, european(rows())), X),
    "decimal commas and a mark of bytes": (lambda at: text(at, european(rows()), "utf-8-sig"), X),
    "decimal commas in UTF-16": (lambda at: text(at, european(rows()), "utf-16"), X),
    "decimal commas with an exponent": (lambda at: text(at, typed("2,5E-01", "5,0E-1", "7,5e-1", "1,5E+00")), X),
    "decimal commas in quotes": (lambda at: text(at, european(rows(), quoting=1)), X),
    "decimal commas between tabs": (
        lambda at: text(at, rows().to_csv(index=False, sep="\t", decimal=","), name="d.tsv"),
        X,
    ),
    "Excel's Unicode text": (lambda at: text(at, rows().to_csv(index=False, sep="\t"), "utf-16"), X),
    "Excel's first line": (lambda at: text(at, "sep=;\n" + rows().to_csv(index=False, sep=";")), X),
    "Excel's first line with decimal commas": (lambda at: text(at, "sep=;\r\n" + european(rows()), "utf-8-sig"), X),
    "Excel's first line in quotes": (lambda at: text(at, '"sep=;"\n' + european(rows())), X),
    "Excel's first line with a comma": (lambda at: text(at, "sep=,\n" + rows().to_csv(index=False)), X),
    "Excel's first line with a tab": (lambda at: text(at, "sep=\t\n" + rows().to_csv(index=False, sep="\t")), X),
    "bars": (lambda at: text(at, rows().to_csv(index=False, sep="|")), X),
    "lines of Windows": (lambda at: text(at, rows().to_csv(index=False).replace("\n", "\r\n")), X),
    "lines of an old Mac": (lambda at: text(at, rows().to_csv(index=False).replace("\n", "\r")), X),
    "rows of separators at the end": (lambda at: text(at, european(rows()) + ";;;;;;\n" * 3), X),
    "empty lines": (lambda at: text(at, rows().to_csv(index=False).replace("\n", "\n\n")), X),
    "columns without a name": (lambda at: text(at, european(rows()).replace("\n", ";;\n")), X),
    "the minus of Swedish spreadsheets": (lambda at: text(at, typed("\N{MINUS SIGN}0,25", "0,5", "0,75", "1,5")),
                                          [-0.25, 0.5, 0.75, 1.5]),
    "NumPy's first line": (lambda at: text(at, "# " + rows().to_csv(index=False)), X),
    "an empty line before the names": (lambda at: text(at, "\n" + rows().to_csv(index=False)), X),
    "an episode written as 0 and as 0.0": (
        lambda at: text(at, rows().to_csv(index=False).replace("\n0,2", "\n0.0,2").replace("\n0,3", "\n0.0,3")), X,
    ),
    "an episode that looks like a number with marks": (lambda at: csv(at, rows().assign(episode="1.2.3")), X),
    "times instead of steps": (lambda at: csv(at, timed(rows())), X),
    "three decimals after a comma": (lambda at: text(at, typed("0,125", "1,500", "2,25", "-0,750")),
                                     [0.125, 1.5, 2.25, -0.75]),
    # Tables of databases and of data frames.
    "numbers of a database": (
        lambda at: tables(at, d=rows(x=[Decimal("0.25"), Decimal("0.50"), Decimal("0.75"), Decimal("1.50")])), X,
    ),
    "nullable numbers": (lambda at: tables(at, d=rows().convert_dtypes()), X),
    "categories": (lambda at: tables(at, d=rows().astype({"episode": "category"})), X),
    "narrow numbers": (lambda at: tables(at, d=rows().astype({"x": "float16", "action": "int8", "step": "uint8"})), X),
    # Columns that count the rows are no observation.
    "LeRobot": (lambda at: lerobot(at, robot()), X),
    "LeRobot's columns in a table": (
        lambda at: tables(at, d=rows().rename(columns={"episode": "episode_index", "step": "frame_index"}).assign(
            timestamp=np.arange(4) / 30, index=range(4), task_index=0
        )), X,
    ),
    "LeRobot's columns in CSV": (
        lambda at: csv(at, rows().rename(columns={"episode": "episode_index", "step": "frame_index"}).assign(
            timestamp=np.arange(4) / 30, index=range(4), task_index=0
        )), X,
    ),
}  # fmt: skip
"""Data as tools and spreadsheets write them by themselves, and the first number of each observation."""


def entries(table: dict[str, Any]) -> list[Any]:
    return [pytest.param(one, id=name) for name, one in table.items()]


@pytest.mark.parametrize("write", entries(REFUSED))
def test_data_that_are_not_what_they_seem_are_refused(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path)
    found = bring(path)
    assert found.code == 2, f"{len(found.games)} games of {[len(one) for one in found.games]} decisions"
    assert path.name in found.said.strip().splitlines()[-1]
    assert "Traceback" not in found.said


@pytest.mark.parametrize("entry", entries(READ))
def test_data_are_read_as_the_numbers_they_are(tmp_path: Path, entry: Any) -> None:
    write, wanted = entry
    found = bring(write(tmp_path))
    assert found.code == 0, found.said
    (game,) = found.games
    assert game.observations[: len(wanted), 0].tolist() == np.float32(wanted).tolist()
    assert len(game) == len(wanted)
    assert {*game.actions.tolist()} <= {0, 1}


WORDS = {
    "English": ("TRUE", "FALSE"),
    "German": ("WAHR", "FALSCH"),
    "French": ("VRAI", "FAUX"),
    "Spanish": ("VERDADERO", "FALSO"),
    "Italian": ("VERO", "FALSO"),
    "Dutch": ("WAAR", "ONWAAR"),
    "Portuguese": ("VERDADEIRO", "FALSO"),
    "Polish": ("PRAWDA", "FAŁSZ"),
}
"""The truths of spreadsheets."""


@pytest.mark.parametrize(
    ("true", "false"),
    [pytest.param(*words, id=name) for name, words in WORDS.items()],
)
def test_truths_are_in_the_words_of_any_spreadsheet(tmp_path: Path, true: str, false: str) -> None:
    ends = [false, false, false, true]
    found = bring(text(tmp_path, european(pd.concat([rows(terminated=ends), rows(1, terminated=[false] * 4)]))))
    assert found.code == 0, found.said
    assert [(one.terminated, one.truncated) for one in found.games] == [(True, False), (False, True)]


def test_a_word_that_is_no_truth_is_refused(tmp_path: Path) -> None:
    found = bring(csv(tmp_path, rows(terminated=["TRUE", "FALSE", "MAYBE", "FALSE"])))
    assert (found.code, "MAYBE" in found.said, "row 2" in found.said) == (2, True, True)


def minari_dataset(folder: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    minari = pytest.importorskip("minari")
    from minari.data_collector import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder / "minari"))
    env = gymnasium.make("CartPole-v1")
    buffer = EpisodeBuffer(
        id=0,
        observations=np.float32([[x, 0, 0, 0] for x in [*X, 2.0]]),
        actions=np.array(ACTIONS),
        rewards=[1.0] * 4,
        terminations=[False, False, False, True],
        truncations=[False] * 4,
        infos={},
    )
    minari.create_dataset_from_buffers(
        "pole-v0", buffer=[buffer], env=env, observation_space=env.observation_space, data_format=form
    )
    return folder / "minari" / "pole-v0"


@pytest.mark.parametrize("form", ["hdf5", "arrow", "parquet"])
def test_minaris_datasets_are_read_however_they_are_stored(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = bring(minari_dataset(tmp_path, form, monkeypatch))
    assert found.code == 0, found.said
    (game,) = found.games
    assert game.observations[:, 0].tolist() == [*X, 2.0]
    assert (game.actions.tolist(), game.terminated) == (ACTIONS, True)


def test_an_episode_of_minari_that_was_cut_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = minari_dataset(tmp_path, "hdf5", monkeypatch)
    import h5py

    with h5py.File(folder / "data" / "main_data.hdf5", "a") as file:
        for name in ("observations", "actions", "rewards", "terminations", "truncations"):
            whole = file["episode_0"][name][:]
            del file["episode_0"][name]
            file["episode_0"][name] = whole[:-2]
    found = bring(folder)
    assert (found.code, "2 steps, but its metadata say 4" in found.said) == (2, True)


MEGABYTES = 500


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="measures memory as Unix does")
def test_arrays_that_do_not_fit_each_other_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    count = MEGABYTES * 2**20 // 16
    np.savez_compressed(tmp_path / "small.npz", observations=np.zeros((9, 4), np.float32), actions=np.zeros(10, int))
    with zipfile.ZipFile(tmp_path / "large.npz", "w", zipfile.ZIP_DEFLATED) as packed:
        with packed.open("observations.npy", "w", force_zip64=True) as file:
            head = {"descr": "<f4", "fortran_order": False, "shape": (count, 4)}
            np.lib.format.write_array_header_1_0(file, head)  # type: ignore[no-untyped-call]
            for _ in range(MEGABYTES):
                file.write(bytes(2**20))
        with packed.open("actions.npy", "w") as file:
            np.lib.format.write_array(file, np.zeros(10, np.int64))  # type: ignore[no-untyped-call]
    peaks = []
    for name in ("small", "large"):
        code = "import sys; from importlib.metadata import entry_points as found; sys.argv[0] = 'qwop-dataset'; "
        code += "[one] = found(group='console_scripts', name='qwop-dataset'); one.load()()"
        told = ["import", f"{name}.npz", f"out={name}", "environment_id=CartPole-v1"]
        made = subprocess.Popen([sys.executable, "-c", code, *told], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert made.stderr is not None
        said = made.stderr.read()
        _, status, used = os.wait4(made.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 2, said
        assert f"{name}.npz" in said
        peaks.append(used.ru_maxrss / 1024)
    assert peaks[1] - peaks[0] < MEGABYTES / 4
