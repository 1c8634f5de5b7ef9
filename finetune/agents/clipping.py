"""Rewards clipped before they are learned from, as for Atari (Mnih et al. 2015)."""

from dataclasses import dataclass, replace

import numpy as np

from ...common.settings import Settings, setting
from ..experience.sequences import Sequences


@dataclass(frozen=True)
class ClipsRewards(Settings):
    """Settings of an algorithm that may clip rewards. The log and evaluations always have the environment's own."""

    clip_rewards: bool = setting(
        False, "Clip the reward of each decision to between -1 and 1 before learning (published, for Atari: true)."
    )

    def learned(self, played: Sequences) -> Sequences:
        """Return the sequences with the rewards to learn from."""
        return replace(played, rewards=np.clip(played.rewards, -1.0, 1.0)) if self.clip_rewards else played
