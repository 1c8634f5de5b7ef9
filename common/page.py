"""Parts of self-contained pages, such as reports, and the opening of pages in a browser."""

import base64
import getpass
import os
import shlex
import sys
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

STYLE = """
:root { color-scheme: light dark; --paper: light-dark(#fff, #14181f); --text: light-dark(#242c3c, #e2e6ee);
  --quiet: light-dark(#5a6478, #9ca6b8); --soft: light-dark(#f4f6f9, #212732); --line: light-dark(#e3e8f0, #343c4a);
  --mark: light-dark(#e8f1fb, #1e3450); --shade: light-dark(#f6dfc8, #4a3520); }
@media (prefers-color-scheme: dark) { figure polyline, figcaption span { filter: brightness(1.5); } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--text); background: var(--paper); max-width: 1100px;
  margin: 1.4em auto; padding: 0 1em; overflow-wrap: break-word; }
h1 { font-size: 1.35em; margin: 0 0 .5em; overflow-wrap: anywhere; }
h2 { font-size: 1.1em; margin: 2em 0 .4em; }
p.note { color: var(--quiet); margin: .2em 0 .6em; font-size: 14px; }
.scroll { overflow-x: auto; } .scroll img { display: block; max-width: none; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 10px; margin: .6em 0 1em; }
.tiles div { background: var(--soft); border-radius: 10px; padding: .5em .9em .6em; color: var(--quiet);
  font-size: 14px; }
.tiles b { display: block; font-size: 1.6em; line-height: 1.3; font-weight: 650; color: var(--text);
  white-space: nowrap; }
video { display: block; max-width: 100%; max-height: 80vh; margin: .4em 0; }
table { border-collapse: collapse; }
td, th { padding: 5px 14px 5px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
table.facts { width: 100%; } table.facts td, table.facts th { overflow-wrap: anywhere; }
table.facts td:first-child { white-space: nowrap; overflow-wrap: normal; color: var(--quiet); }
table.figures td, table.figures th { white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums;
  font-size: 13.5px; }
table.figures td:first-child, table.figures th:first-child { text-align: left; color: var(--quiet); }
tr.marked td { background: var(--mark); }
pre { background: var(--soft); padding: .8em 1em; border-radius: 8px; font-size: 13px; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.legend span { white-space: nowrap; }
.legend b { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin: 0 4px 0 12px; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr)); gap: 18px 14px;
  align-items: end; }
figure { margin: 0; } .charts > figure:only-child { max-width: 640px; }
figcaption { font-size: 14px; font-weight: 600; }
figcaption div { font-size: 13px; font-weight: 400; } figcaption span { margin-right: 10px; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 13.5px system-ui, sans-serif; fill: var(--quiet); }
svg .grid { stroke: var(--line); stroke-width: 0.7; }
svg polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .dot { stroke-width: 5; stroke-linecap: round; }
svg polygon { fill-opacity: 0.16; stroke: none; }
svg .band { font-size: 12.5px; } svg .shaded { fill: var(--shade); }
svg .plain { fill: var(--soft); stroke: var(--paper); }
@media (max-width: 560px) {
  td, th { padding-right: 8px; font-size: 14px; } table.facts td:first-child { white-space: normal; }
  table.figures th, table.figures td:first-child { white-space: normal; }
  table.figures td:first-child { min-width: 7em; }
}
"""
"""Style of pages and charts (a grid of them has the class `charts`), light or dark as the system is."""


def page(title: str, body: str) -> str:
    """A self-contained page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    )


def facts(rows: Sequence[Sequence[str]]) -> str:
    """A table as wide as the page, of a name and one text or more in each row."""
    return _table("facts", (), rows)


def figures(names: Sequence[str], rows: Sequence[Sequence[str]], marked: int | None = None) -> str:
    """A table of numbers; one that is wider than the page can be scrolled. marked: number of a row to highlight."""
    return f'<div class="scroll">{_table("figures", names, rows, marked)}</div>'


def _table(kind: str, names: Sequence[str], rows: Sequence[Sequence[str]], marked: int | None = None) -> str:
    table = f'<table class="{kind}">'
    if names:
        table += f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in names)}</tr>"
    for number, row in enumerate(rows):
        start = '<tr class="marked">' if number == marked else "<tr>"
        table += f"{start}{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
    return table + "</table>"


def tiles(facts: Sequence[tuple[str, str]]) -> str:
    """The most important facts, a large figure over its name each: (name, figure)."""
    inside = "".join(f"<div><b>{escape(figure)}</b>{escape(name)}</div>" for name, figure in facts)
    return f'<div class="tiles">{inside}</div>'


def video(path: Path) -> str:
    """A film within the page."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<video controls loop muted playsinline src="data:video/mp4;base64,{data}"></video>'


def origin(command_line: str, settings: str) -> str:
    """The last section of a report: the command line that reproduces it, if any, and all settings as YAML."""
    return "<h2>This report</h2>" + "".join(f"<pre>{escape(text)}</pre>" for text in (command_line, settings) if text)


def open_page(address: str, seconds: float = 0.0) -> None:
    """Open an address in the browser; does nothing without a display, unless the variable BROWSER names one.

    It opens in a thread, as some browsers return only once they are closed. seconds: time to wait for it.
    """
    if not _has_display() and not os.environ.get("BROWSER"):
        return
    with suppress(webbrowser.Error):
        opening = threading.Thread(target=webbrowser.get().open, args=(address,), name="browser", daemon=True)
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
