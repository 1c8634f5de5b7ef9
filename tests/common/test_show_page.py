"""Opening a page in a browser, and the line for people who come over SSH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from qwop.common.page import forwarding

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the programs are found as on Linux")

PROGRAM = '#!/bin/sh\nprintf %s "$1" > "$0.opened"\n[ -n "$SLOW" ] && exec /bin/sleep 20 > /dev/null 2>&1\nexit 0\n'


@LINUX
@pytest.mark.parametrize(
    ("programs", "environment", "program"),
    [
        (["w3m"], {"TERM": "xterm"}, None),
        ([], {"DISPLAY": ":9"}, None),
        (["xdg-open"], {}, None),
        (["xdg-open", "w3m"], {"TERM": "xterm", "DISPLAY": ":9"}, "xdg-open"),
        (["firefox"], {"WAYLAND_DISPLAY": "wayland-0"}, "firefox"),
        (["helper"], {"BROWSER": "helper"}, "helper"),  # editors that work on another machine set such a one
        (["helper"], {"BROWSER": "helper %s", "SLOW": "1"}, "helper"),
    ],
)
def test_a_browser_opens_where_there_is_a_display_and_is_not_waited_for(
    programs: list[str], environment: dict[str, str], program: str | None, tmp_path: Path
) -> None:
    for name in programs:
        (tmp_path / name).write_text(PROGRAM)
        (tmp_path / name).chmod(0o755)
    usual = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "LD_"))}
    code = "from qwop.common.page import open_page; open_page('http://127.0.0.1:1/', seconds=2)"
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**usual, "PATH": str(tmp_path), **environment}, capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
    programs = [path.name.removesuffix(".opened") for path in tmp_path.glob("*.opened")]
    assert programs == ([] if program is None else [program])


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({"SSH_CONNECTION": "10.0.0.9 5000 10.0.0.5 22"}, "ssh -L 8766:127.0.0.1:8766 {user}@10.0.0.5"),
        ({"SSH_CONNECTION": "::1 5000 fe80::5 2222"}, "ssh -L 8766:127.0.0.1:8766 -p 2222 {user}@fe80::5"),
        ({"SSH_CONNECTION": "10.0.0.9 5000 10.0.0.5 22", "DISPLAY": "localhost:10.0"}, None),
        ({"SSH_CONNECTION": "10.0.0.9"}, None),
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
    if command is None:
        assert line is None
    else:
        words = command.format(user="ada")
        assert line == f"from the machine that you sit at: {words}, and open the address there"
