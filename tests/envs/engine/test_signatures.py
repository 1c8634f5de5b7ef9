"""Numba's functions remember their signatures while kernels compile, and only then."""

import operator

import pytest
from numba.core import errors, types
from numba.core.registry import cpu_target
from numba.core.types.functions import BaseFunction
from qwop.envs.engine import signatures

ARGUMENTS = types.float64, types.int64


@pytest.fixture
def context():
    context = cpu_target.typing_context
    context.refresh()
    return context


def test_a_signature_is_numbas_own_and_found_once(context, monkeypatch):
    times, searched, find = context.resolve_value_type(operator.mul), [], BaseFunction.get_call_type
    plain = times.get_call_type(context, ARGUMENTS, {})

    def counted(self, *arguments):
        searched.append(arguments)
        return find(self, *arguments)

    monkeypatch.setattr(signatures, "_found", {})
    monkeypatch.setattr(BaseFunction, "get_call_type", counted)
    with signatures.remembered():
        assert times.get_call_type(context, ARGUMENTS, {}) == plain
        with signatures.remembered():  # a kernel that another one calls
            assert times.get_call_type(context, ARGUMENTS, {}) == plain
        assert len(searched) == 1
    times.get_call_type(context, ARGUMENTS, {})
    assert len(searched) == 2


def test_numba_is_as_it_was_after_an_error(context):
    times = context.resolve_value_type(operator.mul)
    with pytest.raises(errors.TypingError), signatures.remembered():
        times.get_call_type(context, (types.float64, types.unicode_type), {})
    assert "get_call_type" not in vars(types.Function)
