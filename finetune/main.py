"""`qwop-finetune`: reinforcement learning from a policy, demonstrations mixed in and removed on a schedule."""

from pathlib import Path
from typing import Any

from ..common.folder_lock import exclusive_lock
from .settings import FinetuneSettings


def run(settings: FinetuneSettings, **parts: Any) -> str | None:
    """Train along the schedule; leave policy, checkpoints, log, evaluations and report in `out`.

    parts: of `Training`, in place of what the settings name. Returns the verdict, None without evaluations.
    """
    from .training import Training  # with PyTorch, which --help does without

    training = Training(settings, **parts)
    with exclusive_lock(Path(settings.out), "out", within=("checkpoints", "phases")):
        return training.run()
