"""The data model: an episode, and the description that all episodes of a dataset share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput, quoted
from ..common.reading import LONE_SURROGATE
from ..envs.actions import MOST_ACTIONS
from ..envs.names import LONGEST_KEYS
from ..envs.qwop.session import GameStart
from ..envs.spec import EnvironmentSpec, Observations, ObservationSpec
from .control import Branch, check_actors
from .origin import NO_ORIGIN, Origin

VERSION = 1
"""Version of the format."""

OUTCOMES = ("finished", "fell", "stopped", "terminated", "truncated")
"""Ways in which an episode ends: QWOP's outcomes, and Gymnasium's two for other environments."""

SUM_TOLERANCE = 1e-4
"""Tolerance for a sum of probabilities; a float32 softmax over thousands of actions stays well below."""


@dataclass(frozen=True)
class DatasetInfo:
    """Description that all episodes of a dataset share: environment, observations, and the number of actions, A.

    action_names: of the actions, where they are more than numbers; those of an environment whose actions are no numbers
    from 0 are what it takes, as JSON (`"[1, 0]"`). observation_names: of the numbers of an observation that is a
    vector. Without names, those that the environment declares. Descriptions that differ in names alone are equal.
    """

    environment: EnvironmentSpec
    observation: ObservationSpec
    actions: int
    action_names: tuple[str, ...] | None = field(default=None, compare=False)
    observation_names: tuple[str, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.actions < 1:
            raise ValueError(f"{self.actions} actions, expected at least 1")
        if self.action_names is not None and len(self.action_names) != self.actions:
            raise ValueError(f"{len(self.action_names)} names of actions, expected {self.actions}")
        if self.observation_names is not None and self.observation.shape != (len(self.observation_names),):
            raise ValueError(
                f"{len(self.observation_names)} names of numbers, but the observations are {self.observation}"
            )

    @property
    def with_names(self) -> "DatasetInfo":
        """The same with the names that the environment declares, where it has none of its own."""
        declared = self.environment.capabilities
        names = declared.observation_names
        fits = names is not None and self.observation.shape == (len(names),)
        return replace(
            self,
            action_names=self.action_names or declared.action_names,
            observation_names=self.observation_names or (names if fits else None),
        )

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the actions."""
        return self.with_names.action_names

    def to_json(self) -> dict[str, Any]:
        """The content of `dataset.json`, which every episode's file repeats; `from_json` is its inverse."""
        return {
            "version": VERSION,
            "environment": self.environment.to_json(),
            "observation": {
                "shape": [*self.observation.shape],
                "dtype": self.observation.dtype,
                "names": self.observation_names and [*self.observation_names],
            },
            "actions": {"count": self.actions, "names": self.action_names and [*self.action_names]},
        }

    @classmethod
    def from_json(cls, data: Any) -> "DatasetInfo":
        """Inverse of `to_json`; BadInput for anything else, and for another version."""
        try:
            if type(data["version"]) is not int or data["version"] != VERSION:
                raise BadInput(f"version {quoted(data['version'])} of the format, expected {VERSION}")
            top = _fields(data, "it", ("version", "environment", "observation", "actions"))
            observation = _fields(top["observation"], "observation", ("shape", "dtype", "names"))
            actions = _fields(top["actions"], "actions", ("count", "names"))
            count = actions["count"]
            if type(count) is not int or not 1 <= count <= MOST_ACTIONS:
                raise ValueError(
                    f"actions.count is {quoted(count)}, expected a whole number from 1 to {MOST_ACTIONS:,}"
                )
            shape = {"observation_shape": observation["shape"], "observation_dtype": observation["dtype"]}
            return cls(
                EnvironmentSpec.from_json(_fields(top["environment"], "environment", ("id", "settings"))),
                ObservationSpec.from_json(shape),
                count,
                _names_in("actions.names", actions["names"]),
                _names_in("observation.names", observation["names"]),
            )
        except BadInput:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise BadInput(f"not a dataset description ({type(error).__name__}: {quoted(error, 120)})") from None

    def differences(self, other: "DatasetInfo") -> list[str]:
        """Describe each setting in which `other` differs, as in 'frames_per_step is 3, not 4'.

        A setting that is left out does not differ from its default. Between two environments, nothing else is told.
        """
        if self._settings(self.environment.settings) == other._settings(other.environment.settings):
            return []
        if self.environment.id != other.environment.id:
            return [f"environment is {self.environment.id}, not {other.environment.id}"]
        mine = self._settings(self.environment.all_settings)
        theirs = other._settings(other.environment.all_settings)
        return [
            f"{name} is {mine.get(name, 'not set')}, not {theirs.get(name, 'set')}"
            for name in dict.fromkeys((*mine, *theirs))
            if mine.get(name) != theirs.get(name)
        ]

    def _settings(self, environment: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "environment": self.environment.id,
            **EnvironmentSpec(self.environment.id, environment).to_json()["settings"],
            "observations": str(self.observation),
            "actions": self.actions,
        }


