"""Many Atari games at once, each played and preprocessed by ale-py in its own thread."""

from collections.abc import Sequence
from typing import Any

import ale_py
import numpy as np
from ale_py import roms
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from ...common.errors import BadInput
from ..vector import Infos, OwnVectorEnv, Step, autoreset_mode_of, final_infos, reset_mask_of, seeds_of
from .task import AtariTask, console_seed

ONLY, FULL_STRENGTH = np.zeros(1, dtype=np.int64), np.ones(1)
"""Number of an interface's one game, and the strength of its paddle."""

SEED_STAYS = -1
"""ale-py's seed for a game that continues the random numbers of the one before."""

RESTART = -1
"""Marks a reset without a seed among the actions of a game."""

LONGEST_HISTORY = 5000
"""Decisions after which the next game gets a new seed, so that few must be replayed to continue it. A seed costs ale-py
a fifth of a second."""


class AtariVectorEnv(OwnVectorEnv):
    """n games with the same observations as `AtariEnv`: environment i is an `AtariEnv` reset with seed + i. (Only the
    last picture of a game that ends in the middle of a decision may be another; nothing follows it.)

    A game that ends begins again in the same step (`autoreset_mode` "SameStep"); when any did, `infos` has `final_obs`
    ([n, *shape]) and `final_info`, valid where `_final_obs` is true. `infos["lives"]` are those of the step just
    played. `reset(seed=…, options={"reset_mask": m})` is as in `QWOPVectorEnv`.

    training: a lost life counts as `terminated`, though the game goes on; `infos["game_goes_on"]`, bool [n], is true in
    such a step. idle_limit: decisions in a row without a reward or a lost life after which a game is truncated (an
    agent may never press FIRE again, and the game then never ends).

    `get_state` and `set_state` continue games exactly, by playing them again from their seeds.

    Each game is an interface of ale-py's vector environment for one game: in version 0.11 an interface for several can
    neither be reset in part nor show the last picture of a game that ended. All of them play at once; one is as fast.
    """

    metadata = {  # noqa: RUF012  (Gymnasium's form)
        "render_modes": [],
        "render_fps": 15,
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "same_games_as_single": True,
    }

    def __init__(
        self,
        num_envs: int,
        game: str,
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        training: bool = False,
        idle_limit: int | None = None,
        **task: Any,
    ) -> None:
        if num_envs < 1:
            raise BadInput(f"num_envs={num_envs}: expected at least 1")
        if autoreset_mode_of(autoreset_mode) is not AutoresetMode.SAME_STEP:
            raise BadInput(f"autoreset_mode={autoreset_mode}: Atari's games begin again in the same step (SameStep)")
        if render_mode is not None:
            raise BadInput(f"render_mode={render_mode!r}: many Atari games are not drawn; make one")
        if idle_limit is not None and idle_limit < 1:
            raise BadInput(f"idle_limit={idle_limit}: expected at least 1 decision")
        self.task = AtariTask(**task)
        self._training, self._idle_limit = training, idle_limit
        self._games = [_game(game, self.task) for _ in range(num_envs)]
        rate, actions = self.task.decisions_per_second, len(self._games[0].get_action_set())
        self._declare(num_envs, None, AutoresetMode.SAME_STEP, rate, self.task.observation_space, actions)
        self._observations = np.zeros((num_envs, *self.task.observation_space.shape), dtype=np.uint8)
        self._lives = np.zeros(num_envs, dtype=np.int64)
        self._idle = np.zeros(num_envs, dtype=np.int64)
        self._decisions = np.zeros(num_envs, dtype=np.int64)
        self._seeds = np.array([console_seed(one) for one in np.random.SeedSequence().generate_state(num_envs)])
        self._seeded = np.zeros(num_envs, dtype=np.bool_)
        self._history: list[list[int]] = [[] for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], Infos]:
        mask, seeds = reset_mask_of(options, self.num_envs), seeds_of(seed, self.num_envs)
        for row in np.flatnonzero(mask).tolist():
            one = seeds[row]
            if one is not None or not self._seeded[row]:
                self._begin_from_seed(row, int(self._seeds[row]) if one is None else console_seed(one))
            else:
                self._history[row].append(RESTART)
                self._begin(row, SEED_STAYS)
        return self._observations.copy(), {"lives": self._lives.copy(), "_lives": mask}

    def step(self, actions: Any) -> Step:
        before = self._lives.copy()
        rewards, terminated, truncated = self._play(range(self.num_envs), np.asarray(actions, dtype=np.int64).tolist())
        over = terminated | truncated
        lost = self._lives < before
        every = np.ones(self.num_envs, dtype=np.bool_)
        infos: Infos = {"lives": self._lives.copy(), "_lives": every}
        if over.any():
            infos |= final_infos(self._observations.copy(), {"lives": self._lives.copy()}, over)
            self._begin_after(over)
        if self._training:
            infos |= {"game_goes_on": lost & ~over, "_game_goes_on": every}
            terminated = terminated | lost
        return self._observations.copy(), rewards, terminated, truncated, infos

    def get_state(self) -> dict[str, object]:
        """Return the seeds and actions that led to the games under way, for `set_state`."""
        return {
            "seeds": self._seeds.copy(),
            "actions": [np.array(actions, dtype=np.int8) for actions in self._history],
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue the games that `get_state` found under way, by playing them again: less than a minute."""
        actions = [np.asarray(one).tolist() for one in state["actions"]]
        for row, seed in enumerate(np.asarray(state["seeds"]).tolist()):
            self._begin_from_seed(row, seed)
        for number in range(max(map(len, actions))):
            rows = [row for row in range(self.num_envs) if number < len(actions[row])]
            for row in [row for row in rows if actions[row][number] == RESTART]:
                self._history[row].append(RESTART)
                self._begin(row, SEED_STAYS)
                rows.remove(row)
            _, terminated, truncated = self._play(rows, [actions[row][number] for row in rows])
            self._begin_after(terminated | truncated)

    def _play(
        self, rows: Sequence[int], actions: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Make one decision in each of these rows; return rewards, terminated and truncated of all rows."""
        n = self.num_envs
        rewards, terminated, truncated = np.zeros(n), np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        for row, action in zip(rows, actions, strict=True):
            self._history[row].append(action)
            self._games[row].send(np.array([action]), FULL_STRENGTH)
        for row in rows:
            seen, (rewards[row],), (terminated[row],), (truncated[row],), info = self._games[row].recv()
            self._observations[row] = seen[0]
            lives = info["lives"][0]
            eventful = rewards[row] != 0 or lives < self._lives[row]
            self._lives[row] = lives
            self._decisions[row] += 1
            self._idle[row] = 0 if eventful else self._idle[row] + 1
            if self._idle_limit is not None and self._idle[row] >= self._idle_limit:
                truncated[row] = True
        self._blacken()
        return rewards, terminated, truncated

    def _begin_after(self, over: NDArray[np.bool_]) -> None:
        """Begin the games that follow those that are over."""
        for row in np.flatnonzero(over).tolist():
            if len(self._history[row]) < LONGEST_HISTORY:
                self._begin(row, SEED_STAYS)
            else:
                self._begin_from_seed(row, console_seed(int(self._seeds[row]) + self.num_envs))

    def _begin_from_seed(self, row: int, seed: int) -> None:
        self._seeds[row], self._seeded[row] = seed, True
        self._history[row].clear()
        self._begin(row, seed)

    def _begin(self, row: int, seed: int) -> None:
        """Begin a game in one row."""
        (self._observations[row],), info = self._games[row].reset(ONLY, np.array([seed]))
        self._lives[row] = info["lives"][0]
        self._idle[row] = self._decisions[row] = 0
        self._blacken()

    def _blacken(self) -> None:
        """Blacken the pictures before a game began: ale-py 0.11 leaves the newest of the game before among them."""
        for row in np.flatnonzero(self._decisions < self.task.stack - 1).tolist():
            self._observations[row, : self.task.stack - 1 - self._decisions[row]] = 0


def _game(name: str, task: AtariTask) -> ale_py.ALEVectorInterface:
    path = roms.get_rom_path(name)
    if path is None:
        raise BadInput(f"game={name}: ale-py has no such game")
    return ale_py.ALEVectorInterface(
        rom_path=path,
        num_envs=1,
        batch_size=0,
        num_threads=1,
        thread_affinity_offset=-1,
        frame_skip=task.frameskip,
        stack_num=task.stack,
        img_height=task.size,
        img_width=task.size,
        noop_max=task.noop_max,
        use_fire_reset=task.fire,
        maxpool=True,
        episodic_life=False,
        life_loss_info=False,
        reward_clipping=False,
        max_episode_steps=task.longest,  # decisions, although ale-py calls them frames
        repeat_action_probability=task.repeat_action_probability,
        full_action_space=task.full_action_space,
    )
