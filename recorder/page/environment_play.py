"""Play of a Gymnasium environment, kept row by row for an episode."""

import io
from typing import Any

import numpy as np
from PIL import Image

from ...common.errors import BadInput, quoted
from ...datasets.exchange.imported import ImportDefaults, imported_episode
from ...datasets.origin import NO_ORIGIN, Origin
from ...datasets.schema import DatasetInfo, Episode
from ...envs.actions import Env
from ..collector import facts_of_run

REPEATED = 50
"""Decisions that are played twice to see if games can go back."""


class EnvironmentPlay:
    """A game from a reset with this seed. env: one that `EnvironmentSpec.make` made, which gives nothing but what an
    episode can hold."""

    def __init__(self, env: Env, info: DatasetInfo, seed: int) -> None:
        self.env, self._info, self._seed = env, info, seed
        observation, start = self.env.reset(seed=self._seed)
        self._infos = [start]
        self.observations = [self._info.observation.array(observation)]
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self.terminated = self.truncated = False

    def again(self, steps: int) -> "EnvironmentPlay":
        """Play the first decisions once more, from the same seed. BadInput if the environment gives another game."""
        try:
            replay = EnvironmentPlay(self.env, self._info, self._seed)
            for action in self.actions[:steps]:
                replay.step(action)
        except Exception as error:  # of any environment
            why = f"{quoted(error, 200) or type(error).__name__}, so the game cannot go back"
            raise BadInput(f"{self._info.environment.id}: {why}") from None
        ended = self.over and steps == len(self.actions)
        same = all(np.array_equal(*both) for both in zip(replay.observations, self.observations, strict=False))
        if not same or replay.over != ended:
            raise BadInput(
                f"{self._info.environment.id}: the same seed and actions give another game, so it cannot go back"
            )
        return replay

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated

    @property
    def outcome(self) -> str:
        return "terminated" if self.terminated else "truncated"

    def step(self, action: int) -> None:
        """Play a decision. Whatever the environment raises passes."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._infos.append(info)
        self.observations.append(self._info.observation.array(observation))
        self.actions.append(action)
        self.rewards.append(float(np.float32(reward)))
        self.terminated, self.truncated = terminated, truncated

    def picture(self) -> bytes:
        """The environment's picture, grey or in colours, as a PNG; the fastest compression, as the page is on this
        machine."""
        picture, file = np.asarray(self.env.render()), io.BytesIO()
        Image.fromarray(picture[..., 0] if picture.shape[2:] == (1,) else picture).save(file, "PNG", compress_level=1)
        return file.getvalue()

    def result(self) -> dict[str, Any]:
        """The end of the game, as the page shows it."""
        return {"outcome": self.outcome, "total": sum(self.rewards), "steps": len(self.actions)}

    def episode(self, player: str, source: str, epsilon: float, origin: Origin = NO_ORIGIN) -> Episode:
        """The game as far as it was played, with the player's probabilities smoothed by ε; also from another thread."""
        steps = len(self.rewards)  # a further one may be half there
        actions = np.array(self.actions[:steps], dtype=np.int16)
        of_run = facts_of_run(actions, self._infos[: steps + 1]) if self._info.environment.capabilities.keys else {}
        return imported_episode(
            self._info, ImportDefaults(player, epsilon), np.stack(self.observations[: steps + 1]), actions,
            np.array(self.rewards[:steps]), terminated=self.terminated, source=source, origin=origin,
            **{"times": None, "seed": self._seed, **of_run},
        )  # fmt: skip


def repeats_games(env: Env, info: DatasetInfo) -> bool:
    """True if the same seed and actions give the same observations twice, so that its games can go back."""
    game = EnvironmentPlay(env, info, seed=1)
    for action in np.random.default_rng(0).integers(info.actions, size=REPEATED).tolist():
        game.step(action)
        if game.over:
            break
    try:
        game.again(len(game.actions))
    except BadInput:
        return False
    return True
