import ctypes
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from llvmlite import binding as llvm
from qwop.envs.engine.kernels.fused import fused_code

Fused = Callable[[float, float, float], float]

# Sums and products of the engine's sines lie far inside of these.
NUMBERS = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)
CLOSE = st.integers(-(2**53), 2**53).map(lambda n: n * 2.0**-52)


@pytest.fixture(scope="module", params=["fused", "fused_pair"])
def fused(request: pytest.FixtureRequest) -> Fused:
    """The LLVM code, compiled for this machine; of a pair, its second number."""
    pair = request.param == "fused_pair"
    body = (
        """
        %x = insertelement <2 x double> <double 3.0, double 0.0>, double %a, i32 1
        %y = insertelement <2 x double> <double 5.0, double 0.0>, double %b, i32 1
        %z = insertelement <2 x double> <double 7.0, double 0.0>, double %c, i32 1
        %both = call <2 x double> @f(<2 x double> %x, <2 x double> %y, <2 x double> %z)
        %r = extractelement <2 x double> %both, i32 1
        """
        if pair
        else "%r = call double @f(double %a, double %b, double %c)"
    )
    code = fused_code("f", pair) + f"define double @g(double %a, double %b, double %c) {{\n{body}\nret double %r\n}}\n"
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(code), machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(*[ctypes.c_double] * 4)(engine.get_function_address("g"))

    def call(a: float, b: float, c: float) -> float:
        assert engine  # which owns the code
        return float(function(a, b, c))

    return call


@given(a=st.one_of(NUMBERS, CLOSE), b=st.one_of(NUMBERS, CLOSE), c=st.one_of(NUMBERS, CLOSE))
@example(a=1 + 2**-52, b=1 - 2**-53, c=-1.0)  # all but the error cancels
@example(a=1 + 2**-27, b=1 + 2**-27, c=2.0**53)  # a tie but for the last bit of the product
@example(a=1 + 2**-27, b=-1 - 2**-27, c=2.0**53)
@settings(max_examples=500, deadline=None)
def test_a_product_and_a_sum_are_rounded_once(fused: Fused, a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert fused(a, b, c) == float(exact)


@given(a=CLOSE, b=CLOSE)
@settings(max_examples=200, deadline=None)
def test_the_error_of_a_product_comes_out(fused: Fused, a: float, b: float) -> None:
    assert fused(a, b, -(a * b)) == float(Fraction(a) * Fraction(b) - Fraction(a * b))


def test_rounding_twice_would_show(fused: Fused) -> None:
    a, c = 1 + 2.0**-30, -(1 + 2.0**-29)
    assert a * a + c == 0
    assert fused(a, a, c) == 2.0**-60
