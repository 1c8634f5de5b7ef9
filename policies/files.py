"""A policy on disk: one safetensors file with the weights and, as metadata, everything needed to play it."""

import hashlib
import json
import os
from collections.abc import Collection
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ..common.errors import LONGEST_REASON, BadInput, quoted
from ..common.files import named_path, write_atomic
from ..common.reading import MEGABYTE, parse_json, read_bytes
from ..envs.actions import MOST_ACTIONS
from ..envs.spec import EnvironmentSpec, ObservationSpec
from .champion import policy_path
from .devices import WEIGHTS, sizes_only
from .networks import Actor, ActorCritic, Network, TanhActorCritic, ValuedActor, Values
from .policy import Policy
from .q_networks import EnsembleQ, QNetwork
from .recurrent import RecurrentActorCritic, TwoTimescaleActorCritic
from .seal import require_whole, seal, with_room

ARCHITECTURES: dict[str, type[Network]] = {
    one.architecture: one
    for one in (
        ActorCritic,
        Actor,
        ValuedActor,
        TanhActorCritic,
        QNetwork,
        EnsembleQ,
        RecurrentActorCritic,
        TwoTimescaleActorCritic,
    )
}
"""Networks by the name that policy files give them. Register a network of your own here before loading its files."""


FORMAT = 1
"""Version of the format."""

METADATA = "policy"
"""The only metadata entry, a JSON document (the order of several entries would be arbitrary)."""

PROVENANCE = ("format", "sha256", "software", "training")
"""Entries of the description that do not decide what a policy does."""

VALUES = "values."
"""Beginning of the names of the value network's tensors, in a file that has one."""

LARGEST_FILE = 128 * MEGABYTE
"""Largest size in bytes of a policy file: 30 million weights."""

SHARPEST = 1000
"""The largest sharpness of a file, with which actions are as good as greedy."""

MAKE_ONE = "make one with qwop-pretrain or qwop-finetune"


def save_policy(path: str | os.PathLike[str], policy: Policy) -> Path:
    """Write a policy, whole or not at all. Equal policies give equal bytes. BadInput for an environment's setting that
    a file may not set."""
    path = named_path(path, "policy's file")
    policy.environment.require_readable()
    document = {
        "format": FORMAT,
        "architecture": {"name": policy.network.architecture, **policy.network.description()},
        "environment": policy.environment.to_json(),
        **policy.observation.to_json(),
        "actions": policy.actions,
        "software": f"qwop {version('qwop')}",
        "training": dict(policy.training),
    }
    if not policy.greedy:
        document["greedy"] = False
    if policy.sharpness != 1.0:
        document["sharpness"] = policy.sharpness
    if policy.values is not None:
        document["values"] = policy.values.description()
    tensors = {name: _as_stored(tensor) for name, tensor in _tensors_of(policy.network, policy.values).items()}
    data = BytesIO(save(tensors, metadata={METADATA: with_room(json.dumps(document, sort_keys=True))}))
    seal(data)
    return write_atomic(path, data.getvalue())


def _as_stored(tensor: Tensor) -> Tensor:
    """The tensor on the CPU, its numbers of the type that networks have."""
    return tensor.detach().to("cpu", WEIGHTS if tensor.is_floating_point() else tensor.dtype).contiguous()


