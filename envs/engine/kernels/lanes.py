"""Numbers side by side: one instruction works on the same number of several games.

A `Lanes` value holds one float64 (or one truth) of each of `width` games, and kernels calculate with it as with a plain
number; in machine code it is a vector. Every operation rounds each lane as it would round the number alone, so a game
is the same in any lane and at any width. A single lane is the plain number itself: the same code serves one and many.

The number of lanes is passed to a kernel as a tuple of that many zeros (`ONE_LANE`, `FOUR_LANES`), whose length the
compiler knows.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

ONE_LANE, FOUR_LANES, EIGHT_LANES = (0,), (0,) * 4, (0,) * 8
"""Four: as many numbers as a register holds with AVX, or two on ARM; eight: with AVX-512."""

# Functions that kernels call have no types but those that numba infers.
_operation: Callable[..., Any] = intrinsic

_WHOLE = ir.IntType(64)
_PLACE = ir.IntType(32)


class Lanes(types.Type):  # type: ignore[misc]
    """The type of `width` values of type `element`: float64 or boolean."""

    def __init__(self, element: types.Type, width: int) -> None:
        self.element, self.width = element, width
        super().__init__(f"Lanes({element} x {width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Lanes) -> None:
        element = ir.IntType(1) if kind.element == types.boolean else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(element, kind.width))


def _lanes_or_one(element: types.Type, width: int) -> types.Type:
    return element if width == 1 else Lanes(element, width)


def _width_of(*kinds: types.Type) -> int:
    """The width that an operation on these types works in; plain numbers go into every lane."""
    return max(kind.width if isinstance(kind, Lanes) else 1 for kind in kinds)


# --- Operators ---


def _define_binary(function: Any, build: Callable[[ir.IRBuilder, Any, Any], Any], *, truth: bool = False) -> None:
    """Define an operator on lanes, or on lanes and plain numbers. `truth`: True if its result is a mask."""

    @type_callable(function)
    def _type(context: Any) -> Any:
        def typer(first: types.Type, second: types.Type) -> types.Type | None:
            wide = [kind for kind in (first, second) if isinstance(kind, Lanes)]
            if not wide:
                return None
            return Lanes(types.boolean, wide[0].width) if truth else wide[0]

        return typer

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = _width_of(*signature.args)
        first, second = _widened(context, builder, arguments, signature.args, width)
        return build(builder, first, second)

    for pair in ((Lanes, Lanes), (Lanes, types.Number), (types.Number, Lanes)):
        lower_builtin(function, *pair)(lower)


def _define_unary(function: Any, build: Callable[[ir.IRBuilder, Any], Any]) -> None:
    @type_callable(function)
    def _type(context: Any) -> Any:
        return lambda value: value if isinstance(value, Lanes) else None

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build(builder, arguments[0])

    lower_builtin(function, Lanes)(lower)


for _function in (operator.add, operator.iadd):
    _define_binary(_function, lambda builder, a, b: builder.fadd(a, b))
for _function in (operator.sub, operator.isub):
    _define_binary(_function, lambda builder, a, b: builder.fsub(a, b))
_define_binary(operator.mul, lambda builder, a, b: builder.fmul(a, b))
_define_binary(operator.truediv, lambda builder, a, b: builder.fdiv(a, b))
_define_binary(min, lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b))
_define_binary(max, lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
_define_binary(operator.lt, lambda builder, a, b: builder.fcmp_ordered("<", a, b), truth=True)
_define_binary(operator.le, lambda builder, a, b: builder.fcmp_ordered("<=", a, b), truth=True)
_define_binary(operator.gt, lambda builder, a, b: builder.fcmp_ordered(">", a, b), truth=True)
_define_binary(operator.ge, lambda builder, a, b: builder.fcmp_ordered(">=", a, b), truth=True)
_define_binary(operator.eq, lambda builder, a, b: builder.fcmp_ordered("==", a, b), truth=True)
_define_binary(operator.ne, lambda builder, a, b: builder.fcmp_unordered("!=", a, b), truth=True)
_define_binary(operator.and_, lambda builder, a, b: builder.and_(a, b))
_define_binary(operator.or_, lambda builder, a, b: builder.or_(a, b))
_define_binary(operator.xor, lambda builder, a, b: builder.xor(a, b))
_define_unary(operator.neg, lambda builder, value: builder.fneg(value))
_define_unary(abs, lambda builder, value: _call(builder, "fabs", value))


# --- Functions ---


@_operation
def load(typing_context: Any, array: Any, place: Any, lanes: Any) -> Any:
    """`array[place : place + width]`, a number for each of the lanes."""
    kind = _lanes_or_one(types.float64, len(lanes))

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, array, arguments[0], arguments[1], context.get_value_type(kind))
        return builder.load(pointer, align=8)

    return kind(array, types.intp, lanes), lower


@_operation
def store(typing_context: Any, array: Any, place: Any, value: Any) -> Any:
    """`array[place : place + width] = value`, a number from each lane."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, array, arguments[0], arguments[1], context.get_value_type(value))
        builder.store(arguments[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), lower


@_operation
def spread(typing_context: Any, lanes: Any, number: Any) -> Any:
    """A number in every lane."""
    kind = _lanes_or_one(types.float64, len(lanes))

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _widened(context, builder, arguments[1:], [number], len(lanes))[0]

    return kind(lanes, number), lower


@_operation
def select(typing_context: Any, mask: Any, first: Any, second: Any) -> Any:
    """`first` in the lanes where `mask` is true, `second` in the others."""
    width = _width_of(mask, first, second)
    truth = getattr(first, "element", first) == types.boolean
    kind = _lanes_or_one(types.boolean if truth else types.float64, width)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(arguments[0], *_widened(context, builder, arguments[1:], (first, second), width))

    return kind(mask, first, second), lower


@_operation
def bits_of(typing_context: Any, mask: Any) -> Any:
    """A whole number with bit i set where lane i of `mask` is true."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.bitcast(arguments[0], ir.IntType(_width_of(mask))), _WHOLE)

    return types.int64(mask), lower


@_operation
def any_of(typing_context: Any, mask: Any) -> Any:
    """True if `mask` is true in any lane."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        packed = builder.bitcast(arguments[0], ir.IntType(_width_of(mask)))
        return builder.icmp_unsigned("!=", packed, packed.type(0))

    return types.boolean(mask), lower


@_operation
def fused(typing_context: Any, first: Any, second: Any, third: Any) -> Any:
    """first · second + third, rounded once (in software where the processor cannot)."""
    given = (first, second, third)
    width = _width_of(*given)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "fma", *_widened(context, builder, arguments, given, width))

    return _lanes_or_one(types.float64, width)(*given), lower


