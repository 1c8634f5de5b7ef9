"""The settings of `qwop-dataset reconstruct`."""

from dataclasses import dataclass

from ...common.settings import Settings, setting
from ...common.shared_settings import smoothing
from ...envs.names import NUMBERS, REWARDS


@dataclass(frozen=True)
class ReconstructSettings(Settings):
    """The dataset to reconstruct, and the decisions, observations and rewards of the new one."""

    dataset: str = setting(help="Folder of a dataset of imported recordings.", example="data/kurodo", path=True)
    out: str = setting(
        help="Folder of the new dataset; an interrupted one is continued.", example="data/kurodo-frames",
        written=True,
    )  # fmt: skip
    frames_per_step: int | None = setting(
        3,
        "Game frames per decision: 1, 2 and 3 make 30, 15 and 10 decisions a second. null: the recording's own "
        "decisions, about 9 a second and of unequal length.",
        at_least=1,
        at_most=3600,
    )
    reward: str = setting("shaped", "Reward of the new dataset.", choices=REWARDS)
    observation: str = setting(
        "features", "Observations of the new dataset: 71 features, 94 (full) or 112 (contact).", choices=NUMBERS
    )
    observation_lag: int = setting(
        0, "Frames by which its observations lag the game; a recording has 1.", choices=(0, 1)
    )
    epsilon: float = smoothing()
