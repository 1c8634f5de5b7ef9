"""Beam search over saved states of the engine, for a better game than the policy's own.

In each decision, every game of the beam is continued with every action. The policy then plays the successors of the
highest value greedily for a while (a rollout, as in Tesauro and Galperin 1996). They are ranked by distance and the
value of the state reached; the best form the next beam. The engine is deterministic, so the game found can be played
again.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..common.errors import BadInput
from ..envs.engine import batch, workspace
from ..envs.engine import layout as at
from ..envs.names import ACTION_KEYS
from ..envs.qwop.task import FRAMES_A_SECOND, GameArrays, QWOPTask
from ..policies.devices import use_one_thread
from ..policies.policy import Policy
from .settings import SearchSettings

ACTIONS = len(ACTION_KEYS)

FINISH = 10.0
"""Bonus for a finish, metres, as in reward=race."""

PACE = 3.0
"""Metres per second credited for the time saved by an earlier finish."""

HURDLE = 4.0
"""Penalty, metres, while the hurdle is ahead, standing or kicked. The values underestimate it, because the policy that
they belong to pushes the hurdle along in most games."""

FALL = -1000.0
"""Score of a fall, far below that of any distance."""

NO_OPENING = np.zeros(0, dtype=np.int64)

BLOCK = 64
"""Batch size of the network, fixed so that results do not depend on the number of threads."""


class Search:
    """Beam search with a policy and its `values`.

    Games of the engine are rows of arrays (`task.GameArrays`): the beam, its candidates (every game of the beam
    with every action) and the rollouts of some of these. Columns have names: `batch` has those of orders, counters and
    numbers, `at` those of the bodies. The number of threads affects only the time. Raises BadInput for an environment
    whose games cannot be saved, and for a policy that has no values, has a state or sees images.
    """

    def __init__(self, policy: Policy, settings: SearchSettings, threads: int = 1) -> None:
        if not policy.environment.capabilities.saved_games:
            raise BadInput(
                f"{policy.environment}: its games cannot be saved, as a search needs; search with a policy of QWOP-v1"
            )
        if policy.initial_state(1) or policy.observation.is_image:
            raise BadInput(
                f"a policy of {policy.network.architecture} for {policy.observation}: a search needs a memoryless "
                "network of numbers"
            )
        if policy.values is None:
            raise BadInput(
                "a policy without values: a search needs what algorithm=ppo keeps beside the policy; continue it with "
                "qwop-finetune algorithm=ppo, a critic_only phase first"
            )
        self._network, self._values = policy.network, policy.values
        self._settings = settings
        task = QWOPTask(**{**policy.environment.settings, "max_idle_frames": 0, "delay": 0.0})
        self._frames = task.frames_per_step
        self._beam = GameArrays(task, settings.width)
        self._candidates = GameArrays(task, settings.width * ACTIONS)
        self._rollouts = GameArrays(task, settings.width * min(settings.shortlist, ACTIONS))
        self._workspaces = [workspace() for _ in range(threads)]
        # MKL would otherwise give each of these threads as many threads as there are cores.
        self._pool = ThreadPoolExecutor(threads, "search", initializer=use_one_thread)

    def run(
        self,
        idle_frames: int = 0,
        progress: Callable[[float, float], None] = lambda metres, seconds: None,
        opening: NDArray[np.int64] = NO_OPENING,
    ) -> NDArray[np.int64]:
        """Search a game that begins with `idle_frames`, followed by the actions of `opening`, int64 [k].
        Returns all of its actions, int64 [decisions], up to the finish or the end.

        `progress` is called after each decision with the distance of the beam's farthest game, metres, and the clock,
        seconds.
        """
        self._reset(idle_frames)
        for place, action in enumerate(opening):
            _play(self._beam, slice(0, 1), ACTION_KEYS[[action]], self._workspaces[0])
            if self._beam.counters[0, batch.OUTCOME] != batch.RUNNING:
                return opening[: place + 1]
        chosen: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # parents and actions of each beam
        bonus = np.zeros(1)
        while True:
            bonus = (bonus[:, None] + self._bonus(len(bonus))).flatten()
            outcomes = self._expand(len(bonus) // ACTIONS)
            finished = np.flatnonzero(outcomes == batch.FINISHED)
            if len(finished):
                finished = finished[np.argsort(-bonus[finished], kind="stable")]
                chosen.append(np.divmod(finished, ACTIONS))
                break
            alive = np.flatnonzero(outcomes == batch.RUNNING)
            if not len(alive):
                break
            listed = self._shortlist(self._distinct(alive, bonus), bonus)
            _copy(self._candidates, listed, self._rollouts)
            kept = self._best(listed, self._in_parallel(self._play_on, len(listed)) + bonus[listed])
            _copy(self._candidates, kept, self._beam)
            chosen.append(np.divmod(kept, ACTIONS))
            bonus = bonus[kept]
            numbers = self._beam.numbers[: len(kept)]
            progress(float(numbers[:, batch.DISTANCE].max()), float(numbers[0, batch.CLOCK]))
        return np.concatenate([opening, np.repeat(_trace_back(chosen), self._settings.hold)])

    def begins(self, idle_frames: int) -> bool:
        """False if a game is over after its idle frames, or after any first decision."""
        self._reset(idle_frames)
        return bool(np.isin(self._expand(1), (batch.RUNNING, batch.FINISHED)).any())

    def _reset(self, idle_frames: int) -> None:
        for games in (self._beam, self._candidates, self._rollouts):
            all_rows = np.ones(len(games.orders), dtype=np.bool_)
            games.reset(all_rows, np.full(len(games.orders), idle_frames))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _expand(self, size: int) -> NDArray[np.int64]:
        """Continue each of the beam's `size` games with every action. Returns the outcomes, [size × actions]."""
        _copy(self._beam, np.repeat(np.arange(size), ACTIONS), self._candidates)
        keys = np.tile(ACTION_KEYS, size)

        def play(rows: slice, thread: int) -> NDArray[np.float64]:
            counters, orders = self._candidates.counters[rows], self._candidates.orders[rows]
            for held in range(self._settings.hold):
                if held:
                    over = counters[:, batch.OUTCOME] != batch.RUNNING
                    orders[:, batch.DO] = np.where(over, batch.NOTHING, batch.DECIDE)
                _play(self._candidates, rows, keys[rows], self._workspaces[thread])
            orders[:, batch.DO] = batch.DECIDE
            return np.zeros(0)

        self._in_parallel(play, len(keys))
        outcomes: NDArray[np.int64] = self._candidates.counters[: len(keys), batch.OUTCOME].copy()
        return outcomes

    def _bonus(self, size: int) -> NDArray[np.float64]:
        """Worth of each action's probability in each of the beam's `size` games, float64 [size, actions]:
        likelihood·log π(a|s) − regret·(max_b log π(b|s) − log π(a|s))."""

        def log_probabilities(part: slice, thread: int) -> NDArray[np.float64]:
            return self._forward(lambda seen: self._network.logits(seen).log_softmax(-1), self._beam.observations[part])

        log_pi = self._in_parallel(log_probabilities, size)
        how, most = self._settings, log_pi.max(axis=1, keepdims=True)
        bonus: NDArray[np.float64] = how.likelihood * log_pi - how.regret * (most - log_pi)
        return bonus

    def _distinct(self, rows: NDArray[np.int64], bonus: NDArray[np.float64]) -> NDArray[np.int64]:
        """The row of the largest bonus of each distinct state: several actions have the same result where a joint is at
        its limit."""
        rows = rows[np.argsort(-bonus[rows], kind="stable")]
        bodies = self._candidates.states[rows, :12].reshape(len(rows), -1)
        _, first = np.unique(bodies, axis=0, return_index=True)
        return np.sort(rows[first])

    def _shortlist(self, rows: NDArray[np.int64], bonus: NDArray[np.float64]) -> NDArray[np.int64]:
        """The candidates of the best value and bonus, up to `shortlist` for each game of the beam, in their order."""
        most = len(bonus) // ACTIONS * self._settings.shortlist
        if len(rows) <= most:
            return rows

        def judge(part: slice, thread: int) -> NDArray[np.float64]:
            return self._worth(self._candidates, rows[part]) + bonus[rows[part]]

        worth = self._in_parallel(judge, len(rows))
        return np.sort(rows[np.argsort(-worth, kind="stable")[:most]])

    def _play_on(self, rows: slice, thread: int) -> NDArray[np.float64]:
        """Let the policy continue these rollouts, and return their worth, float64 [rows]."""
        games, every = self._rollouts, np.arange(rows.start, rows.stop)
        counters, orders = games.counters[rows], games.orders[rows]
        before = counters[:, batch.FRAMES].copy()
        for _ in range(self._settings.lookahead):
            orders[:, batch.DO] = np.where(counters[:, batch.OUTCOME] == batch.RUNNING, batch.DECIDE, batch.NOTHING)
            actions = self._forward(self._network.logits, games.observations[rows]).argmax(1)
            _play(games, rows, ACTION_KEYS[actions], self._workspaces[thread])
        orders[:, batch.DO] = batch.DECIDE
        worth = self._worth(games, every)
        outcomes = counters[:, batch.OUTCOME]
        worth[outcomes == batch.FELL] = FALL
        planned = self._settings.lookahead * self._frames
        left = (before + planned - counters[:, batch.FRAMES]) / FRAMES_A_SECOND
        done = outcomes == batch.FINISHED
        worth[done] = batch.FINISH_SCORE + FINISH + PACE * left[done]
        return worth

    def _worth(self, games: GameArrays, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Worth of games under way, metres: their distance and the value of their state."""
        values = self._forward(lambda seen: self._values(self._network.scaler(seen)), games.observations[rows])
        worth: NDArray[np.float64] = np.minimum(games.numbers[rows, batch.DISTANCE], batch.FINISH_SCORE) + values
        hurdle, torso = (games.reals[rows, 6 * body + at.X] for body in (at.HURDLE_TOP, at.TORSO))
        worth[hurdle > torso] -= HURDLE
        return worth

    def _forward(self, network: Callable[[Tensor], Tensor], observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """Apply a network to up to `BLOCK` observations, padded to that many."""
        padded = np.zeros((BLOCK, *observations.shape[1:]), dtype=np.float32)
        padded[: len(observations)] = observations
        with torch.inference_mode():
            return network(torch.from_numpy(padded))[: len(observations)].numpy().astype(np.float64)

    def _in_parallel(self, of: Callable[[slice, int], NDArray[np.float64]], count: int) -> NDArray[np.float64]:
        """Call `of` with blocks of rows and the number of the thread; returns what it returned, joined."""
        blocks = [slice(first, min(first + BLOCK, count)) for first in range(0, count, BLOCK)]
        threads = len(self._workspaces)

        def share(thread: int) -> list[NDArray[np.float64]]:
            return [of(block, thread) for block in blocks[thread::threads]]

        results: list[NDArray[np.float64]] = [np.zeros(0)] * len(blocks)
        for thread, found in enumerate(self._pool.map(share, range(threads))):
            results[thread::threads] = found
        return np.concatenate(results)

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


def _copy(source: GameArrays, rows: NDArray[np.int64], target: GameArrays) -> None:
    """Copy these games of `source` into the first rows of `target`."""
    for name, values in source.arrays().items():
        target.arrays()[name][: len(rows)] = values[rows]


def _play(
    games: GameArrays,
    rows: slice,
    keys: NDArray[np.uint8],
    space: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> None:
    """Play one decision of these games, with these keys down, uint8 [rows]."""
    games.orders[rows, batch.KEYS_DOWN] = games.orders[rows, batch.FIRST_KEYS_DOWN] = keys
    games.play(rows.start, rows.stop, False, *space)
