"""Any Gymnasium environment as the stage of a coached game: a frame is a decision."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.behaviour_probabilities import smoothed, smoothed_name
from ...datasets.schema import DatasetInfo, Episode
from ..page.environment_game import finite_reward, storable
from ..page.environment_keys import KeyMap
from .stage import Decision, Facts

REPEATED = 50
"""Decisions that are played twice to see if games can go back."""


class EnvironmentStage:
    """See `Stage`. It goes back by playing again from the seed, which needs no environment that can be copied; one
    whose observations then differ cannot go back.

    keys: the actions of a person's keys; None: the bits of `held` are the action's number plus 1.
    """

    frames_per_step = 1

    def __init__(
        self, env: gymnasium.Env[Any, Any], keys: KeyMap | None, info: DatasetInfo, seed: int, fps: float
    ) -> None:
        self.env, self._keys, self._info, self._seed, self.fps = env, keys, info, seed, fps
        self._begin()

    def _begin(self) -> None:
        observation, _ = self.env.reset(seed=self._seed)
        self.observations = [storable(observation, self._info)]
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self._terminated = self._truncated = False

    @property
    def frame(self) -> int:
        return len(self.actions)

    @property
    def over(self) -> bool:
        return self._terminated or self._truncated

    def observe(self) -> NDArray[Any]:
        return self.observations[-1]

    def play(self, held: int, action: int | None) -> bool:
        if action is None:
            action = self._meant(held)
        if action is None:
            return False
        observation, reward, terminated, truncated, _ = self.env.step(action)
        row, earned = storable(observation, self._info), finite_reward(reward)
        self._terminated, self._truncated = bool(terminated), bool(truncated)
        self.observations.append(row)
        self.actions.append(action)
        self.rewards.append(earned)
        return True

    def _meant(self, held: int) -> int | None:
        if self._keys is None:
            return held - 1 if held else None
        return self._keys.action(held)

    def chosen(self, first: int) -> tuple[int, float]:
        return self.actions[first], sum(self.rewards[first:])

    def mark(self) -> Any:
        return len(self.actions)

    def go_back(self, mark: Any) -> None:
        actions, seen = self.actions[:mark], self.observations[: mark + 1]
        self._begin()
        for action in actions:
            self.play(0, action)
        if not np.array_equal(np.stack(self.observations), np.stack(seen)):
            raise BadInput(
                f"{self._info.environment.id}: the same seed and actions give another game, so it cannot go back"
            )

    def result(self) -> dict[str, Any]:
        return {"outcome": self._outcome, "total": sum(self.rewards), "steps": len(self.actions)}

    @property
    def _outcome(self) -> str:
        return "terminated" if self._terminated else "truncated"

    def episode(self, decisions: Sequence[Decision], facts: Facts) -> Episode:
        actions = np.array(self.actions, dtype=np.int16)
        return Episode(
            observations=np.stack(self.observations),
            actions=actions,
            behaviour_probabilities=smoothed(actions, self._info.actions, facts.epsilon),
            rewards=np.array(self.rewards, dtype=np.float32),
            times=np.arange(len(actions) + 1, dtype=np.float64),
            keys=None,
            terminated=self._terminated,
            truncated=self._truncated or not self._terminated,
            outcome=self._outcome,
            player=facts.player,
            source=facts.source,
            probabilities_from=smoothed_name(facts.epsilon),
            seed=self._seed,
            origin=facts.origin,
        )


def repeats_games(env: gymnasium.Env[Any, Any], actions: int) -> bool:
    """True if the same seed and actions give the same observations twice, so that its games can go back."""
    chosen = np.random.default_rng(0).integers(actions, size=REPEATED)
    games = []
    for _ in range(2):
        rows = [env.reset(seed=1)[0]]
        for action in chosen.tolist():
            observation, _, terminated, truncated, _ = env.step(action)
            rows.append(observation)
            if terminated or truncated:
                break
        games.append(rows)
    one, two = games
    return len(one) == len(two) and all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
