"""Draw a race of the champion's most probable actions (1) against drawn ones (2).

python benchmarks/race_picture.py docs/race.png [--film FILE.mp4]
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from qwop.envs.pictures.video import FRAMES_A_SECOND, write_video
from qwop.envs.race.vector import QWOPRaceVectorEnv
from qwop.policies.files import load_policy
from qwop.policies.policy import choose

RATE = 30
"""Decisions per second."""

SECONDS = 14.0
"""Seconds into the race that the picture shows."""


def race(seed: int = 0) -> Iterator[NDArray[np.uint8]]:
    """Yield a picture of each decision: runner 1 takes the most probable actions, runner 2 draws them."""
    policy = load_policy("champion")
    env = QWOPRaceVectorEnv(2, "rgb_array", observation="contact", frames_per_step=FRAMES_A_SECOND // RATE)
    random = np.random.default_rng(seed)
    observations, _ = env.reset(seed=seed)
    terminated = truncated = np.zeros(2, dtype=np.bool_)
    while not (terminated | truncated).any():
        pictures = env.render()
        assert pictures is not None
        yield pictures[0]
        probabilities = policy.probabilities(observations[:, : policy.observation.size])
        greedy, random_action = choose(probabilities[:1], None)[0], choose(probabilities[1:], random.random(1))[0]
        observations, _, terminated, truncated, _ = env.step(np.concatenate([greedy, random_action]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--film", type=Path, help="also write the whole race as a film")
    arguments = parser.parse_args()
    if arguments.film is not None:
        print(write_video(arguments.film, race(), fps=RATE))
    picture = next(islice(race(), round(SECONDS * RATE), None))
    Image.fromarray(picture).save(arguments.out, optimize=True)
    print(arguments.out)


if __name__ == "__main__":
    main()
