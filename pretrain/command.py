"""`qwop-pretrain`: its help, for which nothing is cloned."""

from ..common.command import Command, run_of
from .settings import PretrainSettings

main = Command(
    "pretrain",
    PretrainSettings,
    run_of("qwop.pretrain.main"),
    about="Clone the player of a dataset into a policy, and measure the clone: on episodes it never saw, and in games.",
    examples=[
        ("qwop-pretrain", "the demonstrations that come with the package, into runs/pretrain"),
        ("qwop-pretrain dataset=data/kurodo out=runs/clone", "recordings of your own"),
        (
            "qwop-pretrain dataset=data/kurodo out=runs/splits splits=5",
            "five clones, each with other episodes held out",
        ),
        (
            "qwop-pretrain dataset=data/kurodo out=runs/d3rlpy backend=d3rlpy",
            "by d3rlpy's DiscreteBC",
        ),
    ],
    check=run_of("qwop.pretrain.main", "require_cloneable"),
)
