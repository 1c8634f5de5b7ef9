"""Scripts of `benchmarks/` and other folders as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def load_script(name: str, folder: Path = ROOT / "benchmarks") -> ModuleType:
    """Import the script of this name, which finds its neighbours as when it is run."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    sys.path.remove(str(folder))
    return module
