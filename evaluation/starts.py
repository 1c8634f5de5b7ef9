"""Kinds of starts that evaluations report separately: from the first frame on, and after the runner has settled.

For about a second the runner still drops into place from the game's initial pose; after that it has settled, which is a
different start. Published results are of the first kind.
"""

from dataclasses import dataclass

LONGEST_ROLLING = 30
"""Frames: the idle frames of the published evaluations."""

SETTLED = 60
"""Number of frames after which the runner has practically stopped moving."""


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
    """Return the kinds of starts for games with up to this many idle frames. Up to 30 frames there is only `rolling`;
    beyond, `any` covers all games, and `settled` those that begin late.
    """
    rolling = Start("rolling", 0, min(LONGEST_ROLLING, max_idle_frames))
    if max_idle_frames <= LONGEST_ROLLING:
        return (rolling,)
    settled = (Start("settled", SETTLED, max_idle_frames),) if max_idle_frames > SETTLED else ()
    return (rolling, Start("any", 0, max_idle_frames), *settled)
