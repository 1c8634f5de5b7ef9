"""The browser starts and answers whatever a machine's environment says about networks."""

from pathlib import Path

import pytest
from qwop.envs.original.page import OriginalPage, PageSettings

NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    "environment",
    [
        dict.fromkeys(("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"), NOBODY)
        | {"no_proxy": ".example.org"},
        {"all_proxy": "socks5://127.0.0.1:9", "ALL_PROXY": "socks5h://127.0.0.1:9", "NO_PROXY": ""},
        {"http_proxy": "not an address", "no_proxy": "localhost"},
    ],
)
def test_a_proxy_is_not_asked_for_the_way_to_this_machine(
    chromium: None, fake: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with OriginalPage(PageSettings(folder=str(fake))) as page:
        page.new_game()
        assert len(page.play([1, 5, 0])) == 3
