"""The commands that a study can search: those with a folder and a seed for each run."""

from typing import Any

from ..commands import evaluate, finetune, pretrain
from ..common.command import Command

COMMANDS: dict[str, Command[Any]] = {command.program: command for command in (finetune, pretrain, evaluate)}

OWN = ("out", "seed")
"""Settings that a study gives each run."""