@dataclass(frozen=True)
class Episode:
    """One complete episode of T ≥ 1 decisions, validated on construction (ValueError for invalid data).

    observations: float32 or uint8 [T + 1, *shape], one before each decision and the one that ended the episode.
    actions: int16 [T], index into the environment's actions.
    behaviour_probabilities: float32 [T, A], μ(·|s): finite, ≥ 0, sums to 1, positive for the action taken.
    rewards: float32 [T].
    times: float64 [T + 1], never decreasing: seconds of the game's clock; None if it has no clock.
    keys: for each decision the keys held in each of its game frames (uint8: Q = 1, W = 2, O = 4, P = 8), enough to
        replay the game exactly; None if unknown.
    terminated, truncated: as in Gymnasium, at least one of them. A game that was left early is truncated.
    outcome: one of `OUTCOMES`.
    player: name of the player. source: name of the source: a policy's or recording's file, 'page', an address.
    mu_kind: origin of μ: one of `behaviour_probabilities`' names, or any other text. mu_epsilon: the ε of those that
        were smoothed; None for others.
    seed: the seed of the environment's reset, below 2⁶³; None if unknown.
    metres: distance covered, in environments that measure one.
    start: the beginning of the game that the keys replay; None for the first game of a page in a current browser.
    origin: identifies the episode within its source.
    max_idle_frames: upper bound of the random idle frames that the game began with; None if unknown.
    actors: int8 [T], who acted in each decision, an index into `ACTORS`; None if the player did throughout.
    policy_probabilities: float32 [T, A], those of the policy in shared control, also where a person acted; None if no
        policy was asked.
    branch: the episode that this one left; None if it left none.
    created, software_version: when the episode was recorded (ISO 8601) and by which version of qwop; filled in when it
        is written, and kept by commands that copy it.
    """

    observations: Observations
    actions: NDArray[np.int16]
    behaviour_probabilities: NDArray[np.float32]
    rewards: NDArray[np.float32]
    times: NDArray[np.float64] | None
    keys: tuple[NDArray[np.uint8], ...] | None
    terminated: bool
    truncated: bool
    outcome: str
    player: str
    source: str
    mu_kind: str
    mu_epsilon: float | None = None
    seed: int | None = None
    metres: float | None = None
    start: GameStart | None = None
    origin: Origin = NO_ORIGIN
    max_idle_frames: int | None = None
    actors: NDArray[np.int8] | None = None
    policy_probabilities: NDArray[np.float32] | None = None
    branch: Branch | None = None
    created: str | None = None
    software_version: str | None = None

    def __post_init__(self) -> None:
        self._check_fields()
        steps = len(self.actions)
        if steps < 1:
            raise ValueError("the episode has no decision")
        images = self.observations.dtype == np.uint8
        shape = (steps + 1, *self.observations.shape[1:])
        _require("observations", self.observations, np.uint8 if images else np.float32, shape)
        _require("actions", self.actions, np.int16, (steps,))
        _require("rewards", self.rewards, np.float32, (steps,))
        if self.times is not None:
            _require("times", self.times, np.float64, (steps + 1,))
            backwards = np.flatnonzero(np.diff(self.times) < 0)
            if len(backwards):
                raise ValueError(f"times decrease in row {backwards[0] + 1}")
        check_probabilities(self.behaviour_probabilities, self.actions)
        if self.keys is not None:
            self._check_keys(self.keys)
        self._check_control()

    def _check_control(self) -> None:
        if self.actors is not None:
            check_actors(self.actors, len(self))
        if self.policy_probabilities is not None:
            check_distributions("policy_probabilities", self.policy_probabilities, len(self))
        if self.branch is not None and self.branch.step >= len(self):
            raise ValueError(f"a branch after {self.branch.step:,} decisions, but the episode has {len(self):,}")

    def _check_keys(self, keys: tuple[NDArray[np.uint8], ...]) -> None:
        if len(keys) != len(self):
            raise ValueError(f"keys for {len(keys)} decisions, expected {len(self)}")
        for frames in keys:
            if (frames.dtype is not _UINT8 and frames.dtype != np.uint8) or frames.ndim != 1:
                _require("keys", frames, np.uint8, (len(frames),))
        if self.frames.sum() > LONGEST_KEYS:
            raise ValueError(f"keys of more than {LONGEST_KEYS:,} frames")
        wrong = np.flatnonzero(self.keys_of_frames > 15)
        if len(wrong):
            row = np.searchsorted(np.cumsum(self.frames), wrong[0], side="right")
            raise ValueError(f"keys hold a number above 15 (Q = 1, W = 2, O = 4, P = 8) in row {row}")

    def _check_fields(self) -> None:
        for name, kinds, expected in _FIELD_TYPES:
            value = getattr(self, name)
            if isinstance(value, np.generic):  # an environment's flag, a number out of an array
                value = value.item()
                object.__setattr__(self, name, value)
            if type(value) not in kinds or (type(value) is str and LONE_SURROGATE.search(value)):
                raise ValueError(f"{name} is {quoted(value)}, expected {expected}")
        if self.outcome not in OUTCOMES:
            raise ValueError(f"outcome {self.outcome[:60]!r}, expected one of {', '.join(OUTCOMES)}")
        if not self.terminated and not self.truncated:
            raise ValueError("neither terminated nor truncated; an episode that was left early is truncated")
        for name in ("metres", "mu_epsilon"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}, expected a finite number or None")
        for name in ("seed", "max_idle_frames"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 2**63:
                raise ValueError(f"{name} is {quoted(value)}, expected at least 0 and less than 2⁶³")

    def __len__(self) -> int:
        """T, the number of decisions."""
        return len(self.actions)

    @cached_property
    def frames(self) -> NDArray[np.int64]:
        """Number of game frames of each decision, int64 [T]; empty where keys are unknown."""
        return np.fromiter(map(len, self.keys or ()), dtype=np.int64)

    @cached_property
    def keys_of_frames(self) -> NDArray[np.uint8]:
        """Keys held in each game frame, uint8 [frames]; empty if they are unknown."""
        return np.concatenate(self.keys) if self.keys else np.empty(0, np.uint8)

    @property
    def label(self) -> str:
        """The episode's source and its place there, as in 'kuro_try1.npz sha256:0123456789ab game 3'."""
        digest = f" sha256:{self.origin.sha256}" if self.origin.sha256 is not None else ""
        number = f" game {self.origin.game}" if self.origin.game is not None else ""
        return f"{self.source}{digest}{number}"

    @property
    def first_own(self) -> int:
        """Number of the first decision that no other episode has: 0, or of a branch the one after the shared ones."""
        return 0 if self.branch is None else self.branch.step

    @property
    def mu(self) -> str:
        """Origin of μ in a word, as in 'smoothed(0.05)'."""
        return mu_in_words(self.mu_kind, self.mu_epsilon)

    @property
    def shares_control(self) -> bool:
        """True if a policy and a person shared the episode."""
        return self.actors is not None or self.policy_probabilities is not None or self.branch is not None

    def require_fit(self, info: DatasetInfo) -> None:
        """Raise ValueError unless the episode's observations, actions and actors fit `info`."""
        if self.policy_probabilities is not None and self.policy_probabilities.shape[1] != info.actions:
            raise ValueError(
                f"policy_probabilities of {self.policy_probabilities.shape[1]} actions, not {info.actions}"
            )
        own = ObservationSpec(self.observations.shape[1:], self.observations.dtype.name)
        actions = self.behaviour_probabilities.shape[1]
        if own != info.observation or actions != info.actions:
            raise ValueError(
                f"observations {own} and {actions} actions, expected {info.observation} and {info.actions}"
            )


def mu_in_words(kind: str, epsilon: float | None) -> str:
    """A kind of behaviour probabilities with its ε."""
    return kind if epsilon is None else f"{kind}({epsilon:g})"


def _fields(data: Any, place: str, names: tuple[str, ...]) -> Mapping[str, Any]:
    """A mapping of exactly these names; ValueError for anything else."""
    if not isinstance(data, Mapping) or {*data} != {*names}:
        raise ValueError(f"{place} is {quoted(data)}, expected the fields {', '.join(names)}")
    return data


def _names_in(place: str, names: Any) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) and name.isprintable() for name in names):
        raise ValueError(f"{place} is {quoted(names)}, expected a list of texts")
    return tuple(names)


