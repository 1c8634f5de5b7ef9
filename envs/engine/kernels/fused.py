"""Fused multiply-add for WebAssembly, which has none, as LLVM code.

a · b + c is rounded once: the product's exact error (Dekker 1971) and two exact sums leave a number and a small rest,
which is rounded to odd before the last sum (Boldo and Melquiond 2008, "Emulation of a FMA and correctly rounded sums").

Exact as long as nothing overflows and no product's error is below the smallest double, which holds for the engine's
sines and cosines, where alone it is used. The sign of a zero may differ; they never return such a zero.
"""

_SPLIT = "0x41A0000002000000"  # 2^27 + 1, as LLVM writes a double


class _Code:
    """Lines of LLVM code, on doubles or on pairs of them."""

    def __init__(self, pair: bool) -> None:
        self.pair = pair
        self.real, self.whole, self.truth = (f"<2 x {kind}>" if pair else kind for kind in ("double", "i64", "i1"))
        self.lines: list[str] = []

    def add(self, operation: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def on_reals(self, operation: str, a: str, b: str) -> str:
        return self.add(f"{operation} {self.real} {a}, {b}")

    def constant(self, kind: str, value: str) -> str:
        return f"<{kind} {value}, {kind} {value}>" if self.pair else value

    def sum(self, a: str, b: str) -> tuple[str, str]:
        """a + b and its error (Knuth)."""
        total = self.on_reals("fadd", a, b)
        of_b = self.on_reals("fsub", total, a)
        of_a = self.on_reals("fsub", total, of_b)
        return total, self.on_reals("fadd", self.on_reals("fsub", a, of_a), self.on_reals("fsub", b, of_b))

    def halves(self, a: str) -> tuple[str, str]:
        """a as a sum of two numbers whose products are exact (Veltkamp)."""
        scaled = self.on_reals("fmul", a, self.constant("double", _SPLIT))
        high = self.on_reals("fsub", scaled, self.on_reals("fsub", scaled, a))
        return high, self.on_reals("fsub", a, high)

    def product(self, a: str, b: str) -> tuple[str, str]:
        """a · b and its error (Dekker)."""
        result = self.on_reals("fmul", a, b)
        (a_high, a_low), (b_high, b_low) = self.halves(a), self.halves(b)
        error = self.on_reals("fsub", self.on_reals("fmul", a_high, b_high), result)
        error = self.on_reals("fadd", error, self.on_reals("fmul", a_high, b_low))
        error = self.on_reals("fadd", error, self.on_reals("fmul", a_low, b_high))
        return result, self.on_reals("fadd", error, self.on_reals("fmul", a_low, b_low))

    def to_odd(self, total: str, error: str) -> str:
        """An inexact sum whose last bit is even, moved by one unit of the last place towards the error."""
        of_total = self.add(f"bitcast {self.real} {total} to {self.whole}")
        of_error = self.add(f"bitcast {self.real} {error} to {self.whole}")
        one, zero = self.constant("i64", "1"), self.constant("i64", "0")
        signs = self.add(f"xor {self.whole} {of_total}, {of_error}")
        differ = self.add(f"ashr {self.whole} {signs}, {self.constant('i64', '63')}")
        step = self.add(f"or {self.whole} {differ}, {one}")  # 1 away from zero, -1 towards it
        moved = self.add(f"add {self.whole} {of_total}, {step}")
        last = self.add(f"and {self.whole} {of_total}, {one}")
        even = self.add(f"icmp eq {self.whole} {last}, {zero}")
        inexact = self.add(f"fcmp une {self.real} {error}, {self.constant('double', '0.0')}")
        move = self.add(f"and {self.truth} {even}, {inexact}")
        odd = self.add(f"select {self.truth} {move}, {self.whole} {moved}, {self.whole} {of_total}")
        return self.add(f"bitcast {self.whole} {odd} to {self.real}")


def fused_code(name: str, pair: bool) -> str:
    """An LLVM function `name`(a, b, c) on doubles, or on pairs of doubles."""
    code = _Code(pair)
    product, error = code.product("%a", "%b")
    high, low = code.sum("%c", error)
    higher, lower = code.sum(product, high)
    result = code.on_reals("fadd", higher, code.to_odd(*code.sum(low, lower)))
    body = "\n".join(code.lines)
    parameters = ", ".join(f"{code.real} %{letter}" for letter in "abc")
    return (
        f"define internal {code.real} @{name}({parameters}) alwaysinline {{\n{body}\n  ret {code.real} {result}\n}}\n"
    )
