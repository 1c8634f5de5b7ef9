"""Games that start from saved states of earlier games or of demonstrations, for practice far from the start."""

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
from .demonstrated_states import SavedState

KEPT = 256
"""Capacity for saved states of earlier games."""

KEEP_SHARE = 0.25
"""Probability, for each step in which some game is in the stretch, of saving one of these games."""

FIRST_STRETCH = 0.1
"""Share of the stretch that order=backwards opens at once, at its far end."""


@dataclass(frozen=True)
class RestartSettings(Settings):
    """Starts of games from states that other games went through."""

    share: float = setting(help="Fraction of new games that start from a saved state.", above=0, below=1, example="0.5")
    metres: tuple[float, ...] = setting(
        (0.0, 100.0),
        help="Stretch of track that the saved states come from, in metres.",
        expected="the ends of the stretch in metres, the nearer first",
        example="[38,50]",
    )
    source: str = setting(
        "live",
        "Origin of the states: live, earlier games of the run, or demonstrations, which must have their keys.",
        choices=("live", "demonstrations"),
    )
    order: str = setting(
        "uniform",
        "Choice of a state: uniform over the stretch, or backwards, starting at its far end and including more and "
        "more of it until the phase ends (Salimans and Chen 2018).",
        choices=("uniform", "backwards"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.metres) != 2 or not self.metres[0] < self.metres[1]:
            raise BadInput(
                f"metres={show(self.metres)}: expected the ends of the stretch in metres, the nearer first, such as "
                "[38,50]"
            )

    def stretch(self, progress: float) -> tuple[float, float]:
        """The stretch that is open when this share of the phase is over, metres."""
        low, high = self.metres
        if self.order == "uniform":
            return low, high
        return high - max(progress, FIRST_STRETCH) * (high - low), high


class Restarts(VectorWrapper):
    """Games of QWOP, some of which start from a saved state.

    With `demonstrated`, all of its states are available from the beginning. Otherwise states are saved from earlier
    games of the same vector environment that began at the real start; newer ones replace older ones, so they follow the
    current policy. `infos["restarted"]`, bool [n], is true for steps of games that started from a saved state; their
    time and metres include those of another game.
    """

    def __init__(
        self,
        env: QWOPVectorEnv,
        settings: RestartSettings,
        demonstrated: Sequence[SavedState] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(env)
        self._qwop = env
        self._settings = settings
        self._generator = np.random.default_rng(seed)
        self._fixed = demonstrated is not None
        self._saved: list[SavedState] = list(demonstrated or ())
        self._progress = 0.0
        self._restarted = np.zeros(env.num_envs, dtype=np.bool_)

    def follow(self, progress: float) -> None:
        """Note the share of the phase that is over, for order=backwards."""
        self._progress = progress

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        if isinstance(seed, int):
            self._generator = np.random.default_rng(seed)
        if not self._fixed:
            self._saved = []
        self._restarted[:] = False
        return self._qwop.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Infos]:
        observations, rewards, terminated, truncated, infos = self._qwop.step(actions)
        done = terminated | truncated
        infos["restarted"] = self._restarted.copy()
        if not self._fixed:
            self._save_some(infos["distance"], ~done & ~self._restarted)
        for row in np.flatnonzero(done):
            candidates = self._candidates()
            self._restarted[row] = bool(candidates) and self._generator.random() < self._settings.share
            if self._restarted[row]:
                chosen = candidates[int(self._generator.integers(len(candidates)))]
                observations[row] = self._qwop.put_game(int(row), chosen.game)
        return observations, rewards, terminated, truncated, infos

    def get_state(self) -> dict[str, Any]:
        """Everything, for `set_state`, except the states of demonstrations, which the constructor sets."""
        return {
            "env": self._qwop.get_state(),
            "saved": [] if self._fixed else [{"metres": one.metres, "game": one.game} for one in self._saved],
            "restarted": self._restarted.copy(),
            "generator": self._generator.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> NDArray[np.float32]:
        if not self._fixed:
            self._saved = [SavedState(**one) for one in state["saved"]]
        self._restarted[:] = state["restarted"]
        self._generator.bit_generator.state = state["generator"]
        return self._qwop.set_state(state["env"])

    def _candidates(self) -> list[SavedState]:
        if self._settings.order == "uniform":
            return self._saved
        low, high = self._settings.stretch(self._progress)
        return [one for one in self._saved if low <= one.metres < high]

    def _save_some(self, metres: NDArray[np.float64], may: NDArray[np.bool_]) -> None:
        """Occasionally save a random game in the stretch, replacing a random one once the store is full."""
        low, high = self._settings.metres
        rows = np.flatnonzero(may & (low <= metres) & (metres < high))
        if not len(rows) or self._generator.random() >= KEEP_SHARE:
            return
        row = int(self._generator.choice(rows))
        state = SavedState(float(metres[row]), self._qwop.save_game(row))
        if len(self._saved) < KEPT:
            self._saved.append(state)
        else:
            self._saved[int(self._generator.integers(KEPT))] = state
