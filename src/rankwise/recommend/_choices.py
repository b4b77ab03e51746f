r"""What is taken together: each item as a linear function of the other items that a person took.

X says who took what, 1 or 0, a row for each person. B minimises

.. math::

    \sum_u w_u \|x_u - x_u B\|^2 + \lambda \|B\|^2 \quad \text{with} \quad B_{jj} = 0 ,

so no item is explained by itself. With :math:`P = (X' W X + \lambda I)^{-1}` column j of B is
:math:`-P_{\cdot j} / P_{jj}` outside of the diagonal: one inverse for all items, O(n^3) (Steck,
Embarrassingly shallow autoencoders for sparse data, 2019). Without weights, w = 1, it is EASE.

Since :math:`B_{jj} = 0`, :math:`(x_u B)_j` is the score of item j with j left out of what the
person took. And a person is left out of P by one step of rank one,

.. math::

    P_{-u} = P + \frac{w_u P x_u x_u' P}{1 - w_u x_u' P x_u} ,

so that penalties are compared on people and items that were not learned from, without refits.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Places = NDArray[np.int64]

# Items whose products with all others are held as a sparse matrix at a time.
_ITEMS = 512


def weigh_people(matrix: sparse.csr_array) -> Vector:
    """Return weights that fall with the root of how many items a person took; 1 for the mean."""
    n = np.diff(matrix.indptr)
    if not len(matrix.data):
        return np.ones(len(n))
    return np.sqrt(np.divide(n[n > 0].mean(), n, out=np.zeros(len(n)), where=n > 0))


def count_together(matrix: sparse.csr_array, weights: Vector) -> Matrix:
    """Return X' W X: how many people, by weight, took both of two items."""
    n = np.diff(matrix.indptr)
    taken = sparse.csr_array(
        (np.ones(len(matrix.data)), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    weighted = taken.copy()
    weighted.data = np.repeat(weights, n)
    by_item = sparse.csr_array(taken.T)
    together = np.empty((matrix.shape[1], matrix.shape[1]))
    for first in range(0, len(together), _ITEMS):
        part = by_item[first : first + _ITEMS] @ weighted
        part.toarray(out=together[first : first + _ITEMS])
    return together


def invert(together: Matrix, penalty: float) -> Matrix:
    """Return P, which takes the place of X' W X."""
    n = len(together)
    together.flat[:: n + 1] += penalty
    # the transpose of a symmetric matrix is the same matrix, in the order that LAPACK wants
    factor, failed = lapack.dpotrf(together.T, lower=1, overwrite_a=1)
    if not failed:
        inverse, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise ValueError(f"penalty={penalty:g} is too small for these counts: use a larger one")
    P: Matrix = inverse.T
    for i in range(1, n):
        P[i, :i] = P[:i, i]
    return P


def item_weights(P: Matrix) -> NDArray[np.float32]:
    """Return B, in single precision; P is overwritten."""
    P /= -P.diagonal().copy()
    np.fill_diagonal(P, 0.0)
    return P.astype(np.float32)


def left_out_gain(P: Matrix, matrix: sparse.csr_array, weights: Vector, people: Places) -> float:
    """Return how high an item of a person stands that neither of the two were learned with.

    For each item that a person took, all scores are those of the person's other items, and its
    place r among the items not taken gains 1 / log2(1 + r); the mean over a person's items, and
    over people. O(n) for each person and item.
    """
    gains = np.empty(len(people))
    diagonal = P.diagonal()
    for i, person in enumerate(people):
        own = matrix.indices[matrix.indptr[person] : matrix.indptr[person + 1]]
        rows = P[own]
        v = rows.sum(axis=0)
        inside = v[own].sum()
        step = weights[person] / (1.0 - weights[person] * inside)
        # -B without the person: the rows of what was taken, and their sum
        scale = 1.0 / (diagonal + step * v * v)
        rows += np.outer(step * v[own], v)
        rows *= scale
        total = (1.0 + step * inside) * v * scale
        taken = 1.0 - total[own]  # without itself: its own row has a 1 on the diagonal
        others = rows - total
        others[:, own] = -np.inf
        above = (others > taken[:, None]).sum(axis=1)
        gains[i] = (1.0 / np.log2(2.0 + above)).mean()
    return float(gains.mean())
