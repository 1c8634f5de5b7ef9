"""Games as one word of text."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs import replay
from qwop.envs.qwop.keys_file import read_game, read_keys
from qwop.envs.qwop.packed_game import OUTCOMES, TEMPOS, PackedGame, check_bits, first_difference

from .packing import pack, text_of, write_packed

KEYS = np.repeat([0, 5, 10, 9], [3, 20, 15, 22]).astype(np.uint8)

ANY_GAME = st.builds(
    lambda runs, **claims: PackedGame(
        keys=np.repeat([keys for keys, _ in runs], [frames for _, frames in runs]).astype(np.uint8),
        bits=np.arange(sum(frames for _, frames in runs), dtype=np.uint8) % 16,
        **claims,
    ),
    st.lists(st.tuples(st.integers(0, 15), st.integers(1, 400)), min_size=1, max_size=9),
    outcome=st.sampled_from(OUTCOMES),
    metres=st.integers(-100, 1100).map(lambda tenths: tenths / 10),
    name=st.text("aZ é✓", min_size=1, max_size=12).filter(lambda name: name == name.strip()),
    day=st.integers(0, 40_000),
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


def test_check_bits_show_a_difference_from_its_frame_on() -> None:
    other = KEYS.copy()
    other[30] = 3
    bits, game = check_bits(replay(KEYS)), replay(other)
    differ = (replay(KEYS).states != game.states).any(axis=(1, 2))
    assert first_difference(bits, game) == int(np.argmax(differ))
    assert first_difference(bits, replay(KEYS)) is None


def test_keys_after_the_end_are_refused() -> None:
    game = pack(np.full(300, 4, np.uint8), "ada", 1)
    longer = replace(game, keys=np.append(game.keys, 4).astype(np.uint8), bits=np.append(game.bits, 0).astype(np.uint8))
    with pytest.raises(BadInput, match=f"ends at frame {len(game.keys)}, before its keys do"):
        longer.replay()


def test_a_file_that_was_changed_is_refused_wherever_keys_are_read(tmp_path: Path) -> None:
    game = pack(KEYS, "ada", 1)
    path = write_packed(tmp_path / "game.txt", KEYS, game)
    keys, packed = read_game(path)
    np.testing.assert_array_equal(keys, KEYS)
    assert packed is not None
    assert packed.name == "ada"
    path.write_text(path.read_text().replace("15 WP", "14 WP"))
    with pytest.raises(BadInput, match=r"its keys were changed: they differ from the recorded ones at frame 38"):
        read_keys(path)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_a_changed_file_is_refused_whatever_ends_its_lines(tmp_path: Path, ends: str) -> None:
    game = pack(KEYS, "ada", 1)
    text = write_packed(tmp_path / "game.txt", KEYS, game).read_text()
    for old, new, said in (
        ("3 -", "4 -", "its keys were changed: they differ from the recorded ones at frame 4"),
        ("# game: ", "# game: !", "the game is not one of this page"),
        (text_of(game), "", "the game is cut off"),
    ):
        path = tmp_path / "changed.txt"
        path.write_text(text.replace(old, new, 1).replace("\n", ends), newline="")
        with pytest.raises(BadInput, match=said):
            read_keys(path)
