"""Three environments with a distant goal, few decisions: RLPD with twenty demonstrations and with none.

    pip install '.[train,minigrid]'
    python benchmarks/hard_exploration.py --seeds 10 --out runs/hard_exploration

MountainCar-v0 and Acrobot-v1 cost 1 a step until the goal, which play at random hardly ever reaches. MiniGrid's DoorKey
pays only at the end of a chain: fetch the key, open the door, go to the goal; its rooms are new in each episode. 2,000
decisions are ten episodes of the first that miss the goal; 3,000 are six of the second and twelve of the third.

Demonstrators, part of whose actions are random, show twenty episodes; their probabilities are recorded. Decisions,
updates and settings are the same with the demonstrations in the batches and without. Rewards are scaled so that the
values of a solved episode are between 1 and 10 in size: DoorKey's single reward of at most 1 is multiplied by 10, the
others' costs by 0.1.

Every result is kept in `results.jsonl`, and a result that is there is not computed again.
"""

import argparse
import shutil
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from qwop.commands import finetune
from qwop.datasets import Dataset, DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.behaviour_probabilities import RECORDED
from qwop.envs.actions import Env
from qwop.envs.spec import EnvironmentSpec
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.settings import EvaluationSettings
from qwop.policies.files import load_policy
from qwop.recorder.page.environment_play import EnvironmentPlay
from repeated import QUIET, Results, markdown

SHOWN = (True, False)
"""Runs with demonstrations, and without."""

Choose = Callable[[Env, NDArray[Any]], int]
"""The demonstrator's own choice, of the environment and what it shows."""


@dataclass(frozen=True)
class Task:
    """An environment and its demonstrator, a fraction `careless` of whose decisions is random.

    solved: mean return of 50 greedy episodes that counts as solved. shown: episodes. decisions: of each run.
    """

    id: str
    solved: float
    choose: Choose
    careless: float
    shown: int
    decisions: int
    reward_scale: float

    @property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(self.id)


class DoorKey(gymnasium.ObservationWrapper[Any, Any, Any]):
    """MiniGrid's DoorKey, five by five, as numbers: a 1 for what each cell in view holds, and for the door's state."""

    OBJECTS, STATES = 11, 3

    def __init__(self, render_mode: str | None = None) -> None:
        import minigrid  # noqa: F401 (registers its environments)

        super().__init__(gymnasium.make("MiniGrid-DoorKey-5x5-v0", render_mode=render_mode))
        cells = 7 * 7 * (self.OBJECTS + self.STATES)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (cells,), np.float32)

    def observation(self, observation: Any) -> NDArray[np.float32]:
        image = observation["image"]
        held, state = np.eye(self.OBJECTS)[image[..., 0]], np.eye(self.STATES)[image[..., 2]]
        return np.concatenate([held, state], axis=-1).astype(np.float32).ravel()


gymnasium.register("DoorKey-v0", entry_point=DoorKey)


def swing(env: Env, seen: NDArray[Any]) -> int:
    """MountainCar: push right between two curves of the speed over the place, else left (Z. Xiao, *Reinforcement
    Learning*, 2019)."""
    x, v = float(seen[0]), float(seen[1])
    least = min(-0.09 * (x + 0.25) ** 2 + 0.03, 0.3 * (x + 0.9) ** 4 - 0.008)
    return 2 if least <= v <= -0.07 * (x + 0.38) ** 2 + 0.07 else 0


def pump(env: Env, seen: NDArray[Any]) -> int:
    """Acrobot: bend the way that the first link is swinging."""
    return 2 if seen[4] < 0 else 0


