"""The environments of a schedule, whose phases may change settings of the first one, or have a teacher."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.from_keys import relabelled
from ...datasets.reader import Dataset
from ...datasets.schema import Episode
from ...envs.qwop.vector import QWOPVectorEnv
from ...envs.spec import EnvironmentSpec, Observations
from ...envs.vector import VectorEnv, make_vector
from ...policies.policy import Policy
from .phase import Phase
from .restarts import Restarts, demonstrated_states


def phase_environments(first: EnvironmentSpec, phases: Sequence[Phase]) -> tuple[EnvironmentSpec, ...]:
    """The environment of every phase: `first` with the settings changed by this phase and those before it."""
    specs = []
    for phase in phases:
        first = EnvironmentSpec(first.id, {**first.settings, **phase.environment})
        specs.append(first)
    return tuple(specs)


REWARD_SETTINGS = ("reward", "shaping", "fall_penalty", "push_penalty", "time_limit")
"""Environment settings that affect neither observations nor the effect of actions."""


def require_same_dynamics(phases: Sequence[Phase], first: EnvironmentSpec, dataset: Dataset) -> None:
    """Raise BadInput unless phases that use or imitate demonstrations have the same observations and actions.

    Rewards and time limits may differ.
    """
    for phase, spec in zip(phases, phase_environments(first, phases), strict=True):
        if (phase.uses_demonstrations or phase.imitates) and without_reward_settings(spec) != without_reward_settings(
            dataset.info.environment
        ):
            raise BadInput(
                f"schedule.phases.{phase.name}: uses demonstrations of {dataset.info.environment} in {spec}; only "
                f"{', '.join(REWARD_SETTINGS)} may differ. Leave out demonstrations, imitation or environment"
            )


def relabelled_demonstrations(phases: Sequence[Phase], first: EnvironmentSpec, dataset: Dataset) -> list[Episode]:
    """Relabel the demonstrations with the rewards of the phases that use them.

    Raises BadInput if those phases differ in observations, actions or rewards, and for rewards that cannot be
    computed because episodes have no keys.
    """
    require_same_dynamics(phases, first, dataset)
    specs = phase_environments(first, phases)
    rewards = {_rewards(spec): spec for phase, spec in zip(phases, specs, strict=True) if phase.uses_demonstrations}
    if len(rewards) > 1:
        raise BadInput(
            f"schedule.phases: demonstrations under different rewards, {' and '.join(map(str, rewards.values()))}; "
            "expected one for all phases that use them"
        )
    ((target, spec),) = rewards.items()
    if target == _rewards(dataset.info.environment):
        return list(dataset)
    info = replace(dataset.info, environment=spec)
    # The probabilities are kept, so the smoothing setting does not matter.
    return [relabelled(episode, info, 0.05, same_decisions=True) for episode in dataset]


def rewarded_alike(phases: Sequence[Phase], first: EnvironmentSpec) -> tuple[bool, ...]:
    """True for each phase whose observations, actions and rewards are those of the phases with demonstrations."""
    specs = phase_environments(first, phases)
    kinds = [(without_reward_settings(spec), _rewards(spec)) for spec in specs]
    demonstration_kinds = [kind for phase, kind in zip(phases, kinds, strict=True) if phase.uses_demonstrations]
    return tuple(kind in demonstration_kinds for kind in kinds)


def without_reward_settings(spec: EnvironmentSpec) -> EnvironmentSpec:
    """The environment without `REWARD_SETTINGS`: equal if the same play gives the same observations."""
    return EnvironmentSpec(
        spec.id, {name: value for name, value in spec.all_settings.items() if name not in REWARD_SETTINGS}
    )


def _rewards(spec: EnvironmentSpec) -> tuple[object, ...]:
    """Settings that determine an environment's rewards: the reward and, if it has any, its weights."""
    settings = spec.all_settings
    return tuple(settings.get(name) for name in ("reward", "shaping", "fall_penalty", "push_penalty"))


