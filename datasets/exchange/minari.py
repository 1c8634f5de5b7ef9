"""To and from Minari (https://minari.farama.org), by its own reader and writer, in all of its formats.

An episode's behaviour probabilities and times go into Minari's `infos`; what Minari has no place for stays behind
(`LOST`).
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete

from ...common.errors import LONGEST_REASON, BadInput, naming, quoted
from ...common.reading import MEGABYTE, read_bytes
from ...envs.actions import Space, action_at, action_count, form_names
from ...envs.observation import plain_form, without_texts
from ...envs.registration import NAMESPACE
from ...envs.spec import EnvironmentSpec, interface_of
from ..arrays import ArrayForm
from ..origin import Origin
from ..reader import Dataset
from ..schema import DatasetInfo, Episode
from .imported import ImportDefaults, Imported, filled_in

DATA, METADATA = "data", "metadata.json"
"""Subfolder that Minari opens, and its description."""

INSTALL = "pip install 'qwop[minari]'"

LOST = "keys, who acted, and all facts but the seed"
"""Content of a dataset that Minari's files do not hold."""

LARGEST = 64 * MEGABYTE
"""Bytes of the metadata, which hold both spaces with the bounds of every number."""

EXPECTED = "expected a dataset of Minari"


def export(dataset: Dataset, name: str, folder: Path) -> None:
    """Write a dataset as Minari's, with the id `name`, into an empty folder. BadInput if Minari is not installed."""
    minari = _minari()
    from minari.dataset.minari_storage import MinariStorage

    info, spec = dataset.info, dataset.info.observation
    bounds = (0, 255, spec.shape, np.uint8) if spec.dtype == "uint8" else (-np.inf, np.inf, spec.shape, np.float32)
    actions = _action_space(info)
    storage = MinariStorage.new(
        folder / DATA,
        observation_space=gymnasium.spaces.Box(*bounds),
        action_space=actions,
        env_spec=_env_spec(info.environment),
        jpeg_encoding=False,
    )
    storage.update_metadata({"dataset_id": name, "minari_version": minari.__version__})
    storage.update_episodes(_buffer(episode, actions) for episode in dataset)


def _buffer(episode: Episode, actions: Space) -> Any:
    from minari.data_collector import EpisodeBuffer

    ends = np.arange(len(episode)) == len(episode) - 1
    mu = episode.behaviour_probabilities
    infos: dict[str, Any] = {
        "behaviour_probabilities": np.append(mu, np.zeros_like(mu[:1]), axis=0)
    }  # a row an observation
    if episode.times is not None:
        infos["time"] = episode.times
    return EpisodeBuffer(
        seed=episode.seed,
        observations=episode.observations,
        actions=np.array([action_at(actions, int(index)) for index in episode.actions]),
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
    _require_spaces(folder / METADATA)
    try:
        dataset = MinariDataset(folder)
        spaces = without_texts(dataset.observation_space), without_texts(dataset.action_space)
    except Exception as error:  # of Minari, Gymnasium, h5py and NumPy
        raise BadInput(f"{path}: Minari cannot open it ({quoted(error, LONGEST_REASON)}); {EXPECTED}") from None
    with naming(folder / METADATA):
        info = _info(dataset, spaces, defaults.environment)
    episodes = _episodes(dataset, ArrayForm(info, *spaces), defaults, path)
    return Imported(info, episodes, len(dataset), [filled_in(defaults)])


def _require_spaces(path: Path) -> None:
    """Raise BadInput for metadata without spaces: Minari would make the environment that they name, and with it run
    whatever they say."""
    try:
        # Bounds may be infinite, which `parse_json` refuses.
        document = json.loads(read_bytes(path, LARGEST, EXPECTED))
        spaces = [document[name] for name in ("observation_space", "action_space")]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read ({quoted(error, LONGEST_REASON)}); {EXPECTED}") from None
    if not all(isinstance(space, str) for space in spaces):
        raise BadInput(f"{path}: its spaces are no texts; {EXPECTED}")


def _info(dataset: Any, spaces: tuple[Space, Space], environment: EnvironmentSpec | None) -> DatasetInfo:
    if environment is None:
        if dataset.env_spec is None:
            raise BadInput("environment_id is not set: the Minari dataset does not name its environment")
        environment = EnvironmentSpec.from_json({"id": dataset.env_spec.id, "settings": dict(dataset.env_spec.kwargs)})
    observation, actions = interface_of(plain_form(spaces[0])[0], spaces[1], str(environment))
    return DatasetInfo(environment, observation, actions, action_names=form_names(spaces[1]))


def _episodes(dataset: Any, form: ArrayForm, defaults: ImportDefaults, path: Path) -> Iterator[Episode]:
    try:
        metadata = [*dataset.storage.get_episode_metadata(dataset.episode_indices)]
        for number, (one, about) in enumerate(zip(dataset.iterate_episodes(), metadata, strict=True)):
            with naming(f"{path}: episode {number}"):
                if len(one.rewards) != about.get("total_steps", len(one.rewards)):
                    raise BadInput(f"{len(one.rewards)} steps, but its metadata say {about['total_steps']}")
                if not len(one.terminations):
                    raise BadInput("it has no decision")
                terminated, truncated = bool(one.terminations[-1]), bool(one.truncations[-1])
                yield form.episode(
                    defaults, one.observations, one.actions, one.rewards, terminated=terminated,
                    truncated=truncated or not terminated, source=path.name, origin=Origin(game=number),
                    seed=None if about.get("seed") is None else int(about["seed"]),
                )  # fmt: skip
    except BadInput:
        raise
    except (OSError, ValueError, KeyError, TypeError, IndexError, RuntimeError, AssertionError) as error:
        reason = quoted(error, LONGEST_REASON) or type(error).__name__
        raise BadInput(f"{path}: Minari cannot read its episodes ({reason}); {EXPECTED}") from None


def _minari() -> Any:
    """Minari as a module; BadInput if it is not installed."""
    try:
        import_module("h5py")
        return import_module("minari")
    except ImportError as error:
        raise BadInput(f"minari cannot be imported ({error}); install it with: {INSTALL}") from None


def _action_space(info: DatasetInfo) -> Space:
    """The environment's own action space if it has the form of an array, else numbers from 0."""
    try:
        own = info.environment.spaces.own_actions
    except BadInput:  # an environment that is not here
        own = None
    if isinstance(own, Discrete | MultiBinary | MultiDiscrete) and action_count(own, "") == info.actions:
        return own
    return Discrete(info.actions)


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
