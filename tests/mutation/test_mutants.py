"""The faults of the mutation test: each still has its place in the source, and tests beside it."""

import ast
from pathlib import Path
from typing import Any

import pytest

from ..benchmarks.scripts import ROOT, load_script

MUTANTS = load_script("mutants", Path(__file__).parent)


@pytest.mark.parametrize("mutant", MUTANTS.FAULTS, ids=lambda mutant: mutant.name)
def test_every_fault_has_its_place_and_is_code(mutant: Any) -> None:
    source = (ROOT / mutant.file).read_text()
    changed = mutant.applied(source)
    assert changed != source
    ast.parse(changed)
    assert list((ROOT / MUTANTS.tests_beside(mutant)).glob("test_*.py"))


def test_no_module_is_imported_before_it_is_changed() -> None:
    assert set(MUTANTS.preloaded(MUTANTS.FAULTS)) > set(MUTANTS.LIBRARIES)
    for file in ("policies/scaling.py", "common/files.py", "datasets/editing/drop.py"):
        fault = MUTANTS.Mutant("one", file, "", "")
        assert MUTANTS.preloaded([*MUTANTS.FAULTS, fault]) == MUTANTS.LIBRARIES


def test_a_fault_without_a_place_is_refused() -> None:
    mutant = MUTANTS.Mutant("nowhere", "finetune/loop.py", "no such line", "")
    with pytest.raises(ValueError, match="occurs 0 times"):
        mutant.applied("")
