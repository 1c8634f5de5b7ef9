"""LLVM code beside the kernels, which have no C library: processor, memory, Windows's stacks, fused multiply-add."""

_MEMORY = """
define VISIBLE ptr @memcpy(ptr %to, ptr %from, i64 %count) #0 {
start:
  br label %next
next:
  %i = phi i64 [ 0, %start ], [ %after, %copied ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %end, label %copied
copied:
  %source = getelementptr i8, ptr %from, i64 %i
  %target = getelementptr i8, ptr %to, i64 %i
  %byte = load i8, ptr %source
  store i8 %byte, ptr %target
  %after = add i64 %i, 1
  br label %next
end:
  ret ptr %to
}
define VISIBLE ptr @memset(ptr %to, i32 %value, i64 %count) #0 {
start:
  %byte = trunc i32 %value to i8
  br label %next
next:
  %i = phi i64 [ 0, %start ], [ %after, %set ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %end, label %set
set:
  %target = getelementptr i8, ptr %to, i64 %i
  store i8 %byte, ptr %target
  %after = add i64 %i, 1
  br label %next
end:
  ret ptr %to
}
define VISIBLE void @bzero(ptr %to, i64 %count) #0 {
  %done = call ptr @memset(ptr %to, i32 0, i64 %count)
  ret void
}
attributes #0 = { "no-builtins" nounwind }
"""

# cpuid's bits, in order of the questions: leaf 1 ecx (FMA, SSSE3, CX16, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX,
# F16C), leaf 7 ebx (BMI1, AVX2, BMI2), leaf 0x80000001 ecx (LZCNT), and what the system saves of the registers (SSE,
# AVX); for eight lanes leaf 7 ebx (AVX-512 F, DQ, CD, BW, VL), and AVX-512's registers.
_FUSED = sum(1 << bit for bit in (12, 9, 13, 19, 20, 22, 23, 27, 28, 29))
_WIDE = sum(1 << bit for bit in (3, 5, 8))
_WIDER = _WIDE | sum(1 << bit for bit in (16, 17, 28, 30, 31))
_SAVED, _SAVED_WIDER = 0x6, 0xE6

_CLOBBERED = "~{dirflag},~{fpsr},~{flags}"
_ASK = f'call %answer asm sideeffect "cpuid", "={{ax}},={{bx}},={{cx}},={{dx}},0,2,{_CLOBBERED}"'
_SAVED_BY_SYSTEM = f'call %saved asm sideeffect "xgetbv", "={{ax}},={{dx}},{{cx}},{_CLOBBERED}"'

_X86 = f"""
%answer = type {{ i32, i32, i32, i32 }}
%saved = type {{ i32, i32 }}
define EXPORT i32 @lanes() {{
  %basic = {_ASK}(i32 0, i32 0)
  %most = extractvalue %answer %basic, 0
  %known = icmp uge i32 %most, 7
  br i1 %known, label %one, label %none
one:
  %first = {_ASK}(i32 1, i32 0)
  %fused = extractvalue %answer %first, 2
  %fused_here = and i32 %fused, {_FUSED}
  %has_fused = icmp eq i32 %fused_here, {_FUSED}
  br i1 %has_fused, label %two, label %none
two:
  %extended = {_ASK}(i32 -2147483648, i32 0)
  %last = extractvalue %answer %extended, 0
  %has_more = icmp uge i32 %last, -2147483647
  br i1 %has_more, label %three, label %none
three:
  %more = {_ASK}(i32 -2147483647, i32 0)
  %more_c = extractvalue %answer %more, 2
  %zeros = and i32 %more_c, 32
  %has_zeros = icmp eq i32 %zeros, 32
  %seventh = {_ASK}(i32 7, i32 0)
  %wide = extractvalue %answer %seventh, 1
  %wide_here = and i32 %wide, {_WIDE}
  %has_wide = icmp eq i32 %wide_here, {_WIDE}
  %kept = {_SAVED_BY_SYSTEM}(i32 0)
  %registers = extractvalue %saved %kept, 0
  %some = and i32 %registers, {_SAVED}
  %has_some = icmp eq i32 %some, {_SAVED}
  %zeros_wide = and i1 %has_zeros, %has_wide
  %four = and i1 %zeros_wide, %has_some
  br i1 %four, label %fit, label %none
fit:
  %wider_here = and i32 %wide, {_WIDER}
  %has_wider = icmp eq i32 %wider_here, {_WIDER}
  %all = and i32 %registers, {_SAVED_WIDER}
  %has_all = icmp eq i32 %all, {_SAVED_WIDER}
  %eight = and i1 %has_wider, %has_all
  %count = select i1 %eight, i32 8, i32 4
  ret i32 %count
none:
  ret i32 0
}}
"""

_OTHERS = """
define EXPORT i32 @lanes() {
  ret i32 4
}
"""

# Windows grows a stack page by page; `rax` is the size that a function needs.
_STACK_PAGES = (
    "__chkstk:", "push %rcx", "push %rax", "cmp $$0x1000, %rax", "lea 24(%rsp), %rcx", "jb 1f",
    "2: sub $$0x1000, %rcx", "test %rcx, (%rcx)", "sub $$0x1000, %rax", "cmp $$0x1000, %rax", "ja 2b",
    "1: sub %rax, %rcx", "test %rcx, (%rcx)", "pop %rax", "pop %rcx", "ret",
)  # fmt: skip

_WINDOWS = "".join(f'module asm "{line.replace("$$", "$")}"\n' for line in (".globl __chkstk", *_STACK_PAGES)) + (
    "\n@_fltused = global i32 1\n"
)


def runtime(triple: str) -> str:
    """LLVM code for a system. `lanes()` says how many games its processor plays side by side; 0: it cannot play."""
    windows = "windows" in triple
    code = _X86 if triple.startswith("x86_64") else _OTHERS
    export = "dllexport" if windows else "default"
    visibility = "" if windows else "hidden"
    return (code + _MEMORY + windows * _WINDOWS).replace("EXPORT", export).replace("VISIBLE", visibility)


# Fused multiply-add for WebAssembly, which has none.
#
# a · b + c is rounded once: the product's exact error (Dekker 1971) and two exact sums leave a number and a small rest,
# which is rounded to odd before the last sum (Boldo and Melquiond 2008, "Emulation of a FMA and correctly rounded
# sums"). Exact as long as nothing overflows and no product's error is below the smallest double, which holds for the
# engine's sines and cosines, where alone it is used. The sign of a zero may differ; they never return such a zero.

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
