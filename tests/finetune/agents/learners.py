"""A small learner of each algorithm, with batches to learn from."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.finetune.agents.acer.learner import AcerLearner
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.dqn.learner import DqnLearner
from qwop.finetune.agents.dqn.settings import DqnSettings
from qwop.finetune.agents.ftw.learner import FtwLearner
from qwop.finetune.agents.ftw.settings import FtwSettings
from qwop.finetune.agents.ppo.learner import PpoLearner
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.agents.rlpd.learner import RlpdLearner
from qwop.finetune.agents.rlpd.settings import RlpdSettings
from qwop.finetune.agents.vtrace.learner import VtraceLearner
from qwop.finetune.agents.vtrace.settings import VtraceSettings
from qwop.finetune.experience.collector import Collector, PolicySnapshot
from qwop.finetune.experience.sequences import DEMONSTRATIONS, Sequences, Transitions
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.networks import Actor, ActorCritic, Network, ValuedActor, Values
from qwop.policies.q_networks import EnsembleQ, QNetwork
from qwop.policies.recurrent import RecurrentActorCritic, TwoTimescaleActorCritic
from qwop.pretrain.rows import Rows

from ..fakes import CPU, make_batch, weights_of
from ..runs import NOW


def transitions(seed: int, n: int = 9) -> Transitions:
    """Transitions of two observed numbers and three actions; every third is demonstrated."""
    random = np.random.default_rng(seed)
    seen, following = random.normal(size=(2, n, 2)).astype(np.float32)
    discounts = np.where(np.arange(n) % 4, 0.9, 0.0).astype(np.float32)
    rewards = random.normal(size=n).astype(np.float32)
    source = np.where(np.arange(n) % 3, 0, DEMONSTRATIONS).astype(np.int8)
    return Transitions(seen, random.integers(3, size=n), rewards, discounts, following, source)


@dataclass
class Small:
    """A learner. update: with the batch of a number."""

    learner: Any
    update: Callable[[int, PhaseValues], object]

    @property
    def weights(self) -> torch.Tensor:
        """Those of the policy and of a separate critic."""
        values = getattr(self.learner, "values", None)
        networks = [self.learner.network, *([values] if isinstance(values, Values) else [])]
        return torch.cat([weights_of(network) for network in networks])


Kind = Callable[..., Small]
"""Makes a learner. kind: a subclass of its class; settings: other ones than the defaults."""


def acer(kind: type = AcerLearner, seed: int = 0, device: torch.device = CPU, **settings: Any) -> Small:
    network = ActorCritic(2, 3, (16, 16), torch.Generator().manual_seed(seed))
    learner = kind(network, AcerSettings(**settings), device)
    return Small(learner, lambda number, now: learner.update(make_batch(number), now))


def ppo(
    kind: type = PpoLearner, seed: int = 0, device: torch.device = CPU, shared: bool = False, **settings: Any
) -> Small:
    generator, random = torch.Generator().manual_seed(seed), np.random.default_rng(0)
    network = (ValuedActor if shared else Actor)(2, 3, (16, 16), generator)
    values = None if shared else Values(2, (16,), generator)
    chosen = PpoSettings(**{"minibatch": 10, "epochs": 2, "target_kl": 100.0, "scale_returns": shared, **settings})
    shown = Rows(random.normal(size=(30, 2)).astype(np.float32), random.integers(3, size=30), np.zeros(30, np.int64))
    learner = kind(network, values, chosen, device, np.random.default_rng(seed), Demonstrations(shown))
    return Small(learner, lambda number, now: learner.update(make_batch(number), now))


def shared_ppo(kind: type = PpoLearner, **more: Any) -> Small:
    return ppo(kind, shared=True, **more)


def dqn(
    kind: type = DqnLearner, seed: int = 0, device: torch.device = CPU, dueling: bool = False, **settings: Any
) -> Small:
    network = QNetwork(2, 3, (16,), torch.Generator().manual_seed(seed), dueling=dueling, layer_norm=dueling)
    learner = kind(network, DqnSettings(**{"double": dueling, **settings}), device)

    def update(number: int, now: PhaseValues) -> object:
        if number == 2:
            learner.copy_target()
        weights = np.random.default_rng(number).uniform(0.5, 1.0, size=9).astype(np.float32)
        return learner.update(transitions(number), now, weights, diagnose=True)

    return Small(learner, update)


def dueling_dqn(kind: type = DqnLearner, **more: Any) -> Small:
    return dqn(kind, dueling=True, **{"optimiser": "adam", **more})


def rlpd(kind: type = RlpdLearner, seed: int = 0, device: torch.device = CPU, **settings: Any) -> Small:
    network = EnsembleQ(2, 3, (16,), torch.Generator().manual_seed(seed), 3)
    learner = kind(network, RlpdSettings(members=3, **settings), device, np.random.default_rng(0))

    def update(number: int, now: PhaseValues) -> object:
        learner._generator = np.random.default_rng(number)  # whose state is the agent's
        return learner.update(transitions(number), now)

    return Small(learner, update)


def vtrace(kind: type = VtraceLearner, seed: int = 0, device: torch.device = CPU, **settings: Any) -> Small:
    network = RecurrentActorCritic(2, 3, (7,), 5, torch.Generator().manual_seed(seed))
    return _recurrent(network, kind(network, VtraceSettings(**settings), device))


def ftw(kind: type = FtwLearner, seed: int = 0, device: torch.device = CPU, slots: int = 0, **settings: Any) -> Small:
    network = TwoTimescaleActorCritic(2, 3, (7,), 5, 3, 3, torch.Generator().manual_seed(seed), slots)
    return _recurrent(network, kind(network, FtwSettings(**settings), device, np.random.default_rng(seed)))


def ftw_with_memory(kind: type = FtwLearner, **more: Any) -> Small:
    return ftw(kind, slots=4, **more)


def _recurrent(network: Any, learner: Any) -> Small:
    signals = np.eye(6, dtype=np.float32)[[3, 3, 4, 5]]  # of rewards to predict, some and none

    def state(random: np.random.Generator) -> tuple[Any, ...]:
        return tuple(one.cpu().numpy() for one in network.initial_state(4))

    return Small(
        learner, lambda number, now: learner.update(replace(make_batch(number, state=state), signals=signals), now)
    )


def short_games(network: Network, steps: int, parts: int = 1) -> list[Sequences]:
    """Play of CartPole by the network, in episodes of at most 11 decisions."""
    envs = [lambda: gymnasium.make("CartPole-v1", max_episode_steps=11)] * 3
    play = Collector(
        SyncVectorEnv(envs, autoreset_mode=AutoresetMode.SAME_STEP),
        steps,
        np.random.default_rng(0),  # type: ignore[arg-type]
    )
    return [play.collect(PolicySnapshot(network))[0] for _ in range(parts)]


KINDS: tuple[Kind, ...] = (acer, ppo, shared_ppo, dqn, dueling_dqn, rlpd, vtrace, ftw, ftw_with_memory)
LEARNERS: dict[str, Kind] = {one.__name__: one for one in KINDS}  # type: ignore[attr-defined]

PHASES = (
    NOW,
    NOW._replace(imitation=0.5, entropy=2.0),
    NOW._replace(critic_only=True),
    NOW._replace(imitation=0.2, learning_rate=0.5),
)
