"""Many Atari games at once, played and preprocessed by ale-py's own vector environment in threads."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from ale_py.vector_env import AtariVectorEnv as Consoles
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from ...common.errors import BadInput
from ..vector import Infos, OwnVectorEnv, Step, final_infos, require_count, reset_mask_of, seeds_of
from .env import AtariTask, console_seed

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
    """

    metadata = {  # noqa: RUF012  (Gymnasium's form)
        "render_modes": [],
        "render_fps": 15,
        "autoreset_mode": AutoresetMode.SAME_STEP,
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
        require_count("num_envs", num_envs)
        if autoreset_mode not in (AutoresetMode.SAME_STEP, AutoresetMode.SAME_STEP.value):
            raise BadInput(f"autoreset_mode={autoreset_mode}: Atari's games begin again in the same step (SameStep)")
        if render_mode is not None:
            raise BadInput(f"render_mode={render_mode!r}: many Atari games are not drawn; make one")
        if idle_limit is not None:
            require_count("idle_limit", idle_limit)
        self.task = own = AtariTask(**task)
        self._training, self._idle_limit = training, idle_limit
        self._games = Consoles(
            game,
            num_envs,
            max_num_frames_per_episode=own.longest * own.frameskip,
            repeat_action_probability=own.repeat_action_probability,
            full_action_space=own.full_action_space,
            autoreset_mode=AutoresetMode.SAME_STEP,
            img_height=own.size,
            img_width=own.size,
            stack_num=own.stack,
            frameskip=own.frameskip,
            noop_max=own.noop_max,
            use_fire_reset=own.fire,
            reward_clipping=False,
        )
        actions = len(self._games.ale.get_action_set())
        rate = own.decisions_per_second
        self._declare(num_envs, None, AutoresetMode.SAME_STEP, rate, own.observation_space, actions)
        self._lives = np.zeros(num_envs, dtype=np.int64)
        self._idle = np.zeros(num_envs, dtype=np.int64)
        self._seeds = np.array([console_seed(one) for one in np.random.SeedSequence().generate_state(num_envs)])
        self._seeded = np.zeros(num_envs, dtype=np.bool_)
        self._history: list[list[int]] = [[] for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], Infos]:
        self._require_open()
        mask, seeds = reset_mask_of(options, self.num_envs), seeds_of(seed, self.num_envs)
        self._require_a_game(self._seeded | mask)
        new = ~self._seeded  # ale-py begins all games at first
        for row in np.flatnonzero(mask).tolist():
            if (one := seeds[row]) is not None:
                self._seeds[row], new[row] = console_seed(one), True
        observations = self._begin_from_seeds(new) if new.any() else None
        if observations is None or (mask & ~new).any():
            observations = self._restart(mask & ~new)
        return observations, {"lives": self._lives.copy(), "_lives": mask}

    def step(self, actions: Any) -> Step:
        self._require_open()
        before = self._lives
        observations, rewards, terminated, truncated, lives, final = self._play(np.asarray(actions, dtype=np.int64))
        over, every = terminated | truncated, np.ones(self.num_envs, dtype=np.bool_)
        infos: Infos = {"lives": lives, "_lives": every}
        if final is not None:
            infos |= final_infos(final, {"lives": lives.copy()}, over)
        if self._training:
            lost = lives < before
            infos |= {"game_goes_on": lost & ~over, "_game_goes_on": every}
            terminated = terminated | lost
        return observations, rewards, terminated, truncated, infos

    def get_state(self) -> dict[str, object]:
        """Return the seeds and actions that led to the games under way, for `set_state`."""
        return {
            "seeds": self._seeds.copy(),
            "actions": [np.array(actions, dtype=np.int8) for actions in self._history],
        }

    def set_state(self, state: dict[str, Any]) -> NDArray[np.uint8]:
        """Continue the games that `get_state` found under way, by playing them again: less than a minute. Returns the
        observations.

        All are stepped together, so those of fewer decisions begin later.
        """
        self._seeds[:] = np.asarray(state["seeds"])
        histories = [np.asarray(one).tolist() for one in state["actions"]]
        decisions = np.array([len(one) - one.count(RESTART) for one in histories])
        seeds, begins, queues = self._seeds.copy(), decisions.max() - decisions, [*map(deque, histories)]
        observations = self._begin_from_seeds(~self._seeded)
        for decision in range(decisions.max() + 1):
            if (new := begins == decision).any():
                self._seeds[new] = seeds[new]
                observations = self._begin_from_seeds(new)
            while (again := np.array([bool(one) and one[0] == RESTART for one in queues]) & (begins <= decision)).any():
                for row in np.flatnonzero(again):
                    queues[row].popleft()
                observations = self._restart(again)
            if decision < decisions.max():
                actions = [one.popleft() if begins[row] <= decision else 0 for row, one in enumerate(queues)]
                observations, *_ = self._play(np.array(actions))
        return observations

    def _play(self, actions: NDArray[np.int64]) -> tuple[Any, ...]:
        """Make a decision in every game; return observations, rewards, terminated, truncated, lives and, where any
        ended, the last observations."""
        for history, action in zip(self._history, actions.tolist(), strict=True):
            history.append(action)
        observations, paid, terminated, truncated, infos = self._games.step(actions)
        rewards, now = paid.astype(np.float64), infos["lives"].astype(np.int64)
        # ale-py has begun the next game, whose lives these are; a game that is over has none left.
        lives = np.where(terminated, 0, np.where(truncated, self._lives, now))
        self._idle = np.where((rewards != 0) | (lives < self._lives), 0, self._idle + 1)
        self._lives = now
        over = terminated | truncated
        stale = ~over & (self._idle >= (self._idle_limit or np.inf))
        if not (over | stale).any():
            return observations, rewards, terminated, truncated, lives, None
        final = infos["final_obs"] if over.any() else observations
        final = np.where(stale[:, None, None, None], observations, final)
        self._idle[over] = 0
        long = (over | stale) & (np.array([*map(len, self._history)]) >= LONGEST_HISTORY)
        if (stale & ~long).any():
            observations = self._begin(stale & ~long)
        if long.any():
            self._seeds[long] = [console_seed(int(one) + self.num_envs) for one in self._seeds[long]]
            observations = self._begin_from_seeds(long)
        return observations, rewards, terminated, truncated | stale, lives, final

    def _restart(self, mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Begin other games of the same random numbers where `mask`, bool [n], is true; return all observations."""
        for row in np.flatnonzero(mask).tolist():
            self._history[row].append(RESTART)
        return self._begin(mask)

    def _begin_from_seeds(self, mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
        for row in np.flatnonzero(mask).tolist():
            self._history[row].clear()
        self._seeded |= mask
        return self._begin(mask, self._seeds[mask])

    def _begin(self, mask: NDArray[np.bool_], seeds: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        observations, infos = self._games.reset(seed=seeds, options={"reset_mask": mask})
        self._lives = infos["lives"].astype(np.int64)
        self._idle[mask] = 0
        return observations  # type: ignore[no-any-return]
