"""The settings of `qwop-coach`."""

from typing import Annotated

from pydantic import Field

from ..common.settings import HomePath, OutFolder, Settings
from ..common.shared_settings import Seed


class CoachSettings(Settings):
    """A round: record corrections, learn from them, measure the result."""

    policy: HomePath | None = None
    """Policy to begin with: its file (.safetensors), or champion. null: the one that an earlier round left in out, else
    a clone of the champion's games, which is made first."""
    player: str = "me"
    """Your name in the recording."""
    minutes: Annotated[float, Field(gt=0, le=1000)] = 10.0
    """Minutes of play in a round; Ctrl-C ends the play earlier."""
    clone: bool = False
    """Clone your decisions first, and learn from there: for a policy whose way of playing is wrong altogether, such as
    one that slides on its knees."""
    decisions: Annotated[int, Field(ge=1, le=10**12)] | None = None
    """Decisions of the learning, by the schedule corrections. null: those of the schedule; 200,000 in another
    environment than QWOP."""
    games: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Games with drawn actions that measure a policy."""
    out: OutFolder = "runs/coach"
    """Folder of the rounds; an existing one is continued."""
    seed: Seed = 0
    """Decides everything that no person does."""
    open: bool = True
    """Open the browser."""
