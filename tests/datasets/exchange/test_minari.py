"""To and from Minari, by its own reader and writer."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from qwop.common.errors import BadInput
from qwop.datasets.exchange.export_command import ExportSettings
from qwop.datasets.exchange.export_command import run as export
from qwop.datasets.exchange.import_command import DatasetImportSettings
from qwop.datasets.exchange.import_command import run as import_
from qwop.datasets.reader import Dataset, open_dataset
from qwop.envs.spec import EnvironmentSpec

from ...fakes import Odd, registered

minari = pytest.importorskip("minari", reason="minari is not installed: pip install 'qwop[minari]'")
h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'qwop[minari]'")

FORMATS = ("hdf5", "arrow", "parquet")


def brought(path: Path, **more: Any) -> Dataset:
    out = path.with_name("brought")
    import_(DatasetImportSettings(str(path), str(out), **more))
    return open_dataset(out)


@pytest.mark.parametrize("kind", ["games", "pictures"])
def test_a_dataset_opens_in_minari_and_comes_back_as_its_rows(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset: Dataset = request.getfixturevalue(kind)
    export(ExportSettings(str(dataset.folder), "minari", str(tmp_path / "all" / "games-v0")))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "all"))
    opened = minari.load_dataset("games-v0")
    assert opened.total_steps == dataset.lengths().sum()
    back = brought(tmp_path / "all" / "games-v0", **({} if kind == "games" else {"environment_id": "Any-v0"}))
    assert back.info == dataset.info  # of games, which Gymnasium can make, with the environment's settings
    entry = dataset.info.environment.registered
    assert entry is None or not entry.kwargs  # Gymnasium's own, with which the next game is made
    for ours, theirs, again in zip(dataset, opened, back, strict=True):
        for name in ("observations", "actions", "rewards"):
            assert np.array_equal(getattr(theirs, name), getattr(ours, name))
            assert np.array_equal(getattr(again, name), getattr(ours, name))
        assert theirs.terminations.tolist() == [*[False] * (len(ours) - 1), ours.terminated]
        assert theirs.truncations.tolist() == [*[False] * (len(ours) - 1), ours.truncated]
        assert (again.terminated, again.seed) == (ours.terminated, ours.seed)


def test_a_disk_without_room_is_one_line_before_hdf5_meets_it(
    games: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=10_000))
    with pytest.raises(BadInput, match=r"full-v0: .* MB are needed, but the disk has 0 MB left"):
        export(ExportSettings(str(games.folder), "minari", str(tmp_path / "full-v0")))
    assert not (tmp_path / "full-v0").exists()


def storage_in(folder: Path, env: gymnasium.Env[Any, Any], form: str = "hdf5") -> Any:
    from minari.dataset.minari_storage import MinariStorage

    folder.mkdir()
    made = MinariStorage.new(
        folder / "data", env.observation_space, env.action_space, env.spec, data_format=form, jpeg_encoding=False
    )
    made.update_metadata({"dataset_id": folder.name, "minari_version": "0.5.3"})
    return made


def add(storage: Any, observations: Any, actions: Any, *ends: tuple[bool, bool]) -> None:
    from minari.data_collector import EpisodeBuffer

    last = np.arange(len(actions)) == len(actions) - 1
    storage.update_episodes(
        EpisodeBuffer(
            observations=observations,
            actions=actions,
            rewards=np.ones(len(actions)),
            terminations=last & terminated,
            truncations=last & truncated,
        )
        for terminated, truncated in ends
    )


@pytest.mark.parametrize("form", FORMATS)
def test_a_minari_dataset_of_others_is_imported_in_all_of_minaris_formats(tmp_path: Path, form: str) -> None:
    storage = storage_in(tmp_path / "cart-v0", gymnasium.make("CartPole-v1"), form)
    seen = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    add(storage, seen, np.array([0, 1, 1, 0]), (True, False), (False, True), (False, False))
    back = brought(tmp_path / "cart-v0", player="somebody", epsilon=0.1)
    assert back.info.environment == EnvironmentSpec("CartPole-v1")
    assert [(one.terminated, one.truncated) for one in back] == [(True, False), (False, True), (False, True)]
    assert np.array_equal(back[0].observations, seen)
    assert back[0].actions.tolist() == [0, 1, 1, 0]
    assert (back[0].mu, back[0].player) == ("smoothed(0.1)", "somebody")


def test_spaces_of_other_forms_are_imported(tmp_path: Path) -> None:
    spaces = Dict({"a": Discrete(2), "b": Box(-1, 1, (2,), np.float32)}), MultiBinary(2)
    seen, taken = {"a": np.array([0, 1, 0]), "b": np.ones((3, 2), np.float32)}, np.array([[0, 1], [1, 1]])
    with registered(Odd, observations=spaces[0], actions=spaces[1]) as id:
        add(storage_in(tmp_path / "made-v0", Odd(spaces[1], spaces[0])), seen, taken, (True, False))
        (episode,) = brought(tmp_path / "made-v0", environment_id=id)
    assert episode.observations.tolist() == [[1, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]]
    assert episode.actions.tolist() == [2, 3]


def other_metadata(**change: Any) -> Callable[[Path], Any]:
    def write(folder: Path) -> None:
        path = folder / "metadata.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    return write


def without_last_row(folder: Path) -> None:
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        for name in ("observations", "actions", "rewards", "terminations", "truncations"):
            rows = file["episode_0"][name][:-1]
            del file["episode_0"][name]
            file["episode_0"][name] = rows


def cut(folder: Path) -> None:
    path = folder / "main_data.hdf5"
    path.write_bytes(path.read_bytes()[:900])


def pipe(folder: Path) -> None:
    (folder / "main_data.hdf5").unlink()
    os.mkfifo(folder / "main_data.hdf5")


RUNS_CODE = '{"id": "X-v0", "entry_point": "os:getcwd", "kwargs": {"path": 1}}'


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (other_metadata(observation_space=None), "its spaces are no texts; expected a dataset of Minari"),
        (other_metadata(action_space="{"), "metadata.json: cannot be read"),
        (other_metadata(data_format="zarr"), "metadata.json: cannot be read"),
        (other_metadata(env_spec=None), "environment_id is not set: the Minari dataset does not name its environment"),
        (other_metadata(env_spec=RUNS_CODE), "metadata.json: cannot be read"),
        (cut, "cart-v0: cannot be read"),
        (pipe, r"main_data.hdf5: empty, or no file"),
        (without_last_row, "episode 0: 1 steps, but its metadata say 2"),
    ],
)
def test_what_is_damaged_is_named_and_nothing_that_its_metadata_name_is_run(
    tmp_path: Path, damage: Callable[[Path], Any], said: str
) -> None:
    storage = storage_in(tmp_path / "cart-v0", gymnasium.make("CartPole-v1"))
    add(storage, np.zeros((3, 4), np.float32), np.array([0, 1]), (True, False))
    damage(tmp_path / "cart-v0" / "data")
    with pytest.raises(BadInput, match=said) as raised:
        brought(tmp_path / "cart-v0")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "brought").exists()
