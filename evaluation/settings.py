"""Settings of an evaluation's games, for every command that evaluates."""

from typing import Self

from pydantic import Field

from ..common.settings import Count, Settings, Width
from ..common.shared_settings import IdleFrames, Seed

DRAWN = 100
"""Default number of games drawn for each kind of start."""


class EvaluationSettings(Settings):
    """The games of an evaluation; `qwop-evaluate --help` explains each setting."""

    episodes: Count | None = Field(
        default=None,
        description="Games to play. null: one for every number of idle frames where nothing else decides a game "
        f"(greedy games of QWOP without delay), else {DRAWN}.",
    )
    seed: Seed = 0
    """Decides the games."""
    max_idle_frames: IdleFrames = 30
    idle_limit: Count | None = 1800
    """Atari: a game ends after this many decisions (15 a second) without a reward or a lost life, as an agent may never
    press FIRE again. null: never."""
    greedy: bool | None = None
    """Always take the most probable action; else draw it. null: as the policy's file says; a clone that runs clearly
    better with drawn actions is marked there."""
    num_envs: Width = 128
    """Games played side by side; the results do not depend on it."""

    def playing(self, greedy: bool) -> Self:
        """The settings for a policy that is to be played greedily, or drawn, unless they choose it themselves."""
        return self.with_(greedy=greedy) if self.greedy is None else self
