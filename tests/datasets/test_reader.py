import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.arrow import renumbered
from qwop.datasets.checksums import CHECKSUMS
from qwop.datasets.origin import Origin
from qwop.datasets.schema import OUTCOMES
from qwop.datasets.writer import to_parquet
from qwop.envs.names import ACTIONS, FEATURES
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

numbers32 = st.floats(allow_nan=False, allow_infinity=False, width=32)


observations32 = st.tuples(st.just("float32"), st.lists(st.integers(1, 3), max_size=3).map(tuple), st.just(numbers32))

images = st.tuples(
    st.just("uint8"),
    st.tuples(st.integers(1, 9), st.integers(1, 9))
    | st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4)),
    st.just(st.integers(0, 255)),
)


@st.composite
def datasets(draw: st.DrawFn) -> tuple[DatasetInfo, Episode]:
    """Draw an episode with observations of any shape and type, and the info that it fits."""
    steps, count = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    dtype, shape, elements = draw(observations32 | images)
    weights = draw(st_numpy.arrays(np.float64, (steps, count), elements=st.floats(0.001, 1)))
    ending = draw(st.sampled_from([(True, False), (False, True), (True, True)]))
    frames = st.lists(st.integers(0, 15), max_size=4).map(lambda keys: np.array(keys, dtype=np.uint8))
    episode = Episode(
        observations=draw(st_numpy.arrays(dtype, (steps + 1, *shape), elements=elements)),
        actions=draw(st_numpy.arrays(np.int16, steps, elements=st.integers(0, count - 1))),
        behaviour_probabilities=(weights / weights.sum(axis=1, keepdims=True)).astype(np.float32),
        rewards=draw(st_numpy.arrays(np.float32, steps, elements=numbers32)),
        times=np.sort(draw(st_numpy.arrays(np.float64, steps + 1, elements=st.floats(0, 1e6)))),
        keys=draw(st.none() | st.lists(frames, min_size=steps, max_size=steps).map(tuple)),
        terminated=ending[0],
        truncated=ending[1],
        outcome=draw(st.sampled_from(OUTCOMES)),
        player=draw(st.text(st.characters(exclude_categories=["Cs"]))),
        source=draw(st.text(st.characters(exclude_categories=["Cs"]))),
        probabilities_from="recorded",
        seed=draw(st.none() | st.integers(0, 2**63)),
        metres=draw(st.none() | st.floats(-1e3, 1e3)),
        origin=draw(st.just(Origin()) | st.builds(Origin, game=st.integers(0, 99), greedy=st.booleans())),
        max_idle_frames=draw(st.none() | st.integers(0, 3000)),
        created="2026-01-02T03:04:05+00:00",
        software_version="1.2.3",
    )
    settings = draw(
        st.dictionaries(st.sampled_from(["reward", "lag"]), st.integers(-9, 9) | st.sampled_from([None, True, 0.25]))
    )
    return DatasetInfo(EnvironmentSpec("Any-v0", settings), ObservationSpec(shape, dtype), count), episode


def assert_same(found: Episode, expected: Episode) -> None:
    for field in fields(Episode):
        mine, theirs = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "keys" and theirs is not None:
            assert [(frames.dtype, *frames) for frames in mine] == [(frames.dtype, *frames) for frames in theirs]
        elif isinstance(theirs, np.ndarray):
            assert mine.dtype == theirs.dtype
            assert np.array_equal(mine, theirs)
        else:
            assert mine == theirs, field.name


@given(datasets())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, given_dataset: tuple[DatasetInfo, Episode]
) -> None:
    info, episode = given_dataset
    folder = tmp_path_factory.mktemp("dataset")
    DatasetWriter(folder, info).write(episode)
    dataset = open_dataset(folder)
    assert dataset.info == info
    assert_same(dataset[0], episode)


@pytest.fixture
def folder(tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]) -> Path:
    writer = DatasetWriter(tmp_path / "environment=x", info)  # a name that partitioned datasets give a meaning
    for seed in range(3):
        writer.write(make_episode(steps=4 + seed, seed=seed))
    return writer.folder


