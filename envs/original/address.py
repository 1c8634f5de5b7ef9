"""The address of the original game's page; a local copy is served on a loopback port."""

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...common.errors import BadInput


def require_place(url: str | None, folder: str | None, group: str = "") -> None:
    """Raise BadInput unless exactly one is given and a folder has a page; `group` prefixes both ('original.')."""
    if bool(url) == bool(folder):
        given = "both" if url else "neither"
        raise BadInput(
            f"{group}url and {group}folder: {given} given; name the page of the original game by its address "
            f"({group}url=https://…) or by a local copy of it ({group}folder=DIR)"
        )
    if folder and not Path(folder).is_file():
        if not Path(folder).is_dir():
            raise BadInput(f"{group}folder={folder}: no such folder; expected one with the page of the original game")
        if len(pages := _pages_in(Path(folder))) != 1:
            found = ", ".join(page.name for page in pages) or "no .html file"
            raise BadInput(f"{group}folder={folder}: found {found}; name the page itself: {group}folder=DIR/page.html")


@contextmanager
def address_of(url: str | None, folder: str | None) -> Iterator[str]:
    """Context manager: yield the page's address; serve a `folder` (or an .html file in it) meanwhile."""
    if url:
        yield url if "://" in url else f"http://{url}"
        return
    assert folder is not None
    page = Path(folder) if Path(folder).is_file() else _pages_in(Path(folder))[0]
    handler = functools.partial(_Handler, directory=str(page.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/{page.name}"
        finally:
            server.shutdown()


def _pages_in(folder: Path) -> list[Path]:
    """Return the .html files of a local copy that may be the game's: those with a known name, or else all."""
    pages = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".html", ".htm"))
    return [page for page in pages if page.stem.lower() in ("athletics", "index")] or pages


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing; the terminal is for what the user asked for."""
