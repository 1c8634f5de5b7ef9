"""A page that this machine serves, opened in a browser, or named by its address."""

import getpass
import os
import shlex
import sys
import threading
import webbrowser
from urllib.parse import urlsplit


def open_page(address: str, seconds: float = 0.0) -> None:
    """Open an address in the browser; does nothing without a display, unless the variable BROWSER names one.

    It opens in a thread, as some browsers return only once they are closed. seconds: time to wait for it.
    """
    if not _has_display() and not os.environ.get("BROWSER"):
        return
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    opening = threading.Thread(target=browser.open, args=(address,), name="browser", daemon=True)
    opening.start()
    opening.join(seconds)


def forwarding(address: str) -> str | None:
    """The line for a person who sits at another machine: the command that forwards a page's port to it.

    None at a display, and where nobody has come over SSH.
    """
    over_ssh = os.environ.get("SSH_CONNECTION", "").split()  # addresses and ports of the client and of this machine
    if _has_display() or len(over_ssh) != 4:
        return None
    parts = urlsplit(address)
    port = [] if over_ssh[3] == "22" else ["-p", over_ssh[3]]
    forward = f"{parts.port}:{parts.hostname}:{parts.port}"
    command = shlex.join(["ssh", "-L", forward, *port, f"{getpass.getuser()}@{over_ssh[2]}"])
    return f"from the machine that you sit at: {command}, and open the address there"


def _has_display() -> bool:
    """True where windows can be opened."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
