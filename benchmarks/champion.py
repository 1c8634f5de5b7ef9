"""The champion from scratch, in one go: training, and distillation of searched games.

    python benchmarks/champion.py

Each stage is a plain command, printed so that it can be repeated alone, and leaves a folder of its own. Stages that are
done are not repeated and an interrupted one continues, so the script can be stopped and started again. It ends with the
champion's evaluation from every start.
"""

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from repeated import run_once

ANY_START = ("max_idle_frames=300", "evaluation.max_idle_frames=300")
SURE = ("width=12", "lookahead=12", "shortlist=3", "likelihood=0", "regret=2")

TRAINING = {
    "runner": ("policy=scratch", "environment=QWOP-v1", "schedule=champion", "algorithm.gae_lambda=0.97", "seed=1"),
    "any-start": ("policy={runner}", "schedule=any-start", *ANY_START),
}
"""Settings of each `qwop-finetune`, by the name of its folder; {name} is the policy that another stage leaves."""

LESSON = {
    "found": ("qwop-search", "policy={any-start}", "games={starts}", *SURE),
    "champion": ("qwop-distil", "policy={any-start}", "games=[{out}/found/games]"),
}
"""The search and the distillation, in the same way."""


class Stage(NamedTuple):
    """A command, and the folder that it leaves."""

    folder: Path
    command: Sequence[str]


def stages(out: Path, starts: int, more: Sequence[str] = ()) -> list[Stage]:
    """All stages, in order. starts: of the searched games. more: further settings of all training."""
    names = {name: str(out / name / "policy.safetensors") for name in (*TRAINING, *LESSON)}
    names |= {"out": str(out), "starts": str(starts)}

    def filled(settings: Sequence[str]) -> list[str]:
        return [one.format_map(names) for one in settings]

    found = [
        Stage(out / name, ["qwop-finetune", *filled(settings), "threads=1", *more])
        for name, settings in TRAINING.items()
    ]
    return [*found, *(Stage(out / name, filled(command)) for name, command in LESSON.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/from-nothing"))
    parser.add_argument("--starts", type=int, default=301, help="games to distil")
    parser.add_argument("more", nargs="*", help="further settings of all training: algorithm.precision=bfloat16")
    asked = parser.parse_args()
    for stage in stages(asked.out, asked.starts, asked.more):
        run_once(*stage)
    subprocess.run(["qwop-evaluate", f"policy={asked.out / 'champion' / 'policy.safetensors'}"], check=True)


if __name__ == "__main__":
    main()
