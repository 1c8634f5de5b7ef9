"""The settings of `qwop-record`: those of each source, and the command's."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..common.files import file_name
from ..common.imports import without_module
from ..common.settings import Count, Expected, HomePath, OutFolder, Positive, Settings, Several, Width
from ..common.shared_settings import (
    EnvironmentId,
    IdleFrames,
    PolicysEnvironment,
    Seed,
    Smoothing,
)
from ..envs.names import Reward

ME = "me"
"""Name of a player of whom nothing is known."""

LONGEST_NAME = 100
"""Characters of a player's name."""

PlayerName = Annotated[str, Field(max_length=LONGEST_NAME), Expected(f"a name of 1 to {LONGEST_NAME} characters")]


class PolicyPlaySettings(Settings):
    """Shared by the sources in which a policy may play."""

    greedy: bool = False
    """Policy: always take the most probable action; else draw it."""
    seed: Seed = 0
    """Policy: decides its games. Recording again continues with the next ones."""


class PageSettings(PolicyPlaySettings):
    """Shared by the sources in which a person plays on a page."""

    policy: HomePath | None = None
    """Policy that runs and that you correct: its file (.safetensors), or champion, which comes with the package. null:
    you play alone."""
    release: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """Policy: seconds without a key after which it has control again."""
    back: Annotated[float, Field(gt=0, le=3600)] = 3.0
    """Policy: seconds that you go back at a time."""
    open: bool = True
    """Open the browser."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """Port of the page, which only this machine can reach. 0: any free one; for QWOP 8767 if it is free, as the browser
    keeps for each port what a killed recorder has not received."""


class PersonSettings(Settings):
    """Shared by the sources in which a person plays."""

    player: PlayerName = ME
    """Your name in the dataset."""
    epsilon: Smoothing = 0.05
    """Smoothing of the behaviour probabilities, which are unknown for a person: this fraction is spread evenly over all
    actions."""


class RunnerSettings(PersonSettings):
    """Shared by the sources in which a person plays QWOP."""

    frames_per_step: Annotated[int, Field(ge=1, le=3600)] = 3
    """Game frames (30 a second) per decision of the dataset; 3 is about the recordings' rate."""
    reward: Reward = "shaped"
    """Reward that is recorded; shaped is the published recordings'."""
    observation_lag: Literal[0, 1] = 0
    """Frames by which the dataset's observations lag the game; published recordings have 1."""


class RecorderPageSettings(PageSettings, RunnerSettings):
    """You play, on a page in your browser."""

    kind: Literal["page"] = "page"
    opener: ClassVar = ".page.browser_games:open_page"
    ghost: HomePath = "embedded"
    """Runner to race against at first: embedded (a pacer, and once you have run 50 m the champion), best (your own
    best), none, or a dataset's folder (its best game)."""
    max_idle_frames: IdleFrames = 30
    """Policy: each game starts with 0 to this many frames (30 a second) without a key, uniformly drawn."""


class EnvironmentPageSettings(PageSettings, PersonSettings):
    """You play any Gymnasium environment with discrete actions, on a page in your browser."""

    kind: Literal["environment"] = "environment"
    opener: ClassVar = ".page.environment_game:open_environment"
    id: Annotated[EnvironmentId, Field(examples=["LunarLander-v3"])]
    """Id of the environment in Gymnasium's registry; a module that registers it when it is imported may stand in front,
    with a colon between."""
    settings: Annotated[
        Mapping[str, Any], Expected("settings such as {frames_per_step: 2}; source.id names the environment")
    ] = {}
    """Settings of the environment, such as source.settings.gravity=-5."""
    fps: Annotated[float, Field(gt=0, le=120)] | None = None
    """Decisions a second. null: as fast as the environment is meant to be shown, 30 at most."""
    actions: Mapping[str, Any] = Field(default_factory=dict)
    """Actions by their keys: a character, a name such as ArrowLeft or Space, several joined by +, or '' while no key is
    down; each is what the environment takes (2, or [0,1]) or its name. Empty: the environment's own keys."""

    def check(self) -> None:
        super().check()
        object.__setattr__(self, "id", without_module(self.id, f"id={self.id}"))


class KeyboardSettings(RunnerSettings):
    """You play in a window; pynput listens to the keyboard."""

    kind: Literal["keyboard"] = "keyboard"
    opener: ClassVar = ".keyboard_source:open_keyboard"


class BrowserSettings(RunnerSettings):
    """You play on the original game's page, in Chrome or Chromium."""

    kind: Literal["browser"] = "browser"
    opener: ClassVar = ".original_source:open_browser_source"
    url: str | None = None
    """Address of the page; or give folder."""
    folder: HomePath | None = None
    """Local copy of the page: its folder, or its .html file."""
    browser: HomePath | None = None
    """Program of the browser. null: look for Chrome and Chromium."""
    timeout: Positive = 60.0
    """Seconds that the page, once open, may take to load its game."""


class PolicySettings(PolicyPlaySettings):
    """A policy plays; its exact probabilities are recorded."""

    kind: Literal["policy"] = "policy"
    opener: ClassVar = ".policy_source:open_policy"
    policy: Annotated[HomePath, Field(examples=["runs/pretrain/policy.safetensors"])]
    """Policy that plays: its file (.safetensors), or champion, which comes with the package."""
    player: PlayerName = "policy"
    """Name of the policy in the dataset."""
    episodes: Count = 100
    """Games to record."""
    num_envs: Width = 64
    """Games played side by side."""
    max_idle_frames: IdleFrames = 0
    environment: PolicysEnvironment = Field(default_factory=dict)
    """Environment settings that differ from the policy's own, such as source.environment.reward=speed."""


class ImportSettings(PersonSettings):
    """Published recordings: expert files of stable-baselines (.npz)."""

    kind: Literal["import"] = "import"
    opener: ClassVar = ".published_source:open_import"
    files: Annotated[
        Several[HomePath], Expected("paths or patterns in brackets"), Field(examples=["'[demos/kuro_try*.npz]'"])
    ]
    """Paths or patterns of the recordings, in brackets."""
    player: PlayerName = "unknown"
    """Name of who played, in the dataset."""


class KeysSettings(RunnerSettings):
    """Files of keys, such as those that the page of qwop-play saves."""

    kind: Literal["keys"] = "keys"
    opener: ClassVar = ".keys_source:open_keys"
    files: Annotated[Several[HomePath], Expected("paths or patterns in brackets")] = ()
    """Paths or patterns of the files, or of zips of them, in brackets."""
    player: PlayerName | None = None  # type: ignore[assignment]
    """Name of who played. null: as each file says, or me."""


SourceSettings = (
    RecorderPageSettings
    | EnvironmentPageSettings
    | BrowserSettings
    | KeyboardSettings
    | PolicySettings
    | ImportSettings
    | KeysSettings
)
"""Settings of a source. opener: the module of this room, and its function, that open it."""


class RecordSettings(Settings):
    """The settings of `qwop-record`."""

    dataset: OutFolder | None = None
    """Folder of the dataset. An existing one is continued, unless its settings differ. null: data/<player>, of another
    environment than QWOP data/<player>-<id>."""
    source: Annotated[SourceSettings, Field(discriminator="kind")] = RecorderPageSettings()
    """Player of the games."""

    @property
    def folder(self) -> str:
        """The dataset's folder, with the default in place."""
        if self.dataset:
            return self.dataset
        if isinstance(self.source, EnvironmentPageSettings):
            return f"data/{file_name(f'{self.source.player}-{self.source.id}')}"
        return f"data/{file_name(self.source.player or ME)}"
