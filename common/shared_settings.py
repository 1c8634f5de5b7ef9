"""Types of settings that several commands share, with their sentences."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from .imports import without_module
from .schema import Expected

LARGEST_SEED = 2**32 - 1

LONGEST_IDLE = 3000
"""Most idle frames at a game's start: 100 s of the 120 s after which a game ends."""

Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]

Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    Field(description="Device to learn on: cpu, cuda, mps (Apple's GPUs), or auto, a CUDA GPU if there is one."),
]

TrackerName = Annotated[
    Literal["tensorboard", "wandb", "trackio", "none"],
    Field(description="Tracker that shows the run as it goes on: tensorboard, wandb or trackio (extras), or none."),
]

IdleFrames = Annotated[
    int,
    Field(
        ge=0,
        le=LONGEST_IDLE,
        description="QWOP: each game starts with 0 to this many frames (30 a second) without a key, uniformly drawn.",
    ),
]

Smoothing = Annotated[float, Field(gt=0, le=1)]
"""The fraction ε by which unknown behaviour probabilities are smoothed."""

PolicysEnvironment = Annotated[
    Mapping[str, Any], Expected("settings such as {frames_per_step: 2}; the policy names the environment")
]
"""Settings of an environment that a policy names."""

EnvironmentId = Annotated[str, AfterValidator(lambda id: without_module(id, ""))]
"""Id of an environment in Gymnasium's registry. A module in front of it is imported and left out."""
