"""`qwop-dataset reestimate`: its help, for which nothing is cloned."""

from ..common.command import Command
from .settings import ReestimateSettings

command = Command(
    "dataset reestimate",
    ReestimateSettings,
    "qwop.pretrain.reestimate:run",
    about="Copy a dataset, its behaviour probabilities re-estimated by clones of the player, cross-fitted by episode.",
    examples=[("qwop-dataset reestimate data/kurodo out=data/kurodo-cloned", "")],
)
