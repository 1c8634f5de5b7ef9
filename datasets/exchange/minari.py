"""To and from Minari: https://minari.farama.org

An episode's behaviour probabilities, times, keys and who acted go into Minari's `infos`, its other fields into its
metadata.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from numpy.typing import NDArray

from ...common.checks import LONGEST_REASON, quoted
from ...common.errors import BadInput, naming
from ...common.files import require_room
from ...common.reading import MEGABYTE, parse_json, read_json
from ...envs.actions import Space, action_at, action_count, form_names
from ...envs.observed import plain_space, without_texts
from ...envs.registration import NAMESPACE
from ...envs.spec import EnvironmentSpec, ObservationSpec, interface_of
from ..arrays import ArrayForm
from ..arrow import episode_fields, episode_metadata
from ..origin import Origin
from ..reader import Dataset
from ..schema import DatasetInfo, Episode
from .foreign import import_extra
from .hdf5 import INSTALL, ForeignGroup, foreign_hdf5
from .imported import Imported, Unknown, filled_in, imported_episode

DATA = "data"
"""Subfolder that Minari opens."""

METADATA = "metadata.json"

MAIN = "main_data.hdf5"
"""File with the episodes."""

HDF5 = "hdf5"

LARGEST_METADATA = 64 * MEGABYTE
"""Bytes of the metadata, which hold both spaces with the bounds of every number."""

EXPECTED = "expected a dataset of Minari"

OWN = "qwop"
"""Name of our own entry in the metadata of a Minari dataset and of its episodes."""

NO_KEY = 255
"""Padding of decisions with fewer frames than the longest."""

OVERHEAD = 100_000
"""Bytes of an episode in the file beside its arrays, at most."""

SHARED = ("actors", "policy_probabilities")
"""Arrays of an episode in which a policy and a person shared control."""


def export(dataset: Dataset, info: DatasetInfo, name: str, folder: Path) -> None:
    """Write a dataset as Minari's, with the id `name`, into an empty folder. BadInput if Minari is not installed."""
    minari = _require_minari()
    from minari.dataset.minari_storage import MinariStorage

    actions = _action_space(info)
    # HDF5 ends the process with a crash where it cannot write.
    require_room(folder, sum(_size(buffer) for buffer in _buffers(dataset, actions)))
    storage = MinariStorage.new(
        folder / DATA,
        observation_space=_observation_space(info.observation),
        action_space=actions,
        env_spec=_env_spec(info.environment),
        jpeg_encoding=False,
    )
    storage.update_metadata({"dataset_id": name, "minari_version": minari.__version__, OWN: info.to_json()})
    storage.update_episodes(_buffers(dataset, actions))
    storage.update_episode_metadata({OWN: json.dumps(episode_metadata(episode))} for episode in dataset)


def is_minari(path: Path) -> bool:
    """True for the folder of a Minari dataset, or its subfolder `data`."""
    return _data(path) is not None


def read(path: Path, unknown: Unknown) -> Imported:
    """Open a Minari dataset; BadInput for one whose actions are not discrete."""
    minari = _require_minari()
    folder = _data(path)
    assert folder is not None
    metadata = _metadata(folder / METADATA)
    if (version := metadata.get("minari_version")) not in [*minari.supported_dataset_versions]:
        raise BadInput(f"{path}: Minari {minari.__version__} cannot open it (written by version {quoted(version)})")
    if (stored := metadata.get("data_format", HDF5)) != HDF5:
        raise BadInput(f"{path}: its data_format is {quoted(stored)}, expected {HDF5}")
    with foreign_hdf5(folder / MAIN, "Minari", EXPECTED) as file:
        total = len(file)
    if (claimed := metadata.get("total_episodes")) != total:
        raise BadInput(f"{folder / METADATA}: total_episodes is {quoted(claimed)}, but {MAIN} has {total:,}")
    with naming(folder / METADATA):
        own = metadata.get(OWN)
        spaces = {name: without_texts(_space(metadata, name)) for name in ("observation_space", "action_space")}
        info = DatasetInfo.from_json(own) if own is not None and unknown.environment is None else None
        info = info or _info(metadata, spaces, unknown)
    notes = [] if own is not None else filled_in(unknown)
    jpeg = bool(metadata.get("jpeg_encoding", True)) and _is_picture(spaces["observation_space"])
    form = ArrayForm(info, spaces["observation_space"], spaces["action_space"])
    return Imported(info, _episodes(folder / MAIN, total, jpeg, form, unknown, path.name), total, notes)


