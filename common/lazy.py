"""Public names that are imported when they are first used (PEP 562), and work that waits for an import."""

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    modules: for each public name, the module that defines it, relative to the package ('.envs.spec').
    """

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(modules[name], package), name)
        except ModuleNotFoundError as error:
            error.add_note(f"{package}.{name} needs the extra 'train': pip install 'qwop[train]'")
            raise
        setattr(sys.modules[package], name, value)  # the next use finds it without this function
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names


def import_quickly(module: str) -> ModuleType:
    """Import a module without garbage collection, and exempt its objects from later collections: they stay anyway.

    Collections would take a tenth of the import time of PyTorch and the like, and half a second at a program's end.
    """
    collecting, new = gc.isenabled(), module not in sys.modules
    gc.disable()
    try:
        imported = import_module(module)
        if new:
            gc.freeze()
        return imported
    finally:
        if collecting:
            gc.enable()


def when_imported(module: str, act: Callable[[], None]) -> None:
    """Call `act` once the module is imported: now if it is already, else right after its first import."""
    if module in sys.modules:
        act()
    else:
        sys.meta_path.insert(0, _Watcher(module, act))


class _Watcher(MetaPathFinder, Loader):
    """Finds a module as the other finders do, and acts once it has been executed. To look for it alone has no effect,
    so that code may ask whether it is installed."""

    def __init__(self, module: str, act: Callable[[], None]) -> None:
        self._module, self._act = module, act
        self._found: Loader | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next((one for finder in others if (one := finder.find_spec(fullname, path, target))), None)
        if spec is not None:
            self._found, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        assert self._found is not None
        return self._found.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert self._found is not None
        sys.meta_path.remove(self)
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._found
        self._found.exec_module(module)
        self._act()
