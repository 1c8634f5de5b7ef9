"""The tutorial, word for word, by a scripted person in a real browser: the page's key events, and every command as the
line before names it.

    python benchmarks/tutorial.py beginner --out /tmp/beginner
    python benchmarks/tutorial.py finisher --out /tmp/finisher

Needs Selenium and Chromium. The beginner tries the rhythms that people try first, and falls; the finisher sees the game
thirty times a second, and presses what the champion would, with slips and keys released late. Both press real keys, at
the game's own pace, and so miss frames where the machine is busy. The commands are those of docs/tutorial.md, and a run
ends with an error if one of them is not the line that the command before has printed. Prints the seconds of each
command as a table; pictures of the page are in OUT.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import websocket
from browser import address_of, begin, open_browser, press, state, wait
from shared import cpu_seconds, markdown

KEYS = {"q": 1, "w": 2, "o": 4, "p": 8}
"""Bits of the keys, as the page and the simulator count them."""

GAMES = 10
"""As the tutorial says; the page then names the next command."""
PATIENCE = 30.0
"""Seconds after which the beginner starts again."""

MIND = """
const [slips, idle, done] = arguments;
const load = (name) => import(new URL(name, document.baseURI));
const parts = [load("./run.js"), load("./policy.js"), fetch("champion.safetensors").then((file) => file.arrayBuffer())];
Promise.all(parts).then(([runs, policies, file]) => {
  const champion = new policies.Policy(file);
  const { play } = window.unminded ??= { play: runs.Run.prototype.play };
  let left = 0;
  runs.Run.prototype.play = function (held) {
    if (this.game.ended) return undefined;
    play.call(this, held);
    const frame = this.game.keys.length;
    if (this.game.ended) return hands("over");
    if (frame < idle || (left -= 1) > 0) return undefined;
    left = slips[frame % slips.length];
    return hands(String(policies.ACTION_KEYS[champion.decide(this.game.observe(champion.kind))]));
  };
  done();
});
"""
"""The finisher's eyes and mind: after every frame, the keys that the champion would hold, given to `hands`, unless an
earlier decision is kept for some frames more."""


class Hands:
    """Keys of the page, held down and released by the browser's own events, over its DevTools."""

    def __init__(self, browser: Any) -> None:
        address = browser.capabilities["goog:chromeOptions"]["debuggerAddress"]
        pages = json.load(urllib.request.urlopen(f"http://{address}/json"))
        page = next(one for one in pages if one["type"] == "page")
        self._socket = websocket.create_connection(page["webSocketDebuggerUrl"], suppress_origin=True)
        self._held = self._sent = 0
        self._send("Runtime.enable")
        self._send("Runtime.addBinding", name="hands")

    def _send(self, method: str, **parameters: Any) -> None:
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": parameters}))

    def hold(self, keys: int) -> None:
        """Hold these keys and no others."""
        for name, bit in KEYS.items():
            if (keys ^ self._held) & bit:
                down, code = bool(keys & bit), ord(name.upper())
                key = {"key": name, "code": f"Key{name.upper()}", "windowsVirtualKeyCode": code}
                self._send("Input.dispatchKeyEvent", type="keyDown" if down else "keyUp", **key)
        self._held = keys

    def obey(self) -> None:
        """Hold what the mind in the page wants, until the game is over."""
        while True:
            said = json.loads(self._socket.recv())
            if said.get("method") == "Runtime.bindingCalled":
                if (keys := said["params"]["payload"]) == "over":
                    return
                self.hold(int(keys))


def beginner(browser: Any, hands: Hands, draw: np.random.Generator) -> None:
    """Press two chords by turns, or four keys, until the runner falls."""
    begin(browser)
    chords = [9, 6] if draw.random() < 0.7 else [1, 2, 8, 4]
    time.sleep(draw.integers(3, 20) / 30)
    since = time.monotonic()
    while time.monotonic() < since + PATIENCE:
        for chord in chords:
            hands.hold(chord if draw.random() > 0.15 else int(draw.choice([1, 2, 4, 8, 0, 9, 6])))
            time.sleep(max(2, draw.normal(11, 4)) / 30)
            if (pause := draw.integers(0, 3)) > 0:
                hands.hold(0)
                time.sleep(pause / 30)
            if state(browser) != "playing":
                return


