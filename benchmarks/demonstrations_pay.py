"""Worth of demonstrations at a small budget: 149,600 live decisions, 2.8 hours of the game, with and without them.

    qwop-dataset reconstruct data/kurodo out=data/kurodo-frames
    qwop-dataset relabel data/kurodo-frames out=data/kurodo-15 frames_per_step=2 observation=features reward=shaped
    for seed in 0 1 2 3 4; do
        qwop-pretrain dataset=data/kurodo-15 frames_per_step=null label_smoothing=0.02 seed=$seed out=runs/clone-$seed
    done
    python benchmarks/demonstrations_pay.py --demonstrations data/kurodo-15 --clones runs/clone-*/policy.safetensors \\
        --learners acer ppo ddqn rlpd --variants "clone, replay" "clone" "replay" "nothing" --seeds 5

Each run is a plain `qwop-finetune` command, printed so that it can be repeated alone; seed n starts from clone n modulo
their number. Finished runs are not repeated, so the script can be stopped and started again. It ends with a table:
greedy games from every start and 100 games with drawn actions, means over the seeds with 95 % intervals of Student's t,
and every seed.

A learner of values has no policy to clone into, so half an hour of learning from the demonstrations alone takes that
place, with DQfD's imitation loss. RLPD, whose updates are long, plays 40,000 decisions.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demonstrations_in_replay import folder_of, interval, run_once

RACE = "schedule.phases.mixed.environment={reward: race}"
SHOWN_RACE = "schedule.phases.shown.environment={reward: race}"


@dataclass(frozen=True)
class Learner:
    """Settings of `qwop-finetune` for an algorithm: those of all its runs, and those of each use of demonstrations.

    cloned and anew: start from the clone, or from scratch. replay and alone: demonstrations in replay, or none.
    """

    always: Sequence[str]
    cloned: Sequence[str]
    anew: Sequence[str]
    replay: Sequence[str]
    alone: Sequence[str]


FROM_CLONE, FROM_NOTHING = ["policy={clone}"], ["policy=scratch"]
SHOWN, NOT_SHOWN = ["schedule.phases.shown.hours=0.5"], ["schedule.phases.shown.hours=0"]
KEPT = "schedule.phases.mixed.demonstrations=1"
NONE = "schedule.phases.mixed.demonstrations=0"
VALUE_LEARNER = ["schedule=dqfd-like", "policy=scratch", RACE, SHOWN_RACE]

LEARNERS = {
    "acer": Learner(
        ["schedule=few-decisions"],
        FROM_CLONE,
        FROM_NOTHING,
        [KEPT],
        [NONE],
    ),
    "ppo": Learner(
        [
            "algorithm=ppo",
            "schedule=demonstrations-throughout",
            "schedule.phases.mixed.hours=2.77",
            "schedule.phases.mixed.entropy=[1,0]",
            RACE,
            NONE,
            "loop.num_envs=16",
            "algorithm.minibatch=512",
        ],
        FROM_CLONE,
        FROM_NOTHING,
        ["schedule.phases.mixed.imitation=[0.3,0]"],
        [],
    ),
    "ddqn": Learner(
        [
            *VALUE_LEARNER,
            "schedule.phases.mixed.hours=2.77",
            "algorithm=ddqn",
            "algorithm.learning_rate=3e-4",
            "loop.num_envs=8",
            "loop.steps=8",
            "loop.target_every=2000",
            "loop.start=2000",
        ],
        SHOWN,
        NOT_SHOWN,
        [KEPT],
        [NONE, "schedule.phases.mixed.imitation=0"],
    ),
    "rlpd": Learner(
        [*VALUE_LEARNER, "schedule.phases.mixed.hours=0.74", "algorithm=rlpd", "loop.updates_per_decision=0.5"],
        SHOWN,
        NOT_SHOWN,
        [KEPT],
        [NONE, "schedule.phases.mixed.imitation=0"],
    ),
}
"""ACER plays eight games at once and replays sixteen updates for each; its 129,600 decisions come after 20,000 from
which values are learned. PPO imitates the demonstrations, as it has no replay."""

RESTARTS = "schedule.phases.mixed.restarts={share: 0.3, source: demonstrations, metres: [5, 90]}"

VARIANTS = ("clone, replay, restarts", "clone, replay", "clone, restarts", "clone", "replay", "nothing")
"""Uses of the demonstrations: cloned before, in replay, and their states to start three games in ten from."""

COLUMNS = (("greedy", "of 31"), ("drawn", "of 100"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demonstrations", required=True)
    parser.add_argument("--clones", nargs="+", required=True, help="policies that qwop-pretrain left")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--learners", nargs="*", choices=list(LEARNERS), default=["acer"])
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--out", type=Path, default=Path("runs/demonstrations_pay"))
    parser.add_argument("more", nargs="*", help="further settings of qwop-finetune, for all runs")
    asked = parser.parse_args()
    rows = [(learner, variant) for learner in asked.learners for variant in asked.variants]
    for seed in range(asked.seeds):
        clone = asked.clones[seed % len(asked.clones)]
        for learner, variant in rows:
            settings = [one.format(clone=clone) if one in FROM_CLONE else one for one in settings_of(learner, variant)]
            settings += [f"demonstrations={asked.demonstrations}", f"seed={seed}", "video=false", *asked.more]
            run_once(folder_of(asked.out, f"{learner}: {variant}", seed), ["qwop-finetune", *settings])
            (asked.out / "table.md").write_text(markdown(asked.out, rows, seed + 1))
    print((asked.out / "table.md").read_text())


def settings_of(learner: str, variant: str) -> list[str]:
    """Settings of the learner that uses demonstrations in these ways."""
    own, uses = LEARNERS[learner], variant.split(", ")
    start = own.cloned if "clone" in uses else own.anew
    memory = own.replay if "replay" in uses else own.alone
    return [*own.always, *start, *memory, *([RESTARTS] if "restarts" in uses else [])]


def markdown(out: Path, rows: list[tuple[str, str]], seeds: int) -> str:
    """Table of all finished runs."""
    lines = ["| | seeds |" + "".join(f" {kind}: finished {of} | metres | median s |" for kind, of in COLUMNS)]
    lines[0] += " seconds |"
    lines.append("|---|---|" + "---|---|---|" * len(COLUMNS) + "---|")
    for learner, variant in rows:
        runs = [folder_of(out, f"{learner}: {variant}", seed) for seed in range(seeds)]
        runs = [run for run in runs if (run / "seconds.txt").exists()]
        found: list[dict[str, Any]] = [
            json.loads(next((run / "phases").glob("[0-9]-mixed.json")).read_text()) for run in runs
        ]
        if not found:
            continue
        cells = [f"{learner}: {variant}", str(len(found))]
        for kind, _ in COLUMNS:
            figures = [one if kind == "greedy" else one["drawn"] for one in found]
            finishes = [one["finishes"] for one in figures]
            medians = [one["median_seconds"] for one in figures if one["finishes"]]
            metres = [one["mean_metres"] for one in figures]
            cells += [f"{interval(finishes)} ({', '.join(map(str, finishes))})", interval(metres), interval(medians)]
        cells.append(f"{statistics.median(float((run / 'seconds.txt').read_text()) for run in runs):.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
