"""Kernel values of many rows with many others, the same bits wherever two rows stand.

A stream that is cut into any chunks then gives the same model.
"""

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.machine.inner import ACROSS, DOWN, FUSED, corner


@compiled
def inner(X, panels, out):
    """Fill ``out[i, s]`` with the inner product of row i of X and row s of the panels.

    Parameters
    ----------
    X : (m, d) with m a multiple of DOWN and at least one feature, float64, C-ordered
    panels : (p, d, ACROSS), row s of the others in ``panels[s // ACROSS, :, s % ACROSS]``
    out : (m, at least p * ACROSS), C-ordered
    """
    for p in range(panels.shape[0]):
        for i in range(0, X.shape[0], DOWN):
            corner(X, i, panels, p, out)


@compiled
def pack(rows, places, panels):
    """Write row i of ``rows`` to ``places[i]`` of the panels."""
    for i in range(rows.shape[0]):
        p, s = places[i] // ACROSS, places[i] % ACROSS
        for j in range(rows.shape[1]):
            panels[p, j, s] = rows[i, j]


@compiled(fastmath=FUSED)
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
