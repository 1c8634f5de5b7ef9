"""Imports of files that claim too much, hold something else or lead elsewhere: refused in a line, in bounded memory."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.arrow import identity
from qwop.datasets.exchange.export_command import ExportSettings
from qwop.datasets.exchange.export_command import run as export
from qwop.datasets.exchange.import_command import DatasetImportSettings
from qwop.datasets.exchange.import_command import run as import_
from qwop.datasets.reader import Dataset, open_dataset
from qwop.envs.spec import EnvironmentSpec

MEGABYTE = 2**20


def refused(folder: Path, **settings: Any) -> str:
    """The message of an import that is refused and leaves nothing behind."""
    out = folder.with_name("made") / "back"
    with pytest.raises(BadInput) as error:
        import_(DatasetImportSettings(str(folder), str(out), **settings))
    message = str(error.value)
    assert "\n" not in message
    assert str(folder) in message
    assert not out.parent.exists()
    return message


# --- Hugging Face ---


@pytest.fixture
def hub(games: Dataset, tmp_path: Path) -> Path:
    export(ExportSettings(str(games.folder), "huggingface", str(tmp_path / "hub")))
    return tmp_path / "hub"


def rewritten(file: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a file's table, which then has the types of Parquet alone, as files of other tools."""
    pq.write_table(change(pq.read_table(file)), file, compression="zstd", store_schema=False)


def repeated(name: str, count: int, length: int) -> Callable[[pa.Table], pa.Table]:
    """So many rows with the same long text in one column: a file of some kilobytes."""

    def change(table: pa.Table) -> pa.Table:
        table = pa.concat_tables([table] * (count // len(table) + 1)).slice(0, count)
        texts = pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), ["x" * length])
        if name in table.column_names:
            return table.set_column(table.schema.names.index(name), name, texts)
        return table.append_column(name, texts)

    return change


@pytest.mark.parametrize("name", ["player", "origin"])
def test_a_text_that_unpacks_to_gigabytes_is_refused(hub: Path, name: str) -> None:
    file = hub / "episodes" / "train-00000.parquet"
    rewritten(file, repeated(name, 3000, 400_000))
    assert file.stat().st_size < 2 * MEGABYTE
    before = pa.default_memory_pool().max_memory()
    assert "MB or more in memory, more than the 256 MB permitted" in refused(hub)
    assert pa.default_memory_pool().max_memory() - before < 300 * MEGABYTE


def test_columns_that_nobody_asked_for_are_not_read(hub: Path, games: Dataset, tmp_path: Path) -> None:
    rewritten(hub / "episodes" / "train-00000.parquet", repeated("more", len(games), 100 * MEGABYTE))
    rows = int(games.lengths().sum()) + len(games)
    rewritten(hub / "steps" / "train-00000.parquet", repeated("more", rows, 10 * MEGABYTE))
    import_(DatasetImportSettings(str(hub), str(tmp_path / "back")))
    assert [*map(identity, open_dataset(tmp_path / "back"))] == [*map(identity, games)]


def test_a_million_equal_numbers_in_a_row_are_refused(hub: Path) -> None:
    def endless_keys(table: pa.Table) -> pa.Table:
        lengths = np.zeros(len(table) + 1, np.int32)
        lengths[1:] = 60_000_000
        keys = pa.ListArray.from_arrays(pa.array(lengths), pa.array(np.ones(60_000_000, np.uint8)))
        return table.set_column(table.schema.names.index("keys"), "keys", keys)

    rewritten(hub / "steps" / "train-00000.parquet", endless_keys)
    assert "MB or more in memory" in refused(hub)


