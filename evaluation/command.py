"""`qwop-evaluate`: its settings and its help, for which nothing is played."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.command import Command, run_of
from ..common.errors import BadInput
from ..common.settings import Settings, nested, setting
from ..common.shared_settings import environment_settings
from ..envs.original.page import PageSettings
from .settings import EvaluationSettings

SIMULATOR, ORIGINAL = WORLDS = ("simulator", "original")


@dataclass(frozen=True)
class CommandGamesSettings(EvaluationSettings):
    """The command's games; those of QWOP may have any start."""

    max_idle_frames: int = 300


@dataclass(frozen=True)
class EvaluateSettings(Settings):
    """The settings of `qwop-evaluate`."""

    policy: str | None = setting(
        None, "Policy to play: its file (.safetensors), or champion, which comes with the package.", path=True
    )
    keys: str | None = setting(
        None,
        "Instead of a policy, a file of keys to play again: best_keys.txt of an evaluation, or champion, the shipped "
        "policy's best game.",
        path=True,
    )
    out: str | None = setting(
        None, "Folder of the report. null: beside the policy or keys (champion: here), named after them.", written=True
    )
    games: CommandGamesSettings = nested(CommandGamesSettings, "Games of a policy.", inline=True)
    late: float = setting(
        0.3,
        "Share of decisions that come one frame late in a second evaluation of QWOP, with 100 rolling starts unless "
        "episodes is set. 0: no second evaluation.",
        at_least=0,
        at_most=1,
    )
    world: str = setting(
        SIMULATOR, "World to play in: the simulator, or the original game's page in Chrome or Chromium.", choices=WORLDS
    )
    original: PageSettings = nested(PageSettings, "The page of world=original; give url or folder.")
    environment: Mapping[str, Any] = environment_settings(
        "Environment settings that differ from the policy's own, such as environment.frames_per_step=2.", "the policy"
    )
    video: bool = setting(True, "Make a film of the best game.")
    card: bool = setting(
        False,
        "Write a model card for Hugging Face's hub (README.md) with these figures and the command that verifies them, "
        "and a copy of the policy beside it.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.card and (self.keys or self.world == ORIGINAL):
            raise BadInput("card=true: expected a policy that plays in the simulator")
        if self.policy and self.keys:
            raise BadInput(f"policy={self.policy} and keys={self.keys}: expected one of them")
        if not self.policy and not self.keys:
            raise BadInput(
                "policy is not set: expected a policy's file, such as policy=runs/finetune/policy.safetensors"
            )

    @property
    def folder(self) -> str:
        """The report's folder, with the default in place."""
        if self.out is not None:
            return self.out
        path = Path(self.policy or self.keys or "")
        kind = "evaluation" if self.policy else "replay"
        return str(path.with_name(f"{path.stem}-{kind}" + ("-original" if self.world == ORIGINAL else "")))


main = Command(
    "evaluate",
    EvaluateSettings,
    run_of("qwop.evaluation.main"),
    about="Play a policy's games and report: a table, a page, evaluation.json, the best game's keys and its film.",
    examples=[
        ("qwop-evaluate policy=runs/finetune/policy.safetensors", ""),
        ("qwop-evaluate policy=champion environment.delay=0.3", "30 % of the decisions come a frame late"),
        ("qwop-evaluate policy=champion episodes=20 greedy=false out=runs/look", "actions drawn instead of the best"),
        ("qwop-evaluate policy=champion world=original original.folder=DIR", "in a local copy of the original game"),
        ("qwop-evaluate policy=runs/finetune/policy.safetensors card=true out=hub/runner", "for Hugging Face's hub"),
        ("qwop-evaluate keys=champion world=original original.folder=DIR", "its best game there, key by key"),
    ],
    check=run_of("qwop.evaluation.main", "require_playable"),
)
