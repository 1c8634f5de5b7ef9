"""A person's games on the page of the original."""

import time
from collections.abc import Iterator

import numpy as np

from ...datasets.from_keys import episode_from_keys
from ...datasets.origin import Origin
from ...datasets.schema import DatasetInfo, Episode
from ...envs.original.page import OriginalPage, PageGone, PersonsGame
from ...envs.qwop.replay import Replay, replay

_POLL_INTERVAL = 0.2
"""Seconds between checks for finished games."""


def persons_games(
    page: OriginalPage, info: DatasetInfo, *, player: str, source: str, epsilon: float, episodes: int | None
) -> Iterator[Episode]:
    """Let a person play; yield each game as it ends, until there are `episodes` of them or the page is closed."""
    recorded = 0
    with page:
        page.let_a_person_play()
        while episodes is None or recorded < episodes:
            try:
                games = page.take()
            except PageGone:  # the person closed the window
                return
            for game in games:
                yield _episode(game, info, player, source, epsilon)
                recorded += 1
            time.sleep(_POLL_INTERVAL)


def _episode(game: PersonsGame, info: DatasetInfo, player: str, source: str, epsilon: float) -> Episode:
    """Make the episode of the page's frames; its origin records whether the simulator plays these keys differently."""
    as_played = Replay(game.frames.states, game.frames.events, game.frames.hidden)
    differs = not np.array_equal(replay(game.keys).states, as_played.states)
    return episode_from_keys(
        game.keys, info, player=player, source=source, epsilon=epsilon, game=as_played,
        origin=Origin(differs=True if differs else None),
    )  # fmt: skip
