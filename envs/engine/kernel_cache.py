"""The engine's compiled kernels on disk; see `common.kernel_cache`."""

import subprocess
from pathlib import Path
from typing import Any

from ...common.kernel_cache import KernelCache, KernelGroup
from . import linking

ENGINE = KernelGroup(
    "engine",
    (Path(__file__).parent,),
    "compiling the game's engine (once after installing or changing it; ten to twenty seconds) …",
)

LONGEST_COMPILING = 300
"""Seconds to wait for another process that compiles a kernel."""

being_compiled: dict[tuple[Any, ...], "subprocess.Popen[bytes]"] = {}
"""Signatures that other processes are compiling for this one; see `ahead`."""


def _wait_for(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(LONGEST_COMPILING)
    except subprocess.TimeoutExpired:
        process.kill()


class SharedKernelCache(KernelCache):
    """Cache of a kernel that other kernels call by its symbol."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if sig in being_compiled:
            _wait_for(being_compiled.pop(sig))
        found = None if linking.whole else super().load_overload(sig, target_context)
        if found is not None:
            linking.define(found.library, found.fndesc)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        if not linking.whole:
            super().save_overload(sig, data)
