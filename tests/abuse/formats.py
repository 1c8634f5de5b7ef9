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


class Payload:
    """Unpickling it writes the canary file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {CANARY}",)


class Raw(str):
    """A text that stands in JSON as it is."""


VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 2**31, 2**63, Raw("1" + "0" * 400), Raw("9" * 5000), Raw("NaN"), Raw("1e999"), "",
    "x" * 100_000,
    "../../../etc/passwd", f"{CANARY}:CartPole-v1", "\x1b[31mred\x07", "a\nb\r\nc", Raw('"\\ud800"'), "[/bold]",
    "${oc.env:HOME}", [], {}, [None] * 1000, Raw("[" * 150 + "]" * 150), Raw("[" * 3000 + "]" * 3000),
    [10**9, 10**9], {"__tensor__": "0"}, {"__array__": "x"}, {"__pairs__": [[[], 1]]}, "0" * 64,
    *({"id": id, "settings": {}} for id in (
        f"{CANARY}:CartPole-v1", f"{CANARY}.{CANARY}:X-v0", "os:x", "GymV26Environment-v0", "CartPole-v999999999999",
        "Hopper-v5", "FrozenLake-v1", "Blackjack-v1", "CartPole")),
    *({"id": "QWOPOriginal-v1", "settings": {name: f"./{CANARY}"}} for name in ("browser", "folder", "url")),
    *({"id": "CartPole-v1", "settings": {name: value}} for value in (CANARY, -1, 1e300)
      for name in ("render_mode", "sutton_barto_reward", "max_episode_steps", "entry_point", "xml_file", "__class__")),
    *({"id": "QWOP-v1", "settings": {name: value}} for value in (CANARY, -1, 10**6, [1], None)
      for name in ("frames_per_step", "time_limit", "delay", "observation", "reward", "num_envs")),
]  # fmt: skip
"""Values that stand in no such file, environments among them."""

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
    kind = draw.choice(
        ("bit", "bit", "bit", "cut", "gap", "insertion", "bytes", "doubled", "zeros", "empty", "another")
    )
    # Headers and footers are where it hurts.
    share = draw.choice((draw.random() ** 4, 1 - draw.random() ** 4, draw.random()))
    at, length = int(share * (len(data) - 1)), draw.randrange(1, 64)
    if kind == "another":
        name = draw.choice([*others()])
        return name, others()[name]
    made = {
        "bit": data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :],
        "cut": data[:at],
        "gap": data[:at] + data[at + length :],
        "insertion": data[:at] + draw.randbytes(length) + data[at:],
        "bytes": data[:at] + draw.randbytes(length) + data[at + length :],
        "doubled": data + data,
        "zeros": draw.choice((bytes(8) + data, data + bytes(100_000), bytes(len(data)))),
        "empty": b"",
    }
    return f"{kind} at {at}", made[kind]


@functools.cache
def others() -> dict[str, bytes]:
    """Files of other kinds, some with a payload."""
    torched, arrays = io.BytesIO(), io.BytesIO()
    torch.save({"weights": Payload()}, torched)
    np.savez(arrays, obs=np.array([Payload()], dtype=object))
    return {
        "a pickle": pickle.dumps(Payload()),
        "a checkpoint of torch": torched.getvalue(),
        "pickled arrays": arrays.getvalue(),
        "a script": f"#!/bin/sh\ntouch {CANARY}\n".encode(),
        "a module": f"open('{CANARY}', 'w')\n".encode(),
        "html": b"<!doctype html><html><body>404</body></html>",
        "a pointer to a large file": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        "quotes": b'"' * 1_000_000,
        "brackets": b"[" * 1_000_000,
        "utf-16": "12 Q\n".encode("utf-16"),
    }


def a_json(data: bytes, draw: random.Random) -> Change:
    """A field of a JSON document has another value, or goes."""
    name, text = _changed(json.loads(data), draw)
    return name, text.encode(errors="surrogatepass")


def json_lines(data: bytes, draw: random.Random) -> Change:
    """The same in one of many documents, one a line."""
    lines = data.decode().splitlines()
    at = draw.randrange(len(lines))
    name, lines[at] = _changed(json.loads(lines[at]), draw)
    return f"line {at}, {name}", "".join(f"{line}\n" for line in lines).encode(errors="surrogatepass")


def safetensors(data: bytes, draw: random.Random) -> Change:
    """The header, the JSON within it, its length, or weights that are no numbers."""
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    kind = draw.choice(("header", "description", "description", "description", "length", "weight", "all weights"))
    if kind == "length":
        length = draw.choice((0, 1, 2**31, 2**63, 2**64 - 1, 10**6))
        return f"length {length}", struct.pack("<Q", length) + data[8:]
    if kind in ("weight", "all weights"):
        value = struct.pack("<I", draw.choice((0x7FC00000, 0x7F800000, 0x7F7FFFFF)))  # nan, infinity, the largest
        return f"{kind} {value.hex()}", data[:-4] + value if kind == "weight" else data[: 8 + length] + value * (
            len(body) // 4
        )
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


def yaml(data: bytes, draw: random.Random) -> Change:
    """A line of settings has another value, or another text comes before it."""
    aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    aliases += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    texts = {
        "aliases of aliases": aliases, "a program": f'out: !!python/object/apply:os.system ["touch {CANARY}"]\n',
        "a module": f"out: !!python/module:{CANARY} {{}}\n", "an interpolation": "out: ${oc.env:HOME}\n",
        "deep": "[" * 5000 + "]" * 5000, "a number": "7", "a list": "[1, 2]", "twice": "a: 1\na: 2\n",
    }  # fmt: skip
    if draw.random() < 0.2:
        name = draw.choice([*texts])
        return name, texts[name].encode() + (b"\n" + data if draw.random() < 0.5 else b"")
    value, lines = draw.choice(VALUES), data.decode().splitlines()
    at = draw.randrange(len(lines))
    lines[at] = f"{lines[at].partition(':')[0]}: {_text(value)}"
    return f"line {at}: {str(value)[:30]!r}", "\n".join(lines).encode(errors="surrogatepass")


def keys_text(data: bytes, draw: random.Random) -> Change:
    """Another line in a file of keys."""
    count = draw.choice(
        ("0", "-1", "999999999999", "300001", "1e9", "0x10", "1_000", "٣", "1.5", "NaN", "", "9" * 10_000)
    )
    keys = draw.choice(("Q", "-", "QQQQ", "QWOPQ", "q", "ß", "Ｑ", "\x1b[31m", f"$(touch {CANARY})", "Q\0", ""))
    many = draw.choice((1, 1, 1, 1_500_000))
    return f"{count[:12]} {keys!r}, {many} times", data + f"{count} {keys}\n".encode() * many


def npz(data: bytes, draw: random.Random) -> Change:
    """An array of an archive is another one, or no array."""
    arrays: list[Any] = [
        np.zeros(0), np.zeros((0, 71)), np.zeros((3, 71), np.float16), np.full((60, 71), np.nan),
        np.zeros((60, 71), np.uint8), np.zeros((60, 71), complex),
        np.array(["x"] * 60), np.zeros((60, 1, 1)), np.array(7), np.full(60, 2**62),
        np.array([Payload()], dtype=object), np.full((60, 71), 1e308), np.zeros((60, 71)),
    ]  # fmt: skip
    headers = [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 71), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 71), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 5000 + ")" * 5000 + ", }",
        f"__import__('{CANARY}')", "{}", "",
        "{'descr': '<U1000000', 'fortran_order': False, 'shape': (1,), }",
    ]  # fmt: skip
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name, kind = draw.choice([*parts]), draw.choice(("array", "header", "bytes", "paths", "twice"))
    made = io.BytesIO()
    if kind == "array":
        np.save(made, draw.choice(arrays), allow_pickle=True)
        parts[name] = made.getvalue()
    elif kind == "header":
        text = draw.choice(headers).encode() + b"\n"
        parts[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(568)
    elif kind == "bytes":
        parts[name] = any_bytes(parts[name], draw)[1]
    sink, before = io.BytesIO(), "../../" if kind == "paths" else ""
    with zipfile.ZipFile(sink, "w", draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))) as archive:
        for name_, content in [*parts.items()] * (2 if kind == "twice" else 1):
            archive.writestr(f"{before}{name_}", content)
    return f"{kind} {name}", sink.getvalue()


def _changed(document: Any, draw: random.Random) -> tuple[str, str]:
    """The name of a change of a document, and its text: a field has another value, goes, or gets a neighbour."""
    path, value = draw.choice([*_fields(document)]), draw.choice(VALUES)
    name = f"{'.'.join(map(str, path))[:60]}: {str(value)[:30]!r}"
    if not path:
        return name, _text(value)
    changed = copy.deepcopy(document)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    kind = draw.random() if isinstance(path[-1], str) else 1.0
    if kind < 0.15:
        del inside[path[-1]]
    elif kind < 0.3:
        inside[str(value)[:200] or "_"] = value
    else:
        inside[path[-1]] = value
    return name, _text(changed)


def _fields(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    items = value.items() if isinstance(value, dict) else enumerate(value[:8]) if isinstance(value, list) else ()
    for key, one in items:
        yield from _fields(one, (*before, key))


def _text(value: Any) -> str:
    """JSON in which `Raw` texts stand as they are."""
    raws: list[str] = []

    def marked(one: Any) -> Any:
        if isinstance(one, Raw):
            raws.append(one)
            return f"@@{len(raws) - 1}@@"
        if isinstance(one, dict):
            return {key: marked(item) for key, item in one.items()}
        return [marked(item) for item in one] if isinstance(one, list) else one

    text = json.dumps(marked(value))
    for number, raw in enumerate(raws):
        text = text.replace(f'"@@{number}@@"', raw)
    return text
