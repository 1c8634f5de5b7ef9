"""A recording of coached games: the policy, the dataset that they fit, and new games in it."""

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from ...common.errors import naming
from ...common.shared_settings import LARGEST_SEED
from ...datasets.folder import require_same
from ...datasets.origin import Origin
from ...datasets.schema import DatasetInfo
from ...envs.actions import Env, action_names
from ...envs.names import FRAMES_A_SECOND
from ...envs.spec import EnvironmentSpec
from ...policies.champion import policy_path
from ...policies.files import load_policy, policy_digest
from ...policies.policy import Policy
from ..page.environment_keys import KeyMap
from ..source import Recorded, games_of
from .environment_stage import EnvironmentStage
from .game import CoachedGame
from .qwop_stage import QwopStage
from .stage import Facts, Stage


class CoachedSettings(Protocol):
    """What coached games follow from, besides the person; see the settings of a page."""

    @property
    def policy(self) -> str | None: ...
    @property
    def player(self) -> str: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def greedy(self) -> bool: ...
    @property
    def release(self) -> float: ...
    @property
    def max_idle_frames(self) -> int: ...


class Recording:
    """Makes games of one policy and seed, numbered after those in `folder`. BadInput for what cannot be played.

    env: environment to play in, for others than QWOP; a frame is then a decision.
    """

    def __init__(
        self,
        settings: CoachedSettings,
        folder: Path,
        env: Env | None = None,
        keys: KeyMap | None = None,
        fps: float = 0.0,
    ) -> None:
        assert settings.policy is not None
        self.settings, self._env, self._keys, self._fps = settings, env, keys, fps
        self.policy = load_policy(settings.policy)
        self.info = coached_info(self.policy, settings.policy)
        require_same(folder, self.info)
        path = policy_path(settings.policy)
        origin = Origin(sha256=policy_digest(path), seed=settings.seed, greedy=settings.greedy)
        self.facts = Facts(settings.player, path.name, origin, settings.epsilon)
        recorded = games_of(folder, Recorded(path.name, origin, None))
        self._numbers = itertools.count(max(recorded, default=-1) + 1)
        self._lock = threading.Lock()

    def new_game(self) -> CoachedGame:
        """The next game. Its start and the policy's draws follow from the seed and its number."""
        return self._game(self._next_number)

    def rehearsal(self) -> CoachedGame:
        """A game that is not recorded, and takes no number."""
        return self._game(lambda: 0)

    def _game(self, numbers: Callable[[], int]) -> CoachedGame:
        number = numbers()
        random = np.random.default_rng([self.settings.seed, number])
        return CoachedGame(
            self._stage(random),
            self.policy,
            self.facts,
            number,
            numbers,
            self.settings.release,
            None if self.settings.greedy else random,
        )

    def _next_number(self) -> int:
        with self._lock:
            return next(self._numbers)

    def _stage(self, random: np.random.Generator) -> Stage:
        if self._env is None:
            return QwopStage(self.info, int(random.integers(self.settings.max_idle_frames + 1)))
        return EnvironmentStage(self._env, self._keys, self.info, int(random.integers(LARGEST_SEED + 1)), self._fps)


def coached_info(policy: Policy, name: str) -> DatasetInfo:
    """Description of a dataset of coached games of a policy, called `name`; BadInput if it cannot be played."""
    own = policy.environment
    if own.capabilities.keys:
        settings = {key: value for key, value in own.settings.items() if key not in ("delay", "max_idle_frames")}
        return DatasetInfo(EnvironmentSpec(own.id, settings), policy.observation, policy.actions)
    with naming(name):
        env = own.make()
        names = None if own.capabilities.action_names else action_names(env)
        env.close()
    return DatasetInfo(own, policy.observation, policy.actions, names)


def frames_a_second(policy: Policy) -> float:
    """Frames that a coached game of a policy plays a second, unless settings give another number."""
    if policy.environment.capabilities.keys:
        return float(FRAMES_A_SECOND)
    env = policy.environment.make()
    env.close()
    return float(env.metadata.get("render_fps") or FRAMES_A_SECOND)
