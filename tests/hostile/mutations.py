"""Hostile files: real ones changed field by field, byte by byte, or replaced by something that only looks like them.

Each generator yields names and functions of the original bytes, first every structured change, then random ones.
"""

import copy
import functools
import io
import itertools
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

Change = Callable[[bytes], bytes]
Named = tuple[str, Change]

CANARY = "canary"
"""Name of a program on the path, a module on Python's path, and the file that either would write."""


class Payload:
    """Unpickling it writes the canary file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {CANARY}",)


def nested(depth: int) -> Any:
    """A list in a list in a list, as text: json.dumps would not write it."""
    return Raw("[" * depth + "]" * depth)


class Raw(str):
    """A text that stands in JSON as it is."""


HOSTILE: list[Any] = [
    None, True, 0, -1, 1.5, 2**31, 2**63, Raw("1" + "0" * 400), Raw("9" * 5000), Raw("NaN"), Raw("1e999"), Raw("-Infinity"),
    "", "x" * 100_000, "../../../etc/passwd", f"{CANARY}:CartPole-v1", f"/bin/{CANARY}", "\x1b[31mred\x07", "a\nb\r\nc",
    Raw('"\\ud800"'), "[/bold]", "${oc.env:HOME}", [], {}, [None] * 1000, nested(150), nested(100_000), {"id": "QWOP-v1"},
    [10**9, 10**9], {"__tensor__": "0"}, {"__array__": "x"}, {"__pairs__": [[[], 1]]}, {"__number__": "nan"}, "0" * 64,
]  # fmt: skip

ENVIRONMENTS: list[Any] = [
    *({"id": "QWOPOriginal-v1", "settings": {name: value}}
      for name in ("browser", "folder", "url", "headless", "live", "timeout")
      for value in (CANARY, f"./{CANARY}", "http://127.0.0.1:9/", True, 1, None)),
    *({"id": id, "settings": {}}
      for id in (f"{CANARY}:CartPole-v1", f"{CANARY}.{CANARY}:X-v0", CANARY, f"{CANARY}/X-v0", "os:x", "GymV26Environment-v0",
                 "phys2d/CartPole-v0", "Hopper-v5", "FrozenLake-v1", "CarRacing-v3", "CliffWalking-v1", "Blackjack-v1",
                 "CartPole", "CartPole-v0", "CartPole-v999999999999", "tabular/Blackjack-v0", "MountainCar-v0", "Ant-v2")),
    *({"id": "CartPole-v1", "settings": {name: value}}
      for name in ("render_mode", "sutton_barto_reward", "max_episode_steps", "disable_env_checker", "id", "wrappers",
                   "vectorization_mode", "xml_file", "__class__", "entry_point", "num_envs", "kwargs")
      for value in (CANARY, -1, 10**6, 1e300, [[1]], {"a": 1}, True)),
    *({"id": "QWOP-v1", "settings": {name: value}}
      for name in ("frames_per_step", "time_limit", "delay", "max_idle_frames", "observation", "reward", "shaping",
                   "fall_penalty", "push_penalty", "autoreset_mode", "render_mode", "num_envs", "threads", "browser")
      for value in (CANARY, -1, 10**6, 3600, 1e300, [1], {}, True, None)),
    *({"id": "LunarLander-v3", "settings": {name: value}} for name in ("gravity", "wind_power") for value in (-1e6, 0, 1e6)),
    *({"id": "FrozenLake-v1", "settings": {"desc": value}} for value in ("SF", ["S" * 32] * 64, ["X"], [], [1], ["SFG"])),
    {"id": "Hopper-v5", "settings": {"xml_file": f"{CANARY}.xml"}}, {"id": "Hopper-v5", "settings": {"frame_skip": 10**6}},
    {"id": "GymV26Environment-v0", "settings": {"env_id": f"{CANARY}:X-v0"}}, {"settings": {}}, {"id": "QWOP-v1"},
]  # fmt: skip


def any_file(seed: int) -> Iterator[Named]:
    """Changes of a file of any format."""
    random = np.random.default_rng(seed)
    yield "empty", lambda data: b""
    for size in (1, 7, 8, 100):
        yield f"cut to {size} bytes", lambda data, size=size: data[:size]
    for name, made in replacements().items():
        yield f"replaced by {name}", lambda data, made=made: made
    for share in (0.1, 0.5, 0.9, 0.999):
        yield f"cut to {share:.1%}", lambda data, share=share: data[: int(share * len(data))]
    yield "doubled", lambda data: data + data
    yield "with zeros after it", lambda data: data + bytes(100_000)
    yield "with zeros before it", lambda data: bytes(8) + data
    yield "all zeros", lambda data: bytes(len(data))
    yield "all ones", lambda data: b"\xff" * len(data)
    for number in itertools.count():
        place, length, draw = random.random(), int(random.integers(1, 64)), random.bytes(64)
        bit = int(random.integers(8))
        # Headers and footers are where it hurts.
        near = (place**4, 1 - place**4, place)[number % 3]
        kind = number % 5
        yield (
            f"{('bit', 'bit', 'bytes', 'gap', 'insertion')[kind]} {number}",
            lambda data, near=near, kind=kind, length=length, draw=draw, bit=bit: _damaged(
                data, int(near * max(len(data) - 1, 0)), kind, length, draw, bit
            ),
        )


def _damaged(data: bytes, at: int, kind: int, length: int, draw: bytes, bit: int) -> bytes:
    if not data:
        return draw
    if kind <= 1:
        return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + draw[:length] + data[at + length :]
    return data[:at] + data[at + length :] if kind == 3 else data[:at] + draw[:length] + data[at:]


@functools.cache
def replacements() -> dict[str, bytes]:
    """Files of other kinds, some with a payload."""
    torched, archive, arrays = io.BytesIO(), io.BytesIO(), io.BytesIO()
    torch.save({"weights": Payload()}, torched)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("obs.npy", bytes(270_000_000))
    np.savez(arrays, obs=np.array([Payload()], dtype=object))
    return {
        "a pickle": pickle.dumps(Payload()),
        "an old pickle": pickle.dumps(Payload(), 0),
        "a checkpoint of torch": torched.getvalue(),
        "a zip bomb": archive.getvalue(),
        "pickled arrays": arrays.getvalue(),
        "a script": f"#!/bin/sh\ntouch {CANARY}\n".encode(),
        "a module": f"open('{CANARY}', 'w')\n".encode(),
        "html": b"<!doctype html><html><body>404</body></html>",
        "a pointer to a large file": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        "quotes": b'"' * 1_000_000,
        "brackets": b"[" * 1_000_000,
        "commas": b"[" + b"{}," * 300_000 + b"{}]",
        "lines": b"\n" * 7_000_000,
        "utf-16": "12 Q\n".encode("utf-16"),
    }


def json_documents(seed: int, environment: str = "environment") -> Iterator[tuple[str, Callable[[Any], str]]]:
    """Changes of a JSON document: each field of it, and hostile environments in its field `environment`."""
    random = np.random.default_rng(seed)
    if environment:
        for number, value in enumerate(ENVIRONMENTS):
            yield (
                f"environment {number}: {str(value)[:60]}",
                lambda data, value=value: _with(data, (environment,), value),
            )
    for number in itertools.count():
        value = HOSTILE[number % len(HOSTILE)]
        draw = random.random()
        kind = number // len(HOSTILE) % 3
        yield (
            f"field {number}: {str(value)[:30]!r}",
            lambda data, value=value, draw=draw, kind=kind: _changed(data, draw, kind, value),
        )


def json_lines(seed: int) -> Iterator[Named]:
    """Changes of a file of JSON documents, one a line: each field of each of them."""
    random = np.random.default_rng(seed)
    for name, change in json_documents(seed + 1, ""):
        place = random.random()

        def apply(data: bytes, change: Callable[[Any], str] = change, place: float = place) -> bytes:
            lines = data.decode().splitlines()
            at = int(place * len(lines))
            lines[at] = change(json.loads(lines[at]))
            return "".join(f"{line}\n" for line in lines).encode(errors="surrogatepass")

        yield name, apply


def _changed(document: Any, draw: float, kind: int, value: Any) -> str:
    paths = [*_paths(document)]
    path = paths[int(draw * len(paths))]
    if kind == 2 and path and isinstance(path[-1], str):
        changed = copy.deepcopy(document)
        inside = changed
        for key in path[:-1]:
            inside = inside[key]
        if draw * 1000 % 1 < 0.5:
            del inside[path[-1]]
        else:
            inside[str(value)[:200] or "_"] = value
        return dumps(changed)
    return _with(document, path, value)


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    items = value.items() if isinstance(value, dict) else enumerate(value[:8]) if isinstance(value, list) else ()
    for key, one in items:
        yield from _paths(one, (*before, key))


def _with(document: Any, path: tuple[Any, ...], value: Any) -> str:
    if not path:
        return dumps(value)
    changed = copy.deepcopy(document)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return dumps(changed)


def dumps(value: Any) -> str:
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


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _joined(header: str | dict[str, Any], body: bytes) -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode(errors="surrogatepass")
    return struct.pack("<Q", len(text)) + text + body


def safetensors(seed: int, entry: str, environment: str) -> Iterator[Named]:
    """Changes of a safetensors file whose metadata hold a JSON document in `entry`."""

    def with_document(change: Callable[[Any], str]) -> Change:
        def apply(data: bytes) -> bytes:
            header, body = _split(data)
            header["__metadata__"][entry] = change(json.loads(header["__metadata__"][entry]))
            return _joined(header, body)

        return apply

    def with_header(change: Callable[[Any], str]) -> Change:
        return lambda data: _joined(change(_split(data)[0]), _split(data)[1])

    for length in (0, 1, 2**31, 2**63, 2**64 - 1, 10**6):
        yield f"header of {length}", lambda data, length=length: struct.pack("<Q", length) + data[8:]
    yield "header of 200 MB", lambda data: struct.pack("<Q", 200_000_000) + b" " * 200_000_000
    for name, value in (("nan", 0x7FC00000), ("infinity", 0x7F800000), ("huge", 0x7F7FFFFF)):
        yield f"weights {name}", lambda data, value=value: data[:-4] + struct.pack("<I", value)
        yield (
            f"all weights {name}",
            lambda data, value=value: _joined(_split(data)[0], struct.pack("<I", value) * (len(_split(data)[1]) // 4)),
        )
    descriptions = json_documents(seed, environment)
    headers = json_documents(seed + 1, "")
    for name, change in descriptions:
        yield f"description, {name}", with_document(change)
        other, change = next(headers)
        yield f"header, {other}", with_header(change)


def yaml_texts() -> Iterator[Named]:
    """Changes of a run's settings."""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    texts = {
        "aliases of aliases": bomb, "a program": f'out: !!python/object/apply:os.system ["touch {CANARY}"]\n',
        "a module": f"out: !!python/module:{CANARY} {{}}\n", "an interpolation": "out: ${oc.env:HOME}\n",
        "deep": "[" * 5000 + "]" * 5000, "a tag": "!!python/name:os.system\n", "a number": "7", "nothing": "",
        "a list": "[1, 2]", "wide": "".join(f"k{n}: {n}\n" for n in range(20_000)), "duplicates": "a: 1\na: 2\n",
    }  # fmt: skip
    for name, text in texts.items():
        yield name, lambda data, text=text: text.encode()
        yield f"{name}, before it", lambda data, text=text: text.encode() + b"\n" + data
    for number in itertools.count():
        value = HOSTILE[number % len(HOSTILE)]
        place = number * 7919 % 1000 / 1000

        def change(data: bytes, value: Any = value, place: float = place) -> bytes:
            lines = data.decode().splitlines()
            at = int(place * len(lines))
            name, colon, _ = lines[at].partition(":")
            lines[at] = f"{name}{colon} {dumps(value)}"
            return "\n".join(lines).encode(errors="surrogatepass")

        yield f"line {number}: {str(value)[:30]!r}", change


