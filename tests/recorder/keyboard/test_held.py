"""Presses and releases as a keyboard tells them, and what a frame makes of them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from qwop.recorder.keyboard.held import GAME_KEYS, HeldKeys

EVENTS = st.lists(st.tuples(st.sampled_from(["press", "release", "frame"]), st.sampled_from("qwopr")), max_size=60)


def test_chords_are_the_keys_that_are_down() -> None:
    held = HeldKeys()
    held.press("q")
    held.press("p")
    assert [held.frame(), held.frame()] == [9, 9]
    held.release("q")
    assert held.frame() == 8
    held.release("p")
    assert held.frame() == 0


def test_a_held_key_repeats_and_counts_once() -> None:
    held = HeldKeys()
    for _ in range(15):
        held.press("r")
    assert (held.presses, held.others()) == (1, ["r"])
    held.release("r")
    held.press("r")
    assert (held.presses, held.others(), held.others()) == (2, ["r"], [])


def test_a_tap_shorter_than_a_frame_is_down_for_one() -> None:
    held = HeldKeys()
    held.press("o")
    held.release("o")
    assert [held.frame(), held.frame()] == [4, 0]


def test_what_happened_elsewhere_is_forgotten() -> None:
    held = HeldKeys()
    for key in "qr":
        held.press(key)
    held.forget()
    assert (held.frame(), held.others()) == (0, [])
    held.release("q")
    assert held.frame() == 0


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
            expected: Any = sum(GAME_KEYS[name] for name in (down | since) if name in GAME_KEYS)
            assert held.frame() == expected
            since = set()
