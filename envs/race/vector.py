"""Races as a compiled batch: a Gymnasium vector environment whose environments are runners."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pydantic import Field

from ...common.errors import BadInput
from ...common.settings import Settings, Several
from ...common.shared_settings import IdleFrames
from ..engine import batch
from ..engine import layout as at
from ..names import ACTION_KEYS, ACTIONS, FRAMES_A_SECOND, LONGEST_GAME, Numbers
from ..pictures.video import picture_strip
from ..qwop.task import GameArrays, QWOPTask, idle_frames_of, infos_of
from ..qwop.vector import CompiledVectorEnv, checked_actions
from ..spec import Capabilities
from ..vector import Infos, Step, in_step, infos_of_step, masked
from .events import EVENTS, LOST, WON, EventCounter, results, weighted

MOST_RUNNERS = 64

RIVAL_NUMBERS = ("ahead", "speed", "down")

_SPEED = 6 * at.TORSO + at.VX


class RaceTask(Settings):
    """The settings of `QWOPRace-v1`; see `QWOPRaceVectorEnv`."""

    called: ClassVar[str] = "QWOPRace-v1"

    runners: Annotated[int, Field(ge=1, le=MOST_RUNNERS)] = 2
    """Runners in a race. 1: no opponents, but the events are counted."""
    frames_per_step: Annotated[int, Field(ge=1, le=3600)] = 3
    """Game frames (30 a second) per decision."""
    observation: Numbers = "features"
    """Numbers of the runner itself: the 71 of the published recordings, 94 (full) or 112 (contact)."""
    max_idle_frames: IdleFrames = 0
    time_limit: Annotated[float, Field(gt=0, le=LONGEST_GAME)] = 120.0
    """Seconds of the game clock after which a race is stopped."""
    weights: Several[Annotated[float, Field(ge=-1_000_000, le=1_000_000)]] = tuple(
        {"won": 1.0, "lost": -1.0}.get(name, 0.0) for name in EVENTS
    )
    """Reward of each event, in the order of qwop.envs.race.events.EVENTS: by default 1 for a race won, -1 for one
    lost."""

    def check(self) -> None:
        if len(self.weights) != len(EVENTS):
            raise BadInput(f"weights: {len(self.weights)} numbers, expected one for each of {len(EVENTS)} events")

    @property
    def world(self) -> QWOPTask:
        """The task of each runner's own world."""
        return QWOPTask(observation=self.observation, time_limit=LONGEST_GAME)

    @property
    def observation_names(self) -> tuple[str, ...]:
        more = (f"other{place}.{number}" for place in range(1, self.runners) for number in RIVAL_NUMBERS)
        return (*self.world.feature_names, *more)

    @property
    def decisions_per_second(self) -> float:
        """Decisions per second of the game's clock."""
        return FRAMES_A_SECOND / self.frames_per_step

    @property
    def limit(self) -> int:
        """Frames after which a race is stopped."""
        return round(self.time_limit * FRAMES_A_SECOND)


