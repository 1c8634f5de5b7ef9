"""Share of games solved, by the number of demonstrated games: the cells of docs/how-many-games.md, table and figure.

    pip install '.[train,box2d,minigrid]'
    python benchmarks/how_many_games.py record CartPole-v1             # forty games into data/CartPole-v1, once
    python benchmarks/how_many_games.py cells data/CartPole-v1 --seeds 0 1 2
    python benchmarks/how_many_games.py cells data/kurodo-contact --ways clone live --which finished --games 1 3
    python benchmarks/how_many_games.py table
    python benchmarks/how_many_games.py figure docs/how-many-games.svg

A cell is a dataset (and its environment), which of its games, how many, a way to use them, and a seed. Ways: `clone`
fits a network to their actions; `live` goes on from this clone by playing; `replay` is a new network that plays as many
decisions with the games in its replay memory. The decisions are too few to learn the environment without any game,
which is what both do with 0 games. Games are taken as they come (`any`), or only those that solve the environment
(`finished`), or only the others (`fallen`). A cell's file, RUNS/NAME.json, has its commands, its games' results and its
processor seconds; one that is there is not computed again.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hard_exploration import TASKS as HARD
from hard_exploration import Task as Explored
from hard_exploration import demonstrations, land
from qwop.commands import finetune, pretrain, record
from qwop.common.charts import Interval, line_chart, side_by_side
from qwop.common.command import Command
from qwop.datasets import DatasetWriter, open_dataset
from qwop.evaluation.evaluate import evaluate
from qwop.evaluation.figures import wilson_interval
from qwop.evaluation.settings import DRAWN, EvaluationSettings
from qwop.policies.files import load_policy
from qwop.policies.policy import Policy
from qwop.policies.threads import use_one_thread
from repeated import markdown

SHOWN = 40
"""Games that a demonstrator records."""

COUNTS = (0, 1, 3, 10, 40)

WAYS = {"clone": "clone", "live": "clone, then play", "replay": "games in replay"}

WHICH = {"any": "as they come", "finished": "finishes alone", "fallen": "falls alone"}

CHARTS = {
    "kurodo-contact": "QWOP, Kurodo's games",
    "LunarLander-v3": "LunarLander",
    "Acrobot-v1": "Acrobot",
    "DoorKey-v0": "MiniGrid, key and door",
    "CartPole-v1": "CartPole",
}
"""Datasets of the figure, by the names of their folders."""

OTHER_PLAYERS = {"kurodo-contact": {"beginner-contact": "a beginner"}}
"""Datasets of the same environment, for the chart of choices."""

JUDGED = 50
"""Games that judge a policy; of QWOP, one from each of 31 starts greedily, and 100 drawn ones."""

RESULT = "result.json"

SEED = 1_000_000
"""Of the games that judge; no learning uses them."""

QUIET = ("evaluation.episodes=1", "evaluation.drawn=0", "video=false", "device=cpu")


@dataclass(frozen=True)
class Task:
    """An environment of the curve.

    solved: return of a game that counts as solved; None: QWOP, where the finish does. decisions: of both learners.
    demonstrator: settings that it is trained with; empty: one of RULES. clone, live, replay: settings of each way;
    alone: those of `live` for a new network without games; new_replay: more of `replay` for it.
    """

    solved: float | None
    decisions: int
    demonstrator: tuple[str, ...]
    clone: tuple[str, ...]
    live: tuple[str, ...]
    replay: tuple[str, ...]
    alone: tuple[str, ...]
    new_replay: tuple[str, ...] = ()


ACTIONS_ALONE = ("soft_targets=false",)
"""A person's probabilities are not known either."""

FEW = ("loop.steps=64", "schedule.keep=last")
"""An update after 512 decisions, as there are few. The last policy shows what play does to a clone."""
LIVE = ("schedule=from-any-clone", "schedule.phases.alone.evaluations=0", *FEW)
"""The command that `qwop-pretrain` names."""
ALONE = ("schedule=live-only", "algorithm=ppo-small", *FEW)