def test_one_game_that_fills_many_small_files_is_refused(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwop.datasets.bounds.LARGEST", 3 * MEGABYTE)
    file = hub / "steps" / "train-00000.parquet"
    table = pq.read_table(file)
    ones = table.slice(1, 1)
    for number in range(4):
        pq.write_table(pa.concat_tables([ones] * 2500).combine_chunks(), file.with_name(f"train-0000{number}.parquet"))
    assert "MB or more in memory, more than the 3 MB permitted" in refused(hub)


@pytest.mark.parametrize("place", ["episodes", "steps"])
def test_a_second_copy_is_not_dropped_silently(hub: Path, place: str) -> None:
    file = hub / place / "train-00000.parquet"
    file.with_name("train-00001.parquet").write_bytes(file.read_bytes())
    assert refused(hub).endswith(
        "episode 1: column episode says 1, expected the number of the file's name; the file was renamed, copied or "
        "changed"
        if place == "episodes"
        else "steps has rows of more episodes than the 3 of episodes"
    )


@pytest.mark.parametrize("place", ["episodes", "steps"])
def test_a_pipe_is_not_waited_for(hub: Path, place: str) -> None:
    file = hub / place / "train-00000.parquet"
    file.unlink()
    os.mkfifo(file)
    assert f"{file}: a pipe; expected a Parquet file" in refused(hub)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("player", [[1], [2], [3]], "column player is list<element: int64>, expected string"),
        ("player", [1, 2, 3], "column player is int64, expected string"),
        ("player", [None, "a", "b"], "episode 0: player is null, expected text"),
        ("terminated", [0, 1, 1], "column terminated is int64, expected bool"),
        ("origin", [None, "{}", "{}"], "episode 0: column origin has a null"),
        ("origin", ["{", "{}", "{}"], "episode 0: "),
        ("start", ["[" * 5000, "{}", "{}"], "episode 0: nested too deeply"),
        ("episode", [None, 1, 2], "episode"),
        ("episode", [2**40, 1, 2], "cannot be read"),
        ("metres", ["x", "y", "z"], "column metres is string, expected double"),
    ],
)
def test_columns_of_another_kind_are_named(hub: Path, name: str, values: list[Any], message: str) -> None:
    def change(table: pa.Table) -> pa.Table:
        return table.set_column(table.schema.names.index(name), name, pa.array(values))

    rewritten(hub / "episodes" / "train-00000.parquet", change)
    assert message in refused(hub)


def test_a_dataset_is_not_imported_into_its_own_files(hub: Path) -> None:
    before = sorted(hub.rglob("*"))
    for out in (hub / "new", hub, hub / "steps" / "a" / "b"):
        with pytest.raises(BadInput, match=r"is inside .*hub, which stays as it is; give out= another place"):
            import_(DatasetImportSettings(str(hub), str(out)))
    assert sorted(hub.rglob("*")) == before


def test_a_link_to_itself_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert f"{tmp_path / 'loop'}: no such file or folder" in refused(tmp_path / "loop")


def test_a_folder_without_episodes_is_refused(hub: Path) -> None:
    for place in ("episodes", "steps"):
        rewritten(hub / place / "train-00000.parquet", lambda table: table.slice(0, 0))
    assert "has no episode" in refused(hub)


# --- tables and LeRobot ---


def table_of_rows(rows: int = 3, **columns: Any) -> pa.Table:
    made = {"action": [0] * rows, "observation.x": [0.5] * rows, "reward": [1.0] * rows, "done": [True] * rows}
    return pa.table(made | columns)


def lerobot(folder: Path, table: pa.Table) -> Path:
    """A folder of LeRobot's with these rows."""
    names = {"reward": "next.reward", "done": "next.done"}
    table = table.rename_columns([names.get(name, name) for name in table.column_names])
    rows = {"episode_index": pa.array(range(len(table))), "frame_index": pa.array([0] * len(table))}
    for name, values in rows.items():
        table = table.append_column(name, values)
    (folder / "data").mkdir(parents=True)
    (folder / "meta").mkdir()
    features = {name: {"dtype": "float32"} for name in table.column_names}
    (folder / "meta" / "info.json").write_text(json.dumps({"features": features}))
    pq.write_table(table, folder / "data" / "file.parquet", store_schema=False)
    return folder


def own(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder.with_suffix(".parquet"), store_schema=False)
    return folder.with_suffix(".parquet")


FORMS: dict[str, Callable[[Path, pa.Table], Path]] = {"lerobot": lerobot, "table": own}

CART_POLE = {"environment_id": "CartPole-v1"}


@pytest.mark.parametrize("form", FORMS)
def test_a_tables_text_that_unpacks_to_gigabytes_is_refused(form: str, tmp_path: Path) -> None:
    path = FORMS[form](tmp_path / "table", repeated("reward", 3000, 400_000)(table_of_rows()))
    before = pa.default_memory_pool().max_memory()
    assert "MB or more in memory, more than the 256 MB permitted" in refused(path, **CART_POLE)
    assert pa.default_memory_pool().max_memory() - before < 300 * MEGABYTE