@_operation
def square_root(typing_context: Any, value: Any) -> Any:
    return value(value), lambda context, builder, signature, arguments: _call(builder, "sqrt", arguments[0])


@_operation
def with_sign_of(typing_context: Any, size: Any, sign: Any) -> Any:
    """The size of one number with the sign of the other."""
    return size(size, sign), lambda context, builder, signature, arguments: _call(builder, "copysign", *arguments)


@_operation
def joined(typing_context: Any, first: Any, second: Any) -> Any:
    """The lanes of the one, then those of the other: twice as many."""
    width = _width_of(first)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if width > 1:
            return _mixed(builder, arguments[0], arguments[1], range(2 * width))
        vector = ir.Constant(ir.VectorType(ir.DoubleType(), 2), ir.Undefined)
        for place, value in enumerate(arguments):
            vector = builder.insert_element(vector, value, _PLACE(place))
        return vector

    return Lanes(types.float64, 2 * width)(first, second), lower


@_operation
def split(typing_context: Any, both: Any) -> Any:
    """The two halves that `joined` joined."""
    width = _width_of(both) // 2
    pair = types.UniTuple(_lanes_or_one(types.float64, width), 2)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = arguments[0]
        if width > 1:
            halves = [_mixed(builder, value, value, range(start, start + width)) for start in (0, width)]
        else:
            halves = [builder.extract_element(value, _PLACE(place)) for place in range(2)]
        return context.make_tuple(builder, pair, halves)

    return pair(both), lower


