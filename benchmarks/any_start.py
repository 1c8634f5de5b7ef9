"""Demonstrations that pay from any start: runs from clones and from runners with another gait, with their controls.

    python benchmarks/any_start.py run kurodo 0                           # one row, one seed: minutes on one core
    python benchmarks/any_start.py prepare demos                          # Kurodo's and an amateur's games, once
    python benchmarks/any_start.py run expert 0
    python benchmarks/any_start.py table kurodo kurodo-without            # rows of all seeds that are there

A row is a list of plain commands, printed so that they can be repeated alone. `run` leaves `RUNS/ROW-SEED.json`: greedy
games from every start and 100 drawn ones after each phase, 300 more drawn ones of the final policy with another seed,
decisions and processor seconds. Rows from a knee slider or from an amateur's clone use the published recordings, whose
folder `prepare` takes: it makes `data/kurodo-contact` and `data/human-contact`, at 15 decisions a second.
"""

import argparse
import fcntl
import json
import math
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from qwop.datasets import open_dataset
from repeated import ONE_THREAD, cpu_seconds, every, interval, markdown

PREPARE = (
    "qwop-record source=import source.player={player} dataset=data/{player} 'source.files=[{files}]'",
    "qwop-dataset reconstruct data/{player} out=data/{player}-frames",
    "qwop-dataset relabel data/{player}-frames out=data/{player}-contact frames_per_step=2 observation=contact "
    "reward=shaped",
)

PLAYERS = {"kurodo": "kuro_try", "human": "human_try"}
"""Players, and the beginnings of their recordings' names; numbers 1 to 4 follow."""

EVERY = "data/kurodo-contact"
"""All of Kurodo's games."""

CLONE = "qwop-pretrain seed={seed} games=0 out={run}/clone"
TUNE = "qwop-finetune seed={seed} threads=1 video=false out={run}/tuned"
FROM_CLONE = f"{TUNE} policy={{run}}/clone/policy.safetensors"

NOTHING = "schedule.phases.mixed.demonstrations=0 schedule.phases.mixed.imitation=0"
WITHOUT = "schedule.phases.fade.imitation=0 schedule.phases.polish.imitation=0"

SLIDER = (
    "qwop-finetune policy=scratch demonstrations=data/kurodo-contact algorithm=ppo schedule=live-only "
    "schedule.decisions=151552 schedule.phases.alone.entropy=[1,0] schedule.phases.alone.learning_rate=1 "
    "'schedule.phases.alone.environment={{reward: race}}' loop.num_envs=16 "
    "algorithm.minibatch=512 seed={seed} threads=1 video=false out={runs}/slider-{seed}"
)
FROM_EXPERT = f"{TUNE} demonstrations={{games}} schedule=from-expert"
FROM_SLIDER = f"{FROM_EXPERT} policy={{runs}}/slider-{{seed}}/policy.safetensors"
KEPT = "schedule.phases.alone.demonstrations=1 schedule.phases.alone.imitation=0.3"
ALONE = f"schedule.phases.watching.decisions=0 {NOTHING}"
FEWER = f"qwop-dataset copy {EVERY} out={{games}} drop_episodes={{others}}"
CLONED = [
    f"{CLONE} dataset={{games}} frames_per_step=null",
    f"{FROM_EXPERT} policy={{run}}/clone/policy.safetensors schedule.phases.watching.decisions=0",
]
SHORT = " ".join(f"schedule.phases.{phase}.decisions=0" for phase in ("values", "race", "polish"))

