"""Eight floats that compiled code keeps in registers and works on at once.

The compiler packs a loop over an array into such registers by itself, but puts the array back in
memory after each turn of a loop around it, and waits for it there. Sums, differences and products
of lanes, or of lanes and a number, are written as usual. They exist in compiled code only.
"""

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

LANES = 8
_FLOATS = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(32)


class Lanes(types.Type):
    """The type of eight floats."""

    def __init__(self):
        super().__init__(name="Lanes")


_LANES = Lanes()


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _FLOATS)


def _kind(argument):
    return _LANES if isinstance(argument, Lanes) else types.float64


def _spread(builder, value):
    if value.type == _FLOATS:
        return value
    nothing = ir.Constant(_FLOATS, ir.Undefined)
    first = builder.insert_element(nothing, value, _INDEX(0))
    everywhere = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, everywhere)


def _place(context, builder, kind, array, at):
    if kind.layout != "C" or kind.ndim != 1:
        raise TypeError(f"lanes are read from vectors in one piece, not from {kind}")
    view = context.make_array(kind)(context, builder, array)
    item = cgutils.get_item_pointer(context, builder, kind, view, [at], wraparound=False)
    return builder.bitcast(item, _FLOATS.as_pointer())


@intrinsic
def spread(typing_context, value):
    """Return lanes that all have one value."""

    def codegen(context, builder, signature, args):
        return _spread(builder, args[0])

    return _LANES(types.float64), codegen


@intrinsic
def read_lanes(typing_context, array, at):
    """Return eight entries of an array from place ``at`` on."""

    def codegen(context, builder, signature, args):
        return builder.load(_place(context, builder, signature.args[0], *args), align=8)

    return _LANES(array, types.int64), codegen


@intrinsic
def read_halves(typing_context, array, at):
    """Return the upper and the lower half of eight words of an array, without signs."""

    def codegen(context, builder, signature, args):
        words = ir.VectorType(ir.IntType(64), LANES)
        place = _place(context, builder, signature.args[0], *args)
        word = builder.load(builder.bitcast(place, words.as_pointer()), align=8)
        upper = builder.lshr(word, ir.Constant(words, [32] * LANES))
        lower = builder.and_(word, ir.Constant(words, [2**32 - 1] * LANES))
        # A number below 2^52, put into the fraction of the float 2^52, is converted by taking that
        # off; many processors have no other way to convert several.
        one = ir.Constant(words, [0x4330000000000000] * LANES)
        base = ir.Constant(_FLOATS, [2.0**52] * LANES)
        halves = [builder.bitcast(builder.or_(half, one), _FLOATS) for half in (upper, lower)]
        return context.make_tuple(
            builder, signature.return_type, [builder.fsub(half, base) for half in halves]
        )

    return types.UniTuple(_LANES, 2)(array, types.int64), codegen


@intrinsic
def write_lanes(typing_context, array, at, lanes):
    """Write eight entries of an array from place ``at`` on."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], _place(context, builder, signature.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, _LANES), codegen


def _arithmetic(symbol, instruction):
    @intrinsic
    def work(typing_context, left, right):
        def codegen(context, builder, signature, args):
            left, right = (_spread(builder, value) for value in args)
            return getattr(builder, instruction)(left, right, flags=("contract",))

        return _LANES(_kind(left), _kind(right)), codegen

    def run(left, right):
        return work(left, right)

    @overload(symbol)
    def _symbol(left, right):
        return run if isinstance(left, Lanes) or isinstance(right, Lanes) else None


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")


@intrinsic
def where_above(typing_context, left, right, value):
    """Return ``value`` in the lanes where left is above right, 0 where it is at most that.

    Each may be lanes or a number.
    """

    def codegen(context, builder, signature, args):
        left, right, value = (_spread(builder, arg) for arg in args)
        # said like this, the compiler sees that `count_at_most` asks the same
        at_most = builder.fcmp_ordered("<=", left, right)
        return builder.select(at_most, ir.Constant(_FLOATS, [0.0] * LANES), value)

    return _LANES(_kind(left), _kind(right), _kind(value)), codegen


def _extreme(comparison):
    @intrinsic
    def extreme(typing_context, left, right):
        def codegen(context, builder, signature, args):
            return builder.select(builder.fcmp_ordered(comparison, *args), *args)

        return _LANES(_LANES, _LANES), codegen

    return extreme


lower_lanes, higher_lanes = _extreme("<"), _extreme(">")
"""The lower, and the higher, of two in each lane."""


@intrinsic
def count_at_most(typing_context, lanes, most):
    """Return how many lanes are at most a number."""

    def codegen(context, builder, signature, args):
        held = builder.fcmp_ordered("<=", args[0], _spread(builder, args[1]))
        count = builder.ctpop(builder.bitcast(held, ir.IntType(LANES)))
        return builder.zext(count, ir.IntType(64))

    return types.int64(_LANES, types.float64), codegen


@intrinsic
def one_lane(typing_context, lanes, at):
    """Return the float of one lane."""

    def codegen(context, builder, signature, args):
        return builder.extract_element(args[0], builder.trunc(args[1], _INDEX))

    return types.float64(_LANES, types.int64), codegen


@intrinsic
def sum_lanes(typing_context, lanes):
    """Return the sum of the lanes."""

    def codegen(context, builder, signature, args):
        floats = [builder.extract_element(args[0], _INDEX(at)) for at in range(LANES)]
        total = floats[0]
        for value in floats[1:]:
            total = builder.fadd(total, value)
        return total

    return types.float64(_LANES), codegen
