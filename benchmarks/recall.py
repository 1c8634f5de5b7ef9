"""The recall task of benchmarks/recall.yaml: eight symbols one after another; forty decisions later each is asked for.

qwop-finetune imports=[benchmarks.recall] environment=Recall-v0 policy=scratch algorithm=ftw schedule=live-only
"""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

PLACES, KINDS, WAIT = 8, 2, 40


class Recall(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Observations [11]: the symbol, one-hot [2]; its place or the one that is asked for, one-hot [8]; whether a
    symbol is asked for. Both are zero while the agent waits. The reward is 1 for each right answer: 8 in a game, 4 by
    chance."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (KINDS + PLACES + 1,), np.float32)
    action_space = gymnasium.spaces.Discrete(KINDS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._symbols, self._time = self.np_random.integers(KINDS, size=PLACES), 0
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        place = self._time - PLACES - WAIT
        reward = float(place >= 0 and action == self._symbols[place])
        self._time += 1
        return self._observation(), reward, place == PLACES - 1, False, {}

    def _observation(self) -> NDArray[np.float32]:
        observation = np.zeros(KINDS + PLACES + 1, np.float32)
        place = self._time - PLACES - WAIT
        if self._time < PLACES:
            observation[[self._symbols[self._time], KINDS + self._time]] = 1
        elif 0 <= place < PLACES:
            observation[[KINDS + place, -1]] = 1
        return observation


gymnasium.register("Recall-v0", f"{__name__}:Recall")
