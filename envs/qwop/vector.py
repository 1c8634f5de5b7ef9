"""QWOP's compiled batch as a Gymnasium vector environment."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from ...common.cores import cores
from ..engine import batch, native, workspace
from ..names import ACTION_KEYS
from ..pictures.drawing import Drawing
from ..vector import Infos, OwnVectorEnv, Step, in_step, infos_of_step, masked, require_count
from .task import GameArrays, QWOPTask, idle_frames_of, infos_of

ROWS_WORTH_A_THREAD = 8
"""Fewer games than this are stepped faster by one thread than handed to another (measured)."""


class CompiledVectorEnv(OwnVectorEnv):
    """Games of the engine side by side, with their pictures. Subclasses set `_games` and `_keys`."""

    metadata = {**OwnVectorEnv.metadata, "render_modes": ["rgb_array"]}  # noqa: RUF012  (Gymnasium's form)
    _games: GameArrays
    _keys: NDArray[np.int64]
    _drawing: Drawing | None = None
    _size = 640, 400
    """Width and height of a game's picture, pixels."""

    @property
    def states(self) -> NDArray[np.float64]:
        """Current bodies, float64 [n, 14, 6]."""
        return self._games.states

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return a picture, uint8 [400, 640, 3], of every game."""
        self._require_open()
        if self.render_mode is None:
            return None
        self._drawing = self._drawing or Drawing(*self._size)
        return tuple(
            self._drawing.picture(state, metres=row[batch.SCORE], seconds=row[batch.TIME], keys=int(keys))
            for state, row, keys in zip(self.states, self._games.numbers, self._keys, strict=True)
        )


class QWOPVectorEnv(CompiledVectorEnv):
    """n games of `QWOP-v1`, a decision of all of them in one compiled call.

    Settings, observations, actions and infos are those of `QWOPEnv`, and so is every bit of them: environment i is a
    `QWOPEnv` reset with seed + i. The infos are arrays [n] of numbers, with Gymnasium's masks; `outcome` is a place in
    `qwop.envs.names.OUTCOMES`.

    Resets, and games that follow one that ended, are as in `OwnVectorEnv`; `reset(options={"idle_frames": k})` begins
    games with k frames without a key. `num_threads` (default: as many as help) changes nothing but the time. Raises
    BadInput for wrong settings, and for numbers below 1.
    """

    _pool: ThreadPoolExecutor | None = None

    def __init__(
        self,
        num_envs: int,
        render_mode: str | None = None,
        num_threads: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        **task: Any,
    ) -> None:
        if num_threads is not None:
            require_count("num_threads", num_threads)
        self.task = own = QWOPTask(**task)
        rate = own.decisions_per_second
        self._declare(num_envs, render_mode, autoreset_mode, rate, own.observation_space, len(ACTION_KEYS))
        self._games = GameArrays(self.task, num_envs)
        # The idle frames of every row's next game are drawn ahead, so that the kernel can begin it; delays are drawn in
        # a stream of their own, which therefore is where that of a single game is.
        drawing = num_envs if self.task.max_idle_frames or self.task.delay else 0
        self._generators = [np_random()[0] for _ in range(drawing)]
        self._delays = [generator.spawn(1)[0] for generator in self._generators] if self.task.delay else []
        self._late = np.zeros(num_envs, dtype=np.bool_)
        self._origins = np.full(num_envs, -1)
        threads = num_threads or min(cores(), num_envs // ROWS_WORTH_A_THREAD)
        # Games that share lanes stay in one thread.
        width = native.engine().width
        groups = -(-num_envs // width)
        bounds = np.linspace(0, groups, max(min(threads, groups), 1) + 1).round().astype(int) * width
        bounds = np.minimum(bounds, num_envs).tolist()
        self._ranges = list(pairwise(bounds))
        self._workspaces = [workspace() for _ in self._ranges]
        orders = self._games.orders  # of which every step writes these columns
        self._do = orders[:, batch.DO]
        self._first_keys = orders[:, batch.FIRST_KEYS_DOWN]
        self._keys = orders[:, batch.KEYS_DOWN]
        self._next_idle = orders[:, batch.NEXT_IDLE]
        self._make_pool()
        self._draw_next_idle(np.ones(num_envs, dtype=np.bool_))

    def _make_pool(self) -> None:
        self._pool = ThreadPoolExecutor(len(self._ranges) - 1, "qwop") if len(self._ranges) > 1 else None
        self._process = os.getpid()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], Infos]:
        (mask, seeds), idle = self._to_reset(seed, options), idle_frames_of(options, -1)
        if self._generators:
            seeded = np.array([one is not None for one in seeds]) & mask
            for row in np.flatnonzero(seeded):
                self._generators[row] = np_random(seeds[row])[0]
                if self._delays:
                    (self._delays[row],) = self._generators[row].spawn(1)
            self._draw_next_idle(seeded)
        self._games.reset(mask, self._next_idle if idle < 0 else np.full(self.num_envs, idle))
        self._begun(mask)
        self._begun_ever |= mask
        self._late[mask] = False
        self._look_at(mask, mask)
        return self._games.observed(), masked(self._infos(), mask)

    def step(self, actions: Any) -> Step:
        choices = checked_actions(actions, self.num_envs)
        self._require_all_begun()
        first_keys = keys = ACTION_KEYS[choices]
        if self._delays:
            self._late = np.array([delays.random() for delays in self._delays]) < self.task.delay
            first_keys = np.where(self._late, self._keys, keys)
        self._first_keys[:], self._keys[:] = first_keys, keys
        games, all_games = self._games, np.ones(self.num_envs, dtype=np.bool_)
        # A picture of a game's end is drawn before the next one begins.
        self._play_all(follow=games.pictures is None)
        self._look_at(all_games, ~all_games)
        self._keep(first_keys | keys << 4)
        rewards = games.numbers[:, batch.REWARD].copy()
        terminations, truncations = (games.counters[:, end] != 0 for end in (batch.TERMINATED, batch.TRUNCATED))
        infos, ends = self._infos(), terminations | truncations
        observations = final = games.observed()
        if ends.any():
            if games.pictures is None:
                final = np.where(ends[:, np.newaxis], games.final_observations, observations)
            else:
                games.reset(ends, self._next_idle)
                self._look_at(ends, ends)
                observations = games.observed()
            self._begun(ends)
        return observations, rewards, terminations, truncations, infos_of_step(infos, final, ends)

    def get_state(self) -> dict[str, Any]:
        """Return the whole state, for `set_state`: the games continue bit-identically.

        The games are played again then: `idle` frames without a key, then `commands`, a byte for each decision (keys
        of its first frame + 16 × those of the others).
        """
        return {
            "idle": self._games.counters[:, batch.IDLE].copy(),
            "commands": [*map(np.array, self._commands)],
            "origins": self._origins.copy(),
            "next_idle": self._next_idle.copy(),
            "generators": [generator.bit_generator.state for generator in self._generators],
            "delays": [delays.bit_generator.state for delays in self._delays],
        }

    def set_state(self, state: dict[str, Any], starts: Sequence[dict[str, Any]] = ()) -> NDArray[Any]:
        """Restore what `get_state` gave (with the same settings and number of games); return the observations.

        starts: the saved games to which the origins refer (`put_game`).
        """
        commands, origins = state["commands"], np.asarray(state["origins"])
        begun = {int(row): starts[origins[row]] for row in np.flatnonzero(origins >= 0)}
        self._play_again(state["idle"], commands, begun)
        self._commands = [bytearray(one) for one in commands]
        self._origins[:], self._next_idle[:] = origins, state["next_idle"]
        for generator, one in zip(self._generators + self._delays, state["generators"] + state["delays"], strict=True):
            generator.bit_generator.state = one
        self._begun_ever[:] = True
        return self._games.observed()

    def _play_again(
        self,
        idle: Sequence[int] | NDArray[np.int64],
        commands: Sequence[NDArray[np.uint8]],
        starts: Mapping[int, Mapping[str, Any]],
    ) -> None:
        """Play games from their beginning, idle frames or the saved game of a row, with these decisions."""
        nothing = np.zeros(self.num_envs, dtype=np.bool_)
        for new, playing, decisions in in_step(commands):
            if new.any():
                self._games.reset(new, np.asarray(idle))
                self._look_at(new, new)
                for begun, start in starts.items():
                    if new[begun]:
                        self._games.restore_row(begun, start)
            self._do[:] = np.where(playing, batch.DECIDE, batch.NOTHING)
            self._first_keys[:], self._keys[:] = decisions & 15, decisions >> 4
            self._play_all(follow=False)
            self._look_at(playing, nothing)
        self._do[:] = batch.DECIDE
        for row, one in enumerate(commands):
            self._keys[row] = one[-1] >> 4 if len(one) else starts[row]["keys"] if row in starts else 0

    def save_game(self, row: int) -> dict[str, Any]:
        """Return one game as it is now, for `put_game`. `idle` and `commands` are all that a file needs."""
        idle, commands = int(self._games.counters[row, batch.IDLE]), np.array(self._commands[row])
        origin = {"idle": idle, "commands": commands, "origin": self._origins[row]}
        return {**self._games.saved_row(row), "keys": self._keys[row], **origin}

    def played_again(self, saved: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Saved games of which a file has `idle` and `commands` alone, whole again."""
        if not saved:
            return []
        games = QWOPVectorEnv(len(saved), **dict(self.task))
        commands = [one["commands"] for one in saved]
        games._play_again([one["idle"] for one in saved], commands, {})
        games.close()
        return [games.save_game(row) | {"commands": decisions} for row, decisions in enumerate(commands)]

    def put_game(self, row: int, saved: dict[str, Any]) -> NDArray[Any]:
        """Continue a saved game in this row, instead of its own; return the row's observation.

        The idle frames and delays to come are still those of the row. `saved["origin"]` is the place of a game that
        does not begin at the start among the `starts` of `set_state`, else −1.
        """
        self._games.restore_row(row, saved)
        self._keys[row], self._origins[row] = saved["keys"], saved["origin"]
        self._commands[row] = bytearray(saved["commands"])
        self._begun_ever[row] = True
        observation: NDArray[Any] = self._games.observed()[row]
        return observation

    def rest(self, rows: NDArray[np.bool_]) -> None:
        """Leave the games of these rows, bool [n], as they are until the next reset: steps play the others alone."""
        self._do[:] = np.where(rows, batch.NOTHING, batch.DECIDE)
        self._games.counters[rows, batch.TERMINATED] = self._games.counters[rows, batch.TRUNCATED] = 0

    @property
    def seen_numbers(self) -> NDArray[np.float32]:
        """Current features of every game, float32 [n, 71, 94 or 112]: the observed ones; with pictures, all."""
        return self._games.observations.copy()

    def close_extras(self, **kwargs: Any) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _infos(self) -> Infos:
        numbers, counters = self._games.numbers.T.copy(), self._games.counters.T.copy()
        return infos_of(numbers, counters) | {"late": self._late.copy()}

    def _begun(self, mask: NDArray[np.bool_]) -> None:
        """Prepare the rows whose games have just begun: no key is down, and the next idle frames are drawn."""
        self._draw_next_idle(mask)
        self._keys[mask], self._origins[mask] = 0, -1
        self._forget(mask)

    def _play_all(self, follow: bool) -> None:
        spaces = dict(zip(self._ranges, self._workspaces, strict=True))
        self._in_threads(lambda first, last: self._games.play(first, last, follow, *spaces[first, last]))

    def _look_at(self, rows: NDArray[np.bool_], begun: NDArray[np.bool_]) -> None:
        """Draw these rows, if pictures are observed."""
        pictures, reals = self._games.pictures, self._games.reals
        if pictures is not None:
            self._in_threads(lambda first, last: pictures.draw(reals, rows, begun, first, last))

    def _in_threads(self, work: Callable[[int, int], None]) -> None:
        """Do some work for all rows: work(first, last) in each thread for its own."""
        if self._process != os.getpid():  # a fork has none of its parent's threads
            self._make_pool()
        if len(self._ranges) == 1:
            work(*self._ranges[0])
            return
        others = [self._pool.submit(work, *rows) for rows in self._ranges[1:] if self._pool is not None]
        work(*self._ranges[0])
        for other in others:
            other.result()

    def _draw_next_idle(self, mask: NDArray[np.bool_]) -> None:
        if self.task.max_idle_frames:
            for row in np.flatnonzero(mask):
                self._next_idle[row] = self._generators[row].integers(0, self.task.max_idle_frames, endpoint=True)


def checked_actions(actions: Any, num_envs: int) -> NDArray[np.integer[Any]]:
    """Return the actions as an array [n]; InvalidAction for anything but a whole number from 0 to 10 for each game."""
    try:
        numbers = np.asarray(actions)
    except ValueError:  # lists of different lengths
        numbers = np.empty(0)
    if (
        numbers.shape != (num_envs,)
        or numbers.dtype.kind not in "iu"
        or np.maximum.reduce(numbers.astype(np.uint64)) >= len(ACTION_KEYS)  # of a number below 0, too
    ):
        raise gymnasium.error.InvalidAction(
            f"actions {actions!r:.60}, expected [{num_envs}] whole numbers, 0 ... {len(ACTION_KEYS) - 1}"
        )
    return numbers
