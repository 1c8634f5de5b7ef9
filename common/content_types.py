"""Content types of the files that the local pages serve."""

from pathlib import PurePosixPath

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".bin": "application/octet-stream",
}
"""By the file's suffix."""


def content_type(name: str) -> str:
    """Content type of a file with this name."""
    return TYPES.get(PurePosixPath(name).suffix, TYPES[".bin"])
