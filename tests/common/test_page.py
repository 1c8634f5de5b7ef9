"""Pages in light and in dark, opening one in a browser, and the line for people who come over SSH."""

import re
import threading
import webbrowser
from types import SimpleNamespace

import pytest
from qwop.common.page import STYLE, forwarding, open_page, page


@pytest.mark.parametrize(
    ("environment", "has_browser", "opens"),
    [
        ({}, True, False),
        ({"DISPLAY": ":9"}, True, True),
        ({"DISPLAY": ":9"}, False, False),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True, True),
        ({"BROWSER": "helper"}, True, True),  # editors that work on another machine set such a one
    ],
)
def test_a_browser_opens_where_there_is_a_display_and_is_not_waited_for(
    environment: dict[str, str], has_browser: bool, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses, closed = [], threading.Event()

    def browser() -> SimpleNamespace:
        if not has_browser:
            raise webbrowser.Error
        return SimpleNamespace(open=lambda address: (addresses.append(address), closed.wait(20)))

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(webbrowser, "get", browser)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    open_page("http://127.0.0.1:1/", seconds=0.2)
    assert addresses == ["http://127.0.0.1:1/"] * opens
    closed.set()


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({"SSH_CONNECTION": "10.0.0.9 5000 10.0.0.5 22"}, "ssh -L 8766:127.0.0.1:8766 {user}@10.0.0.5"),
        ({"SSH_CONNECTION": "::1 5000 fe80::5 2222"}, "ssh -L 8766:127.0.0.1:8766 -p 2222 {user}@fe80::5"),
        ({"SSH_CONNECTION": "10.0.0.9 5000 10.0.0.5 22", "DISPLAY": "localhost:10.0"}, None),
        ({}, None),
    ],
)
def test_over_ssh_without_a_display_the_command_that_forwards_the_port_is_named(
    environment: dict[str, str], command: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**environment, "LOGNAME": "ada"}.items():
        monkeypatch.setenv(name, value)
    line = forwarding("http://127.0.0.1:8766/token/")
    assert (line is None) == (command is None)
    assert command is None or f": {command.format(user='ada')}, and open the address there" in str(line)


def test_every_colour_of_a_page_has_a_light_and_a_dark_form() -> None:
    assert set(re.findall(r"var\((--\w+)\)", STYLE)) == set(re.findall(r"(--\w+): light-dark\(#\w+, #\w+\)", STYLE))
    assert "color-scheme: light dark" in page("title", "body")
