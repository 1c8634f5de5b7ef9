"""`qwop-watch`: its settings and its help, for which nothing is played."""

from dataclasses import dataclass
from pathlib import Path

from ..common.command import Command, run_of
from ..common.errors import BadInput
from ..common.settings import Settings, setting
from ..common.shared_settings import LONGEST_IDLE, seed

PAGE, FILM = ".html", ".mp4"


@dataclass(frozen=True)
class WatchSettings(Settings):
    """The game to watch: of a dataset, of a file of keys, or of a policy."""

    dataset: str | None = setting(None, "Folder of a dataset.", path=True)
    episode: int | None = setting(
        None,
        "Number of the dataset's episode, as in its file's name. null: up to 50 of them in the page (5 of other "
        "environments than QWOP), the first as a film.",
        at_least=0,
    )
    keys: str | None = setting(None, "File of keys, such as best_keys.txt of an evaluation; or champion.", path=True)
    policy: str | None = setting(None, "Policy that plays a game: its file (.safetensors), or champion.", path=True)
    seed: int = seed("Policy: decides its game.")
    greedy: bool | None = setting(
        None, "Policy: take the most probable actions; else draw them. null: as the policy's file says."
    )
    idle_frames: int = setting(
        0, "Policy: frames without a key before it starts, in QWOP.", at_least=0, at_most=LONGEST_IDLE
    )
    out: str | None = setting(
        None, "File to write: a page (.html) that needs no other file, or a film (.mp4). null: show a page.", path=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("dataset", "keys", "policy") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(f"{name}={getattr(self, name)}" for name in given) or "dataset is not set"
            raise BadInput(f"{found}: expected one of dataset, keys and policy, such as dataset=data/me")
        if self.out is not None and Path(self.out).suffix not in (PAGE, FILM):
            raise BadInput(f"out={self.out}: expected the name of a page ({PAGE}) or of a film ({FILM})")


main = Command(
    "watch",
    WatchSettings,
    run_of("qwop.evaluation.watch"),
    about="Watch games in the browser, or write them as a page or a film: of a dataset, a file of keys or a policy.",
    examples=[
        ("qwop-watch dataset=data/me episode=3", ""),
        ("qwop-watch keys=champion", "the shipped policy's best game"),
        ("qwop-watch policy=runs/finetune/policy.safetensors idle_frames=12", ""),
        ("qwop-watch dataset=data/me out=games.html", "a page that needs no other file"),
        ("qwop-watch dataset=data/me episode=3 out=film.mp4", ""),
    ],
)
