"""`qwop-distil`: its settings and its help, for which nothing is learned."""

from dataclasses import dataclass

from ..common.command import Command, run_of
from ..common.settings import Settings, nested, setting
from ..common.shared_settings import LONGEST_IDLE, device, max_idle_frames
from .settings import DistilSettings


@dataclass(frozen=True)
class DistilCommandSettings(Settings):
    """The settings of `qwop-distil`."""

    policy: str = setting("champion", "Policy that the games were searched with: its file, or champion.", path=True)
    games: tuple[str, ...] = setting(
        ("runs/search/games",),
        "Datasets of searched games. From each start the fastest finished one is learned.",
        path=True,
    )
    out: str = setting("runs/distil", "Folder of the policy.", written=True)
    keep: int = setting(
        0,
        "Starts of 0, 1, 2, … idle frames from which its own greedy games are learned too, where they finish and no "
        "faster one is given.",
        at_least=0,
        at_most=LONGEST_IDLE,
    )
    own_games: int = setting(
        96,
        "Games in whose states it stays as it is: this number of greedy ones with late decisions, of drawn ones, and "
        "of drawn ones with late decisions.",
        at_least=1,
    )
    max_idle_frames: int = max_idle_frames(300)
    device: str = device()
    distil: DistilSettings = nested(DistilSettings, "The distillation.", inline=True)


main = Command(
    "distil",
    DistilCommandSettings,
    run_of("qwop.search.distil_main"),
    about="Train a policy to play by itself the games that were searched with it, and as before elsewhere.",
    examples=[
        (
            "qwop-search policy=runs/finetune/policy.safetensors games=31 regret=3 out=runs/found",
            "games that are nearly the policy's own",
        ),
        (
            "qwop-distil policy=runs/finetune/policy.safetensors games=[runs/found/games]",
            "… which it learns, into runs/distil",
        ),
    ],
)
