"""`qwop-search`: search for better games than a policy's own, which become episodes of a dataset."""

import math
import os
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from ..common.errors import BadInput
from ..common.folder_lock import exclusive_lock
from ..common.progress import plain_console, progress_bar
from ..common.run_folder import next_command, require_no_other_run, unused, write_configuration
from ..datasets.folder import next_number
from ..datasets.from_keys import episode_from_keys, qwop_info
from ..datasets.origin import Origin
from ..datasets.reader import open_dataset
from ..datasets.schema import DatasetInfo, Episode
from ..datasets.writer import DatasetWriter
from ..envs.names import ACTION_KEYS
from ..envs.pictures.video import seconds_from_first_key
from ..envs.qwop.keys_file import write_keys
from ..envs.qwop.task import FRAMES_A_SECOND, QWOPTask
from ..envs.spec import EnvironmentSpec
from ..evaluation.film import film_keys
from ..policies.champion import policy_path
from ..policies.devices import use_one_thread
from ..policies.files import load_policy, policy_digest
from ..policies.policy import Policy
from ..policies.rollout import Game
from .beam import Search
from .settings import SearchCommandSettings

GAMES = "games"
"""The dataset of a search, in its folder."""

KEYS, FILM = WRITES = ("best_keys.txt", "best.mp4")
"""The best game's keys and its film."""


def run(settings: SearchCommandSettings) -> None:
    """Search for the games missing in `out`; write them there, with the best one's keys and film."""
    out = Path(settings.out)
    with exclusive_lock(out, "out", within=(GAMES,)):
        require_no_other_run(out, SearchCommandSettings, WRITES)
        _search(settings, out)


def _search(settings: SearchCommandSettings, out: Path) -> None:
    use_one_thread()
    policy = load_policy(settings.policy)
    policy = replace(policy, environment=policy.environment.without("delay"))  # no decision of a search is late
    console = plain_console()
    source, origin = _source(settings)
    games = out / GAMES
    before = open_dataset(games) if games.exists() and next_number(games) else ()
    episodes = {(one.source, one.origin): one for one in before}
    starts = []
    for idle in dict.fromkeys(settings.first + number * settings.every for number in range(settings.games)):
        this = replace(origin, game=idle)
        if (source, this) in episodes:
            console.print(f"after {idle} idle frames: found before, {described(episodes[source, this])}")
        else:
            starts.append(idle)
    searches = _searches(policy, settings, len(starts))
    if starts and not searches[0].begins(latest := max(starts)):
        raise BadInput(
            f"first={settings.first}: after {latest:,} frames without a key the game is over; lower games, first or "
            "every"
        )
    writer = DatasetWriter(games, DatasetInfo(policy.environment, policy.observation, policy.actions))
    write_configuration(settings, out)
    with progress_bar("metres", console) as bar, closing(_results(searches, starts, bar)) as results:
        for idle, actions in results:
            this = replace(origin, game=idle)
            episode = searched_episode(policy.environment, actions, idle, source, this)
            writer.write(episode)
            episodes[source, this] = episode
            bar.console.print(f"after {idle} idle frames: {described(episode)}")
    _write_best(min(episodes.values(), key=rank), settings, console)


class _Stopped(Exception):
    """The command ends before this search has."""


