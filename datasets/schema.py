"""What a dataset holds: the episode, what all its episodes share, and the columns of its files."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..envs.spec import EnvironmentSpec, ObservationSpec

SCHEMA_VERSION = 1

OUTCOMES = ("finished", "fell", "stopped", "terminated", "truncated")
"""How an episode can end: the game's own endings, and the two of an environment that tells nothing more."""

SUM_TOLERANCE = 1e-4
"""How far from 1 probabilities may sum: float32 softmax over some thousand actions stays well inside."""


@dataclass(frozen=True)
class DatasetInfo:
    """What all episodes of a dataset share: the environment, the shape of its observations, its number of actions A."""

    environment: EnvironmentSpec
    observation: ObservationSpec
    actions: int

    def __post_init__(self) -> None:
        if self.actions < 1:
            raise ValueError(f"{self.actions} actions, expected at least 1")

    def to_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "environment": self.environment.to_json(),
            **self.observation.to_json(),
            "actions": self.actions,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "DatasetInfo":
        """The inverse of `to_json`; BadInput where the data are of another version or incomplete."""
        try:
            version = int(data["schema_version"])
            if version != SCHEMA_VERSION:
                advice = "upgrade qwop" if version > SCHEMA_VERSION else "record it again"
                raise BadInput(f"schema version {version}, expected {SCHEMA_VERSION}; {advice}")
            environment = EnvironmentSpec.from_json(data["environment"])
            return cls(environment, ObservationSpec.from_json(data), int(data["actions"]))
        except BadInput:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"not the description of a dataset ({type(error).__name__}: {error})") from None

    def differences(self, other: "DatasetInfo") -> list[str]:
        """In words, each setting in which `other` differs: 'frames_per_step is 3, not 4'."""
        mine, theirs = self._settings(), other._settings()
        return [
            f"{name} is {mine.get(name, 'not set')}, not {theirs.get(name, 'set')}"
            for name in dict.fromkeys((*mine, *theirs))
            if mine.get(name) != theirs.get(name)
        ]

    def _settings(self) -> dict[str, Any]:
        return {
            "environment": self.environment.id,
            **dict(self.environment.settings),
            **self.observation.to_json(),
            "actions": self.actions,
        }


@dataclass(frozen=True)
class Episode:
    """One whole game of T ≥ 1 decisions, checked on construction (ValueError says what is wrong).

    observations: float32 or uint8 [T + 1, *shape], before each decision, and the one that ended the episode.
    actions: int16 [T], index into the environment's actions.
    behaviour_probabilities: float32 [T, A], μ(·|s): finite, ≥ 0, sums to 1, positive for the action taken.
    rewards: float32 [T].
    times: float64 [T + 1], seconds of the game clock, never decreasing.
    keys: for each decision the keys down in each of its game frames (uint8: Q = 1, W = 2, O = 4, P = 8), enough to
        replay the game exactly; None where unknown.
    terminated, truncated: as in Gymnasium; neither where the recording just ends.
    outcome: one of `OUTCOMES`.
    player, source: who played, and where the episode comes from.
    probabilities_from: where μ comes from: 'recorded', 'smoothed(0.05)', 'cloned', …
    seed: what the environment was reset with; None where unknown.
    metres: how far the runner got, where the game has metres.
    """

    observations: NDArray[np.float32] | NDArray[np.uint8]
    actions: NDArray[np.int16]
    behaviour_probabilities: NDArray[np.float32]
    rewards: NDArray[np.float32]
    times: NDArray[np.float64]
    keys: tuple[NDArray[np.uint8], ...] | None
    terminated: bool
    truncated: bool
    outcome: str
    player: str
    source: str
    probabilities_from: str
    seed: int | None = None
    metres: float | None = None

    def __post_init__(self) -> None:
        steps = len(self.actions)
        if steps < 1:
            raise ValueError("an episode without a decision")
        images = self.observations.dtype == np.uint8
        wanted = (steps + 1, *self.observations.shape[1:])
        _require("observations", self.observations, np.uint8 if images else np.float32, wanted)
        _require("actions", self.actions, np.int16, (steps,))
        _require("rewards", self.rewards, np.float32, (steps,))
        _require("times", self.times, np.float64, (steps + 1,))
        if (np.diff(self.times) < 0).any():
            raise ValueError("times go back")
        check_probabilities(self.behaviour_probabilities, self.actions)
        if self.keys is not None:
            if len(self.keys) != steps:
                raise ValueError(f"keys of {len(self.keys)} decisions, expected {steps}")
            for frames in self.keys:
                _require("keys", frames, np.uint8, (len(frames),))
                if (frames > 15).any():
                    raise ValueError("keys above 15 (Q = 1, W = 2, O = 4, P = 8)")
        if self.outcome not in OUTCOMES:
            raise ValueError(f"outcome {self.outcome!r}, expected one of {', '.join(OUTCOMES)}")
        if self.metres is not None and not math.isfinite(self.metres):
            raise ValueError(f"metres is {self.metres}, expected a finite number or None")

    def __len__(self) -> int:
        """T, the number of decisions."""
        return len(self.actions)

    def require_fit(self, info: DatasetInfo) -> None:
        """ValueError unless this episode can be one of a dataset with that `info`."""
        own = ObservationSpec(self.observations.shape[1:], self.observations.dtype.name)
        actions = self.behaviour_probabilities.shape[1]
        if own != info.observation or actions != info.actions:
            raise ValueError(
                f"observations {own} and {actions} actions, expected {info.observation} and {info.actions}"
            )


