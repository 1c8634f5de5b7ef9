"""Races of one agent against rivals."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.envs.race.events import EVENTS, SPARSE
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.experience.collector import Collector, PolicySnapshot
from qwop.policies.files import load_policy
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.population.rival_races import Rival, RivalRaces, view_of

RACE = EnvironmentSpec("QWOPRace-v1", {"frames_per_step": 2, "observation": "contact", "time_limit": 4.0})
FRAMES = EnvironmentSpec("QWOPRace-v1", {"frames_per_step": 1, "observation": "contact"})
ALL = np.arange(115)
WEIGHTS = np.linspace(-1, 1, len(EVENTS))


class Always:
    """A runner that always decides the same, and notes what it sees and is fed."""

    def __init__(self, action: int) -> None:
        self.action = action
        self.seen: list[NDArray[Any]] = []
        self.fed: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def initial_state(self, n: int) -> tuple[NDArray[Any], ...]:
        return (np.zeros((n, 1)),)

    def step(self, observations: NDArray[Any], state: Any) -> Any:
        self.seen.append(observations)
        return np.eye(11, dtype=np.float32)[[self.action] * len(observations)], (state[0] + 1,)

    def feed(self, state: Any, actions: NDArray[Any], rewards: NDArray[Any]) -> Any:
        self.fed.append((actions, rewards))
        return state


def rival(player: Any) -> Rival:
    return Rival(player, ALL, WEIGHTS, greedy=False)


def the_champion() -> Rival:
    champion = load_policy("champion")
    columns = view_of(champion, FRAMES, "champion")[0]
    return Rival(PolicySnapshot(champion.network), columns, WEIGHTS, greedy=True)


def network(seed: int = 0) -> RecurrentActorCritic:
    return RecurrentActorCritic(115, 11, (16,), 16, torch.Generator().manual_seed(seed))


def races(players: dict[int, Any], schedule: list[int], num_races: int = 4, **more: Any) -> RivalRaces:
    made = RivalRaces(RACE, num_races, **more)
    made.enter(WEIGHTS, {number: rival(player) for number, player in players.items()}, schedule)
    return made


def test_a_new_race_is_against_the_next_of_the_schedule() -> None:
    env = races({7: Always(0), 9: Always(3)}, [7, 9, 9])
    env.reset(seed=0)
    assert set(env.get_state()["rival"]) == {7, 9}
    for _ in range(60):  # the time limit
        _, _, terminated, truncated, infos = env.step(np.zeros(4, dtype=np.int64))
    assert (terminated | truncated).all()
    assert infos["final_info"]["distance"].shape == (4,)
    assert [end.rival for end in env.take_ends()] == [7, 9, 9, 7]
    assert env.take_ends() == []


def test_a_rival_begins_each_race_without_a_memory_of_the_last_one() -> None:
    """Races against the same rival that end apart, at its fall or the time limit; its memory counts its decisions."""
    env = races({0: Always(7)}, [0])
    env.reset(seed=0)
    actions, decided = np.array([7, 2, 10, 10]), np.zeros(4)
    apart = False
    for _ in range(130):
        _, _, terminated, truncated, _ = env.step(actions)
        decided = np.where(terminated | truncated, 0, decided + 1)
        assert env.get_state()["rivals"]["0"][0][:, 0].tolist() == decided.tolist()
        apart |= len({*decided}) > 1
    assert apart
    assert decided.max() < 130


def test_rivals_see_and_are_fed_what_is_theirs() -> None:
    theirs = Always(5)
    env = races({0: theirs}, [0], num_races=3)
    observations, _ = env.reset(seed=0)
    after, *_ = env.step(np.ones(3, dtype=np.int64))
    env.step(np.ones(3, dtype=np.int64))
    assert np.array_equal(theirs.seen[0], observations)  # both begin alike
    ahead = (RACE.capabilities.observation_names or ()).index("other1.ahead")
    assert after[:, ahead].any()
    assert np.array_equal(theirs.seen[1][:, ahead], -after[:, ahead])
    actions, rewards = theirs.fed[-1]
    assert actions.tolist() == [5, 5, 5]
    assert rewards.dtype == np.float32


def test_the_reward_is_w_rho_and_the_signal_that_of_sparse_events() -> None:
    env = races({0: Always(0)}, [0])
    env.reset(seed=3)
    rewards, events = [], []
    generator = np.random.default_rng(0)
    for _ in range(12):
        _, reward, _, _, infos = env.step(generator.integers(0, 11, 4))
        rewards.append(reward)
        events.append(infos["events"])
    assert np.stack(rewards) == pytest.approx(np.stack(events) @ WEIGHTS)
    signals = env.take_signals()
    assert signals.shape == (4, 12)
    np.testing.assert_allclose(signals.T, np.stack(events) @ (WEIGHTS * SPARSE), rtol=1e-5)


LONG = EnvironmentSpec("QWOPRace-v1", {**RACE.settings, "time_limit": 100.0})


def test_an_agent_that_is_down_waits_for_its_rival_only_while_that_runs() -> None:
    """Against one who stands, and is therefore beaten by whoever came half a metre farther before the fall."""
    generator = np.random.default_rng(0)
    env = RivalRaces(LONG, 16, standstill=3.0)
    env.enter(WEIGHTS, {0: rival(Always(0))}, [0])
    env.reset(seed=0)
    won, lost, found = EVENTS.index("won"), EVENTS.index("lost"), []
    for _ in range(400):
        _, _, terminated, truncated, infos = env.step(generator.integers(0, 11, 16))
        over = (terminated | truncated).nonzero()[0]
        for end, race in zip(env.take_ends(), over, strict=True):
            assert end.seconds is None
            assert infos["events"][race, [won, lost]].tolist() == [end.result == 1.0, end.result == 0.0]
            found.append((end.metres, end.result, bool(truncated[race])))
    down = [(metres, result) for metres, result, stopped in found if not stopped]
    assert len(down) > 10
    assert {result for _, result in down} == {0.0, 0.5, 1.0}
    assert all((metres > 0.3) >= (result == 1.0) for metres, result in down)


def test_a_standstill_counts_from_the_last_progress_in_the_same_race() -> None:
    """Of runners that first stumble on and then stand still or lie there."""
    env = RivalRaces(LONG, 16, standstill=2.0)
    env.enter(WEIGHTS, {0: rival(Always(0))}, [0])
    env.reset(seed=0)
    generator, ends = np.random.default_rng(1), np.zeros((2, 16), dtype=np.int64)
    for decision in range(-20, 150):
        actions = generator.integers(0, 11, 16) if decision < 0 else np.zeros(16, dtype=np.int64)
        _, _, terminated, truncated, _ = env.step(actions)
        for race in (terminated | truncated).nonzero()[0] if decision >= 0 else ():
            which = int(ends[0, race] > 0)
            ends[which, race] = ends[which, race] or decision + 1
    assert (ends[0] > 30 - 20).sum() > 3  # some stumbled on in the meantime
    assert (ends[1] - ends[0] == 30).all()


def test_a_race_goes_on_while_somebody_runs() -> None:
    env = RivalRaces(FRAMES, 1, standstill=2.0)
    env.enter(WEIGHTS, {0: the_champion()}, [0])
    env.reset(seed=0)
    ends, decisions = env.take_ends(), 0
    while not ends:
        _, _, _, truncated, _ = env.step(np.zeros(1, dtype=np.int64))
        ends, decisions = env.take_ends(), decisions + 1
    assert ([end.result for end in ends], truncated[0]) == ([0.0], True)
    assert decisions > 30 * 40  # the champion's time


def test_playing_changes_no_rival_and_continues_to_the_bit() -> None:
    """Saved in the middle of races, whose rivals have memories, and restored elsewhere."""
    other = network(1)
    before = {name: tensor.clone() for name, tensor in other.state_dict().items()}
    rivals = {0: PolicySnapshot(other), 1: PolicySnapshot(network(2))}
    actor = PolicySnapshot(network())

    def started(env: RivalRaces) -> Collector:
        return Collector(env, 35, np.random.default_rng(0))

    one, two = (races(rivals, [0, 1, 1], max_idle_frames=5, standstill=1.2) for _ in range(2))
    collector = started(one)
    collector.collect(actor)
    state = collector.get_state()
    again = WEIGHTS, {number: rival(player) for number, player in rivals.items()}, [1, 0]
    one.enter(*again)
    one.take_ends()
    expected, _ = collector.collect(actor)
    two.enter(*again)
    continued = started(two)
    two.enter(*again)
    continued.set_state(state)
    found, _ = continued.collect(actor)
    assert len(one.take_ends()) == len(two.take_ends()) > 0
    for name in ("observations", "actions", "rewards", "behaviour_probabilities", "terminated", "truncated"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert all(torch.equal(before[name], tensor) for name, tensor in other.state_dict().items())
