"""The digest that a safetensors file holds of itself: of every byte, its header included.

The first metadata entry is a JSON object that begins with the digest, so that the digest stands at a place which no
other part of the header can move. While the SHA-256 is calculated, its own digits count as zeros.
"""

import hashlib
import re
from typing import BinaryIO

BLANK = "0" * 64

_SEALED = re.compile(rb'\{"__metadata__":\{"\w+":"\{\\"sha256\\": \\"([0-9a-f]{64})\\"')

_AT_ONCE = 2**20


def with_room(text: str) -> str:
    """The text of a JSON object that is not empty, with room for a digest at its beginning, which `seal` fills."""
    return f'{{"sha256": "{BLANK}", {text[1:]}'


def seal(file: BinaryIO) -> None:
    """Write the digest into a file whose first metadata entry is made by `with_room`."""
    start, _, digest = _digests(file)
    file.seek(start)
    file.write(digest)


def require_whole(file: BinaryIO) -> None:
    """Raise ValueError unless the file has the digest that it names."""
    _, expected, digest = _digests(file)
    if digest != expected:
        raise ValueError(
            f"it was altered or cut: its SHA-256 is {digest[:12].decode()}…, expected {expected[:12].decode()}…"
        )


def _digests(file: BinaryIO) -> tuple[int, bytes, bytes]:
    """The place of the digest's digits, the digits there, and those that belong there."""
    file.seek(0)
    beginning = file.read(264)
    match = _SEALED.match(beginning, 8)  # behind the header's length
    if match is None:
        raise ValueError("its header does not begin with a digest")
    digest = hashlib.sha256(beginning[: match.start(1)] + BLANK.encode())
    file.seek(match.end(1))
    while block := file.read(_AT_ONCE):
        digest.update(block)
    return match.start(1), match[1], digest.hexdigest().encode()
