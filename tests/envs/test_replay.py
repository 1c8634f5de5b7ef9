"""Recorded games of the original, played again.

`recorded_games.npz` holds the keys of a dozen games and the original's states at some of their frames, after both
resets. Where the C library's sine and cosine give other last bits than the original's, equality cannot be asked; the
games must then still agree to 1e-9 in the first 60 frames.
"""

import hashlib
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.conf.errors import BadInput
from qwop.envs import replay

GAMES = np.load(Path(__file__).with_name("recorded_games.npz"))
NAMES = sorted({name.split("/")[0] for name in GAMES.files if "/" in name})
TRACES = Path(__file__).parents[3] / "shared" / "game" / "traces"


def same_sine_and_cosine() -> bool:
    """Whether this C library agrees with the original's engine on 4,001 arguments."""
    digest = hashlib.sha256()
    for x in np.linspace(-20, 20, 4001).tolist():
        digest.update(np.array([math.sin(x), math.cos(x)]).tobytes())
    return digest.digest() == GAMES["sine_cosine"].tobytes()


@pytest.mark.parametrize("reset", ["a", "b"])
@pytest.mark.parametrize("name", NAMES)
def test_recorded_game_is_replayed_to_the_bit(name: str, reset: str) -> None:
    frames = GAMES[f"{name}/frames_{reset}"]
    states, events = GAMES[f"{name}/states_{reset}"], GAMES[f"{name}/events_{reset}"]
    game = replay(GAMES[f"{name}/keys"], reset=reset)
    if not same_sine_and_cosine():
        early = frames[frames <= 60]
        np.testing.assert_allclose(game.states[early, :, :3], states[: len(early), :, :3], rtol=0, atol=1e-9)
        pytest.skip("this C library's sine and cosine have other last bits; checked to 1e-9 for 60 frames instead")
    assert len(game.states) == frames[-1] + 1
    np.testing.assert_array_equal(game.states[frames], states)
    np.testing.assert_array_equal(game.events[frames, :5], events[:, :5])


@pytest.mark.skipif(not TRACES.is_dir(), reason=f"the whole recordings are not beside the project ({TRACES.name})")
@pytest.mark.skipif(not same_sine_and_cosine(), reason="this C library's sine and cosine have other last bits")
def test_all_measured_games_are_replayed_to_the_bit() -> None:
    for file in sorted(TRACES.glob("*.npz")):
        trace = np.load(file)
        for reset in "ab":
            game = replay(trace["keys"], reset=reset)
            np.testing.assert_array_equal(game.states, trace[f"states_{reset}"], err_msg=f"{file.stem}, reset {reset}")
            np.testing.assert_array_equal(game.events[:, :5], trace[f"events_{reset}"][:, :5])


@settings(deadline=None, max_examples=20)
@given(keys=st.lists(st.integers(0, 15), max_size=200), cut=st.integers(0, 200))
def test_a_prefix_of_the_keys_gives_a_prefix_of_the_game(keys: list[int], cut: int) -> None:
    whole, part = replay(keys), replay(keys[:cut])
    np.testing.assert_array_equal(whole.states[: len(part.states)], part.states)


def test_a_game_ends_with_the_fall_and_plays_no_further() -> None:
    game = replay(np.full(400, 4 | 8, dtype=np.uint8))
    assert len(game.states) < 401
    assert game.events[-1, 4] == 1
    assert not game.events[:-1, 4].any()


@pytest.mark.parametrize("keys", [[16], [-1], [[1, 2]]])
def test_keys_outside_the_four_are_refused(keys: list[int]) -> None:
    with pytest.raises(BadInput, match="keys"):
        replay(keys)


def test_unknown_reset_is_refused() -> None:
    with pytest.raises(BadInput, match="reset=c"):
        replay([0], reset="c")


def test_another_process_computes_the_same_bits() -> None:
    keys = GAMES[f"{NAMES[0]}/keys"][:300]
    program = (
        "import sys, hashlib, numpy as np; from qwop.envs import replay; "
        "print(hashlib.sha256(replay(np.frombuffer(sys.stdin.buffer.read(), np.uint8)).states.tobytes()).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", program], input=keys.tobytes(), capture_output=True, check=True)
    assert done.stdout.decode().strip() == hashlib.sha256(replay(keys).states.tobytes()).hexdigest()
