"""Ask for rows before they are needed.

A pass over a long dense stream waits for memory, and each update that the processor failed to
foresee breaks the stream of reads. Asking a few rows ahead keeps it flowing: a fifth to a quarter
less time for PRank on 200,000 x 100. It changes no result.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

AHEAD = 8
LINE = 64


@intrinsic
def _prefetch(typing_context, array, place):
    """Ask for the cache line of ``array[place]``, to be read and kept."""

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, args[0])
        index = cgutils.unpack_tuple(builder, args[1])
        item = cgutils.get_item_pointer(context, builder, kind, view, index, wraparound=False)
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        call = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        )
        builder.call(call, [builder.bitcast(item, byte), flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, place), codegen


def ask_for(rows, i):  # pragma: no cover
    """Ask for row i of a matrix, if there is one, or entry i of a vector; CSR rows are short."""
    raise TypeError("ask_for runs in compiled code only")


@overload(ask_for)
def _ask_for(rows, i):
    if not isinstance(rows, types.Array):
        return lambda rows, i: None
    if rows.ndim == 1:
        return lambda rows, i: _prefetch(rows, (np.int64(i),))

    per_line = LINE * 8 // rows.dtype.bitwidth

    def dense(rows, i):
        if i < rows.shape[0]:
            for j in range(0, rows.shape[1], per_line):
                _prefetch(rows, (np.int64(i), np.int64(j)))

    return dense


def ask_ahead(rows, i):  # pragma: no cover
    """Ask for the row that is AHEAD rows after row i."""
    raise TypeError("ask_ahead runs in compiled code only")


@overload(ask_ahead)
def _ask_ahead(rows, i):
    return lambda rows, i: ask_for(rows, i + AHEAD)
