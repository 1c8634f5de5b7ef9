"""Worth of a person's corrections: a start policy, play by a scripted person, learning, and drawn games before and
after. One process, one row, one seed:

    python benchmarks/coaching.py --row corrections --seed 0 --folder /tmp/coaching --out corrections-0.json

The tables: python benchmarks/coaching.py --table FOLDER-WITH-THE-FILES (of each person a folder of its own)

Rows: corrections (five minutes of them, then learning), whole (five minutes of whole games by the same person, then the
same learning), alone (the same learning without a person), knee (a runner that slides on its knees, ten minutes of
corrections, a clone of the person's decisions, then learning), knee-imitated (without that clone), knee-alone.
cartpole, lander: a weak policy, three minutes of corrections by a good one, a clone of the person's decisions and, if
still needed, learning from there, beside the weak policy's learning alone. CPU seconds are those of this process.
"""

import argparse
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hard_exploration import Task, demonstrations, land
from qwop.commands import finetune, pretrain, record
from qwop.datasets import embedded_dataset, open_dataset
from qwop.datasets.editing.copy import CopySettings
from qwop.datasets.editing.copy import run as copy
from qwop.datasets.editing.relabel import RelabelSettings
from qwop.datasets.editing.relabel import run as relabel
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.figures import bootstrap_interval
from qwop.evaluation.settings import EvaluationSettings
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.threads import use_one_thread
from qwop.recorder.coaching.scripted import Hands
from repeated import QUIET, markdown

GAMES = 13
"""Included games that the start policy is a clone of: few, so that it finishes about half of its drawn games."""

MINUTES = {"corrections": 5.0, "whole": 5.0, "knee": 10.0, "knee-imitated": 10.0}
ROWS = ("corrections", "whole", "alone", "knee", "knee-imitated", "knee-alone")
SMALL = (
    "algorithm=ppo-small",
    "loop.steps=64",
    "algorithm.epochs=8",
    "algorithm.learning_rate=1e-3",
    "algorithm.scale_returns=false",
)
"""The learner of other environments, with the settings that it had when the published figures were made."""

JUDGED, JUDGED_ELSEWHERE = 100, 50
SEED = 1_000_000
"""Seed of the games that judge; no learning uses it."""


@dataclass(frozen=True)
class Elsewhere:
    """An environment, and the mean return that counts as solved. weak: decisions that the policy to correct has learned
    from. person: those of the scripted person; None: a clone of Gymnasium's rule of thumb. learning: decisions of the
    learning that follows."""

    environment: str
    wanted: float
    weak: int
    person: int | None
    learning: int


ELSEWHERE = {
    "cartpole": Elsewhere("CartPole-v1", 475.0, 6_000, 80_000, 40_000),
    "lander": Elsewhere("LunarLander-v3", 200.0, 50_000, None, 150_000),
}

RULE = Task("LunarLander-v3", 200.0, land, careless=0.0, shown=100, decisions=0, reward_scale=1.0)
"""The rule of thumb, and its games."""


class Stopwatch:
    """CPU seconds by section."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.process_time()

    def lap(self, name: str) -> None:
        now = time.process_time()
        self.seconds[name] = round(now - self._began, 1)
        self._began = now


def clone(folder: Path, seed: int) -> Path:
    """A runner that finishes about half of its drawn games."""
    games = len(open_dataset(embedded_dataset()))
    some = folder / "some"
    copy(CopySettings(str(embedded_dataset()), str(some), drop_episodes=tuple(range(GAMES, games))))
    words = [f"dataset={some}", f"out={folder / 'clone'}", f"seed={seed}", "games=0", "held_out=0.1", "epochs=30"]
    pretrain.run(pretrain.read([*words, "tracker=none"]))
    return folder / "clone" / "policy.safetensors"


def slider(folder: Path, seed: int) -> Path:
    """A runner that slides on its knees, as PPO learns it from scratch in 405,000 decisions of 16 games at once."""
    games = folder / "games-15"
    relabel(RelabelSettings(str(embedded_dataset()), str(games), frames_per_step=2, observation="full"))
    data = open_dataset(games)
    network = ActorCritic(data.info.observation, data.info.actions, (256, 128), torch.Generator().manual_seed(seed))
    network.scaler.fit(np.concatenate([one.observations.reshape(len(one) + 1, -1) for one in data]))
    save_policy(folder / "untrained.safetensors", Policy(network, data.info.environment, data.info.observation))
    words = [
        f"policy={folder / 'untrained.safetensors'}", "algorithm=ppo", "schedule=demonstrations-throughout",
        "schedule.phases.mixed.decisions=405120", "schedule.phases.mixed.environment={reward: race}",
        "schedule.phases.mixed.demonstrations=0", "schedule.phases.mixed.entropy=[1,0]", "loop.num_envs=16",
        "algorithm.minibatch=512", f"seed={seed}", f"out={folder / 'slider'}", *QUIET,
    ]  # fmt: skip
    finetune.run(finetune.read(words))
    return folder / "slider" / "policy.safetensors"


def corrected(policy: Path, games: Path, minutes: float, seed: int, *more: str) -> dict[str, Any]:
    """Record a policy in the scripted person's hands; who did how much."""
    words = [f"source.policy={policy}", f"source.minutes={minutes}", f"source.seed={seed}", f"dataset={games}"]
    record.run(record.read(["source=scripted", *words, *more]))
    summary = open_dataset(games).summary()
    return {
        "policy": sum(one.policy for one in summary.shared),
        "person": sum(one.person for one in summary.shared),
        "takeovers": sum(one.takeovers for one in summary.shared),
        "branches": sum(one.branch for one in summary.shared),
        "outcomes": summary.outcomes,
    }


