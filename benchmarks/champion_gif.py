"""Draw the README's animation: the start, the hurdle and the finish of the champion's best game.

    python benchmarks/champion_gif.py docs/champion.gif --film champion.mp4

The film shows the whole game.
"""

import argparse
from pathlib import Path

from qwop.envs import replay
from qwop.envs.pictures.drawing import Drawing
from qwop.envs.pictures.video import FRAMES_A_SECOND, game_pictures, write_gif, write_video
from qwop.envs.qwop.keys_file import read_keys
from qwop.policies.champion import keys_path

SCENES = ((0.0, 2.8), (19.4, 22.0), (34.4, 38.0))
"""Seconds of the game from and to which it is shown; the game ends before the last one does."""

EVERY = 2
"""Game frames between two pictures."""

REST = 1.0
"""Seconds that the last picture stays."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keys", default="champion", help="a keys file, or champion")
    parser.add_argument("--film", type=Path, help="also write the whole game as a film")
    arguments = parser.parse_args()
    keys = read_keys(keys_path(arguments.keys))
    game = replay(keys)
    pictures = list(game_pictures(game.states, game.events, keys, Drawing(480, 300)))
    shown = [
        picture
        for start, end in SCENES
        for picture in pictures[round(start * FRAMES_A_SECOND) : round(end * FRAMES_A_SECOND) : EVERY]
    ]
    shown += [pictures[-1]] * round(REST * FRAMES_A_SECOND / EVERY)
    print(write_gif(arguments.out, shown, fps=FRAMES_A_SECOND / EVERY))
    if arguments.film is not None:
        print(write_video(arguments.film, pictures[::EVERY], fps=FRAMES_A_SECOND / EVERY))


if __name__ == "__main__":
    main()
