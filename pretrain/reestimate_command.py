"""`qwop-reestimate`: its help, for which nothing is cloned."""

from ..common.command import Command
from .settings import ReestimateSettings


def _run(settings: ReestimateSettings) -> None:
    from .reestimate_main import run  # PyTorch, which --help does without

    run(settings)


main = Command(
    "reestimate",
    ReestimateSettings,
    _run,
    about="Copy a dataset, its behaviour probabilities re-estimated by clones of the player, cross-fitted by episode.",
    examples=[("qwop-reestimate dataset=data/kurodo out=data/kurodo-cloned", "")],
)
