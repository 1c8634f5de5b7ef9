"""Where the original game's page is: an address, or a local copy served on a loopback port."""

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...conf.errors import BadInput


@contextmanager
def address_of(url: str | None, folder: str | None) -> Iterator[str]:
    """The page's address; a `folder` (or an .html file in it) is served while the context lasts.

    BadInput unless exactly one of the two is given, and where the folder has no page.
    """
    if bool(url) == bool(folder):
        given = "both" if url else "neither"
        raise BadInput(
            f"original.url and original.folder: {given} given; name the page of the original game by its address "
            "(original.url=https://…) or by a local copy (original.folder=DIR)"
        )
    if url:
        yield url if "://" in url else f"http://{url}"
        return
    assert folder is not None
    page = _page_in(Path(folder))
    handler = functools.partial(_Handler, directory=str(page.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/{page.name}"
        finally:
            server.shutdown()


def _page_in(place: Path) -> Path:
    """The .html file of a local copy."""
    if place.is_file():
        return place
    if not place.is_dir():
        raise BadInput(f"original.folder={place}: no such folder; expected one with the page of the original game")
    pages = sorted(path for path in place.iterdir() if path.suffix.lower() in (".html", ".htm"))
    known = [page for page in pages if page.stem.lower() in ("athletics", "index")]
    if len(known or pages) != 1:
        found = ", ".join(page.name for page in known or pages) or "no .html file"
        raise BadInput(f"original.folder={place}: found {found}; name the page itself: original.folder=DIR/page.html")
    return (known or pages)[0]


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for what a person asked for."""
