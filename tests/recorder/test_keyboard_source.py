"""`qwop-record source=keyboard` on a virtual display, with key events."""

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.envs import replay
from qwop.recorder.keyboard_source import LiveGame

COMMAND = str(Path(sysconfig.get_path("scripts")) / "qwop-record")


def xdotool(*words: str) -> str:
    return subprocess.run(["xdotool", *words], capture_output=True, text=True, check=False).stdout.strip()


def until(reached: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (found := reached()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def hold(keys: str, seconds: float) -> None:
    for key in keys:
        xdotool("keydown", key)
    time.sleep(seconds)
    for key in keys:
        xdotool("keyup", key)


class Recording:
    """The running command, with its window focused, and its output."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.log = folder.with_suffix(".log")
        with self.log.open("w") as log:
            command = [COMMAND, "source=keyboard", "source.player=somebody", f"dataset={folder}", *words]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        window = until(lambda: xdotool("search", "--name", "^qwop$"))
        assert window, self.log.read_text()
        xdotool("windowfocus", window)
        time.sleep(0.5)

    @property
    def said(self) -> str:
        return self.log.read_text()


@pytest.fixture
def tkinter() -> None:
    pytest.importorskip("tkinter", reason="this Python has no tkinter")


@pytest.mark.needs(module="pynput")
def test_games_are_recorded_as_they_were_played(tkinter: None, display: str, tmp_path: Path) -> None:
    folder = tmp_path / "games"
    recording = Recording(folder)
    try:
        assert not folder.exists()  # nothing is written before a key is heard
        xdotool("key", "space")
        assert until(lambda: "the keyboard works" in recording.said), recording.said
        time.sleep(0.3)
        hold("qp", 0.7)
        xdotool("keydown", "w", "keydown", "o")
        assert until(lambda: list(folder.glob("episodes/episode-*"))), recording.said  # the runner has fallen
        xdotool("keyup", "w", "keyup", "o")
        xdotool("key", "r")
        time.sleep(1.0)
        hold("o", 1.0)
        xdotool("key", "Escape")
        assert recording.process.wait(30) == 0
    finally:
        recording.process.kill()

    fallen, left = open_dataset(folder)
    assert (fallen.outcome, fallen.player, fallen.source) == ("fell", "somebody", "keyboard")
    assert (left.outcome, left.terminated, left.truncated) == ("stopped", False, True)
    assert fallen.keys is not None
    assert left.keys is not None
    held = [int(keys) for keys, _ in groupby(np.concatenate(fallen.keys))]
    assert held[0] in (1, 9)  # the game begins with the first of its keys
    assert 9 in held
    assert held.count(6) == 1  # however often the keyboard repeated it
    game = replay(np.concatenate(fallen.keys))
    assert game.events[-1, 4] == 1
    frames = np.concatenate(left.keys)
    assert frames[0] == 4
    assert 5 <= (frames == 4).sum() <= 45  # a second in real time is 30 frames; fewer on a busy machine


@pytest.mark.needs(module="pynput")
def test_ctrl_c_before_a_key_writes_nothing(tkinter: None, display: str, tmp_path: Path) -> None:
    folder = tmp_path / "games"
    recording = Recording(folder)
    recording.process.send_signal(2)
    assert recording.process.wait(20) == 130
    assert not folder.exists()
    assert "Traceback" not in recording.said


@pytest.mark.needs(module="pynput")
def test_a_keyboard_that_pynput_does_not_hear_is_reported(tkinter: None, display: str, tmp_path: Path) -> None:
    """As under Wayland: key events reach the window, but not pynput."""
    code = """
import sys
from pynput.keyboard import Listener
Listener.start = lambda self: self._mark_ready()
from qwop.commands import record as main
sys.argv = ["qwop-record", "source=keyboard", "dataset=games"]
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "XDG_SESSION_TYPE": "wayland"},
    )  # fmt: skip
    window = until(lambda: xdotool("search", "--name", "^qwop$"))
    xdotool("windowfocus", window)
    time.sleep(0.5)
    xdotool("key", "q")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert len(err.strip().splitlines()) == 1
    assert "keys reach the window, but pynput hears none: Wayland" in err
    assert not (tmp_path / "games").exists()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has displays")
def test_without_a_display_the_command_says_so_and_exits(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    done = subprocess.run(
        [COMMAND, "source=keyboard", "dataset=games"],
        cwd=tmp_path, env=kept, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "there is no display (DISPLAY is not set)" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("held", "frames", "outcome"), [(4, None, "fell"), (1, 3599, "stopped")])
def test_a_game_ends_by_a_fall_or_at_the_time_limit(held: int, frames: int | None, outcome: str) -> None:
    game = LiveGame()
    assert not game.played
    while not game.over:
        game.advance(held)
    assert game.played
    assert game.info["outcome"] == outcome
    assert frames is None or len(game.keys) == frames
    assert game.info["score"] == replay(game.keys).events[-1, 0]
