"""The choice of behaviour probabilities μ for demonstrations in replay."""

from typing import Annotated, Literal

from pydantic import Field

from ...common.settings import Settings


class BehaviourSettings(Settings):
    """The choice of μ for demonstrations."""

    mode: Literal["recorded", "current", "current_at_sampling", "smoothed", "cloned"] = "smoothed"
    """Choice of μ. recorded: as the recorder stored it. current: the learner's policy when the demonstration enters
    memory, as published. current_at_sampling: the learner's whenever it is sampled. smoothed: the action taken, with a
    fraction epsilon spread over all. cloned: a clone of the player."""
    epsilon: Annotated[float, Field(gt=0, le=1)] = 0.1
    """For smoothed: the fraction spread evenly over all actions."""
    floor: Annotated[float, Field(gt=0, lt=0.05)] = 1e-3
    """For cloned: the smallest probability of any action."""