@pytest.mark.parametrize("form", FORMS)
def test_a_tables_endless_lists_are_refused(form: str, tmp_path: Path) -> None:
    lengths = pa.array([0, 60_000_000, 60_000_000, 60_000_000], pa.int32())
    lists = pa.ListArray.from_arrays(lengths, pa.array(np.zeros(60_000_000, np.float32)))
    path = FORMS[form](tmp_path / "table", table_of_rows().set_column(1, "observation.x", lists))
    assert "MB or more in memory, more than the 256 MB permitted" in refused(path, **CART_POLE)


@pytest.mark.parametrize("form", FORMS)
def test_a_tables_other_columns_are_not_read(form: str, tmp_path: Path) -> None:
    table = repeated("time", 3000, 100 * MEGABYTE)(table_of_rows())
    before = pa.default_memory_pool().max_memory()
    assert "observations have shape" in refused(FORMS[form](tmp_path / "table", table), **CART_POLE)
    assert pa.default_memory_pool().max_memory() - before < 300 * MEGABYTE


def test_many_small_tables_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qwop.datasets.bounds.LARGEST", 3 * MEGABYTE)
    (tmp_path / "tables").mkdir()
    for number in range(8):
        pq.write_table(table_of_rows(20_000), tmp_path / "tables" / f"{number}.parquet")
    assert "more than the 3 MB permitted" in refused(tmp_path / "tables", **CART_POLE)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "tables/a.parquet", "robot/data/a.parquet"])
def test_a_table_that_is_a_pipe_is_not_waited_for(name: str, tmp_path: Path) -> None:
    if name.startswith("robot"):
        (lerobot(tmp_path / "robot", table_of_rows()) / "data" / "file.parquet").unlink()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    assert f"{name}: a pipe; expected a table" in refused(tmp_path / name.partition("/")[0], **CART_POLE)


def test_a_table_of_endless_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("," * 2 * MEGABYTE)
    assert "its first line is longer than" in refused(tmp_path / "a.csv", **CART_POLE)


def test_a_pandas_index_is_no_observation(tmp_path: Path) -> None:
    table = table_of_rows().to_pandas().set_index("reward")
    table.to_parquet(tmp_path / "a.parquet")
    assert "observations have shape [], expected" in refused(tmp_path / "a.parquet", **CART_POLE)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("reward", ["a", None, "1"], "column reward holds a, expected numbers"),
        ("reward", [[1.0], None, [2.0]], "column reward holds [1"),
        ("action", [None] * 3, "an episode without an action"),
        ("action", [["a"], ["b"], ["c"]], "column action is list<element: string>, expected numbers"),
        ("done", [b"\xff"] * 3, "column done is binary, expected numbers"),
        ("action", [{"a": 1}] * 3, "column action is struct<a: int64>, expected numbers"),
        ("observation.x", [[[1.0], [2.0, 3.0]]] * 3, "column observation.x holds lists of different lengths"),
    ],
)
def test_a_tables_columns_of_another_kind_are_named(tmp_path: Path, name: str, values: list[Any], message: str) -> None:
    table = table_of_rows()
    table = table.set_column(table.column_names.index(name), name, pa.array(values))
    assert message in refused(own(tmp_path / "table", table), **CART_POLE)


def test_lerobots_order_has_to_be_numbers(tmp_path: Path) -> None:
    folder = lerobot(tmp_path / "robot", table_of_rows())
    file = folder / "data" / "file.parquet"
    table = pq.read_table(file)
    place = table.column_names.index("frame_index")
    pq.write_table(table.set_column(place, "frame_index", pa.array([[0, 1]] * 3)), file)
    assert "column frame_index holds" in refused(folder, **CART_POLE)


def test_a_csvs_number_too_large_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"action,x\n0,{'9' * 400}\n")
    assert "column x holds 99999" in refused(tmp_path / "a.csv", **CART_POLE)


# --- HDF5 of D4RL's form ---


def external_link(file: Any, folder: Path) -> None:
    import h5py

    file["observations"] = h5py.ExternalLink(str(folder / "other.h5"), "x")


D4RL: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "a claim of 3,000,000,000 numbers": (
        lambda file, _: file.create_dataset("observations", shape=(3_000_000_000,), dtype="f4", chunks=(1000,)),
        "at most",
    ),
    "a hundred million numbers in no bytes": (
        lambda file, _: file.create_dataset("observations", shape=(100_000_000,), dtype="f4", chunks=(1000,)),
        "MB or more in memory, more than the 256 MB permitted",
    ),
    "a link to another file": (external_link, "observations is a link to something else"),
    "numbers in another file": (
        lambda file, folder: file.create_dataset(
            "observations", shape=(4,), dtype="f4", external=[(str(folder / "other.h5"), 0, 16)]
        ),
        "observations lies in another file",
    ),
    "texts": (lambda file, _: file.create_dataset("observations", data=["a", "b"]), "expected numbers"),
}


