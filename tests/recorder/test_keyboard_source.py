"""`qwop-record source=keyboard` on a virtual display, with key events; and the keys of each frame."""

import os
import subprocess
import sys
import sysconfig
import time
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.datasets import open_dataset
from qwop.envs import replay
from qwop.envs.names import KEY_BITS
from qwop.recorder.keyboard_listener import HeldKeys, advice, listening
from qwop.recorder.keyboard_source import LiveGame

from ..fakes import until, xdotool

COMMAND = str(Path(sysconfig.get_path("scripts")) / "qwop-record")


def focus_window() -> None:
    window = until(lambda: xdotool("search", "--name", "^qwop$"))
    xdotool("windowfocus", window)
    time.sleep(0.5)


def hold(keys: str, seconds: float) -> None:
    for key in keys:
        xdotool("keydown", key)
    time.sleep(seconds)
    for key in keys:
        xdotool("keyup", key)


@pytest.fixture
def tkinter() -> None:
    pytest.importorskip("tkinter", reason="this Python has no tkinter")


@pytest.mark.needs(module="pynput")
def test_games_are_recorded_as_they_were_played(tkinter: None, display: str, tmp_path: Path) -> None:
    folder, log = tmp_path / "games", tmp_path / "log"
    with log.open("w") as output:
        words = ["source=keyboard", "source.player=somebody", f"dataset={folder}"]
        process = subprocess.Popen([COMMAND, *words], stdout=output, stderr=output)
    try:
        focus_window()
        assert not folder.exists()  # nothing is written before a key is heard
        xdotool("key", "space")
        assert until(lambda: "the keyboard works" in log.read_text()), log.read_text()
        time.sleep(0.3)
        hold("qp", 0.7)
        xdotool("keydown", "w", "keydown", "o")
        assert until(lambda: list(folder.glob("episodes/episode-*"))), log.read_text()  # the runner has fallen
        xdotool("keyup", "w", "keyup", "o")
        xdotool("key", "r")
        time.sleep(1.0)
        hold("o", 1.0)
        xdotool("key", "Escape")
        assert process.wait(30) == 0
    finally:
        process.kill()

    fallen, left = open_dataset(folder)
    assert (fallen.outcome, fallen.player, fallen.source) == ("fell", "somebody", "keyboard")
    assert (left.outcome, left.terminated, left.truncated) == ("stopped", False, True)
    held = [int(keys) for keys, _ in groupby(fallen.keys_of_frames)]
    assert held[0] in (1, 9)  # the game begins with the first of its keys
    assert 9 in held
    assert held.count(6) == 1  # however often the keyboard repeated it
    assert replay(fallen.keys_of_frames).events[-1, 4] == 1
    frames = left.keys_of_frames
    assert frames[0] == 4
    assert 5 <= (frames == 4).sum() <= 45  # a second in real time is 30 frames; fewer on a busy machine


@pytest.mark.needs(module="pynput")
@pytest.mark.parametrize(
    ("heard", "key", "code", "sentence"),
    [(True, None, 130, ""), (False, "q", 2, "keys reach the window, but pynput hears none: Wayland")],
)
def test_where_no_key_is_heard_nothing_is_written(
    tkinter: None, display: str, tmp_path: Path, heard: bool, key: str | None, code: int, sentence: str
) -> None:
    """Ctrl-C before a key; and a key that reaches the window alone, as under Wayland."""
    deaf = "from pynput.keyboard import Listener\nListener.start = lambda self: self._mark_ready()"
    script = f"""import sys
{"" if heard else deaf}
from qwop.commands import record
sys.argv = ["qwop-record", "source=keyboard", "dataset=games"]
record()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "XDG_SESSION_TYPE": "wayland"},
    )  # fmt: skip
    focus_window()
    if key is None:
        process.send_signal(2)
    else:
        xdotool("key", key)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert len(err.strip().splitlines()) == 1
    assert sentence in err
    assert not (tmp_path / "games").exists()


@pytest.mark.parametrize(("held", "frames", "outcome"), [(4, None, "fell"), (1, 3599, "stopped")])
def test_a_game_ends_by_a_fall_or_at_the_time_limit(held: int, frames: int | None, outcome: str) -> None:
    game = LiveGame()
    while not game.over:
        game.advance(held)
    assert game.info["outcome"] == outcome
    assert frames is None or len(game.keys) == frames
    assert game.info["score"] == replay(game.keys).events[-1, 0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has displays")
@pytest.mark.parametrize(
    ("pynput", "display", "sentence"),
    [
        (ModuleType("pynput"), {}, r"cannot import name .*; run this on a desktop, or play on"),
        (ModuleType("pynput"), {"WAYLAND_DISPLAY": "wayland-0"}, "Wayland hides the keyboard from programs: log in to"),
        (None, {"DISPLAY": ":0"}, r"pip install 'qwop\[keyboard\]'"),
    ],
)
def test_what_keeps_pynput_from_listening_is_named(
    monkeypatch: pytest.MonkeyPatch, pynput: Any, display: dict[str, str], sentence: str
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in display.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "pynput", pynput)
    with pytest.raises(BadInput, match=sentence), listening():
        pass


@pytest.mark.parametrize(
    ("platform", "environment", "sentence"),
    [
        ("darwin", {}, "Input Monitoring and Accessibility"),
        ("linux", {"XDG_SESSION_TYPE": "wayland", "DISPLAY": ":0"}, "log in to an Xorg"),
        ("linux", {"DISPLAY": ":0"}, "click the window and press a key again"),
        ("win32", {}, "click the window and press a key again"),
    ],
)
def test_the_advice_depends_on_the_operating_system(platform: str, environment: dict[str, str], sentence: str) -> None:
    assert sentence in advice(platform, environment)
    assert "source=page" in advice(platform, environment)


EVENTS = st.lists(st.tuples(st.sampled_from(["press", "release", "frame"]), st.sampled_from("qwopr")), max_size=60)


@given(events=EVENTS)
def test_no_press_is_lost_and_none_is_made_up(events: list[tuple[str, str]]) -> None:
    """A chord is the keys that are down; a tap shorter than a frame is held for one; a repeat is no press."""
    keyboard = HeldKeys()
    down, since, presses = set[str](), set[str](), list[str]()
    for event, key in events:
        if event == "press":
            keyboard.press(key)
            presses += {key} - down
            since |= {key} - down
            down.add(key)
        elif event == "release":
            keyboard.release(key)
            down.discard(key)
        else:
            names = [name for name in down | since if name in KEY_BITS]
            assert keyboard.next_frame() == sum(KEY_BITS[name] for name in names)
            since = set()
    assert keyboard.presses == len(presses)


def test_keys_meant_for_another_window_are_forgotten() -> None:
    keyboard = HeldKeys()
    keyboard.press("q")
    keyboard.forget()
    assert keyboard.next_frame() == 0
    keyboard.release("q")
    assert keyboard.next_frame() == 0