_UINT8 = np.dtype(np.uint8)

_FIELD_TYPES: tuple[tuple[str, tuple[type, ...], str], ...] = (
    *((name, (bool,), "true or false") for name in ("terminated", "truncated")),
    *((name, (str,), "text") for name in ("outcome", "player", "source", "mu_kind")),
    *((name, (int, type(None)), "a whole number or null") for name in ("seed", "max_idle_frames")),
    *((name, (float, int, type(None)), "a number or null") for name in ("metres", "mu_epsilon")),
    ("start", (GameStart, type(None)), "a GameStart or None"),
    ("origin", (Origin,), "an Origin"),
    ("branch", (Branch, type(None)), "a Branch or None"),
    *((name, (str, type(None)), "text or null") for name in ("created", "software_version")),
)


def check_probabilities(probabilities: NDArray[np.float32], actions: NDArray[np.int16]) -> None:
    """Raise ValueError unless `actions` int16 [T] can have been drawn with `probabilities` float32 [T, A]."""
    check_distributions("behaviour_probabilities", probabilities, len(actions))
    outside = np.flatnonzero((actions < 0) | (actions >= probabilities.shape[1]))
    if len(outside):
        raise ValueError(f"actions hold a number outside 0 … {probabilities.shape[1] - 1} in row {outside[0]}")
    impossible = np.flatnonzero(probabilities[np.arange(len(actions)), actions] <= 0)
    if len(impossible):
        raise ValueError(f"an action taken has behaviour probability 0 in row {impossible[0]}")


