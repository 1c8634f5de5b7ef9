"""Worth of demonstrations at a small budget: 149,600 live decisions, 2.8 hours of the game, with and without them.

    qwop-dataset reconstruct data/kurodo out=data/kurodo-frames
    qwop-dataset relabel data/kurodo-frames out=data/kurodo-15 frames_per_step=2 observation=features reward=shaped
    for seed in 0 1 2 3 4; do qwop-pretrain dataset=data/kurodo-15 seed=$seed out=runs/clone-$seed; done
    python benchmarks/demonstrations_pay.py --demonstrations data/kurodo-15 --clones runs/clone-*/policy.safetensors \\
        --seeds 20 --out runs/demonstrations_pay

Each run is a plain `qwop-finetune` command, printed so that it can be repeated alone; seed n starts from clone n modulo
their number. Finished runs are not repeated, so the script can be stopped and started again. `--fewer NAME=DIR …` adds
datasets to take the place of the demonstrations (with a clone of their own: `DIR` holds `data` and
`clone/policy.safetensors`). It ends with a table: greedy games from every start and 100 games with drawn actions, means
over the seeds with 95 % intervals of Student's t, and the finishes of every seed.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from demonstrations_in_replay import folder_of, interval, train

ACER = [
    "schedule=mix-only",
    "schedule.phases.mixed.hours=2.4",
    "+schedule.phases.mixed.entropy=[1,0]",
    "+schedule.phases.mixed.environment.reward=race",
    "loop.num_envs=8",
    "loop.replay_ratio=16",
    "loop.overlap=false",
    "algorithm.learning_rate=7e-4",
    "algorithm.reward_scale=1",
]
"""Eight games at once and sixteen replayed updates; learning rate and entropy fall to nothing. The schedule's 129,600
decisions come after 20,000 from which values are learned."""

RESTARTS = ["+schedule.phases.mixed.restarts={share: 0.3, source: demonstrations, metres: [5, 90]}"]
ALONE = ["schedule.phases.mixed.demonstrations=0"]
SCRATCH = ["policy=scratch"]

VARIANTS = {
    "clone, replay, restarts": RESTARTS,
    "clone, replay": [],
    "clone, restarts": [*ALONE, *RESTARTS],
    "clone": ALONE,
    "replay, restarts": [*SCRATCH, *RESTARTS],
    "nothing": [*SCRATCH, *ALONE],
}
"""Uses of the demonstrations: cloned before, in replay, and their states to start three games in ten from."""

COLUMNS = (("greedy", "of 31"), ("drawn", "of 100"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demonstrations", required=True)
    parser.add_argument("--clones", nargs="+", required=True, help="policies that qwop-pretrain left")
    parser.add_argument("--fewer", nargs="*", default=[], help="NAME=DIR, other demonstrations with a clone of them")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--out", type=Path, default=Path("runs/demonstrations_pay"))
    parser.add_argument("more", nargs="*", help="further settings of qwop-finetune, for all runs")
    asked = parser.parse_args()
    others = dict(one.split("=", 1) for one in asked.fewer)
    variants = [*asked.only, *others]
    for seed in range(asked.seeds):
        for variant in variants:
            folder = others.get(variant)
            clone = f"{folder}/clone/policy.safetensors" if folder else asked.clones[seed % len(asked.clones)]
            shown = f"{folder}/data" if folder else asked.demonstrations
            settings = [f"policy={clone}", f"demonstrations={shown}", *ACER, *VARIANTS.get(variant, RESTARTS)]
            if "policy=scratch" in settings:
                del settings[0]
            train(folder_of(asked.out, variant, seed), [*settings, f"seed={seed}", "video=false", *asked.more])
            (asked.out / "table.md").write_text(markdown(asked.out, variants, seed + 1))
    print((asked.out / "table.md").read_text())


def markdown(out: Path, variants: list[str], seeds: int) -> str:
    """Table of all finished runs."""
    lines = ["| | seeds |" + "".join(f" {kind}: finished {of} | each | median s |" for kind, of in COLUMNS)]
    lines.append("|---|---|" + "---|---|---|" * len(COLUMNS))
    for variant in variants:
        paths = [folder_of(out, variant, seed) / "phases" / "1-mixed.json" for seed in range(seeds)]
        found: list[dict[str, Any]] = [json.loads(path.read_text()) for path in paths if path.exists()]
        if not found:
            continue
        cells = [variant, str(len(found))]
        for kind, _ in COLUMNS:
            figures = [one if kind == "greedy" else one["drawn"] for one in found]
            finishes = [one["finishes"] for one in figures]
            medians = [one["median_seconds"] for one in figures if one["finishes"]]
            cells += [interval(finishes), ", ".join(map(str, finishes)), interval(medians)]
        lines.append("| " + " | ".join(cells) + " |")
    seconds = [float(path.read_text()) for path in sorted(out.glob("*/seconds.txt"))]
    lines += ["", f"Wall time of a run: median {statistics.median(seconds):.0f} s."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