def cloned_from_person(policy: Path, games: Path, out: Path, seed: int) -> Path:
    """The policy, fitted to the person's decisions alone."""
    words = [f"policy={policy}", f"dataset={games}", f"out={out}", f"seed={seed}", "policy_weight=0", "games=0"]
    pretrain.run(pretrain.read([*words, "tracker=none"]))
    return out / "policy.safetensors"


def measured(path: Path) -> Mapping[str, Any]:
    """Figures of drawn games."""
    found = evaluate(load_policy(path), EvaluationSettings(episodes=JUDGED, seed=SEED, greedy=False)).summary()
    names = ("finishes", "episodes", "median_seconds", "mean_seconds", "mean_metres")
    return {name: found.get(name) for name in names}


def elsewhere(task: Elsewhere, seed: int, folder: Path, clock: Stopwatch) -> dict[str, Any]:
    """Correct a weak policy of another environment; returns, and own decisions until it is solved, with and without."""
    scratch = ["policy=scratch", f"environment={task.environment}", *SMALL, *QUIET]
    person = folder.parent / f"person-{task.environment}"
    if not (person / "policy.safetensors").exists():
        if task.person is None:
            shown = demonstrations(RULE, person.with_name(f"{person.name}-games"), seed=0)
            words = [f"dataset={shown.folder}", f"out={person}", "games=0", "tracker=none", "seed=0"]
            pretrain.run(pretrain.read(words))
        else:
            finetune.run(finetune.read([*scratch, f"schedule.decisions={task.person}", "seed=101", f"out={person}"]))
        clock.lap("person")
    finetune.run(finetune.read([*scratch, f"schedule.decisions={task.weak}", f"seed={seed}", f"out={folder / 'weak'}"]))
    weak, games = folder / "weak" / "policy.safetensors", folder / "games"
    clock.lap("start")
    played = corrected(weak, games, 3.0, seed, f"source.person={person / 'policy.safetensors'}")
    clock.lap("play")
    cloned = cloned_from_person(weak, games, folder / "cloned", seed)
    clock.lap("cloning")
    found: dict[str, Any] = {"played": played}
    for name in ("weak", "cloned"):
        found[name] = greedy_return(folder / name)
    for name, start, phase, more in (
        ("corrections", cloned, "race", ["schedule=corrections", f"demonstrations={games}"]),
        ("alone", weak, "alone", ["schedule=live-only"]),
    ):
        if name == "corrections" and found["cloned"] >= task.wanted:
            continue  # solved already
        words = [
            *SMALL, f"policy={start}", f"seed={seed}", f"out={folder / name}",
            f"schedule.decisions={task.learning}", f"schedule.phases.{phase}.evaluations=6", "evaluation.episodes=20",
            "evaluation.drawn=0", "video=false", "tracker=none",
        ]  # fmt: skip
        finetune.run(finetune.read([*words, *more]))
        clock.lap(name)
        curve = returns_of(folder / name / "phases")
        solved = next((decisions for decisions, mean in curve.items() if mean >= task.wanted), None)
        found[name] = {"curve": curve, "solved": solved, "learned": greedy_return(folder / name)}
    return found


def greedy_return(run: Path) -> float:
    """Mean return of the games that judge."""
    games = EvaluationSettings(episodes=JUDGED_ELSEWHERE, seed=SEED, greedy=True)
    return float(evaluate(load_policy(run / "policy.safetensors"), games).summary()["mean_return"])