def keys_texts() -> Iterator[Named]:
    """Changes of a file of keys."""
    for count in (
        "0",
        "-1",
        "999999999999",
        "9999999",
        "300000",
        "300001",
        "1e9",
        "0x10",
        "1_000",
        "٣",
        "1.5",
        "NaN",
        "",
        "9" * 10_000,
    ):
        for keys in (
            "Q",
            "-",
            "QWOP",
            "QQQQ",
            "QWOPQ",
            "q",
            "ß",
            "Ｑ",
            "\x1b[31m",
            CANARY,
            "$(touch canary)",
            "Q\0",
            "",
        ):
            line = f"{count} {keys}\n".encode()
            yield f"{count[:12]} {keys!r}", lambda data, line=line: data + line
    for name, text in {
        "a long line": b"1 Q" + b" " * 5_000_000, "a long comment": b"# " + b"x" * 5_000_000 + b"\n1 Q\n",
        "many lines": b"1 Q\n" * 1_500_000, "no end of comments": b"#\n" * 3_000_000, "only zeros": b"0 Q\n" * 1_000_000,
        "too large": b"1 Q\n" * 3_000_000, "carriage returns": b"1 Q\r2 W\r", "separators": "1 Q\u2028 2 W\u2028".encode(),
        "an hour of nothing": b"108000 -\n", "as long as may be": b"300000 -\n", "random keys": _random_keys(),
    }.items():  # fmt: skip
        yield name, lambda data, text=text: text


