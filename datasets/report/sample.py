"""Sample of a dataset for a report: its statistics, and some of its episodes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.charts import Points
from ...common.errors import BadInput
from ...envs.names import FRAMES_A_SECOND
from ...envs.pictures.player import Clip
from ..clips import clip_of, clip_title
from ..folder import episode_number
from ..reader import Dataset
from ..schema import Episode
from ..summary import Summary


@dataclass(frozen=True)
class Sample:
    """Statistics of all episodes of a dataset, some episodes, the best first, and the clips of those that have one."""

    name: str
    summary: Summary
    episodes: tuple[Episode, ...]
    clips: tuple[Clip, ...]


def sample(dataset: Dataset, most: int) -> Sample:
    """Take the best episode and evenly spaced others, together at most `most`."""
    summary = dataset.summary()
    even = np.linspace(0, len(dataset) - 1, min(most, len(dataset))).round().astype(int).tolist()
    chosen = dataset.select([*dict.fromkeys([best_of(summary), *even])][:most])
    episodes, clips = [], []
    for path, episode in zip(chosen.files, chosen, strict=True):
        episodes.append(episode)
        try:
            clips.append(clip_of(episode, dataset.info, clip_title(episode, episode_number(path))))
        except BadInput:  # of another environment: nothing to draw from
            continue
    return Sample(str(dataset.folder), summary, tuple(episodes), tuple(clips))


def best_of(summary: Summary) -> int:
    """Index of the best episode: the quickest of those that finished, else the farthest, else by its return."""
    if summary.finished.any():  # whose torso may land just before the line
        return int(np.where(summary.finished, summary.seconds, np.inf).argmin())
    metres = np.nan_to_num(summary.metres, nan=-np.inf)
    return int((metres if np.isfinite(metres).any() else summary.returns).argmax())


def distances(clips: tuple[Clip, ...], share: float) -> Points:
    """Quantile `share` of the metres covered, every half second, over the games that last that long. Ends when less
    than a third of the games remain.
    """
    tracks = [_metres(clip) for clip in clips]
    points = []
    for frame in range(0, max(map(len, tracks), default=0), FRAMES_A_SECOND // 2):
        left = [track[frame] for track in tracks if len(track) > frame]
        if 3 * len(left) < len(tracks):
            break
        points.append((frame / FRAMES_A_SECOND, float(np.quantile(left, share))))
    return points


def speeds(clips: tuple[Clip, ...]) -> Points:
    """Median of the metres per second over two metres, by the metre in their middle, while half of the games last."""
    found: dict[int, list[float]] = {}
    for clip in clips:
        track = np.maximum.accumulate(_metres(clip))
        for metre in range(1, int(track[-1])):
            frames = np.searchsorted(track, metre + 1) - np.searchsorted(track, metre - 1)
            found.setdefault(metre, []).append(2 * FRAMES_A_SECOND / max(int(frames), 1))
    return [(metre, float(np.median(ones))) for metre, ones in sorted(found.items()) if 2 * len(ones) >= len(clips)]


def taken(episodes: tuple[Episode, ...]) -> NDArray[np.float32]:
    """Behaviour probability of every action that was taken, float32 [decisions]."""
    return np.concatenate([one.behaviour_probabilities[np.arange(len(one)), one.actions] for one in episodes])


def _metres(clip: Clip) -> NDArray[np.float64]:
    """Place of the torso in every frame."""
    return clip.rows[:, 0].astype(np.float64) / 10