def returns_of(phases: Path) -> dict[int, float]:
    """Mean returns of a run's evaluations, by the decisions made until then."""
    found = [json.loads(path.read_text()) for path in phases.glob("*.json")]
    return dict(sorted((one["decisions"], one["mean_return"]) for one in found))


def table(folder: Path) -> None:
    """Print the rows of a table in Markdown: means over seeds with 95 % bootstrap intervals, and every seed."""
    every_result = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    results = [one for one in every_result if one["row"] in ROWS]
    rows = []
    for row in dict.fromkeys(one["row"] for one in results):
        mine = sorted((one for one in results if one["row"] == row), key=lambda one: one["seed"])
        before, after = (mean_with_interval([one[when]["finishes"] for one in mine]) for when in ("before", "after"))
        times = (
            mean_with_interval([one[when]["median_seconds"] for one in mine if one[when]["median_seconds"]], 2)
            for when in ("before", "after")
        )
        every = ", ".join(str(one["after"]["finishes"]) for one in mine)
        cpu = round(float(np.mean([one["cpu_seconds"]["learning"] for one in mine])))
        rows.append([row, len(mine), before, f"**{after}**", every, *times, f"{mine[0]['minutes']:g}", cpu])
    names = ["row", "seeds", "finished of 100 before", "after", "every seed", "median s before", "after", "minutes"]
    print(markdown([*names, "CPU s"], rows))
    rows = []
    for one in every_result:
        if one["row"] in ELSEWHERE:
            further = 0 if "corrections" not in one else one["corrections"]["solved"]
            curve = ", ".join(f"{mean:.0f}" for mean in one["alone"]["curve"].values())
            played = f"{one['played']['policy']}, {one['played']['person']}"
            solved = f"{one['cloned']:.0f}", further, one["alone"]["solved"]
            rows.append([one["row"], one["seed"], f"{one['weak']:.0f}", played, *solved, curve])
    names = ["row", "seed", "weak", "played by policy, person", "cloned", "solved after", "alone: solved after"]
    print(markdown([*names, "its curve"], rows), end="")


def mean_with_interval(values: list[float], digits: int = 1) -> str:
    """The mean, and the 95 % bootstrap interval of the mean."""
    if not values:
        return "none"
    low, high = bootstrap_interval(values)
    return f"{np.mean(values):.{digits}f} ({low:.{digits}f} … {high:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", choices=[*ROWS, *ELSEWHERE])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="print a table of the results in this folder, and run nothing")
    parser.add_argument("--minutes", type=float, help="minutes of play with the person")
    parser.add_argument("--late", type=int, default=Hands.late, help="frames by which the person is late")
    parser.add_argument("settings", nargs="*", help="further settings of qwop-finetune")
    given = parser.parse_args()
    if given.table is not None:
        table(given.table)
        return
    if None in (given.row, given.seed, given.folder, given.out):
        parser.error("--row, --seed, --folder and --out are needed")
    if given.minutes is None:
        given.minutes = MINUTES.get(given.row, 0.0)
    use_one_thread()
    folder: Path = given.folder / f"{given.row}-{given.seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    clock = Stopwatch()
    if given.row in ELSEWHERE:
        tell(given, elsewhere(ELSEWHERE[given.row], given.seed, folder, clock), clock)
        return
    start = slider(folder, given.seed) if given.row.startswith("knee") else clone(folder, given.seed)
    clock.lap("start")
    words = [
        "schedule=corrections", f"seed={given.seed}", "video=false", f"out={folder / 'learned'}",
        "evaluation.drawn=0", "tracker=none",
    ]  # fmt: skip
    begun = start
    played: dict[str, Any] = {}
    if given.row in MINUTES:
        games = folder / "games"
        more = f"source.whole={given.row == 'whole'}", f"source.late={given.late}"
        played = corrected(start, games, given.minutes, given.seed, *more)
        clock.lap("play")
        words.append(f"demonstrations={games}")
        if given.row == "knee":
            begun = cloned_from_person(start, games, folder / "cloned", given.seed)
    else:
        words.append("schedule.phases.race.imitation=0")
    finetune.run(finetune.read([*words, f"policy={begun}", *given.settings]))
    clock.lap("learning")
    learned = folder / "learned" / "policy.safetensors"
    tell(given, {"played": played, "before": measured(start), "after": measured(learned)}, clock)


def tell(given: argparse.Namespace, figures: dict[str, Any], clock: Stopwatch) -> None:
    """Write a result, and print it."""
    clock.lap("measuring")
    named = {name: getattr(given, name) for name in ("row", "seed", "minutes", "late", "settings")}
    result = {**named, **figures, "cpu_seconds": clock.seconds}
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
