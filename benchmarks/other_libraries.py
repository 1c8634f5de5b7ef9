"""Offline learners of d3rlpy and of imitation on the demonstrations that ours fine-tune with.

    pip install '.[train,d3rlpy]' && pip install --no-deps d3rlpy==2.8.1
    python benchmarks/other_libraries.py --demonstrations data/kurodo-15 --learners DiscreteBC DiscreteBCQ

    pip install '.[train,sb3]' matplotlib rich tqdm
    pip install --no-deps imitation==1.0.1 stable-baselines3==2.6.0
    python benchmarks/other_libraries.py --demonstrations data/kurodo-15 --learners BC

imitation 1.0.1 asks for Gymnasium 0.29 and Stable-Baselines3 2.2, but works with newer Gymnasiums and with 2.6. Give
each library a virtual environment of its own.

Each learns from the episodes alone, for `--updates` batches of 256 decisions, with the clone's layers, observations
standardised as the clone's are, and its own settings otherwise. The result plays every start greedily, and 100 games
with drawn actions, in which d3rlpy's algorithms, which have no probabilities, take 2 % of them at random. Every result
is kept in `results.jsonl`, and a result that is there is not computed again.
"""

import argparse
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from qwop.datasets import Dataset, open_dataset
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.settings import EvaluationSettings
from qwop.policies.networks import Network
from qwop.policies.policy import Policy
from qwop.policies.scaling import ObservationScaler
from repeated import Results, markdown
from torch import Tensor

HIDDEN = [256, 128]
"""Widths of the layers, those of our clone."""

BATCH = 256

RANDOM = 0.02
"""Share of random actions in drawn games of a learner that has values alone."""


class EpsilonGreedy(Network):
    """The action of `choose`, observations [n, ...] to int64 [n]; in a share `RANDOM` of the decisions a random one."""

    architecture = "epsilon-greedy"

    def __init__(self, choose: Callable[[Tensor], Tensor], observations: int, actions: int) -> None:
        super().__init__(observations, actions)
        self.place = torch.nn.Parameter(torch.zeros(()))  # tells a Policy the device
        self._choose = choose

    def logits(self, observations: Tensor) -> Tensor:
        chosen = torch.nn.functional.one_hot(self._choose(observations), self.actions)
        return (chosen * (1 - RANDOM) + RANDOM / self.actions).log()


class Actor(Network):
    """π of Stable-Baselines3's actor and critic."""

    architecture = "stable-baselines3"

    def __init__(self, policy: Any, observations: int, actions: int) -> None:
        super().__init__(observations, actions)
        self.policy = policy

    def logits(self, observations: Tensor) -> Tensor:
        logits: Tensor = self.policy.get_distribution(observations).distribution.logits
        return logits


def d3rlpy_learner(name: str, dataset: Dataset, updates: int, seed: int) -> EpsilonGreedy:
    """The most valuable actions of an algorithm of d3rlpy; rewards are scaled by 0.1."""
    import d3rlpy
    import structlog

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    d3rlpy.seed(seed)
    episodes = list(dataset)
    ends = [np.eye(1, len(episode), len(episode) - 1, dtype=np.float32)[0] for episode in episodes]
    data = d3rlpy.dataset.MDPDataset(
        observations=np.concatenate([episode.observations[:-1] for episode in episodes]),
        actions=np.concatenate([episode.actions for episode in episodes]).astype(np.int64),
        rewards=0.1 * np.concatenate([episode.rewards for episode in episodes]),
        terminals=np.concatenate([end * episode.terminated for end, episode in zip(ends, episodes, strict=True)]),
        timeouts=np.concatenate([end * (not episode.terminated) for end, episode in zip(ends, episodes, strict=True)]),
        action_space=d3rlpy.constants.ActionSpace.DISCRETE,
        action_size=dataset.info.actions,
    )
    algorithm = getattr(d3rlpy.algos, f"{name}Config")(
        batch_size=BATCH,
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler(),
        encoder_factory=d3rlpy.models.VectorEncoderFactory(hidden_units=HIDDEN),
    ).create(device=False)
    algorithm.fit(
        data,
        n_steps=updates,
        n_steps_per_epoch=updates,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
    )
    return EpsilonGreedy(
        lambda observations: torch.from_numpy(algorithm.predict(observations.numpy())),
        dataset.info.observation.size,
        dataset.info.actions,
    )


