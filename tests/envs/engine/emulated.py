"""Libraries of other systems, played on Linux on x86-64: ARM's code by qemu-user, Windows' in this process.

A library has no import and its code no fixed address, so its segments are copied to where there is room, and its
functions called with the table of their arguments.
"""

import ctypes
import mmap
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

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

# From Linux's convention of calls to Windows': the function in rdi, the table in rsi.
_AS_WINDOWS = bytes.fromhex("4883ec28 4889f1 ffd7 4883c428 c3")


class Image(NamedTuple):
    """A library as it lies in memory, and where its functions are."""

    content: bytes
    functions: dict[str, int]


def elf_image(file: bytes) -> Image:
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
                functions[_text(file, headers[names][4] + name)] = value
    return Image(bytes(content), functions)


def mach_image(file: bytes) -> Image:
    content, functions, place = bytearray(), {}, 32
    for _ in range(struct.unpack_from("<I", file, 16)[0]):
        command, length = struct.unpack_from("<II", file, place)
        if command == 0x19:  # a segment
            address, room, start, size = struct.unpack_from("<QQQQ", file, place + 24)
            content.extend(bytes(max(address + room - len(content), 0)))
            content[address : address + size] = file[start : start + size]
        elif command == 2:  # symbols
            symbols, count, texts = struct.unpack_from("<III", file, place + 8)
            for number in range(count):
                name, *_, value = struct.unpack_from("<IBBHQ", file, symbols + 16 * number)
                functions[_text(file, texts + name).removeprefix("_")] = value
        elif command == 0x80000022:  # relocations
            assert struct.unpack_from("<I", file, place + 12)[0] == 0, "the library has relocations"
        place += length
    return Image(bytes(content), functions)


def windows_image(file: bytes) -> Image:
    (start,) = struct.unpack_from("<I", file, 60)
    sections, options = struct.unpack_from("<H", file, start + 6)[0], struct.unpack_from("<H", file, start + 20)[0]
    optional = start + 24
    content = bytearray(struct.unpack_from("<I", file, optional + 56)[0])
    assert struct.unpack_from("<I", file, optional + 112 + 8 * 5 + 4)[0] == 0, "the library has relocations"
    assert struct.unpack_from("<I", file, optional + 112 + 8 * 1 + 4)[0] == 0, "the library has imports"
    for number in range(sections):
        _, address, size, at = struct.unpack_from("<IIII", file, optional + options + 40 * number + 8)
        content[address : address + size] = file[at : at + size]
    (exports,) = struct.unpack_from("<I", file, optional + 112)
    count, addresses, names, places = struct.unpack_from("<4I", content, exports + 24)
    functions = {}
    for number in range(count):
        (name,), (place,) = (
            struct.unpack_from("<I", content, names + 4 * number),
            struct.unpack_from("<H", content, places + 2 * number),
        )
        functions[_text(content, name)] = struct.unpack_from("<I", content, addresses + 4 * place)[0]
    return Image(bytes(content), functions)


def _text(content: bytes | bytearray, start: int) -> str:
    return content[start : content.index(0, start)].decode()


class ArmLibrary:
    """An engine for 64-bit ARM, by qemu-user: every call is a process of its own."""

    width = 4

    def __init__(self, image: Image, folder: Path) -> None:
        self._functions = image.functions
        self._program = folder / "arm"
        header = struct.pack(
            "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 183, 1, PROGRAM + 65536, 64, 0, 0, 64, 56, 3, 0, 0, 0
        )
        parts = ((PROGRAM + 65536, _READ_PLAY_WRITE, 0), (IMAGE, image.content, 0), (MEMORY, b"", 1 << 24))
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
        qemu = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
        done = subprocess.run([str(qemu), self._program], input=bytes(content), stdout=subprocess.PIPE, check=True)
        assert len(done.stdout) == len(content)
        for one, place in zip(arrays, places, strict=True):
            if one.flags.writeable:
                one[...] = np.frombuffer(done.stdout, one.dtype, one.size, place).reshape(one.shape)


class WindowsLibrary:
    """An engine for Windows on x86-64, in this process."""

    def __init__(self, image: Image) -> None:
        size = -(-len(image.content) // 4096) * 4096
        self._memory = mmap.mmap(-1, size + 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._memory[: len(image.content)] = image.content
        self._memory[size : size + len(_AS_WINDOWS)] = _AS_WINDOWS
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._caller, self._functions = kind(self._start + size), image.functions
        self.width = self._caller(self._start + self._functions["lanes"], None)

    def bind(self, function: str, table: Any, arrays: tuple[NDArray[Any], ...]) -> Call:
        address = ctypes.c_void_p(self._start + self._functions[function])
        call = Call(self._caller, address, ctypes.addressof(table))  # type: ignore[arg-type]
        call.table, call.arrays = table, arrays
        return call