def _require_minari() -> Any:
    """Minari as a module; BadInput if it, or h5py, is not installed."""
    import_extra("h5py", INSTALL)
    return import_extra("minari", INSTALL)


def _action_space(info: DatasetInfo) -> Space:
    """The environment's own action space if it has the form of an array, else numbers from 0."""
    try:
        _, own = info.environment.own_spaces()
    except BadInput:  # an environment that is not here
        own = None
    if isinstance(own, Discrete | MultiBinary | MultiDiscrete) and action_count(own, "") == info.actions:
        return own
    return Discrete(info.actions)


def _buffers(episodes: Iterable[Episode], actions: Space) -> Iterator[Any]:
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
        for name in SHARED:
            if (found := getattr(episode, name)) is not None:
                infos[name] = np.append(found, np.zeros_like(found[:1]), axis=0)
        yield EpisodeBuffer(
            seed=episode.seed,
            observations=episode.observations,
            actions=np.array([action_at(actions, int(index)) for index in episode.actions]),
            rewards=episode.rewards,
            terminations=ends & episode.terminated,
            truncations=ends & episode.truncated,
            infos=infos,
        )


def _size(buffer: Any) -> int:
    """Bytes of an episode in the file, at most."""
    decisions = buffer.actions, buffer.rewards, buffer.terminations, buffer.truncations
    return OVERHEAD + sum(int(one.nbytes) for one in (buffer.observations, *decisions, *buffer.infos.values()))


def _metadata(path: Path) -> dict[str, Any]:
    found: Any = read_json(path, LARGEST_METADATA, EXPECTED)
    if not isinstance(found, dict):
        raise BadInput(f"{path}: is {quoted(found)}; {EXPECTED}")
    return found


def _space(metadata: Mapping[str, Any], name: str) -> Space:
    """A space from its text, of a limited size, which Minari itself does not check."""
    from minari.serialization import deserialize_space

    try:
        text = json.loads(metadata[name])  # with infinite bounds
        _require_small(text)
        space: Space = deserialize_space(text)
        return space
    except Exception as error:  # of Minari, Gymnasium and NumPy
        raise BadInput(f"{name} cannot be read ({quoted(error, LONGEST_REASON) or type(error).__name__})") from None


def _require_small(space: Any) -> None:
    """Raise BadInput for a space that has one of more numbers than an observation may have."""
    if isinstance(space, dict) and "shape" in space:
        ObservationSpec.from_json({"observation_shape": space["shape"]})
    parts = space.values() if isinstance(space, dict) else space if isinstance(space, list) else ()
    for one in parts:
        if isinstance(one, dict | list):
            _require_small(one)


def _is_picture(space: Space) -> bool:
    from minari.dataset.minari_storage import is_image_space

    return bool(is_image_space(space))


def _episodes(path: Path, total: int, jpeg: bool, form: ArrayForm, unknown: Unknown, source: str) -> Iterator[Episode]:
    with foreign_hdf5(path, "Minari", EXPECTED) as file:
        for number in range(total):
            group = file.group(f"episode_{number}")
            with naming(f"episode {number}"):
                yield _episode(group, jpeg, form, unknown, source, number)


def _episode(group: ForeignGroup, jpeg: bool, form: ArrayForm, unknown: Unknown, source: str, number: int) -> Episode:
    terminated, truncated = (_ends(group.numbers(name)) for name in ("terminations", "truncations"))
    ends = {"terminated": terminated, "truncated": truncated or not terminated}
    seen: Any = _pictures(group, form.info.observation) if jpeg else _values(group, "observations", form.observations)
    actions, rewards = _values(group, "actions", form.actions), group.numbers("rewards")
    if (own := group.attribute(OWN)) is None:
        seed = group.attribute("seed")
        known = {"seed": None if seed is None else int(seed), "origin": Origin(game=number)}
        return form.episode(unknown, seen, actions, rewards, source=source, **ends, **known)
    infos = group.group("infos")
    fields: dict[str, Any] = {
        **episode_fields(_fields(own)),
        "times": infos.numbers("time"),
        "behaviour_probabilities": infos.numbers("behaviour_probabilities")[:-1],
        "keys": _unpadded(infos.numbers("keys")) if "keys" in infos else None,
        **{name: infos.numbers(name)[:-1] for name in SHARED if name in infos},
    }
    fields = {"source": source, **ends, **fields}
    return imported_episode(form.info, unknown, seen, form.indices(actions), rewards, **fields)