class PhaseEnvironments:
    """Makes the vector environment of every phase.

    policy: the initial one; its environment is that of the first phase. demonstrations: for restarts from their states.
    teacher: for phases with kickstarting, with its name.

    Raises BadInput, before anything is played, for a phase whose observations or actions differ from the policy's, and
    for one with a setting that the policy's file could not hold.
    """

    def __init__(
        self,
        phases: Sequence[Phase],
        policy: Policy,
        num_envs: int,
        max_idle_frames: int,
        demonstrations: Dataset | None = None,
        teacher: tuple[str, Policy] | None = None,
    ) -> None:
        self.specs = phase_environments(policy.environment, phases)
        self._restarts = [phase.restarts for phase in phases]
        self._demonstrations = demonstrations
        self.teachers = [
            Teacher(teacher[1], spec, teacher[0]) if teacher is not None and phase.kickstarts else None
            for phase, spec in zip(phases, self.specs, strict=True)
        ]
        """The teacher of each phase with kickstarting."""
        self.rates = tuple(spec.capabilities.decisions_per_second for spec in self.specs)
        """Decisions a second of each phase; None where an environment has no clock."""
        self._num_envs = num_envs
        self._max_idle_frames = max_idle_frames
        for spec in {str(spec): spec for spec in self.specs}.values():
            _require_fit(spec, policy)
        for phase, spec in zip(phases, self.specs, strict=True):
            if phase.restarts and not spec.capabilities.saved_games:
                raise BadInput(f"restarts in {spec}: only games of QWOP-v1 can be saved and begun from")

    def make(self, phase: int) -> VectorEnv:
        """The vector environment of this phase."""
        able = self.specs[phase].capabilities
        more: dict[str, Any] = {"max_idle_frames": self._max_idle_frames} if able.idle_start else {}
        if able.training:
            more["training"] = True
        env = make_vector(self.specs[phase], self._num_envs, **more)
        restarts = self._restarts[phase]
        if restarts is None:
            return env
        assert isinstance(env, QWOPVectorEnv)
        if restarts.source != "demonstrations":
            return Restarts(env, restarts)
        if self._demonstrations is None:
            raise BadInput("restarts.source=demonstrations: the run has none; name them (demonstrations=data/kurodo)")
        return Restarts(env, restarts, demonstrated_states(self._demonstrations, self.specs[phase], restarts.metres))

    def share_environment(self, i: int, j: int) -> bool:
        """True if both phases are played in the same environment."""
        parts = (self.specs, self._restarts, [teacher is None for teacher in self.teachers])
        return all(part[i] == part[j] for part in parts)


def _require_fit(spec: EnvironmentSpec, policy: Policy) -> None:
    spec.require_readable()
    interface = spec.interface()
    if interface != (policy.observation, policy.actions):
        why = "a phase cannot change the observations"
        if spec == policy.environment:
            why = "it was changed after the policy was made, which takes a new policy, or changes each time it is made"
        raise BadInput(
            f"{spec}: observations {interface[0]} and {interface[1]} actions, but the policy has {policy.observation} "
            f"and {policy.actions}; {why}"
        )


class Teacher:
    """A policy that provides π_T(·|s) to a pupil in an environment. In QWOP it may use features even if the pupil sees
    pixels. Raises BadInput, with the policy's `name`, for one with a memory, and for one that cannot play there."""

    def __init__(self, policy: Policy, environment: EnvironmentSpec, name: str) -> None:
        self._network = policy.network
        self._columns: NDArray[np.int64] | None = None
        """Features of an observation that the policy uses, int64 [m]; None for all."""
        if policy.network.initial_state(1):
            raise BadInput(
                f"{name}: a policy with a memory ({policy.network.architecture}), which cannot teach; give one without"
            )
        theirs, features = policy.environment, environment.capabilities.feature_names
        if theirs.id == environment.id and features is not None:
            names = theirs.capabilities.observation_names
            rate, pupil_rate = (one.capabilities.decisions_per_second for one in (theirs, environment))
            if rate != pupil_rate:
                raise BadInput(
                    f"{name}: decides {rate:g} times a second, but its pupil {pupil_rate:g} times; give the pupil's "
                    "environment the teacher's frames_per_step"
                )
            lags = {one.all_settings["observation_lag"] for one in (theirs, environment)}
            if names is not None and set(names) <= set(features) and len(lags) == 1:
                self._columns = np.array([features.index(one) for one in names])
                return
        elif theirs.id == environment.id and (policy.observation, policy.actions) == environment.interface():
            return
        raise BadInput(
            f"{name}: a policy of {theirs} with observations {policy.observation}, which cannot teach in {environment}"
        )

    def __call__(self, games: VectorEnv, observations: Observations) -> NDArray[np.float32]:
        """π_T(·|s), float32 [n, A], in the current states of these games, whose observations are [n, *shape]."""
        games = games.unwrapped
        rows = games.seen_numbers if isinstance(games, QWOPVectorEnv) else observations
        if self._columns is not None:
            rows = np.ascontiguousarray(rows[:, self._columns])
        with torch.inference_mode():
            logits = self._network.logits(torch.from_numpy(rows))
            probabilities: NDArray[np.float32] = torch.softmax(logits, dim=-1).numpy()
        return probabilities
