"""Games that start from saved states of earlier games or of demonstrations, for practice far from the start."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from ...envs.qwop.vector import QWOPVectorEnv
from ...envs.spec import Observations
from ...envs.vector import Infos
from .phase import RestartSettings
from .saved_states import PassedStates, SavedState, StatesBeforeFalls, StateSource


class Restarts(VectorWrapper):
    """Games of QWOP, some of which start from a saved state.

    With `demonstrated`, all of its states are available from the beginning. Otherwise states are saved from earlier
    games of this vector environment that began at the real start. Newer states replace older ones, so they track the
    current policy. `infos["restarted"]`, bool [n], is true for steps of games that started from a saved state; their
    time and metres include those of the earlier game. With `settings.seconds` these games are truncated.
    """

    def __init__(
        self, env: QWOPVectorEnv, settings: RestartSettings, demonstrated: Sequence[SavedState] | None = None
    ) -> None:
        super().__init__(env)
        self._qwop = env
        self._settings = settings
        self._generator = np.random.default_rng(0)
        self._source: StateSource
        if demonstrated is not None:
            self._source = StateSource(demonstrated)
        elif settings.source == "falls":
            self._source = StatesBeforeFalls(env, settings.metres, self._generator)
        else:
            self._source = PassedStates(settings.metres, self._generator)
        self._restarted = np.zeros(env.num_envs, dtype=np.bool_)
        self._steps = np.zeros(env.num_envs, dtype=np.int64)
        seconds = settings.seconds
        self._most = None if seconds is None else max(round(seconds * env.task.decisions_per_second), 1)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        if isinstance(seed, int):
            self._generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state
        self._source.clear()
        self._restarted[:] = False
        self._steps[:] = 0
        return self._qwop.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Infos]:
        observations, rewards, terminated, truncated, infos = self._qwop.step(actions)
        infos["restarted"] = self._restarted.copy()
        done = terminated | truncated
        self._source.watch(self._qwop, infos, done, ~self._restarted)
        self._steps += 1
        if self._most is not None:
            over = self._restarted & ~done & (self._steps >= self._most)
            if over.any():
                observations = self._end(over, observations, infos)
                truncated, done = truncated | over, done | over
        for row in np.flatnonzero(done):
            candidates = self._source.states
            self._steps[row] = 0
            self._restarted[row] = bool(candidates) and self._generator.random() < self._settings.share
            if self._restarted[row]:
                chosen = candidates[int(self._generator.integers(len(candidates)))]
                observations[row] = self._qwop.put_game(int(row), chosen.game)
        return observations, rewards, terminated, truncated, infos

    def get_state(self) -> dict[str, object]:
        """State for `set_state`, without the states of demonstrations, which the constructor sets."""
        return {
            "env": self._qwop.get_state(),
            "source": self._source.get_state(),
            "restarted": self._restarted.copy(),
            "steps": self._steps.copy(),
            "generator": self._generator.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> NDArray[np.float32]:
        self._source.set_state(state["source"], self._qwop)
        self._restarted[:] = state["restarted"]
        self._steps[:] = state["steps"]
        self._generator.bit_generator.state = state["generator"]
        return self._qwop.set_state(state["env"], [one.game for one in self._source.states])

    def _end(self, over: NDArray[np.bool_], observations: Observations, infos: Infos) -> NDArray[Any]:
        """End the games in `over` that are still running after the current step; return all next observations.

        Fills the infos as `QWOPVectorEnv.step` does for a finished game.
        """
        running = {name: value for name, value in infos.items() if not name.startswith("_")}
        final = infos.get("final_obs", observations)
        rows = over.reshape(-1, *[1] * (observations.ndim - 1))
        infos["final_info"] = infos.get("final_info", running)
        infos["final_obs"] = np.where(rows, observations, final)
        infos["_final_obs"] = infos["_final_info"] = over | infos.get("_final_obs", False)
        observations, _ = self._qwop.reset(options={"reset_mask": over})
        return observations
