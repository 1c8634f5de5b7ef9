"""Beam search for a better game than the policy plays, over saved states of the engine.

In each decision, every game of the beam is continued with every action. Each of these candidates is then played on
greedily by the policy for a while (a rollout, as in Tesauro and Galperin 1996) and judged by its distance and the value
of the state reached; the best candidates are the next beam. The engine is deterministic, so the game found can be
played again.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..envs.engine import batch
from ..envs.engine import layout as at
from ..envs.names import ACTION_KEYS
from ..envs.qwop.task import FRAMES_A_SECOND, Games, QWOPTask
from ..policies.networks import Values, VectorNetwork
from ..policies.policy import Policy

ACTIONS = len(ACTION_KEYS)

FINISH = 10.0
"""Bonus for a finish, metres, as in reward=race."""

PACE = 3.0
"""Metres per second credited for the time saved by an earlier finish."""

HURDLE = 4.0
"""Penalty, metres, while the hurdle is ahead, standing or kicked. The values underrate it, because the policy they were
learned with pushes the hurdle along in most of its games."""

FALL = -1000.0
"""Worth of a fall, far below that of any distance."""


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the search.

    width: games in the beam. lookahead: decisions that the policy plays on before a candidate is judged. siblings: how
    many successors of one game may be kept, which keeps the beam diverse.
    """

    width: int = 16
    lookahead: int = 20
    siblings: int = 3

    def __post_init__(self) -> None:
        for name in ("width", "lookahead", "siblings"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name}={getattr(self, name)}: expected at least 1")


