"""`source=browser`: games on the page of the original, played by a person or by a policy."""

from dataclasses import fields
from pathlib import Path

from ...common.errors import BadInput
from ...envs.original.page import OriginalPage, PageSettings
from ...envs.spec import EnvironmentSpec
from ..person import info_for
from ..settings import BrowserSettings, PolicySettings
from ..source import Source
from .person import persons_games


def open_browser_source(settings: BrowserSettings, folder: Path) -> Source:
    """Open the page; its games are recorded as episodes of `QWOP-v1`, which is the same game.

    Raises BadInput without a browser, a page or a game on it, and for invalid settings.
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
    # Imported only here, because a person's recording starts sooner without them.
    from ...policies.threads import use_one_thread
    from ..policy_source import open_policy

    use_one_thread()
    asked = PolicySettings(
        policy=settings.policy or "",
        player=settings.player,
        episodes=settings.episodes or PolicySettings.episodes,
        greedy=settings.greedy,
        seed=settings.seed,
        num_envs=1,
        max_idle_frames=settings.max_idle_frames,
    )

    def on_original_page(own: EnvironmentSpec) -> EnvironmentSpec:
        original = own.capabilities.original
        if original is None:
            raise BadInput(
                f"source.policy={settings.policy}: plays {own.id}, which has no original page; expected a policy of "
                "QWOP-v1"
            )
        return EnvironmentSpec(original, {**own.settings, **page.given()})

    source = open_policy(asked, folder, played_in=on_original_page)
    OriginalPage(page).close()  # fails now, rather than when the first game is requested
    return source


def _by_person(settings: BrowserSettings, page: PageSettings, folder: Path) -> Source:
    info = info_for(settings, folder)
    opened = OriginalPage(page)
    place = settings.url or Path(settings.folder or "").name
    return Source(
        info=info,
        episodes=persons_games(
            opened,
            info,
            player=settings.player,
            source=f"original page {place}",
            epsilon=settings.epsilon,
            episodes=settings.episodes,
        ),
        total=settings.episodes,
        notes=[
            f"play in the window that has opened ({opened.address}): click to start, R or space to restart",
            "close it, or press Ctrl-C here, when you are done; every game is saved as it ends",
        ],
    )
