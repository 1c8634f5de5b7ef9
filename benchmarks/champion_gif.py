"""Draw the README's animation: the start, the hurdle and the finish of the champion's best game.

    python benchmarks/champion_gif.py docs/champion.gif --film champion.mp4

The film shows the whole game.
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image
from qwop.envs import replay
from qwop.envs.pictures.drawing import Drawing
from qwop.envs.pictures.video import FRAMES_A_SECOND, Pictures, game_pictures, write_video
from qwop.envs.qwop.keys_file import read_keys
from qwop.policies.champion import keys_path

SCENES = ((0.0, 2.8), (19.4, 22.0), (34.4, 38.0))
"""Seconds of the game from and to which it is shown; the game ends before the last one does."""

EVERY = 2
"""Game frames between two pictures."""

REST = 1.0
"""Seconds that the last picture stays."""

COLOURS = 192
"""Colours of the GIF's palette."""


def write_gif(path: Path, pictures: Pictures, fps: float) -> Path:
    """Write the pictures as a looping GIF (of a game, every second picture for 15 a second).

    All pictures share one palette, so that colours do not flicker. A GIF counts in hundredths of a second; single
    pictures are shown a hundredth longer or shorter so that the whole runs at its true speed.
    """
    images = [Image.fromarray(picture) for picture in pictures]
    sample = np.concatenate([np.asarray(image)[::4, ::2] for image in images[:: max(len(images) // 24, 1)]])
    palette = Image.fromarray(sample).quantize(COLOURS, dither=Image.Dither.NONE)
    first, *others = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    ends = np.round(np.arange(len(images) + 1) * (100 / fps))
    durations = (10 * np.diff(ends)).astype(int).tolist()  # milliseconds
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)
    return Path(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keys", default="champion", help="a keys file, or champion")
    parser.add_argument("--film", type=Path, help="also write the whole game as a film")
    arguments = parser.parse_args()
    keys = read_keys(keys_path(arguments.keys))
    game = replay(keys)
    pictures = list(game_pictures(game.states, game.events, keys, Drawing(480, 300)))
    frames = [
        picture
        for start, end in SCENES
        for picture in pictures[round(start * FRAMES_A_SECOND) : round(end * FRAMES_A_SECOND) : EVERY]
    ]
    frames += [pictures[-1]] * round(REST * FRAMES_A_SECOND / EVERY)
    print(write_gif(arguments.out, frames, fps=FRAMES_A_SECOND / EVERY))
    if arguments.film is not None:
        print(write_video(arguments.film, pictures[::EVERY], fps=FRAMES_A_SECOND / EVERY))


if __name__ == "__main__":
    main()