class Search:
    """Beam search with a policy and the `values` that were learned beside it.

    Games of the engine are rows of arrays (`envs.qwop.task.Games`): the beam, its candidates (every game of the beam
    with every action) and the rollouts of these. Columns have names: `batch` has those of orders, counters and numbers,
    `at` those of the bodies. Raises BadInput for an environment whose games cannot be saved, and for a policy that has
    a state or sees images.
    """

    def __init__(self, policy: Policy, values: Values, settings: SearchSettings) -> None:
        if not policy.environment.capabilities.saved_games:
            raise BadInput(
                f"{policy.environment}: its games cannot be saved, as a search needs; search with a policy of QWOP-v1"
            )
        if not isinstance(policy.network, VectorNetwork):
            raise BadInput(f"a policy of {policy.network.architecture}: a search needs a memoryless network of numbers")
        self._network = policy.network
        self._values = values
        self._settings = settings
        task = QWOPTask(**{**policy.environment.settings, "max_idle_frames": 0, "delay": 0.0})
        self._frames = task.frames_per_step
        self._beam = Games(task, settings.width)
        self._candidates = Games(task, settings.width * ACTIONS)
        self._rollouts = Games(task, settings.width * ACTIONS)

    def run(
        self, idle_frames: int = 0, progress: Callable[[float, float], None] = lambda metres, seconds: None
    ) -> NDArray[np.int64]:
        """Search a game that begins with so many idle frames. Returns its actions, int64 [decisions], up to the finish
        or as far as it got.

        `progress` is called after each decision with the distance of the beam's farthest game, metres, and the clock,
        seconds.
        """
        for games in (self._beam, self._candidates, self._rollouts):
            all_rows = np.ones(len(games.orders), dtype=np.bool_)
            games.reset(all_rows, np.full(len(games.orders), idle_frames))
        chosen: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # parents and actions of each beam
        size = 1
        while True:
            outcomes = self._expand(size)
            finished = np.flatnonzero(outcomes == batch.FINISHED)
            if len(finished):
                parents, actions = np.divmod(finished, ACTIONS)
                chosen.append((parents, actions))
                break
            alive = np.flatnonzero(outcomes == batch.RUNNING)
            if not len(alive):
                break
            distinct = self._distinct(alive)
            kept = self._best(distinct, self._judge(distinct))
            _copy(self._candidates, kept, self._beam)
            chosen.append(np.divmod(kept, ACTIONS))
            size = len(kept)
            numbers = self._beam.numbers[:size]
            progress(float(numbers[:, batch.DISTANCE].max()), float(numbers[0, batch.CLOCK]))
        return _trace_back(chosen)

    def _expand(self, size: int) -> NDArray[np.int64]:
        """Continue each of the beam's `size` games with every action. Returns the outcomes, [size × actions]."""
        _copy(self._beam, np.repeat(np.arange(size), ACTIONS), self._candidates)
        count = size * ACTIONS
        _play(self._candidates, count, np.tile(ACTION_KEYS, size))
        outcomes: NDArray[np.int64] = self._candidates.counters[:count, batch.OUTCOME].copy()
        return outcomes

    def _distinct(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first row of each distinct state: several actions have the same result where a joint is at its limit."""
        bodies = self._candidates.states[rows, :12].reshape(len(rows), -1)
        _, first = np.unique(bodies, axis=0, return_index=True)
        return rows[np.sort(first)]

    def _judge(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Worth of candidates, metres: the distance after the policy's lookahead, and the value of the state there."""
        _copy(self._candidates, rows, self._rollouts)
        games, count = self._rollouts, len(rows)
        frames_before = games.counters[:count, batch.FRAMES].copy()
        for _ in range(self._settings.lookahead):
            running = games.counters[:count, batch.OUTCOME] == batch.RUNNING
            games.orders[:count, batch.DO] = np.where(running, batch.DECIDE, batch.NOTHING)
            with torch.inference_mode():
                actions = self._network.logits(torch.from_numpy(games.observations[:count])).argmax(1).numpy()
            _play(games, count, ACTION_KEYS[actions])
        games.orders[:, batch.DO] = batch.DECIDE
        with torch.inference_mode():
            scaled = self._network.scaler(torch.from_numpy(games.observations[:count]))
            values = self._values(scaled).numpy().astype(np.float64)
        outcomes = games.counters[:count, batch.OUTCOME]
        planned = self._settings.lookahead * self._frames
        left = (frames_before + planned - games.counters[:count, batch.FRAMES]) / FRAMES_A_SECOND
        worth: NDArray[np.float64] = np.minimum(games.numbers[:count, batch.DISTANCE], batch.FINISH_SCORE) + values
        bodies = games.states[:count, :, at.X]
        worth[bodies[:, at.HURDLE_TOP] > bodies[:, at.TORSO]] -= HURDLE
        worth[outcomes == batch.FELL] = FALL
        done = outcomes == batch.FINISHED
        worth[done] = batch.FINISH_SCORE + FINISH + PACE * left[done]
        return worth

    def _best(self, rows: NDArray[np.int64], worth: NDArray[np.float64]) -> NDArray[np.int64]:
        """The rows of the next beam, best first, at most `siblings` of one parent."""
        kept: list[int] = []
        of_parent = np.zeros(self._settings.width, dtype=np.int64)
        for row in rows[np.argsort(-worth, kind="stable")]:
            parent = row // ACTIONS
            if of_parent[parent] < self._settings.siblings:
                of_parent[parent] += 1
                kept.append(int(row))
            if len(kept) == self._settings.width:
                break
        return np.array(kept)


def _trace_back(chosen: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> NDArray[np.int64]:
    """The actions of the last beam's first game, followed back through the parents and actions of each beam."""
    actions, place = [], 0
    for parents, taken in reversed(chosen):
        actions.append(int(taken[place]))
        place = int(parents[place])
    return np.array(actions[::-1], dtype=np.int64)


def _copy(source: Games, rows: NDArray[np.int64], target: Games) -> None:
    """Copy these games of `source` into the first rows of `target`."""
    for name, values in source.arrays().items():
        target.arrays()[name][: len(rows)] = values[rows]


def _play(games: Games, count: int, keys: NDArray[np.uint8]) -> None:
    """Play one decision of the first `count` games, with these keys down, uint8 [count]."""
    games.orders[:count, batch.KEYS_DOWN] = games.orders[:count, batch.FIRST_KEYS_DOWN] = keys
    games.play(0, count, False, *games.workspace)
