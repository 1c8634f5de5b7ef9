"""Names that Hydra's grammar does not take as keys, such as Höhe or 'x (m)', in characters that it does."""

import re
from collections.abc import Callable, Mapping
from typing import Any

_PLAIN = re.compile(r"(?!(?:true|false|null|nan|inf)\Z)[a-z_$][\w$-]*|0|[1-9][0-9]*", re.ASCII | re.IGNORECASE)

_STRANGE = re.compile(r"^.|[^A-Za-z0-9_]", re.DOTALL)

_ENCODED = re.compile(r"\$u([0-9a-f]{1,6})\$")


def encoded(name: str) -> str:
    """The name as a key of Hydra's: itself, or with `$u<hexadecimal>$` for its first character and each that cannot be
    in one."""
    return name if _PLAIN.fullmatch(name) else _STRANGE.sub(lambda found: f"$u{ord(found[0]):x}$", name)


def decoded(text: str) -> str:
    """The text with the characters that `encoded` has replaced."""
    return _ENCODED.sub(lambda found: chr(int(found[1], 16)), text)


def with_encoded_names(node: Any) -> Any:
    """Plain data with the names of its mappings encoded, at every depth."""
    return _renamed(node, encoded)


def with_decoded_names(node: Any) -> Any:
    """Plain data with the names of its mappings as they were typed, at every depth: 1 and true are names, too."""
    return _renamed(node, decoded)


def _renamed(node: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(node, Mapping):
        return {rename(_text(key)): _renamed(one, rename) for key, one in node.items()}
    return [_renamed(one, rename) for one in node] if isinstance(node, list) else node


def _text(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
