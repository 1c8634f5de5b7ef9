"""Live play by actors: the same as without them, and no worse for the death of some."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.distributed.actors import ActorDied, ActorsCollector, PlayingActor
from qwop.finetune.experience.collector import Collector, PolicySnapshot
from qwop.finetune.schedules.environments import PhaseEnvironments
from qwop.finetune.schedules.phase import Phase
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy

from ..fakes import CARTPOLE as POLE
from ..fakes import check_sequences
from ..runs import assert_same

QWOP = (EnvironmentSpec("QWOP-v1", {"time_limit": 1.0}), EnvironmentSpec("QWOP-v1", {"time_limit": 2.0}))
CARTPOLE = (POLE,) * 2
NEGATIVE = (POLE, EnvironmentSpec("CartPole-v1", {"sutton_barto_reward": True}))
STEPS = 12


class InThisProcess:
    """Runs calls here as they are made. `dies` says of a call whether its actor dies of it: its number, and the
    method."""

    def __init__(self, dies: Callable[[int, str], bool] = lambda n, m: False) -> None:
        self.dies = dies
        self.actors: list[PlayingActor | None] = []
        self.calls: list[tuple[int, str]] = []
        self.slow: set[int] = set()

    def launch(self, kind: type[PlayingActor], *arguments: Any) -> int:
        self.actors.append(kind(*arguments))
        return len(self.actors) - 1

    def share(self, value: Any) -> Any:
        return value

    def ask(self, actor: int, method: str, *arguments: Any) -> Any:
        self.calls.append((actor, method))
        member = self.actors[actor]
        return actor, method, None if member is None else getattr(member, method)(*arguments)

    def first_done(self, handles: Sequence[Any]) -> Any:
        return next((handle for handle in handles if handle[0] not in self.slow), handles[0])

    def result(self, handle: Any) -> Any:
        number, method, result = handle
        if self.dies(number, method):
            self.actors[number] = None
        if self.actors[number] is None:
            raise ActorDied(f"actor {number} is gone")
        return result


def environments(specs: Sequence[EnvironmentSpec], n: int) -> PhaseEnvironments:
    observation, actions = specs[0].interface()
    phases = [Phase(str(number), 1.0, environment=spec.settings) for number, spec in enumerate(specs)]
    return PhaseEnvironments(phases, Policy(Actor(observation, actions, (8,)), specs[0], observation), n, 0)


def policy(specs: Sequence[EnvironmentSpec]) -> PolicySnapshot:
    return PolicySnapshot(Actor(*specs[0].interface(), (8,)))


def make(
    specs: Sequence[EnvironmentSpec], n: int, actors: int, *, asynchronous: bool = False, **more: Any
) -> tuple[ActorsCollector, InThisProcess]:
    engine: Any = InThisProcess(**more)
    parts = environments(specs, n), 0, STEPS, np.random.default_rng(0)
    return ActorsCollector(engine, actors, *parts, asynchronous=asynchronous), engine


@pytest.mark.parametrize("specs", [QWOP, CARTPOLE], ids=["QWOP", "CartPole"])
def test_one_actor_in_step_plays_what_a_collector_plays(specs: Sequence[EnvironmentSpec]) -> None:
    acting = policy(specs)
    made = environments(specs, 3)
    serial = Collector(made.make(0), STEPS, np.random.default_rng(0))
    ours, _ = make(specs, 3, 1)
    for phase in (0, 1):
        for _ in range(2):
            assert_same(ours.collect(acting), serial.collect(acting))
        ours.enter_phase(phase)
        serial.enter(made.make(phase))
    assert ours.saves_games() == serial.saves_games()


def test_actors_in_step_share_the_games_in_their_order() -> None:
    acting = policy(CARTPOLE)
    ours, engine = make(CARTPOLE, 2, 3)
    played, _ = ours.collect(acting)
    check_sequences(played)
    assert len(played) == 6
    assert [call for call in engine.calls if call[1] == "collect"] == [(number, "collect") for number in range(3)]
    first = [played.observations[2 * number : 2 * number + 2, 0] for number in range(3)]
    assert not np.array_equal(first[0], first[1])
    alone = PlayingActor(environments(CARTPOLE, 2), 0, STEPS, np.random.default_rng(0).spawn(3)[1])
    assert np.array_equal(alone.collect(acting)[0].actions, played.actions[2:4])


def test_play_under_way_ends_with_its_phase() -> None:
    ours, _ = make(NEGATIVE, 2, 2, asynchronous=True)
    assert (ours.collect(policy(NEGATIVE))[0].rewards == 1.0).all()
    ours.enter_phase(1)
    for _ in range(3):
        assert (ours.collect(policy(NEGATIVE))[0].rewards <= 0.0).all()


def test_saved_games_go_on_where_they_were() -> None:
    acting = policy(QWOP)
    one, two = make(QWOP, 2, 2)[0], make(QWOP, 2, 2)[0]
    one.collect(acting)
    two.set_state(one.get_state())
    assert_same(one.collect(acting)[0], two.collect(acting)[0])


def test_an_actor_that_died_is_replaced_and_the_others_go_on() -> None:
    acting = policy(CARTPOLE)
    ours, engine = make(CARTPOLE, 2, 3, dies=lambda number, method: number == 1 and method == "collect")
    untouched, _ = make(CARTPOLE, 2, 3)
    for _ in range(3):
        mine, theirs = ours.collect(acting)[0], untouched.collect(acting)[0]
        assert len(mine) == 6
        assert np.array_equal(mine.actions[[0, 1, 4, 5]], theirs.actions[[0, 1, 4, 5]])
        assert not np.array_equal(mine.observations[2:4], theirs.observations[2:4])
    assert len(engine.actors) == 4


def test_a_replaced_actor_plays_the_phase_that_the_run_is_in() -> None:
    calls = iter(range(100))
    ours, engine = make(QWOP, 1, 2, dies=lambda number, method: (number, method) == (0, "collect") and next(calls) == 0)
    ours.enter_phase(1)
    ends = [end for _ in range(4) for end in ours.collect(policy(QWOP))[1]]
    assert len(engine.actors) == 3
    assert {end.decisions for end in ends} == {20}, "two seconds, ten decisions a second"


def test_a_run_whose_actors_always_die_ends() -> None:
    ours, engine = make(CARTPOLE, 2, 2, dies=lambda number, method: method == "collect")
    with pytest.raises(BadInput, match=r"distributed: actor 0 died 3 times in a row \(actor \d is gone\)"):
        ours.collect(policy(CARTPOLE))
    assert len(engine.actors) <= 6


def test_without_waiting_the_first_that_is_done_is_taken_and_none_has_two_under_way() -> None:
    acting = policy(CARTPOLE)
    ours, engine = make(CARTPOLE, 2, 3, asynchronous=True)
    engine.slow = {0, 2}
    for _ in range(4):
        played, _ = ours.collect(acting)
        assert len(played) == 2
        assert played.actions.flags.writeable
    assert [number for number, method in engine.calls if method == "collect"] == [0, 1, 2, 1, 1, 1, 1]
    engine.slow = {1, 2}
    ours.collect(acting)
    assert engine.calls[-1] == (0, "collect")
    ours.restart()
    assert [call for call in engine.calls if call[1] == "restart"] == [(number, "restart") for number in range(3)]


def test_an_actor_that_died_before_a_checkpoint_is_replaced_once() -> None:
    """Its play under way has gone with it, and is not waited for."""
    for barrier in (ActorsCollector.get_state, ActorsCollector.restart):
        ours, engine = make(QWOP, 2, 2, asynchronous=True)
        ours.collect(policy(QWOP))
        engine.actors[1] = None
        barrier(ours)
        for _ in range(4):
            check_sequences(ours.collect(policy(QWOP))[0])
        assert len(engine.actors) == 3
    ours, engine = make(CARTPOLE, 2, 2, asynchronous=True, dies=lambda number, method: number == 0)
    assert len(ours.collect(policy(CARTPOLE))[0]) == 2  # what it had under way is played anew
    assert engine.calls[-1] == (2, "collect")
