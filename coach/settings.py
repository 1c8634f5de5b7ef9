"""The settings of `qwop-coach`."""

from dataclasses import dataclass

from ..common.settings import Settings, setting
from ..common.shared_settings import seed

WHO = ("page", "scripted")


@dataclass(frozen=True)
class CoachSettings(Settings):
    """A round: record corrections, learn from them, measure the result."""

    policy: str | None = setting(
        None,
        "Policy to begin with: its file (.safetensors), or champion. null: the one that an earlier round left in out, "
        "else a clone of the included games, which is made first.",
        path=True,
    )
    who: str = setting(
        "page",
        "Person who corrects: you, on a page of the policy's environment (page), or a scripted person (scripted).",
        choices=WHO,
    )
    person: str = setting("champion", "Policy whose keys the scripted person presses.", path=True)
    player: str = setting("me", "Your name in the recording.")
    minutes: float = setting(10.0, "Minutes of play in a round; Ctrl-C ends the play earlier.", above=0, at_most=1000)
    clone: bool = setting(
        False,
        "Clone your decisions first, and learn from there: for a policy whose way of playing is wrong altogether, such "
        "as one that slides on its knees.",
    )
    learning: str = setting("corrections", "Schedule of the learning, as qwop-finetune takes it.")
    decisions: int | None = setting(
        None,
        "Decisions of the learning. null: those of the schedule; 200,000 in another environment than QWOP.",
        at_least=1,
        at_most=10**12,
    )
    rounds: int = setting(1, "Rounds to make now.", at_least=1, at_most=1000)
    games: int = setting(100, "Games with drawn actions that measure a policy.", at_least=1, at_most=100_000)
    out: str = setting("runs/coach", "Folder of the rounds; an existing one is continued.", written=True)
    seed: int = seed("Decides everything that no person does.")
    open: bool = setting(True, "Open the browser.")
