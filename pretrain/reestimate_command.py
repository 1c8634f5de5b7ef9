"""`qwop-dataset reestimate`: its help, for which nothing is cloned."""

from ..datasets.subcommand import Subcommand
from .settings import ReestimateSettings

command = Subcommand(
    "dataset-reestimate",
    ReestimateSettings,
    "qwop.pretrain.reestimate:run",
    about="Copy a dataset, its behaviour probabilities re-estimated by clones of the player, cross-fitted by episode.",
    examples=[("qwop-dataset reestimate data/kurodo out=data/kurodo-cloned", "")],
)
