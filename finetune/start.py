"""The beginning of a run: its initial policy and demonstrations, or the checkpoint that it is resumed from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..common.errors import BadInput, naming
from ..common.resume import checkpoint_to_resume, kept_policy, require_same, require_same_settings
from ..common.run_folder import CONFIGURATION, read_settings
from ..common.settings import read, to_plain
from ..datasets.embedded import embedded_dataset
from ..datasets.reader import Dataset, open_dataset
from ..datasets.relabelled_dataset import can_be_relabelled, with_task
from ..datasets.schema import DatasetInfo
from ..envs.qwop.task import PIXELS
from ..envs.spec import EnvironmentSpec
from ..policies.files import load_policy
from ..policies.policy import Policy
from ..pretrain.clone import clone, untrained
from ..pretrain.settings import CloningSettings
from .checkpoint import checkpoints, load_checkpoint
from .log import METRICS
from .run import POLICY, START
from .schedules.environments import without_reward_settings
from .settings import FinetuneSettings, has_length

SCRATCH = "scratch"

MAY_DIFFER = ("resume", "out", "device", "tracker", "threads", "video")
"""Settings in which a resumed run may differ from its earlier part."""

RELABELLED = ("frames_per_step", "observation", "observation_lag")
"""Settings of the policy's task that demonstrations with keys are replayed with."""

PRETRAINED = Path("runs/pretrain/policy.safetensors")
"""The default place of the policy that `qwop-pretrain` writes."""


@dataclass(frozen=True)
class Start:
    """Initial policy, and demonstrations (None if no phase uses any).

    to_clone: the policy is untrained, and stands for the clone of these games that is yet to be made.
    """

    policy: Policy
    demonstrations: Dataset | None
    to_clone: Dataset | None = None

    def with_clone(self, seed: int) -> "Start":
        """Make the clone, if there is one to make."""
        if self.to_clone is None:
            return self
        return replace(self, policy=clone(self.to_clone, self.to_clone.info, seed=seed), to_clone=None)


def find_start(
    settings: FinetuneSettings,
    say: Callable[[str], object],
    state: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    dataset: Dataset | None = None,
) -> Start:
    """Choose the initial policy and demonstrations; raise BadInput if they disagree.

    Without a policy: the pretrained one if it exists and no demonstrations are named, else a clone of the
    demonstrations, which `Start.with_clone` makes. Without demonstrations, if some are needed: the embedded ones.
    say: prints a line about a choice that the settings leave open. state: of the run that is resumed; its folder keeps
    its initial policy, and games recorded since it began are left out. policy, dataset: in place of those that the
    settings name.
    """
    demonstrations, environment = settings.demonstrations, settings.environment
    anew = settings.chosen_algorithm.starts_from_scratch or (environment is not None and demonstrations is None)
    name = settings.policy or (SCRATCH if anew else None)
    if state is not None:
        name, environment, policy = str(kept_policy(Path(settings.out) / START)), None, None
    if environment is not None and name != SCRATCH:
        raise BadInput(
            f"environment={environment}: a policy or demonstrations bring their own; leave it out, or begin with "
            f"policy={SCRATCH}"
        )
    if name is None and demonstrations is None and PRETRAINED.is_file():
        name = str(PRETRAINED)
        say(f"policy: {PRETRAINED}")
    if dataset is None and demonstrations is not None:
        dataset = open_dataset(demonstrations)
    elif dataset is None and (name is None or any(phase.needs_demonstrations for phase in settings.phases)):
        dataset = open_dataset(embedded_dataset())
        say(f"demonstrations: the {len(dataset)} embedded games")
    if dataset is not None and state is not None and state["demonstrations"] is not None:
        whole, dataset = dataset, _as_begun(dataset, state["demonstrations"])
        if len(dataset) < len(whole):
            say(f"demonstrations: the first {len(dataset)} games of {dataset.folder}, as the run began")
    to_clone, changes = None, next(filter(has_length, settings.phases), settings.phases[0]).environment
    if name == SCRATCH:
        start = _new_policy(settings, environment, changes, dataset)
    elif policy is not None:
        start = policy
    elif name is not None:
        start = load_policy(name, overrides=changes.keys())
    else:
        assert dataset is not None
        say(f"policy: a new clone of {dataset.folder}")
        if len(dataset) < 2:
            raise BadInput(f"{dataset.folder}: one episode, but cloning holds some out; record more, or give a policy")
        to_clone, info = dataset, dataset.info
        network = untrained(info, CloningSettings(), torch.Generator().manual_seed(settings.seed))
        start = Policy(network, info.environment, info.observation)
    if dataset is not None:
        if demonstrations is None and start.environment.id != dataset.info.environment.id:
            raise BadInput(
                f"{name}: plays {start.environment.id}, and the schedule needs demonstrations; give some of that "
                "(demonstrations=DIR), or a schedule without any, such as schedule=live-only algorithm=ppo-small"
            )
        if (games := _as_the_policy_sees(dataset, start)) is not dataset:
            dataset = games
            say(f"demonstrations: replayed for the policy's task, {start.environment}")
        _require_same(start, name or "the clone", dataset)
        new = start.network
        if name == SCRATCH and not new.scaler.fitted:
            new.scaler.fit(np.concatenate([one.observations.reshape(len(one) + 1, -1) for one in dataset]))
    return Start(start, dataset, to_clone)


