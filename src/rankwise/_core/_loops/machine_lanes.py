"""Eight floats that compiled code keeps in registers and works on at once.

The compiler packs a loop over an array into such registers by itself, but writes the array back to
memory after each turn of the loop around it, and waits for it there. Sums, differences and products
of lanes, or of lanes and a number, are written as usual.

Each function below is its own plain twin, on arrays of eight floats. It runs where compilation is
off (``NUMBA_DISABLE_JIT=1``). Compiled code uses the instructions of the processor, or compiles the
twin if they can't be built. The results are the same but for the last bit: instructions may
multiply and add in one step.

What it is worth: see `rankwise._core._loops.misranked`.
"""

import operator
from functools import cache

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from rankwise._core._loops.machine_build import can_be_built

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


@cache
def has_instructions() -> bool:
    """Return whether the instructions can be built here."""
    return can_be_built(lambda x: _sum(_read(x, 0)), types.float64[::1])


def read_lanes(array, at):
    """Return eight entries of an array from place ``at`` on; past its end, anything."""
    lanes = np.zeros(LANES)
    for i in range(min(LANES, array.shape[0] - at)):
        lanes[i] = array[at + i]
    return lanes


def write_lanes(array, at, lanes):
    """Write eight entries of an array from place ``at`` on."""
    for i in range(LANES):
        array[at + i] = lanes[i]


def add_two(array, k, p, first, second):
    """Add two whole numbers to ``array[k, p]``, which are two side by side."""
    array[k, p, 0] += first
    array[k, p, 1] += second


def spread(value):
    """Return lanes that all have one value."""
    return np.full(LANES, float(value))


def where_above(left, right, value):
    """Return ``value`` in the lanes where left is above right, 0 where it is at most that.

    Each may be lanes or a number, but not both of the first two a number.
    """
    return np.where(left <= right, 0.0, value)


def count_at_most(lanes, most):
    """Return how many lanes are at most a number."""
    return np.int64((lanes <= most).sum())


def one_lane(lanes, at):
    """Return the float of one lane."""
    return lanes[at]


def sum_lanes(lanes):
    """Return the sum of the lanes."""
    total = 0.0
    for i in range(LANES):
        total += lanes[i]
    return total


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
def _spread_value(typing_context, value):
    def codegen(context, builder, signature, args):
        return _spread(builder, args[0])

    return _LANES(types.float64), codegen


@intrinsic
def _read(typing_context, array, at):
    def codegen(context, builder, signature, args):
        return builder.load(_place(context, builder, signature.args[0], *args), align=8)

    return _LANES(array, types.int64), codegen


@intrinsic
def _add_two(typing_context, array, k, p, first, second):
    def codegen(context, builder, signature, args):
        kind, words = signature.args[0], ir.VectorType(ir.IntType(64), 2)
        if kind.layout != "C" or kind.ndim != 3:
            raise TypeError(f"two numbers are added to cubes in one piece, not to {kind}")
        view = context.make_array(kind)(context, builder, args[0])
        at = [args[1], args[2], ir.IntType(64)(0)]
        item = cgutils.get_item_pointer(context, builder, kind, view, at, wraparound=False)
        place = builder.bitcast(item, words.as_pointer())
        more = ir.Constant(words, ir.Undefined)
        for lane, value in enumerate(args[3:]):
            more = builder.insert_element(more, value, _INDEX(lane))
        builder.store(builder.add(builder.load(place, align=8), more), place, align=8)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(array, whole, whole, whole, whole), codegen


@intrinsic
def _write(typing_context, array, at, lanes):
    def codegen(context, builder, signature, args):
        builder.store(args[2], _place(context, builder, signature.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, _LANES), codegen


@intrinsic
def _where_above(typing_context, left, right, value):
    def codegen(context, builder, signature, args):
        left, right, value = (_spread(builder, arg) for arg in args)
        # written like this, the compiler sees that `count_at_most` compares the same
        at_most = builder.fcmp_ordered("<=", left, right)
        return builder.select(at_most, ir.Constant(_FLOATS, [0.0] * LANES), value)

    return _LANES(_kind(left), _kind(right), _kind(value)), codegen


@intrinsic
def _count_at_most(typing_context, lanes, most):
    def codegen(context, builder, signature, args):
        at_most = builder.fcmp_ordered("<=", args[0], _spread(builder, args[1]))
        count = builder.ctpop(builder.bitcast(at_most, ir.IntType(LANES)))
        return builder.zext(count, ir.IntType(64))

    return types.int64(_LANES, types.float64), codegen


@intrinsic
def _one(typing_context, lanes, at):
    def codegen(context, builder, signature, args):
        return builder.extract_element(args[0], builder.trunc(args[1], _INDEX))

    return types.float64(_LANES, types.int64), codegen


@intrinsic
def _sum(typing_context, lanes):
    def codegen(context, builder, signature, args):
        floats = [builder.extract_element(args[0], _INDEX(at)) for at in range(LANES)]
        total = floats[0]
        for value in floats[1:]:
            total = builder.fadd(total, value)
        return total

    return types.float64(_LANES), codegen


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


def _build(twin, instructions):
    """Let compiled code call the instructions in place of the plain twin, if they can be built."""
    overload(twin, strict=False)(lambda *kinds: instructions if has_instructions() else twin)


_build(read_lanes, lambda array, at: _read(array, at))
_build(write_lanes, lambda array, at, lanes: _write(array, at, lanes))
_build(add_two, lambda array, k, p, first, second: _add_two(array, k, p, first, second))
_build(spread, lambda value: _spread_value(value))
_build(where_above, lambda left, right, value: _where_above(left, right, value))
_build(count_at_most, lambda lanes, most: _count_at_most(lanes, most))
_build(one_lane, lambda lanes, at: _one(lanes, at))
_build(sum_lanes, lambda lanes: _sum(lanes))
