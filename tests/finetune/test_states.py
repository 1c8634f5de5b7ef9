"""What has a state of its own goes on from a checkpoint with the same bits, and taking the state changes nothing."""

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import SyncVectorEnv
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.finetune.checkpoint import load_checkpoint, save_checkpoint
from qwop.finetune.experience.transitions import NStep
from qwop.finetune.schedules.phase import Phase, RestartSettings, Schedule
from qwop.finetune.schedules.restarts import Restarts
from qwop.finetune.weight_average import RecentAverage, WeightAverage
from qwop.policies.networks import Actor

from .fakes import Memoryless, Remembering, Saving, make_collector
from .runs import assert_same


class Averaged:
    """A mean of weights that change in each round."""

    def __init__(self, seed: int, kind: Callable[[Actor], Any], *more: int) -> None:
        self.network = Actor(3, 2, (4,), torch.Generator().manual_seed(seed))
        self.average, self.more = kind(self.network), more
        self.get_state, self.set_state = self.average.get_state, self.average.set_state

    def work(self, number: int) -> Any:
        generator = torch.Generator().manual_seed(number)
        with torch.no_grad():
            for weights in self.network.parameters():
                weights.copy_(torch.randn(weights.shape, generator=generator) * 1e3)
        self.average.add(*self.more)
        return self.average.get_state()


class Played:
    """A collector, and the policy that it plays."""

    def __init__(self, seed: int, kind: type[SyncVectorEnv], policy: Callable[[], Any], image: bool) -> None:
        self.collector, self.policy = make_collector(kind, image, seed), policy()
        self.get_state, self.set_state = self.collector.get_state, self.collector.set_state

    def work(self, number: int) -> Any:
        return self.collector.collect(self.policy)


class Restarted:
    """Games of QWOP, some of which start from earlier ones."""

    def __init__(self, seed: int, settings: RestartSettings) -> None:
        env = QWOPVectorEnv(8, autoreset_mode="SameStep", frames_per_step=4, max_idle_frames=5)
        self.games = Restarts(env, settings)
        self.games.reset(seed=seed)
        self.get_state, self.set_state = self.games.get_state, self.games.set_state

    def work(self, number: int) -> Any:
        *_, last = (self.games.step(row) for row in np.random.default_rng(number).integers(0, 11, (100, 8)))
        return [*last[:4], last[4]["restarted"]]


class Scheduled(Schedule):
    def __init__(self, seed: int) -> None:
        super().__init__([Phase("one", decisions=1200), Phase("two", decisions=9000)], [None] * 2, [0.9] * 2, 1.0)

    def work(self, number: int) -> Any:
        return self.advance(500), self.index, self.progress, self.remaining


class Stepped(NStep):
    """Transitions of four steps from play of five, which ends now and then."""

    def __init__(self, seed: int) -> None:
        super().__init__(4)

    def work(self, number: int) -> Any:
        return self.push(make_collector(seed=number).collect(Memoryless())[0], 0.9)


STRETCH = RestartSettings(0.5, (-1.0, 0.4))
FALLS = RestartSettings(0.5, (-10.0, 10.0), source="falls")
KINDS: dict[str, Callable[[int], Any]] = {
    "mean of weights": partial(Averaged, kind=WeightAverage),
    "recent mean of weights": lambda seed: Averaged(seed, lambda network: RecentAverage(network, 50), 30),
    "schedule": Scheduled,
    "transitions": Stepped,
    "saved games": partial(Played, kind=Saving, policy=Memoryless, image=False),
    "saved games of pictures and a memory": partial(Played, kind=Saving, policy=Remembering, image=True),
    "games that are played again": partial(Played, kind=SyncVectorEnv, policy=Memoryless, image=False),
    "games that are played again by a memory": partial(Played, kind=SyncVectorEnv, policy=Remembering, image=True),
    "restarts in a stretch": partial(Restarted, settings=STRETCH),
    "restarts before falls": partial(Restarted, settings=FALLS),
    "short restarts": partial(Restarted, settings=FALLS.with_(seconds=1.0)),
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
