"""The keys of each frame, from press and release events."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwop.envs.names import KEY_BITS
from qwop.recorder.keyboard.held_keys import HeldKeys

EVENTS = st.lists(st.tuples(st.sampled_from(["press", "release", "frame"]), st.sampled_from("qwopr")), max_size=60)


def test_chords_are_the_keys_that_are_down() -> None:
    held = HeldKeys()
    held.press("q")
    held.press("p")
    assert [held.next_frame(), held.next_frame()] == [9, 9]
    held.release("q")
    assert held.next_frame() == 8
    held.release("p")
    assert held.next_frame() == 0


def test_a_held_key_repeats_and_counts_once() -> None:
    held = HeldKeys()
    for _ in range(15):
        held.press("r")
    assert (held.presses, held.other_presses()) == (1, ["r"])
    held.release("r")
    held.press("r")
    assert (held.presses, held.other_presses(), held.other_presses()) == (2, ["r"], [])


def test_a_tap_shorter_than_a_frame_is_held_for_one() -> None:
    held = HeldKeys()
    held.press("o")
    held.release("o")
    assert [held.next_frame(), held.next_frame()] == [4, 0]


@pytest.mark.parametrize(
    ("press", "release"),
    [
        (("q", 24), ("@", 24)),  # AltGr, or another layout
        (("q", 24), ("\x11", 24)),  # Ctrl
        (("q", 24), ("q", None)),
        (("q", None), ("q", 24)),
    ],
)
def test_a_key_is_released_under_another_name(press: Any, release: Any) -> None:
    held = HeldKeys()
    held.press(*press)
    held.press("w", 25)
    held.press(*press)  # a repeat
    held.release(*release)
    assert (held.next_frame(), held.next_frame()) == (3, 2)


def test_two_keys_of_one_letter_are_two() -> None:
    held = HeldKeys()
    held.press("q", 24)
    held.press("q", 38)
    held.release("q", 38)
    assert (held.next_frame(), held.next_frame()) == (1, 1)


def test_keys_meant_for_another_window_are_forgotten() -> None:
    held = HeldKeys()
    for key in "qr":
        held.press(key)
    held.forget()
    assert (held.next_frame(), held.other_presses()) == (0, [])
    held.release("q")
    assert held.next_frame() == 0


@given(events=EVENTS)
def test_no_press_is_lost_and_none_is_made_up(events: list[tuple[str, str]]) -> None:
    held = HeldKeys()
    down: set[str] = set()
    since: set[str] = set()
    for event, key in events:
        if event == "press":
            held.press(key)
            since |= {key} - down
            down.add(key)
        elif event == "release":
            held.release(key)
            down.discard(key)
        else:
            expected: Any = sum(KEY_BITS[name] for name in (down | since) if name in KEY_BITS)
            assert held.next_frame() == expected
            since = set()
