"""Rollouts: games of a policy, many at a time."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.ends import close_after_use
from ..common.errors import BadInput
from ..envs.names import keys_of_decisions, outcome_name
from ..envs.qwop.vector import QWOPVectorEnv
from ..envs.spec import EnvironmentSpec, Observations, interface_of
from ..envs.vector import VectorEnv, make_vector, values_of_step
from .networks import put_rows, reset_rows, select_rows
from .policy import Policy, choose


@dataclass(frozen=True)
class Game:
    """One complete game of T decisions.

    observations: [T + 1, *shape] of the environment's type. actions: int16 [T]. probabilities: float32 [T, A], what the
    actions were drawn with (one-hot if greedy). rewards: float32 [T]. times: float64 [T + 1], seconds of the game
    clock, or decisions in an environment without a clock. keys: for each decision, the keys that were down in each of
    its frames, uint8 [frames]; idle frames at the start belong to the first decision. None in an environment without
    frames. info: of the last step. seed: what the environment was reset with. index: the game's number.
    """

    observations: Observations
    actions: NDArray[np.int16]
    probabilities: NDArray[np.float32]
    rewards: NDArray[np.float32]
    times: NDArray[np.float64]
    keys: tuple[NDArray[np.uint8], ...] | None
    terminated: bool
    truncated: bool
    outcome: str
    info: dict[str, Any]
    seed: int
    index: int

    def __len__(self) -> int:
        return len(self.actions)


def play(
    policy: Policy,
    *,
    episodes: int,
    seed: int,
    greedy: bool,
    num_envs: int = 64,
    max_idle_frames: int = 0,
    idle_frames: Sequence[int] | None = None,
    idle_limit: int | None = None,
    keep_observations: bool = True,
    environment: EnvironmentSpec | None = None,
    first: int = 0,
    ordered: bool = True,
) -> Iterator[Game]:
    """Play `episodes` games of `seed`, numbered from `first`, up to `num_envs` of them at a time.

    They come in order or, unless `ordered`, each as soon as it has ended. Game k depends only on (seed, k), not on
    `num_envs`: it has its own reset seed, its own generator and its own row of the policy's state. Every game is played
    to its end, so that short games are not over-represented; where the environment sets no end, `default_limit` does.
    QWOP's games begin with 0 to `max_idle_frames` frames without a key, drawn, or game k with `idle_frames[k - first]`.
    Atari's end after `idle_limit` decisions in which nothing happens, if it is given. Without `keep_observations` a
    game keeps only its last one, which saves much memory with pictures. `environment` is the policy's own unless
    another of the same shapes is given. Raises BadInput for counts below 1, a negative `seed` or `first`,
    `idle_frames` that are not one for each game, and an environment of other shapes.
    """
    numbers = (("episodes", episodes, 1), ("num_envs", num_envs, 1), ("seed", seed, 0), ("first", first, 0))
    for name, value, least in numbers:
        if value < least:
            raise BadInput(f"{name}={value}: expected at least {least}")
    if idle_frames is not None and len(idle_frames) != episodes:
        raise BadInput(f"idle_frames has {len(idle_frames)} numbers, expected one for each of {episodes} episodes")
    spec = environment or policy.environment
    more: dict[str, Any] = {"max_idle_frames": max_idle_frames} if max_idle_frames else {}
    if (limit := spec.default_limit) is not None:
        more["max_episode_steps"] = limit
    if idle_limit is not None and spec.capabilities.training:
        more["idle_limit"] = idle_limit
    group = spec.capabilities.group
    vector = make_vector(spec, -(-min(num_envs, episodes) // group) * group, **more)
    try:
        name = f"environment {spec}"
        shapes = interface_of(vector.single_observation_space, vector.single_action_space, name)
        policy.require_fit(*shapes, "policy", name)
        indices = range(first, first + episodes)
        names = spec.capabilities.info_names
        games = _Games(policy, vector, indices, seed, greedy, names, idle_frames, keep_observations)
        waiting: dict[int, Game] = {}
        due = first
        while games.running:
            for game in games.step():
                if ordered:
                    waiting[game.index] = game
                else:
                    yield game
            while due in waiting:
                yield waiting.pop(due)
                due += 1
    finally:
        close_after_use(vector.close, f"environment {spec}")


_DRAWN = 64
"""Random numbers of a game that are drawn at a time."""


@dataclass(frozen=True)
class _Start:
    """The start of a game that is being played in one slot; `step` is the number of its first step."""

    index: int
    seed: int
    generator: np.random.Generator
    step: int
    clock: float
    idle_frames: int


@dataclass(eq=False)
class _Games:
    """Slots of a vector environment. A slot whose game has ended gets the next game, if there is one.

    indices: numbers of the games; the rest as in `play`.
    """

    policy: Policy
    vector: VectorEnv
    indices: range
    seed: int
    greedy: bool
    info_names: Collection[str]
    idle_frames: Sequence[int] | None
    keep_observations: bool

    def __post_init__(self) -> None:
        self.running: dict[int, _Start] = {}
        self.steps: list[dict[str, NDArray[Any]]] = []  # arrays [n, ...] by name, those since the oldest game's start
        self.first = 0  # number of the first of them
        self.uniforms = np.zeros((self.vector.num_envs, _DRAWN))
        self.next_index = self.indices.start
        self.observations = self.policy.observation.zeros(self.vector.num_envs)
        self.initial = self.state = self.policy.initial_state(self.vector.num_envs)
        self._start(list(range(self.vector.num_envs)))

    def step(self) -> list[Game]:
        """Make one decision in every running game. Returns the games that ended."""
        slots = np.array(list(self.running))
        uniforms = None if self.greedy else self._next_uniforms(slots)
        # Slots without a game take any action.
        actions = np.zeros(self.vector.num_envs, dtype=np.int64)
        probabilities = np.zeros((self.vector.num_envs, self.policy.actions), dtype=np.float32)
        rows, state = self.policy.step(self.observations[slots], select_rows(self.state, slots))
        actions[slots], probabilities[slots] = choose(rows, uniforms)

        step: dict[str, NDArray[Any]] = {"observations": self.observations} if self.keep_observations else {}
        after, rewards, terminated, truncated, infos = self.vector.step(actions)
        self.observations = self.policy.observation.array(after)
        self.state = put_rows(self.state, slots, self.policy.feed(state, actions[slots], np.asarray(rewards)[slots]))
        step |= {"actions": actions, "probabilities": probabilities, "rewards": np.asarray(rewards)}
        for name in ("clock", "frames", "late"):
            if name in self.info_names and (values := values_of_step(infos, name)) is not None:
                step[name] = values
        self.steps.append({name: np.array(values) for name, values in step.items()})
        games = []
        for slot in slots[(terminated | truncated)[slots]].tolist():
            games.append(self._finish(slot, bool(terminated[slot]), bool(truncated[slot]), infos))
        if games:
            self._start([slot for slot in slots.tolist() if slot not in self.running])
            oldest = min((game.step for game in self.running.values()), default=self._now)
            del self.steps[: oldest - self.first]
            self.first = oldest
            if isinstance(self.vector, QWOPVectorEnv):
                self.vector.rest(~np.isin(np.arange(self.vector.num_envs), [*self.running]))
        return games

    @property
    def _now(self) -> int:
        """Number of the next step."""
        return self.first + len(self.steps)

    def _next_uniforms(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """A random number for each running game, of its own generator, from which `_DRAWN` are drawn at a time."""
        ages = self._now - np.array([game.step for game in self.running.values()])
        for slot in slots[ages % _DRAWN == 0].tolist():
            self.uniforms[slot] = self.running[slot].generator.random(_DRAWN)
        numbers: NDArray[np.float64] = self.uniforms[slots, ages % _DRAWN]
        return numbers

    def _start(self, slots: list[int]) -> None:
        slots = slots[: self.indices.stop - self.next_index]
        if not slots:
            return
        if self.idle_frames is not None and len(slots) > 1:
            for slot in slots:  # Gymnasium's options are the same for all environments of a reset.
                self._start([slot])
            return
        mask = np.zeros(self.vector.num_envs, dtype=np.bool_)
        mask[slots] = True
        options: dict[str, Any] = {"reset_mask": mask}
        if self.idle_frames is not None:
            options["idle_frames"] = self.idle_frames[self.next_index - self.indices.start]
        starts = {}
        for index, slot in enumerate(slots, self.next_index):
            for_reset, for_actions = np.random.SeedSequence(self.seed, spawn_key=(index,)).spawn(2)
            starts[slot] = int(for_reset.generate_state(1)[0]), np.random.default_rng(for_actions)
        seeds = [starts[slot][0] if slot in starts else None for slot in range(self.vector.num_envs)]
        # Gymnasium's annotation knows one seed, its environments take one for each slot.
        observations, infos = self.vector.reset(seed=seeds, options=options)  # type: ignore[arg-type]
        self.observations = self.policy.observation.array(observations)
        self.state = reset_rows(self.state, self.initial, mask)
        for index, slot in enumerate(slots, self.next_index):
            clock = float(infos["clock"][slot]) if "clock" in self.info_names & infos.keys() else 0.0
            idle = int(infos["frames"][slot]) if "frames" in infos else 0
            self.running[slot] = _Start(index, *starts[slot], self._now, clock, idle)
        self.next_index += len(slots)

    def _finish(self, slot: int, terminated: bool, truncated: bool, infos: dict[str, Any]) -> Game:
        start = self.running.pop(slot)
        rows = self.steps[start.step - self.first :]
        steps = {name: np.array([row[name][slot] for row in rows]) for name in rows[0]}
        actions = steps["actions"].astype(np.int16)
        last = self.policy.observation.array(infos["final_obs"][slot])[np.newaxis]
        info = {
            name: values[slot].item() if isinstance(values[slot], np.generic) else values[slot]
            for name, values in infos.get("final_info", {}).items()
            if not name.startswith("_") and not isinstance(values, dict)
        }
        outcome = outcome_name(info["outcome"]) if "outcome" in info else "terminated" if terminated else "truncated"
        # Without a game clock, a decision is the unit of time.
        clocks = steps.get("clock", np.arange(1, len(actions) + 1))
        late = steps.get("late", np.zeros(len(actions), dtype=np.bool_)).tolist()
        return Game(
            observations=np.concatenate([steps["observations"], last]) if self.keep_observations else last,
            actions=actions,
            probabilities=steps["probabilities"],
            rewards=steps["rewards"].astype(np.float32),
            times=np.array([start.clock, *clocks.tolist()], dtype=np.float64),
            keys=keys_of_decisions(actions, steps["frames"].tolist(), late, start.idle_frames)
            if "frames" in self.info_names
            else None,
            terminated=terminated,
            truncated=truncated,
            outcome=outcome,
            info=info,
            seed=start.seed,
            index=start.index,
        )