ROWS = {
    "kurodo": [CLONE, f"{FROM_CLONE} schedule=kurodo"],
    "kurodo-without": [CLONE, f"{FROM_CLONE} schedule=kurodo {NOTHING} {WITHOUT}"],
    "from-clone": [CLONE, f"{FROM_CLONE} schedule=from-clone"],
    "expert": [SLIDER, FROM_SLIDER],
    "expert-alone": [SLIDER, f"{FROM_SLIDER} {ALONE}"],
    "expert-kept": [SLIDER, f"{FROM_SLIDER} {KEPT}"],
    **{f"expert-{games}": [SLIDER, FEWER, FROM_SLIDER] for games in (1, 3, 10)},
    "cloned": CLONED,
    **{f"cloned-{games}": [FEWER, *CLONED] for games in (1, 3)},
    "amateur": [
        f"{CLONE} dataset=data/human-contact frames_per_step=null",
        f"{FROM_EXPERT} policy={{run}}/clone/policy.safetensors",
    ],
}
"""Commands of a row, the last of which makes the policy. {run}: its folder in {runs}; {games}: the expert's, and
{others}: those of them that are left out where the row's name ends with a number. Rows share a seed's slider."""

FRESH = (
    "qwop-evaluate policy={run}/tuned/policy.safetensors greedy=false episodes=300 max_idle_frames=30 seed=1000 late=0 "
    "video=false out={run}/fresh"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="one row, one seed")
    one.add_argument("row", choices=list(ROWS))
    one.add_argument("seed", type=int)
    one.add_argument("--short", action="store_true", help="only from-expert's phases before PPO, 0.6 million decisions")
    published = commands.add_parser("prepare", help="the published recordings as datasets")
    published.add_argument("demos", type=Path)
    published.add_argument("players", nargs="*", default=list(PLAYERS))
    table = commands.add_parser("table", help="a table of rows")
    table.add_argument("rows", nargs="+", choices=list(ROWS))
    one.add_argument("--limit", type=float, default=math.inf, help="seconds after which the row ends early")
    for each in (one, table):
        each.add_argument("--runs", type=Path, default=Path("runs/any_start"))
    asked = parser.parse_args()
    if asked.command == "prepare":
        prepare(asked.demos, asked.players)
    elif asked.command == "run":
        carry_out(asked.row, asked.seed, asked.runs, asked.limit, asked.short)
    else:
        print(table_of(asked.rows, asked.runs), end="")