def finisher(browser: Any, hands: Hands, draw: np.random.Generator) -> None:
    """Do what the champion would, with slips."""
    slips = np.where(draw.random(1000) < 0.13, draw.integers(2, 6, 1000), 1)
    browser.execute_async_script(MIND, slips.tolist(), int(draw.integers(3, 30)))
    begin(browser)
    hands.obey()


PERSONS: dict[str, Callable[[Any, Hands, np.random.Generator], None]] = {"beginner": beginner, "finisher": finisher}


def blocks(text: str, language: str) -> list[str]:
    """Code blocks of a part of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def way(person: str) -> tuple[str, str, list[str]]:
    """The command that records, the look at the games, and the commands after it, as the tutorial has them."""
    page = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text()
    part = {heading: page.split(heading, 1)[1] for heading in ("## 1.", "## 2.", "## 3.", "## 4.")}
    first = part["## 1."]
    after = [blocks(part[heading], "sh")[0].strip() for heading in list(part)[1:]]
    return blocks(first, "sh")[0].strip(), blocks(first, "python")[0], after


def started(line: str, folder: Path) -> "subprocess.Popen[str]":
    """A command that runs in the folder; its output, errors included, is to be read."""
    active = f"{folder / '.venv' / 'bin'}:{os.environ['PATH']}"  # as in a shell where the folder's environment is
    environ, said = {**os.environ, "PATH": active, "BROWSER": "true"}, subprocess.PIPE  # and no browser opens
    return subprocess.Popen(
        shlex.split(line), cwd=folder, env=environ, stdout=said, stderr=subprocess.STDOUT, text=True
    )


def play(line: str, folder: Path, person: str, games: int, seed: int) -> list[str]:
    """Play games on the recorder's page, then press Ctrl-C in its terminal; returns what it said."""
    browser, draw = open_browser(), np.random.default_rng(seed)
    browser.set_window_size(800, 640)
    recorder = started(line, folder)
    try:
        said: list[str] = []
        browser.get(address_of(recorder, said))
        wait(lambda: browser.execute_script("return document.body.dataset.recorder") == "connected")
        browser.save_screenshot(str(folder / "page-ready.png"))
        hands = Hands(browser)
        for game in range(games):
            PERSONS[person](browser, hands, draw)
            hands.hold(0)
            if state(browser) == "playing":
                press(browser, "r")  # the game that is left is recorded, too
            else:
                wait(lambda: state(browser) == "over")
                wait(lambda: "recorded as game" in browser.find_element("id", "detail").text.lower())
            print(f"game {game + 1}: {browser.find_element('id', 'title').text}", flush=True)
        browser.save_screenshot(str(folder / "page-over.png"))
        recorder.send_signal(signal.SIGINT)
        said += recorder.communicate(timeout=60)[0].splitlines(keepends=True)
        print("".join(said[-20:]), flush=True)
        return [one.rstrip() for one in said]
    finally:
        recorder.kill()
        browser.quit()


def run(line: str, folder: Path) -> list[str]:
    """Run a command and print what it says; returns its lines."""
    print(f"$ {line}", flush=True)
    with started(line, folder) as running:
        assert running.stdout is not None
        said = [one.rstrip() for one in running.stdout]
    print("\n".join(said), flush=True)
    if running.returncode:
        raise SystemExit(f"{line}: exit code {running.returncode}")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("person", choices=list(PERSONS))
    parser.add_argument("--out", type=Path, required=True, help="new folder of games and runs")
    parser.add_argument("--games", type=int, default=GAMES, help="games to play")
    parser.add_argument("--seed", type=int, default=0, help="of the person")
    asked = parser.parse_args()
    out = asked.out.resolve()
    out.mkdir(parents=True)
    record, look, after = way(asked.person)
    rows: list[list[object]] = []
    said: list[str] = []
    for line in (record, *after):
        since, before = time.monotonic(), cpu_seconds()
        if line == record:
            print(f"$ {line}", flush=True)
            said = play(line, out, asked.person, asked.games, asked.seed)
            subprocess.run([sys.executable, "-c", look], cwd=out, check=True)
        elif said[-1] != f"next: {line}":
            raise SystemExit(f"the tutorial goes on with {line}, and the command before ends with\n{said[-1]}")
        else:
            said = run(line, out)
        rows.append([f"`{line}`", round(time.monotonic() - since), round(cpu_seconds() - before)])
    print("\n" + markdown(["command", "seconds", "CPU seconds"], rows), end="")


if __name__ == "__main__":
    main()
