"""Play random keys in many games at once, and see how far that gets.

    python examples/random_games.py --games 256

All games run in one compiled batch. Each action is held for a few decisions. A game that ends is followed by the next
one at once, and `final_info` describes its end.
"""

import argparse
import time

import gymnasium
import numpy as np
import qwop  # noqa: F401  (registers QWOP-v1)

FRAMES_PER_STEP = 3
HOLD = 4
"""Decisions that each action is held for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=256, help="games at a time")
    parser.add_argument("--decisions", type=int, default=400, help="decisions of each")
    arguments = parser.parse_args()

    games = gymnasium.make_vec("QWOP-v1", num_envs=arguments.games, frames_per_step=FRAMES_PER_STEP)
    games.reset(seed=0)
    games.action_space.seed(0)
    distances: list[float] = []
    start = time.perf_counter()
    for decision in range(arguments.decisions):
        if decision % HOLD == 0:
            actions = games.action_space.sample()
        _, _, terminations, truncations, infos = games.step(actions)
        over = terminations | truncations
        if over.any():
            distances.extend(infos["final_info"]["distance"][over])
    seconds = time.perf_counter() - start
    games.close()

    frames = arguments.games * arguments.decisions * FRAMES_PER_STEP
    print(f"{len(distances)} games ended; median {np.median(distances):.1f} m, farthest {max(distances):.1f} m")
    print(f"about {frames / seconds:,.0f} game frames a second")


if __name__ == "__main__":
    main()
