"""A race as a PettingZoo parallel environment (extra `pettingzoo`)."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from ..actions import Space
from ..names import OUTCOMES
from ..qwop.vector import RENDER_MODES
from ..vector import Infos
from .vector import QWOPRaceVectorEnv

Observations = dict[str, NDArray[np.float32]]
Told = dict[str, dict[str, Any]]


class QWOPRaceParallelEnv(ParallelEnv):  # type: ignore[misc]  # PettingZoo has no types
    """One race of `QWOPRace-v1`: the agents `runner_0`, `runner_1`, … decide at the same time.

    Settings, observations, actions, rewards and ends are those of `QWOPRaceVectorEnv`: all agents leave in the step
    that ends the race. Infos are those of `QWOP-v1`, with the outcome as a word, `events` and `result`.
    """

    metadata = {"name": "QWOPRace-v1", "render_modes": RENDER_MODES, "is_parallelizable": True}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, **task: Any) -> None:
        runners = QWOPRaceVectorEnv.capabilities(**task).group
        self._race = QWOPRaceVectorEnv(runners, render_mode, AutoresetMode.DISABLED, **task)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": self._race.task.decisions_per_second}
        self.possible_agents = [f"runner_{number}" for number in range(runners)]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Space:
        return self._race.single_observation_space

    def action_space(self, agent: str) -> Space:
        return self._race.single_action_space

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Told]:
        """Begin a race; `options={"idle_frames": k}` begins it with k frames without a key."""
        observations, infos = self._race.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        return self._of_agents(observations), self._told(infos)

    def step(
        self, actions: dict[str, int]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Told]:
        """Play a decision of every runner. Raises ResetNeeded after the end of the race."""
        if not self.agents:
            raise gymnasium.error.ResetNeeded("no race is under way: call reset before the next step")
        chosen = np.array([int(actions[agent]) for agent in self.agents])
        observations, rewards, terminated, truncated, infos = self._race.step(chosen)
        told = (
            self._of_agents(observations),
            {agent: float(rewards[row]) for row, agent in enumerate(self.agents)},
            {agent: bool(terminated[row]) for row, agent in enumerate(self.agents)},
            {agent: bool(truncated[row]) for row, agent in enumerate(self.agents)},
            self._told(infos),
        )
        if (terminated | truncated).any():
            self.agents = []
        return told

    def render(self) -> NDArray[np.uint8] | None:
        """Return a picture, uint8 [height, width, 3]: the runners side by side."""
        pictures = self._race.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        self._race.close()

    def _of_agents(self, observations: NDArray[np.float32]) -> Observations:
        return {agent: observations[row] for row, agent in enumerate(self.agents)}

    def _told(self, infos: Infos) -> Told:
        told: Told = {}
        for row, agent in enumerate(self.agents):
            told[agent] = {name: values[row] for name, values in infos.items() if not name.startswith("_")}
            told[agent]["outcome"] = OUTCOMES[int(told[agent]["outcome"])]
        return told
