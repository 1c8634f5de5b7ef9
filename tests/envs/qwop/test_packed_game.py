"""Games as one word of text."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_game, read_keys
from qwop.envs.qwop.packed_game import OUTCOMES, TEMPOS, PackedGame

from .packing import pack, text_of, write_packed

KEYS = np.repeat([0, 5, 10, 9], [3, 20, 15, 22]).astype(np.uint8)

ANY_GAME = st.builds(
    lambda runs, **claims: PackedGame(
        keys=np.repeat([keys for keys, _ in runs], [frames for _, frames in runs]).astype(np.uint8), **claims
    ),
    st.lists(st.tuples(st.integers(0, 15), st.integers(1, 400)), min_size=1, max_size=9),
    outcome=st.sampled_from(OUTCOMES),
    metres=st.integers(-100, 1100).map(lambda tenths: tenths / 10),
    name=st.text("aZ é✓", min_size=1, max_size=12).filter(lambda name: name == name.strip()),
    day=st.integers(0, 40_000),
    sha256=st.just("0" * 64),
    tempo=st.sampled_from(TEMPOS),
)


@given(game=ANY_GAME)
@settings(max_examples=60, deadline=None)
def test_a_packed_game_comes_back_whole(game: PackedGame) -> None:
    found = PackedGame.from_text(text_of(game))
    for name, value in vars(game).items():
        np.testing.assert_array_equal(getattr(found, name), value)


def test_a_game_that_was_packed_plays_as_it_says() -> None:
    game = pack(np.append(KEYS, [4] * 200).astype(np.uint8), "ada", 1)
    assert (game.outcome, len(game.keys) < 260) == ("fell", True)
    assert PackedGame.from_text(text_of(game)).replay().sha256 == replay(game.keys).sha256


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"keys": np.append(KEYS, [4] * 300)}, r"ends at frame \d+, before its keys do"),
        ({"keys": KEYS[:-1]}, "its states have another SHA-256"),
        ({"sha256": "0" * 64}, "its states have another SHA-256"),
        ({"metres": 99.0}, "says 'stopped' at 99.0 m, but at frame 60 it is 'stopped' at"),
        ({"outcome": "finished"}, "says 'finished' at"),
    ],
)
def test_a_game_that_plays_otherwise_is_refused(claims: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        replace(pack(KEYS, "ada", 1), **claims).replay()  # type: ignore[arg-type]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_a_file_that_was_changed_is_refused_wherever_keys_are_read(tmp_path: Path, ends: str) -> None:
    game = pack(KEYS, "ada", 1)
    path = write_packed(tmp_path / "game.txt", KEYS, game)
    keys, packed = read_game(path)
    np.testing.assert_array_equal(keys, KEYS)
    assert packed is not None
    assert packed.name == "ada"
    text = path.read_text()
    for old, new, said in (
        ("15 WP", "14 WP", "its keys were changed"),
        ("3 -", "4 -", "its keys were changed"),
        ("# game: ", "# game: !", "the game is cut off, or not one of this page"),
        (text_of(game), "", "the game is cut off, or not one of this page"),
        (game.sha256, "0" * 64, "its states have another SHA-256"),
    ):
        path.write_text(text.replace(old, new, 1).replace("\n", ends), newline="")
        with pytest.raises(BadInput, match=re.escape(f"{path}: ") + f".*{said}"):
            read_keys(path)
