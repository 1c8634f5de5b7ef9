"""A newcomer's way with an environment of their own: an empty virtual environment, a folder with `key_world.py` in it,
and the commands of docs/your-environment.md as they stand there, with a scripted person at the page in a real browser.

    python benchmarks/newcomer.py --out /tmp/newcomer

Needs Selenium and Chromium here; the package is installed from the checkout into the new environment, by pip or, with
`--uv`, by uv. Prints the seconds of each command as a table.
"""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from matrix import address_of, begin, open_browser, state, wait
from selenium import webdriver

ROOT = Path(__file__).parents[1]
GAMES = 10

PLACES = """
const canvas = document.getElementById("view");
const { data, width } = canvas.getContext("2d").getImageData(0, canvas.height >> 1, canvas.width, 1);
const place = (is) => [...Array(width).keys()].find((x) => is(...data.slice(4 * x, 4 * x + 3))) ?? -1;
return [place((r, g, b) => r > 150 && g < 50 && b < 50), place((r, g, b) => r < 50 && g > 100 && b < 50)];
"""
"""Columns of the runner, red, and of the goal, green."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="new folder of environment, games and runs")
    parser.add_argument("--uv", action="store_true", help="install with uv")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where it is ignored, the recorder would ignore it, too
    out = asked.out.resolve()
    out.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "key_world.py", out)
    page = (ROOT / "docs" / "your-environment.md").read_text()
    commands = page.split("```sh\n", 1)[1].split("```", 1)[0].strip().splitlines()
    new, install = ("uv venv --quiet", "uv pip") if asked.uv else (f"{sys.executable} -m venv .venv", "pip")
    seconds: dict[str, float] = {}
    for line in (new, f"{install} install --quiet '{ROOT}[train]'", *commands):
        print(f"$ {line}", flush=True)
        since = time.monotonic()
        (play if line.startswith("qwop-record") else run)(line, out)
        seconds[line] = time.monotonic() - since
    print("\n| command | seconds |\n|---|---|")
    for line, taken in seconds.items():
        print(f"| `{line}` | {taken:.0f} |")
    print(f"| in all | {sum(seconds.values()):.0f} |")


def environment(folder: Path) -> dict[str, str]:
    """Variables of a shell in which the folder's virtual environment is active, and that has no browser to open."""
    return {**os.environ, "PATH": f"{folder / '.venv' / 'bin'}:{os.environ['PATH']}", "BROWSER": "true"}


def run(line: str, folder: Path) -> None:
    done = subprocess.run(shlex.split(line), cwd=folder, env=environment(folder), check=False)
    if done.returncode:
        raise SystemExit(f"{line}: exit code {done.returncode}")


def play(line: str, folder: Path) -> None:
    """Play games until the recorder names the next command, then press Ctrl-C in its terminal."""
    browser = open_browser()
    recorder = subprocess.Popen(
        shlex.split(line),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said: list[str] = []
        browser.get(address_of(recorder, said))
        wait(lambda: state(browser) == "ready")
        for _ in range(GAMES):
            game(browser)
        recorder.send_signal(signal.SIGINT)
        print("".join(said) + recorder.communicate(timeout=60)[0])
    finally:
        recorder.kill()
        browser.quit()


def game(browser: Any) -> None:
    """Hold the key towards the goal until the game is over."""
    begin(browser)
    held = ""
    while state(browser) == "playing":
        runner, goal = browser.execute_script(PLACES)
        key = "1" if goal > runner else "0"
        if runner < 0 or goal < 0 or key == held:
            continue
        actions = webdriver.ActionChains(browser, duration=0)
        (actions.key_up(held) if held else actions).key_down(key).perform()
        held = key
    if held:
        webdriver.ActionChains(browser, duration=0).key_up(held).perform()


if __name__ == "__main__":
    main()
