"""`qwop-record source=keyboard` on a virtual display, with key events; and the keys of each frame."""

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
from qwop.recorder.keyboard_source import Keyboard, Window, open_keyboard
from qwop.recorder.settings import KeyboardSettings

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
def test_where_no_key_is_heard_nothing_is_written(
    tkinter: None, display: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As under Wayland; the person closes the window."""
    from pynput.keyboard import Listener

    monkeypatch.setattr(Listener, "start", lambda listener: None)
    monkeypatch.setattr(Window, "refresh", Window.close)
    with pytest.raises(BadInput, match=r"closed before a key was heard.*Xorg.*source=page"):
        open_keyboard(KeyboardSettings(), tmp_path / "games")
    assert not (tmp_path / "games").exists()


@pytest.mark.parametrize(
    ("pynput", "sentence"),
    [(ModuleType("pynput"), r"cannot import name .* Input Monitoring"), (None, r"pip install 'qwop\[keyboard\]'")],
)
def test_what_keeps_pynput_from_listening_is_named(
    monkeypatch: pytest.MonkeyPatch, pynput: Any, sentence: str, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pynput", pynput)
    monkeypatch.delitem(sys.modules, "pynput.keyboard", raising=False)
    with pytest.raises(BadInput, match=f"{sentence}.*source=page"):
        open_keyboard(KeyboardSettings(), tmp_path)


EVENTS = st.lists(
    st.tuples(st.sampled_from(["press", "release", "frame", "another window"]), st.sampled_from("qwopr")), max_size=60
)


@given(events=EVENTS)
def test_no_press_is_lost_and_none_is_made_up(events: list[tuple[str, str]]) -> None:
    """A chord is the keys that are down; a tap shorter than a frame is held for one; a repeat is no press."""
    keyboard = Keyboard()
    down, since = set[str](), set[str]()
    for event, key in events:
        if event in ("frame", "another window"):
            names = [name for name in down | since if name in KEY_BITS]
            assert keyboard.next_frame() == (sum(KEY_BITS[name] for name in names), since)
            since = set()
            if event == "another window":
                keyboard.forget()
                down = set()
            continue
        keyboard.event(key, event == "press")
        since |= {key} - down if event == "press" else set()
        down = down | {key} if event == "press" else down - {key}