def _as_begun(dataset: Dataset, record: Mapping[str, Any]) -> Dataset:
    """The games that a run began with, without later ones; BadInput if they are no longer the dataset's first."""
    games = dataset.select(range(min(record["games"], len(dataset))))
    if games.digest() != record["sha256"]:
        raise BadInput(
            f"{dataset.folder}: the run began with {record['games']} other demonstrations; put them back, or start "
            "anew with another out"
        )
    return games


def _new_policy(
    settings: FinetuneSettings, environment: str | None, changes: Mapping[str, Any], dataset: Dataset | None
) -> Policy:
    """Make an untrained policy for the environment with these `changes` of its settings, by default the dataset's."""
    if environment is not None:
        spec = EnvironmentSpec(environment, changes)
        observation, actions = spec.interface()
    elif dataset is not None:
        spec, observation, actions = dataset.info.environment, dataset.info.observation, dataset.info.actions
    else:
        raise BadInput(f"policy={SCRATCH}: name its environment (environment=CartPole-v1), or demonstrations")
    generator = torch.Generator().manual_seed(settings.seed)
    network = settings.chosen_algorithm.new_network(settings.algorithm, observation, actions, generator)
    return Policy(network, spec, observation)


def _as_the_policy_sees(dataset: Dataset, policy: Policy) -> Dataset:
    """The games at the policy's decision rate and with its observations, if they can be replayed so."""
    task, source = policy.environment, dataset.info.environment
    if task.id != source.id or not source.capabilities.keys or dataset.shares_control:
        return dataset
    target, current = ({name: one.all_settings[name] for name in RELABELLED} for one in (task, source))
    if target == current or not can_be_relabelled(dataset) or target["observation"] == PIXELS:
        return dataset
    return with_task(dataset, **target)


def _require_same(policy: Policy, name: str, dataset: Dataset) -> None:
    """Raise BadInput unless the demonstrations match the policy's task. Rewards and time limits may differ."""
    own = DatasetInfo(without_reward_settings(policy.environment), policy.observation, policy.actions)
    theirs = replace(dataset.info, environment=without_reward_settings(dataset.info.environment))
    if differences := theirs.differences(own):
        raise BadInput(
            f"{dataset.folder}: demonstrations of another task than the policy's ({name}): {'; '.join(differences)}; "
            "give a policy made from these demonstrations, or demonstrations of its task"
        )


def require_resumable(settings: FinetuneSettings, out: Path) -> tuple[Path, dict[str, Any]] | None:
    """The newest checkpoint of the run in `out`, and its state; None for a new run, or one killed before its first
    checkpoint.

    Raises BadInput if a run exists without resume=true, if there is none to resume, or if its settings differ.
    """
    paths, has_log = checkpoints(out / "checkpoints"), (out / METRICS).exists()
    newest = checkpoint_to_resume(out, settings.resume, paths, has_log, out / POLICY)
    if newest is None:
        return None
    with naming(out / CONFIGURATION):
        before, now = to_plain(read(FinetuneSettings, read_settings(out / CONFIGURATION))), to_plain(settings)
    for one in (before, now):
        one["distributed"].pop("address", None)  # of a cluster that was started again
    require_same_settings(before, now, out, MAY_DIFFER)
    was, phases = ([*one["schedule"]["phases"]] for one in (before, now))
    require_same(was, phases, "schedule.phases", out)
    return newest, load_checkpoint(newest)
