"""`qwop-finetune`: reinforcement learning from a policy, demonstrations mixed in and removed on a schedule."""

from pathlib import Path

from ..common.command import Command
from ..common.folder_lock import exclusive_lock
from .settings import FinetuneSettings


def run(settings: FinetuneSettings) -> None:
    """Train along the schedule; leave policy, checkpoints, log, evaluations and report in `out`."""
    from .training import Training  # with PyTorch, which --help does without

    with exclusive_lock(Path(settings.out), "out", within=("checkpoints", "phases")):
        Training(settings, main.read).run()


def require_trainable(settings: FinetuneSettings) -> None:
    """Raise BadInput for a start or environments that cannot be trained with these settings. Nothing is written."""
    from .training import Training

    Training(settings, main.read).check()


main = Command(
    "finetune",
    FinetuneSettings,
    run,
    check=require_trainable,
    about="Continue a policy by reinforcement learning, with demonstrations in its replay memory that a schedule mixes "
    "in and removes.",
    examples=[
        ("qwop-finetune schedule=kurodo", "after qwop-pretrain; schedule.scale=0.1 makes it ten times shorter"),
        ("qwop-finetune schedule=kurodo policy=runs/clone/policy.safetensors demonstrations=data/kurodo", ""),
        ("qwop-finetune schedule=champion policy=scratch environment=QWOP-v1", "from scratch, by PPO"),
        (
            "qwop-finetune environment=LunarLander-v3 schedule.decisions=300000",
            "another environment, by an algorithm for small ones",
        ),
        ("qwop-finetune schedule=kurodo resume=true", "continue the run in runs/finetune"),
        ("qwop-finetune schedule=champion --help", "the settings of another schedule, and of its algorithm"),
    ],
)
