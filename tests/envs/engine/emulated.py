"""The library for 64-bit ARM, played by qemu-user on other processors.

A library has no import and its code no fixed address, so its segments are copied to where there is room, and its
functions called with the table of their arguments.
"""

import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qwop.envs.engine.native import Call

PROGRAM, IMAGE, MEMORY = 0x100000, 0x10000000, 0x20000000

# A program without a C library: reads standard input to MEMORY, calls the function whose address comes first with the
# table behind, writes all back to standard output.
_READ_PLAY_WRITE = bytes.fromhex(
    "1300a4d2 140080d2"  # x19 = MEMORY, x20 = 0 bytes read
    "000080d2 6102148b 2200a0d2"  # 65,536 more
    "e80780d2 010000d4 1f0000f1 6d000054 9402008b f8ffff17"
    "690240f9 60420091 20013fd6 150080d2"  # play
    "200080d2 6102158b 820215cb"
    "080880d2 010000d4 1f0000f1 8d000054 b502008b bf0214eb ebfeff54"
    "000080d2 a80b80d2 010000d4"  # end
)


def image_of(file: bytes) -> tuple[bytes, dict[str, int]]:
    """An ELF library as it lies in memory, and where its functions are."""
    (segments_at,), (sections_at,) = struct.unpack_from("<Q", file, 32), struct.unpack_from("<Q", file, 40)
    count, _, sections = struct.unpack_from("<HHH", file, 56)
    content = bytearray()
    for number in range(count):
        kind, _, start, address, _, size, room, _ = struct.unpack_from("<IIQQQQQQ", file, segments_at + 56 * number)
        if kind == 1:  # to be loaded
            content.extend(bytes(max(address + room - len(content), 0)))
            content[address : address + size] = file[start : start + size]
    headers = [struct.unpack_from("<IIQQQQIIQQ", file, sections_at + 64 * number) for number in range(sections)]
    assert all(kind not in (4, 9) for _, kind, *_ in headers), "the library has relocations"
    functions = {}
    for _, kind, _, _, start, size, names, *_ in headers:
        if kind == 11:  # symbols
            for place in range(start + 24, start + size, 24):
                name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", file, place)
                text = headers[names][4] + name
                functions[file[text : file.index(0, text)].decode()] = value
    return bytes(content), functions


class ArmLibrary:
    """An engine for 64-bit ARM, by qemu-user: every call is a process of its own."""

    width = 4

    def __init__(self, file: Path, folder: Path) -> None:
        image, self._functions = image_of(file.read_bytes())
        self._program = folder / "arm"
        header = struct.pack(
            "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 183, 1, PROGRAM + 65536, 64, 0, 0, 64, 56, 3, 0, 0, 0
        )
        parts = ((PROGRAM + 65536, _READ_PLAY_WRITE, 0), (IMAGE, image, 0), (MEMORY, b"", 1 << 24))
        content, segments = b"", b""
        for address, part, room in parts:
            segments += struct.pack(
                "<IIQQQQQQ", 1, 7, 65536 + len(content), address, address, len(part), room or len(part), 65536
            )
            content += part + bytes(-len(part) % 65536)
        self._program.write_bytes((header + segments).ljust(65536, b"\0") + content)
        self._program.chmod(0o755)

    def bind(self, function: str, table: Any, arrays: tuple[NDArray[Any], ...]) -> Call:
        call = Call(self._play, self._functions[function], table, arrays)
        call.table, call.arrays = table, arrays
        return call

    def _play(self, function: int, table: Any, arrays: tuple[NDArray[Any], ...]) -> None:
        words = np.array(table, dtype=np.int64)
        content, places, addresses = bytearray(16 + words.nbytes), [], {}
        for one in arrays:
            content.extend(bytes(-len(content) % 64))
            places.append(len(content))
            addresses[one.ctypes.data] = MEMORY + len(content)
            content.extend(one.tobytes())
        content[:8] = struct.pack("<Q", IMAGE + function)
        content[16 : 16 + words.nbytes] = np.array([addresses.get(word, word) for word in table], np.int64).tobytes()
        done = subprocess.run(["qemu-aarch64", self._program], input=bytes(content), stdout=subprocess.PIPE, check=True)
        assert len(done.stdout) == len(content)
        for one, place in zip(arrays, places, strict=True):
            if one.flags.writeable:
                one[...] = np.frombuffer(done.stdout, one.dtype, one.size, place).reshape(one.shape)
