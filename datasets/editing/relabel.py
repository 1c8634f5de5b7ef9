"""`qwop-dataset relabel`: replay games to give them other observations, rewards and decision rates."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ...common.command import Command
from ...common.errors import BadInput, naming
from ...common.progress import plain_console
from ...common.settings import HomePath, OutFolder, Settings
from ...common.shared_settings import Smoothing
from ...envs.names import Reward
from ...envs.qwop.task import QWOPTask
from ...envs.registration import LARGEST
from ..from_keys import qwop_info, relabelled
from ..reader import open_dataset
from ..schema import Episode
from .new_dataset import finish, new_folder, write_dataset


class RelabelSettings(Settings):
    """The dataset, and the settings to change; null keeps a setting."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of a dataset of QWOP with keys."""
    out: Annotated[OutFolder, Field(examples=["data/me-15"])]
    """Folder of the new dataset."""
    frames_per_step: Annotated[int, Field(ge=1, le=3600)] | None = None
    """Game frames (30 a second) per decision: 1, 2 and 3 make 30, 15 and 10 decisions a second."""
    reward: Reward | None = None
    """Reward."""
    shaping: Annotated[float, Field(ge=0, le=LARGEST)] | None = None
    """Weight of the reward shaping in reward=race."""
    fall_penalty: Annotated[float, Field(ge=0, le=LARGEST)] | None = None
    """Reward that a fall costs in reward=race."""
    push_penalty: Annotated[float, Field(ge=0, le=LARGEST)] | None = None
    """Reward that each metre costs by which the hurdle is pushed in reward=race."""
    observation: Literal["features", "full", "contact", "pixels"] | None = None
    """Observations: 71 features (features), 94 (full), 112 (contact), or pictures (pixels)."""
    stack: Annotated[int, Field(ge=1, le=16)] | None = None
    """Newest pictures in an observation of pixels."""
    size: Annotated[int, Field(ge=16, le=256)] | None = None
    """Height and width of the pictures."""
    colour: bool | None = None
    """Colours in the pictures, instead of grey."""
    observation_lag: Literal[0, 1] | None = None
    """Frames by which observations lag the game."""
    epsilon: Smoothing = 0.05
    """Smoothing of the behaviour probabilities if the decision rate changes: this fraction is spread evenly over all
    actions."""


def run(settings: RelabelSettings) -> None:
    """Replay every game. If the decision rate stays, actions and behaviour probabilities do too."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    if not dataset.info.environment.capabilities.keys:
        raise BadInput(f"{dataset.folder}: a dataset of {dataset.info.environment}, whose games cannot be played again")
    task = {name: value for name in QWOPTask.model_fields if (value := getattr(settings, name, None)) is not None}
    info = qwop_info(**{**dataset.info.environment.settings, **task})

    def episodes() -> Iterator[Episode]:
        for path, episode in zip(dataset.files, dataset, strict=True):
            with naming(path):
                yield relabelled(episode, info, settings.epsilon, same_decisions=settings.frames_per_step is None)

    with new_folder(out, [dataset.folder]) as folder:
        write_dataset(folder, info, episodes(), len(dataset), console)
    finish(out, console)


command = Command(
    "dataset relabel",
    RelabelSettings,
    run,
    about="Write the games of a dataset with another reward, other observations or another decision rate.",
    examples=[
        ("qwop-dataset relabel data/me out=data/me-15 frames_per_step=2", "15 decisions a second"),
        ("qwop-dataset relabel data/me out=data/me-race reward=race observation=full", "the same decisions"),
    ],
)
