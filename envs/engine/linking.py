"""Joining kernels to programs with less compiling than numba does by itself.

Numba optimises and assembles every kernel that others call, although only the code of the whole is used, and does it
again in each caller. Here a part (`Part`) stays as it is until the kernel that Python calls is compiled with it. A
shared kernel (`Shared`) is compiled once, by itself, and called like a function of a library: its callers' code has a
call of a symbol, `symbol_of`, which is defined before they are compiled or loaded.
"""

import hashlib
from functools import partial
from importlib import import_module
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from .indices import not_negative
from .signatures import remembered

whole = False
"""True where a kernel's code has to be complete: all is compiled as numba does by itself. Set it before that."""


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of a kernel and of the parts that it calls, neither optimised nor assembled."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):  # type: ignore[misc]
    _name = "qwop_part_lowering"

    def run_pass(self, state: Any) -> bool:
        if whole:
            return bool(NativeLowering.run_pass(self, state))
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library.finalize()
        lowered, described = state["cr"], state["cr"].fndesc
        # Numba wants a function that Python could call; nobody does.
        function = _dynfunc.make_function(
            described.lookup_module(), described.qualname, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(function, described, [state.library])
        state["cr"] = lowered._replace(cfunc=function)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _SharedLowering(_PartLowering):
    _name = "qwop_shared_lowering"

    def run_pass(self, state: Any) -> bool:
        NativeLowering.run_pass(self, state)
        if whole:
            return True
        library, described = state.library, state["cr"].fndesc
        library._shared_module = _forwarding(state.targetctx, library, described)
        define(library, described)
        return True


def symbol_of(described: Any) -> str:
    """Return the symbol of a shared kernel, the same in every process."""
    kinds = hashlib.sha256(str(described.argtypes).encode()).hexdigest()[:16]
    return f"qwop.{described.modname}.{described.qualname}.{kinds}"


def define(library: Any, described: Any) -> None:
    """Define the symbol of a shared kernel that has been compiled or loaded."""
    llvm.add_symbol(symbol_of(described), library.get_pointer_to_function(described.llvm_func_name))
    # A caller that is loaded from the disk loads the kernel first.
    library._reload_init.add(partial(_load, described.modname, described.qualname, tuple(described.argtypes)))


def _load(module: str, name: str, kinds: tuple[Any, ...]) -> None:
    getattr(import_module(module), name).compile(kinds)


def _forwarding(context: Any, library: Any, described: Any) -> Any:
    """The code that callers are linked with: a function of numba's name that calls the symbol."""
    module = library._codegen._create_empty_module(described.qualname)
    function = context.declare_function(module, described)
    function.linkage = "linkonce_odr"
    function.attributes.add("alwaysinline")
    shared = ir.Function(module, function.function_type, symbol_of(described))
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.call(shared, function.args))
    return llvm.parse_assembly(str(module))


def _with(lowering: type) -> Any:
    """Numba's compiler with another last step, which remembers signatures and takes indices as they are."""

    def compile_extra(self: Any, function: Any) -> Any:
        with remembered(), not_negative():
            return super(compiler, self).compile_extra(function)  # type: ignore[arg-type]

    def define_pipelines(self: Any) -> Any:
        pipelines = super(compiler, self).define_pipelines()  # type: ignore[arg-type]
        for pipeline in pipelines:
            pipeline.passes = [(lowering if one is NativeLowering else one, why) for one, why in pipeline.passes]
            pipeline._finalized = False
            pipeline.finalize()
        return pipelines

    members = {"define_pipelines": define_pipelines, "compile_extra": compile_extra}
    compiler = type("_Compiler", (Compiler,), members)
    return compiler


Whole = _with(NativeLowering)
Part = _with(_PartLowering)
Shared = _with(_SharedLowering)
