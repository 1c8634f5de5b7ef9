"""Mechanical faults for the mutation test: small changes, found in the syntax tree and made in the source's text."""

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip

DECLARATIONS = ("setting", "ramp", "precision", "num_envs")
"""Functions that declare a setting: their arguments are defaults and ranges, which a test would only repeat."""


@dataclass(frozen=True)
class Change:
    """A change of one place in a file: the bytes from `start` to `end` become `text`."""

    file: str
    line: int
    start: int
    end: int
    before: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}: {self.before} → {self.text or 'nothing'}"

    def applied(self, source: str) -> str:
        """The source with the change."""
        raw = source.encode()
        return (raw[: self.start] + self.text.encode() + raw[self.end :]).decode()


def sample(root: Path, folders: Sequence[str], count: int, seed: int) -> list[Change]:
    """So many random changes of the modules in these folders of `root`, in the order of their places.

    Modules of settings are left out: they hold defaults, which a test would only repeat.
    """
    files = sorted(path.relative_to(root) for folder in folders for path in (root / folder).rglob("*.py"))
    acting = [file for file in files if file.name != "settings.py"]
    every = [change for file in acting for change in changes(file.as_posix(), (root / file).read_text())]
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    return sorted(chosen, key=lambda change: (change.file, change.start, change.text))


def changes(file: str, source: str) -> list[Change]:
    """Every change of a module: comparisons and operators turned round, numbers and truth values changed, keywords and
    conditions dropped, statements removed. Annotations, texts, declared settings and what only checks are left alone.
    """
    tree = ast.parse(source)
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = source.encode()

    def place(node: ast.AST) -> tuple[int, int]:
        begin = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return begin, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, old: str, new: str) -> Change | None:
        """The operator between two operands, which may be in brackets of their own."""
        first, last = place(left)[1], place(right)[0]
        at = raw[first:last].find(old.encode())
        return None if at < 0 else made(left, first + at, first + at + len(old), new)

    def made(node: ast.AST, start: int, end: int, text: str) -> Change | None:
        before = raw[start:end].decode()
        if "\n" in before:
            before = before.partition("\n")[0] + " …"
        change = Change(file, node.lineno, start, end, before, text)  # type: ignore[attr-defined]
        try:
            ast.parse(change.applied(source))
        except SyntaxError:
            return None
        return change

    found = []
    for node in _code(tree):
        start, end = place(node) if hasattr(node, "lineno") else (0, 0)
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for i, operator in enumerate(node.ops):
                old = ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))[1:-1].strip()
                found.append(between(operands[i], operands[i + 1], old, COMPARISONS[type(operator)]))
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            old = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b")))[1:-1].strip()
            found.append(between(node.left, node.right, old, OPERATORS[type(node.op)]))
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            found += [between(a, b, old, new) for a, b in zip(node.values, node.values[1:], strict=False)]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            found.append(made(node, start, place(node.operand)[0], ""))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            found.append(made(node, start, end, str(not node.value)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            found.append(made(node, start, end, repr(node.value + 1 if isinstance(node.value, int) else _other(node))))
        elif isinstance(node, ast.Call):
            found += [made(one, *_with_comma(raw, *place(one)), "") for one in node.keywords if one.arg]
        elif isinstance(node, ast.If | ast.IfExp):
            found += [made(node, *place(node.test), str(value)) for value in (True, False)]
        elif _removable(node):
            found.append(made(node, start, end, "pass"))
    return [change for change in found if change is not None]


def _other(node: ast.Constant) -> float:
    return float(node.value) * 2 if node.value else 1.0  # type: ignore[arg-type]


def _with_comma(raw: bytes, start: int, end: int) -> tuple[int, int]:
    """The place of an argument with the comma before it, or after it where it is the first."""
    before = start
    while raw[before - 1 : before].isspace():
        before -= 1
    if raw[before - 1 : before] == b",":
        return before - 1, end
    return (start, end + 1) if raw[end : end + 1] == b"," else (start, end)


def _removable(node: ast.AST) -> bool:
    """True for statements whose absence leaves every name defined."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom)
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that do something; what is inside assertions, errors, annotations and declarations is left out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DECLARATIONS:
        return
    yield node
    if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        if isinstance(node, ast.FunctionDef) and node.name == "check_valid":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child)