def load_policy(path: str | os.PathLike[str], overrides: Collection[str] = ()) -> Policy:
    """Load a policy that `save_policy` wrote, or the `champion`. Raises BadInput for any other file.

    Environment settings that a file may not set are left out if their names are in `overrides` (on the command line),
    else refused: see `envs.registration`. No tensor is allocated beyond the sizes of the weights in the file.
    """
    path = policy_path(path)
    data = read_bytes(path, LARGEST_FILE, f"expected a policy file (.safetensors); {MAKE_ONE}")
    try:
        tensors, header = load(data), parse_header(data)
    except (ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise BadInput(f"{path}: not a safetensors file ({quoted(error, LONGEST_REASON)}); {MAKE_ONE}") from None
    metadata = header.get("__metadata__", {})
    if METADATA not in metadata:
        raise BadInput(f"{path}: a safetensors file without the description of a policy; {MAKE_ONE}")
    try:
        description = parse_json(metadata[METADATA])
        require_whole(BytesIO(data))
        return _build(description, tensors, overrides)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: not a policy that this version can play ({_why(error)}); {MAKE_ONE}") from None


def policy_digest(path: Path) -> str:
    """First twelve digits of the SHA-256 of what plays in a policy's file, as `Origin.sha256` has them: its description
    without its provenance, and its tensors. A file that is written anew has the same."""
    data = read_bytes(path, LARGEST_FILE, "it was there when it was loaded")
    header = parse_header(data)
    document = parse_json(header.pop("__metadata__")[METADATA])
    plays = {name: value for name, value in document.items() if name not in PROVENANCE}
    digest = hashlib.sha256(json.dumps(plays, sort_keys=True).encode())
    start = 8 + int.from_bytes(data[:8], "little")
    for name, tensor in sorted(header.items()):
        digest.update(json.dumps([name, tensor["dtype"], tensor["shape"]]).encode())
        digest.update(data[start + tensor["data_offsets"][0] : start + tensor["data_offsets"][1]])
    return digest.hexdigest()[:12]


def parse_header(data: bytes) -> dict[str, Any]:
    """The header of a safetensors file that could be loaded: its metadata and the type, shape and place of each
    tensor."""
    header: dict[str, Any] = parse_json(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return header


class _Document(BaseModel):
    """The description in a file."""

    model_config = ConfigDict(strict=True)

    format: Literal[1]
    architecture: dict[str, Any]
    environment: Any
    actions: Annotated[int, Field(ge=1, le=MOST_ACTIONS)]
    training: dict[str, Any]
    greedy: bool = True
    sharpness: Annotated[float, Field(gt=0, le=SHARPEST)] = 1.0
    values: dict[str, Any] | None = None


def _build(document: Any, tensors: dict[str, Tensor], overrides: Collection[str]) -> Policy:
    described = _Document.model_validate(document)
    name = described.architecture["name"]
    if name not in [*ARCHITECTURES]:
        raise ValueError(f"architecture {quoted(name)}, expected {' or '.join(ARCHITECTURES)}")
    environment = EnvironmentSpec.from_json(described.environment, overrides)
    observation, kind, critic = ObservationSpec.from_json(document), ARCHITECTURES[name], described.values

    def parts() -> tuple[Network, Values | None]:
        network = kind(observation, described.actions, **kind.arguments(described.architecture))
        return network, None if critic is None else Values(observation, **Values.arguments(critic))

    with sizes_only():  # without memory: sizes from the file count only if its tensors have them
        _require_same_tensors(_tensors_of(*parts()), tensors)
    network, values = parts()
    for part, tensor in _tensors_of(network, values).items():
        tensor.copy_(tensors[part])
    return Policy(network, environment, observation, described.training, values, described.greedy, described.sharpness)


def _tensors_of(network: Network, values: Values | None) -> dict[str, Tensor]:
    """The tensors of a policy, which have no memory of their own, by their names in a file."""
    critic = {} if values is None else values.state_dict()
    return {**network.state_dict(), **{VALUES + name: tensor for name, tensor in critic.items()}}


def _require_same_tensors(expected: dict[str, Tensor], tensors: dict[str, Tensor]) -> None:
    """Raise ValueError unless the tensors have the names, shapes and types expected, and finite numbers."""
    for name in sorted(expected.keys() | tensors.keys()):
        ours, theirs = (_kind(each.get(name)) for each in (expected, tensors))
        if ours != theirs:
            raise ValueError(f"tensor {quoted(name)}: {theirs}, expected {ours}")
        if not torch.isfinite(tensors[name]).all():
            raise ValueError(f"tensor {name}: not finite")


def _kind(tensor: Tensor | None) -> str:
    return "none" if tensor is None else f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))} {quoted(first['input'])}: {first['msg']}"
    return f"it lacks {error}" if isinstance(error, KeyError) else quoted(error, LONGEST_REASON)
