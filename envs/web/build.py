"""Builds `static/engine.wasm`, the engine as WebAssembly: python -m qwop.envs.web.build [FILE]

Needs `wasm-ld`, LLVM's linker (Debian: apt install lld). The only changes to numba's code: another target, software for
fused multiply-adds, and functions with plain parameters in front of numba's own. The module has a 32-bit memory, no
import and no allocation, so every browser since 2021 runs it.

`static/engine.json` says what the module was built from: a test compares it with the sources and, where the same tools
are installed, builds the module again.
"""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding as llvm

from ...common.errors import BadInput
from ...common.files import write_atomic
from ..engine import linking
from . import STATIC
from .fused import fused_code
from .kernels import ARRAYS, KERNELS, Compiled, compile_kernel

MODULE = STATIC / "engine.wasm"
ORIGIN = "engine.json"

LINKER = "wasm-ld"

PROCESSOR = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
"""Environment in which numba optimises alike on every machine; it reads this when it is imported."""

_TRIPLE = "wasm32-unknown-unknown"
_FEATURES = "+bulk-memory,+sign-ext,+nontrapping-fptoint"
_STACK = 65_536

_TYPES = {"float64": "double", "float32": "float", "int64": "i64", "int32": "i32"}

_OWN_CODE = f"""{fused_code("fused", False)}{fused_code("fused_pair", True)}
declare double @llvm.sqrt.f64(double)
define internal double @square_root(double %x) alwaysinline {{
  %root = call double @llvm.sqrt.f64(double %x)
  ret double %root
}}
"""


def build(path: Path) -> Path:
    """Write the module and, beside it, `engine.json`. Raises BadInput without the linker.

    This process needs `PROCESSOR` in its environment, or the module depends on the machine that builds it.
    """
    if shutil.which(LINKER) is None:
        raise BadInput(f"{LINKER}: not found; it comes with LLVM's linker lld (Debian: apt install lld)")
    if any(os.environ.get(name) != value for name, value in PROCESSOR.items()):
        raise BadInput(f"environment: expected {PROCESSOR}, so that the module does not depend on this processor")
    linking.whole = True
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(opt=3, features=_FEATURES)
    module = _linked([compile_kernel(kernel) for kernel in KERNELS], str(machine.target_data))
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    names = (*(kernel.__name__ for kernel in KERNELS), *ARRAYS, *(f"{name}_size" for name in ARRAYS))
    exports = [f"--export={name}" for name in names]
    with tempfile.TemporaryDirectory(prefix="qwop-web-") as folder:
        code, linked = Path(folder) / "engine.o", Path(folder) / "engine.wasm"
        code.write_bytes(machine.emit_object(module))
        subprocess.run(
            [LINKER, "-mwasm32", "--no-entry", "--strip-all", "--gc-sections", "-z", f"stack-size={_STACK}",
             *exports, "-o", linked, code],
            check=True,
        )  # fmt: skip
        write_atomic(path, linked.read_bytes())
    write_atomic(path.with_name(ORIGIN), json.dumps(origin(), indent=1) + "\n")
    return path


