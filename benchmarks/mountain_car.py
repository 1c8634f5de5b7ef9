"""MountainCar-v0 with twenty demonstrations and without: which learner solves it, with what.

    python benchmarks/mountain_car.py --seeds 10 --out runs/mountain_car

Every step costs 1 until the car is on the hill, and no step says where the hill is: play at random never gets there
within the 200 steps of an episode, so there is nothing to learn from. The demonstrator mostly pushes the way that the
car is rolling, and a third of the time presses anything; its probabilities are recorded. Twenty of its episodes are
cloned, put into replay or imitated; each learner has the same number of decisions with and without them. An episode
that takes 110 steps or fewer on average counts as solved (Gymnasium's threshold). Every result is kept in
`results.jsonl`, and a result that is there is not computed again.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from qwop.datasets import Dataset, DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.behaviour_probabilities import RECORDED
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.evaluation.evaluate import EvaluationSettings, evaluate
from qwop.finetune.agents.acer.settings import AcerLoopSettings, AcerSettings
from qwop.finetune.agents.dqn.settings import DdqnLoopSettings, DdqnSettings
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.reports.run_log import RunLog
from qwop.finetune.run import RunContext, build_run
from qwop.finetune.schedules.phase import Phase, Ramp
from qwop.finetune.schedules.schedule import PUBLISHED_RATE
from qwop.finetune.settings import RunSettings
from qwop.policies.policy import Policy
from qwop.pretrain.clone import clone

SPEC = EnvironmentSpec("MountainCar-v0")
SOLVED = -110.0
SHOWN = 20
PRESSES_ANYTHING = 1 / 3

FALLING = Ramp(1.0, 0.0)
ALONE = {"learning_rate": FALLING}
MIXED = {"learning_rate": FALLING, "demonstrations": Ramp(1.0, 1.0)}


@dataclass(frozen=True)
class Learner:
    """An algorithm with its settings, and what its phase is with demonstrations and without."""

    name: str
    algorithm: Any
    loop: Any
    with_demonstrations: dict[str, Any]
    clones: bool = True


LEARNERS = (
    Learner(
        "ppo",
        PpoSettings(gamma=0.995, epochs=8, minibatch=256, learning_rate=1e-3),
        PpoLoopSettings(num_envs=16),
        {"learning_rate": FALLING, "imitation": Ramp(0.3, 0.0)},
    ),
    Learner(
        "acer",
        AcerSettings(gamma=0.995, entropy_coefficient=1e-3, learning_rate=1e-3),
        AcerLoopSettings(num_envs=8, overlap=False),
        MIXED,
    ),
    Learner(
        "ddqn",
        DdqnSettings(
            gamma=0.995, learning_rate=5e-4, n_steps=10, epsilon_start=1.0, epsilon_end=0.02, epsilon_share=0.2
        ),
        DdqnLoopSettings(num_envs=8, steps=8, start=500, overlap=False),
        {"learning_rate": FALLING, "demonstrations": Ramp(0.5, 0.5), "imitation": FALLING},
        clones=False,
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--decisions", type=int, default=60_000, help="of each learner")
    parser.add_argument("--out", type=Path, default=Path("runs/mountain_car"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = asked.out / "results.jsonl"
    asked.out.mkdir(parents=True, exist_ok=True)
    for seed in range(asked.seeds):
        dataset = demonstrations(asked.out / f"demonstrations-{seed}", seed)
        for learner, cloned, shown in cells():
            key = {"learner": learner.name, "clone": cloned, "demonstrations": shown, "seed": seed}
            key["decisions"] = asked.decisions
            if any(key.items() <= one.items() for one in read(results)):
                continue
            folder = asked.out / "-".join(str(value) for value in key.values())
            before, after = learn(learner, dataset, cloned, shown, seed, asked.decisions, folder)
            with results.open("a") as file:
                file.write(json.dumps({**key, "start": before, "end": after}) + "\n")
            print(key, f"{before:.1f} → {after:.1f}", flush=True)
    (asked.out / "table.md").write_text(table(read(results)))
    print((asked.out / "table.md").read_text())


def cells() -> Iterator[tuple[Learner, bool, bool]]:
    """Each learner with and without a clone to start from, with and without demonstrations while it learns."""
    for learner in LEARNERS:
        for cloned in (False, True) if learner.clones else (False,):
            for shown in (False, True):
                yield learner, cloned, shown


def demonstrations(folder: Path, seed: int) -> Dataset:
    """Twenty episodes of the demonstrator, recorded with its probabilities."""
    if not folder.exists():
        writer = DatasetWriter(folder, DatasetInfo(SPEC, ObservationSpec((2,)), 3))
        env, random = gymnasium.make(SPEC.id), np.random.default_rng(seed)
        for number in range(SHOWN):
            writer.write(play(env, random, seed * SHOWN + number))
    return open_dataset(folder)


def play(env: gymnasium.Env[Any, Any], random: np.random.Generator, seed: int) -> Episode:
    seen, actions, probabilities, rewards = [env.reset(seed=seed)[0]], [], [], []
    terminated = truncated = False
    while not terminated and not truncated:
        mu = np.full(3, PRESSES_ANYTHING / 3)
        mu[2 if seen[-1][1] >= 0 else 0] += 1 - PRESSES_ANYTHING
        actions.append(int(random.choice(3, p=mu)))
        observation, reward, terminated, truncated, _ = env.step(actions[-1])
        seen.append(observation)
        probabilities.append(mu)
        rewards.append(float(reward))
    return Episode(
        observations=np.array(seen, dtype=np.float32),
        actions=np.array(actions, dtype=np.int16),
        behaviour_probabilities=np.array(probabilities, dtype=np.float32),
        rewards=np.array(rewards, dtype=np.float32),
        times=np.arange(len(seen), dtype=np.float64),
        keys=None,
        terminated=terminated,
        truncated=truncated,
        outcome="terminated" if terminated else "truncated",
        player="swing",
        source=f"benchmarks/mountain_car.py, seed {seed}",
        probabilities_from=RECORDED,
        seed=seed,
    )


def learn(
    learner: Learner, dataset: Dataset, cloned: bool, shown: bool, seed: int, decisions: int, folder: Path
) -> tuple[float, float]:
    """Mean return of a hundred greedy episodes before and after."""
    algorithm = ALGORITHMS[learner.name]
    if cloned:
        policy = clone(list(dataset), dataset.info, seed=seed).policy
    else:
        make = algorithm.new_network(learner.algorithm)
        network = make(2, 3, torch.Generator().manual_seed(seed))
        network.scaler.fit(np.concatenate([episode.observations for episode in dataset]))
        policy = Policy(network, SPEC, ObservationSpec((2,)))
    before = mean_return(policy)
    phase = Phase("learn", decisions / (3600 * PUBLISHED_RATE), **(learner.with_demonstrations if shown else ALONE))
    settings = RunSettings((phase,), learner.algorithm, learner.loop, seed=seed)
    log = RunLog(folder)
    log.open()
    context = RunContext(torch.device("cpu"), folder / "checkpoints", log)
    build_run(algorithm, policy, dataset if shown else None, settings, context).run()
    log.close()
    return before, mean_return(policy)


def mean_return(policy: Policy) -> float:
    return float(evaluate(policy, EvaluationSettings(episodes=100)).summary()["mean_return"])


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| learner | starts from | demonstrations while it learns | solved | return, each seed |",
        "|---|---|---|---|---|",
    ]
    for learner, cloned, shown in cells():
        mine = [
            one
            for one in results
            if (one["learner"], one["clone"], one["demonstrations"]) == (learner.name, cloned, shown)
        ]
        ends = [one["end"] for one in mine]
        solved = sum(end >= SOLVED for end in ends)
        start = f"a clone ({np.mean([one['start'] for one in mine]):.0f})" if cloned else "nothing"
        each = ", ".join(f"{end:.0f}" for end in ends)
        lines.append(f"| {learner.name} | {start} | {'yes' if shown else 'no'} | {solved} of {len(ends)} | {each} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
