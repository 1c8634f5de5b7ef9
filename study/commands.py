"""The commands that a study can search: those with a folder and a seed for each run."""

from typing import Any

from ..common.command import Command
from ..evaluation.command import main as evaluate
from ..finetune.main import main as finetune
from ..pretrain.command import main as pretrain

COMMANDS: dict[str, Command[Any]] = {command.program: command for command in (finetune, pretrain, evaluate)}

OWN = ("out", "seed")
"""Settings that a study gives each run."""
