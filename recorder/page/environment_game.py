"""A game of any Gymnasium environment on the page, which shows the environment's own pictures."""

import io
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ...common.checks import quoted
from ...common.shared_settings import LARGEST_SEED
from ...datasets.behaviour_probabilities import smoothed, smoothed_name
from ...datasets.schema import DatasetInfo, Episode
from . import messages
from .environment_keys import KeyMap


class EnvironmentGame:
    """Plays a game of an environment from a reset with a seed of its own; see `PageGame`.

    A frame is a decision. Without a matching key or a default action it is skipped: the game waits for the player. env
    renders `rgb_array` and is played by one game at a time. Where it fails, or gives what an episode cannot hold (a
    number that is not finite), the game ends as truncated with the decision before, and `report` is called with the
    reason.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        keys: KeyMap,
        info: DatasetInfo,
        player: str,
        epsilon: float,
        report: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._report, self._problem = report, ""
        self._env, self._keys, self._info, self._player, self._epsilon = env, keys, info, player, epsilon
        self._seed = secrets.randbelow(LARGEST_SEED + 1)
        observation, _ = env.reset(seed=self._seed)
        self._observations = [storable(observation, info)]
        self._actions: list[int] = []
        self._rewards: list[float] = []
        self._terminated = self._truncated = self._pressed = False
        self._frames = 0

    @property
    def over(self) -> bool:
        return self._terminated or self._truncated

    @property
    def played(self) -> bool:
        return self._pressed and bool(self._actions)

    def first(self, number: int) -> bytes:
        return messages.picture(number, 0, 0.0, self._picture())

    def advance(self, number: int, keys: Sequence[int]) -> bytes:
        before = len(self._actions)
        for held in keys:
            if self.over:
                break
            self._frames += 1
            self._step(held)
        seen = self._picture() if len(self._actions) > before else b""
        return messages.picture(number, self._frames, sum(self._rewards), seen)

    def result(self) -> dict[str, Any]:
        found = {"outcome": self._outcome, "total": sum(self._rewards), "steps": len(self._actions)}
        return {**found, "problem": self._problem} if self._problem else found

    def episode(self) -> Episode:
        actions = np.array(self._actions, dtype=np.int16)
        return Episode(
            observations=np.stack(self._observations),
            actions=actions,
            behaviour_probabilities=smoothed(actions, self._info.actions, self._epsilon),
            rewards=np.array(self._rewards, dtype=np.float32),
            times=np.arange(len(actions) + 1, dtype=np.float64),
            keys=None,
            terminated=self._terminated,
            truncated=self._truncated or not self._terminated,
            outcome=self._outcome,
            player=self._player,
            source="page",
            probabilities_from=smoothed_name(self._epsilon),
            seed=self._seed,
        )

    @property
    def _outcome(self) -> str:
        return "terminated" if self._terminated else "truncated"

    def _step(self, held: int) -> None:
        self._pressed = self._pressed or held > 0
        action = self._keys.action(held)
        if action is None:
            return
        try:
            observation, reward, terminated, truncated, _ = self._env.step(action)
            row, earned = storable(observation, self._info), finite_reward(reward)
        except Exception as error:  # of any environment
            self._truncated = True
            self._problem = f"{self._info.environment.id} failed ({quoted(error, 100) or type(error).__name__})"
            self._report(f"{self._problem}; the game is kept up to the {len(self._actions)} decisions before")
            return
        self._terminated, self._truncated = bool(terminated), bool(truncated)
        self._observations.append(row)
        self._actions.append(action)
        self._rewards.append(earned)

    def _picture(self) -> bytes:
        """The environment's picture as a PNG; the fastest compression, as the page is on this machine."""
        file = io.BytesIO()
        Image.fromarray(np.asarray(self._env.render())).save(file, "PNG", compress_level=1)
        return file.getvalue()


def storable(observation: Any, info: DatasetInfo) -> NDArray[Any]:
    """The observation as an episode holds it; ValueError if it cannot."""
    row = info.observation.array(observation)
    if row.shape != info.observation.shape:
        raise ValueError(f"its observation has shape {list(row.shape)}, expected {list(info.observation.shape)}")
    if row.dtype.kind == "f" and not np.isfinite(row).all():
        raise ValueError("its observation holds a number that is not finite")
    return row


def finite_reward(reward: Any) -> float:
    found = np.asarray(reward, dtype=np.float32)
    if found.size != 1 or not np.isfinite(found).all():
        raise ValueError(f"its reward is {quoted(reward, 40)}, expected a finite number")
    return float(found.reshape(()))
