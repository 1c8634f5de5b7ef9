"""Settings of an evaluation's games, for every command that evaluates."""

from dataclasses import dataclass, replace
from typing import Self

from ..common.settings import Settings, setting
from ..common.shared_settings import max_idle_frames, num_envs, seed

DRAWN = 100
"""Default number of games drawn for each kind of start."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings(Settings):
    """The games of an evaluation; `qwop-evaluate --help` explains each setting."""

    episodes: int | None = setting(
        None,
        "Games to play. null: one for every number of idle frames where nothing else decides a game (greedy games of "
        f"QWOP without delay), else {DRAWN}.",
        at_least=1,
    )
    seed: int = seed("Decides the games.")
    max_idle_frames: int = max_idle_frames(30)
    idle_limit: int | None = setting(
        1800,
        "Atari: a game ends after this many decisions (15 a second) without a reward or a lost life, as an agent may "
        "never press FIRE again. null: never.",
        at_least=1,
    )
    greedy: bool | None = setting(
        None,
        "Always take the most probable action; else draw it. null: as the policy's file says; a clone that runs "
        "clearly better with drawn actions is marked there.",
    )
    num_envs: int = num_envs(128, "Games played side by side; the results do not depend on it.")

    def playing(self, greedy: bool) -> Self:
        """The settings for a policy that is to be played greedily, or drawn, unless they choose it themselves."""
        return replace(self, greedy=greedy) if self.greedy is None else self
