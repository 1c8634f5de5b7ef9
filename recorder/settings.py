"""The settings of `qwop-record`: those of each source, and the command's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..common.files import file_name
from ..common.imports import without_module
from ..common.settings import Settings, choice_of, setting
from ..common.shared_settings import environment_settings, max_idle_frames, num_envs, seed, smoothing
from ..envs.names import REWARDS


def greedy() -> Any:
    """The way in which a policy chooses."""
    return setting(False, "Policy: always take the most probable action; else draw it.")


@dataclass(frozen=True, kw_only=True)
class SharedControlSettings(Settings):
    """Shared by the sources in which a person may correct a policy."""

    greedy: bool = greedy()
    seed: int = seed("Policy: decides its games. Recording again continues with the next ones.")
    release: float = setting(
        1.0, "Policy: seconds without a key after which it has control again.", at_least=0, at_most=3600
    )
    back: float = setting(3.0, "Policy: seconds that you go back at a time.", above=0, at_most=3600)


@dataclass(frozen=True, kw_only=True)
class LocalPageSettings(SharedControlSettings):
    """Shared by the sources in which a person plays on a page."""

    policy: str | None = setting(
        None,
        "Policy that runs and that you correct: its file (.safetensors), or champion, which comes with the package. "
        "null: you play alone.",
        path=True,
    )
    open: bool = setting(True, "Open the browser.")


@dataclass(frozen=True)
class PersonSettings(Settings):
    """Shared by the sources in which a person plays QWOP."""

    player: str = setting("me", "Your name in the dataset.")
    frames_per_step: int = setting(
        3, "Game frames (30 a second) per decision of the dataset; 3 is about the recordings' rate.",
        at_least=1, at_most=3600,
    )  # fmt: skip
    reward: str = setting("shaped", "Reward that is recorded; shaped is the published recordings'.", choices=REWARDS)
    observation_lag: int = setting(
        0, "Frames by which the dataset's observations lag the game; published recordings have 1.", choices=(0, 1)
    )
    epsilon: float = smoothing(", which are unknown for a person")


@dataclass(frozen=True, kw_only=True)
class RecorderPageSettings(LocalPageSettings, PersonSettings):
    """You play, on a page in your browser."""

    ghost: str = setting(
        "embedded",
        "Runner to race against at first: embedded (a pacer, and once you have run 50 m the champion), best (your own "
        "best), none, or a dataset's folder (its best game).",
        path=True,
    )
    max_idle_frames: int = max_idle_frames(30, "Policy")
    port: int = setting(
        0,
        "Port of the page, which only this machine can reach. The browser keeps, for each port, "
        "what a killed recorder has not received. 0: 8767, or any free one.",
        at_least=0, at_most=65_535,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EnvironmentPageSettings(LocalPageSettings):
    """You play any Gymnasium environment with discrete actions, on a page in your browser."""

    id: str = setting(
        help="Id of the environment in Gymnasium's registry; a module that registers it when it is imported may stand "
        "in front, with a colon between.",
        example="LunarLander-v3",
    )
    settings: Mapping[str, Any] = environment_settings(
        "Settings of the environment, such as source.settings.gravity=-5.", "source.id"
    )
    player: str = setting("me", "Your name in the dataset.")
    fps: float | None = setting(
        None, "Decisions a second. null: as fast as the environment is meant to be shown, 30 at most.",
        above=0, at_most=120,
    )  # fmt: skip
    actions: Mapping[str, Any] = setting(
        {},
        "Actions by their keys: a character, a name such as ArrowLeft or Space, or several joined by +; each is what "
        "the environment takes (2, or [0,1]) or its name. Empty: the environment's own keys.",
    )
    default_action: int | None = setting(
        None,
        "Action while no key is down. null: the one that the environment names; without one, the game waits for a key.",
    )
    epsilon: float = smoothing(", which are unknown for a person")
    port: int = setting(
        0, "Port of the page, which only this machine can reach. 0: any free one.", at_least=0, at_most=65_535
    )

    @property
    def max_idle_frames(self) -> int:
        """Only QWOP's games begin with idle frames."""
        return 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "id", without_module(self.id, f"id={self.id}"))


@dataclass(frozen=True)
class KeyboardSettings(PersonSettings):
    """You play in a window; pynput listens to the keyboard."""

    episodes: int | None = setting(
        None, "Games to record. null: until you press Esc, close the window or press Ctrl-C.", at_least=1
    )


@dataclass(frozen=True)
class BrowserSettings(PersonSettings):
    """You play on the original game's page, in Chrome or Chromium, or a policy does."""

    url: str | None = setting(None, "Address of the original's page; or give folder.")
    folder: str | None = setting(None, "Local copy of the original's page: its folder, or its .html file.", path=True)
    player: str = setting("me", "Name of who plays, in the dataset.")
    episodes: int | None = setting(
        None, "Games to record. null: yours until you close the window, a policy's 100.", at_least=1
    )
    policy: str | None = setting(
        None,
        "Policy that plays: its file (.safetensors), or champion, which comes with the package. null: you play.",
        path=True,
    )
    greedy: bool = greedy()
    seed: int = seed("Policy: decides its games. Recording again continues with the next ones.")
    max_idle_frames: int = max_idle_frames(0, "Policy")
    live: bool = setting(False, "Policy: play at the page's own pace; else as fast as the browser can.")
    fresh_page: bool = setting(False, "Policy: load the page anew for every game.")
    headless: bool | None = setting(None, "Run the browser without a window. null: where a policy plays.")
    browser: str | None = setting(None, "Program of the browser. null: look for Chrome and Chromium.", path=True)
    timeout: float = setting(60.0, "Seconds that the page, once open, may take to load its game.", above=0)


