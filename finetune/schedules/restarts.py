"""Games that start from saved ones, of earlier games or of demonstrations, for practice far from the start."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.from_keys import states_along
from ...datasets.reader import Dataset
from ...datasets.schema import Episode
from ...envs.engine.batch import DISTANCE
from ...envs.names import outcome_name
from ...envs.qwop.env import QWOPEnv
from ...envs.qwop.vector import QWOPVectorEnv
from ...envs.spec import EnvironmentSpec, Observations
from ...envs.vector import Infos
from .phase import RestartSettings

CAPACITY = 256
"""Largest number of saved states of earlier games; beyond it, a new one replaces a random one."""

KEEP_SHARE = 0.25
"""Probability, for each step in which some game is in the stretch, of saving one of these games."""

NOT_BEFORE, NOT_AFTER = 5, 1
"""Whole seconds before a fall between which states are kept: enough time to prevent it, and little more."""

EVERY = 10
"""Frames between two states of a demonstration."""

LEFT = 10.0
"""Minimum seconds from a state to the game's time limit."""

SavedGame = dict[str, Any]
"""A game saved by `QWOPVectorEnv.save_game`."""

_BEGUN = {"idle": 0, "commands": np.zeros(0, dtype=np.uint8)}


class Restarts(VectorWrapper):
    """Games of QWOP, some of which start from a saved state.

    With `states`, such as those of demonstrations, all of them are available from the beginning; they are not part of
    checkpoints. Otherwise states are saved from earlier games of this vector environment that began at the real start:
    at most `CAPACITY`, in which a new one replaces a random one, so they track the current policy. From live games
    these are occasional states between the settings' metres. From falls it is one state a second, `NOT_BEFORE` to
    `NOT_AFTER` seconds before the fall: the policy fails from these states, so games practise its mistakes.

    `infos["restarted"]`, bool [n], is true for steps of games that started from a saved state; their time and metres
    include those of the earlier game. With `settings.seconds` these games are truncated.
    """

    def __init__(
        self, env: QWOPVectorEnv, settings: RestartSettings, states: Sequence[SavedGame] | None = None
    ) -> None:
        super().__init__(env)
        self._qwop, self._settings = env, settings
        self._generator = np.random.default_rng(0)
        self._saves, self._games = states is None, [*(states or ())]
        self._recent: list[deque[SavedGame]] = [deque(maxlen=NOT_BEFORE) for _ in range(env.num_envs)]
        """The newest states of each game, one a second, where those before falls are saved."""
        self._ages, self._steps = np.zeros((2, env.num_envs), dtype=np.int64)
        self._restarted = np.zeros(env.num_envs, dtype=np.bool_)
        self._a_second = max(round(env.task.decisions_per_second), 1)
        seconds = settings.seconds
        self._most = None if seconds is None else max(round(seconds * env.task.decisions_per_second), 1)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        if isinstance(seed, int):
            self._generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state
        if self._saves:
            self._games = []
        for recent in self._recent:
            recent.clear()
        self._restarted[:] = False
        self._ages[:] = self._steps[:] = 0
        return self._qwop.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Infos]:
        observations, rewards, terminated, truncated, infos = self._qwop.step(actions)
        infos["restarted"] = self._restarted.copy()
        finished = terminated | truncated
        if self._saves:
            self._save(infos, finished, ~self._restarted)
        self._steps += 1
        if self._most is not None:
            over = self._restarted & ~finished & (self._steps >= self._most)
            if over.any():
                observations = self._end(over, observations, infos)
                truncated, finished = truncated | over, finished | over
        for row in np.flatnonzero(finished):
            self._steps[row] = 0
            self._restarted[row] = bool(self._games) and self._generator.random() < self._settings.share
            if self._restarted[row]:
                game = self._games[int(self._generator.integers(len(self._games)))]
                observations[row] = self._qwop.put_game(int(row), game)
        return observations, rewards, terminated, truncated, infos

    def _save(self, infos: Infos, ends: NDArray[np.bool_], whole: NDArray[np.bool_]) -> None:
        """Save states of the current step. ends, whole: bool [n], games that are over, and that began at the real
        start."""
        low, high = self._settings.metres
        if self._settings.source != "falls":
            rows = np.flatnonzero(~ends & whole & (low <= infos["distance"]) & (infos["distance"] < high))
            if len(rows) and self._generator.random() < KEEP_SHARE:
                self._keep(self._qwop.save_game(int(self._generator.choice(rows))))
            return
        self._ages += 1
        for row in np.flatnonzero(whole & ~ends & (self._ages % self._a_second == 0)):
            self._recent[row].append(self._qwop.save_game(int(row)))
        for row in np.flatnonzero(ends):
            if whole[row] and outcome_name(infos["outcome"][row]) == "fell":
                for game in list(self._recent[row])[:-NOT_AFTER]:
                    if low <= game["numbers"][DISTANCE] < high:
                        self._keep(game)
            self._recent[row].clear()
            self._ages[row] = 0

    def _keep(self, game: SavedGame) -> None:
        if len(self._games) < CAPACITY:
            self._games.append(game)
        else:
            self._games[int(self._generator.integers(CAPACITY))] = game

    def get_state(self) -> dict[str, object]:
        """State for `set_state`, without the states of demonstrations, which the constructor sets."""
        return {
            "env": self._qwop.get_state(),
            "saved": _to_plain(self._games if self._saves else ()),
            "recent": [*map(_to_plain, self._recent)],
            "ages": self._ages.copy(),
            "restarted": self._restarted.copy(),
            "steps": self._steps.copy(),
            "generator": self._generator.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> NDArray[np.float32]:
        if self._saves:
            self._games = self._qwop.played_again(state["saved"])
        self._recent = [deque(self._qwop.played_again(recent), maxlen=NOT_BEFORE) for recent in state["recent"]]
        self._ages[:], self._steps[:] = state["ages"], state["steps"]
        self._restarted[:] = state["restarted"]
        self._generator.bit_generator.state = state["generator"]
        return self._qwop.set_state(state["env"], self._games)

    def _end(self, over: NDArray[np.bool_], observations: Observations, infos: Infos) -> NDArray[Any]:
        """End the games in `over` that are still running after the current step; return all next observations.

        Fills the infos as `QWOPVectorEnv.step` does for a finished game.
        """
        running = {name: value for name, value in infos.items() if not name.startswith("_")}
        final = infos.get("final_obs", observations)
        rows = over.reshape(-1, *[1] * (observations.ndim - 1))
        infos["final_info"] = infos.get("final_info", running)
        infos["final_obs"] = np.where(rows, observations, final)
        infos["_final_obs"] = infos["_final_info"] = over | infos.get("_final_obs", False)
        observations, _ = self._qwop.reset(options={"reset_mask": over})
        return observations


def _to_plain(games: Iterable[SavedGame]) -> list[SavedGame]:
    """The games for `QWOPVectorEnv.played_again`."""
    return [{"idle": one["idle"], "commands": one["commands"]} for one in games]


def demonstrated_states(
    dataset: Dataset, environment: EnvironmentSpec, metres: tuple[float, ...]
) -> tuple[SavedGame, ...]:
    """Replay every episode and save its state every `EVERY` frames between these metres.

    environment: the one in which games will continue; its observations, decision rate and rewards may differ from the
    dataset's. Raises BadInput if an episode has no keys, or if there is no state between these metres.
    """
    env = environment.make(max_idle_frames=0, delay=0.0).unwrapped
    assert isinstance(env, QWOPEnv)
    env.reset()
    low, high = metres
    latest = env.task.time_limit - LEFT
    games: list[SavedGame] = []
    for path, episode in zip(dataset.files, dataset, strict=True):
        if episode.keys is None:
            raise BadInput(
                f"{path}: has no keys to replay, so no game can start from its states; leave out restarts.source, or "
                "give demonstrations with keys"
            )
        for info, game in _states(env, episode):
            if low <= info["distance"] < high and info["clock"] <= latest:
                games.append({**game, **_BEGUN, "origin": len(games)})
    if not games:
        raise BadInput(
            f"restarts.metres={list(metres)}: no demonstration in {dataset.folder} passes there {LEFT:g} s before the "
            f"phase's time limit of {env.task.time_limit:g} s; widen the stretch, or raise time_limit"
        )
    return tuple(games)


def _states(env: QWOPEnv, episode: Episode) -> Iterator[tuple[dict[str, Any], SavedGame]]:
    """Yield the info and the saved game every `EVERY` frames of an episode, to the end of the game."""
    keys = np.concatenate(episode.keys or ())
    frames = np.arange(EVERY, len(keys), EVERY)
    # Play the last frame before each state in `env`, so that it updates its observation and infos.
    for frame, page in zip(frames, states_along(episode, frames - 1), strict=True):
        env.continue_from(page, keys[: frame - 1])
        _, _, terminated, _, info = env.advance(int(keys[frame - 1]))
        if terminated:
            return
        yield info, env.save_game()