def _random_keys() -> bytes:
    random = np.random.default_rng(0)
    return b"".join(
        b"%d %s\n" % (random.integers(1, 9), random.choice([b"Q", b"W", b"OP", b"-"])) for _ in range(20_000)
    )


def npz_files(seed: int) -> Iterator[Named]:
    """Changes of an archive of arrays."""
    random = np.random.default_rng(seed)

    def members(data: bytes) -> dict[str, bytes]:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def packed(parts: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", method) as archive:
            for name, content in parts:
                archive.writestr(name, content)
        return sink.getvalue()

    def npy(header: str, content: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
        text = header.encode() + b"\n"
        size = struct.pack("<H" if version[0] == 1 else "<I", len(text))
        return b"\x93NUMPY" + version + size + text + content

    headers = [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 71), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 71), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (10000000000,), }",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 71), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 5000 + ")" * 5000 + ", }",
        f"__import__('{CANARY}')", "{}", "", "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<U1000000', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 71), }",
    ]  # fmt: skip
    arrays: list[Any] = [
        np.zeros(0), np.zeros((0, 71)), np.zeros((3, 71), np.float16), np.full((60, 71), np.nan), np.zeros((60, 71), np.uint8),
        np.zeros((60, 71), complex), np.array(["x"] * 60), np.zeros((60, 1, 1)), np.array(7), np.full(60, 2**62),
        np.array([Payload()], dtype=object), np.zeros((900_000, 71), np.uint8), np.full((60, 71), 1e308), np.zeros((60, 71)),
    ]  # fmt: skip

    def written(array: Any) -> bytes:
        sink = io.BytesIO()
        np.save(sink, array, allow_pickle=True)
        return sink.getvalue()

    def replaced(number: int, content: bytes) -> Change:
        def apply(data: bytes) -> bytes:
            parts = members(data)
            name = [*parts][number % len(parts)]
            return packed([*{**parts, name: content}.items()])

        return apply

    for number in range(5):
        for header in headers:
            for version in (b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"):
                yield f"header {number} {header[:40]}", replaced(number, npy(header, bytes(568), version))
        for place, array in enumerate(arrays):
            yield f"array {number} {place}", replaced(number, written(array))
    yield "bomb", replaced(0, npy(headers[0], bytes(300_000_000)))
    yield "small bomb", replaced(0, written(np.zeros((250_000, 71), np.float32)))
    yield "members twice", lambda data: packed([*members(data).items()] * 2)
    yield "many members", lambda data: packed([(str(n), b"") for n in range(20_000)])
    yield "packed by bzip2", lambda data: packed([*members(data).items()], zipfile.ZIP_BZIP2)
    yield "packed by lzma", lambda data: packed([*members(data).items()], zipfile.ZIP_LZMA)
    yield "paths", lambda data: packed([(f"../../{name}", content) for name, content in members(data).items()])
    for number in itertools.count():
        place, draw = random.random(), random.bytes(8)

        def damaged(data: bytes, number: int = number, place: float = place, draw: bytes = draw) -> bytes:
            parts = members(data)
            name = [*parts][number % len(parts)]
            at = int(place**2 * len(parts[name]))
            return packed([*{**parts, name: parts[name][:at] + draw + parts[name][at + 8 :]}.items()])

        yield f"inside a member {number}", damaged


def places(path: Path) -> dict[str, Callable[[], None]]:
    """Ways to make `path` something else than a file. Each leaves it in another state; nothing of it is read before."""

    def emptied() -> None:
        path.unlink(missing_ok=True)

    def pipe() -> None:
        emptied()
        os.mkfifo(path)

    def folder() -> None:
        emptied()
        path.mkdir()

    def link(target: str) -> Callable[[], None]:
        def make() -> None:
            emptied()
            path.symlink_to(target)

        return make

    def sparse() -> None:
        with path.open("wb") as file:
            file.truncate(2**34)

    return {
        "gone": emptied, "a pipe": pipe, "a folder": folder, "a link to itself": link(path.name), "sparse": sparse,
        "a link to nothing": link("nowhere"), "endless": link("/dev/zero"), "a terminal": link("/dev/tty"),
        "memory": link("/proc/self/mem"), "random": link("/dev/urandom"), "null": link("/dev/null"),
        "its folder": link("."), "kernel messages": link("/proc/kmsg"), "the process": link("/proc/self/environ"),
    }  # fmt: skip
