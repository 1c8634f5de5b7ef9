"""Settings of searching and of distilling."""

from typing import Annotated

from pydantic import Field

from ..common.errors import BadInput
from ..common.settings import Count, HomePath, NotNegative, OutFolder, Positive, Settings, Several
from ..common.shared_settings import LONGEST_IDLE, Device, IdleFrames, Seed


class SearchSettings(Settings):
    """Settings of the search."""

    hold: Annotated[int, Field(ge=1, le=100)] = 1
    """Decisions of the policy for which the search holds an action."""
    width: Annotated[int, Field(ge=1, le=100_000)] = 32
    """Games in the beam."""
    lookahead: Annotated[int, Field(ge=1, le=1000)] = 15
    """Decisions that the policy plays before a candidate is judged."""
    siblings: Count = 3
    """Successors of one game that may be kept; few keep the beam diverse."""
    likelihood: NotNegative = 0.01
    """Metres that a game of the beam is worth for each nat of the policy's log-probability of its actions. It leads to
    states in which the policy is sure of what to do, and so to faster games."""
    regret: NotNegative = 0.0
    """Metres that it loses for each nat by which an action is less probable than the most probable one. With 3, only a
    few nearly even decisions of a game are not the policy's own, so that it can learn the games found."""
    shortlist: Count = 4
    """Candidates played on for each game of the beam: those of the highest value."""


class DistilSettings(Settings):
    """Settings of the distillation."""

    steps: Count = 8000
    """Steps of Adam."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-4
    """Adam's learning rate, which falls linearly."""
    margin: Positive = 0.01
    """Margin m, in nats, by which a searched action shall be more probable than any other."""
    near: Positive = 0.06
    """Margin below which a searched decision is trained on; those with larger ones need no training."""
    own: NotNegative = 0.1
    """Weight of playing as before in states of the policy's own games."""
    batch: Count = 6000
    """Searched decisions of a step, at most."""
    own_batch: Count = 512
    """States of its own play in a step."""
    mine_every: Count = 240
    """Steps between searches for the decisions whose margin is below near."""
    seed: Seed = 0
    """Decides the minibatches, and the policy's own games."""


class SearchCommandSettings(SearchSettings):
    """The settings of `qwop-search`."""

    policy: Annotated[HomePath, Field(examples=["champion"])] = "champion"
    """Policy to search with, one that algorithm=ppo trained: its file, or champion."""
    out: OutFolder = "runs/search"
    """Folder of the games found, and of the best one's keys and film."""
    games: Annotated[int, Field(ge=1, le=LONGEST_IDLE)] = 1
    """Number of games to search for, each with a different start."""
    first: Annotated[int, Field(ge=0, le=LONGEST_IDLE)] = 0
    """Frames without a key at the start of the first game."""
    every: Annotated[int, Field(ge=0, le=LONGEST_IDLE)] = 1
    """Frames added to the start from one game to the next."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Threads: as many games are searched at the same time, or one game by all; they affect only the time. null: all
    cores."""
    video: bool = True
    """Make a film of the best game."""

    @property
    def search(self) -> SearchSettings:
        """The search."""
        return self.part(SearchSettings)

    def check(self) -> None:
        last = self.first + (self.games - 1) * self.every
        if last > LONGEST_IDLE:
            raise BadInput(
                f"games={self.games}: the last would begin after {last:,} frames without a key, expected at most "
                f"{LONGEST_IDLE:,}; lower games, first or every"
            )


class DistilCommandSettings(DistilSettings):
    """The settings of `qwop-distil`."""

    policy: HomePath = "champion"
    """Policy that the games were searched with: its file, or champion."""
    games: Several[HomePath] = ("runs/search/games",)
    """Datasets of searched games. From each start the fastest finished one is learned."""
    out: OutFolder = "runs/distil"
    """Folder of the policy."""
    own_games: Count = 96
    """Games in whose states it stays as it is: this number of greedy ones with late decisions, of drawn ones, and of
    drawn ones with late decisions."""
    max_idle_frames: IdleFrames = 300
    device: Device = "auto"

    @property
    def distil(self) -> DistilSettings:
        """The distillation."""
        return self.part(DistilSettings)
