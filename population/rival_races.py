"""Races of one agent as an environment, against rivals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..common.errors import BadInput, naming
from ..envs.engine import batch
from ..envs.names import FRAMES_A_SECOND
from ..envs.race.events import EVENTS, LOST, SPARSE, TIE_FRAMES, TIE_METRES, WON, results, weighted
from ..envs.race.vector import QWOPRaceVectorEnv
from ..envs.spec import EnvironmentSpec
from ..envs.vector import Infos, Step
from ..finetune.experience.collector import PolicySnapshot
from ..policies.networks import ArrayState, put_rows, reset_rows, select_rows
from ..policies.policy import Policy, choose

_WON, _LOST = EVENTS.index("won"), EVENTS.index("lost")


def view_of(
    policy: Policy, race: EnvironmentSpec, name: str, *, may_hold: bool = False
) -> tuple[NDArray[np.int64], int]:
    """Columns of the race's observation, int64 [m], that the policy sees, and the race's decisions in one of its own.

    BadInput with its name if it cannot run there. may_hold: allow a race whose rate is a whole multiple of the
    policy's.
    """
    with naming(name):
        columns = seen_columns(policy, race)
        hold, rest = divmod(decision_frames(policy.environment), decision_frames(race))
        if rest or hold == 0 or (hold > 1 and not may_hold):
            own, theirs = (one.capabilities.decisions_per_second for one in (policy.environment, race))
            raise BadInput(
                f"decides {own:g} times a second, but in the race it is {theirs:g}; give race.frames_per_step= its "
                "number of frames a decision"
            )
    return columns, hold


def seen_columns(policy: Policy, race: EnvironmentSpec) -> NDArray[np.int64]:
    """Return the columns of the race's observation, int64 [m], that a policy sees; BadInput if it cannot run there."""
    own, theirs = policy.environment.capabilities, race.capabilities
    inputs, offers = own.observation_names, list(theirs.observation_names or ())
    if inputs is None or own.action_names != theirs.action_names or policy.observation.size != len(inputs):
        raise BadInput(f"a policy of {policy.environment.id}, which cannot run in a race")
    if missing := [one for one in inputs if one not in offers]:
        raise BadInput(f"sees {missing[0]}, which the race does not show; give race.observation=contact")
    return np.array([offers.index(one) for one in inputs])


def decision_frames(environment: EnvironmentSpec) -> int:
    """Game frames per decision in QWOP and races; 1 for other environments."""
    rate = environment.capabilities.decisions_per_second
    return 1 if rate is None else round(FRAMES_A_SECOND / rate)


@dataclass(frozen=True)
class Rival:
    """A runner that plays but does not learn here.

    columns: of the race's observation, int64 [m], that it sees. weights: of the events in its own reward, float64 [E].
    greedy: always takes the most probable action.
    """

    player: PolicySnapshot
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    greedy: bool


@dataclass(frozen=True)
class RaceEnd:
    """A race that ended: the rival's number, the agent's result (1 won, ½ drawn, 0 lost), its metres, and its seconds
    if it finished."""

    rival: int
    result: float
    metres: float
    seconds: float | None


