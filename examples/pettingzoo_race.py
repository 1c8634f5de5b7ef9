"""A race as a PettingZoo parallel environment.

    pip install 'qwop[pettingzoo]'
    python examples/pettingzoo_race.py

The agents `runner_0`, `runner_1`, … decide at the same time. The script lets them act at random.
"""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from qwop.envs.names import OUTCOMES
from qwop.envs.race.vector import QWOPRaceVectorEnv

Observations = dict[str, NDArray[np.float32]]
AgentInfos = dict[str, dict[str, Any]]


class Race(ParallelEnv):
    """One race of `QWOPRace-v1`, with its settings, observations, actions and rewards.

    All agents leave in the step that ends the race. Infos are those of `QWOP-v1`, with the outcome as a word, `events`
    and `result`.
    """

    metadata = {"name": "QWOPRace-v1", "render_modes": ["rgb_array"], "is_parallelizable": True}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, runners: int = 2, **task: Any) -> None:
        self._race = QWOPRaceVectorEnv(runners, render_mode, runners=runners, **task)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": self._race.task.decisions_per_second}
        self.possible_agents = [f"runner_{number}" for number in range(runners)]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._race.single_observation_space

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self._race.single_action_space

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, AgentInfos]:
        """Begin a race; `options={"idle_frames": k}` begins it with k frames without a key."""
        observations, infos = self._race.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        return dict(zip(self.agents, observations, strict=True)), self._infos(infos)

    def step(
        self, actions: dict[str, int]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], AgentInfos]:
        """Play a decision of every runner. Raises ResetNeeded after the end of the race."""
        if not self.agents:
            raise gymnasium.error.ResetNeeded("no race is under way: call reset before the next step")
        agents = self.agents
        batch, *columns, batch_infos = self._race.step(np.array([int(actions[agent]) for agent in agents]))
        observations = dict(zip(agents, batch_infos.pop("final_obs", batch), strict=True))
        rewards, terminated, truncated = (dict(zip(agents, column.tolist(), strict=True)) for column in columns)
        infos = self._infos(batch_infos)
        if any(terminated.values()) or any(truncated.values()):
            self.agents = []
        return observations, rewards, terminated, truncated, infos

    def render(self) -> NDArray[np.uint8] | None:
        """Return a picture, uint8 [height, width, 3]: the runners side by side."""
        pictures = self._race.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        self._race.close()

    def _infos(self, batch: dict[str, Any]) -> AgentInfos:
        infos: AgentInfos = {}
        for row, agent in enumerate(self.agents):
            infos[agent] = {
                name: values[row] for name, values in batch.items() if name[0] != "_" and name != "final_info"
            }
            infos[agent]["outcome"] = OUTCOMES[int(infos[agent]["outcome"])]
        return infos


def main() -> None:
    race = Race()
    _, infos = race.reset(seed=0)
    while race.agents:
        _, _, _, _, infos = race.step({agent: race.action_space(agent).sample() for agent in race.agents})
    for agent, info in infos.items():
        print(f"{agent}: {info['outcome']} at {info['distance']:.1f} m, result {info['result']:g}")


if __name__ == "__main__":
    main()
