"""Reading: what was written, by this package and by others, and what is refused."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.control import Branch
from qwop.datasets.folder import episode_name
from qwop.datasets.origin import Origin
from qwop.envs.names import ACTIONS, FEATURES
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

from ..fakes import dataset_of

MakeEpisode = Callable[..., Episode]


def assert_same(found: Episode, expected: Episode) -> None:
    for field in fields(Episode):
        mine, theirs = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "keys" and theirs is not None:
            assert [(frames.dtype, *frames) for frames in mine] == [(frames.dtype, *frames) for frames in theirs]
        elif isinstance(theirs, np.ndarray):
            assert mine.dtype == theirs.dtype
            assert np.array_equal(mine, theirs), field.name
        else:
            assert mine == theirs, field.name


KEYS = [np.array(keys, dtype=np.uint8) for keys in ([], [15], [0, 1, 2], [], [8])]
MU = np.array([[1e-30, 1]] * 5, dtype=np.float32)

ODD: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "everything": (
        (71,),
        {
            "keys": tuple(KEYS), "seed": 2**63 - 1, "metres": -0.0, "origin": Origin(game=9, greedy=False),
            "actors": np.array([0, 1, 1, 0, 0], np.int8), "policy_probabilities": MU, "branch": Branch(7, 4),
            "max_idle_frames": 3000, "player": "O\u2019Brien \n\0 ü 動", "mu_kind": "any", "mu_epsilon": None,
            "terminated": True, "truncated": True,
        },
    ),
    "nothing": ((), {"keys": None, "times": None, "seed": None, "metres": None, "player": "", "source": ""}),
    "one decision": ((2, 1, 3), {"steps": 1, "rewards": np.array([3e38], np.float32), "times": np.zeros(2)}),
    "a picture": ((9, 1, 3), {"observations": np.arange(6 * 27, dtype=np.uint8).reshape(6, 9, 1, 3), "keys": None}),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_written_is_read(tmp_path: Path, make_episode: MakeEpisode, name: str) -> None:
    shape, fields = ODD[name]
    writing = {"created": "2026-01-02T03:04:05+00:00", "software_version": "1.2.3"}
    if name == "everything":
        fields = {**fields, "actions": np.ones(5, np.int16), "behaviour_probabilities": MU}
    episode = make_episode(count=2, shape=shape, **fields, **writing)
    names = tuple(f"ü {place}" for place in range(71)) if name == "everything" else None
    spec = EnvironmentSpec("Any-v0", {"reward": None, "lag": 0.25, "on": True})
    info = DatasetInfo(spec, ObservationSpec(shape, episode.observations.dtype.name), 2, observation_names=names)
    dataset = dataset_of(tmp_path, info, episode)
    assert (dataset.info, dataset.info.observation_names) == (info, names)
    assert_same(dataset[0], episode)


@pytest.fixture
def folder(tmp_path: Path, info: DatasetInfo, make_episode: MakeEpisode) -> Path:
    games = (make_episode(steps=4 + seed, seed=seed) for seed in range(3))
    return dataset_of(tmp_path / "environment=x", info, *games).folder  # a name that partitions have


def test_a_dataset_is_a_sequence_of_episodes_that_are_selected_before_they_are_read(folder: Path) -> None:
    dataset = open_dataset(folder)
    assert [len(episode) for episode in dataset] == dataset.lengths().tolist() == [4, 5, 6]
    assert [episode.seed for episode in dataset[1:]] == [1, dataset[-1].seed] == [1, 2]
    with pytest.raises(IndexError):
        dataset[3]
    dataset.files[0].write_bytes(b"")
    chosen = open_dataset(folder).select([2, 1])
    assert [episode.seed for episode in chosen] == [2, 1]
    assert chosen.lengths().tolist() == [6, 5]


def test_order_is_by_number_beyond_six_digits_and_two_of_one_number_are_named(
    folder: Path, tmp_path: Path, make_episode: MakeEpisode
) -> None:
    writer = DatasetWriter(folder, open_dataset(folder).info)
    writer._next = 1_000_000
    writer.write(make_episode(seed=9))
    assert [episode.seed for episode in open_dataset(folder)] == [0, 1, 2, 9]
    other = DatasetWriter(tmp_path / "other", open_dataset(folder).info).write(make_episode(seed=9))
    shutil.copy(other, folder / "episodes")
    with pytest.raises(BadInput, match=r"has the number of episode-000000-\w+\.parquet; move one of them away"):
        open_dataset(folder)


def test_pandas_and_polars_read_the_decisions_with_their_types_by_the_folders_name(folder: Path) -> None:
    dataset = open_dataset(folder)
    frame, polars = pd.read_parquet(folder / "episodes"), pl.read_parquet(folder / "episodes")
    assert [str(frame[name].dtype) for name in ("action", "reward", "player")] == ["int16", "float32", "category"]
    assert [polars.schema[name] for name in ("action", "reward", "player")] == [pl.Int16, pl.Float32, pl.Categorical]
    assert frame.action.tolist() == [action for one in dataset for action in one.actions.tolist()]
    assert frame.groupby("episode_index").size().tolist() == [4, 5, 6]
    ends = frame[frame.final_observation.notna()]
    assert ends.step_index.tolist() == [3, 4, 5]
    for one, last in zip(dataset, ends.final_observation, strict=True):
        assert np.array_equal(one.observations[-1], last)


def test_hugging_face_reads_the_folder_as_it_is_and_nothing_that_was_set_aside(folder: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("datasets")
    (folder / "aside").mkdir()
    (folder / "aside" / "episode-000009-0123456789ab-faulty.aside").write_bytes(b"torn")
    rows = hub.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))["train"]
    assert len(rows) == 15
    assert str(rows.features["action"]) == "Value('int16')"
    assert str(rows.features["player"]) == "Value('string')"
    assert sum(row["final_observation"] is not None for row in rows) == 3


def test_the_step_table_has_every_decision_by_name(folder: Path) -> None:
    dataset = open_dataset(folder)
    steps = dataset.steps()
    about = ["episode_index", "step_index", "timestamp", "action", "reward", "terminated", "truncated"]
    assert list(steps.columns) == [*about, "probability", "action_name", *FEATURES]
    assert steps.groupby("episode_index").size().to_list() == [4, 5, 6]
    second = dataset.select([1]).steps()
    assert second.episode_index.unique() == [1]  # the file's number, as in the column of the files
    assert second.action_name.to_list() == [ACTIONS[action] for action in dataset[1].actions]
    mu = dataset[1].behaviour_probabilities
    assert np.array_equal(second.probability, mu[np.arange(len(mu)), dataset[1].actions])
    assert np.array_equal(second["torso.angle"].to_numpy(), dataset[1].observations[:-1, 66])


def test_images_are_stored_as_their_bytes(tmp_path: Path, make_episode: MakeEpisode) -> None:
    images = np.zeros((201, 6, 5, 3), dtype=np.uint8)
    images[:, 3:] = np.arange(201, dtype=np.uint8).reshape(-1, 1, 1, 1)
    info = DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((6, 5, 3), "uint8"), 2)
    dataset = dataset_of(tmp_path, info, make_episode(steps=200, observations=images, count=2, keys=None))
    table = pq.ParquetFile(dataset.files[0]).read()
    assert table.column("observation")[7].as_py() == images[7].tobytes()
    assert table.column("final_observation")[-1].as_py() == images[-1].tobytes()
    assert dataset.files[0].stat().st_size < 15_000
    assert np.array_equal(np.stack(dataset.steps().observation.to_list()), images[:-1])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "no such folder; expected the folder of a dataset"),
        ("data/pipe", "not a folder; expected the folder of a dataset"),
        ("data/dataset.json", "not a folder; expected the folder of a dataset"),
        (".", r"no dataset\.json in it"),
        ("torn", r"dataset\.json: Expecting.*; expected the folder of"),
        ("data", "the dataset has no episodes yet"),
    ],
)
def test_no_dataset_is_bad_input(tmp_path: Path, info: DatasetInfo, name: str, said: str) -> None:
    DatasetWriter(tmp_path / "data", info)
    os.mkfifo(tmp_path / "data" / "pipe")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "dataset.json").write_text("{")
    with pytest.raises(BadInput, match=said):
        open_dataset(tmp_path / name)


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table], more: dict[str, Any] | None = None) -> Path:
    """Write a file with another table, or other metadata, under the name that its digest gives."""
    file = pq.ParquetFile(path)
    kept = {name: value for name, value in file.metadata.metadata.items() if name != b"ARROW:schema"}
    given = {name.encode(): json.dumps(value).encode() for name, value in (more or {}).items()}
    sink = pa.BufferOutputStream()
    table = change(file.read())
    with pq.ParquetWriter(sink, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({**kept, **given})
    path.unlink()
    target = path.with_name(episode_name(int(path.name[8:14]), sink.getvalue().to_pybytes()))
    target.write_bytes(sink.getvalue().to_pybytes())
    return target


def with_column(name: str, values: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(
        table.schema.names.index(name), name, pa.array(values, type=table.schema.field(name).type)
    )


def with_type(name: str, kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.schema.names.index(name), name, table.column(name).cast(kind))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_column("reward", [0, 1, None, 3]), "column reward has a null"),
        (with_column("episode_index", [0, 0, 1, 0]), "column episode_index says 0, 1, expected the number"),
        (with_column("step_index", [0, 1, 2, 2]), "column step_index does not count from 0"),
        (with_column("terminated", [False, True, False, True]), "terminated is true in row 1, before the last"),
        (with_column("timestamp", [0, 1, None, 3]), "column timestamp has a null"),
        (with_column("final_timestamp", [0, 1, 2, 3]), "final_timestamp is not in the last row alone"),
        (with_column("final_observation", [None] * 4), "final_observation is not in the last row alone"),
        (with_column("action", [0, 1, 30, 3]), "actions hold a number outside"),
        (with_column("keys", [[1], None, [1], [1]]), "column keys has a null"),
        (with_column("player", ["a", "a", "b", "a"]), "column player is not the same in all rows"),
        (with_type("player", pa.string()), "column player is string, expected dictionary"),
        (lambda table: table.drop_columns(["reward"]), "column reward is missing"),
        (lambda table: table.slice(0, 0), "it has no decision"),
        ({"episode": {"origin": {}}}, "expected the fields origin, start, branch"),
        ({"dataset": {"version": 2}}, "version 2 of the format, expected 1"),
        ({"dataset": {"version": True}}, "version true of the format, expected 1"),
        ({"dataset": []}, "not a dataset description"),
    ],
)
def test_a_foreign_file_is_named_with_what_is_wrong(
    folder: Path, change: Callable[[pa.Table], pa.Table] | dict[str, Any], message: str
) -> None:
    """change: of the table, or other metadata."""
    path = open_dataset(folder).files[0]
    path = rewritten(path, lambda table: table, change) if isinstance(change, dict) else rewritten(path, change)
    with pytest.raises(BadInput, match=rf"{path.name}: .*{message}.*; move it out of the dataset"):
        open_dataset(folder)[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one["environment"]["settings"].update(frames_per_step=4), "frames_per_step is 3, not 4"),
        (lambda one: one["actions"].update(count=12, names=None), "actions is 11, not 12"),
        (lambda one: one["observation"].update(names=None), "the names of observations or actions are others"),
    ],
)
def test_an_episode_of_another_description_is_refused_naming_both_files(
    folder: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    path = folder / "dataset.json"
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    with pytest.raises(BadInput) as raised:
        open_dataset(folder)[0]
    file = open_dataset(folder).files[0]
    assert str(raised.value).startswith(f"{file}: its description is not that of {path.name}: ")
    assert said in str(raised.value)