REPLAY = ("algorithm=rlpd-small", "schedule=demonstrations-throughout", "schedule.phases.mixed.imitation=[1,0.05]")
MIXED = "schedule.phases.mixed"
FROM_PERSON = (
    "schedule=from-person", "schedule.keep=last", "loop.num_envs=16", "algorithm.minibatch=512",
    "schedule.phases.polish.evaluations=0",
)  # fmt: skip
QWOP = "{reward: race, observation: contact, frames_per_step: 2}"

TASK_OF = {
    "QWOP-v1": Task(
        None,
        150_000,
        (),
        ("frames_per_step=[2]", "clones=1"),
        FROM_PERSON,
        ("schedule=few-decisions",),
        (*FROM_PERSON, f"schedule.phases.values.environment={QWOP}"),
        (f"{MIXED}.environment={QWOP}",),
    ),
    "LunarLander-v3": Task(200, 10_000, (), ACTIONS_ALONE, LIVE, REPLAY, ALONE),
    "Acrobot-v1": Task(-100, 3_000, ("schedule.decisions=50000",), ACTIONS_ALONE, LIVE, REPLAY, ALONE),
    "DoorKey-v0": Task(0.8, 3_000, (), ACTIONS_ALONE, LIVE, (*REPLAY, "algorithm.reward_scale=10"), ALONE),
    "CartPole-v1": Task(475, 3_000, ("schedule.decisions=80000",), ACTIONS_ALONE, LIVE, REPLAY, ALONE),
}


@dataclass(frozen=True)
class Cell:
    """One cell of the curve."""

    environment: str
    dataset: str
    which: str
    games: int
    seed: int
    way: str

    @property
    def path(self) -> Path:
        """Its folder below that of all runs."""
        return Path("-".join(map(str, (self.dataset, self.which, self.games, self.seed)))) / self.way

    @property
    def task(self) -> Task:
        return TASK_OF[self.environment]


RULES = {one.id: one for one in (*HARD.values(), Explored("LunarLander-v3", 200.0, land, 1 / 20, SHOWN, 10_000, 0.1))}
"""Demonstrators that are not trained."""


def solves(task: Task, outcome: str, total: float) -> bool:
    """True if a game of this outcome and return solves the environment."""
    return outcome == "finished" if task.solved is None else total >= task.solved


def some_of(solved: Sequence[bool], which: str, count: int, seed: int) -> list[int]:
    """Numbers of the games to show, drawn by the seed; fewer if there are not as many. Its three are among its ten."""
    order = np.random.default_rng(seed).permutation(len(solved)).tolist()
    return [one for one in order if which == "any" or solved[one] == (which == "finished")][:count]


def command_of(cell: Cell, games: Path, run: Path) -> tuple[Command[Any], list[str]]:
    """The command that leaves the policy of a cell in `run`. games: those shown."""
    task, own = cell.task, [f"seed={cell.seed}", f"out={run}", "tracker=none"]
    if cell.way == "clone":
        return pretrain, [f"dataset={games}", "games=0", *task.clone, *own]
    common = [f"schedule.decisions={task.decisions}", *QUIET, *own]
    if not cell.games:
        none = [f"{MIXED}.{name}=0" for name in ("demonstrations", "imitation")]
        words = task.alone if cell.way == "live" else [*task.replay, *none, *task.new_replay]
        return finetune, ["policy=scratch", f"environment={cell.environment}", *words, *common]
    if cell.way == "replay":
        return finetune, ["policy=scratch", f"demonstrations={games}", *task.replay, *common]
    return finetune, [f"policy={run.with_name('clone') / 'policy.safetensors'}", *task.live, *common]


