"""The settings of `qwop-evaluate` and `qwop-watch`."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..common.errors import BadInput
from ..common.settings import HomePath, OutFolder, Settings, Share, Whole
from ..common.shared_settings import LONGEST_IDLE, IdleFrames, PolicysEnvironment, Seed
from ..envs.original.page import PageSettings
from .settings import EvaluationSettings

SIMULATOR, ORIGINAL = WORLDS = ("simulator", "original")


class CommandGamesSettings(EvaluationSettings):
    """The command's games; those of QWOP may have any start."""

    max_idle_frames: IdleFrames = 300


class EvaluateSettings(CommandGamesSettings):
    """The settings of `qwop-evaluate`."""

    policy: HomePath | None = None
    """Policy to play: its file (.safetensors), or champion, which comes with the package."""
    keys: HomePath | None = None
    """Instead of a policy, a file of keys to play again: best_keys.txt of an evaluation, or champion, the shipped
    policy's best game."""
    out: OutFolder | None = None
    """Folder of the report. null: beside the policy or keys (champion: here), named after them."""
    late: Share = 0.3
    """Share of decisions that come one frame late in a second evaluation of QWOP, with 100 rolling starts unless
    episodes is set. 0: no second evaluation."""
    world: Literal["simulator", "original"] = "simulator"
    """World to play in: the simulator, or the original game's page in Chrome or Chromium."""
    original: PageSettings = PageSettings()
    """The page of world=original; give url or folder."""
    environment: PolicysEnvironment = Field(default_factory=dict)
    """Environment settings that differ from the policy's own, such as environment.frames_per_step=2."""
    video: bool = True
    """Make a film of the best game."""

    def check(self) -> None:
        if self.policy and self.keys:
            raise BadInput(f"policy={self.policy} and keys={self.keys}: expected one of them")
        if not self.policy and not self.keys:
            raise BadInput(
                "policy is not set: expected a policy's file, such as policy=runs/finetune/policy.safetensors"
            )

    @property
    def games(self) -> CommandGamesSettings:
        """The games of a policy."""
        return self.part(CommandGamesSettings)

    @property
    def folder(self) -> str:
        """The report's folder, with the default in place."""
        if self.out is not None:
            return self.out
        path = Path(self.policy or self.keys or "")
        kind = "evaluation" if self.policy else "replay"
        return str(path.with_name(f"{path.stem}-{kind}" + ("-original" if self.world == ORIGINAL else "")))


PAGE, FILM = ".html", ".mp4"


class WatchSettings(Settings):
    """The game to watch: of a dataset, of a file of keys, or of a policy."""

    dataset: HomePath | None = None
    """Folder of a dataset."""
    episode: Whole | None = None
    """Number of the dataset's episode, as in its file's name. null: up to 50 of them in the page, the first
    as a film."""
    keys: HomePath | None = None
    """File of keys, such as best_keys.txt of an evaluation; or champion."""
    policy: HomePath | None = None
    """Policy that plays a game: its file (.safetensors), or champion."""
    seed: Seed = 0
    """Policy: decides its game."""
    greedy: bool | None = None
    """Policy: take the most probable actions; else draw them. null: as the policy's file says."""
    idle_frames: Annotated[int, Field(ge=0, le=LONGEST_IDLE)] = 0
    """Policy: frames without a key before it starts, in QWOP."""
    out: HomePath | None = None
    """File to write: a page of games of QWOP (.html) that needs no other file, or a film (.mp4). null: show it."""

    def check(self) -> None:
        sources = [name for name in ("dataset", "keys", "policy") if getattr(self, name) is not None]
        if len(sources) != 1:
            fault = " and ".join(f"{name}={getattr(self, name)}" for name in sources) or "dataset is not set"
            raise BadInput(f"{fault}: expected one of dataset, keys and policy, such as dataset=data/me")
        if self.out is not None and Path(self.out).suffix not in (PAGE, FILM):
            raise BadInput(f"out={self.out}: expected the name of a page ({PAGE}) or of a film ({FILM})")
