"""What a run starts from: a policy, demonstrations, and that they belong together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..common.errors import BadInput
from ..datasets.embedded import embedded_dataset
from ..datasets.reader import Dataset, open_dataset
from ..datasets.schema import DatasetInfo
from ..envs.spec import EnvironmentSpec
from ..policies.files import load_policy
from ..policies.networks import ActorCritic, Network
from ..policies.policy import Policy
from ..pretrain.clone import clone

SCRATCH = "scratch"

MakeNetwork = Callable[[int, int, torch.Generator], Network]
"""An untrained network for an observation size and a number of actions."""

PRETRAINED = Path("runs/pretrain/policy.safetensors")
"""Where `qwop-pretrain` leaves its policy unless it is told otherwise."""


@dataclass(frozen=True)
class Start:
    """A policy to continue, the demonstrations (None where no phase uses any) and what to tell about the choice."""

    policy: Policy
    demonstrations: Dataset | None
    notes: tuple[str, ...]


def find_start(
    policy: str | None,
    demonstrations: str | None,
    environment: str | None,
    needs_demonstrations: bool,
    seed: int,
    *,
    new_network: MakeNetwork = lambda size, actions, generator: ActorCritic(size, actions, generator=generator),
    settings: Mapping[str, Any] | None = None,
) -> Start:
    """Both, from what the command was given; BadInput where they do not fit each other.

    Without a policy: the pretrained one where it lies and no demonstrations are named, else a clone of the
    demonstrations. Without demonstrations, where some are needed: the embedded ones. new_network makes the network of
    policy=scratch; settings are those of a new environment.
    """
    if environment is not None and policy != SCRATCH:
        raise BadInput(f"environment={environment}: only policy={SCRATCH} can choose it; a policy file names its own")
    notes = []
    if policy is None and demonstrations is None and PRETRAINED.is_file():
        policy = str(PRETRAINED)
        notes.append(f"policy: {PRETRAINED}")
    dataset = None
    if demonstrations is not None:
        dataset = open_dataset(demonstrations)
    elif needs_demonstrations or policy is None:
        dataset = open_dataset(embedded_dataset())
        notes.append(f"demonstrations: the embedded ones, {len(dataset)} games")
    if policy == SCRATCH:
        start = _new_policy(environment, settings or {}, dataset, new_network, torch.Generator().manual_seed(seed))
    elif policy is not None:
        start = load_policy(policy)
    else:
        assert dataset is not None
        notes.append(f"policy: a clone of {dataset.folder}, made now")
        start = _clone(dataset, seed)
    if dataset is not None:
        _require_same(start, policy or "the clone", dataset)
    return Start(start, dataset, tuple(notes))


def _new_policy(
    environment: str | None,
    settings: Mapping[str, Any],
    dataset: Dataset | None,
    new_network: MakeNetwork,
    generator: torch.Generator,
) -> Policy:
    """An untrained policy for the environment, or for that of the dataset."""
    if environment is None:
        if dataset is None:
            raise BadInput(f"policy={SCRATCH}: name its environment (environment=CartPole-v1), or demonstrations")
        info = dataset.info
        network = new_network(info.observation.size, info.actions, generator)
        network.scaler.fit(np.concatenate([episode.observations.reshape(len(episode) + 1, -1) for episode in dataset]))
        return Policy(network, info.environment, info.observation)
    spec = EnvironmentSpec(environment, settings)
    observation, actions = spec.interface()
    return Policy(new_network(observation.size, actions, generator), spec, observation)


def _clone(dataset: Dataset, seed: int) -> Policy:
    if len(dataset) < 2:
        raise BadInput(f"{dataset.folder}: one episode, but cloning holds some out; record more, or give a policy")
    return clone(list(dataset), dataset.info, seed=seed).policy


def _require_same(policy: Policy, name: str, dataset: Dataset) -> None:
    own = DatasetInfo(policy.environment, policy.observation, policy.actions)
    if differences := dataset.info.differences(own):
        raise BadInput(
            f"{dataset.folder}: demonstrations of another task than the policy's ({name}): {'; '.join(differences)}; "
            "give a policy made from these demonstrations, or demonstrations of its task"
        )
