"""Teacher probabilities during live play, for kickstarting (Schmitt et al. 2018)."""

from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...envs.qwop.vector import QWOPVectorEnv
from ...envs.spec import EnvironmentSpec, Observations
from ...envs.vector import VectorEnv
from ...policies.policy import Policy


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

    def probabilities(self, observations: Observations) -> NDArray[np.float32]:
        """π_T(·|s), float32 [n, A], for the observations [n, *shape]."""
        rows = observations if self._columns is None else np.ascontiguousarray(observations[:, self._columns])
        with torch.inference_mode():
            probabilities: NDArray[np.float32] = torch.softmax(
                self._network.logits(torch.from_numpy(rows)), dim=-1
            ).numpy()
        return probabilities


class TeacherWrapper(VectorWrapper):
    """Vector-environment wrapper that also queries a teacher. Saving and phase progress pass through."""

    def __init__(self, env: VectorEnv, teacher: Teacher) -> None:
        super().__init__(env)
        self._teacher = teacher

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def teacher_probabilities(self, observations: Observations) -> NDArray[np.float32]:
        """π_T(·|s), float32 [n, A], in the current states; observations, [n, *shape], are those of the games."""
        games = self.unwrapped
        return self._teacher.probabilities(games.seen_numbers if isinstance(games, QWOPVectorEnv) else observations)
