"""Speed and memory of Atari, beside Gymnasium's wrappers and another DQN.

    python benchmarks/atari.py frames                      # decisions a second of the games alone
    python benchmarks/atari.py training                    # decisions a second of DQN on Pong, and where the time goes
    python benchmarks/atari.py training --cleanrl DIR      # … beside CleanRL's dqn_atari.py, from a checkout of it
    python benchmarks/atari.py memory --transitions 1000000

Speeds are decisions for each second of one core's time (all threads together), which other work on the machine
disturbs least. `frames` steps 8 games of Pong by random actions. `training` is the difference between a run of 1,000
decisions, which learns nothing yet, and one of `--decisions` more: with the network of Mnih et al. 2015, an update of
32 transitions every fourth decision and Adam; then with the preset dqn-atari. CleanRL's script
(https://github.com/vwxyzjn/cleanrl, with tyro installed) runs with the same network and updates as the first. It was
written for Gymnasium 0.29; the two wrappers that were renamed since get their old names back. `memory` fills a memory
with transitions of 84 × 84 × 4 whose every frame is new, and prints the process's peak.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from qwop.commands import finetune
from qwop.envs.actions import Env
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.replay.transition_memory import TransitionMemory
from repeated import cpu_seconds

GAMES = 8
PONG = "ALE/Pong-v5"
WITHOUT_LEARNING = 1000
"""Decisions of random play before learning starts."""

CLEANRL = """
import runpy, sys
import ale_py, gymnasium
gymnasium.register_envs(ale_py)
gymnasium.wrappers.GrayScaleObservation = gymnasium.wrappers.GrayscaleObservation
gymnasium.wrappers.FrameStack = gymnasium.wrappers.FrameStackObservation
runpy.run_path("cleanrl/dqn_atari.py", run_name="__main__")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("frames", "training", "memory"), default="frames")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement of frames")
    parser.add_argument("--decisions", type=int, default=3000, help="of each measurement of training")
    parser.add_argument("--cleanrl", type=Path, help="checkout of CleanRL to run beside it")
    parser.add_argument("--transitions", type=int, default=1_000_000, help="to fill the memory with")
    asked = parser.parse_args()
    if asked.what == "frames":
        measure_frames(asked.seconds)
    elif asked.what == "training":
        measure_training(asked.decisions, asked.cleanrl)
    else:
        measure_memory(asked.transitions)


def measure_frames(seconds: float) -> None:
    def wrapped() -> Env:
        game = gymnasium.make(PONG, frameskip=1, repeat_action_probability=0.0)
        return FrameStackObservation(AtariPreprocessing(game), 4, padding_type="zero")

    import ale_py

    gymnasium.register_envs(ale_py)
    ours = rate(make_vector(EnvironmentSpec(PONG), GAMES), seconds)
    theirs = rate(gymnasium.vector.SyncVectorEnv([wrapped] * GAMES), seconds)
    print(f"| {GAMES} games of {PONG}, random actions | decisions a second of one core |\n|---|---|")
    print(f"| make_vector | {ours:,.0f} |\n| Gymnasium's wrappers | {theirs:,.0f} |\n\nratio {ours / theirs:.2f}")


def rate(games: Any, seconds: float) -> float:
    """Decisions of a vector environment for each second of one core."""
    games.reset(seed=0)
    actions = np.random.default_rng(0).integers(6, size=(1000, GAMES))
    done, start = 0, core_seconds()
    while core_seconds() - start < seconds:
        games.step(actions[done % 1000])
        done += 1
    return done * GAMES / (core_seconds() - start)


def measure_training(decisions: int, cleanrl: Path | None) -> None:
    same = [
        "algorithm=dqn",
        "algorithm.gamma_rate=15",
        "algorithm.clip_rewards=true",
        "algorithm.optimiser=adam",
        "algorithm.learning_rate=1e-4",
        "loop.capacity=20000",
    ]
    rows: list[tuple[str, Callable[[int], str]]] = [
        ("dqn, Adam", lambda count: trained(count, same)),
        ("dqn-atari", lambda count: trained(count, ["algorithm=dqn-atari"])),
    ]
    if cleanrl is not None:
        rows.append(("CleanRL's dqn_atari.py", lambda count: cleanrl_trained(count, cleanrl)))
    print("| | decisions a second of one core | of the time: learning | play | memory |\n|---|---|---|---|---|")
    for name, run in rows:
        start = core_seconds()
        run(WITHOUT_LEARNING)
        between = core_seconds()
        shares = run(WITHOUT_LEARNING + decisions)
        took = core_seconds() - between - (between - start)
        print(f"| {name} | {decisions / took:.0f} | {shares} |", flush=True)


def trained(decisions: int, settings: list[str]) -> str:
    """Learn for this number of decisions; return the shares of its time in the end."""
    with tempfile.TemporaryDirectory() as folder:
        scale = decisions / 3600 / 15 / 18.52
        finetune.run(
            finetune.read(
                [*settings, "schedule=atari", "policy=scratch", f"environment={PONG}", f"schedule.scale={scale}",
                 f"loop.start={WITHOUT_LEARNING}", "loop.overlap=false", f"out={folder}/run", "video=false",
                 "evaluation.episodes=0"]
            )
        )  # fmt: skip
        last = json.loads(Path(folder, "run/metrics.jsonl").read_text().splitlines()[-1])
    parts = ("learning", "waiting for live play", "memory")
    return " | ".join(f"{last.get(f'time_share/{part}', 0.0):.0%}" for part in parts)


def cleanrl_trained(decisions: int, checkout: Path) -> str:
    """Run CleanRL's script for this number of decisions."""
    flags = [
        "--env-id", "PongNoFrameskip-v4", "--total-timesteps", str(decisions), "--learning-starts",
        str(WITHOUT_LEARNING), "--buffer-size", "20000", "--no-cuda",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", CLEANRL, *flags]
    subprocess.run(command, cwd=checkout, env=environment, stdout=subprocess.DEVNULL, check=True)
    return " | | "


def core_seconds() -> float:
    """Seconds of processors' time that this process and its children have taken."""
    return cpu_seconds(resource.RUSAGE_SELF) + cpu_seconds()


def measure_memory(transitions: int) -> None:
    before = peak()
    memory = TransitionMemory(transitions, ObservationSpec((4, 84, 84), "uint8"))
    random = np.random.default_rng(0)
    frames = random.integers(256, size=(1004, 84, 84)).astype(np.uint8)
    start = time.perf_counter()
    for first in range(0, transitions, 1000):
        count = min(1000, transitions - first)
        frames[:4] = frames[1000:]
        frames[4:, 0, :8] = np.arange(first, first + 1000)[:, None].view(np.uint8)  # each another
        seen = np.lib.stride_tricks.sliding_window_view(frames[: count + 4], 4, axis=0).transpose(0, 3, 1, 2)
        memory.push(
            Transitions(
                observations=seen[:-1],
                actions=np.zeros(count, dtype=np.int64),
                rewards=np.zeros(count, dtype=np.float32),
                discounts=np.ones(count, dtype=np.float32),
                next_observations=seen[1:],
                source=np.zeros(count, dtype=np.int8),
            )
        )
    assert len(memory) == transitions
    filled = time.perf_counter() - start
    print(f"{transitions:,} transitions of 84 × 84 × 4: {memory.nbytes / 1e9:.2f} GB in arrays,", end=" ")
    print(f"peak of the process {peak():.2f} GB, {before:.2f} GB of it before; {transitions / filled:,.0f} a second")


def peak() -> float:
    """Largest memory of this process so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
