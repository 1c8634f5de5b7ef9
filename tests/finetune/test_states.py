"""Parts with a state of their own go on from a checkpoint with the same bits, and taking the state changes nothing."""

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import SyncVectorEnv
from qwop.datasets import embedded_dataset, open_dataset
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.acer.learner import ReturnRange
from qwop.finetune.agents.agent import FractionalCounter
from qwop.finetune.agents.ftw.learner import RewardStores
from qwop.finetune.checkpoint import load_checkpoint, save_checkpoint
from qwop.finetune.experience.sequences import DEMONSTRATIONS, NStep
from qwop.finetune.replay.demonstrations import Demonstrations, RecordedSequences
from qwop.finetune.replay.transition_memory import PrioritisedMemory
from qwop.finetune.schedules.phase import Phase, RestartSettings, Schedule
from qwop.finetune.schedules.restarts import Restarts, demonstrated_states
from qwop.finetune.weight_average import WeightAverage
from qwop.policies.networks import Actor
from torch import nn

from .agents.learners import LEARNERS, PHASES
from .fakes import Memoryless, Remembering, Saving, make_collector, make_episode, make_sequences
from .replay.contents import KINDS as MEMORIES
from .replay.contents import as_pictures, check, contents
from .runs import assert_same

Makes = Callable[[int], Any]
"""Of a seed: something with a state and `work`, whose argument is the number of a round and whose result is checked."""


class Has:
    """Something whose state is that of a part. works: of the part and the number of a round, the result of `work`."""

    def __init__(self, part: Any, works: Callable[[Any, int], Any] = lambda part, number: None) -> None:
        self.part, self.works = part, works
        self.get_state, self.set_state = part.get_state, part.set_state

    def work(self, number: int) -> Any:
        return self.works(self.part, number)


class Averaged(Has):
    """A mean of weights that change in each round."""

    def __init__(self, seed: int) -> None:
        self.network = Actor(3, 2, (4,), torch.Generator().manual_seed(seed))
        super().__init__(WeightAverage(self.network))

    def work(self, number: int) -> Any:
        generator = torch.Generator().manual_seed(number)
        with torch.no_grad():
            for weights in self.network.parameters():
                weights.copy_(torch.randn(weights.shape, generator=generator) * 1e3)
        self.part.add()
        return self.part.get_state()


def played(seed: int, kind: type[SyncVectorEnv], policy: Callable[[], Any], image: bool) -> Has:
    """A collector, and the policy that it plays."""
    acting = policy()
    return Has(make_collector(kind, image, seed), lambda collector, number: collector.collect(acting))


class Restarted(Has):
    """Games of QWOP, some of which start from earlier ones."""

    def __init__(self, seed: int, settings: RestartSettings) -> None:
        env = QWOPVectorEnv(8, frames_per_step=4, max_idle_frames=5)
        states = None
        if settings.source == "demonstrations":
            spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 4})
            states = demonstrated_states(open_dataset(embedded_dataset()).select(range(1)), spec, settings.metres)
        super().__init__(Restarts(env, settings, states))
        self.part.reset(seed=seed)

    def work(self, number: int) -> Any:
        *_, last = (self.part.step(row) for row in np.random.default_rng(number).integers(0, 11, (100, 8)))
        return [*last[:4], last[4]["restarted"]]


class Bounded(ReturnRange):
    """Returns of three games, of which one ends in most rounds and one never."""

    def __init__(self, seed: int) -> None:
        super().__init__(3)

    def work(self, number: int) -> Any:
        live = make_sequences(3, first=number)
        live.terminated[number % 2, 1] = True
        self.add_live(live, 0.9)
        return self.bounds


