"""Public names that are imported when they are first used (PEP 562)."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import resolve_name
from types import ModuleType
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    modules: for each public name, the module that defines it, relative to the package ('.envs.spec'). A module of the
    same name is itself the value (`make_callable`).
    """

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(modules[name], package)
            value = module if modules[name] == f".{name}" else getattr(module, name)
        except ModuleNotFoundError as error:
            error.add_note(f"{package}.{name} needs the extra 'train': pip install 'qwop[train]'")
            raise
        setattr(sys.modules[package], name, value)  # the next use finds it without this function
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names


def make_callable(module: str, place: str) -> None:
    """Let a module be called as the function at this place ('qwop.api:finetune'): both have one name.

    Python puts a subpackage in the place of a function of the same name whenever it imports the subpackage.
    """

    class CallableModule(ModuleType):
        def __call__(self, *arguments: Any, **settings: Any) -> Any:
            return resolve_name(place)(*arguments, **settings)

        @property
        def __signature__(self) -> Any:
            from inspect import signature

            return signature(resolve_name(place))

    sys.modules[module].__class__ = CallableModule
