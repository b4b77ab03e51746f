"""Inner products of many rows with many others, each summed from the first feature to the last.

A matrix product of BLAS is as fast, but the last bits of its sums depend on how many rows it is
given; here they don't, so a stream cut into any chunks meets the same numbers.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rankwise.engine.loops.compiled import compiled

# Four rows meet sixteen at a time: eight sums of eight numbers, all held in registers.
DOWN, ACROSS, WIDE = 4, 16, 8


@intrinsic
def _corner(typing_context, X, i, Y, p, out):
    """Set ``out[i:i+4, 16p:16p+16]`` to ``X[i:i+4] @ Y[p]``."""

    def codegen(context, builder, signature, args):
        def pointer(k, *place):
            kind = signature.args[k]
            view = context.make_array(kind)(context, builder, args[k])
            return cgutils.get_item_pointer(context, builder, kind, view, place, wraparound=False)

        word, vector = ir.IntType(64), ir.VectorType(ir.DoubleType(), WIDE)
        first, undefined = word(0), ir.Constant(vector, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
        n_features = builder.extract_value(
            context.make_array(signature.args[0])(context, builder, args[0]).shape, 1
        )
        left = [pointer(0, builder.add(args[1], word(r)), first) for r in range(DOWN)]
        right = builder.bitcast(pointer(2, args[3], first, first), vector.as_pointer())
        before, loop = builder.block, builder.append_basic_block("loop")
        builder.branch(loop)
        builder.position_at_end(loop)
        j = builder.phi(word)
        sums = [builder.phi(vector) for _ in range(DOWN * ACROSS // WIDE)]
        columns = []
        for c in range(ACROSS // WIDE):
            place = builder.add(builder.mul(j, word(ACROSS // WIDE)), word(c))
            columns.append(builder.load(builder.gep(right, [place])))
            columns[c].align = 8
        grown: list[ir.Value] = []
        for r in range(DOWN):
            value = builder.load(builder.gep(left[r], [j]))
            value = builder.insert_element(undefined, value, ir.IntType(32)(0))
            value = builder.shuffle_vector(value, undefined, everywhere)
            for column in columns:
                product = builder.fmul(value, column, flags=("contract",))
                grown.append(builder.fadd(product, sums[len(grown)], flags=("contract",)))
        following = builder.add(j, word(1))
        j.add_incoming(first, before)
        j.add_incoming(following, loop)
        for old, new in zip(sums, grown, strict=True):
            old.add_incoming(ir.Constant(vector, [0.0] * WIDE), before)
            old.add_incoming(new, loop)
        done = builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", following, n_features), loop, done)
        builder.position_at_end(done)
        for r in range(DOWN):
            place = pointer(4, builder.add(args[1], word(r)), builder.mul(args[3], word(ACROSS)))
            place = builder.bitcast(place, vector.as_pointer())
            for c in range(len(columns)):
                store = builder.store(grown[r * len(columns) + c], builder.gep(place, [word(c)]))
                store.align = 8
        return context.get_dummy_value()

    return types.void(X, i, Y, p, out), codegen


@compiled
def inner(X, panels, out):
    """Fill ``out[i, s]`` with the inner product of row i of X with the s-th row of ``panels``.

    Parameters
    ----------
    X : (m, d) with m a multiple of DOWN and at least one feature, float64, C-ordered
    panels : (p, d, ACROSS), row s of the others in ``panels[s // ACROSS, :, s % ACROSS]``
    out : (m, at least p * ACROSS), C-ordered
    """
    for p in range(panels.shape[0]):
        for i in range(0, X.shape[0], DOWN):
            _corner(X, i, panels, p, out)


@compiled
def pack(rows, places, panels):
    """Write row i of ``rows`` to ``places[i]`` of the panels."""
    for i in range(rows.shape[0]):
        p, s = places[i] // ACROSS, places[i] % ACROSS
        for j in range(rows.shape[1]):
            panels[p, j, s] = rows[i, j]


@compiled(fastmath={"contract"})
def squares(rows):
    """Return the squared lengths of the rows, summed as `inner` sums."""
    out = np.zeros(rows.shape[0])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i] += rows[i, j] * rows[i, j]
    return out


@compiled
def minus_distances(products, norms, others, gamma):
    """Turn inner products into -gamma times squared distances, exactly 0 for equal rows."""
    for i in range(products.shape[0]):
        for s in range(products.shape[1]):
            apart = (norms[i] - products[i, s]) + (others[s] - products[i, s])
            products[i, s] = -gamma * max(apart, 0.0)


@compiled
def powers(products, gamma, coef0, degree):
    """Turn inner products p into ``(gamma p + coef0) ** degree``."""
    for i in range(products.shape[0]):
        for s in range(products.shape[1]):
            base = gamma * products[i, s] + coef0
            power = base
            for _ in range(degree - 1):
                power *= base
            products[i, s] = power


@compiled
def monomials(factors, terms, roots, out):
    """Fill ``out[i, c]`` with ``roots[c]`` times the factors of row i that ``terms[c]`` names."""
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            product = roots[c]
            for f in terms[c]:
                product *= factors[i, f]
            out[i, c] = product