class Stored:
    """Observations before rewards, of which there are soon more than the stores hold, and their generator."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.stores = RewardStores(16, ObservationSpec((2,)), self.generator)

    def get_state(self) -> Any:
        return self.stores.get_state(), self.generator.bit_generator.state

    def set_state(self, state: Any) -> None:
        self.stores.set_state(state[0])
        self.generator.bit_generator.state = state[1]

    def work(self, number: int) -> Any:
        for part in range(5):
            played = make_sequences(2, steps=9, first=10 * number + part)
            self.stores.add(played, np.eye(9, dtype=np.float32)[[4, 8]])
        return self.stores.sample(8)


class Kept(Has):
    """A replay memory of seven items, whose ring goes round; every second round removes demonstrations."""

    def __init__(self, seed: int, name: str, pictures: bool) -> None:
        self.kind, self.pictures = MEMORIES[name], pictures
        super().__init__(self.kind.memory(7, pictures))

    def work(self, number: int) -> Any:
        memory: Any = self.part
        for source in (0, DEMONSTRATIONS):
            items = self.kind.items(3, first=10 * number + 5 * source, source=source)
            memory.push(as_pictures(items, number) if self.pictures else items)
        if number % 2:
            memory.remove(DEMONSTRATIONS)
        if isinstance(memory, PrioritisedMemory):
            memory.update(np.arange(len(memory)), np.linspace(0, 9 - number, len(memory)).astype(np.float32))
        check(memory)
        return contents(memory), self.kind.sample(memory, 20, number)


class Learnt(Has):
    def __init__(self, seed: int, name: str) -> None:
        self.small = LEARNERS[name](seed=seed)
        super().__init__(self.small.learner)

    def work(self, number: int) -> Any:
        self.small.update(number, PHASES[number % 2])
        networks = {name: part for name, part in vars(self.part).items() if isinstance(part, nn.Module)}
        return {name: copy.deepcopy(part.state_dict()) for name, part in networks.items()}  # also what no state has


FALLS = RestartSettings(0.5, (-10.0, 10.0), source="falls")
KINDS: dict[str, Makes] = {
    "mean of weights": Averaged,
    "schedule": lambda seed: Has(
        Schedule([Phase("one", decisions=1200), Phase("two", decisions=9000)], [None] * 2, [0.9] * 2, 1.0),
        lambda schedule, number: (schedule.advance(500), schedule.index, schedule.progress, schedule.remaining),
    ),
    "n steps": lambda seed: Has(
        NStep(4), lambda steps, number: steps.push(make_collector(seed=number).collect(Memoryless())[0], 0.9)
    ),
    "counter": lambda seed: Has(FractionalCounter(), lambda counter, number: counter.take(0.3 * number + 0.2)),
    "returns": Bounded,
    "demonstrations": lambda seed: Has(
        Demonstrations(RecordedSequences([make_episode(23)], 4, gamma=0.9), streams=3, stride=4),
        lambda demonstrations, number: demonstrations.next(7),
    ),
    "observations before rewards": Stored,
    "saved games": partial(played, kind=Saving, policy=Memoryless, image=False),
    "saved games of pictures and a memory": partial(played, kind=Saving, policy=Remembering, image=True),
    "games that are played again": partial(played, kind=SyncVectorEnv, policy=Memoryless, image=False),
    "games that are played again by a memory": partial(played, kind=SyncVectorEnv, policy=Remembering, image=True),
    "restarts in a stretch": partial(Restarted, settings=RestartSettings(0.5, (-1.0, 0.4))),
    "restarts before falls": partial(Restarted, settings=FALLS),
    "restarts along demonstrations": partial(Restarted, settings=FALLS.with_(source="demonstrations")),
    "short restarts": partial(Restarted, settings=FALLS.with_(seconds=1.0)),
    **{f"memory of {name}": partial(Kept, name=name, pictures=False) for name in MEMORIES},
    **{f"memory of {name} of pictures": partial(Kept, name=name, pictures=True) for name in MEMORIES},
    **{f"learner {name}": partial(Learnt, name=name) for name in LEARNERS},
}


@pytest.mark.parametrize("rounds", [0, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on_from_a_checkpoint_to_the_bit(kind: str, rounds: int, tmp_path: Path) -> None:
    left, taken, restored = (KINDS[kind](seed) for seed in (3, 3, 4))
    for number in range(rounds):
        assert_same(left.work(number), taken.work(number))
    state = taken.get_state()
    before = copy.deepcopy(state)
    restored.set_state(load_checkpoint(save_checkpoint(tmp_path, 1, {"state": state}))["state"])
    for number in range(rounds, rounds + 3):
        expected = left.work(number)
        assert_same(taken.work(number), expected)
        assert_same(restored.work(number), expected)
    assert_same(restored.get_state(), left.get_state())
    assert_same(state, before)
