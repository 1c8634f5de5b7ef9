"""Many games of any environment at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..common.errors import BadInput
from .actions import Space, whole
from .spec import EnvironmentSpec

Infos = dict[str, Any]
Step = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]
VectorEnv = gymnasium.vector.VectorEnv[Any, Any, Any]


class OwnVectorEnv(gymnasium.vector.VectorEnv[NDArray[Any], NDArray[np.int64], NDArray[Any]]):
    """Base of the project's own vector environments: a game that ends begins again in the same step (`SameStep`).

    `step` then returns the first observation of the next game. When any game ended, `infos` has `final_obs`
    ([n, *shape]) and `final_info` (a dict of arrays [n]), valid where `_final_obs` is true. Every other entry is of the
    step just played, in games that ended too.

    `reset(seed=s)` gives environment i the seed s + i, a list gives each its own. `reset(options={"reset_mask": m})`
    resets the environments where m, bool [n], is true, and leaves the others alone.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  (Gymnasium's form)

    def _declare(
        self,
        num_envs: int,
        render_mode: str | None,
        autoreset_mode: str | AutoresetMode,
        decisions_per_second: float,
        observations: Space,
        actions: int,
    ) -> None:
        """Set Gymnasium's attributes for `num_envs` games with these observations and this number of actions.

        BadInput for `num_envs` below 1, a render mode that is not in the metadata, and other modes than "SameStep".
        """
        require_count("num_envs", num_envs)
        require_render_mode(render_mode, self.metadata)
        if autoreset_mode not in (AutoresetMode.SAME_STEP, AutoresetMode.SAME_STEP.value):
            raise BadInput(f"autoreset_mode={autoreset_mode!r}: expected SameStep, in which a game begins again")
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = {**self.metadata, "render_fps": decisions_per_second}
        self.single_observation_space, self.single_action_space = observations, gymnasium.spaces.Discrete(actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._begun_ever = np.zeros(num_envs, dtype=np.bool_)
        self._commands = [bytearray() for _ in range(num_envs)]

    def _to_reset(self, seed: Any, options: Any) -> tuple[NDArray[np.bool_], list[int | None]]:
        """Return the games to reset, bool [n], and the seed of each; ResetNeeded if that leaves none to observe."""
        self._require_open()
        mask, seeds = reset_mask_of(options, self.num_envs), seeds_of(seed, self.num_envs)
        if not (self._begun_ever | mask).any():
            raise gymnasium.error.ResetNeeded("no game has begun: reset one at least before you leave all as they are")
        return mask, seeds

    def _keep(self, decisions: NDArray[Any]) -> None:
        """Keep a decision of each game, [n], a byte each: from these it is played again."""
        for commands, decision in zip(self._commands, decisions.tolist(), strict=True):
            commands.append(decision)

    def _forget(self, mask: NDArray[np.bool_]) -> None:
        """Forget the decisions of the games where `mask`, bool [n], is true: others have begun in their places."""
        for row in np.flatnonzero(mask):
            self._commands[row].clear()

    def _require_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the games are closed: make new ones")

    def _require_all_begun(self) -> None:
        self._require_open()
        if not self._begun_ever.all():
            missing = np.flatnonzero(~self._begun_ever).tolist()
            raise gymnasium.error.ResetNeeded(f"no game has begun in {missing!s:.60}: call reset before the first step")


def make_vector(spec: EnvironmentSpec, num_envs: int, **more: Any) -> VectorEnv:
    """Make `num_envs` games of one environment; one that ends begins again in the same step.

    `infos["final_obs"]` and `infos["final_info"]` then hold the end of the games where `infos["_final_obs"]` is true;
    see `values_of_step` for the other entries. `more` are settings that do not change the task, as in
    `EnvironmentSpec.make`. QWOP runs as its compiled batch, Atari's games in ale-py's threads, any other
    environment in Gymnasium's plain loop. Raises BadInput for an environment that cannot be made, and for `num_envs`
    below 1.
    """
    require_count("num_envs", num_envs)
    if spec.has_games:
        return spec.several(num_envs, **more, autoreset_mode=AutoresetMode.SAME_STEP)  # type: ignore[no-any-return]
    with spec.refusing():  # instances whose spaces differ
        return SyncVectorEnv([lambda: spec.make(**more)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)


def in_step(commands: Sequence[NDArray[Any]]) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[Any]]]:
    """Order in which to play games again side by side, so that all make their last decision together.

    For every step: the games that begin before it, those that make a decision in it, and the decisions, [n] each. In
    the last step none is made.
    """
    lengths = np.array([len(one) for one in commands])
    longest = int(lengths.max())
    padded = np.array([[*[0] * (longest - len(one)), *one] for one in commands], dtype=np.int64)
    begins, nothing = longest - lengths, np.zeros((len(lengths), 1), dtype=np.int64)
    steps = enumerate(np.hstack([padded, nothing]).T)
    return [(begins == step, (begins <= step) & (step < longest), decisions) for step, decisions in steps]


def masked(infos: Infos, mask: NDArray[np.bool_]) -> Infos:
    """Return the infos with Gymnasium's mask for each."""
    return {**infos, **{f"_{name}": mask for name in infos}}


def infos_of_step(infos: Infos, final: NDArray[Any], ended: NDArray[np.bool_]) -> Infos:
    """Return the infos with masks and, if games have `ended`, bool [n], those that hold their ends: `final`, the last
    observations, [n, *shape], and the infos again."""
    every = masked(infos, np.ones(len(ended), dtype=np.bool_))
    ends = {"final_obs": final, "_final_obs": ended, "final_info": masked(infos, ended), "_final_info": ended}
    return every | ends if ended.any() else every


def values_of_step(infos: Infos, name: str) -> NDArray[Any] | None:
    """Return an entry of the infos of the step just played in every game, [n]; None if it is missing.

    If an environment began again in the same step, Gymnasium's loop has moved the info of its last step into
    `final_info`, and the entry itself is the reset's.
    """
    final = infos.get("final_info", {})
    if name not in final:
        return None if name not in infos else np.asarray(infos[name])
    last = np.asarray(final[name])
    return np.where(final[f"_{name}"], last, infos[name]) if name in infos else last


def seeds_of(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """Return the seed of every environment: `seed + i` for one number (Gymnasium's rule), or one given for each."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        seeds: list[Any] = [int(seed) + row for row in range(num_envs)]
    elif isinstance(seed, Sequence | np.ndarray) and len(seed) == num_envs:
        seeds = [one if one is None else whole(one) for one in seed]
    else:
        raise ValueError(f"seed={seed!r:.60}: expected a whole number, or one (or None) for each of {num_envs}")
    if any(one is not None and one < 0 for one in seeds):
        raise ValueError(f"seed={seed!r:.60}: expected whole numbers, at least 0")
    return seeds


def require_count(name: str, value: Any, least: int = 1) -> None:
    """Raise BadInput for a number of things that is not a whole number from `least`."""
    if whole(value) < least:
        raise BadInput(f"{name}={value!r:.60}: expected a whole number, at least {least}")


def require_render_mode(render_mode: str | None, metadata: Mapping[str, Any]) -> None:
    """Raise BadInput for a render mode that the environment's metadata do not have."""
    if render_mode not in (None, *metadata["render_modes"]):
        raise BadInput(f"render_mode={render_mode!r}: expected one of {metadata['render_modes']}, or None")


def reset_mask_of(options: dict[str, Any] | None, num_envs: int) -> NDArray[np.bool_]:
    """Return bool [n]: the environments to reset (`options={"reset_mask": ...}`, as in Gymnasium), or all."""
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options={options!r:.60}: expected a dictionary, or None")
    mask = None if options is None else options.get("reset_mask")
    if mask is None:
        return np.ones(num_envs, dtype=np.bool_)
    flags = np.asarray(mask)
    if flags.shape != (num_envs,) or flags.dtype != np.bool_:
        raise ValueError(f"reset_mask is {flags.dtype} {list(flags.shape)}, expected bool [{num_envs}]")
    return flags