class QWOPRaceVectorEnv(CompiledVectorEnv):
    """`QWOPRace-v1`: races over 100 metres, each runner in an exact world of its own, in lock step.

    Each environment of the batch is a runner; as many neighbouring ones as a race has runners (2 by default) run
    against each other, and `num_envs` is a multiple of that (else BadInput). A runner's world is that of `QWOP-v1`, to
    the bit, and its actions are the same 11.

    Observation: the runner's own 71, 94 or 112 features as in `QWOPEnv`, then three for each of the others:

    | name | within | unit |
    |---|---|---|
    | other*i*.ahead: its torso's distance ahead of this one's | | m |
    | other*i*.speed: of its torso | | m/s |
    | other*i*.down: 1 once its game has ended, by a fall or a finish | 0, 1 | |

    A race ends for all of its runners in the same step: `terminated` when every game has ended, `truncated` at the time
    limit. Until then the actions of those whose game has ended do nothing. `events.results` decides who won. The
    reward is w·ρ, of the decision's events ρ (`qwop.envs.race.events.EVENTS`) and the setting `weights`: by default
    1 for a race won and −1 for one lost, at its end. A lone runner has no opponents, and is rewarded
    for the other events only.

    Settings of the task: `runners` (2), `frames_per_step` (3), `observation` ("features", "full" or
    "contact"), `max_idle_frames` (0; all runners of a race begin alike), `time_limit` (120 s), `weights`.

    | info | unit | meaning |
    |---|---|---|
    | distance, score, clock, time, idle_frames | | as in `QWOP-v1` |
    | frames | frames | played in this decision; 0 once the runner's game has ended |
    | outcome | | place in `qwop.envs.names.OUTCOMES`; running until the runner's own game ends |
    | events | | ρ, float64 [n, 18] |
    | result | | at the end of a race 1 for won, ½ for drawn, 0 for lost; ½ before |

    `reset(seed=…)` and `options` are as in `QWOPVectorEnv`, where a race has the seed of its first
    runner and restarts if `reset_mask` has any of its runners. `render()` gives a picture of every race.
    """

    _size = 480, 300

    @classmethod
    def capabilities(cls, **settings: Any) -> Capabilities:
        """Return the abilities of a batch that is made with these settings."""
        task = RaceTask(**settings)
        return Capabilities(
            decisions_per_second=task.decisions_per_second,
            idle_start=True,
            runs=True,
            action_names=ACTIONS,
            observation_names=task.observation_names,
            group=task.runners,
            settings=dict(task),
        )

    def __init__(
        self,
        num_envs: int,
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        **task: Any,
    ) -> None:
        self.task = own = RaceTask(**task)
        runners = own.runners
        numbers = gymnasium.spaces.Box(-np.inf, np.inf, (len(own.observation_names),), np.float32)
        self._declare(num_envs, render_mode, autoreset_mode, own.decisions_per_second, numbers, len(ACTION_KEYS))
        if num_envs % runners:
            raise BadInput(f"num_envs={num_envs}: expected a multiple of {runners}, the runners of a race")
        self.num_races = num_envs // runners
        self._games = GameArrays(own.world, num_envs)
        self._counter = EventCounter(num_envs)
        # Each runner's opponents are those that follow it in its race, and so round.
        others = (np.arange(runners)[:, None] + np.arange(1, runners)) % runners
        self._others = (np.arange(0, num_envs, runners)[:, None, None] + others).reshape(num_envs, runners - 1)
        self._generators = [np_random()[0] for _ in range(self.num_races)]
        self._weights = np.array(own.weights)
        self._keys = np.zeros(num_envs, dtype=np.int64)
        self._result = np.full(num_envs, 0.5)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], Infos]:
        (mask, seeds), idle = self._to_reset(seed, options), idle_frames_of(options, -1)
        races = np.asarray(self._by_race(mask).any(axis=1))
        for race, one in enumerate(seeds[:: self.task.runners]):
            if one is not None and races[race]:
                self._generators[race] = np_random(one)[0]
        self._begin(races, idle)
        self._begun_ever |= self._rows(races)
        return self._observations(), masked(self._infos(), self._rows(races))

    def step(self, actions: Any) -> Step:
        choices = checked_actions(actions, self.num_envs)
        self._require_all_begun()
        rewards, terminated, truncated = self._race(choices, np.ones(self.num_races, dtype=np.bool_))
        self._keep(choices)
        observations, over = self._observations(), terminated | truncated
        infos = infos_of_step(self._infos(), observations, over)
        if over.any():
            self._begin(self._by_race(over)[:, 0], -1)
            observations = self._observations()
        return observations, rewards, terminated, truncated, infos

    def get_state(self) -> dict[str, object]:
        """Return the whole state, for `set_state`: the races continue bit-identically.

        The races are run again then: `idle` frames without a key, then the `actions`.
        """
        return {
            "idle": self._games.counters[:, batch.IDLE].copy(),
            "actions": [*map(np.array, self._commands)],
            "generators": [generator.bit_generator.state for generator in self._generators],
        }

    def set_state(self, state: dict[str, Any]) -> NDArray[np.float32]:
        """Restore what `get_state` gave (with the same settings and number of runners); return the observations."""
        for new, running, actions in in_step(state["actions"]):
            if new.any():
                self._begin_after(self._by_race(new)[:, 0], np.asarray(state["idle"]))
            if running.any():
                self._race(actions, self._by_race(running)[:, 0])
        self._commands = [bytearray(one) for one in state["actions"]]
        for generator, one in zip(self._generators, state["generators"], strict=True):
            generator.bit_generator.state = one
        self._begun_ever[:] = True
        self._result[:] = 0.5
        return self._observations()

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return a picture, uint8 [height, width, 3], of every race: its runners side by side."""
        pictures, runners = super().render(), self.task.runners
        if pictures is None:
            return None
        return tuple(picture_strip(pictures[first : first + runners], 2) for first in range(0, len(pictures), runners))

    def _race(self, actions: NDArray[Any], races: NDArray[np.bool_]) -> tuple[NDArray[Any], ...]:
        """Play a decision in these races, bool [races]; return rewards, terminated and truncated, [n] each."""
        games, counter = self._games, self._counter
        counters = games.counters
        players = self._rows(races) & (counters[:, batch.TERMINATED] == 0)
        self._keys[:] = np.where(players, ACTION_KEYS[actions], self._keys * ~self._rows(races))
        before = games.numbers[:, batch.DISTANCE].copy()
        frames = np.zeros(self.num_envs, dtype=np.int64)
        counter.rho[:] = 0.0
        games.orders[:, batch.FIRST_KEYS_DOWN] = games.orders[:, batch.KEYS_DOWN] = self._keys
        games.orders[:, batch.FRAMES_TO_PLAY] = 1
        for _ in range(self.task.frames_per_step):
            playing = players & (counters[:, batch.TERMINATED] == 0)
            if not playing.any():
                break
            games.orders[:, batch.DO] = np.where(playing, batch.DECIDE, batch.NOTHING)
            games.play(0, self.num_envs, False, *games.workspace)
            counter.add_frame(playing, games.integers)
            frames += playing
        counters[:, batch.PLAYED] = frames
        counter.end_decision(players, before, games.reals, self._others)

        ended = counters[:, batch.TERMINATED] != 0
        finished = counters[:, batch.OUTCOME] == batch.FINISHED
        stopped = ~ended & (counters[:, batch.FRAMES] >= self.task.limit)
        truncated = self._rows(self._by_race(stopped).any(axis=1) & races)
        terminated = self._rows(self._by_race(ended).all(axis=1) & races)
        counters[stopped & truncated, batch.OUTCOME] = batch.STOPPED
        over = terminated | truncated
        self._result[:] = 0.5
        if over.any():
            verdict = results(
                self._by_race(finished),
                self._by_race(counters[:, batch.FRAMES]),
                self._by_race(games.numbers[:, batch.DISTANCE]),
            ).ravel()
            self._result[over] = verdict[over]
        counter.add(
            finish=players & finished, fall=players & ended & ~finished, won=self._result == WON,
            lost=self._result == LOST,
        )  # fmt: skip
        return weighted(self._weights, counter.rho), terminated, truncated

    def _begin(self, races: NDArray[np.bool_], idle: int) -> None:
        """Begin new races where `races` is true, with this number of idle frames; −1 draws it."""
        frames = np.full(self.num_envs, idle)
        for race in np.flatnonzero(races) if self.task.max_idle_frames else ():
            number = int(self._generators[race].integers(0, self.task.max_idle_frames, endpoint=True))
            if idle < 0:
                self._by_race(frames)[race] = number
        self._begin_after(races, np.maximum(frames, 0))

    def _begin_after(self, races: NDArray[np.bool_], idle: NDArray[np.int64]) -> None:
        """Begin new races where `races` is true, after these idle frames, int64 [n]."""
        rows = self._rows(races)
        self._games.reset(rows, idle)
        self._counter.begin(rows, self._games.reals, self._games.integers)
        self._forget(rows)
        self._keys[rows] = 0
        self._result[rows] = 0.5

    def _observations(self) -> NDArray[np.float32]:
        reals, counters = self._games.reals, self._games.counters
        metres = reals[:, 6 * at.TORSO + at.X] / 10.0
        speed = reals[:, _SPEED] / 10.0
        down = counters[:, batch.TERMINATED] != 0
        rivals = np.stack([metres[self._others] - metres[:, None], speed[self._others], down[self._others]], axis=-1)
        assert rivals.shape[-1] == len(RIVAL_NUMBERS)
        return np.concatenate([self._games.observations, rivals.reshape(self.num_envs, -1)], axis=1, dtype=np.float32)

    def _infos(self) -> Infos:
        infos = infos_of(self._games.numbers.T.copy(), self._games.counters.T.copy())
        return {**infos, "events": self._counter.rho.copy(), "result": self._result.copy()}

    def _by_race(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows [n, ...] as [races, runners, ...], a view."""
        return rows.reshape(self.num_races, self.task.runners, *rows.shape[1:])

    def _rows(self, races: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return what holds for races [races] for each of their runners, [n]."""
        return np.repeat(races, self.task.runners)
