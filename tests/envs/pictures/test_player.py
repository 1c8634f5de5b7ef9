import base64
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from qwop.common.page import page
from qwop.envs.pictures.frame_rows import ROW, rows_of_game
from qwop.envs.pictures.player import PARTS, Clip, player


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return rows_of_game(np.repeat([0, 5, 10, 3], 20).astype(np.uint8))


@pytest.fixture(scope="module")
def html(rows: np.ndarray) -> str:
    return page("a <game>", player([Clip("</script><b>one", rows), Clip("two", rows[:20])]))


def test_rows_come_back_within_a_thousandth(html: str, rows: np.ndarray) -> None:
    found = re.search(r'<script type="application/json" id="player-data">(.*?)</script>', html, re.DOTALL)
    assert found
    clips = json.loads(found[1])["clips"]
    assert [clip["title"] for clip in clips] == ["</script><b>one", "two"]
    steps = np.frombuffer(zlib.decompress(base64.b64decode(clips[0]["rows"])), "<i4").reshape(ROW, -1)
    np.testing.assert_allclose(np.cumsum(steps, axis=1).T / PARTS, rows, atol=0.5 / PARTS)


def test_the_page_needs_nothing_else(html: str) -> None:
    assert not re.search(r'(src|href)="', html)
    assert "import " not in html
    assert "export " not in html
    assert "<title>a &lt;game&gt;</title>" in html


@pytest.mark.slow
@pytest.mark.needs(module="selenium")
def test_the_page_plays_in_a_browser(html: str, tmp_path: Path) -> None:
    import selenium.webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.support.ui import WebDriverWait

    (tmp_path / "page.html").write_text(html)
    options = selenium.webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox"):
        options.add_argument(argument)
    try:
        driver = selenium.webdriver.Chrome(options=options)
    except WebDriverException as error:
        pytest.skip(f"there is no Chrome or Chromium here: {error.msg}")
    try:
        driver.get((tmp_path / "page.html").as_uri())
        seconds = lambda: float(driver.find_element("css selector", ".seconds").text.split()[0])  # noqa: E731
        WebDriverWait(driver, 60).until(lambda _: driver.find_element("css selector", ".seconds").text)
        WebDriverWait(driver, 60).until(lambda _: seconds() > 1)
        assert driver.get_log("browser") == []
    finally:
        driver.quit()
