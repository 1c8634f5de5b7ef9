"""The keys of each frame, as the keyboard is heard, and the reasons given when that is impossible."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs.names import KEY_BITS
from qwop.recorder import keyboard_listener
from qwop.recorder.keyboard_listener import HeldKeys, advice, listening

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has displays")


def listen() -> None:
    with listening():
        pass


@LINUX
def test_a_missing_display_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        BadInput, match=r"there is no display \(DISPLAY is not set\); run this on a desktop, or play on"
    ):
        listen()


@LINUX
def test_wayland_without_x_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    with pytest.raises(BadInput, match="Wayland hides the keyboard from programs: log in to an Xorg"):
        listen()


@LINUX
@pytest.mark.needs(module="pynput")
def test_a_display_that_does_not_exist_is_named() -> None:
    """In a process of its own: pynput looks at the display when it is imported."""
    code = "from qwop.recorder.keyboard_listener import listening\nwith listening(): pass"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "DISPLAY": ":987"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "BadInput: cannot listen to the keyboard (" in done.stderr


def test_without_pynput_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setitem(sys.modules, "pynput", None)
    with pytest.raises(BadInput, match=r"pip install 'qwop\[keyboard\]'"):
        listen()


@pytest.mark.parametrize(
    ("platform", "environment", "said"),
    [
        ("darwin", {}, "Input Monitoring and Accessibility"),
        ("linux", {"XDG_SESSION_TYPE": "wayland", "DISPLAY": ":0"}, "log in to an Xorg"),
        ("linux", {"DISPLAY": ":0"}, "click the window and press a key again"),
        ("win32", {}, "click the window and press a key again"),
    ],
)
def test_the_advice_depends_on_the_operating_system(platform: str, environment: dict[str, str], said: str) -> None:
    assert said in advice(platform, environment)
    assert "source=page" in advice(platform, environment)


@pytest.mark.needs(module="pynput")
def test_real_presses_releases_and_chords_are_heard_without_repeats(display: str) -> None:
    code = """
import time
from qwop.recorder.keyboard_listener import listening
with listening() as held:
    print("ready", flush=True)
    before, end = 0, time.monotonic() + 20
    while time.monotonic() < end:
        keys = held.next_frame()
        if keys != before: print(keys, flush=True)
        before = keys
        if "esc" in held.other_presses(): break
        time.sleep(0.01)
    print("presses", held.presses)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for words in (
        "keydown q",
        "keydown p",
        "keyup q",
        "keyup p",
        "keydown w",
        "",
        "keyup w",
        "keydown Shift keydown o",
    ):
        if words:
            subprocess.run(["xdotool", *words.split()], check=True)
        time.sleep(1.0 if not words else 0.1)  # long enough for the server to repeat the key
    subprocess.run(["xdotool", "keyup", "o", "keyup", "Shift", "key", "Escape"], check=True)
    out, _ = process.communicate(timeout=20)
    assert out.split() == ["1", "9", "8", "0", "2", "0", "4", "0", "presses", "6"]


@pytest.mark.needs(module="pynput")
def test_keys_of_a_cyrillic_keyboard_are_heard_by_their_place(display: str) -> None:
    code = """
import subprocess, time
from Xlib.display import Display
display = Display()
width = len(display.get_keyboard_mapping(24, 1)[0])
for place, letter in ((24, 0x6ca), (33, 0x6da), (27, 0x6cb)):  # as the letters of Q, P and R
    display.change_keyboard_mapping(place, [[letter] * width])
display.sync()
from qwop.recorder.keyboard_listener import listening
with listening() as held:
    for words in (["keydown", "24", "keydown", "33"], ["keyup", "24"], ["keyup", "33", "key", "27"]):
        subprocess.run(["xdotool", *words], check=True)
        time.sleep(0.3)
        print(held.next_frame(), held.next_frame(), *held.other_presses(), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.split("\n")[:3] == ["9 9", "8 8", "0 0 r"], done.stderr


@pytest.mark.parametrize(
    ("platform", "press", "release"),
    [
        ("darwin", {"char": "й", "vk": 12}, {"char": "q", "vk": 12}),
        ("darwin", {"char": "Œ", "vk": 12}, {"char": "q", "vk": 12}),  # Option
        ("win32", {"char": "q", "vk": 0x51}, {"char": "\x11", "vk": 0x51}),  # Ctrl
        ("win32", {"char": "й", "vk": 0x51}, {"char": "Й", "vk": 0x51}),
        ("win32", {"char": None, "vk": 0x51}, {"char": None, "vk": 0x51}),
        ("win32", {"char": "q", "vk": 0x41}, {"char": "q", "vk": 0x41}),  # a French keyboard: the letter decides
    ],
)
def test_a_key_is_known_by_its_place_where_its_character_is_another(
    monkeypatch: pytest.MonkeyPatch, platform: str, press: Any, release: Any
) -> None:
    callbacks: dict[str, Callable[[Any], None]] = {}

    class Listener:
        def __init__(self, **given: Any) -> None:
            callbacks.update(given)

        def start(self) -> None: ...

        def wait(self) -> None: ...

        def stop(self) -> None: ...

    pynput = ModuleType("pynput")
    pynput.keyboard = SimpleNamespace(Listener=Listener)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynput", pynput)
    monkeypatch.setattr(keyboard_listener.sys, "platform", platform)
    held: HeldKeys
    with listening() as held:
        callbacks["on_press"](SimpleNamespace(**press))
        first = held.next_frame()
        callbacks["on_release"](SimpleNamespace(**release))
        assert (first, held.next_frame()) == (1, 0)


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
