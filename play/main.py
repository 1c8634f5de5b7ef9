"""`qwop-play`: run beside the champion, on a page that needs no server."""

import shlex
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..common.errors import BadInput
from ..common.folder_lock import exclusive_lock
from ..common.page import forwarding, open_page
from ..common.progress import plain_console
from ..common.run_folder import next_command
from ..common.settings import HomePath, Settings


class PlaySettings(Settings):
    """The page: served to this machine, or written into a folder for a static host."""

    out: HomePath | None = None
    """Folder to write the page into, for any static host."""
    board: HomePath | None = None
    """Folder of keys files for the board, as the page saves them. null: runs of this project."""
    serve: bool = True
    """Serve the page to this machine, until Ctrl-C."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """Port of the page. Games are kept by the browser for each port. 0: 8766, or any free one."""
    open: bool = True
    """Open the browser."""

    def check(self) -> None:
        if not self.serve and self.out is None:
            raise BadInput("serve=false: expected out=DIR, the folder to write the page into")


def run(settings: PlaySettings) -> None:
    """Write the page, if asked for, and serve it until Ctrl-C."""
    from .server import LocalServer
    from .site import FOLDERS, OWN, files, write_site  # with the game's engine, which --help does without

    console = plain_console()
    site = files(OWN if settings.board is None else Path(settings.board))
    if settings.out is not None:
        folder = Path(settings.out)
        with exclusive_lock(folder, "out", within=FOLDERS):
            size = write_site(folder, site)
        console.print(
            f"page: {folder / 'index.html'} and the files beside it, {size / 1e6:.1f} MB, for any static host"
        )
    if not settings.serve:
        console.print(f"next: {shlex.join(['python3', '-m', 'http.server', '--directory', str(settings.out)])}")
        return
    server = LocalServer(site.get, settings.port)
    console.print(f"play at {server.address}, Ctrl-C here when you are done")
    if (line := forwarding(server.address)) is not None:
        console.print(line)
    console.print(next_command("qwop-record", **{"source.player": "me"}))
    if settings.open:
        open_page(server.address)
    server.serve()
