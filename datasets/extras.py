"""Import the installed package that this checkout's folder shadows."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path


def import_installed(name: str) -> None:
    """Import the package `name` from outside this checkout in place of the folder; ModuleNotFoundError without one."""
    checkout = Path(__file__).resolve().parents[1]
    spec = PathFinder.find_spec(name, [entry for entry in sys.path if Path(entry).resolve() != checkout])
    for module in (name, f"{name}.{Path(__file__).stem}"):
        del sys.modules[module]
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
