"""A policy on disk: one safetensors file with the weights and, as metadata, everything needed to play it."""

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from ..common.errors import BadInput
from ..common.files import write_whole
from ..envs.spec import EnvironmentSpec, ObservationSpec
from .champion import policy_path
from .networks import ARCHITECTURES
from .policy import Policy

FORMAT = 1
METADATA = "policy"
"""The only metadata entry, a JSON document (several entries would be written in an arbitrary order)."""

MAKE_ONE = "make one with qwop-pretrain or qwop-finetune"


def save_policy(path: str | os.PathLike[str], policy: Policy) -> Path:
    """Write a policy, whole or not at all. Equal policies give equal bytes."""
    path = Path(path)
    document = {
        "format": FORMAT,
        "architecture": {"name": policy.network.architecture, **policy.network.description()},
        "environment": policy.environment.to_json(),
        **policy.observation.to_json(),
        "actions": policy.actions,
        "software": f"qwop {version('qwop')}",
        "training": dict(policy.training),
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in policy.network.state_dict().items()}
    data = save(tensors, metadata={METADATA: json.dumps(document, sort_keys=True)})
    return write_whole(path, data)


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Load a policy that `save_policy` wrote, or the `champion`. Raises BadInput for any other file."""
    path = policy_path(path)
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no such file"
        raise BadInput(f"{path}: {found}; expected a policy file (.safetensors); {MAKE_ONE}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise BadInput(f"{path}: not a safetensors file ({str(error).splitlines()[0]}); {MAKE_ONE}") from None
    if METADATA not in metadata:
        raise BadInput(f"{path}: a safetensors file without the description of a policy; {MAKE_ONE}")
    try:
        return _build(json.loads(metadata[METADATA]), tensors)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: not a policy that this version can play ({error}); {MAKE_ONE}") from None


def _build(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Policy:
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']}, expected {FORMAT}")
    architecture = document["architecture"]
    if architecture["name"] not in ARCHITECTURES:
        raise ValueError(f"architecture {architecture['name']}, expected {' or '.join(ARCHITECTURES)}")
    observation = ObservationSpec.from_json(document)
    made = ARCHITECTURES[architecture["name"]]
    network = made.from_description(observation, int(document["actions"]), architecture)
    expected = network.state_dict()
    for name in sorted(expected.keys() | tensors.keys()):
        wanted = tuple(expected[name].shape) if name in expected else "none"
        found = tuple(tensors[name].shape) if name in tensors else "none"
        if wanted != found:
            raise ValueError(f"tensor {name}: shape {found}, expected {wanted}")
        if not torch.isfinite(tensors[name]).all():
            raise ValueError(f"tensor {name}: not finite")
    network.load_state_dict(tensors)
    return Policy(network, EnvironmentSpec.from_json(document["environment"]), observation, document["training"])
