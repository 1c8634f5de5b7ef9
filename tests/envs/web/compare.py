"""The engine and the champion in Node, Chromium and Firefox, beside the simulator.

    python -m tests.envs.web.compare

Plays 1,000 games (`games=N`) in sessions: random keys, held and quick; runs of the champion's to the end, disturbed on
their way or beyond the hurdle; the first and the second reset of a page, and sessions of eight games. Every state of
every game has to be the same to the bit. Then the champion's decisions from every start (`starts=N`).
`in=node,chromium` leaves runners out.
"""

import base64
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.session import GameStart, Opening, PlayedGame
from qwop.play.site import SCRIPTS
from qwop.policies.champion import keys_path, policy_path
from qwop.policies.files import load_policy
from qwop.policies.rollout import play
from qwop.policies.threads import use_one_thread

from .runners import RUNNERS, call, program_of

Session = list[tuple[NDArray[np.uint8], Opening]]

SESSIONS_AT_ONCE, GAMES_AT_ONCE = 100, 40
"""Sessions, and games of the champion, in one call."""

DECISIONS = Path(__file__).parents[2] / "play" / "decisions.js"
"""Whole games of a policy in Node."""

LONGEST_GAME = 3000
"""Frames: the champion's time limit."""


def random_keys(generator: np.random.Generator, frames: int) -> NDArray[np.uint8]:
    """Random keys, each held for 1 to 24 frames, or all changing within a few."""
    longest = int(generator.choice([3, 8, 24]))
    lengths = generator.integers(1, longest + 1, frames)
    return np.repeat(generator.integers(0, 16, frames), lengths)[:frames].astype(np.uint8)


def sessions(games: int, seed: int) -> Iterator[Session]:
    """Sessions with this many games in all."""
    generator = np.random.default_rng(seed)
    record = read_keys(keys_path("champion"))
    made = 0
    while made < games:
        count = 8 if generator.random() < 0.1 else 1
        session: Session = []
        for _ in range(min(count, games - made)):
            kind = generator.integers(4)
            if kind == 0:
                keys = random_keys(generator, int(generator.integers(30, 900)))
            elif kind == 1:  # a run to the end, after idle frames unseen in training: it may fall
                keys = np.concatenate([np.zeros(generator.integers(0, 3), np.uint8), record])
            else:  # disturbed: early, or beyond the hurdle, which stands at half of the way
                at = int(generator.integers(30, 540) if kind == 2 else generator.integers(560, 1080))
                keys = record.copy()
                keys[at : at + 4] = generator.integers(0, 16, 4)
                keys = np.concatenate([keys, random_keys(generator, 200)])
            session.append((keys, Opening(resets=int(generator.integers(1, 3)))))
        made += len(session)
        yield session


def digests(session: Session) -> list[str]:
    """The digest of each game's states in the simulator."""
    found: list[str] = []
    before: tuple[PlayedGame, ...] = ()
    for keys, opening in session:
        found.append(GameStart(before, opening).session().play(keys).sha256)
        before = (*before, PlayedGame(keys, opening))
    return found


def compare_games(runners: list[str], games: int) -> None:
    planned = list(sessions(games, seed=0))
    wanted = [digest for session in planned for digest in digests(session)]
    for runner in runners:
        found: list[list[dict[str, Any]]] = []
        for first in range(0, len(planned), SESSIONS_AT_ONCE):
            asked = [
                [{"keys": keys.tolist(), "resets": opening.resets} for keys, opening in session]
                for session in planned[first : first + SESSIONS_AT_ONCE]
            ]
            found += call(runner, "exactness.js", "playSessions", [asked])
        played = [game for session in found for game in session]
        same = [game["sha256"] == digest for game, digest in zip(played, wanted, strict=True)]
        outcomes = {name: sum(game["outcome"] == name for game in played) for name in ("finished", "fell", "running")}
        far = sum(game["metres"] > 50 for game in played)
        print(
            f"{runner}: {sum(same):,} of {len(same):,} games the same to the bit, {len(planned)} sessions, "
            f"{sum(game['frames'] for game in played):,} frames, {outcomes}, {far} beyond the hurdle",
            flush=True,
        )


def compare_decisions(runners: list[str], starts: int) -> None:
    use_one_thread()
    policy = load_policy("champion")
    games = list(play(policy, episodes=starts, seed=0, greedy=True, num_envs=64, idle_frames=range(starts)))
    file = base64.b64encode(policy_path("champion").read_bytes()).decode()
    files = {script.name: script for script in (*SCRIPTS.iterdir(), DECISIONS)}
    asked = [list(range(first, min(first + GAMES_AT_ONCE, starts))) for first in range(0, starts, GAMES_AT_ONCE)]
    for runner in runners:
        differing, decisions = [], 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            calls = [
                pool.submit(call, runner, "decisions.js", "gamesOf", [file, idle, LONGEST_GAME], files, 3600)
                for idle in asked
            ]
            played = [keys for one in calls for keys in one.result()]
        for idle, keys in enumerate(played):
            wanted = np.concatenate(games[idle].keys or ()).tolist()
            decisions += len(keys) - idle
            if keys != wanted:
                differing.append(idle)
        print(
            f"{runner}: the champion plays {starts - len(differing)} of {starts} games as PyTorch does, "
            f"{decisions:,} decisions",
            flush=True,
        )
        if differing:
            print(f"  other keys after {differing} idle frames")


def main() -> None:
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    runners = [name for name in given.get("in", ",".join(RUNNERS)).split(",") if program_of(name)]
    if count := int(given.get("games", 1000)):
        compare_games(runners, count)
    if starts := int(given.get("starts", 301)):
        compare_decisions(runners, starts)


if __name__ == "__main__":
    main()