@dataclass(frozen=True)
class PolicySettings(Settings):
    """A policy plays; its exact probabilities are recorded."""

    policy: str = setting(
        help="Policy that plays: its file (.safetensors), or champion, which comes with the package.",
        example="runs/pretrain/policy.safetensors",
        path=True,
    )
    player: str = setting("policy", "Name of the policy in the dataset.")
    episodes: int = setting(100, "Games to record.", at_least=1)
    greedy: bool = setting(False, "Always take the most probable action; else draw it.")
    seed: int = seed("Decides the games. Recording again continues with the next ones.")
    num_envs: int = num_envs(64, "Games played side by side.")
    max_idle_frames: int = max_idle_frames(0)
    environment: Mapping[str, Any] = environment_settings(
        "Environment settings that differ from the policy's own, such as source.environment.reward=speed.", "the policy"
    )


@dataclass(frozen=True, kw_only=True)
class ScriptedSettings(SharedControlSettings):
    """A policy runs and a scripted person corrects it: another policy, late and with slips. For repeatable figures."""

    policy: str = setting(
        help="Policy that runs: its file (.safetensors), or champion, which comes with the package.",
        example="runs/pretrain/policy.safetensors",
        path=True,
    )
    person: str = setting("champion", "Policy whose keys the person presses.", path=True)
    player: str = setting("scripted", "Name of the person in the dataset.")
    minutes: float = setting(5.0, "Minutes of play; the last game is played to its end.", above=0, at_most=10_000)
    whole: bool = setting(False, "The person plays whole games, and the policy none.")
    late: int = setting(2, "Frames by which the person is late.", at_least=0, at_most=30)
    slips: float = setting(0.05, "Share of the frames in which a slip keeps the keys.", at_least=0, at_most=1)
    attempts: int = setting(
        2, "Times that the person goes back from a fall and tries again, in one game.", at_least=0, at_most=100
    )
    seed: int = seed("Decides the games. Recording again continues with the next ones.")
    max_idle_frames: int = max_idle_frames(30)
    fps: float | None = setting(
        None, "Decisions a second, for other environments than QWOP. null: as they are shown.", above=0, at_most=1000
    )
    epsilon: float = smoothing(", which are unknown for a person")


@dataclass(frozen=True)
class ImportSettings(Settings):
    """Published recordings: expert files of stable-baselines (.npz)."""

    files: tuple[str, ...] = setting(
        help="Paths or patterns of the recordings, in brackets.",
        expected="paths or patterns in brackets",
        example="'[demos/kuro_try*.npz]'",
        path=True,
    )
    player: str = setting("unknown", "Name of who played, in the dataset.")
    epsilon: float = smoothing(", which the recordings lack")
    frames_per_step: int | None = setting(
        None, "Game frames (30 a second) per decision. null: measured.", at_least=1, at_most=3600
    )


@dataclass(frozen=True)
class KeysSettings(PersonSettings):
    """Files of keys, such as those that the page of qwop-play saves."""

    files: tuple[str, ...] = setting(
        (),
        "Paths or patterns of the files, in brackets.",
        path=True,
        expected="paths or patterns in brackets",
    )
    player: str | None = setting(None, "Name of who played. null: as each file says, or me.")  # type: ignore[assignment]


SourceSettings = (
    RecorderPageSettings
    | EnvironmentPageSettings
    | BrowserSettings
    | KeyboardSettings
    | PolicySettings
    | ScriptedSettings
    | ImportSettings
    | KeysSettings
)

SOURCES = {
    "page": RecorderPageSettings,
    "environment": EnvironmentPageSettings,
    "browser": BrowserSettings,
    "keyboard": KeyboardSettings,
    "policy": PolicySettings,
    "scripted": ScriptedSettings,
    "import": ImportSettings,
    "keys": KeysSettings,
}


@dataclass(frozen=True)
class RecordSettings(Settings):
    """The settings of `qwop-record`."""

    dataset: str | None = setting(
        None,
        "Folder of the dataset. An existing one is continued, unless its settings differ. null: data/<player>, of "
        "another environment than QWOP data/<player>-<id>.",
        written=True,
    )
    source: SourceSettings = choice_of(SOURCES, "page", "Player of the games.", tag="kind")

    @property
    def folder(self) -> str:
        """The dataset's folder, with the default in place."""
        if self.dataset:
            return self.dataset
        if isinstance(self.source, EnvironmentPageSettings):
            return f"data/{file_name(f'{self.source.player}-{self.source.id}')}"
        return f"data/{file_name(self.source.player or PersonSettings.player)}"
