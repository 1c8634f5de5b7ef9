"""Builds the engine's libraries and its WebAssembly: python -m qwop.envs.engine.build [FOLDER]

Needs the extra `build` (numba, llvmlite) and Debian's lld 14 (apt install lld-14). numba makes LLVM code of the
kernels, once; LLVM optimises it for each system, and lld links it. A library has no import: `runtime` has what a C
library would do. WebAssembly gets software for fused multiply-adds, a 32-bit memory and no import, so every browser
since 2021 runs it.

`lib/origin.json` says what the files were built from. A test compares it with the sources and, where the same tools are
installed, builds the files again.
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
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite import binding as llvm
from numba.core import types

from ...common.errors import BadInput
from ...common.files import write_atomic
from .interface import KERNELS, symbol
from .kernels import decisions, features, game, learning, raster, rewards
from .kernels.compiled import code_alone, code_of
from .kernels.runtime import fused_code, runtime

HERE = Path(__file__).parent
LIBRARIES = HERE / "lib"
ORIGIN = "origin.json"

ENVIRONMENT = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_OPT": "0", "PYTHONHASHSEED": "0"}
"""numba reads these when it is imported: its code does not depend on the machine that builds."""

_MODULES = (decisions, game, features, rewards, raster, learning)
"""Place of the functions of `interface.KERNELS`."""

_SIZES = {"f8": "double", "f4": "float", "i8": "i64", "i4": "i32", "u1": "i8", "b1": "i8"}


class Target(NamedTuple):
    """A file of `lib`. parts: the processors of its machine code, with their features and lanes. plain: the processor
    of the code that runs before the processor is known. options: of the linker."""

    file: str
    triple: str
    parts: tuple[tuple[str, str, tuple[int, ...]], ...]
    linker: str
    options: str
    plain: str = "generic"


_X86 = (("x86-64-v3", "", (1, 4)), ("x86-64-v4", "-prefer-256-bit", (8,)))
_ELF = "-shared --gc-sections -z defs -s --build-id=none --hash-style=gnu -o {out}"

TARGETS = (
    Target("x86_64-linux.so", "x86_64-unknown-linux-gnu", _X86, "ld.lld", _ELF, "x86-64"),
    Target("aarch64-linux.so", "aarch64-unknown-linux-gnu", (("generic", "", (1, 4)),), "ld.lld", _ELF),
    Target(
        "arm64-macos.dylib", "arm64-apple-macosx11.0.0", (("apple-m1", "", (1, 4)),), "ld64.lld",
        "-dylib -arch arm64 -platform_version macos 11.0 11.0 -dead_strip -adhoc_codesign "
        "-install_name @rpath/engine.dylib -o {out} {system}",
    ),
    Target(
        "x86_64-windows.dll", "x86_64-pc-windows-msvc", _X86, "lld-link",
        "/dll /noentry /nodefaultlib /Brepro /nologo /opt:ref /out:{out}", "x86-64",
    ),
    Target(
        "any.wasm", "wasm32-unknown-unknown",
        (("generic", "+bulk-memory,+sign-ext,+nontrapping-fptoint", (1,)),), "wasm-ld",
        "--no-entry --strip-all --gc-sections -z stack-size=65536 --export=__heap_base -o {out}",
    ),
)  # fmt: skip

_SYSTEM = """--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports: []
...
"""
"""macOS loads no library that needs no other."""


@cache
def _code(name: str, trigonometry: str, width: int) -> tuple[str, str]:
    """numba's symbol of a kernel in so many lanes, and LLVM code that defines it."""
    kinds = [_type_of(one.dtype, one.dimensions) for one in KERNELS[name].parameters]
    if KERNELS[name].forms:
        kinds.insert(0, types.UniTuple(types.int64 if trigonometry == "current" else types.float64, width))
    function = next(getattr(one, name) for one in _MODULES if hasattr(one, name))
    with code_alone():
        own, module = code_of(function, tuple(kinds))
    return own, str(module)


