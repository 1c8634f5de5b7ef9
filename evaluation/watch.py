"""`qwop-watch`: show an episode of a dataset, a file of keys or a policy's game, in the browser or as a film."""

import tempfile
from collections.abc import Callable
from html import escape
from pathlib import Path

import numpy as np

from ..common.errors import BadInput
from ..common.files import require_writable_folder, write_atomic
from ..common.page import open_page, page
from ..common.progress import plain_console, progress_bar
from ..common.run_folder import clone_next, next_command, unused
from ..datasets.clips import clip_of, clip_title
from ..datasets.folder import episode_number
from ..datasets.from_keys import replay_episode
from ..datasets.reader import Dataset, open_dataset
from ..envs.pictures.player import Clip, player, rows_of_game
from ..envs.qwop.keys_file import read_keys
from ..policies.champion import keys_path
from ..policies.devices import use_one_thread
from ..policies.files import load_policy
from ..policies.policy import Policy
from ..policies.rollout import Game, play
from .commands import FILM, PAGE, WatchSettings
from .film import film, film_actions, film_keys, film_replay

COACHED = Path("runs/coach")
"""Default folder of the rounds of `qwop-coach`; those of another policy need one of their own."""

MOST = 50
"""Largest number of episodes in a page; each takes about 70 kB."""


def run(settings: WatchSettings) -> None:
    """Show the game, or write it as a page or a film."""
    console, has_player = plain_console(), _has_player(settings)
    if settings.out is not None:
        require_writable_folder(Path(settings.out).parent, "out")
    out = Path(settings.out or f"{tempfile.mkdtemp(prefix='qwop-watch-')}/game{PAGE if has_player else FILM}")
    if out.suffix == FILM:
        with progress_bar("pictures", console) as bar:
            task = bar.add_task("film", total=None)
            _write_film(out, settings, lambda count, of: bar.update(task, completed=count, total=of))
    elif not has_player:
        raise BadInput(f"out={out}: only games of QWOP can be drawn in a page; write a film, out=film{FILM}")
    else:
        write_atomic(out, _page_of(clips_of(settings), settings))
    console.print(f"{'film' if out.suffix == FILM else 'page'}: {out}")
    if settings.out is None:
        open_page(out.as_uri(), seconds=5)
    console.print(_next(settings))


def _next(settings: WatchSettings) -> str:
    """The line that names the next command: correct the policy, clone the player, or run beside the champion."""
    if settings.policy is not None:
        rounds = unused(COACHED)
        return next_command("qwop-coach", policy=settings.policy, **({} if rounds == COACHED else {"out": rounds}))
    return "next: qwop-play" if settings.dataset is None else clone_next(Path(settings.dataset))


def _has_player(settings: WatchSettings) -> bool:
    """True for games of QWOP, which the page draws; others become films."""
    if settings.keys is not None:
        return True
    environment = load_policy(settings.policy).environment if settings.policy else _dataset(settings).info.environment
    return environment.capabilities.keys


def _page_of(clips: list[Clip], settings: WatchSettings) -> str:
    title = clips[0].title if len(clips) == 1 else f"{settings.dataset}: {len(clips)} episodes"
    return page(title, f"<h1>{escape(title)}</h1>{player(clips)}")


def clips_of(settings: WatchSettings) -> list[Clip]:
    """The games to play in the page; BadInput for games that cannot be drawn there."""
    try:
        if settings.keys is not None:
            return [Clip(settings.keys, rows_of_game(read_keys(keys_path(settings.keys))))]
        if settings.policy is not None:
            game = _game(settings.policy, settings)[1]
            if game.keys is None:
                raise BadInput(f"a game of {settings.policy}'s environment cannot be drawn from its numbers")
            return [Clip(f"{settings.policy}: {game.outcome}", rows_of_game(np.concatenate(game.keys)))]
        dataset = _dataset(settings)
        return [
            clip_of(episode, dataset.info, clip_title(episode, episode_number(path)))
            for path, episode in zip(dataset.files[:MOST], dataset.select(range(min(MOST, len(dataset)))), strict=True)
        ]
    except BadInput as error:
        if "cannot be drawn" in str(error):
            raise BadInput(f"{error}; write a film, by playing it again: out=film.mp4") from None
        raise


def _write_film(out: Path, settings: WatchSettings, progress: Callable[[int, int], None]) -> None:
    why_not = None
    if settings.keys is not None:
        film_keys(out, read_keys(keys_path(settings.keys)), progress)
    elif settings.policy is not None:
        policy, game = _game(settings.policy, settings)
        why_not = film(out, game, policy.environment, progress)
    else:
        dataset = _dataset(settings)
        episode = dataset[0]
        if episode.keys is not None:
            film_replay(out, replay_episode(episode), np.concatenate(episode.keys), progress)
        elif episode.seed is not None:
            spec, seed = dataset.info.environment, episode.seed
            why_not = film_actions(out, spec, seed, episode.actions, episode.observations, progress)
        else:
            why_not = f"{dataset.files[0]} has neither keys nor a seed to play it again by"
    if why_not:
        raise BadInput(f"no film: {why_not}")


def _game(name: str, settings: WatchSettings) -> tuple[Policy, Game]:
    """A game of a policy; BadInput for idle frames in an environment without them."""
    use_one_thread()
    policy = load_policy(name)
    idle = policy.environment.capabilities.idle_start
    if settings.idle_frames and not idle:
        raise BadInput(f"idle_frames={settings.idle_frames}: {policy.environment.id} has no idle frames")
    (game,) = play(
        policy,
        episodes=1,
        seed=settings.seed,
        greedy=policy.greedy if settings.greedy is None else settings.greedy,
        num_envs=1,
        idle_frames=[settings.idle_frames] if idle else None,
    )
    return policy, game


def _dataset(settings: WatchSettings) -> Dataset:
    """The dataset's episodes to watch; BadInput if the number does not exist."""
    dataset = open_dataset(str(settings.dataset))
    if settings.episode is None:
        return dataset
    numbers = [episode_number(path) for path in dataset.files]
    if settings.episode not in numbers:
        raise BadInput(f"episode={settings.episode}: {dataset.folder} has no such episode")
    return dataset.select([numbers.index(settings.episode)])
