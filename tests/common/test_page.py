"""Pages in light and in dark."""

import re

from qwop.common.page import STYLE, page


def test_every_colour_of_a_page_has_a_light_and_a_dark_form() -> None:
    names = set(re.findall(r"var\((--\w+)\)", STYLE))
    light, dark = (set(re.findall(r"(--\w+): ", block)) for block in STYLE.split("@media")[:2])
    assert names == light == dark
    assert "color-scheme: light dark" in page("title", "body")