def _library(target: Target, folder: Path, linker: str) -> bytes:
    """The file of a target."""
    objects, exported = [], []
    for number, (cpu, flags, widths) in enumerate(target.parts):
        kernels = []
        for name, kernel in KERNELS.items():
            forms = dict.fromkeys((one, width or max(widths)) for one, width in kernel.forms or (("", 1),))
            for trigonometry, width in forms:
                if width in widths and (width < 8 or trigonometry == "current"):
                    own, code = _code(name, trigonometry, width)
                    exported.append(symbol(name, trigonometry, width))
                    entry = _entry(exported[-1], own, name, trigonometry, width, target.triple)
                    kernels.append((own, code, entry))
        objects.append(_object(folder / f"{number}.o", _machine(target.triple, cpu, flags), target.triple, kernels))
    options = target.options
    if target.triple.startswith("wasm"):
        options += "".join(f" --export={name}" for name in exported)
    else:
        machine = _machine(target.triple, target.plain)
        objects.append(folder / "runtime.o")
        module = llvm.parse_assembly(_head(machine, target.triple) + runtime(target.triple))
        objects[-1].write_bytes(machine.emit_object(module))
    out, system = folder / target.file, folder / "system.tbd"
    system.write_text(_SYSTEM)
    filled = [one.format(out=out, system=system) for one in options.split()]
    subprocess.run([linker, *filled, *objects], check=True)
    return out.read_bytes()


def _type_of(dtype: str, dimensions: int) -> Any:
    kind = numba.from_dtype(np.dtype(dtype))
    return types.Array(kind, dimensions, "C") if dimensions else kind


def _machine(triple: str, cpu: str, features: str = "") -> Any:
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small"
    )


def _head(machine: Any, triple: str) -> str:
    return f'target datalayout = "{machine.target_data}"\ntarget triple = "{triple}"\n'


def _object(path: Path, machine: Any, triple: str, kernels: list[tuple[str, str, str]]) -> Path:
    """Optimise kernels (their symbols, code and entries) as one module, and write its object file."""
    head = _head(machine, triple)
    module = llvm.parse_assembly(head + "@fault = internal global ptr null\n" + "".join(one for _, _, one in kernels))
    for own, code, _ in kernels:
        part = llvm.parse_assembly(head + _adapted(code, triple))
        for function in part.functions:
            if not function.is_declaration and function.name != own:
                function.linkage = "linkonce_odr"
        module.link_in(part)
    for function in module.functions:
        if not function.is_declaration and function.name.startswith("_ZN"):
            function.linkage = "internal"
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = not triple.startswith("wasm")
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    path.write_bytes(machine.emit_object(module))
    return path


def _adapted(code: str, triple: str) -> str:
    """numba's code without its target, and with LLVM's own square root and floor for the C library's."""
    code = re.sub(r"(?m)^target .*\n", "", code)
    code = re.sub(r"= common (local_unnamed_addr )?global", "= internal global", code)
    for name, kind in (("sqrt", "f64"), ("sqrtf", "f32"), ("floor", "f64")):
        code = re.sub(rf"@{name}\(", f"@llvm.{name.removesuffix('f') if kind == 'f32' else name}.{kind}(", code)
    declared = re.findall(r"(?m)^declare .*\n", code)
    code = re.sub(r"(?m)^declare .*\n", "", code)
    one_each = {re.search(r"@([^(]+)\(", line)[1]: line for line in declared}  # type: ignore[index]
    if triple.startswith("wasm"):
        for name, own in (("llvm.fma.f64", "fused"), ("llvm.fma.v2f64", "fused_pair")):
            one_each.pop(name, None)
            code = code.replace(f"@{name}(", f"@{own}(")
        code += fused_code("fused", False) + fused_code("fused_pair", True)
    return code + re.sub(r" #\d+", "", "".join(one_each.values()))


