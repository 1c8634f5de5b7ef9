"""Speed of the page of `qwop-play` in headless Chromium: python benchmarks/play_page.py

Loaded bytes, time to the first picture, and the times between pictures while a run beside the live champion goes on, on
a desktop's screen and a phone's, drawn without a GPU. Needs the extra `browser`.
"""

import time
from typing import Any

import numpy as np
from browser import open_browser
from qwop.play.server import LocalServer
from qwop.play.site import files
from selenium.webdriver.common.action_chains import ActionChains

SCREENS = {"desktop": (1280, 800), "phone": (390, 844)}
SECONDS = 20
"""Length of a run; keys are pressed by turns, and a run that ends is begun again."""

MEASURE = """
window.times = [];
window.busy = [];
const channel = new MessageChannel();
let began = 0;
channel.port1.onmessage = () => window.busy.push(performance.now() - began);
requestAnimationFrame(function measure(now) {
  if (document.body.dataset.state === 'playing') window.times.push(now);
  began = performance.now();
  channel.port2.postMessage(0);  // comes after the page's own work for this picture
  requestAnimationFrame(measure);
});
"""


def open_page(width: int, height: int, address: str) -> Any:
    driver = open_browser(width, height)
    driver.get(address)
    while driver.execute_script("return document.body.dataset.loaded") != "true":
        time.sleep(0.05)
    return driver


def cpu_seconds(driver: Any) -> float:
    """Processor time that the page's thread has taken, which other work on the machine does not change."""
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def measure(name: str, address: str) -> None:
    driver = open_page(*SCREENS[name], address)
    try:
        first = driver.execute_script("return performance.getEntriesByName('first picture')[0].startTime")
        size = driver.execute_script(
            "return performance.getEntriesByType('resource').reduce((sum, one) => sum + one.encodedBodySize, 0)"
        )
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        before = cpu_seconds(driver)
        driver.execute_script(MEASURE)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if driver.execute_script("return document.body.dataset.state") in ("ready", "over"):
                ActionChains(driver, duration=0).send_keys("r").perform()
            keys = ActionChains(driver, duration=0).key_down("w").key_down("o").pause(0.5).key_up("w").key_up("o")
            keys.key_down("q").pause(0.4).key_up("q").perform()
        between = np.diff(driver.execute_script("return times"))
        busy = np.array(driver.execute_script("return busy"))
        cpu = 1000 * (cpu_seconds(driver) - before) / len(busy)
    finally:
        driver.quit()
    between = between[between < 1000]  # without the pauses between two runs
    shares = ", ".join(f"{share}% under {np.percentile(between, share):.1f} ms" for share in (50, 95, 99))
    work = ", ".join(f"{share}% under {np.percentile(busy, share):.1f} ms" for share in (50, 99))
    print(
        f"{name} {SCREENS[name]}: {size:,} bytes, first picture after {first:.0f} ms; "
        f"between {len(between)} pictures: {shares}; work for each: {work}; "
        f"{cpu:.1f} ms of the page's processor time for each in all",
        flush=True,
    )


def main() -> None:
    server = LocalServer(files().get, 0)
    server.start()
    for name in SCREENS:
        measure(name, server.address)
    server.stop()


if __name__ == "__main__":
    main()
