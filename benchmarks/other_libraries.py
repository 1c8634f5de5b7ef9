"""Shared by `offline_learners.py` and `imitation_learners.py`: run another library's learners and tabulate their games.

A result is every start played greedily, and 100 games with drawn actions.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from qwop.datasets import open_dataset
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.settings import EvaluationSettings
from qwop.policies.networks import Network
from qwop.policies.policy import Policy
from repeated import Results, markdown
from torch import Tensor

HIDDEN = (256, 128)
"""Widths of the layers, those of our clone."""

BATCH = 256

RANDOM = 0.02
"""Share of random actions in drawn games of a learner that has values alone."""

Learn = Callable[..., Network]
"""Takes a `Dataset`, then the numbers of the budget and `seed` by name."""


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


def compare(description: str, learners: dict[str, Learn], out: str, **budget: int) -> None:
    """The whole command of a script. Each number of the budget is an option, and its default is given here.

    Results are kept in `results.jsonl`, and one that is there is not computed again.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demonstrations", required=True)
    parser.add_argument("--learners", nargs="*", choices=list(learners), default=list(learners))
    for name, default in budget.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(out))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results, dataset = Results(asked.out), open_dataset(Path(asked.demonstrations))
    budget = {name: getattr(asked, name) for name in budget}

    def result(learner: str, seed: int) -> dict[str, Any]:
        start = time.process_time()
        network = learners[learner](dataset, **budget, seed=seed)
        seconds = time.process_time() - start
        policy = Policy(network, dataset.info.environment, dataset.info.observation)
        greedy = evaluate(policy, EvaluationSettings()).summary()
        drawn = evaluate(policy, EvaluationSettings(greedy=False, episodes=100)).summary()
        return {"seconds": seconds, "greedy": greedy, "drawn": drawn}

    for seed in range(asked.seeds):
        for learner in asked.learners:
            results.compute({"learner": learner, **budget, "seed": seed}, partial(result, learner, seed))
    rows = []
    for learner in asked.learners:
        mine = results.of(learner=learner, **budget)
        cells = [learner]
        for kind in ("greedy", "drawn"):
            cells.append(", ".join(str(one[kind]["finishes"]) for one in mine))
            cells.append(", ".join(f"{one[kind]['mean_metres']:.1f}" for one in mine))
        rows.append([*cells, f"{np.mean([one['seconds'] for one in mine]):.0f}"])
    header = ["", "greedy: finished of 31", "metres", "drawn: finished of 100", "metres", "seconds of one core"]
    print(markdown(header, rows))