def _entry(exported: str, own: str, name: str, trigonometry: str, width: int, triple: str) -> str:
    """A function that calls numba's kernel with what the table holds, spelled out as numba passes it."""
    lines, arguments, place = [], ["ptr %status", "ptr @fault"], 0
    if KERNELS[name].forms:
        arguments += ["i64 0" if trigonometry == "current" else "double 0.0"] * width

    def number(kind: str) -> str:
        nonlocal place
        lines.append(f"  %at{place} = getelementptr i64, ptr %table, i64 {place}")
        lines.append(f"  %n{place} = load {kind}, ptr %at{place}")
        place += 1
        return f"%n{place - 1}"

    for parameter in KERNELS[name].parameters:
        size = int(parameter.dtype[1])
        if not parameter.dimensions:
            kind = _SIZES[parameter.dtype]
            arguments.append(f"{kind} {number(kind)}")
            continue
        data = number("i64")
        lines.append(f"  %p{place} = inttoptr i64 {data} to ptr")
        pointer = f"%p{place}"
        shape = [number("i64") for _ in range(parameter.dimensions)]
        strides: list[str] = []
        step = str(size)
        for dimension in reversed(shape):
            strides.insert(0, step)
            lines.append(f"  %s{place}_{len(strides)} = mul i64 {step}, {dimension}")
            step = f"%s{place}_{len(strides)}"
        lines.append(f"  %c{place} = udiv exact i64 {step}, {size}")
        sizes = [f"i64 %c{place}", f"i64 {size}", f"ptr {pointer}"]
        arguments += ["ptr null", "ptr null", *sizes, *(f"i64 {one}" for one in (*shape, *strides))]
    kinds = ", ".join(one.split()[0] for one in arguments)
    body = "\n".join(["  %status = alloca i64", *lines])
    storage = "dllexport" if "windows" in triple else ""
    return (
        f'declare i32 @"{own}"({kinds})\ndefine {storage} void @{exported}(ptr %table) {{\n{body}\n'
        f'  call i32 @"{own}"({", ".join(arguments)})\n  ret void\n}}\n'
    )


def linker_of(target: Target) -> str | None:
    """Path of a target's linker; None if it is not installed."""
    return shutil.which(f"{target.linker}-14") or shutil.which(target.linker)


def build() -> dict[str, bytes]:
    """Return the contents of the targets' files. BadInput without a linker."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    contents = {}
    with tempfile.TemporaryDirectory(prefix="qwop-engine-") as name:
        for target in TARGETS:
            if (linker := linker_of(target)) is None:
                raise BadInput(
                    f"{target.linker}: not found; it comes with LLVM's linker lld (Debian: apt install lld-14)"
                )
            contents[target.file] = _library(target, Path(name), linker)
    return contents


def origin() -> dict[str, str]:
    """Inputs of the files if they were built now: the sources' digest and the tools' versions."""
    linker = subprocess.run(
        [linker_of(TARGETS[0]) or "ld.lld", "--version"], capture_output=True, text=True, check=True
    ).stdout
    return {
        "sources": sources_digest(),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "numpy": np.__version__.split(".")[0],
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "lld": re.search(r"LLD [\d.]+", linker)[0],  # type: ignore[index]
    }


def sources_digest(folder: Path = HERE) -> str:
    """Digest of the sources without comments, docstrings and layout; it differs between versions of Python."""
    digest = hashlib.sha256()
    own = [folder / f"{name}.py" for name in ("batch", "bodies", "build", "interface", "layout", "workspace")]
    for file in [*sorted((folder / "kernels").glob("*.py")), *own]:
        tree = ast.parse(file.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                node.body = [part for part in node.body if not _is_text(part)]
        digest.update(f"{file.parent.name}/{file.name}\0{ast.dump(tree)}\0".encode())
    return digest.hexdigest()


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def main() -> None:
    """Build everything into the checkout, or into another folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else LIBRARIES
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in build().items():
        write_atomic(folder / name, content)
        print(f"{folder / name}: {len(content):,} bytes")
    write_atomic(folder / ORIGIN, json.dumps(origin(), indent=1) + "\n")


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        os.execve(sys.executable, [sys.executable, "-m", __spec__.name, *sys.argv[1:]], {**os.environ, **ENVIRONMENT})
    try:
        main()
    except BadInput as error:
        sys.exit(f"qwop.envs.engine.build: {error}")
