"""Games in Node, Chromium and Firefox, against the simulator."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qwop.envs import replay
from qwop.envs.pictures.video import seconds_from_first_key
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.observations import observe_as, observe_start
from qwop.envs.qwop.session import GameStart, Opening, PlayedGame
from qwop.play.site import SCRIPTS
from qwop.policies.champion import keys_path, policy_path
from qwop.policies.files import load_policy
from qwop.policies.rollout import play

from .runners import NODE, PROGRAMS, RUNNERS, call, program_of

KNOWN = "ccb00f663da02787e4bf1a96c8e11254906a5be7968d61bafcc38100d70299b7"


def require(runner: str) -> None:
    if program_of(runner) is None:
        pytest.skip(f"{runner} is not installed: {' or '.join(PROGRAMS[runner])}")


def random_keys(seed: int, frames: int, longest: int = 12) -> NDArray[np.uint8]:
    generator = np.random.default_rng(seed)
    keys = np.repeat(generator.integers(0, 16, frames), generator.integers(1, longest, frames))
    return keys[:frames].astype(np.uint8)


@pytest.fixture(scope="module")
def champion() -> NDArray[np.uint8]:
    return read_keys(keys_path("champion"))


Session = list[tuple[NDArray[np.uint8], Opening]]


def some_sessions(champion: NDArray[np.uint8]) -> list[Session]:
    """Random games; a run to the end, after the first and the second reset; one that falls beyond the hurdle; eight on
    one page, of which some carry the hurdle's place and the tree on to the next."""
    beyond = np.concatenate([champion[:640], random_keys(1, 200)])
    return [
        [(random_keys(2, 300), Opening())],
        [(champion, Opening())],
        [(champion, Opening(resets=2))],
        [(beyond, Opening())],
        [(random_keys(seed, 60 + 20 * seed), Opening(1 + seed % 2, held=seed)) for seed in range(3, 8)]
        + [(beyond, Opening()), (champion[:400], Opening()), (champion, Opening())],
    ]


def thousand_games(champion: NDArray[np.uint8]) -> list[Session]:
    """Sessions of one game or eight: random keys, held or quick; runs after idle frames unseen in training; and runs
    that are disturbed on their way or beyond the hurdle, which stands at half of it."""
    draw = np.random.default_rng(0)
    sessions: list[Session] = []
    while sum(map(len, sessions)) < 1000:
        session: Session = []
        for _ in range(8 if draw.random() < 0.1 else 1):
            kind, seed = draw.integers(4), int(draw.integers(2**31))
            keys = random_keys(seed, int(draw.integers(30, 900)), int(draw.choice([4, 9, 25])))
            if kind == 1:
                keys = np.concatenate([np.zeros(draw.integers(3), np.uint8), champion])
            elif kind > 1:
                at = int(draw.integers(30, 540) if kind == 2 else draw.integers(560, 1080))
                keys = np.concatenate([champion[:at], keys[:4], champion[at + 4 :], keys[4:200]])
            session.append((keys, Opening(resets=int(draw.integers(1, 3)))))
        sessions.append(session)
    return sessions


def assert_same_everywhere(runner: str, sessions: list[Session]) -> list[list[Any]]:
    """The games as the runner plays them, a hundred sessions in a call."""
    require(runner)
    words = [
        [{"keys": keys.tolist(), "resets": opening.resets, "held": opening.held} for keys, opening in session]
        for session in sessions
    ]
    played: list[list[Any]] = []
    for first in range(0, len(words), 100):
        played += call(runner, "exactness.js", "playSessions", [words[first : first + 100]])
    for session, games in zip(sessions, played, strict=True):
        before: tuple[PlayedGame, ...] = ()
        for (keys, opening), game in zip(session, games, strict=True):
            wanted = GameStart(before, opening).session().play(keys)
            assert game["frames"] == len(wanted.states) - 1
            assert game["sha256"] == wanted.sha256
            assert game["metres"] == wanted.events[-1, 0]
            assert game["seconds"] == seconds_from_first_key(keys)[game["frames"]]
            before = (*before, PlayedGame(keys, opening))
    return played


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_state_of_every_game_is_the_same_to_the_bit(runner: str, champion: NDArray[np.uint8]) -> None:
    played = assert_same_everywhere(runner, some_sessions(champion))
    outcomes = [games[-1]["outcome"] for games in played]
    assert outcomes[1] == "finished"
    assert outcomes[3] == "fell"
    assert played[3][0]["metres"] > 55  # beyond the hurdle


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_thousand_games_and_the_champions_301_are_the_same(runner: str, champion: NDArray[np.uint8]) -> None:
    assert_same_everywhere(runner, thousand_games(champion))
    file = base64.b64encode(policy_path("champion").read_bytes()).decode()
    scripts = [*SCRIPTS.iterdir(), Path(__file__).parents[2] / "play" / "decisions.js"]
    files = {script.name: script for script in scripts}
    games = play(load_policy("champion"), episodes=301, seed=0, greedy=True, num_envs=64, idle_frames=range(301))
    keys = call(runner, "decisions.js", "gamesOf", [file, list(range(301)), 3000], files, 3600)
    assert keys == [np.concatenate(game.keys or ()).tolist() for game in games]


def test_the_digest_is_of_the_bytes_of_all_states() -> None:
    """A known one, so that neither side can change alone."""
    game = replay([1] * 10)
    assert game.states.dtype == "<f8"
    assert game.sha256 == KNOWN


@pytest.mark.parametrize("kind", ["features", "full", "contact"])
def test_observations_are_those_of_the_simulator(kind: str, champion: NDArray[np.uint8]) -> None:
    require(NODE)
    keys = champion[:700]  # up to the hurdle and over it
    seen = call(NODE, "exactness.js", "observationsOf", [keys.tolist(), kind])
    game = replay(keys)
    assert game.hidden is not None
    wanted = observe_as(kind, game.states, game.events, game.hidden)
    np.testing.assert_array_equal(np.array(seen["frames"], np.float32), wanted)
    np.testing.assert_array_equal(np.array(seen["start"], np.float32), observe_start(kind))
