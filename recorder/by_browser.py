"""`source=browser`: games in the page of the original, played there by a person or by a policy."""

import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from ..common.errors import BadInput
from ..datasets.schema import DatasetInfo, Episode
from ..datasets.writer import DESCRIPTION, read_info, require_same
from ..envs.original.page import OriginalPage, PageGone, PageSettings, PersonsGame
from ..envs.qwop.replay import Replay, replay
from ..envs.spec import EnvironmentSpec
from .person import episode_of, person_info
from .settings import BrowserSettings, PolicySettings
from .source import Source

_LOOK_EVERY = 0.2
"""Seconds between looks at whether a person's game has ended."""


def open_browser_source(settings: BrowserSettings, folder: Path) -> Source:
    """Games in the original's page, as episodes of `QWOP-v1`, whose game it is.

    BadInput where there is no browser, no page or no game on it, and for settings that cannot be.
    """
    headless = settings.policy is not None if settings.headless is None else settings.headless
    page = PageSettings(
        **{
            field.name: getattr(settings, field.name)
            for field in fields(PageSettings)
            if field.name not in ("headless", "live")
        },
        headless=headless,
        live=settings.live and settings.policy is not None,
    )
    page.require_possible("source.")
    return _by_policy(settings, page, folder) if settings.policy else _by_person(settings, page, folder)


def _by_policy(settings: BrowserSettings, page: PageSettings, folder: Path) -> Source:
    # A person's recording starts sooner without them.
    import torch

    from .by_policy import open_policy

    torch.set_num_threads(1)  # for a network this small, threads wait for each other longer than they compute
    asked = PolicySettings(
        policy=settings.policy or "",
        player=settings.player,
        episodes=settings.episodes or PolicySettings.episodes,
        greedy=settings.greedy,
        seed=settings.seed,
        num_envs=1,
        max_idle_frames=settings.max_idle_frames,
    )

    def world(own: EnvironmentSpec) -> EnvironmentSpec:
        original = own.capabilities.original
        if original is None:
            raise BadInput(
                f"source.policy={settings.policy}: plays {own.id}; only a policy of QWOP-v1 plays the original"
            )
        return EnvironmentSpec(original, {**own.settings, **page.given()})

    source = open_policy(asked, folder, world)
    OriginalPage(page).close()  # is refused now rather than when the first game is asked for
    return source


def _by_person(settings: BrowserSettings, page: PageSettings, folder: Path) -> Source:
    info = person_info(settings.frames_per_step, settings.reward, settings.observation_lag)
    info.environment.make()  # is refused now rather than when the first game has ended
    if (folder / DESCRIPTION).exists():
        require_same(read_info(folder), info, folder)
    opened = OriginalPage(page)
    return Source(
        info=info,
        episodes=_persons_games(opened, settings, info),
        total=settings.episodes,
        notes=[
            f"play in the window that has opened ({opened.address}): click to begin, R or space to begin again",
            "close it, or Ctrl-C here, when you are done; every game is kept as it ends",
        ],
    )


def _persons_games(page: OriginalPage, settings: BrowserSettings, info: DatasetInfo) -> Iterator[Episode]:
    place = settings.url or Path(settings.folder or "").name
    recorded = 0
    with page:
        page.let_a_person_play()
        while settings.episodes is None or recorded < settings.episodes:
            try:
                games = page.take()
            except PageGone:  # the person has closed it
                return
            for game in games:
                yield _episode(game, settings, info, f"original page {place}")
                recorded += 1
            time.sleep(_LOOK_EVERY)


def _episode(game: PersonsGame, settings: BrowserSettings, info: DatasetInfo, source: str) -> Episode:
    """What the page showed. Its source says so where the simulator makes another game of these keys."""
    as_played = Replay(game.frames.states, game.frames.events, game.frames.hidden)
    if not np.array_equal(replay(game.keys).states, as_played.states):
        source += ", whose game is not the simulator's"
    return episode_of(game.keys, info, player=settings.player, source=source, epsilon=settings.epsilon, game=as_played)
