r"""Items that a person takes next: a linear model of what is taken together.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import lapack

from rankwise.recommend.baseline import Ints, Matrix, Vector

MAX_ITEMS = 8_000
"""Items that are learned: 8 n^2 bytes meanwhile, 4 n^2 bytes kept, 512 and 256 MB for all."""
LEAST_TAKEN = 5
"""An item that fewer people took has no weight worth its place."""
# The penalty is chosen with so many of the most-taken items and so many people.
_JUDGED_ITEMS, _JUDGING = 1_000, 500
_START, _STEP, _STEPS = 256.0, 2.0, 12
# Of .15, .3, .45, .6, .8 and 1 it put most liked films among the first ten, on a fifth of what
# split 8 of MovieLens-1M learns from. benchmarks/recommend.py shows other splits.
_LIKING = 0.6
_LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class ChoiceModel:
    """Scores of what a person may take next: about the chance that this person takes an item.

    Attributes
    ----------
    weights : float32 ndarray of shape (n_head, n_head)
        What an item that was taken, a row, adds to the score of another.
    head : ndarray of shape (n_head,)
        The items that are learned: those that five people took or more, at most `MAX_ITEMS`.
    popularity : ndarray of shape (n_items,)
        The share of people who took each item: the score of all others, and of all items for
        somebody who took none that is learned.
    penalty : float
        Of the weights, in people.
    """

    weights: NDArray[np.float32]
    head: Ints
    popularity: Vector
    penalty: float

    def scores(self, own: ArrayLike) -> Vector:
        """Return a score for each item, for someone who took the items at these places."""
        place = np.full(len(self.popularity), -1)
        place[self.head] = np.arange(len(self.head))
        rows = place[np.asarray(own, dtype=np.int64)]
        rows = rows[rows >= 0]
        scores = self.popularity.copy()
        if len(rows):
            scores[self.head] = self.weights[rows].sum(axis=0, dtype=np.float64)
        return scores


def learn(
    matrix: sparse.csr_array, penalty: float | None = None, *, max_items: int = MAX_ITEMS
) -> ChoiceModel:
    """Learn from who took what: the entries of a matrix of people by items, whatever they are.

    The module has the objective. A person who took many items says less
    by each, so people count by the root of one over their number.

    Parameters
    ----------
    matrix : csr_array of shape (n_users, n_items)
    penalty : float, default=None
        The penalty lambda, in people of average size. None: the power of 2 that puts what people
        took highest, each item and person left out in turn.
    max_items : int
        If there are more items, the most taken are learned.
    """
    taken = np.bincount(matrix.indices, minlength=matrix.shape[1])
    weights = weigh_people(matrix)
    head, part = _head(matrix, taken, max_items)
    if penalty is None:
        penalty = _choose(_head(matrix, taken, _JUDGED_ITEMS)[1], weights)
    B = np.zeros((0, 0), dtype=np.float32)
    if len(head):
        B = item_weights(invert(count_together(part, weights), penalty))
    return ChoiceModel(B, head, taken / max(matrix.shape[0], 1), float(penalty))


def weigh_by_rating(choice: Vector, rating: Vector) -> Vector:
    """Return scores of what is taken and liked: chances to be taken, times e to the rating.

    ``rating`` is the rating expected of each item, in standard deviations of all ratings. The
    scores have no unit.
    """
    return np.maximum(choice, _LEAST) * np.exp(_LIKING * (rating - rating.max(initial=-np.inf)))


def _head(
    matrix: sparse.csr_array, taken: NDArray[np.int64], n: int
) -> tuple[Ints, sparse.csr_array]:
    """Return the most-taken items in their order, and their columns."""
    head = np.argsort(-taken, kind="stable")[:n]
    head = np.sort(head[taken[head] >= LEAST_TAKEN])
    return head, matrix if len(head) == matrix.shape[1] else matrix[:, head]


def _choose(part: sparse.csr_array, weights: Vector) -> float:
    """Return the best power of 2, found by going uphill from 256."""
    sizes = np.diff(part.indptr)
    several = np.flatnonzero(sizes > 1)
    if not len(several):
        return _START
    by_size = several[np.argsort(sizes[several], kind="stable")]
    people = by_size[np.linspace(0, len(by_size) - 1, min(_JUDGING, len(by_size))).astype(int)]
    together = count_together(part, weights)

    def gain(penalty: float) -> float:
        return left_out_gain(invert(together.copy(), penalty), part, weights, people)

    best, highest = _START, gain(_START)
    for step in (_STEP, 1 / _STEP):
        for _ in range(_STEPS):
            here = gain(best * step)
            if here <= highest:
                break
            best, highest = best * step, here
        if best != _START:
            break
    return best


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


def left_out_gain(P: Matrix, matrix: sparse.csr_array, weights: Vector, people: Ints) -> float:
    """Return the gain of the ranks of left-out items for left-out people.

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