def imitations_bc(dataset: Dataset, updates: int, seed: int) -> Actor:
    """The policy of imitation's BC."""
    from imitation.algorithms.bc import BC
    from imitation.data.types import Trajectory
    from imitation.util.logger import configure
    from qwop.envs.sb3 import BatchVecEnv
    from stable_baselines3 import PPO
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.common.utils import set_random_seed

    class Scaled(BaseFeaturesExtractor):
        """Observations as the scaler that was fitted to the demonstrations scales them."""

        def __init__(self, space: Any, shown: NDArray[np.float32]) -> None:
            super().__init__(space, space.shape[0])
            self.scaler = ObservationScaler(space.shape[0])
            self.scaler.fit(shown)

        def forward(self, observations: Tensor) -> Tensor:
            return self.scaler(observations)

    layers = {
        "net_arch": HIDDEN,
        "activation_fn": torch.nn.ReLU,
        "features_extractor_class": Scaled,
        "features_extractor_kwargs": {"shown": np.concatenate([episode.observations for episode in dataset])},
    }
    games = BatchVecEnv(1, **dataset.info.environment.settings)
    policy = PPO(ActorCriticPolicy, games, policy_kwargs=layers, seed=seed, device="cpu").policy
    set_random_seed(seed)
    BC(
        observation_space=policy.observation_space,
        action_space=policy.action_space,
        rng=np.random.default_rng(seed),
        policy=policy,
        demonstrations=[
            Trajectory(episode.observations, episode.actions.astype(np.int64), infos=None, terminal=episode.terminated)
            for episode in dataset
        ],
        batch_size=BATCH,
        custom_logger=configure(format_strs=[]),
    ).train(n_batches=updates, progress_bar=False)
    return Actor(policy, dataset.info.observation.size, dataset.info.actions)


LEARNERS: dict[str, Callable[[Dataset, int, int], Network]] = {
    "DiscreteBC": partial(d3rlpy_learner, "DiscreteBC"),
    "DiscreteBCQ": partial(d3rlpy_learner, "DiscreteBCQ"),
    "BC": imitations_bc,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demonstrations", type=Path, required=True)
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), required=True)
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/other_libraries"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results, dataset = Results(asked.out), open_dataset(asked.demonstrations)
    for seed in range(asked.seeds):
        for learner in asked.learners:
            key = {"learner": learner, "updates": asked.updates, "seed": seed}
            results.compute(key, partial(result, LEARNERS[learner], dataset, asked.updates, seed))
    print(table(results, asked.learners, asked.updates))


def result(learn: Callable[[Dataset, int, int], Network], dataset: Dataset, updates: int, seed: int) -> dict[str, Any]:
    """Figures of one learner."""
    start = time.process_time()
    network = learn(dataset, updates, seed)
    seconds = time.process_time() - start
    policy = Policy(network, dataset.info.environment, dataset.info.observation)
    greedy = evaluate(policy, EvaluationSettings()).summary()
    drawn = evaluate(policy, EvaluationSettings(greedy=False, episodes=100)).summary()
    return {"seconds": seconds, "greedy": greedy, "drawn": drawn}


def table(results: Results, learners: list[str], updates: int) -> str:
    rows = []
    for learner in learners:
        mine = results.of(learner=learner, updates=updates)
        cells = [learner]
        for kind in ("greedy", "drawn"):
            cells.append(", ".join(str(one[kind]["finishes"]) for one in mine))
            cells.append(", ".join(f"{one[kind]['mean_metres']:.1f}" for one in mine))
        rows.append([*cells, f"{np.mean([one['seconds'] for one in mine]):.0f}"])
    header = ["", "greedy: finished of 31", "metres", "drawn: finished of 100", "metres", "seconds of one core"]
    return markdown(header, rows)


if __name__ == "__main__":
    main()
