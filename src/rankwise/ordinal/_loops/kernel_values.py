"""Kernel values of many rows with many others, the same bits wherever two rows stand.

A stream that is cut into any chunks then gives the same model.
"""

import numpy as np

from rankwise._core._loops.rows import CSR, SUMS, by_rows
from rankwise._core.compilation import compiled

# Rows of a panel. The loop over so many is vectorised; shorter ones are unrolled instead.
ACROSS = 64
# Sums are taken from the first feature to the last; products may be fused with additions.
FUSED = {"contract"}
# Squared lengths times gamma up to which products of rows tell exponents to 1e-12.
LONG = 1000.0
# What products are wrong by at most, as a share of the squared lengths.
ROUNDING = 1e-12
# The exponential of minus this is 0.
VANISHING = 800.0


@compiled(fastmath=FUSED)
def inner(X, panels, out):
    """Fill ``out[i, s]`` with the inner product of row i of X and row s of the panels.

    A matrix product of BLAS is faster, but the last bits of its sums depend on the number of rows.

    Parameters
    ----------
    X : (m, d) float64, C-ordered
    panels : (p, d, ACROSS), row s of the others in ``panels[s // ACROSS, :, s % ACROSS]``
    out : (m, at least p * ACROSS), C-ordered
    """
    for p in range(panels.shape[0]):
        for i in range(X.shape[0]):
            sums = out[i, ACROSS * p : ACROSS * (p + 1)]
            for s in range(ACROSS):
                sums[s] = 0.0
            for j in range(X.shape[1]):
                x = X[i, j]
                for s in range(ACROSS):
                    sums[s] += x * panels[p, j, s]


@compiled(fastmath=FUSED)
def squares(rows, out):
    """Add the squared lengths of the rows to ``out``, summed as `inner` sums."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i] += rows[i, j] * rows[i, j]


@compiled
def minus_distances(products, X, norms, others, other_norms, gamma):
    """Turn inner products into -gamma times squared distances, exactly 0 for equal rows.

    Products know a distance to some rounding errors of the lengths. Where that is too little, and
    the exponential of the result is not 0 anyway, the differences of the rows are squared.

    Parameters
    ----------
    products : (m, at least n)
        Inner products of the rows of X and the others.
    X, others : both 2-D arrays or both `CSR` with sorted indices
        The rows.
    norms, other_norms : (m,) and (n,)
        Their squared lengths.
    gamma : float
        A positive factor.
    """
    for i in range(products.shape[0]):
        for s in range(other_norms.shape[0]):
            length = norms[i] + other_norms[s]
            apart = (norms[i] - products[i, s]) + (other_norms[s] - products[i, s])
            if not gamma * length <= LONG and not gamma * (apart - ROUNDING * length) > VANISHING:
                apart = square_distance(X, i, others, s)
            products[i, s] = -gamma * max(apart, 0.0)


@by_rows(fastmath=SUMS)
def square_distance(rows, i, others, s):
    """Return the squared distance of row i and row s of the others, by their differences."""


@square_distance.register(np.ndarray)
def _dense_distance(rows, i, others, s):
    total = 0.0
    for j in range(rows.shape[1]):
        total += (rows[i, j] - others[s, j]) * (rows[i, j] - others[s, j])
    return total


@square_distance.register(CSR)
def _csr_distance(rows, i, others, s):
    total = 0.0
    p, q = rows.indptr[i], others.indptr[s]
    while p < rows.indptr[i + 1] or q < others.indptr[s + 1]:
        column = rows.indices[p] if p < rows.indptr[i + 1] else rows.n_columns
        other = others.indices[q] if q < others.indptr[s + 1] else rows.n_columns
        apart = 0.0
        if column <= other:
            apart += rows.data[p]
            p += 1
        if other <= column:
            apart -= others.data[q]
            q += 1
        total += apart * apart
    return total


@compiled
def powers(products, n, gamma, coef0, degree):
    """Turn the inner products p of n columns into ``(gamma p + coef0) ** degree``."""
    for i in range(products.shape[0]):
        for s in range(n):
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