def _searches(policy: Policy, settings: SearchCommandSettings, games: int) -> list[Search]:
    """A search on one thread for each of the games that are searched at the same time; for a single game on all."""
    threads = settings.threads or os.cpu_count() or 1
    side_by_side = max(1, min(threads, games))
    return [Search(policy, settings.search, threads // side_by_side) for _ in range(side_by_side)]


def _results(
    searches: Sequence[Search], starts: Sequence[int], bar: Progress
) -> Generator[tuple[int, NDArray[np.int64]], None, None]:
    """Search a game from each of these numbers of idle frames, as many at the same time as there are searches; yields
    them with their actions, in order."""
    free: SimpleQueue[Search] = SimpleQueue()
    for search in searches:
        free.put(search)
    stopped = threading.Event()

    def run_one(idle: int) -> NDArray[np.int64]:
        if stopped.is_set():
            raise _Stopped
        task = bar.add_task(f"after {idle} idle frames", total=100)

        def show(metres: float, seconds: float) -> None:
            if stopped.is_set():
                raise _Stopped
            bar.update(task, completed=round(metres), description=f"after {idle} idle frames, {seconds:.1f} s")

        search = free.get()
        try:
            return search.run(idle, show)
        except BaseException:
            stopped.set()
            raise
        finally:
            free.put(search)
            bar.remove_task(task)

    with ExitStack() as ends:
        for search in searches:
            ends.callback(search.close)
        pool = ends.enter_context(ThreadPoolExecutor(len(searches), "game"))
        ends.callback(stopped.set)
        yield from zip(starts, pool.map(run_one, starts), strict=True)


def _source(settings: SearchCommandSettings) -> tuple[str, Origin]:
    """Name that identifies the games found with this policy and these settings, apart from their start."""
    path = policy_path(settings.policy)
    numbers = ", ".join(f"{name} {value:g}" for name, value in dict(settings.search).items())
    return f"search from {path.name}, {numbers}", Origin(sha256=policy_digest(path))


def _write_best(best: Episode, settings: SearchCommandSettings, console: Console) -> None:
    out, keys = Path(settings.out), frames_of(best)
    path = write_keys(out / KEYS, keys, f"QWOP: {described(best)}; {best.source}")
    console.print(
        f"best: {described(best)}\nits keys: {path} (qwop-evaluate keys=… plays it again)\ngames: {out / GAMES}"
    )
    if settings.video:
        with progress_bar("pictures", console) as bar:
            task = bar.add_task("film of the best game", total=None)
            film_keys(out / FILM, keys, lambda count, of: bar.update(task, completed=count, total=of))
        console.print(f"film: {out / FILM}")
    else:
        (out / FILM).unlink(missing_ok=True)  # it may be of an earlier best game
    if best.outcome == "finished":
        into = unused(Path("runs/distil"))
        console.print(next_command("qwop-distil", policy=settings.policy, games=[str(out / GAMES)], out=into))
    else:  # distilling takes finished games
        console.print(next_command("qwop-watch", keys=path))


EPSILON = 0.05
"""ε of the smoothed behaviour probabilities, as a search does not draw its actions."""


def searched_episode(
    environment: EnvironmentSpec, actions: NDArray[np.int64], idle_frames: int, source: str, origin: Origin
) -> Episode:
    """Play actions, int64 [decisions], after the idle frames in the environment, without delays.

    A game that has not ended is truncated there; actions after its end, or after the time limit, are left out.
    """
    info, task = qwop_info(**environment.settings), QWOPTask(**environment.settings)
    frames = task.frames_per_step
    most = round(task.time_limit * FRAMES_A_SECOND) - 1 - idle_frames  # at a game's start, the clock is at one frame
    actions = actions[: max(math.ceil(most / frames), 1)]
    keys = np.concatenate([np.zeros(idle_frames, dtype=np.uint8), np.repeat(ACTION_KEYS[actions], frames)])
    bounds = idle_frames + frames * np.arange(len(actions) + 1)
    return episode_from_keys(keys, info, player="search", source=source, epsilon=EPSILON, origin=origin, bounds=bounds)


def frames_of(episode: Episode | Game) -> NDArray[np.uint8]:
    """Return the keys of every frame of a game, uint8 [frames]."""
    return np.concatenate(episode.keys or (np.zeros(0, dtype=np.uint8),))


def seconds_of(episode: Episode | Game) -> float:
    """Seconds from the first key to the end."""
    return float(seconds_from_first_key(frames_of(episode))[-1])


def rank(episode: Episode) -> tuple[bool, float]:
    """A sort key, smaller for better games: the faster finish, else the farther run."""
    finished = episode.outcome == "finished"
    return not finished, seconds_of(episode) if finished else -(episode.metres or 0.0)


def described(episode: Episode) -> str:
    """Describe the game in a few words."""
    return f"{episode.outcome} at {episode.metres:.1f} m after {seconds_of(episode):.2f} s"