def test_a_dataset_is_a_sequence_of_episodes(folder: Path) -> None:
    dataset = open_dataset(folder)
    assert len(dataset) == 3
    assert [len(episode) for episode in dataset] == [4, 5, 6]
    assert [episode.seed for episode in dataset[1:]] == [1, 2]
    assert dataset[-1].seed == 2
    with pytest.raises(IndexError):
        dataset[3]


def test_order_is_by_number_beyond_six_digits(folder: Path) -> None:
    table = pq.ParquetFile(folder / "episode-000001.parquet").read()
    (folder / "episode-1000000.parquet").write_bytes(to_parquet(renumbered(table, 1_000_000)))
    assert [episode.seed for episode in open_dataset(folder)] == [0, 1, 2, 1]


def test_other_files_in_the_folder_are_left_alone(folder: Path) -> None:
    for name in ("notes.txt", ".0123.partial", ".episode-000009.parquet.claim", "episode-7.parquet", "x.parquet"):
        (folder / name).write_text("not an episode")
    assert len(open_dataset(folder)) == 3


def test_metadata_name_player_time_and_software(folder: Path) -> None:
    metadata = open_dataset(folder).metadata(0)
    assert metadata["player"] == "somebody"
    assert metadata["outcome"] == "fell"
    assert metadata["environment"] == {"id": "QWOP-v1", "settings": {"frames_per_step": 3, "reward": "speed"}}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", metadata["created"])
    assert metadata["software_version"]


def test_the_last_row_holds_the_last_observation_and_nulls(folder: Path) -> None:
    table = pq.ParquetFile(folder / "episode-000000.parquet").read()
    rows = table.to_pylist()
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 4]
    assert {name for name, value in rows[-1].items() if value is None} == {
        "action",
        "behaviour_probabilities",
        "reward",
        "terminated",
        "truncated",
        "keys",
    }
    assert all(value is not None for row in rows[:-1] for value in row.values())
    assert np.array_equal(rows[-1]["observation"], open_dataset(folder)[0].observations[-1])


def test_the_step_table_has_every_row_by_name(folder: Path) -> None:
    dataset = open_dataset(folder)
    steps = dataset.steps()
    assert list(steps.columns) == [
        "episode",
        "step",
        "time",
        "action",
        "action_name",
        "reward",
        "terminated",
        "truncated",
        "probability",
        *FEATURES,
    ]
    assert steps.groupby("episode").size().to_list() == [5, 6, 7]
    last = steps[steps.step == steps.groupby("episode").step.transform("max")]
    assert last[["action", "action_name", "reward", "probability"]].isna().all(axis=None)
    decisions = steps.drop(last.index)
    assert not decisions.isna().any(axis=None)
    assert dataset.select([2]).steps().episode.unique() == [2]  # the file's number, as in the column of the files
    second = decisions[decisions.episode == 1]
    assert second.action.to_list() == dataset[1].actions.tolist()
    assert second.action_name.to_list() == [ACTIONS[action] for action in dataset[1].actions]
    assert np.array_equal(second["torso.angle"].to_numpy(), dataset[1].observations[:-1, 66])
    assert second.probability.to_numpy() == pytest.approx(0.95 + 0.05 / 11)
    assert isinstance(steps.action.dtype, pd.Int16Dtype)


def test_the_step_table_of_another_environment_numbers_its_observation(
    tmp_path: Path, make_episode: Callable[..., Episode]
) -> None:
    writer = DatasetWriter(tmp_path, DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)), 2))
    writer.write(make_episode(shape=(4,), count=2, keys=None))
    assert list(open_dataset(tmp_path).steps().columns)[-4:] == [f"observation.{i}" for i in range(4)]


@pytest.mark.parametrize("shape", [(84, 84), (6, 5, 3)])
def test_the_step_table_holds_each_image_in_one_cell(
    tmp_path: Path, make_episode: Callable[..., Episode], shape: tuple[int, ...]
) -> None:
    images = np.random.default_rng(0).integers(256, size=(6, *shape), dtype=np.uint8)
    writer = DatasetWriter(tmp_path, DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec(shape, "uint8"), 2))
    writer.write(make_episode(observations=images, count=2, keys=None))
    steps = open_dataset(tmp_path).steps()
    assert list(steps.columns) == [
        "episode",
        "step",
        "time",
        "action",
        "reward",
        "terminated",
        "truncated",
        "probability",
        "observation",
    ]
    assert np.array_equal(np.stack(steps.observation.to_list()), images)