@pytest.mark.parametrize("kind", D4RL)
def test_d4rls_arrays_that_cannot_be_are_named(tmp_path: Path, kind: str) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    change, message = D4RL[kind]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["actions"] = np.zeros(2, np.int64)
        change(file, tmp_path)
    assert message in refused(tmp_path / "a.h5", **CART_POLE)


def test_hdf5_of_another_form_is_not_taken_for_d3rlpys(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    with h5py.File(tmp_path / "a.hdf5", "w") as file:  # robomimic's
        file["data/demo_0/actions"] = np.zeros(2, np.int64)
    assert "neither D4RL's arrays (observations, actions, …) nor d3rlpy's" in refused(tmp_path / "a.hdf5", **CART_POLE)


# --- Minari ---


@pytest.fixture
def minari(games: Dataset, tmp_path: Path) -> Path:
    pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    export(ExportSettings(str(games.folder), "minari", str(tmp_path / "games-v0")))
    return tmp_path / "games-v0"


def box(shape: list[int], low: Any = 0.0) -> str:
    return json.dumps({"type": "Box", "dtype": "float32", "shape": shape, "low": low, "high": low})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("total_episodes", 10**12, "total_episodes is 1000000000000, but main_data.hdf5 has 3"),
        ("total_episodes", True, "total_episodes is true, but main_data.hdf5 has 3"),
        ("total_episodes", "3", "total_episodes is 3, but main_data.hdf5 has 3"),
        ("observation_space", None, "observation_space cannot be read"),
        ("observation_space", 5, "observation_space cannot be read"),
        ("observation_space", "[" * 100_000, "observation_space cannot be read"),
        ("observation_space", box([3_000_000_000]), "observation_space cannot be read (observation_shape is"),
        ("observation_space", json.dumps({"type": "Dict", "subspaces": {"a": json.loads(box([2**40]))}}), "cannot be"),
        ("action_space", json.dumps({"type": "Text"}), "action_space cannot be read"),
        ("data_format", "arrow", "its data_format is arrow, expected hdf5"),
        ("minari_version", [], "Minari"),
        ("minari_version", "9.9.9", "(written by version 9.9.9)"),
        ("qwop", 5, "not a dataset description"),
        ("qwop", {"schema_version": True}, "schema_version is true"),
    ],
)
def test_metadata_of_another_kind_are_named(minari: Path, name: str, value: Any, message: str) -> None:
    path = minari / "data" / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    assert message in refused(minari)


@pytest.mark.parametrize("content", ["", "[]", "5", "{", "[" * 100_000, '{"a": 1, "a": 2}', "\udcff"])
def test_metadata_that_are_no_document_are_named(minari: Path, content: str) -> None:
    (minari / "data" / "metadata.json").write_bytes(content.encode(errors="surrogateescape"))
    assert "metadata.json: " in refused(minari)


@pytest.mark.parametrize("value", [None, 5, "[]", '{"id": "os:system", "kwargs": {}}', '{"id": "CartPole-v1"}'])
def test_the_environment_of_a_foreign_dataset_is_only_named(minari: Path, value: Any) -> None:
    path = minari / "data" / "metadata.json"
    found = {**json.loads(path.read_text()), "env_spec": value}
    del found["qwop"]
    path.write_text(json.dumps(found))
    assert "env" in refused(minari)


def replaced(group: Any, name: str, **made: Any) -> None:
    del group[name]
    group.create_dataset(name, **made)


def _external_link(episode: Any, folder: Path) -> None:
    import h5py

    del episode["rewards"]
    episode["rewards"] = h5py.ExternalLink(str(folder / "main_data.hdf5"), "episode_1/rewards")


def _virtual(episode: Any, folder: Path) -> None:
    import h5py

    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource(str(folder / "other.hdf5"), "rewards", (4,))
    del episode["rewards"]
    episode.create_virtual_dataset("rewards", layout)


