import errno
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pyarrow.parquet as pq
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from qwop.common.errors import BadInput
from qwop.datasets.arrays import write_episode
from qwop.datasets.arrow import identity
from qwop.datasets.exchange import huggingface
from qwop.datasets.exchange.export_command import ExportSettings
from qwop.datasets.exchange.export_command import run as export
from qwop.datasets.exchange.import_command import DatasetImportSettings
from qwop.datasets.exchange.import_command import run as import_
from qwop.datasets.exchange.imported import Unknown, imported_episode
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec

QWOP = {"environment_id": "QWOP-v1", "environment": {"frames_per_step": 3, "reward": "speed"}}


def there_and_back(dataset: Dataset, to: str, out: Path, **settings: object) -> Dataset:
    export(ExportSettings(str(dataset.folder), to, str(out)))
    back = out.with_name("back")
    import_(DatasetImportSettings(str(out), str(back), **settings))  # type: ignore[arg-type]
    return open_dataset(back)


@pytest.mark.parametrize("kind", ["games", "pictures"])
@pytest.mark.parametrize("to", ["minari", "huggingface"])
def test_formats_that_hold_everything_return_it_to_the_bit(
    to: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if to == "minari":
        pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
        pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    dataset: Dataset = request.getfixturevalue(kind)
    back = there_and_back(dataset, to, tmp_path / "there-v0")
    assert back.info == dataset.info
    assert [identity(episode) for episode in back] == [identity(episode) for episode in dataset]


@pytest.mark.parametrize("kind", ["games", "pictures"])
def test_a_large_dataset_is_divided_into_files_and_put_together_again(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset: Dataset = request.getfixturevalue(kind)
    rows = (dataset.lengths() + 1).tolist()
    monkeypatch.setattr(huggingface, "SHARD", rows[0] + rows[1] - 1)  # the second episode begins a file
    monkeypatch.setattr(huggingface, "BATCH", 4)
    back = there_and_back(dataset, "huggingface", tmp_path / "hub")
    files = sorted((tmp_path / "hub" / "steps").iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == rows
    assert [identity(episode) for episode in back] == [identity(episode) for episode in dataset]


def test_files_of_a_hub_have_the_order_of_their_numbers(
    games: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface, "SHARD", 1)  # a file for each episode
    export(ExportSettings(str(games.folder), "huggingface", str(tmp_path / "hub")))
    for number, file in enumerate(sorted((tmp_path / "hub" / "steps").iterdir()), start=8):
        file.rename(file.with_name(f"part.{number}.parquet"))  # as texts, part.10 comes first
    import_(DatasetImportSettings(str(tmp_path / "hub"), str(tmp_path / "back")))
    assert [identity(episode) for episode in open_dataset(tmp_path / "back")] == [*map(identity, games)]


def test_a_dataset_opens_in_minari(games: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    export(ExportSettings(str(games.folder), "minari", str(tmp_path / "all" / "games-v0")))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "all"))
    opened = minari.load_dataset("games-v0")
    assert opened.total_steps == games.lengths().sum()
    for ours, theirs in zip(games, opened, strict=True):
        assert np.array_equal(theirs.observations, ours.observations)
        assert np.array_equal(theirs.actions, ours.actions)
        assert np.array_equal(theirs.rewards, ours.rewards)
        assert theirs.terminations.tolist() == [*[False] * (len(ours) - 1), ours.terminated]
        assert theirs.truncations.tolist() == [*[False] * (len(ours) - 1), ours.truncated]
    environment = opened.recover_environment().unwrapped
    assert environment.spec.kwargs["frames_per_step"] == 3


def test_a_minari_dataset_of_others_is_imported(tmp_path: Path) -> None:
    pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    import gymnasium
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    (tmp_path / "cart-v0").mkdir()
    env = gymnasium.make("CartPole-v1")
    storage = MinariStorage.new(tmp_path / "cart-v0" / "data", env.observation_space, env.action_space, env.spec)
    storage.update_metadata({"dataset_id": "cart-v0", "minari_version": "0.5.3"})
    seen = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    actions, rewards = np.array([0, 1, 1, 0]), np.ones(4)
    ends, never = [False, False, False, True], [False] * 4
    storage.update_episodes(
        [
            EpisodeBuffer(observations=seen, actions=actions, rewards=rewards, terminations=ends, truncations=never),
            EpisodeBuffer(observations=seen, actions=actions, rewards=rewards, terminations=never, truncations=ends),
        ]
    )
    import_(DatasetImportSettings(str(tmp_path / "cart-v0"), str(tmp_path / "cart"), player="somebody", epsilon=0.1))
    back = open_dataset(tmp_path / "cart")
    assert back.info.environment == EnvironmentSpec("CartPole-v1")
    assert [(one.terminated, one.truncated) for one in back] == [(True, False), (False, True)]
    assert np.array_equal(back[0].observations, seen)
    assert np.array_equal(back[0].actions, actions)
    assert back[0].probabilities_from == "smoothed(0.1)"
    assert back[0].player == "somebody"


STEPS: dict[str, tuple[Any, Any, list[str] | None, list[int]]] = {
    "keys": (MultiBinary(2), np.array([[0, 0], [1, 0], [1, 1]], np.int8), ["[0, 0]", "[1, 0]", "[0, 1]", "[1, 1]"],
             [0, 1, 3]),
    "dials": (MultiDiscrete([2, 3]), np.array([[0, 2], [1, 0], [1, 2]]), None, [2, 3, 5]),
    "shifted": (Discrete(3, start=-1), np.array([-1, 1, 0]), ["-1", "0", "1"], [0, 2, 1]),
    "pair": (Tuple((Discrete(2), Discrete(3))), (np.array([0, 1, 1]), np.array([2, 0, 2])), None, [2, 3, 5]),
    "named": (Dict({"a": Discrete(2), "b": MultiBinary(1)}), {"a": np.array([0, 1, 1]), "b": np.array([[1], [0], [1]])},
              None, [1, 2, 3]),
}  # fmt: skip
"""Action spaces, three actions in their form, the names of all (None: not looked at), and the numbers of the three."""


@pytest.mark.parametrize("kind", STEPS)
def test_joint_actions_and_structured_observations_of_others_are_imported(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    (tmp_path / "made-v0").mkdir()
    space, actions, names, numbers = STEPS[kind]
    seen = Dict({"place": Box(-1, 1, (2,), np.float32), "room": Discrete(3)})
    storage = MinariStorage.new(tmp_path / "made-v0" / "data", seen, space)
    storage.update_metadata({"dataset_id": "made-v0", "minari_version": "0.5.3"})
    place, room = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2), np.array([0, 2, 1, 0])
    ends, never = np.array([False, False, True]), np.zeros(3, bool)
    storage.update_episodes(
        [
            EpisodeBuffer(
                observations={"place": place, "room": room},
                actions=actions,
                rewards=np.ones(3),
                terminations=ends,
                truncations=never,
            )
        ]
    )
    given = DatasetImportSettings(str(tmp_path / "made-v0"), str(tmp_path / "made"), environment_id="Made-v0")
    import_(given)
    back = open_dataset(tmp_path / "made")
    assert back[0].actions.tolist() == numbers
    assert np.array_equal(back[0].observations, np.hstack([place, np.eye(3)[room]]).astype(np.float32))
    if names is not None:
        assert [*back.info.action_names] == names


@pytest.mark.parametrize("by_name", [False, True])  # of its class, with settings that no file holds
def test_joint_actions_of_an_own_dataset_come_back_from_minari(by_name: bool, tmp_path: Path) -> None:
    pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    import h5py

    entry_point: Any = f"{__name__}:Keyboard" if by_name else Keyboard
    gymnasium.register("Keyboard-v0", entry_point, kwargs={"actions": MultiBinary(2)})
    try:
        actions = np.array([[0, 0], [1, 0], [1, 1]], np.int8)
        write_episode(tmp_path / "own", np.zeros((4, 2), np.float32), actions, environment="Keyboard-v0")
        back = there_and_back(open_dataset(tmp_path / "own"), "minari", tmp_path / "keyboard-v0")
    finally:
        gymnasium.registry.pop("Keyboard-v0")
    with h5py.File(tmp_path / "keyboard-v0" / "data" / "main_data.hdf5") as file:
        assert file["episode_0/actions"][()].tolist() == actions.tolist()  # as the environment takes them
    assert [identity(one) for one in back] == [identity(one) for one in open_dataset(tmp_path / "own")]
    assert back[0].actions.tolist() == [0, 1, 3]


class Keyboard(gymnasium.Env[Any, Any]):
    """Two keys that may be held together."""

    observation_space = Box(-1, 1, (2,), np.float32)

    def __init__(self, actions: Any = MultiBinary(2)) -> None:  # noqa: B008
        self.action_space = actions

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(2, np.float32), 0.0, True, False, {}


@pytest.mark.parametrize("to", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("id", "space", "actions"),
    [
        ("FromMinusOne-v0", Discrete(3, start=-1), [0, 0, -1]),  # which a table has as 1, 1, 0
        ("TwoKeys-v0", MultiBinary(2), [[0, 1], [1, 1], [0, 0]]),
        (
            "KeyAndGear-v0",
            Dict({"a": Discrete(2), "b": MultiBinary(1)}),
            [{"a": 1, "b": [0]}] * 2 + [{"a": 0, "b": [1]}],
        ),
    ],
)
def test_actions_of_any_form_come_back_from_a_table(id: str, space: Any, actions: Any, to: str, tmp_path: Path) -> None:
    gymnasium.register(id, lambda: Keyboard(space))
    try:
        write_episode(tmp_path / "own", np.zeros((4, 2), np.float32), actions, environment=id)
        own = open_dataset(tmp_path / "own")
        if to == "csv":
            path = tmp_path / "steps.csv"
            own.steps().to_csv(path, index=False)
        else:
            path = tmp_path / "steps"
            export(ExportSettings(str(own.folder), to, str(path)))
        import_(DatasetImportSettings(str(path), str(tmp_path / "back"), environment_id=id))
    finally:
        gymnasium.registry.pop(id)
    assert open_dataset(tmp_path / "back")[0].actions.tolist() == own[0].actions.tolist()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Hugging Face's `datasets`, with its cache in a temporary folder and without a network."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub: ModuleType = pytest.importorskip("datasets", reason="datasets is not installed: pip install datasets")
    assert "qwop" not in sys.modules["datasets"].__name__
    return hub


@pytest.mark.parametrize("kind", ["games", "pictures"])
def test_an_exported_folder_opens_in_hugging_face_datasets(
    hub: ModuleType, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    dataset: Dataset = request.getfixturevalue(kind)
    export(ExportSettings(str(dataset.folder), "huggingface", str(tmp_path / "hub")))
    steps = hub.load_dataset(str(tmp_path / "hub"), "steps", split="train", cache_dir=str(tmp_path / "cache"))
    about = hub.load_dataset(str(tmp_path / "hub"), "episodes", split="train", cache_dir=str(tmp_path / "cache"))
    assert len(steps) == dataset.lengths().sum() + len(dataset)
    assert about["player"] == [episode.player for episode in dataset]
    second = steps.filter(lambda row: row["episode"] == 1)
    seen = second["observation"][0]
    pixels = np.frombuffer(seen, np.uint8) if isinstance(seen, bytes) else np.array(seen, dtype=np.float32)
    assert np.array_equal(pixels.reshape(dataset.info.observation.shape), dataset[1].observations[0])
    assert second["action"][:-1] == dataset[1].actions.tolist()
    assert second["action"][-1] is None


def test_a_dataset_itself_opens_in_hugging_face_datasets(hub: ModuleType, games: Dataset, tmp_path: Path) -> None:
    from qwop.datasets.describe import describe

    describe(games.folder)
    steps = hub.load_dataset(str(games.folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(steps) == games.lengths().sum() + len(games)


def test_an_export_for_hugging_face_takes_no_games_and_says_how_to_import_it(games: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    export(ExportSettings(str(games.folder), "huggingface", str(folder)))
    card = (folder / "README.md").read_bytes()
    for use in (lambda: DatasetWriter(folder, games.info), lambda: open_dataset(folder)):
        with pytest.raises(BadInput, match=r"hub: an export for Hugging Face; .*: qwop-dataset import "):
            use()
    assert (folder / "README.md").read_bytes() == card
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "dataset.json", "episodes", "steps"]


def test_a_changed_row_is_found_when_a_folder_of_hugging_face_comes_back(games: Dataset, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    export(ExportSettings(str(games.folder), "huggingface", str(tmp_path / "hub")))
    (file,) = (tmp_path / "hub" / "steps").iterdir()
    table = pq.read_table(file)
    rewards = table.column("reward").to_numpy().copy()
    rewards[3] += 1
    place = table.schema.get_field_index("reward")
    changed = pa.array(rewards, mask=table.column("reward").is_null().to_numpy())
    pq.write_table(table.set_column(place, table.schema.field(place), changed), file)
    with pytest.raises(BadInput, match="hub: episode 0: its content was changed"):
        import_(DatasetImportSettings(str(tmp_path / "hub"), str(tmp_path / "back")))
    assert not (tmp_path / "back").exists()


@pytest.mark.needs(module="d3rlpy")
@pytest.mark.parametrize("kind", ["games", "pictures"])
def test_d3rlpy_returns_decisions_and_endings_to_the_bit(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset: Dataset = request.getfixturevalue(kind)
    if kind == "pictures":  # of an environment that is not installed
        monkeypatch.setattr(EnvironmentSpec, "interface", lambda _: (dataset.info.observation, dataset.info.actions))
        monkeypatch.setattr(EnvironmentSpec, "action_names", lambda _: dataset.info.action_names)
    settings = QWOP if kind == "games" else {"environment_id": "Any-v0"}
    back = there_and_back(dataset, "d3rlpy", tmp_path / "there.h5", **settings)
    assert back.info == dataset.info
    for ours, theirs in zip(dataset, back, strict=True):
        assert np.array_equal(theirs.actions, ours.actions)
        assert np.array_equal(theirs.rewards, ours.rewards)
        assert theirs.terminated == ours.terminated
        kept = slice(-1) if ours.terminated else slice(None)
        assert np.array_equal(theirs.observations[kept], ours.observations[kept])
        assert not ours.terminated or not theirs.observations[-1].any()


def test_expert_files_return_every_decision_to_the_bit(games: Dataset, tmp_path: Path) -> None:
    back = there_and_back(games, "baselines", tmp_path / "there.npz", **QWOP)
    assert back.info == games.info
    for ours, theirs in zip(games, back, strict=True):
        assert np.array_equal(theirs.observations[:-1], ours.observations[:-1])  # the last one is not in the file
        assert np.array_equal(theirs.actions, ours.actions)
        assert np.array_equal(theirs.rewards, ours.rewards)
        assert theirs.terminated  # they are shorter than a game may be


def test_an_export_says_what_is_lost(games: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(ExportSettings(str(games.folder), "baselines", str(tmp_path / "there.npz")))
    assert "not held by this format: behaviour probabilities, times, keys" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("to", "out", "message"),
    [
        ("d3rlpy", "there.npz", r"ends in \.h5"),
        ("baselines", "there", r"ends in \.npz"),
        ("baselines", "old.npz", "is there already"),
        ("huggingface", "old", "is not empty"),
        ("huggingface", "old.npz", r"old\.npz is a file"),
        ("huggingface", "old.npz/new", r"old\.npz is a file"),
        ("baselines", "old.npz/new.npz", r"old\.npz is a file"),
    ],
)
def test_nothing_is_overwritten(to: str, out: str, message: str, games: Dataset, tmp_path: Path) -> None:
    (tmp_path / "old.npz").touch()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").touch()
    with pytest.raises(BadInput, match=message):
        export(ExportSettings(str(games.folder), to, str(tmp_path / out)))
    assert (tmp_path / "old.npz").stat().st_size == 0


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room cannot be set aside here")
def test_a_full_disk_is_noticed_before_hdf5_crashes(
    games: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
    asked = []

    def full(descriptor: int, start: int, size: int) -> None:
        asked.append(size)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "posix_fallocate", full)
        with pytest.raises(BadInput, match=r"there: cannot be written \(no space left on device\)"):
            export(ExportSettings(str(games.folder), "minari", str(tmp_path / "there")))
    assert [one.name for one in tmp_path.iterdir()] == ["games"]
    export(ExportSettings(str(games.folder), "minari", str(tmp_path / "there")))
    assert asked[0] >= (tmp_path / "there" / "data" / "main_data.hdf5").stat().st_size


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "no such file or folder; expected arrays .* the folder of a Minari or LeRobot dataset"),
        ("folder", "cannot be imported; expected"),
        ("file.h5", "not an HDF5 file; expected arrays"),
        ("file.npz", "not an .npz file; expected arrays observations"),
    ],
)
def test_what_cannot_be_imported_is_said(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.h5").touch()
    (tmp_path / "file.npz").touch()
    with pytest.raises(BadInput, match=message):
        import_(DatasetImportSettings(str(tmp_path / name), str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


def test_version_1_is_exported_as_the_newest(tmp_path: Path) -> None:
    old = open_dataset(Path(__file__).parents[1] / "version_1")
    back = there_and_back(old, "huggingface", tmp_path / "hub")
    assert back.info.version == 2
    for ours, theirs in zip(old, back, strict=True):
        assert identity(theirs) == identity(replace(ours, software_version=theirs.software_version))


def test_a_torn_file_of_minari_is_named(games: Dataset, tmp_path: Path) -> None:
    pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")
    export(ExportSettings(str(games.folder), "minari", str(tmp_path / "games-v0")))
    os.truncate(tmp_path / "games-v0" / "data" / "main_data.hdf5", 5000)
    with pytest.raises(BadInput, match=r"main_data.hdf5: Minari cannot read it \(.*truncated"):
        import_(DatasetImportSettings(str(tmp_path / "games-v0"), str(tmp_path / "back")))
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("column", ["origin", "episode"])
def test_a_missing_column_is_named_in_a_line(games: Dataset, tmp_path: Path, column: str) -> None:
    import pyarrow.parquet as pq

    export(ExportSettings(str(games.folder), "huggingface", str(tmp_path / "hub")))
    (file,) = (tmp_path / "hub" / "episodes").iterdir()
    pq.write_table(pq.read_table(file).drop([column]), file)
    with pytest.raises(BadInput, match=rf"hub/episodes/train-00000.parquet: no column {column}$"):
        import_(DatasetImportSettings(str(tmp_path / "hub"), str(tmp_path / "back")))


def test_actions_of_several_numbers_are_refused() -> None:
    info = qwop_info(frames_per_step=3)
    seen = np.zeros((4, 71), np.float32)
    with pytest.raises(BadInput, match=r"actions have shape \[3, 2\], expected one whole number for each reward"):
        imported_episode(
            info, Unknown("me", 0.05), seen, np.zeros((3, 2)), np.zeros(3), terminated=True, source="a test"
        )