def compute(cell: Cell, data: Path, runs: Path) -> None:
    """Run a cell's command, after that of the clone it begins from, and judge its policy; unless that is done."""
    run = runs / cell.path
    if (run / RESULT).exists() or (cell.way == "clone" and not cell.games):
        return
    if cell.way == "live":
        compute(replace(cell, way="clone"), data, runs)
    shutil.rmtree(run, ignore_errors=True)  # one that was interrupted
    every = open_dataset(data)
    solved = [solves(cell.task, one.outcome, float(one.rewards.sum())) for one in every]
    shown = some_of(solved, cell.which, cell.games, cell.seed)
    games = run.with_name("games")
    if shown and not games.exists():
        writer = DatasetWriter(games, every.info)
        for number in shown:
            writer.write(every[number])
    command, words = command_of(cell, games, run)
    since = time.process_time()
    command.run(command.read(words))
    learning = time.process_time() - since
    found = {
        **asdict(cell),
        "shown": len(shown),
        "decisions_shown": sum(len(every[number]) for number in shown),
        "demonstrator": float(np.mean(solved)),
        "command": " ".join([command.program, *words]),
        **judged(cell.task, load_policy(run / "policy.safetensors")),
        "cpu": learning,
    }
    (run / RESULT).write_text(json.dumps(found, indent=1) + "\n")
    print(f"{cell.path}: {found['solved']:.0%} solved, return {found['mean_return']:.4g}, {learning:.0f} s", flush=True)


def judged(task: Task, policy: Policy) -> dict[str, Any]:
    """The policy's greedy games; of QWOP also drawn ones, and the better of both, as `qwop-pretrain` marks a clone."""
    if task.solved is not None:
        return _judged(task, policy, True, JUDGED)
    return max((_judged(task, policy, True, None), _judged(task, policy, False, DRAWN)), key=lambda one: one["solved"])


def _judged(task: Task, policy: Policy, greedy: bool, games: int | None) -> dict[str, Any]:
    found = evaluate(policy, EvaluationSettings(episodes=games, seed=SEED, greedy=greedy))
    share = float(np.mean([solves(task, one.outcome, one.reward) for one in found.results]))
    shown = {name: found.summary().get(name) for name in ("mean_return", "mean_metres", "median_seconds")}
    return {"greedy": greedy, "judged": len(found.results), "solved": share, **shown}


def record_games(environment: str, folder: Path) -> None:
    """Train the demonstrator and record its games."""
    task = TASK_OF[environment]
    if not task.demonstrator:
        demonstrations(replace(RULES[environment], shown=SHOWN), folder, SEED)
        return
    with tempfile.TemporaryDirectory() as name:
        words = [
            f"environment={environment}",
            "policy=scratch",
            "algorithm=ppo-small",
            "tracker=none",
            *task.demonstrator,
            *QUIET,
        ]
        finetune.run(finetune.read([*words, f"out={name}/demonstrator"]))
        policy = f"source.policy={name}/demonstrator/policy.safetensors"
        words = ["source=policy", policy, "source.player=demonstrator", f"source.episodes={SHOWN}"]
        record.start(record.read([*words, f"dataset={folder}"]))


def results_of(runs: Path) -> list[dict[str, Any]]:
    """All cells that are there."""
    return [json.loads(path.read_text()) for path in sorted(runs.glob(f"*/*/{RESULT}"))]


def table(cells: Sequence[Mapping[str, Any]]) -> str:
    """A row for each dataset, choice of games and way: the share of games solved with each number of games, each
    seed's, and the mean return. A clone of no game does not exist."""
    rows = []
    for (dataset, which, way), mine in _grouped(cells, "dataset", "which", "way").items():
        row = [dataset, WHICH[which], WAYS[way]]
        for count in COUNTS:
            found = sorted((one for one in mine if one["games"] == count), key=lambda one: one["seed"])
            row.append(_shares(found))
        cpu = [one["cpu"] for one in mine]
        rows.append([*row, f"{min(cpu):.0f} to {max(cpu):.0f}"])
    return markdown(["dataset", "games", "way", *(f"{count}" for count in COUNTS), "CPU s"], rows)


def _shares(found: Sequence[Mapping[str, Any]]) -> str:
    """The mean share of games solved, each seed's, and the mean return, or the median time of QWOP."""
    if not found:
        return ""
    each = [100 * one["solved"] for one in found]
    share = f"{np.mean(each):.0f} %" + (f" ({', '.join(f'{one:.0f}' for one in each)})" if len(each) > 1 else "")
    if found[0]["mean_metres"] is None:
        return f"{share}, {np.mean([one['mean_return'] for one in found]):.3g}"
    seconds = [one["median_seconds"] for one in found if one["median_seconds"] is not None]
    return f"{share}, {np.mean(seconds):.1f} s" if seconds else share


