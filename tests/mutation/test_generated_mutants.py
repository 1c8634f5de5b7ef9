"""Mechanical mutants: which changes are made of a source, and which are not."""

import ast
from pathlib import Path

import pytest

from ..benchmarks.scripts import ROOT, load_script

MADE = load_script("generated_mutants", Path(__file__).parent)


def mutants(source: str) -> list[str]:
    """Mutants of the source."""
    return [change.applied(source) for change in MADE.changes("some.py", source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = a is not b", ["x = a is b"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = a < b == c", ["x = a <= b == c", "x = a < b != c"]),
        ("x = (a + b) * (c)", ["x = (a + b) / (c)", "x = (a - b) * (c)"]),
        ("x = a and b and c", ["x = a or b and c", "x = a and b or c"]),
        ("x = not a", ["x = a"]),
        ("x = -a", ["x = a"]),
        ("x = True", ["x = False"]),
        ("x = 3", ["x = 4"]),
        ("x = 0.5", ["x = 1.0"]),
        ("x = 0.0", ["x = 1.0"]),
        ("x = f(a, key=b)", ["x = f(a)"]),
        ("x = f(key=b, other=c)", ["x = f( other=c)", "x = f(key=b)"]),
        ("x = a if b else c", ["x = a if True else c", "x = a if False else c"]),
        ("f(a)", ["pass"]),
        ("x.y = a", ["pass"]),
        ("x += a", ["pass"]),
        ("raise ValueError(f'{a + b} of {1}')", ["pass"]),
        ("π = 'ß'; x = a + b", ["π = 'ß'; x = a - b"]),
    ],
)
def test_changes_of_a_source(source: str, expected: list[str]) -> None:
    assert sorted(mutants(source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        "x: Literal[3] = y",
        "'''Three < four.'''",
        "assert a < b",
        "x = setting(0.99, 'Discount.', at_least=0)",
        "x = y",
        "def check_valid(self):\n    if a < b: pass",
        "x = f'{a + 1}'",
    ],
)
def test_what_says_nothing_about_behaviour_is_left_alone(source: str) -> None:
    assert mutants(source) == []


def test_samples_are_of_the_folders_the_same_for_a_seed_and_code() -> None:
    chosen = MADE.sample(ROOT, ["finetune/replay", "finetune/agents/vtrace"], 20, 3)
    assert chosen == MADE.sample(ROOT, ["finetune/replay", "finetune/agents/vtrace"], 20, 3)
    assert len({(change.file, change.start, change.text) for change in chosen}) == 20
    assert {change.file.split("/")[1] for change in chosen} == {"replay", "agents"}
    assert not any(change.file.endswith("settings.py") for change in chosen)
    for change in chosen:
        source = (ROOT / change.file).read_text()
        assert ast.dump(ast.parse(change.applied(source))) != ast.dump(ast.parse(source))
        assert str(change.line) in change.name
