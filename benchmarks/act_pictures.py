"""Draw the act: four runners side by side from the same start, and finishes and seconds against decisions.

    python benchmarks/act_pictures.py runs/finetune docs/act
    chromium --headless --hide-scrollbars --window-size=900,330 --screenshot=docs/act.png docs/act.html

`runs/finetune` is a run of `schedule=kurodo`. Writes docs/act.gif and docs/act.html.
"""

import argparse
from pathlib import Path

import numpy as np
from champion_gif import write_gif
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from qwop.common.page import page
from qwop.envs import replay
from qwop.envs.names import FRAMES_A_SECOND, SCORE
from qwop.envs.pictures.drawing import Drawing
from qwop.envs.pictures.video import picture_strip, seconds_from_first_key
from qwop.finetune.figures import read_evaluation
from qwop.finetune.log import read_metrics
from qwop.finetune.report import evaluation_charts
from qwop.policies.files import load_policy
from qwop.policies.rollout import play

RUNNERS = {"start": "clone", "alone": "alone", "mixed": "with demonstrations", "polish": "after their removal"}
"""Phases whose runners are shown, and their titles."""

SCENES = ((0.0, 4.0), (20.0, 23.0), (40.0, 45.0))
"""Seconds of the games from and to which they are shown."""

EVERY = 3
"""Game frames between two pictures."""

WIDTH, HEIGHT = 240, 150
"""Pixels of a runner's picture."""

LINE = 20
"""Pixels of the line of text below."""

IDLE = 4
"""Frames before the first key: the start of the four games."""


def race(run: Path) -> list[NDArray[np.uint8]]:
    """Pictures of the four games. A runner who fell or finished stays where the game ended."""
    times = [np.arange(round(start * FRAMES_A_SECOND), round(end * FRAMES_A_SECOND), EVERY) for start, end in SCENES]
    drawing, games = Drawing(WIDTH, HEIGHT), []
    for phase, title in RUNNERS.items():
        policy = load_policy(run / "start.safetensors" if phase == "start" else kept_file(run, phase))
        (game,) = play(policy, episodes=1, seed=0, greedy=True, idle_frames=[IDLE])
        assert game.keys is not None
        keys = np.concatenate(game.keys)
        played, seconds = replay(keys), seconds_from_first_key(keys)
        shown = np.minimum(np.concatenate(times), len(keys))
        games.append(
            [
                titled(drawing.picture(state, metres=event[SCORE], seconds=second), title)
                for state, event, second in zip(played.states[shown], played.events[shown], seconds[shown], strict=True)
            ]
        )
    return [picture_strip(pictures, 2) for pictures in zip(*games, strict=True)]


def kept_file(run: Path, phase: str) -> Path:
    """The policy at a phase's end; of the last phase the one that the run keeps."""
    if phase == [*RUNNERS][-1]:
        return run / "policy.safetensors"
    (found,) = (run / "phases").glob(f"[0-9]-{phase}.safetensors")
    return found


def titled(picture: NDArray[np.uint8], title: str) -> NDArray[np.uint8]:
    """The picture with a line of text below."""
    image = Image.fromarray(np.pad(picture, ((0, LINE), (0, 0), (0, 0)), constant_values=255))
    ImageDraw.Draw(image).text((WIDTH // 2, HEIGHT + 14), title, fill=(36, 44, 60), anchor="ms", font_size=13)
    return np.asarray(image)


def charts(run: Path) -> str:
    """A page with the charts of finishes and seconds."""
    found = [read_evaluation(path) for path in (run / "phases").glob("*.json")]
    finishes, seconds, _ = evaluation_charts(sorted(found, key=lambda one: one["decisions"]), read_metrics(run))
    light = "<style>:root { color-scheme: light; }</style>"
    return page("The act", f'{light}<div class="charts">{finishes}{seconds}</div>')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", help="begin of the files' names")
    arguments = parser.parse_args()
    print(write_gif(Path(f"{arguments.out}.gif"), race(arguments.run), FRAMES_A_SECOND / EVERY))
    Path(f"{arguments.out}.html").write_text(charts(arguments.run), encoding="utf-8")


if __name__ == "__main__":
    main()
