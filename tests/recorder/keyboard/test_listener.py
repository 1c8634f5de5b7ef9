"""Listening to the keyboard, and the reasons given when that is impossible."""

import os
import subprocess
import sys
import time

import pytest
from qwop.common.errors import BadInput
from qwop.recorder.keyboard.listener import advice, listening

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
    code = "from qwop.recorder.keyboard.listener import listening\nwith listening(): pass"
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
from qwop.recorder.keyboard.listener import listening
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