def _values(group: ForeignGroup, name: str, space: Space) -> Any:
    """Values of a space, one a row: an array, or of a `Dict` or `Tuple` a mapping or tuple of arrays."""
    if isinstance(space, Dict):
        inner = group.group(name)
        return {key: _values(inner, key, part) for key, part in space.items()}
    if isinstance(space, Tuple):
        inner = group.group(name)
        return tuple(_values(inner, f"_index_{place}", part) for place, part in enumerate(space))
    return group.numbers(name)


def _fields(own: Any) -> dict[str, Any]:
    try:
        found = parse_json(own)
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"its {OWN} cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise BadInput(f"its {OWN} is {quoted(found)}, expected the fields of an episode")
    return found


def _ends(marks: NDArray[Any]) -> bool:
    """True if the last decision is marked."""
    if marks.ndim != 1 or not len(marks):
        raise BadInput("it has no decision")
    return bool(marks[-1])


def _pictures(group: ForeignGroup, observation: ObservationSpec) -> NDArray[np.uint8]:
    """Observations that are stored as JPEG files."""
    from PIL import Image

    stored = group.array("observations")
    if len(stored.shape) not in (1, 2):
        raise BadInput(f"observations have shape {quoted(stored.shape)}, expected pictures as JPEG files")
    rows = []
    for row in range(stored.shape[0]):
        content = np.asarray(stored[row]).astype(np.uint8).tobytes()
        group.require(observation.size, len(content))
        with Image.open(io.BytesIO(content), formats=["JPEG"]) as picture:
            if picture.size != (observation.shape[1], observation.shape[0]):
                raise BadInput(f"row {row}: a picture of {picture.size}, expected observations {observation}")
            rows.append(np.asarray(picture, dtype=np.uint8))
    return np.array(rows, dtype=np.uint8)


def _info(metadata: Mapping[str, Any], spaces: Mapping[str, Space], unknown: Unknown) -> DatasetInfo:
    environment = unknown.environment
    if environment is None:
        if metadata.get("env_spec") is None:
            raise BadInput("environment_id is not set: the Minari dataset does not name its environment")
        try:
            found = parse_json(metadata["env_spec"])
            environment = EnvironmentSpec.from_json({"id": found["id"], "settings": found["kwargs"]})
        except BadInput:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"env_spec cannot be read ({quoted(error, LONGEST_REASON)})") from None
    plain = plain_space(spaces["observation_space"])
    observation, actions = interface_of(plain, spaces["action_space"], str(environment))
    return DatasetInfo(environment, observation, actions, action_names=form_names(spaces["action_space"]))


def _observation_space(observation: ObservationSpec) -> gymnasium.spaces.Box:
    if observation.dtype == "uint8":
        return gymnasium.spaces.Box(0, 255, observation.shape, np.uint8)
    return gymnasium.spaces.Box(-np.inf, np.inf, observation.shape, np.float32)


def _env_spec(environment: EnvironmentSpec) -> Any:
    """Gymnasium's specification of the environment with its settings; None if Gymnasium alone cannot make it, or not
    write it down."""
    id = environment.registered_id
    # Only this project registers Atari's preprocessed games.
    if id not in gymnasium.registry or id.startswith(f"{NAMESPACE}-"):
        return None
    spec = gymnasium.spec(id)
    spec.kwargs = {**spec.kwargs, **environment.settings}
    try:
        spec.to_json()
    except (TypeError, ValueError):  # registered with a class instead of its name, or with settings that are no data
        return None
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
        if (folder / METADATA).exists() and (folder / MAIN).exists():
            return folder
    return None
