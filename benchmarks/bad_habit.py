"""Policies stuck in a bad habit, and ten games of a better player in their replay memory, then removed.

    pip install '.[train,box2d,minigrid]'
    python benchmarks/bad_habit.py --seeds 10 --out runs/bad_habit

A habit is cloned from ten games of a player who never gets anywhere: who hovers over the moon, lets Acrobot hang, turns
on the spot before DoorKey's door. RLPD goes on from this clone (`mixed`), with ten games of a better player as half of
each batch, imitated less and less; then PPO without them, which fits its values first (`values`, `alone`). Or both go
on alone for as many decisions. Judged are 50 greedy games.

Every result is kept in `results.jsonl`, and a result that is there is not computed again.
"""

import argparse
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hard_exploration import TASKS as HARD
from hard_exploration import Choose, Task, demonstrations, land
from numpy.typing import NDArray
from qwop.commands import finetune
from qwop.envs.actions import Env
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.settings import EvaluationSettings
from qwop.policies.files import load_policy, save_policy
from qwop.pretrain.clone import clone
from repeated import Results, every, markdown

GAMES = 10
JUDGED = EvaluationSettings(episodes=50, seed=1_000_000)
WITH, ALONE = "ten games, then removed", "alone"
NONE = tuple(f"schedule.phases.mixed.{name}=0" for name in ("demonstrations", "imitation"))


@dataclass(frozen=True)
class Habit:
    """A habit, and the better player's task with it. mixed, alone: decisions."""

    task: Task
    habit: Choose
    mixed: int
    alone: int


def hang(env: Env, seen: NDArray[Any]) -> int:
    """Acrobot: no torque."""
    return 1


def turn(env: Env, seen: NDArray[Any]) -> int:
    """DoorKey: turn left."""
    return 0


def hover(env: Env, seen: NDArray[Any]) -> int:
    """LunarLander: fire below while sinking, else keep upright."""
    lean = seen[4] + 0.5 * seen[5]
    return 2 if seen[3] < 0 else 1 if lean < -0.05 else 3 if lean > 0.05 else 0


MOON = Task("LunarLander-v3", 200.0, land, 1 / 20, GAMES, 0, 0.1)

HABITS = {
    "lander": Habit(MOON, hover, 8_000, 20_480),
    "acrobot": Habit(replace(HARD["acrobot"], shown=GAMES), hang, 2_000, 10_240),
    "door-key": Habit(replace(HARD["door-key"], shown=GAMES), turn, 4_000, 10_240),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--habits", nargs="*", choices=list(HABITS), default=list(HABITS))
    parser.add_argument("--out", type=Path, default=Path("runs/bad_habit"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = Results(asked.out)
    for name in asked.habits:
        for seed in range(asked.first, asked.first + asked.seeds):
            for way in (WITH, ALONE):
                folder = asked.out / f"{name}-{seed}"
                results.compute({"habit": name, "seed": seed, "way": way}, partial(result, name, way, seed, folder))
    print(table(results))


SCHEDULE = (
    "algorithm=rlpd-small",
    "schedule=demonstrations-throughout",
    "schedule.keep=last",
    "schedule.phases.mixed.imitation=[1,0.05]",
    "schedule.phases.mixed.learning_rate=[1,0.1]",
    "+schedule.phases.values={decisions: 8192, algorithm: ppo-small, critic_only: true}",
    "+schedule.phases.alone.algorithm=ppo-small",
    "+schedule.phases.alone.learning_rate=[0.5,0]",
    "evaluation.episodes=1",
    "evaluation.drawn=0",
    "tracker=none",
    "video=false",
    "device=cpu",
)


def words_of(name: str, way: str, seed: int, begun: Path, games: Path, out: Path) -> list[str]:
    """The settings of `qwop-finetune` that go on from the policy `begun`."""
    one = HABITS[name]
    words = [f"policy={begun}", f"demonstrations={games}", f"seed={seed}", f"out={out}", *SCHEDULE]
    words += [f"schedule.phases.mixed.decisions={one.mixed}", f"+schedule.phases.alone.decisions={one.alone}"]
    return [*words, f"algorithm.reward_scale={one.task.reward_scale}", *(NONE if way == ALONE else ())]


def result(name: str, way: str, seed: int, folder: Path) -> dict[str, Any]:
    """Mean returns with the habit, after `mixed` and at the end."""
    one, start = HABITS[name], time.process_time()
    begun = folder / "habit.safetensors"
    if not begun.exists():
        shown = demonstrations(replace(one.task, choose=one.habit), folder / "habit", seed)
        save_policy(begun, clone(list(shown), shown.info, seed=seed).policy)
    games, out = folder / "games", folder / way.replace(" ", "-").replace(",", "")
    demonstrations(one.task, games, seed)
    finetune.run(finetune.read(words_of(name, way, seed, begun, games, out)))
    policies = {"before": begun, "mixed": out / "phases/1-mixed.safetensors", "end": out / "policy.safetensors"}
    return {key: mean_return(path) for key, path in policies.items()} | {"seconds": time.process_time() - start}


def mean_return(policy: Path) -> float:
    return float(evaluate(load_policy(policy), JUDGED).summary()["mean_return"])


def table(results: Results) -> str:
    """A row for each habit and way; how many of its seeds end ahead of going on alone."""
    rows = []
    for name, habit in HABITS.items():
        both = [{row["seed"]: row for row in results.of(habit=name, way=way)} for way in (WITH, ALONE)]
        ahead = [both[0][seed]["end"] > both[1][seed]["end"] for seed in both[0] if seed in both[1]]
        for way, found in zip((WITH, ALONE), both, strict=True):
            ends = [[round(row[key], 2) for row in found.values()] for key in ("before", "mixed", "end")]
            told = f"{sum(ahead)} of {len(ahead)}" if way == WITH else ""
            rows.append([habit.task.id, way, *map(every, ends), told, f"{mean_of(found):.0f}"])
    return markdown(["", "goes on", "before", "`mixed`", "end", "ahead", "seconds of one core"], rows)


def mean_of(found: dict[int, dict[str, Any]]) -> float:
    return float(np.mean([row["seconds"] for row in found.values()])) if found else 0.0


if __name__ == "__main__":
    main()