def check_probabilities(probabilities: NDArray[np.float32], actions: NDArray[np.int16]) -> None:
    """ValueError unless `probabilities` float32 [T, A] can have been what `actions` int16 [T] were drawn with."""
    if probabilities.ndim != 2:
        raise ValueError(f"behaviour_probabilities have shape {probabilities.shape}, expected [T, A]")
    _require("behaviour_probabilities", probabilities, np.float32, (len(actions), probabilities.shape[1]))
    if ((actions < 0) | (actions >= probabilities.shape[1])).any():
        raise ValueError(f"an action outside 0 … {probabilities.shape[1] - 1}")
    if (probabilities < 0).any():
        raise ValueError("a behaviour probability below 0")
    sums = probabilities.sum(axis=1, dtype=np.float64)
    if (abs(sums - 1) > SUM_TOLERANCE).any():
        worst = int(abs(sums - 1).argmax())
        raise ValueError(f"the behaviour probabilities of step {worst} sum to {sums[worst]:.6f}, expected 1")
    if (probabilities[np.arange(len(actions)), actions] <= 0).any():
        raise ValueError("an action that was taken has behaviour probability 0")


def arrow_schema(info: DatasetInfo) -> pa.Schema:
    """The columns of an episode's file: T + 1 rows, those of a decision null in the last."""
    element = pa.from_numpy_dtype(np.dtype(info.observation.dtype))
    return pa.schema(
        [
            pa.field("step", pa.int32(), nullable=False),
            pa.field("observation", pa.list_(element, info.observation.size), nullable=False),
            pa.field("action", pa.int16()),
            pa.field("behaviour_probabilities", pa.list_(pa.float32(), info.actions)),
            pa.field("reward", pa.float32()),
            pa.field("keys", pa.list_(pa.uint8())),
            pa.field("time", pa.float64(), nullable=False),
        ]
    )


def _require(name: str, array: NDArray[Any], dtype: type, shape: tuple[int, ...]) -> None:
    if array.dtype != dtype or array.shape != shape:
        expected = f"{np.dtype(dtype).name} {list(shape)}"
        raise ValueError(f"{name} are {array.dtype.name} {list(array.shape)}, expected {expected}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} hold a number that is not finite")
