"""The choice of behaviour probabilities μ for demonstrations in replay."""

from dataclasses import dataclass

from ...common.settings import Settings, setting

MODES = ("recorded", "current", "current_at_sampling", "smoothed", "cloned")


@dataclass(frozen=True)
class BehaviourSettings(Settings):
    """The choice of μ for demonstrations."""

    mode: str = setting(
        "smoothed",
        "Choice of μ. recorded: as the recorder stored it. current: the learner's policy when the demonstration enters "
        "memory, as published. current_at_sampling: the learner's whenever it is sampled. smoothed: the action taken, "
        "with a fraction epsilon spread over all. cloned: a clone of the player.",
        choices=MODES,
    )
    epsilon: float = setting(0.1, "For smoothed: the fraction spread evenly over all actions.", above=0, at_most=1)
    floor: float = setting(1e-3, "For cloned: the smallest probability of any action.", above=0, below=0.05)