class RivalRaces(gymnasium.vector.VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """n races of the agent against one of its rivals each; for the agent, n environments.

    Autoreset happens in the same step, with the next rival in `schedule`. A race also ends once its result is clear:
    the agent is down and the rival is farther (few fall back again), or the agent has finished and the rival has not.
    It is truncated, as at its time limit, once every runner that is not down has made no notable progress for
    `standstill` seconds. The reward is w·ρ with the agent's own `weights`.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  (Gymnasium's form)

    def __init__(self, race: EnvironmentSpec, num_races: int, *, standstill: float = math.inf, **more: Any) -> None:
        self._race = QWOPRaceVectorEnv(2 * num_races, **{**race.settings, **more})
        self.num_envs = num_races
        self.single_observation_space = self._race.single_observation_space
        self.single_action_space = self._race.single_action_space
        self.observation_space = batch_space(self.single_observation_space, num_races)
        self.action_space = batch_space(self.single_action_space, num_races)
        self._rivals: Mapping[int, Rival] = {}
        self._generator = np.random.default_rng(0)
        self._ends: list[RaceEnd] = []
        self._signals: list[NDArray[np.float64]] = []
        self._states: dict[int, ArrayState] = {}
        self._standstill = standstill
        self._farthest, self._since = np.zeros(2 * num_races), np.zeros(2 * num_races)
        """Metres at each runner's last notable progress (more than `TIE_METRES`), and the clock at that time."""
        self._clear()

    def enter(self, weights: NDArray[np.float64], rivals: Mapping[int, Rival], schedule: Sequence[int]) -> None:
        """Set the agent's weights, float64 [E], the rivals by number, and their order in new races.

        Races in progress continue against the same rival number.
        """
        self._weights, self._rivals, self._schedule, self._next = weights, rivals, list(schedule), 0

    def take_ends(self) -> list[RaceEnd]:
        """Return the races that ended since the last call."""
        ends, self._ends = self._ends, []
        return ends

    def take_signals(self) -> NDArray[np.float32]:
        """Return w·ρ of the sparse events in each step since the last call, float32 [n, k]."""
        signals, self._signals = self._signals, []
        return np.stack(signals, axis=1).astype(np.float32)

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: Any = None) -> Any:
        assert isinstance(seed, int)  # from a collector
        self._generator = np.random.default_rng(seed)
        self._clear()
        self._observations, infos = self._race.reset(seed=seed)
        self._meet(np.ones(self.num_envs, dtype=np.bool_))
        return self._observations[0::2], {name: values[0::2] for name, values in infos.items()}

    def step(self, actions: Any) -> Step:
        both = np.zeros(2 * self.num_envs, dtype=np.int64)
        both[0::2] = actions
        theirs = both[1::2] = self._rivals_decide()
        observations, _, terminated, truncated, infos = self._race.step(both)
        last: Any = infos.get("final_obs", observations)
        self._rivals_hear(theirs, infos["events"][1::2])
        events, result = infos["events"][0::2], infos["result"][0::2]
        over = (terminated | truncated)[0::2]
        won, lost = self._certain(infos, ~over)
        still = self._nobody_runs(infos) & ~(over | won | lost)
        if still.any():
            standings = _standings(infos)
            won, lost = won | (still & (standings == WON)), lost | (still & (standings == LOST))
        events[won, _WON], events[lost, _LOST] = 1.0, 1.0
        result[won], result[lost] = WON, LOST
        ended = over | won | lost | still
        rewards = weighted(self._weights, events)
        self._signals.append(weighted(self._weights * SPARSE, events))
        mine: Infos = {name: values[0::2] for name, values in infos.items() if "final" not in name}
        stopped = (truncated[0::2] & ~terminated[0::2]) | (still & (infos["outcome"][0::2] == batch.RUNNING))
        if ended.any():
            mine |= {"final_obs": last[0::2].copy(), "final_info": dict(mine)}
            self._note_ends(ended, result, infos)
            if (certain := ended & ~over).any():
                observations, _ = self._race.reset(options={"reset_mask": np.repeat(certain, 2)})
            self._meet(ended)
        self._observations = observations
        return self._observations[0::2], rewards, ended & ~stopped, stopped, mine

    def get_state(self) -> dict[str, object]:
        """Return the state for `set_state`, without the rivals themselves, which `enter` sets."""
        return {
            "race": self._race.get_state(),
            "rival": self._rival.copy(),
            "rivals": {str(number): list(state) for number, state in self._states.items()},
            "generator": self._generator.bit_generator.state,
            "farthest": self._farthest.copy(),
            "since": self._since.copy(),
        }

    def set_state(self, state: Mapping[str, Any]) -> NDArray[np.float32]:
        """Restore a state from `get_state`; return the observations."""
        self._clear()
        self._observations = self._race.set_state(state["race"])
        self._rival = np.array(state["rival"], dtype=np.int64)
        self._states = {int(number): tuple(parts) for number, parts in state["rivals"].items()}
        self._generator.bit_generator.state = state["generator"]
        self._farthest, self._since = (np.array(state[name], dtype=np.float64) for name in ("farthest", "since"))
        return self._observations[0::2]

    def close(self, **kwargs: Any) -> None:
        self._race.close()

    def _clear(self) -> None:
        self._ends, self._signals, self._states = [], [], {}
        self._rival = np.full(self.num_envs, -1)

    def _rivals_decide(self) -> NDArray[np.int64]:
        """Return the rivals' actions, int64 [n]. Each rival decides for all of its races in one batch."""
        uniforms, actions = self._generator.random(self.num_envs), np.zeros(self.num_envs, dtype=np.int64)
        for number in np.unique(self._rival).tolist():
            rows, rival = np.flatnonzero(self._rival == number), self._rivals[number]
            views = np.ascontiguousarray(self._observations[1::2][rows][:, rival.columns])
            probabilities, state = rival.player.step(views, select_rows(self._states[number], rows))
            actions[rows], _ = choose(probabilities, None if rival.greedy else uniforms[rows])
            self._states[number] = put_rows(self._states[number], rows, state)
        return actions

    def _rivals_hear(self, actions: NDArray[np.int64], events: NDArray[np.float64]) -> None:
        """Feed the rivals their own actions and rewards."""
        for number in np.unique(self._rival).tolist():
            rows, rival = np.flatnonzero(self._rival == number), self._rivals[number]
            rewards = weighted(rival.weights, events[rows]).astype(np.float32)
            state = rival.player.feed(select_rows(self._states[number], rows), actions[rows], rewards)
            self._states[number] = put_rows(self._states[number], rows, state)

    def _certain(self, infos: Infos, running: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Races in progress that count as won and as lost, bool [n] each: nearly all of them would end that way."""
        outcome, metres, clock = (infos[name] for name in ("outcome", "distance", "clock"))
        finished = outcome == batch.FINISHED
        down = (outcome != batch.RUNNING) & ~finished
        farther = metres[1::2] > metres[0::2] + TIE_METRES
        late = clock[1::2] > clock[0::2] + (TIE_FRAMES + 0.5) / FRAMES_A_SECOND
        won = finished[0::2] & (outcome[1::2] == batch.RUNNING) & late
        return won & running, down[0::2] & farther & running

    def _nobody_runs(self, infos: Infos) -> NDArray[np.bool_]:
        """Mask of races, bool [n], in which neither runner makes progress any more."""
        metres, clock = infos["distance"], infos["clock"]
        progress = metres > self._farthest + TIE_METRES
        self._farthest[progress], self._since[progress] = metres[progress], clock[progress]
        idle: NDArray[np.bool_] = (clock - self._since > self._standstill) | (infos["outcome"] != batch.RUNNING)
        return idle[0::2] & idle[1::2]

    def _note_ends(self, ended: NDArray[np.bool_], result: NDArray[np.float64], infos: Infos) -> None:
        for race in np.flatnonzero(ended).tolist():
            finished = infos["outcome"][2 * race] == batch.FINISHED
            seconds = float(infos["time"][2 * race]) if finished else None
            end = RaceEnd(int(self._rival[race]), float(result[race]), float(infos["distance"][2 * race]), seconds)
            self._ends.append(end)

    def _meet(self, begins: NDArray[np.bool_]) -> None:
        """Begin races against the next rivals where `begins`, bool [n], is true."""
        runners = np.repeat(begins, 2)
        self._farthest[runners] = self._since[runners] = 0.0
        for race in np.flatnonzero(begins).tolist():
            self._rival[race] = self._schedule[self._next % len(self._schedule)]
            self._next += 1
        for number in np.unique(self._rival).tolist():
            initial = self._rivals[number].player.initial_state(self.num_envs)
            before = self._states.get(number, initial)
            self._states[number] = reset_rows(before, initial, begins & (self._rival == number))
        self._states = {number: state for number, state in self._states.items() if (self._rival == number).any()}


def _standings(infos: Infos) -> NDArray[np.float64]:
    """The agent's results, float64 [n], if the races ended now."""
    finished, frames = infos["outcome"] == batch.FINISHED, np.rint(infos["clock"] * FRAMES_A_SECOND).astype(np.int64)
    finished, frames, metres = (one.reshape(-1, 2) for one in (finished, frames, infos["distance"]))
    return results(finished, frames, metres)[:, 0]
