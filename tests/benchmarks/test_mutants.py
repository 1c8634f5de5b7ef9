"""The faults of the mutation test: each still has its place in the source, and tests beside it."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def module() -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))  # as for a script there
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "benchmarks" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    sys.path.remove(str(ROOT / "benchmarks"))
    return found


MUTANTS = module()


@pytest.mark.parametrize("mutant", MUTANTS.MUTANTS, ids=lambda mutant: mutant.name)
def test_every_fault_has_its_place_and_is_code(mutant: Any) -> None:
    source = (ROOT / mutant.file).read_text()
    changed = mutant.applied(source)
    assert changed != source
    ast.parse(changed)
    assert list((ROOT / MUTANTS.tests_beside(mutant)).glob("test_*.py"))


def test_a_fault_without_a_place_is_refused() -> None:
    mutant = MUTANTS.Mutant("nowhere", "finetune/loop.py", "no such line", "")
    with pytest.raises(ValueError, match="occurs 0 times"):
        mutant.applied("")
