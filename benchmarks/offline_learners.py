"""Offline learners of d3rlpy on the demonstrations that ours fine-tune with.

    pip install '.[train,d3rlpy]' && pip install --no-deps d3rlpy==2.8.1
    python benchmarks/offline_learners.py --demonstrations data/kurodo-15 --seeds 3 --out runs/offline_learners

Each learns from the episodes alone, for `--updates` batches of 256 decisions, with the clone's layers and d3rlpy's own
settings otherwise; observations are standardised and rewards scaled by 0.1. The result plays every start greedily, and
100 games in which 2 % of the actions are random, because a greedy clone of a person waits at the start for ever. Every
result is kept in `results.jsonl`, and a result that is there is not computed again.
"""

import logging
from functools import partial
from typing import Any

import d3rlpy
import numpy as np
import structlog
import torch
from other_libraries import BATCH, HIDDEN, EpsilonGreedy, compare
from qwop.datasets import Dataset

CONFIGS = {
    "DiscreteBC": d3rlpy.algos.DiscreteBCConfig,
    "DiscreteBCQ": d3rlpy.algos.DiscreteBCQConfig,
    "DiscreteCQL": d3rlpy.algos.DiscreteCQLConfig,
    "DoubleDQN": d3rlpy.algos.DoubleDQNConfig,
}


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    learners = {name: partial(learn, config) for name, config in CONFIGS.items()}
    compare(__doc__, learners, "runs/offline_learners", updates=20_000)


def learn(config: Any, dataset: Dataset, updates: int, seed: int) -> EpsilonGreedy:
    """An algorithm's most valuable actions."""
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
    algorithm = config(
        batch_size=BATCH,
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler(),
        encoder_factory=d3rlpy.models.VectorEncoderFactory(hidden_units=list(HIDDEN)),
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


if __name__ == "__main__":
    main()
