"""Starts that evaluations report side by side: games played from the first frame on, and after the runner has settled.

A runner that gets keys within a second still falls into place from where the game puts it; later it has settled, which
makes another start. The published results are of the first kind.
"""

from dataclasses import dataclass

LONGEST_ROLLING = 30
"""Frames: the idle frames of the published evaluations."""

SETTLED = 60
"""Frames after which the runner hardly moves any more."""


@dataclass(frozen=True)
class Start:
    """Games that begin with `least` to `most` idle frames, all equally likely."""

    name: str
    least: int
    most: int

    def __contains__(self, idle_frames: int | None) -> bool:
        return idle_frames is not None and self.least <= idle_frames <= self.most

    def __str__(self) -> str:
        return f"{self.name}\n{self.least}–{self.most} idle frames"


def starts_up_to(max_idle_frames: int) -> tuple[Start, ...]:
    """Return the starts to tell apart in games with 0 to so many idle frames.

    Up to 30 frames there is one, `rolling`; beyond, `any` is all games, and `settled` those of them that begin late.
    """
    rolling = Start("rolling", 0, min(LONGEST_ROLLING, max_idle_frames))
    if max_idle_frames <= LONGEST_ROLLING:
        return (rolling,)
    settled = (Start("settled", SETTLED, max_idle_frames),) if max_idle_frames > SETTLED else ()
    return (rolling, Start("any", 0, max_idle_frames), *settled)
