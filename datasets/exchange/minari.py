"""To and from Minari: https://minari.farama.org

An episode's behaviour probabilities, times and keys go into Minari's `infos`, its other fields into its metadata.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...common.checks import quoted
from ...common.errors import BadInput
from ...common.reading import parse_json
from ...envs.registration import NAMESPACE
from ...envs.spec import LONGEST_REASON, EnvironmentSpec, ObservationSpec, interface_of
from ..arrow import episode_fields, episode_metadata
from ..origin import Origin
from ..reader import Dataset
from ..schema import DatasetInfo, Episode
from .imported import Imported, Unknown, filled_in, imported_episode

DATA = "data"
"""Subfolder that Minari opens."""

METADATA = "metadata.json"

OWN = "qwop"
"""Name of our own entry in the metadata of a Minari dataset and of its episodes."""

NO_KEY = 255
"""Padding of decisions with fewer frames than the longest."""

LOST: tuple[str, ...] = ()
"""A Minari dataset holds everything."""


def export(dataset: Dataset, info: DatasetInfo, name: str, folder: Path) -> None:
    """Write a dataset as Minari's, with the id `name`, into an empty folder. BadInput if Minari is not installed."""
    minari = require_minari()
    from minari.dataset.minari_storage import MinariStorage

    storage = MinariStorage.new(
        folder / DATA,
        observation_space=_observation_space(info.observation),
        action_space=gymnasium.spaces.Discrete(info.actions),
        env_spec=_env_spec(info.environment),
        jpeg_encoding=False,
    )
    storage.update_metadata({"dataset_id": name, "minari_version": minari.__version__, OWN: info.to_json()})
    storage.update_episodes(_buffers(dataset))
    storage.update_episode_metadata({OWN: json.dumps(episode_metadata(episode))} for episode in dataset)


def is_minari(path: Path) -> bool:
    """True for the folder of a Minari dataset, or its subfolder `data`."""
    return _data(path) is not None


def read(path: Path, unknown: Unknown) -> Imported:
    """Open a Minari dataset; BadInput for one of other spaces than Box and Discrete(n) from 0."""
    minari = require_minari()
    folder = _data(path)
    assert folder is not None
    try:
        found = minari.MinariDataset(folder)
        own = found.storage.metadata.get(OWN)
    except (OSError, ValueError, KeyError, AssertionError) as error:
        raise BadInput(f"{path}: Minari cannot open it ({error})") from None
    info = DatasetInfo.from_json(own) if own is not None and unknown.environment is None else _info(found, unknown)
    notes = [] if own is not None else filled_in(unknown)
    return Imported(info, _episodes(found, info, unknown, path), found.total_episodes, notes)


def require_minari() -> Any:
    """Minari as a module; BadInput if it is not installed."""
    try:
        import h5py  # noqa: F401
        import minari
    except ImportError as error:
        raise BadInput(f"Minari cannot be imported ({error}); install it with: pip install 'qwop[minari]'") from None
    return minari


def _buffers(episodes: Iterable[Episode]) -> Iterator[Any]:
    from minari.data_collector import EpisodeBuffer

    for episode in episodes:
        ends = np.arange(len(episode)) == len(episode) - 1
        infos: dict[str, NDArray[Any]] = {
            "time": episode.times,
            "behaviour_probabilities": np.append(
                episode.behaviour_probabilities, np.zeros_like(episode.behaviour_probabilities[:1]), axis=0
            ),
        }
        if episode.keys is not None:
            infos["keys"] = _padded(episode.keys)
        yield EpisodeBuffer(
            seed=episode.seed,
            observations=episode.observations,
            actions=episode.actions.astype(np.int64),
            rewards=episode.rewards,
            terminations=ends & episode.terminated,
            truncations=ends & episode.truncated,
            infos=infos,
        )


def _episodes(found: Any, info: DatasetInfo, unknown: Unknown, path: Path) -> Iterator[Episode]:
    number = 0
    try:
        metadata = found.storage.get_episode_metadata(found.episode_indices)
        for number, (one, about) in enumerate(zip(found, metadata, strict=True)):
            yield _episode(one, about, info, unknown, path.name, number)
    except BadInput as error:
        raise BadInput(f"{path}: episode {number}: {error}") from None
    except (OSError, ValueError, KeyError, RuntimeError, AssertionError) as error:
        raise BadInput(f"{path}: Minari cannot read it ({quoted(error, LONGEST_REASON)})") from None


def _episode(one: Any, about: dict[str, Any], info: DatasetInfo, unknown: Unknown, source: str, number: int) -> Episode:
    known: dict[str, Any] = {}
    if OWN in about:
        known = {
            **episode_fields(parse_json(str(about[OWN]).encode())),
            "times": one.infos["time"],
            "behaviour_probabilities": one.infos["behaviour_probabilities"][:-1],
            "keys": _unpadded(one.infos["keys"]) if "keys" in one.infos else None,
        }
    else:
        known = {"seed": about.get("seed"), "origin": Origin(game=number)}
    terminated = bool(one.terminations[-1])
    truncated = bool(one.truncations[-1]) or not terminated
    known = {"source": source, "terminated": terminated, "truncated": truncated, **known}
    return imported_episode(info, unknown, one.observations, one.actions, one.rewards, **known)


def _info(found: Any, unknown: Unknown) -> DatasetInfo:
    environment = unknown.environment
    if environment is None:
        if found.env_spec is None:
            raise BadInput("environment_id is not set: the Minari dataset does not name its environment")
        environment = EnvironmentSpec.from_json({"id": found.env_spec.id, "settings": dict(found.env_spec.kwargs)})
    observation, actions = interface_of(found.observation_space, found.action_space, str(environment))
    return DatasetInfo(environment, observation, actions)


def _observation_space(observation: ObservationSpec) -> gymnasium.spaces.Box:
    if observation.dtype == "uint8":
        return gymnasium.spaces.Box(0, 255, observation.shape, np.uint8)
    return gymnasium.spaces.Box(-np.inf, np.inf, observation.shape, np.float32)


def _env_spec(environment: EnvironmentSpec) -> Any:
    """Gymnasium's specification of the environment with its settings; None if Gymnasium alone cannot make it."""
    id = environment.registered_id
    # Only this project registers Atari's preprocessed games.
    if id not in gymnasium.registry or id.startswith(f"{NAMESPACE}-"):
        return None
    spec = gymnasium.spec(id)
    spec.kwargs = {**spec.kwargs, **environment.settings}
    return spec


def _padded(keys: tuple[NDArray[np.uint8], ...]) -> NDArray[np.uint8]:
    """Keys as an array [T + 1, frames of the longest decision]."""
    rows = np.full((len(keys) + 1, max(map(len, keys))), NO_KEY, dtype=np.uint8)
    for row, held in zip(rows, keys, strict=False):
        row[: len(held)] = held
    return rows


def _unpadded(rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], ...]:
    return tuple(row[row != NO_KEY] for row in rows[:-1])


def _data(path: Path) -> Path | None:
    for folder in (path / DATA, path):
        if (folder / METADATA).is_file() and any(folder.glob("main_data.hdf5")):
            return folder
    return None
