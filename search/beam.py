"""A game better than its policy plays: search over saved states, judged by how far the policy gets from each of them.

Decision by decision, every game of a small company is continued with every action; what comes of it is played on
greedily by the policy for a while and judged by its metres and the value of where it stands (a rollout, as in Tesauro
and Galperin 1996, inside a beam). The game is exact and has no chance in it, so what is found can be played.
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
"""What a finish is worth besides metres, as in reward=race."""

PACE = 3.0
"""Metres a second that a game is taken to have run on after its finish, so that earlier ones are better."""

HURDLE = 4.0
"""Metres that the hurdle costs while it is ahead, standing or kicked: more than the values know, for the policy that
they were learned with pushes it along in most of its games."""

FALL = -1000.0
"""What a fall is worth, beside which metres are nothing."""


@dataclass(frozen=True)
class SearchSettings:
    """width: games that are followed at once. lookahead: decisions that the policy plays on before a candidate is
    judged. siblings: successors of one game that are kept at most, so that the company does not become one family."""

    width: int = 16
    lookahead: int = 20
    siblings: int = 3

    def __post_init__(self) -> None:
        for name in ("width", "lookahead", "siblings"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name}={getattr(self, name)}: expected at least 1")


class Search:
    """One game, found decision by decision. `values` are those that were learned beside the policy."""

    def __init__(self, policy: Policy, values: Values, settings: SearchSettings) -> None:
        if not policy.environment.capabilities.saved_games:
            raise BadInput(f"{policy.environment}: only games of QWOP-v1 can be saved and continued")
        if not isinstance(policy.network, VectorNetwork):
            raise BadInput(f"a policy of {policy.network.architecture}: only memoryless networks of numbers can search")
        self._network = policy.network
        self._values = values
        self._settings = settings
        task = QWOPTask(**{**policy.environment.settings, "max_idle_frames": 0, "delay": 0.0})
        self._frames = task.frames_per_step
        self._company = Games(task, settings.width)
        self._candidates = Games(task, settings.width * ACTIONS)
        self._rollouts = Games(task, settings.width * ACTIONS)

    def run(
        self, idle_frames: int = 0, progress: Callable[[float, float], None] = lambda metres, seconds: None
    ) -> NDArray[np.int64]:
        """The actions of the game found, int64 [decisions], after so many idle frames: to its finish, or as far as it
        got.

        progress is told the metres of the company's farthest game and the seconds of its clock.
        """
        for games in (self._company, self._candidates, self._rollouts):
            everyone = np.ones(len(games.orders), dtype=np.bool_)
            games.reset(everyone, np.full(len(games.orders), idle_frames))
        chosen: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # parents and actions of the company
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
            _copy(self._candidates, kept, self._company)
            chosen.append(np.divmod(kept, ACTIONS))
            size = len(kept)
            numbers = self._company.numbers[:size]
            progress(float(numbers[:, batch.DISTANCE].max()), float(numbers[0, batch.CLOCK]))
        return _followed(chosen)

    def _expand(self, size: int) -> NDArray[np.int64]:
        """Continue each game of the company with every action; outcomes [size × actions]."""
        _copy(self._company, np.repeat(np.arange(size), ACTIONS), self._candidates)
        count = size * ACTIONS
        _play(self._candidates, count, np.tile(ACTION_KEYS, size))
        outcomes: NDArray[np.int64] = self._candidates.counters[:count, batch.OUTCOME].copy()
        return outcomes

    def _distinct(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """One of each state: many actions come to the same where a joint is at its limit."""
        bodies = self._candidates.states[rows, :12].reshape(len(rows), -1)
        _, first = np.unique(bodies, axis=0, return_index=True)
        return rows[np.sort(first)]

    def _judge(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """What candidates are worth, metres: where the policy stands after the lookahead, and the value of that."""
        _copy(self._candidates, rows, self._rollouts)
        games, count = self._rollouts, len(rows)
        before = games.counters[:count, batch.FRAMES].copy()
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
        left = (before + planned - games.counters[:count, batch.FRAMES]) / FRAMES_A_SECOND
        worth: NDArray[np.float64] = np.minimum(games.numbers[:count, batch.DISTANCE], batch.FINISH_SCORE) + values
        bodies = games.states[:count, :, at.X]
        worth[bodies[:, at.HURDLE_TOP] > bodies[:, at.TORSO]] -= HURDLE
        worth[outcomes == batch.FELL] = FALL
        done = outcomes == batch.FINISHED
        worth[done] = batch.FINISH_SCORE + FINISH + PACE * left[done]
        return worth

    def _best(self, rows: NDArray[np.int64], worth: NDArray[np.float64]) -> NDArray[np.int64]:
        """The rows to go on with, the best first, not too many of one parent."""
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


def _followed(chosen: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> NDArray[np.int64]:
    """The actions of the first game of the last company, from parents and actions of every company."""
    actions, place = [], 0
    for parents, taken in reversed(chosen):
        actions.append(int(taken[place]))
        place = int(parents[place])
    return np.array(actions[::-1], dtype=np.int64)


def _copy(source: Games, rows: NDArray[np.int64], target: Games) -> None:
    """Put these games of `source` into the first rows of `target`."""
    for name, values in source.arrays().items():
        target.arrays()[name][: len(rows)] = values[rows]


def _play(games: Games, count: int, keys: NDArray[np.uint8]) -> None:
    """A decision of the first `count` games, with these keys down."""
    games.orders[:count, batch.KEYS_DOWN] = games.orders[:count, batch.FIRST_KEYS_DOWN] = keys
    games.play(0, count, False, *games.workspace)
