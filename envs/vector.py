"""Many games at once, whatever the environment, all resetting in the same step."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from ..common.errors import BadInput
from .registration import registered_id
from .spec import EnvironmentSpec

Infos = dict[str, Any]
Step = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


def make_vector(spec: EnvironmentSpec, num_envs: int, **more: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """`num_envs` games of one environment, resetting in the same step (see `SameStepVectorEnv` for the infos).

    `more` are settings that do not change the task, as in `EnvironmentSpec.make`. An environment that registers a
    vector of its own which resets in the same step (QWOP's compiled batch) is used as that; any other runs in a loop.
    """
    if num_envs < 1:
        raise BadInput(f"num_envs={num_envs}: expected at least 1")
    if _registers_same_step_vector(spec):
        with spec.refusing():
            return gymnasium.make_vec(registered_id(spec.id), num_envs=num_envs, **{**spec.settings, **more})
    return SameStepVectorEnv([spec.make(**more) for _ in range(num_envs)])


def same_step_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """A vector environment's metadata, saying how it resets where this Gymnasium has a word for it (1.1 and later)."""
    modes = getattr(gymnasium.vector, "AutoresetMode", None)
    return {**metadata, "same_step_reset": True, **({"autoreset_mode": modes.SAME_STEP} if modes else {})}


def seeds_of(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """The seed of every environment: `seed + i` for one number (Gymnasium's rule), or one given for each."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer):
        return [int(seed) + index for index in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"{len(seed)} seeds for {num_envs} environments")
    return list(seed)


def reset_mask_of(options: dict[str, Any] | None, num_envs: int) -> NDArray[np.bool_]:
    """bool [n]: which environments `reset` is asked for (`options={"reset_mask": ...}`, as in Gymnasium); else all."""
    mask = None if options is None else options.get("reset_mask")
    if mask is None:
        return np.ones(num_envs, dtype=np.bool_)
    checked = np.asarray(mask)
    if checked.shape != (num_envs,) or checked.dtype != np.bool_:
        raise ValueError(f"reset_mask is {checked.dtype} {list(checked.shape)}, expected bool [{num_envs}]")
    return checked


class SameStepVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """A plain loop over environments; one that ends is reset in the same step.

    Gymnasium 1.0's own vector environments reset on the *next* step, which puts a meaningless transition between two
    episodes. Here `step` returns, for an environment that ended, the first observation of its next episode, and

    - `infos["final_obs"]`: [n, *shape], the observation that ended the episode; valid where `infos["_final_obs"]`
      (bool [n]) is true;
    - `infos["final_info"]`: dict of arrays [n], the last step's info; valid where `infos["_final_info"]` is true
      (both are there in every step, whether an episode ended or not);
    - every other entry of `infos`: an array [n] of the step just played, of every environment, ended ones too (each
      with Gymnasium's mask, the same name after an underscore).

    `reset(seed=s)` gives environment i the seed s + i; a list gives each its own. `reset(options={"reset_mask": m})`
    resets only the environments where m (bool [n]) is true, and leaves the others where they are.
    """

    def __init__(self, envs: Sequence[gymnasium.Env[Any, Any]]) -> None:
        self.envs = list(envs)
        self.num_envs = len(self.envs)
        first = self.envs[0]
        self.metadata = same_step_metadata(first.metadata)
        self.render_mode = first.render_mode
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._current: list[Any] = [None] * self.num_envs

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        mask = reset_mask_of(options, self.num_envs)
        passed_on = {name: value for name, value in (options or {}).items() if name != "reset_mask"} or None
        infos: Infos = {}
        for index, one_seed in enumerate(seeds_of(seed, self.num_envs)):
            if mask[index]:
                self._current[index], info = self.envs[index].reset(seed=one_seed, options=passed_on)
                infos = self._add_info(infos, info, index)
        return self._batch(self._current), infos

    def step(self, actions: Any) -> Step:
        rewards = np.zeros(self.num_envs)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        final: list[Any] = [None] * self.num_envs
        infos: Infos = {}
        final_infos: Infos = {}
        for index, action in enumerate(iterate(self.action_space, actions)):
            env = self.envs[index]
            observation, reward, terminated, truncated, info = env.step(action)
            rewards[index], terminations[index], truncations[index] = reward, terminated, truncated
            infos = self._add_info(infos, info, index)
            if terminated or truncated:
                final[index] = observation
                final_infos = self._add_info(final_infos, info, index)
                observation, _ = env.reset()
            self._current[index] = observation
        done = terminations | truncations
        filled = [self._current[index] if last is None else last for index, last in enumerate(final)]
        infos |= {"final_obs": self._batch(filled), "final_info": final_infos}
        infos |= {"_final_obs": done, "_final_info": done.copy()}
        return self._batch(self._current), rewards, terminations, truncations, infos

    def render(self) -> tuple[Any, ...]:
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        for env in self.envs:
            env.close()  # type: ignore[no-untyped-call]

    def _batch(self, observations: Sequence[Any]) -> Any:
        out = create_empty_array(self.single_observation_space, self.num_envs, fn=np.zeros)
        return concatenate(self.single_observation_space, observations, out)


def _registers_same_step_vector(spec: EnvironmentSpec) -> bool:
    """Whether Gymnasium knows a vector form of this environment that resets in the same step."""
    registered = gymnasium.envs.registration.registry.get(registered_id(spec.id))
    if registered is None or registered.vector_entry_point is None:
        return False
    entry_point = registered.vector_entry_point
    creator = gymnasium.envs.registration.load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    return bool(getattr(creator, "metadata", {}).get("same_step_reset", False))