def test_images_are_stored_as_their_bytes_and_compressed(tmp_path: Path, make_episode: Callable[..., Episode]) -> None:
    images = np.zeros((201, 84, 84), dtype=np.uint8)
    images[:, 40:, :] = np.arange(201, dtype=np.uint8)[:, None, None]
    writer = DatasetWriter(tmp_path, DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((84, 84), "uint8"), 2))
    path = writer.write(make_episode(steps=200, observations=images, count=2, keys=None))
    column = pq.ParquetFile(path).read().column("observation")
    assert column.type == pa.binary(84 * 84)
    assert column[7].as_py() == images[7].tobytes()
    assert path.stat().st_size < images.nbytes / 10


def test_no_dataset_is_bad_input(tmp_path: Path, info: DatasetInfo) -> None:
    with pytest.raises(BadInput, match="no such folder"):
        open_dataset(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"no dataset\.json in it"):
        open_dataset(tmp_path)
    (tmp_path / "dataset.json").write_text("{")
    with pytest.raises(
        BadInput, match=r"dataset\.json: cannot be read \(Expecting.*; expected the description of a dataset"
    ):
        open_dataset(tmp_path)
    (tmp_path / "dataset.json").write_text(json.dumps(info.to_json()))
    with pytest.raises(BadInput, match="the dataset has no episodes yet"):
        open_dataset(tmp_path)


@pytest.mark.parametrize("change", [lambda text: text.replace(b"\n", b"\r\n"), lambda text: b"\xef\xbb\xbf" + text])
def test_a_list_of_checksums_that_an_editor_saved_anew_still_tells_what_is_missing(
    change: Callable[[bytes], bytes], tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    path = DatasetWriter(tmp_path, info).write(make_episode())
    listed = (tmp_path / CHECKSUMS).read_bytes().splitlines(keepends=True)
    (tmp_path / CHECKSUMS).write_bytes(change(b"".join(reversed(listed))))
    assert len(open_dataset(tmp_path)) == 1
    path.unlink()
    with pytest.raises(BadInput, match=f"{path.name}: missing, though {CHECKSUMS} lists it"):
        open_dataset(tmp_path)


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a file's table, in a dataset that has no list of checksums."""
    pq.write_table(change(pq.ParquetFile(path).read()), path)
    (path.parent / CHECKSUMS).unlink()


def without_metadata(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata({})


def with_metadata(**values: Any) -> Callable[[pa.Table], pa.Table]:
    more = {name.encode(): json.dumps(value).encode() for name, value in values.items()}
    return lambda table: table.replace_schema_metadata({**table.schema.metadata, **more})


def with_column(name: str, values: Any, kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.schema.names.index(name), name, pa.array(values, type=kind))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_metadata, "its metadata lacks schema_version"),
        (with_metadata(schema_version=9), "schema version 9, expected at most 3; upgrade"),
        (with_metadata(schema_version=True), "schema_version is true, expected a whole number"),
        (with_metadata(schema_version="2"), "schema_version is 2, expected a whole number"),
        (with_metadata(actions=12), "says actions is 11, not 12"),
        (
            with_metadata(environment={"id": "QWOP-v1", "settings": {"frames_per_step": 4}}),
            "says frames_per_step is 3, not 4",
        ),
        (with_metadata(outcome="won"), "outcome 'won'"),
        (with_metadata(schema_version=1, seed=0), "schema_version is 2, not 1"),
        (with_metadata(player="another"), "its content was changed"),
        (with_metadata(origin={"game": "x"}), "origin.game is x, expected int"),
        (with_metadata(start=[]), "start is not a game's start"),
        (with_metadata(more=1), "its content was changed"),
        (with_column("reward", [0, 1, 2, 3, None], pa.float32()), "its content was changed"),
        (with_column("episode", [0, 0, 1, 0, 0], pa.int32()), "column episode says 0, 1, expected the number"),
        (with_column("terminated", [False, True, False, True, None], pa.bool_()), "row 1: terminated is true"),
        (with_column("truncated", [False, False, False, True, None], pa.bool_()), "row 3: truncated is true"),
        (lambda table: table.append_column("more", table["step"]), "column more is not one of an episode's"),
        (lambda table: table.drop_columns(["reward"]), "column reward is missing"),
        (with_column("time", [0, 1, 2, 3, 4], pa.int64()), "column time is int64, expected double"),
        (with_column("step", [0, 1, 2, 3, 3], pa.int32()), "column step does not count from 0"),
        (with_column("time", [0, 1, None, 3, 4], pa.float64()), "column time has a null"),
        (with_column("action", [0, 1, None, 3, None], pa.int16()), "action must be null in the last row and only"),
        (with_column("action", [0, 1, 2, 3, 4], pa.int16()), "action must be null in the last row and only"),
        (with_column("action", [0, 1, 2, 30, None], pa.int16()), "actions hold a number outside"),
        (with_column("keys", [[1], None, [1], [1], None], pa.list_(pa.uint8())), "keys is null in some"),
        (lambda table: table.slice(0, 0), "it has no decision"),
        (lambda table: table.slice(0, 3), "null in the last row"),
    ],
)
def test_a_foreign_file_is_named_with_what_is_wrong(
    folder: Path, change: Callable[[pa.Table], pa.Table], message: str
) -> None:
    path = folder / "episode-000000.parquet"
    rewritten(path, change)
    with pytest.raises(BadInput, match=f"episode-000000.parquet: .*{message}.*; move it out of the dataset"):
        open_dataset(folder)[0]