@_operation(prefer_literal=True)  # type: ignore[untyped-decorator]
def bit(typing_context: Any, value: Any, place: Any) -> Any:
    """True if a bit of a float64's representation is set; bit 0 is the last of the mantissa."""
    position = place.literal_value

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = _representation(builder, arguments[0])
        return builder.icmp_unsigned("!=", builder.and_(whole, _all(whole.type, 1 << position)), _all(whole.type, 0))

    return _lanes_or_one(types.boolean, _width_of(value))(value, place), lower


@_operation(prefer_literal=True)  # type: ignore[untyped-decorator]
def masked(typing_context: Any, value: Any, bits: Any) -> Any:
    """A float64 with all other bits of its representation cleared."""
    kept = bits.literal_value

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = _representation(builder, arguments[0])
        return builder.bitcast(builder.and_(whole, _all(whole.type, kept)), arguments[0].type)

    return value(value, bits), lower


@_operation
def look_up(typing_context: Any, table: Any, place: Any) -> Any:
    """The four numbers of a row of `table`, float64 [128, 4]: the row that the last 7 bits of `place` select."""
    width = _width_of(place)
    four = types.UniTuple(_lanes_or_one(types.float64, width), 4)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = _representation(builder, arguments[1])
        chosen = builder.and_(whole, _all(whole.type, 127))
        row_type = ir.VectorType(ir.DoubleType(), 4)
        rows = []
        for lane in range(width):
            row = chosen if width == 1 else builder.extract_element(chosen, _PLACE(lane))
            pointer = _pointer(context, builder, table, arguments[0], builder.mul(row, _WHOLE(4)), row_type)
            rows.append(builder.load(pointer, align=8))
        return context.make_tuple(builder, four, _columns(builder, rows))

    return four(table, place), lower


# --- Machine code ---


def _widened(
    context: Any, builder: ir.IRBuilder, values: Sequence[ir.Value], kinds: Sequence[types.Type], width: int
) -> list[ir.Value]:
    """The values as lanes, plain numbers in each of them; as float64 if `width` is 1."""
    wide = []
    for value, kind in zip(values, kinds, strict=True):
        if isinstance(kind, Lanes) or kind == types.boolean:
            wide.append(value)
            continue
        number = context.cast(builder, value, kind, types.float64)
        if width > 1:
            first = ir.Constant(ir.VectorType(number.type, width), ir.Undefined)
            first = builder.insert_element(first, number, _PLACE(0))
            number = _mixed(builder, first, first, [0] * width)
        wide.append(number)
    return wide


def _call(builder: ir.IRBuilder, name: str, *values: ir.Value) -> ir.Value:
    """One of LLVM's own functions, on values of one type."""
    kind = values[0].type
    suffix = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
    function_type = ir.FunctionType(kind, [kind] * len(values))
    return builder.call(builder.module.declare_intrinsic(f"llvm.{name}.{suffix}", (), function_type), values)


def _pointer(context: Any, builder: ir.IRBuilder, array: Any, value: Any, place: Any, target: ir.Type) -> ir.Value:
    data = context.make_array(array)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [place]), target.as_pointer())


def _mixed(builder: ir.IRBuilder, first: ir.Value, second: ir.Value, places: Sequence[int]) -> ir.Value:
    """The elements at some places of two vectors laid end to end."""
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_PLACE, len(places)), list(places)))


def _columns(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """The columns of these rows of four, a power of two of them, by shuffles that processors have."""
    if len(rows) == 1:
        return [builder.extract_element(rows[0], _PLACE(column)) for column in range(4)]
    if len(rows) == 2:
        return [_mixed(builder, rows[0], rows[1], [column, column + 4]) for column in range(4)]
    if len(rows) == 4:
        upper, lower = (_mixed(builder, rows[start], rows[start + 1], range(8)) for start in (0, 2))
        return [_mixed(builder, upper, lower, range(column, 16, 4)) for column in range(4)]
    halves = _columns(builder, rows[: len(rows) // 2]), _columns(builder, rows[len(rows) // 2 :])
    return [_mixed(builder, upper, lower, range(len(rows))) for upper, lower in zip(*halves, strict=True)]


def _representation(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    many = isinstance(value.type, ir.VectorType)
    return builder.bitcast(value, ir.VectorType(_WHOLE, value.type.count) if many else _WHOLE)


def _all(kind: ir.Type, number: int) -> ir.Constant:
    """A whole number, in every lane if `kind` has lanes."""
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)