def check_distributions(name: str, probabilities: NDArray[np.float32], steps: int) -> None:
    """Raise ValueError unless `probabilities` float32 [T, A] are a distribution for each decision."""
    if probabilities.ndim != 2:
        raise ValueError(f"{name} have shape {probabilities.shape}, expected [T, A]")
    _require(name, probabilities, np.float32, (steps, probabilities.shape[1]))
    words = name.replace("_", " ")
    if (negative := probabilities < 0).any():
        one = words.removesuffix("ies") + "y"
        raise ValueError(f"a {one} is negative in row {negative.any(axis=1).argmax()}")
    sums = probabilities.sum(axis=1, dtype=np.float64)
    if (abs(sums - 1) > SUM_TOLERANCE).any():
        worst = int(abs(sums - 1).argmax())
        raise ValueError(f"the {words} of row {worst} sum to {sums[worst]:.6f}, expected 1")


def _require(name: str, array: NDArray[Any], dtype: type, shape: tuple[int, ...]) -> None:
    if array.dtype != dtype or array.shape != shape:
        expected = f"{np.dtype(dtype).name} {list(shape)}"
        raise ValueError(f"{name} are {array.dtype.name} {list(array.shape)}, expected {expected}")
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(f"{name} hold a masked value, expected numbers")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int((~np.isfinite(array)).reshape(len(array), -1).any(axis=1).argmax())
        raise ValueError(f"{name} hold a number that is not finite in row {row} (missing, or too large for float32)")
