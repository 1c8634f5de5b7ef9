"""`qwop-search`: its settings and its help, for which nothing is searched."""

from dataclasses import dataclass

from ..common.command import Command, run_of
from ..common.errors import BadInput
from ..common.settings import Settings, nested, setting
from ..common.shared_settings import LONGEST_IDLE
from .settings import SearchSettings


@dataclass(frozen=True)
class SearchCommandSettings(Settings):
    """The settings of `qwop-search`."""

    policy: str = setting(
        "champion",
        "Policy to search with, one that algorithm=ppo trained: its file, or champion.",
        example="champion",
        path=True,
    )
    out: str = setting("runs/search", "Folder of the games found, and of the best one's keys and film.", written=True)
    games: int = setting(
        1, "Number of games to search for, each with a different start.", at_least=1, at_most=LONGEST_IDLE
    )
    first: int = setting(0, "Frames without a key at the start of the first game.", at_least=0, at_most=LONGEST_IDLE)
    every: int = setting(1, "Frames added to the start from one game to the next.", at_least=0, at_most=LONGEST_IDLE)
    opening: str | None = setting(
        None,
        "Keys file of a game, or champion, whose first opening_metres are kept: the search continues it from there. "
        "null: none.",
        path=True,
    )
    opening_metres: float = setting(50.0, "Metres of the opening.", at_least=0, at_most=100)
    search: SearchSettings = nested(SearchSettings, "The search.", inline=True)
    threads: int | None = setting(
        None,
        "Threads: as many games are searched at the same time, or one game by all; they affect only the time. null: "
        "all cores.",
        at_least=1,
        at_most=1024,
    )
    video: bool = setting(True, "Make a film of the best game.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.opening is not None and (self.games, self.first) != (1, 0):
            raise BadInput(
                f"opening={self.opening}: one game is continued, from its own start; leave out games={self.games} and "
                f"first={self.first}"
            )
        last = self.first + (self.games - 1) * self.every
        if last > LONGEST_IDLE:
            raise BadInput(
                f"games={self.games}: the last would begin after {last:,} frames without a key, expected at most "
                f"{LONGEST_IDLE:,}; lower games, first or every"
            )


main = Command(
    "search",
    SearchCommandSettings,
    run_of("qwop.search.main"),
    about="Search for better games than a policy's own, over saved states of the game.",
    examples=[
        ("qwop-search", "a game from the first frame on, with the champion"),
        ("qwop-search width=96 lookahead=12 out=runs/wide", "a wider search"),
        (
            "qwop-search opening=runs/wide/best_keys.txt opening_metres=50 out=runs/wide",
            "another way from the hurdle on; the faster game stays the best",
        ),
        ("qwop-search games=31 out=runs/found", "one for each of the published starts; repeat to continue"),
        ("qwop-finetune demonstrations=runs/found/games schedule=kurodo", "the games found are demonstrations"),
    ],
)