HOSTILE: dict[str, tuple[Callable[[Any, Path], None], str]] = {
    "a claim of 3,000,000,000 numbers": (
        lambda episode, _: replaced(episode, "rewards", shape=(3_000_000_000,), dtype="f4", chunks=(1000,)),
        "MB or more in memory, more than the 256 MB permitted",
    ),
    "a part that unpacks to gigabytes": (
        lambda episode, _: replaced(episode, "rewards", shape=(10,), maxshape=(None,), dtype="f4", chunks=(10**9,)),
        "rewards is packed in parts of",
    ),
    "a link to another file": (_external_link, "rewards is a link to something else"),
    "numbers in another file": (
        lambda episode, folder: replaced(
            episode, "rewards", shape=(4,), dtype="f4", external=[(str(folder / "metadata.json"), 0, 16)]
        ),
        "rewards lies in another file",
    ),
    "numbers of other files": (_virtual, "rewards lies in another file"),
    "texts": (
        lambda episode, _: replaced(episode, "rewards", data=["a", "b"]),
        "rewards are object, expected numbers",
    ),
    "a group": (lambda episode, _: (episode.pop("rewards"), episode.create_group("rewards")), "rewards is no array"),
    "nothing": (lambda episode, _: episode.pop("rewards"), "no episode_0/rewards"),
    "no numbers at all": (lambda episode, _: replaced(episode, "terminations", shape=(0,), dtype=bool), "no decision"),
    "an attribute of many values": (
        lambda episode, _: episode.attrs.create("qwop", np.zeros(5000)),
        "qwop is not a single value",
    ),
    "an attribute of another kind": (lambda episode, _: episode.attrs.create("qwop", 5), "its qwop cannot be read"),
    "an attribute that is a list": (
        lambda episode, _: episode.attrs.create("qwop", "[]"),
        "its qwop is [], expected the fields of an episode",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_arrays_that_cannot_be_are_named(minari: Path, kind: str) -> None:
    import h5py

    change, message = HOSTILE[kind]
    with h5py.File(minari / "data" / "main_data.hdf5", "a") as file:
        change(file["episode_0"], minari / "data")
    assert message in refused(minari)


@pytest.mark.parametrize("name", ["metadata.json", "main_data.hdf5"])
def test_minaris_files_as_pipes_are_not_waited_for(minari: Path, name: str) -> None:
    path = minari / "data" / name
    path.unlink()
    os.mkfifo(path)
    assert f"{path}: a pipe; expected a dataset of Minari" in refused(minari)


def test_pictures_that_minari_stores_as_jpeg_are_imported(tmp_path: Path) -> None:
    pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    import gymnasium
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    (tmp_path / "any-v0").mkdir()
    space = gymnasium.spaces.Box(0, 255, (40, 36, 3), np.uint8)
    storage = MinariStorage.new(tmp_path / "any-v0" / "data", space, gymnasium.spaces.Discrete(2))
    storage.update_metadata({"dataset_id": "any-v0", "minari_version": "0.5.3"})
    seen = np.zeros((4, 40, 36, 3), np.uint8)
    seen[2:] = 200  # whose file has another length
    ends, never = [False, False, True], [False] * 3
    storage.update_episodes(
        [EpisodeBuffer(observations=seen, actions=[0, 1, 1], rewards=[1.0] * 3, terminations=ends, truncations=never)]
    )
    import_(DatasetImportSettings(str(tmp_path / "any-v0"), str(tmp_path / "back"), environment_id="Any-v0"))
    (back,) = open_dataset(tmp_path / "back")
    assert np.abs(back.observations.astype(int) - seen).max() <= 2
    assert open_dataset(tmp_path / "back").info.environment == EnvironmentSpec("Any-v0")


# --- d3rlpy, whose reader takes all that is there ---


def test_everything_in_a_file_is_bounded(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    from qwop.datasets.exchange.hdf5 import foreign_hdf5

    with h5py.File(tmp_path / "some.h5", "w") as file:
        file["group/few"] = np.zeros(3)
        file["columns"] = ["a", "b"]
    with foreign_hdf5(tmp_path / "some.h5", "d3rlpy", "expected it") as group:
        group.require_all()
    with h5py.File(tmp_path / "some.h5", "a") as file:
        file["group"].create_dataset("many", shape=(10**9,), dtype="u1", chunks=(1000,))
    with (
        pytest.raises(BadInput, match=r"some\.h5: 954 MB or more in memory, more than the 256 MB permitted"),
        foreign_hdf5(tmp_path / "some.h5", "d3rlpy", "expected it") as group,
    ):
        group.require_all()