@pytest.mark.parametrize("keep", [0, 3, 100, 0.5, 0.99])
def test_a_truncated_file_is_named(folder: Path, keep: float) -> None:
    path = folder / "episode-000001.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep > 1 else keep * len(content))])
    require_named(folder, "was changed")
    (folder / CHECKSUMS).unlink()
    require_named(folder, "damaged or not a Parquet file")


def require_named(folder: Path, complaint: str) -> None:
    """Fail unless everything that reads the second episode's file names it."""
    dataset = open_dataset(folder)
    for read in (lambda: dataset[1], lambda: dataset.metadata(1), dataset.summary, dataset.lengths):
        with pytest.raises(BadInput, match=rf"episode-000001\.parquet: {complaint}"):
            read()


@given(st.integers(0, 2**31), st.integers(0, 255))
@example(position=688904959, value=0)  # a page header with fewer fields
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_byte_is_an_episode_or_bad_input(folder: Path, position: int, value: int) -> None:
    """Whichever byte of a file is damaged, reading it succeeds or raises BadInput."""
    path = folder / "episode-000002.parquet"
    content = path.read_bytes()
    try:
        changed = bytearray(content)
        changed[position % len(content)] = value
        path.write_bytes(changed)
        (folder / CHECKSUMS).unlink(missing_ok=True)
        try:
            assert len(open_dataset(folder)[2]) == 6
        except BadInput as error:
            message = str(error)
        else:
            message = f"{path} is still an episode"
        assert message.startswith(str(path))
        assert "\n" not in message
    finally:
        path.write_bytes(content)


def test_pandas_and_polars_read_the_episodes_alone_in_a_line(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    folder = tmp_path / "games"
    writer = DatasetWriter(folder, info)
    for seed in range(3):
        writer.write(make_episode(steps=4, seed=seed))
    (folder / "discarded").mkdir()
    (folder / "episode-000002.parquet").rename(folder / "discarded" / "episode-000002-0.parquet")
    assert len(pd.read_parquet(sorted(folder.glob("*.parquet")))) == 2 * 5
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(folder / "*.parquet").height == 2 * 5
    with pytest.raises(polars.exceptions.InvalidOperationError, match="different file extensions"):
        polars.read_parquet(folder)  # or docs/datasets.md says too much
