"""A player of games as HTML that needs no server, and the rows of numbers from which pages draw games."""

import base64
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..names import BODIES, SCORE
from ..qwop.session import Replay, replay
from .drawing import SCENE, SCRIPTS, TILES
from .video import seconds_from_first_key

PARTS = 1024
"""Parts of a unit, radian, metre and second in which rows are stored."""

POSE = 3 * len(BODIES)
"""Numbers of a pose: x, y and angle of every body."""

ROW = POSE + 3
"""Numbers of a row: the pose, the score in metres, the seconds since the first key, and the keys held."""

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")


@dataclass(frozen=True)
class Clip:
    """A game to play. rows: float32 [n, ROW]."""

    title: str
    rows: NDArray[np.float32]


@cache
def _scene() -> dict[str, object]:
    """The shapes and tiles of all players."""
    contents = {file.name: base64.b64encode(file.read_bytes()).decode() for file in sorted(TILES.glob("*.png"))}
    return {"scene": SCENE, "tiles": {name: f"data:image/png;base64,{content}" for name, content in contents.items()}}


def player(clips: Sequence[Clip]) -> str:
    """The player of these games, as a part of a page; a page has one."""
    data = {**_scene(), "clips": [_packed(clip) for clip in clips]}
    document = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    speeds = "".join(
        f'<option value="{speed}"{" selected" if speed == "1" else ""}>{speed} ×</option>' for speed in SPEEDS
    )
    return f"""
<style>{(SCRIPTS / "player.css").read_text()}</style>
<div class="player" tabindex="0" aria-label="Player">
  <div class="view">
    <canvas aria-label="The runner on the track"></canvas>
    <div class="keys left" aria-hidden="true"><kbd data-key="q">Q</kbd><kbd data-key="w">W</kbd></div>
    <div class="keys right" aria-hidden="true"><kbd data-key="o">O</kbd><kbd data-key="p">P</kbd></div>
    <div class="figures"><div class="metres"></div><div class="seconds"></div></div>
  </div>
  <div class="controls">
    <button class="play">Pause</button>
    <input type="range" class="scrub" min="0" step="any" value="0" aria-label="Position">
    <select class="speed" aria-label="Speed">{speeds}</select>
    <select class="clip" aria-label="Game"></select>
  </div>
  <p class="help">Space plays and pauses, the arrow keys step by a frame.</p>
</div>
<script type="application/json" id="player-data">{document}</script>
<script type="module">{_script()}</script>
"""


def _packed(clip: Clip) -> dict[str, object]:
    """A clip for `watch.js`: differences from frame to frame, column by column, which compress well."""
    numbers = np.round(clip.rows.T.astype(np.float64) * PARTS).astype(np.int64)
    steps = np.diff(numbers, axis=1, prepend=0).astype("<i4")
    rows = base64.b64encode(zlib.compress(steps.tobytes(), 9)).decode()
    return {"title": clip.title, "parts": PARTS, "rows": rows}


def _script() -> str:
    """The scripts as one, which imports nothing."""
    text = "\n".join((SCRIPTS / name).read_text() for name in ("rows.js", "scene.js", "player.js", "watch.js"))
    return re.sub(r"(?m)^import .*\n|^export ", "", text)


def rows_of_game(keys: ArrayLike) -> NDArray[np.float32]:
    """Replay a game from the keys of its frames, uint8 [n]; return the rows of all frames, float32 [n + 1, ROW]."""
    return rows_of_replay(replay(keys), keys)


def rows_of_replay(game: Replay, keys: ArrayLike) -> NDArray[np.float32]:
    """The rows of a game that was played with these keys, uint8 [≥ n]; float32 [n + 1, ROW]."""
    count = len(game.states)
    column = np.concatenate([[0], np.asarray(keys)])[:count]
    figures = np.stack([game.events[:, SCORE], seconds_from_first_key(keys)[:count], column], axis=1)
    return np.concatenate([game.states[:, :, :3].reshape(count, POSE), figures], axis=1).astype("<f4")
