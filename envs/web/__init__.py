"""The engine in a browser: its own compiled code as WebAssembly, and the scripts that play games with it."""

import json
from pathlib import Path

from ..engine import layout as at
from ..engine import native, workspace

STATIC = Path(__file__).parent / "static"
"""Folder of the scripts."""

ENGINE = "engine.wasm"
"""Name of the module on a page."""


def engine_module() -> bytes:
    """Return the libraries' WebAssembly, with the sizes of its arrays and their first contents as JSON in a section
    `layout`, which `engine.js` reads: `hidden` are the places of an observation's hidden numbers in `reals`."""
    memory, work = workspace(1)
    limits = (at.JOINT + at.JOINT_REALS * hip + at.LOWER for hip in (at.LEFT_HIP, at.RIGHT_HIP))
    sizes = {"reals": at.REALS, "integers": at.INTEGERS, "memory": len(memory), "rows": len(work)}
    layout = {**sizes, "work": work.ravel().tolist(), "hidden": [at.HEAD_TORQUE, *limits]}
    section = b"\x06layout" + json.dumps(layout).encode()
    length = bytes(len(section) >> shift & 127 | (shift < 28) << 7 for shift in range(0, 35, 7))
    return (native.LIBRARIES / "any.wasm").read_bytes() + b"\0" + length + section
