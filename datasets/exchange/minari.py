"""To and from Minari (https://minari.farama.org), by its own reader and writer, in all of its formats.

An episode's behaviour probabilities and times go into Minari's `infos`; what Minari has no place for stays behind
(`LOST`).
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from ...common.errors import BadInput, naming
from ...common.reading import MEGABYTE, read_bytes
from ...envs.actions import Space, form_names
from ...envs.observation import plain_form, without_texts
from ...envs.registration import NAMESPACE
from ...envs.spec import EnvironmentSpec, interface_of
from ..arrays import ArrayForm
from ..origin import Origin
from ..reader import Dataset
from ..schema import DatasetInfo, Episode
from .imported import ImportDefaults, Imported, filled_in
from .table_files import foreign

DATA, METADATA = "data", "metadata.json"
"""Subfolder that Minari opens, and its description."""

INSTALL = "pip install 'qwop[minari]'"

LOST = "keys, who acted, all facts but the seed, and the form of actions that are no numbers from 0"
"""Content of a dataset that Minari's files do not hold."""

LARGEST = 64 * MEGABYTE
"""Bytes of the metadata, which hold both spaces with the bounds of every number."""

ROW, EPISODE = 32, 20_000
"""Bytes of a file beside observations and probabilities: of a decision, and of an episode's groups and attributes."""

EXPECTED = "expected a dataset of Minari"


def export(dataset: Dataset, name: str, folder: Path) -> None:
    """Write a dataset as Minari's, with the id `name`, into an empty folder. BadInput if Minari is not installed, and
    without room: HDF5 ends the process on a full disk."""
    minari = _minari()
    from minari.dataset.minari_storage import MinariStorage

    info, spec = dataset.info, dataset.info.observation
    row = spec.size * np.dtype(spec.dtype).itemsize + 4 * info.actions + ROW
    needed = int(dataset.lengths().sum() + len(dataset)) * row + EPISODE * len(dataset)
    if needed > (free := shutil.disk_usage(folder).free):
        raise BadInput(f"{needed / MEGABYTE:,.0f} MB are needed, but the disk has {free / MEGABYTE:,.0f} MB left")
    bounds = (0, 255, spec.shape, np.uint8) if spec.dtype == "uint8" else (-np.inf, np.inf, spec.shape, np.float32)
    storage = MinariStorage.new(
        folder / DATA,
        observation_space=gymnasium.spaces.Box(*bounds),
        action_space=Discrete(info.actions),
        env_spec=_env_spec(info.environment),
        jpeg_encoding=False,
    )
    storage.update_metadata({"dataset_id": name, "minari_version": minari.__version__})
    storage.update_episodes(_buffer(episode) for episode in dataset)


def _buffer(episode: Episode) -> Any:
    from minari.data_collector import EpisodeBuffer

    ends = np.arange(len(episode)) == len(episode) - 1
    mu = episode.behaviour_probabilities
    infos: dict[str, Any] = {"behaviour_probabilities": np.pad(mu, [(0, 1), (0, 0)])}  # a row an observation
    if episode.times is not None:
        infos["time"] = episode.times
    return EpisodeBuffer(
        seed=episode.seed,
        observations=episode.observations,
        actions=episode.actions.astype(np.int64),
        rewards=episode.rewards,
        terminations=ends & episode.terminated,
        truncations=ends & episode.truncated,
        infos=infos,
    )


def is_minari(path: Path) -> bool:
    """True for the folder of a Minari dataset, or its subfolder `data`."""
    return any((folder / METADATA).is_file() for folder in (path / DATA, path))


def read(path: Path, defaults: ImportDefaults) -> Imported:
    """Open a Minari dataset; BadInput for one whose actions are not discrete, and without Minari."""
    _minari()
    from minari.dataset.minari_dataset import MinariDataset

    folder = path / DATA if (path / DATA / METADATA).is_file() else path
    for file in folder.rglob("*"):  # the libraries wait for what a pipe or a device has to say
        if not file.is_dir() and not (file.is_file() and file.stat().st_size):
            raise BadInput(f"{file}: empty, or no file; {EXPECTED}")
    with naming(folder / METADATA), foreign(EXPECTED):
        # Bounds may be infinite, which `parse_json` refuses.
        document = json.loads(read_bytes(folder / METADATA, LARGEST, EXPECTED))
        if not all(isinstance(document[name], str) for name in ("observation_space", "action_space")):
            # Minari would make the environment that the metadata name, and with it run whatever they say.
            raise BadInput(f"its spaces are no texts; {EXPECTED}")
        dataset = MinariDataset(folder)
        spaces = without_texts(dataset.observation_space), without_texts(dataset.action_space)
        info = _info(dataset, spaces, defaults.environment)
    episodes = _episodes(dataset, ArrayForm(info, *spaces), defaults, path)
    return Imported(info, episodes, len(dataset), [filled_in(defaults)])


def _info(dataset: Any, spaces: tuple[Space, Space], environment: EnvironmentSpec | None) -> DatasetInfo:
    if environment is None:
        if dataset.env_spec is None:
            raise BadInput("environment_id is not set: the Minari dataset does not name its environment")
        environment = EnvironmentSpec.from_json({"id": dataset.env_spec.id, "settings": dict(dataset.env_spec.kwargs)})
    observation, actions = interface_of(plain_form(spaces[0])[0], spaces[1], str(environment))
    return DatasetInfo(environment, observation, actions, action_names=form_names(spaces[1]))


def _episodes(dataset: Any, form: ArrayForm, defaults: ImportDefaults, path: Path) -> Iterator[Episode]:
    with naming(path), foreign(EXPECTED):
        metadata = [*dataset.storage.get_episode_metadata(dataset.episode_indices)]
        for number, (one, about) in enumerate(zip(dataset.iterate_episodes(), metadata, strict=True)):
            with naming(f"{path}: episode {number}"):
                if not len(one.rewards) == len(one.terminations) == about.get("total_steps", len(one.rewards)) > 0:
                    raise BadInput(f"{len(one.rewards)} steps, but its metadata say {about.get('total_steps')}")
                terminated, truncated = bool(one.terminations[-1]), bool(one.truncations[-1])
                yield form.episode(
                    defaults, one.observations, one.actions, one.rewards, terminated=terminated,
                    truncated=truncated or not terminated, source=path.name, origin=Origin(game=number),
                    seed=None if about.get("seed") is None else int(about["seed"]),
                )  # fmt: skip


def _minari() -> Any:
    """Minari as a module; BadInput if it is not installed."""
    try:
        import_module("h5py")
        return import_module("minari")
    except ImportError as error:
        raise BadInput(f"minari cannot be imported ({error}); install it with: {INSTALL}") from None


def _env_spec(environment: EnvironmentSpec) -> Any:
    """Gymnasium's specification of the environment with its settings; None if Gymnasium alone cannot make it, or not
    write it down."""
    # Only this project registers Atari's preprocessed games.
    entry = environment.registered
    if entry is None or entry.id.startswith(f"{NAMESPACE}-"):
        return None
    spec = replace(entry, kwargs={**entry.kwargs, **environment.settings})  # a copy: the entry is Gymnasium's own
    try:
        spec.to_json()
    except (TypeError, ValueError):  # registered with a class instead of its name, or with settings that are no data
        return None
    return spec
