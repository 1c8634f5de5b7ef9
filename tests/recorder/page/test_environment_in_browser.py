"""CartPole on the page in a real browser, played by key events."""

import re
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qwop.datasets import open_dataset

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install 'qwop[browser]'")
wait = pytest.importorskip("selenium.webdriver.support.wait")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip("needs Chromium or Chrome, and chromedriver, on the path", allow_module_level=True)

RECORD = str(Path(sysconfig.get_path("scripts")) / "qwop-record")


@pytest.fixture
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,800",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield started
    started.quit()


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [RECORD, "source=environment", "source.id=CartPole-v1", "source.open=false", f"dataset={tmp_path}"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield started
    started.kill()
    started.wait()


def test_a_game_played_by_keys_is_in_the_dataset(browser: Any, recorder: Any, tmp_path: Path) -> None:
    address = next(found[0] for line in recorder.stdout if (found := re.search(r"http://\S+", line)))
    browser.get(address)

    def wait_for(state: str) -> None:
        script = "return document.body.dataset.state"
        wait.WebDriverWait(browser, 60, 0.05).until(lambda _: browser.execute_script(script) == state, state)

    def keys() -> Any:
        return webdriver.ActionChains(browser, duration=0)

    wait_for("ready")
    keys().send_keys("\ue014").perform()  # the right arrow
    wait_for("playing")
    keys().key_down("\ue014").perform()
    wait_for("over")
    keys().key_up("\ue014").perform()
    (episode,) = open_dataset(tmp_path)
    assert set(episode.actions.tolist()) == {1}
    assert browser.execute_script("return document.getElementById('detail').textContent") == "Recorded as game 0."
    title = browser.execute_script("return document.getElementById('title').textContent")
    assert title == f"Game over: return {len(episode)}.0 in {len(episode)} steps"
    assert browser.get_log("browser") == []
    recorder.send_signal(signal.SIGINT)
    assert "terminated 1" in recorder.stdout.read()