def prepare(demos: Path, players: list[str]) -> None:
    """Make the datasets that are missing; another process that does so is waited for."""
    Path("data").mkdir(exist_ok=True)
    with Path("data/prepare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for player, name in ((player, PLAYERS[player]) for player in players):
            if not Path(f"data/{player}-contact").exists():
                files = ",".join(str(demos / f"{name}{number}.npz") for number in range(1, 5))
                for command in PREPARE:
                    _call(command.format(player=player, files=files))


def _call(command: str, limit: float | None = None) -> None:
    print(command, flush=True)
    program, *settings = shlex.split(command)
    words = [str(Path(sys.executable).parent / program), *settings]
    subprocess.run(words, check=True, stdout=sys.stderr, timeout=limit, env={**os.environ, **ONE_THREAD})


def carry_out(row: str, seed: int, runs: Path, limit: float, short: bool) -> None:
    """Run the commands of a row that are not done yet; write its figures, also if the time is up before they are done.

    short: end after the phase `alone`; the same row without it continues from there.
    """
    run = runs / f"{row}-{seed}"
    began = time.monotonic()
    figures = run.with_suffix(".json")
    used: float = json.loads(figures.read_text())["processor_seconds"] if figures.exists() else 0.0
    names = {"seed": seed, "run": run, "runs": runs, **_games(row, seed, run)}
    *before, last = (command.format_map(names) for command in ROWS[row])
    commands = [command for command in before if not _done(_out(command))]
    commands.append(last + (f" {SHORT}" if short else "") + (" resume=true" if _out(last).exists() else ""))
    try:
        for command in commands:
            _call(command, limit - (time.monotonic() - began))
        used += cpu_seconds()
        if not short:
            _call(FRESH.format(run=run), limit - (time.monotonic() - began))
    except subprocess.TimeoutExpired as late:
        print(f"{run}: time is up: {late.cmd[0]}", file=sys.stderr)
    found = {
        "row": row,
        "seed": seed,
        "processor_seconds": used,
        "phases": {path.stem: json.loads(path.read_text()) for path in _in_order(run / "tuned" / "phases")},
    }
    if (fresh := run / "fresh" / "evaluation.json").exists():
        found["fresh"] = json.loads(fresh.read_text())
        final = (run / "tuned" / "policy.safetensors").read_bytes()
        found["kept"] = next(path.stem for path in _in_order(run / "tuned" / "phases") if _policy_of(path) == final)
    figures.write_text(json.dumps(found) + "\n")


def _games(row: str, seed: int, run: Path) -> dict[str, str]:
    """The folder of a row's games, and the others as a setting. Few games are drawn by the seed from those that finish;
    its one is among its three, and these among its ten."""
    count = row.rpartition("-")[2]
    if not count.isdigit():
        return {"games": EVERY, "others": "[]"}
    every = open_dataset(EVERY)
    order = np.random.default_rng(seed).permutation(len(every)).tolist()
    kept = [number for number in order if every.metadata(number)["outcome"] == "finished"][: int(count)]
    return {"games": str(run / "games"), "others": str(sorted(set(order) - set(kept))).replace(" ", "")}


def _done(folder: Path) -> bool:
    """True if a command has left its policy or its dataset there."""
    return any((folder / name).exists() for name in ("policy.safetensors", "dataset.json"))


def _out(command: str) -> Path:
    """The folder that a command writes to."""
    return Path(next(word for word in shlex.split(command) if word.startswith("out=")).removeprefix("out="))


def _policy_of(evaluation: Path) -> bytes:
    """The policy that was evaluated."""
    start = evaluation.parents[1] / "start.safetensors"
    return (start if evaluation.stem == "0-start" else evaluation.with_suffix(".safetensors")).read_bytes()


def _in_order(phases: Path) -> list[Path]:
    """The evaluations of a run, by the numbers of their phases."""
    return sorted(phases.glob("[0-9]*.json"), key=lambda path: (int(path.stem.partition("-")[0]), path.stem))


def table_of(rows: list[str], runs: Path) -> str:
    """A table: each phase of each row over all its seeds, and the final policy's games with another seed."""
    lines = []
    for row in rows:
        results = [json.loads(path.read_text()) for path in runs.glob(f"{row}-[0-9]*.json")]
        found: list[dict[str, Any]] = sorted((one for one in results if one["row"] == row), key=lambda one: one["seed"])
        for phase in dict.fromkeys(phase for one in found for phase in one["phases"]):
            figures = [one["phases"][phase] for one in found if phase in one["phases"]]
            within = phase.rpartition("-")[2].isdigit()
            if not within and all("drawn" in one for one in figures):
                lines.append(_row(f"{row}: {phase}", figures, [one["drawn"] for one in figures], ""))
        if whole := [one for one in found if "fresh" in one]:
            seconds = interval([one["processor_seconds"] for one in whole])
            kept = [one["phases"][one["kept"]] for one in whole]
            lines.append(_row(f"{row}: the policy kept, 300 drawn", kept, [one["fresh"] for one in whole], seconds))
    header = ["", "seeds", "decisions", "greedy: finished of 31", "median s", "drawn: finished", "median s", "CPU s"]
    return markdown(header, lines)


def _row(name: str, greedy: list[dict[str, Any]], drawn: list[dict[str, Any]], seconds: str) -> list[str]:
    cells = [name, str(len(drawn)), f"{greedy[0]['decisions']:,}"]
    for figures in (greedy, drawn):
        medians = [round(one["median_seconds"], 2) for one in figures if one["median_seconds"] is not None]
        cells += [every([one["finishes"] for one in figures]), every(medians)]
    return [*cells, seconds]


if __name__ == "__main__":
    main()
