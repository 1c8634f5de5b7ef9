"""`qwop-reestimate`: its help, for which nothing is cloned."""

from ..common.command import Command, run_of
from .settings import ReestimateSettings

main = Command(
    "reestimate",
    ReestimateSettings,
    run_of("qwop.pretrain.reestimate_main"),
    about="Copy a dataset, its behaviour probabilities re-estimated by clones of the player, cross-fitted by episode.",
    examples=[("qwop-reestimate dataset=data/kurodo out=data/kurodo-cloned", "")],
)
