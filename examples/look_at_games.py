"""Look into a dataset: a table of its games, what its player pressed, and pictures of the fastest game.

    python examples/look_at_games.py --out fastest.png
    python examples/look_at_games.py data/me

Without a folder it opens the demonstrations that are installed with the package.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import qwop
from PIL import Image
from qwop.envs.pictures.drawing import Drawing
from qwop.envs.pictures.video import game_pictures, picture_strip

PICTURES = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", default=qwop.embedded_dataset(), type=Path)
    parser.add_argument("--out", default=Path("fastest.png"), type=Path, help="where the pictures go")
    arguments = parser.parse_args()

    dataset = qwop.open_dataset(arguments.dataset)
    games = pd.DataFrame(
        {
            "player": episode.player,
            "decisions": len(episode),
            "seconds": episode.times[-1],
            "metres": episode.metres,
            "outcome": episode.outcome,
        }
        for episode in dataset
    )
    print(games.sort_values(["outcome", "seconds"]).to_string())

    steps = dataset.steps()  # one row for each decision of every game
    print("\nactions, most frequent first:")
    print(steps["action_name"].value_counts(normalize=True).map("{:.1%}".format).to_string())

    finished = games[games.outcome == "finished"]
    fastest = dataset[int(finished.seconds.idxmin() if len(finished) else games.metres.idxmax())]
    if fastest.keys is None:
        print("\nno pictures: this dataset does not hold the keys of every frame")
        return
    keys = np.concatenate(fastest.keys)
    game = qwop.replay(keys)  # every state of the game, recomputed from its keys
    pictures = list(game_pictures(game.states, game.events, keys, Drawing(320, 200)))
    frames = np.linspace(0, len(pictures) - 1, PICTURES).astype(int)
    Image.fromarray(picture_strip([pictures[frame] for frame in frames], columns=4)).save(arguments.out)
    print(f"\npictures of the fastest game: {arguments.out}")


if __name__ == "__main__":
    main()