def origin() -> dict[str, str]:
    """Inputs of a module built now: the sources' digest and the tools' versions."""
    linker = subprocess.run([LINKER, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"sources": sources_digest(), "numba": numba.__version__, "llvmlite": llvmlite.__version__, "lld": linker}


def sources_digest() -> str:
    """Digest of the engine's sources and of the module's, without comments, docstrings and layout."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    own = [here / f"{name}.py" for name in ("build", "fused", "kernels")]
    for file in sorted([*(here.parent / "engine").glob("*.py"), *own]):
        tree = ast.parse(file.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                node.body = [part for part in node.body if not _is_text(part)]
        digest.update(f"{file.parent.name}/{file.name}\0{_described(tree)}\0".encode())
    return digest.hexdigest()


def _described(node: Any) -> str:
    """A syntax tree as text, the same in every version of Python: newer ones add fields, empty where unused."""
    if isinstance(node, list):
        return "[" + ",".join(map(_described, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = (f"{name}={_described(value)}" for name, value in ast.iter_fields(node) if value not in (None, []))
    return f"{type(node).__name__}({','.join(fields)})"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _linked(kernels: list[Compiled], layout: str) -> Any:
    """All kernels, the module's arrays and its own functions as one LLVM module."""
    header = f'target datalayout = "{layout}"\ntarget triple = "{_TRIPLE}"\n'
    module = llvm.parse_assembly(header + "\n".join(_globals() + [_entry(kernel) for kernel in kernels]))
    for kernel in kernels:
        part = llvm.parse_assembly(_for_the_web(kernel.code, header))
        for function in part.functions:
            if not function.is_declaration and function.name != kernel.symbol:
                function.linkage = "internal"
        module.link_in(part)
        module.get_function(kernel.symbol).linkage = "internal"
    module.verify()
    return module


def _for_the_web(code: str, header: str) -> str:
    """numba's code for the web's target, with functions of the module for what WebAssembly lacks."""
    code = re.sub(r"(?m)^target .*\n", "", code)
    code = re.sub(r"= common (local_unnamed_addr )?global", "= internal global", code)  # no common symbols there
    code = re.sub(r"(?m)^declare .*@(llvm\.fma\.\w+|llvm\.sqrt\.f64|sqrt)\(.*\n", "", code)
    for name, own in (("llvm.fma.f64", "fused"), ("llvm.fma.v2f64", "fused_pair"), ("sqrt", "square_root")):
        code = code.replace(f"@{name}(", f"@{own}(")
    return header + code + _OWN_CODE


def _globals() -> list[str]:
    lines = ["@nothing = internal global ptr null", "@fault = internal global ptr null"]
    for name, array in ARRAYS.items():
        kind = _TYPES[str(array.dtype)]
        contents = f"[{', '.join(f'{kind} {value}' for value in array.ravel())}]" if array.any() else "zeroinitializer"
        lines.append(f"@{name} = global [{array.size} x {kind}] {contents}, align 16")
        lines.append(f"@{name}_size = constant i32 {array.size}")
    return lines


def _entry(kernel: Compiled) -> str:
    """A function that calls numba's kernel with the module's arrays, spelled out as numba passes them, and its own
    whole numbers."""
    numbers = [name for name in kernel.parameters if name not in ARRAYS]
    arguments = ["ptr @nothing", "ptr @fault"]
    for name in kernel.parameters:
        arguments += _spelled_out(name) if name in ARRAYS else [f"i64 %{name}_wide"]
    kinds = ", ".join(argument.split()[0] for argument in arguments)
    widened = "".join(f"  %{name}_wide = zext i32 %{name} to i64\n" for name in numbers)
    return (
        f'declare i32 @"{kernel.symbol}"({kinds})\n'
        f"define void @{kernel.name}({', '.join(f'i32 %{name}' for name in numbers)}) {{\n{widened}"
        f'  call i32 @"{kernel.symbol}"({", ".join(arguments)})\n  ret void\n}}\n'
    )


def _spelled_out(name: str) -> list[str]:
    """An array as numba passes it: owner, parent, size, item's size, data, shape and strides."""
    array = ARRAYS[name]
    sizes = [f"i64 {number}" for number in (*array.shape, *array.strides)]
    return ["ptr null", "ptr null", f"i64 {array.size}", f"i64 {array.itemsize}", f"ptr @{name}", *sizes]


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in PROCESSOR.items()):
        os.execve(sys.executable, [sys.executable, "-m", __spec__.name, *sys.argv[1:]], {**os.environ, **PROCESSOR})
    try:
        made = build(Path(sys.argv[1]) if len(sys.argv) > 1 else MODULE)
    except BadInput as error:
        sys.exit(f"qwop.envs.web.build: {error}")
    print(f"{made}: {made.stat().st_size:,} bytes")
