"""Offline learners of d3rlpy on the demonstrations that ours fine-tune with.

    pip install '.[train,d3rlpy]' && pip install --no-deps d3rlpy==2.8.1
    python benchmarks/offline_learners.py --demonstrations data/kurodo-15 --seeds 3 --out runs/offline_learners

Each learns from the episodes alone, for `--updates` batches of 256 decisions, with the clone's layers and d3rlpy's own
settings otherwise; observations are standardised and rewards scaled by 0.1. The result plays every start greedily, and
100 games in which 2 % of the actions are random, because a greedy clone of a person waits at the start for ever. Every
result is kept in `results.jsonl`, and a result that is there is not computed again.
"""

import argparse
import json
import logging
import time
from pathlib import Path
from typing import Any

import d3rlpy
import numpy as np
import structlog
import torch
from qwop.datasets import Dataset, open_dataset
from qwop.evaluation.evaluate import EvaluationSettings, evaluate
from qwop.policies.networks import Network
from qwop.policies.policy import Policy
from torch import Tensor

LEARNERS = {
    "DiscreteBC": d3rlpy.algos.DiscreteBCConfig,
    "DiscreteBCQ": d3rlpy.algos.DiscreteBCQConfig,
    "DiscreteCQL": d3rlpy.algos.DiscreteCQLConfig,
    "DoubleDQN": d3rlpy.algos.DoubleDQNConfig,
}

RANDOM = 0.02
"""Share of random actions in drawn games."""


class Greedy(Network):
    """A d3rlpy algorithm's most valuable actions, ε-greedy."""

    architecture = "d3rlpy"

    def __init__(self, algorithm: Any, observations: int, actions: int) -> None:
        super().__init__(observations, actions)
        self.place = torch.nn.Parameter(torch.zeros(()))  # tells a Policy the device
        self._algorithm = algorithm

    def logits(self, observations: Tensor) -> Tensor:
        chosen = torch.from_numpy(self._algorithm.predict(observations.numpy()))
        probabilities = torch.nn.functional.one_hot(chosen, self.actions) * (1 - RANDOM) + RANDOM / self.actions
        return probabilities.log()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demonstrations", required=True)
    parser.add_argument("--learners", nargs="*", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/offline_learners"))
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    torch.set_num_threads(1)
    asked.out.mkdir(parents=True, exist_ok=True)
    results, dataset = asked.out / "results.jsonl", open_dataset(Path(asked.demonstrations))
    for seed in range(asked.seeds):
        for learner in asked.learners:
            key = {"learner": learner, "updates": asked.updates, "seed": seed}
            if any(key.items() <= one.items() for one in read(results)):
                continue
            start = time.process_time()
            policy = learn(learner, dataset, asked.updates, seed)
            seconds = time.process_time() - start
            greedy = evaluate(policy, EvaluationSettings()).summary()
            drawn = evaluate(policy, EvaluationSettings(greedy=False, episodes=100)).summary()
            with results.open("a") as file:
                file.write(json.dumps({**key, "seconds": seconds, "greedy": greedy, "drawn": drawn}) + "\n")
    (asked.out / "table.md").write_text(table(read(results), asked.learners))
    print((asked.out / "table.md").read_text())


def learn(name: str, dataset: Dataset, updates: int, seed: int) -> Policy:
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
    algorithm = LEARNERS[name](
        batch_size=256,
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler(),
        encoder_factory=d3rlpy.models.VectorEncoderFactory(hidden_units=[256, 128]),
    ).create(device=False)
    algorithm.fit(
        data,
        n_steps=updates,
        n_steps_per_epoch=updates,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
    )
    info = dataset.info
    return Policy(Greedy(algorithm, info.observation.size, info.actions), info.environment, info.observation)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(results: list[dict[str, Any]], learners: list[str]) -> str:
    lines = ["| | greedy: finished of 31 | metres | 2 % random: finished of 100 | metres | seconds of one core |"]
    lines.append("|---|---|---|---|---|---|")
    for learner in learners:
        mine = [one for one in results if one["learner"] == learner]
        cells = [learner]
        for kind in ("greedy", "drawn"):
            cells.append(", ".join(str(one[kind]["finishes"]) for one in mine))
            cells.append(", ".join(f"{one[kind]['mean_metres']:.1f}" for one in mine))
        lines.append("| " + " | ".join([*cells, f"{np.mean([one['seconds'] for one in mine]):.0f}"]) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