def fetch(env: Env, seen: NDArray[Any]) -> int:
    """DoorKey: by the shortest way to the key, then to the door, then to the goal."""
    grid: Any = env.unwrapped
    left, right, forward, pickup, toggle = 0, 1, 2, 3, 5
    at = {cell.type: (i % grid.width, i // grid.width) for i, cell in enumerate(grid.grid.grid) if cell is not None}
    closed = not grid.grid.get(*at["door"]).is_open
    aim, act = (at["goal"], forward) if not closed else (at["door"], toggle) if grid.carrying else (at["key"], pickup)
    steps = ((1, 0), (0, 1), (-1, 0), (0, -1))
    start = (*(int(one) for one in grid.agent_pos), int(grid.agent_dir))
    queue, first = deque([start]), {start: -1}
    while queue:
        x, y, towards = here = queue.popleft()
        ahead = (x + steps[towards][0], y + steps[towards][1])
        if ahead == aim:
            return act if here == start else first[here]
        cell = grid.grid.get(*ahead)
        free = cell is None or (cell.type == "door" and cell.is_open)
        moves = [(left, (x, y, (towards - 1) % 4)), (right, (x, y, (towards + 1) % 4))]
        for action, following in [*moves, *([(forward, (*ahead, towards))] if free else [])]:
            if following not in first:
                first[following] = action if here == start else first[here]
                queue.append(following)
    return forward


def land(env: Env, seen: NDArray[Any]) -> int:
    """LunarLander, for other scripts: the rule of thumb that Gymnasium has for it."""
    from gymnasium.envs.box2d.lunar_lander import heuristic

    return int(heuristic(env.unwrapped, seen))


TASKS = {
    "mountain-car": Task("MountainCar-v0", -110.0, swing, 1 / 20, 20, 2_000, 0.1),
    "acrobot": Task("Acrobot-v1", -100.0, pump, 1 / 3, 20, 3_000, 0.1),
    "door-key": Task("DoorKey-v0", 0.8, fetch, 1 / 20, 20, 3_000, 10.0),
}

RLPD = (
    "algorithm=rlpd",
    "algorithm.hidden=[64,64]",
    "algorithm.members=3",
    "algorithm.learning_rate=2e-3",
    "algorithm.epsilon_start=0.1",
    "algorithm.epsilon_end=0.02",
    "algorithm.tau=0.02",
    "loop.updates_per_decision=4",
    "schedule=demonstrations-throughout",
    "schedule.phases.mixed.learning_rate=[1,0.05]",
    "device=cpu",
    *QUIET,
)

GIVEN = {True: ("demonstrations=1", "imitation=[1,0.05]"), False: ("demonstrations=0",)}
"""Settings of the phase with demonstrations, and without."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--out", type=Path, default=Path("runs/hard_exploration"))
    asked = parser.parse_args()
    results = Results(asked.out)
    for seed in range(asked.seeds):
        for task, shown in product(asked.tasks, SHOWN):
            key = key_of(task, shown)
            results.compute(key | {"seed": seed}, partial(result, task, shown, seed, asked.out))
    print(table(results, asked.tasks))


def key_of(task: str, shown: bool) -> dict[str, Any]:
    return {"task": task, "learner": "rlpd", "demonstrations": shown, "decisions": TASKS[task].decisions}


def result(name: str, shown: bool, seed: int, out: Path) -> dict[str, Any]:
    """Figures of one run."""
    task, start = TASKS[name], time.process_time()
    dataset = demonstrations(task, out / f"{name}-demonstrations-{seed}", seed)
    end = learn(task, dataset, shown, seed, out / f"{name}-rlpd-{shown}-{seed}")
    showed = float(np.mean([episode.rewards.sum() for episode in dataset]))
    return {"return": end, "seconds": time.process_time() - start, "demonstrator": showed}


def demonstrations(task: Task, folder: Path, seed: int) -> Dataset:
    """The demonstrator's episodes, recorded with its probabilities."""
    if not folder.exists():
        env, random = task.spec.make(), np.random.default_rng(seed)
        info = DatasetInfo(task.spec, *task.spec.interface())
        writer = DatasetWriter(folder, info)
        for number in range(task.shown):
            writer.write(play(task, env, info, random, seed * task.shown + number))
        env.close()
    return open_dataset(folder)


def play(task: Task, env: Env, info: DatasetInfo, random: np.random.Generator, seed: int) -> Episode:
    game, probabilities = EnvironmentPlay(env, info, seed), []
    while not game.over:
        mu = np.full(info.actions, task.careless / info.actions)
        mu[task.choose(env, game.observations[-1])] += 1 - task.careless
        probabilities.append(mu)
        game.step(int(random.choice(info.actions, p=mu)))
    played = game.episode(task.choose.__name__, f"benchmarks/hard_exploration.py, seed {seed}", epsilon=1.0)
    behaviour = np.array(probabilities, dtype=np.float32)  # known, so not smoothed
    return replace(played, behaviour_probabilities=behaviour, mu_kind=RECORDED)


def learn(task: Task, dataset: Dataset, shown: bool, seed: int, folder: Path) -> float:
    """Mean return of fifty greedy episodes after learning."""
    shutil.rmtree(folder, ignore_errors=True)  # one that was interrupted
    # Both runs name them, for the scale of what can be seen, so that learning from them is the difference.
    words = ["policy=scratch", f"demonstrations={dataset.folder}", f"seed={seed}", f"out={folder}", *RLPD]
    words += [f"schedule.phases.mixed.{one}" for one in (f"decisions={task.decisions}", *GIVEN[shown])]
    finetune.run(finetune.read([*words, f"algorithm.reward_scale={task.reward_scale}"]))
    policy = load_policy(folder / "policy.safetensors")
    return float(evaluate(policy, EvaluationSettings(episodes=50, seed=seed)).summary()["mean_return"])


def table(results: Results, tasks: list[str]) -> str:
    rows = []
    for name, shown in product(tasks, SHOWN):
        if mine := results.of(**key_of(name, shown)):
            task, ends = TASKS[name], [one["return"] for one in mine]
            solved = sum(end >= task.solved for end in ends)
            showed, took = (np.mean([one[figure] for one in mine]) for figure in ("demonstrator", "seconds"))
            each = ", ".join(f"{end:.2f}" if abs(end) < 10 else f"{end:.0f}" for end in ends)
            given = f"{task.id} (≥ {task.solved:g})", f"{showed:.3g}", "yes" if shown else "no"
            rows.append([*given, f"{solved} of {len(ends)}", each, f"{took:.0f}"])
    header = ["", "demonstrator", "demonstrations", "solved", "return, each seed", "seconds of one core"]
    return markdown(header, rows)


if __name__ == "__main__":
    main()
