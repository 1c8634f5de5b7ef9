"""Every command on environments of every kind: recorded by a scripted person in a real browser, verified, cloned,
fine-tuned with these demonstrations, killed, resumed, evaluated and watched.

    python benchmarks/matrix.py --out runs/matrix

    pip install 'qwop[train,browser,pettingzoo,minigrid]' highway-env gym-classics2

Needs Chromium with its driver. Prints a table: ok, or the line with which a command refused (as for missing packages),
and ends with an error if anything was written before. Takes a minute or two an environment on two cores.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium import webdriver

HERE = Path(__file__).parent
GAMES = 4
LONGEST_LINE = 300

ENVIRONMENTS = (
    *(f"matrix_environments:Matrix{kind}-v0" for kind in (
        "Shifted", "Keyboard", "Dials", "Pair", "Dict", "Tuple", "Scalar", "ChannelsLast", "ChannelsFirst", "Frames",
        "OwnInfo", "Continuous", "Huge", "NotFinite", "TicTacToe",
    )),
    "matrix_environments:ClassicGridworld-v1", "FrozenLake-v1", "CartPole-v1", "MiniGrid-Empty-5x5-v0",
    "highway-fast-v0",
)  # fmt: skip


class Refused(Exception):
    """A command ended with an error; its last line."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=Path("runs/matrix"), type=Path, help="folder of all datasets and runs")
    parser.add_argument("--environments", nargs="*", default=ENVIRONMENTS, help="ids, with their modules")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where it is ignored, the recorder would ignore it, too
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    browser = open_browser()
    print("| environment | " + " | ".join(STEPS) + " |\n" + "|---" * (len(STEPS) + 1) + "|", flush=True)
    try:
        for id in asked.environments:
            folder = asked.out / re.sub(r"\W+", "-", id)
            found = []
            for name, step in STEPS.items():
                try:
                    step(id, folder, browser)
                    found.append("ok")
                except Refused as refused:
                    found.append(f"{name} refused: {refused}")
                    if name == "record" and folder.exists():
                        raise AssertionError(f"{folder} was written, and then recording was refused") from None
                    break
            print(f"| `{id.rpartition(':')[2]}` | {' | '.join(found)} |", flush=True)
    finally:
        browser.quit()


def open_browser(width: int = 1280, height: int = 800) -> Any:
    """A headless browser with a window of this size; below 500 pixels, a phone's screen with touch."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium") or shutil.which("google-chrome"))
    size = f"--window-size={width},{height}"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", size):
        options.add_argument(flag)
    if width < 500:
        options.add_experimental_option(
            "mobileEmulation", {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 2.0, "touch": True}}
        )
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def run(command: str, *arguments: str) -> None:
    done = subprocess.run([program(command), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise Refused((done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:LONGEST_LINE])


def program(command: str) -> str:
    return str(Path(sysconfig.get_path("scripts")) / command)


def record(id: str, folder: Path, browser: Any) -> None:
    """Play games with changing keys, then end the recording as Ctrl-C does."""
    settings = ["source=environment", f"source.id={id}", "source.open=false", f"dataset={folder / 'games'}"]
    recorder = subprocess.Popen(
        [program("qwop-record"), *settings], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        play(browser, address_of(recorder, []))
        recorder.send_signal(signal.SIGINT)
        recorder.wait(timeout=60)
    finally:
        recorder.kill()
        browser.get("about:blank")  # the page draws on


def address_of(recorder: "subprocess.Popen[str]", said: list[str]) -> str:
    """The address of a recorder's page. said: gets the lines before it. Refused without an address."""
    assert recorder.stdout is not None
    for line in recorder.stdout:
        said.append(line)
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise Refused("".join(said[-1:]).strip()[:LONGEST_LINE])


def begin(browser: Any) -> None:
    """Begin a game on the page by R, the one key that every environment has."""
    press(browser, "r")
    wait(lambda: state(browser) == "playing")


def play(browser: Any, page: str) -> None:
    """Play games on the page."""
    browser.get(page)
    wait(lambda: state(browser) == "ready")
    for game in range(GAMES):
        begin(browser)
        until = time.monotonic() + 20
        turn = 0
        while state(browser) == "playing" and time.monotonic() < until:
            turn += 1
            keys = held(game + turn)
            actions = webdriver.ActionChains(browser, duration=0)
            for key in keys:
                actions.key_down(key)
            actions.pause(0.3)
            for key in keys:
                actions.key_up(key)
            actions.perform()


def held(turn: int) -> list[str]:
    """Keys of this turn: digits and arrows, so that every environment has some of them."""
    return [["0", "\ue014"], ["1", "\ue012"], ["0", "1", "\ue015"], ["\ue014"]][turn % 4]


def state(browser: Any) -> str:
    return str(browser.execute_script("return document.body.dataset.state"))


def press(browser: Any, key: str) -> None:
    webdriver.ActionChains(browser, duration=0).send_keys(key).perform()


def wait(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        if time.monotonic() > until:
            raise Refused("the page does not go on")
        time.sleep(0.05)


def verify(id: str, folder: Path, browser: Any) -> None:
    run("qwop-dataset", "verify", str(folder / "games"))


def clone(id: str, folder: Path, browser: Any) -> None:
    run("qwop-pretrain", f"dataset={folder / 'games'}", f"out={folder / 'clone'}", "epochs=2", "games=2")


def finetune(id: str, folder: Path, browser: Any) -> None:
    """Fine-tune with the games as demonstrations; killed after its first checkpoint."""
    running = subprocess.Popen([program("qwop-finetune"), *tuning(folder)], stderr=subprocess.PIPE, text=True,
                               stdout=subprocess.DEVNULL)  # fmt: skip
    while running.poll() is None and not any((folder / "tuned" / "checkpoints").glob("decisions-*")):
        time.sleep(0.1)
    running.kill()
    assert running.stderr is not None
    said = running.stderr.read()
    if running.wait() not in (0, -signal.SIGKILL):
        raise Refused(said.strip().splitlines()[-1][:LONGEST_LINE])


def resume(id: str, folder: Path, browser: Any) -> None:
    run("qwop-finetune", *tuning(folder), "resume=true")


def tuning(folder: Path) -> list[str]:
    return [
        f"policy={folder / 'clone' / 'policy.safetensors'}", f"demonstrations={folder / 'games'}",
        f"out={folder / 'tuned'}", "algorithm=acer-small", "schedule=kurodo-published", "schedule.decisions=1920",
        "loop.value_decisions=160", "loop.start=32", "loop.checkpoint_every=320",
        "evaluation.episodes=2", "evaluation.drawn=0", "video=false",
    ]  # fmt: skip


def evaluate(id: str, folder: Path, browser: Any) -> None:
    run("qwop-evaluate", f"policy={folder / 'tuned' / 'policy.safetensors'}", "episodes=3", "video=false")


def watch(id: str, folder: Path, browser: Any) -> None:
    run("qwop-watch", f"policy={folder / 'tuned' / 'policy.safetensors'}", f"out={folder / 'policy.mp4'}")
    run("qwop-watch", f"dataset={folder / 'games'}", f"out={folder / 'games.html'}")


STEPS: dict[str, Callable[[str, Path, Any], None]] = {
    "record": record, "verify": verify, "clone": clone, "finetune": finetune, "resume": resume, "evaluate": evaluate,
    "watch": watch,
}  # fmt: skip


if __name__ == "__main__":
    main()