def _grouped(cells: Iterable[Mapping[str, Any]], *keys: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for one in cells:
        groups[tuple(one[key] for key in keys)].append(one)
    return dict(groups)


def figure(cells: Sequence[Mapping[str, Any]]) -> str:
    """Small charts: for each environment a line for each way, over the number of games; then, where several choices of
    games were tried, a line for each, of clones that go on by playing."""
    drawn = []
    for dataset, title in CHARTS.items():
        mine = [one for one in cells if one["dataset"] == dataset and one["which"] == "any"]
        if mine:
            ways = _grouped(mine, "way")
            drawn.append(
                _chart(title, {WAYS[way]: ways[way,] for way in WAYS if (way,) in ways}, mine[0]["demonstrator"])
            )
    for dataset, title in CHARTS.items():
        others = OTHER_PLAYERS.get(dataset, {})
        mine = [one for one in cells if one["way"] == "live" and one["dataset"] in (dataset, *others)]
        kinds = _grouped(mine, "dataset", "which")
        if len(kinds) > 1:
            lines = {others.get(player, WHICH[which]): found for (player, which), found in kinds.items()}
            drawn.append(_chart(f"{title}, then play", lines, None))
    return side_by_side(drawn, columns=2)


def _chart(title: str, lines: Mapping[str, Sequence[Mapping[str, Any]]], demonstrator: float | None) -> str:
    """Shares over numbers of games, in equal distances; an area from the lowest seed to the highest, or, of a single
    seed, the 95 % interval of its games."""
    means: dict[str, list[tuple[float, float]]] = {}
    if demonstrator is not None:  # the first, so that a way has the same colour in every chart
        means["the player"] = [(0, 100 * demonstrator), (len(COUNTS) - 1, 100 * demonstrator)]
    areas: dict[str, list[Interval]] = {}
    for name, cells in lines.items():
        means[name], areas[name] = [], []
        for (count,), found in sorted(_grouped(cells, "games").items()):
            shares = [100 * one["solved"] for one in found]
            place = float(COUNTS.index(count))
            low, high = min(shares), max(shares)
            if len(shares) == 1:
                games = np.arange(found[0]["judged"])
                low, high = (100 * end for end in wilson_interval(games < round(len(games) * found[0]["solved"])))
            means[name].append((place, float(np.mean(shares))))
            areas[name].append((place, low, high))
    places = {float(place): str(count) for place, count in enumerate(COUNTS)}
    return line_chart(
        f"{title}: % of games solved", means, [], "games", around=areas, places=places, heights=(0.0, 100.0)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="a demonstrator's games")
    recording.add_argument("environment", choices=[name for name in TASK_OF if name != "QWOP-v1"])
    cells = commands.add_parser("cells", help="cells of a dataset")
    cells.add_argument("dataset", type=Path)
    cells.add_argument("--which", choices=list(WHICH), default="any")
    cells.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    cells.add_argument("--games", nargs="+", type=int, default=list(COUNTS))
    cells.add_argument("--seeds", nargs="+", type=int, default=[0])
    drawing = commands.add_parser("figure", help="all cells as charts")
    drawing.add_argument("picture", type=Path, help="SVG file to write")
    for each in (cells, drawing, commands.add_parser("table", help="all cells that are there")):
        each.add_argument("--runs", type=Path, default=Path("runs/how_many_games"))
    asked = parser.parse_args()
    if asked.command == "record":
        record_games(asked.environment, Path("data") / asked.environment)
    elif asked.command == "table":
        print(table(results_of(asked.runs)), end="")
    elif asked.command == "figure":
        asked.picture.write_text(figure(results_of(asked.runs)), encoding="utf-8")
    else:
        use_one_thread()
        asked.runs.mkdir(parents=True, exist_ok=True)
        environment = open_dataset(asked.dataset).info.environment.id
        for seed in asked.seeds:
            for games in asked.games:
                for way in asked.ways:
                    cell = Cell(environment, asked.dataset.name, asked.which, games, seed, way)
                    compute(cell, asked.dataset, asked.runs)


if __name__ == "__main__":
    main()
