"""A headless browser for the pages of the commands; needs Chromium with its driver."""

import shutil
from typing import Any

from selenium import webdriver


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
