"""Games that start from saved states of earlier games, for more practice far from the start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from ...common.checks import show
from ...common.errors import BadInput
from ...common.settings import Settings, setting
from ...envs.qwop.vector import QWOPVectorEnv
from ...envs.vector import Infos

KEPT = 256
"""Capacity for saved states."""

KEEP_SHARE = 0.25
"""Probability, for each step in which some game is in the stretch, of saving one of these games."""


@dataclass(frozen=True)
class RestartSettings(Settings):
    """Starts of games from states that earlier games went through."""

    share: float = setting(help="Fraction of new games that start from a saved state.", above=0, below=1, example="0.5")
    metres: tuple[float, ...] = setting(
        help="Stretch of track that the saved states come from, in metres.",
        expected="the ends of the stretch in metres, the nearer first",
        example="[38,50]",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.metres) != 2 or not self.metres[0] < self.metres[1]:
            raise BadInput(
                f"metres={show(self.metres)}: expected the ends of the stretch in metres, the nearer first, such as "
                "[38,50]"
            )


class Restarts(VectorWrapper):
    """Games of QWOP, some of which start from a state that an earlier game of the same vector went through.

    Only states of games from the real start are saved, and newer ones replace older ones, so they follow the current
    policy. `infos["restarted"]`, bool [n], is true for steps of games that started from a saved state, whose time and
    metres are partly those of an earlier game.
    """

    def __init__(self, env: QWOPVectorEnv, settings: RestartSettings, seed: int = 0) -> None:
        super().__init__(env)
        self._qwop = env
        self._settings = settings
        self._generator = np.random.default_rng(seed)
        self._games: list[dict[str, Any]] = []
        self._restarted = np.zeros(env.num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        if isinstance(seed, int):
            self._generator = np.random.default_rng(seed)
        self._games = []
        self._restarted[:] = False
        return self._qwop.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Infos]:
        observations, rewards, terminated, truncated, infos = self._qwop.step(actions)
        done = terminated | truncated
        infos["restarted"] = self._restarted.copy()
        self._remember(infos["distance"], ~done & ~self._restarted)
        for row in np.flatnonzero(done):
            self._restarted[row] = bool(self._games) and self._generator.random() < self._settings.share
            if self._restarted[row]:
                chosen = self._games[int(self._generator.integers(len(self._games)))]
                observations[row] = self._qwop.put_game(int(row), chosen)
        return observations, rewards, terminated, truncated, infos

    def get_state(self) -> dict[str, Any]:
        """Everything, for `set_state`."""
        return {
            "env": self._qwop.get_state(),
            "games": list(self._games),
            "restarted": self._restarted.copy(),
            "generator": self._generator.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> NDArray[np.float32]:
        self._games = list(state["games"])
        self._restarted[:] = state["restarted"]
        self._generator.bit_generator.state = state["generator"]
        return self._qwop.set_state(state["env"])

    def _remember(self, metres: NDArray[np.float64], may: NDArray[np.bool_]) -> None:
        """Save a random game in the stretch now and then, in place of a random one once the store is full."""
        low, high = self._settings.metres
        rows = np.flatnonzero(may & (low <= metres) & (metres < high))
        if not len(rows) or self._generator.random() >= KEEP_SHARE:
            return
        game = self._qwop.save_game(int(self._generator.choice(rows)))
        if len(self._games) < KEPT:
            self._games.append(game)
        else:
            self._games[int(self._generator.integers(KEPT))] = game
