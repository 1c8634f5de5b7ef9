"""Changes of files, one function a format: of the original bytes and a draw, the name of a change and the new bytes."""

import copy
import functools
import io
import json
import os
import pickle
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .children import CANARY

Change = tuple[str, bytes]
Format = Callable[[bytes, random.Random], Change]

MARK = "@@value@@"


class Payload:
    """Unpickling it writes the canary file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {CANARY}",)


_ENVIRONMENTS = (
    *({"id": id, "settings": {}} for id in (
        f"{CANARY}:CartPole-v1", f"{CANARY}.{CANARY}:X-v0", "os:x", "GymV26Environment-v0", "CartPole-v999999999999",
        "Hopper-v5", "FrozenLake-v1", "Blackjack-v1", "CartPole")),
    *({"id": id, "settings": {name: value}} for id, value, names in (
        ("QWOPOriginal-v1", f"./{CANARY}", ("browser", "folder", "url")),
        ("CartPole-v1", CANARY, ("render_mode", "max_episode_steps", "entry_point", "xml_file", "__class__")),
        ("QWOP-v1", -1, ("frames_per_step", "time_limit", "delay", "observation", "reward", "num_envs")),
    ) for name in names),
)  # fmt: skip

VALUES = [
    "1" + "0" * 400, "9" * 5000, "NaN", "1e999", r'"\ud800"', "[" * 150 + "]" * 150, "[" * 3000 + "]" * 3000,
    *map(json.dumps, (
        None, True, 0, -1, 1.5, 2**31, 2**63, "", "x" * 100_000, "../../../etc/passwd", f"{CANARY}:CartPole-v1",
        "\x1b[31mred\x07", "a\nb\r\nc", "[/bold]", "${oc.env:HOME}", [], {}, [None] * 1000, [10**9, 10**9],
        {"__tensor__": "0"}, {"__array__": "x"}, {"__pairs__": [[[], 1]]}, "0" * 64,
        *_ENVIRONMENTS,
    )),
]  # fmt: skip
"""Texts of JSON whose values stand in no such file, environments among them."""

PATHS: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: None,
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "sparse": lambda path: path.touch() or os.truncate(path, 2**34),
    **{f"a link to {to}": functools.partial(os.symlink, to) for to in (
        "itself", "nowhere", ".", "/dev/zero", "/dev/tty", "/dev/null", "/proc/self/mem", "/proc/kmsg",
        "/proc/self/environ",
    )},
}  # fmt: skip
"""What may stand in the place of a file."""


def any_bytes(data: bytes, draw: random.Random) -> Change:
    """A flipped bit, a cut, a gap, an insertion, other bytes, or another file."""
    kind = draw.choice(("bit", "bit", "bit", "cut", "gap", "insertion", "bytes", "doubled", "zeros", "another"))
    # Headers and footers are where it hurts.
    share = draw.choice((draw.random() ** 4, 1 - draw.random() ** 4, draw.random()))
    at, length = int(share * (len(data) - 1)), draw.randrange(1, 64)
    if kind == "another":
        return draw.choice([*others().items()])
    made = {
        "bit": data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :],
        "cut": data[:at],
        "gap": data[:at] + data[at + length :],
        "insertion": data[:at] + draw.randbytes(length) + data[at:],
        "bytes": data[:at] + draw.randbytes(length) + data[at + length :],
        "doubled": data + data,
        "zeros": draw.choice((bytes(8) + data, data + bytes(100_000), bytes(len(data)))),
    }
    return f"{kind} at {at}", made[kind]


@functools.cache
def others() -> dict[str, bytes]:
    """Files of other kinds, some with a payload."""
    torched, arrays = io.BytesIO(), io.BytesIO()
    torch.save({"weights": Payload()}, torched)
    np.savez(arrays, obs=np.array([Payload()], dtype=object))
    aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    aliases += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    return {
        "nothing": b"",
        "a pickle": pickle.dumps(Payload()),
        "a checkpoint of torch": torched.getvalue(),
        "pickled arrays": arrays.getvalue(),
        "a script": f"#!/bin/sh\ntouch {CANARY}\n".encode(),
        "a module": f"open('{CANARY}', 'w')\n".encode(),
        "a program in YAML": f'out: !!python/object/apply:os.system ["touch {CANARY}"]\n'.encode(),
        "a module in YAML": f"out: !!python/module:{CANARY} {{}}\n".encode(),
        "aliases of aliases": aliases.encode(),
        "a list": b"[1, 2]",
        "html": b"<!doctype html><html><body>404</body></html>",
        "a pointer to a large file": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        "quotes": b'"' * 1_000_000,
        "brackets": b"[" * 1_000_000,
        "keys": b"0 Q\n-1 W\n1e9 -\n999999999999 QWOPQ\n" * 300_000,
        "utf-16": "12 Q\n".encode("utf-16"),
    }


def document(data: bytes, draw: random.Random) -> Change:
    """A field of JSON has another value, goes or gets a neighbour; so does one of a line of JSON, or a line of YAML."""
    lines = data.decode().splitlines()
    at = draw.randrange(len(lines))
    if lines[0] == "{":  # one document
        name, text = _changed(json.loads(data), draw)
    elif lines[at].startswith("{"):
        name, lines[at] = _changed(json.loads(lines[at]), draw)
        text = "\n".join(lines)
    else:
        key, value = lines[at].partition(":")[0], draw.choice(VALUES)
        name, lines[at] = f"{key}: {value[:30]}", f"{key}: {value}"
        text = "\n".join(lines)
    return f"line {at}, {name}", text.encode(errors="surrogatepass")


def safetensors(data: bytes, draw: random.Random) -> Change:
    """The header, the JSON within it, its length, or weights that are no numbers."""
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    kind = draw.choice(("header", "description", "description", "description", "length", "weight", "all weights"))
    if kind == "length":
        length = draw.choice((0, 1, 2**31, 2**63, 2**64 - 1, 10**6))
        return f"length {length}", struct.pack("<Q", length) + data[8:]
    if "weight" in kind:
        value = struct.pack("<I", draw.choice((0x7FC00000, 0x7F800000, 0x7F7FFFFF)))  # nan, infinity, the largest
        count = 1 if kind == "weight" else len(body) // 4
        return f"{kind} {value.hex()}", data[: len(data) - 4 * count] + value * count
    if kind == "header":
        name, text = _changed(header, draw)
    else:
        entry = draw.choice([*header["__metadata__"]])
        try:
            name, header["__metadata__"][entry] = _changed(json.loads(header["__metadata__"][entry]), draw)
        except ValueError:  # a digest
            name, header["__metadata__"][entry] = f"{entry} differs", "0" * 64
        text = json.dumps(header)
    raw = text.encode(errors="surrogatepass")
    return f"{kind}, {name}", struct.pack("<Q", len(raw)) + raw + body


def npz(data: bytes, draw: random.Random) -> Change:
    """An array of an archive is another one, or no array; or the names of all are others."""
    arrays: list[Any] = [
        np.zeros(0), np.zeros((0, 71)), np.zeros((3, 71), np.float16), np.full((60, 71), np.nan),
        np.zeros((60, 71), np.uint8), np.zeros((60, 71), complex), np.array(["x"] * 60), np.zeros((60, 1, 1)),
        np.array(7), np.full(60, 2**62), np.array([Payload()], dtype=object), np.full((60, 71), 1e308),
    ]  # fmt: skip
    shapes = ("(10000000000, 71)", "(-1, 71)", "(" * 5000 + ")" * 5000, f"__import__('{CANARY}')")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name, kind = draw.choice([*parts]), draw.choice(("array", "header", "bytes", "paths", "twice"))
    if kind == "array":
        made = io.BytesIO()
        np.save(made, draw.choice(arrays), allow_pickle=True)
        parts[name] = made.getvalue()
    elif kind == "header":
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {draw.choice(shapes)}, }}\n".encode()
        parts[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(568)
    elif kind == "bytes":
        parts[name] = any_bytes(parts[name], draw)[1]
    sink, before = io.BytesIO(), "../../" if kind == "paths" else ""
    with zipfile.ZipFile(sink, "w", draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))) as archive:
        for name_, content in [*parts.items()] * (2 if kind == "twice" else 1):
            archive.writestr(f"{before}{name_}", content)
    return f"{kind} {name}", sink.getvalue()


def _changed(value: Any, draw: random.Random) -> tuple[str, str]:
    """The name of a change of a document, and its text: a field has another value, goes, or gets a neighbour."""
    path, text = draw.choice([*_fields(value)]), draw.choice(VALUES)
    name = f"{'.'.join(map(str, path))[:60]}: {text[:30]}"
    if not path:
        return name, text
    changed = copy.deepcopy(value)
    inside = functools.reduce(lambda outer, key: outer[key], path[:-1], changed)
    kind = draw.random() if isinstance(path[-1], str) else 1.0
    if kind < 0.15:
        del inside[path[-1]]
    else:
        inside["neighbour" if kind < 0.3 else path[-1]] = MARK
    return name, json.dumps(changed).replace(f'"{MARK}"', text)


def _fields(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    items = value.items() if isinstance(value, dict) else enumerate(value[:8]) if isinstance(value, list) else ()
    for key, one in items:
        yield from _fields(one, (*before, key))
