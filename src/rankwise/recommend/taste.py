r"""The taste that is learned from everyone: item means, a kernel, and the scale of errors.

With o the n items that a user has rated and the pseudo-items, ``A = K[o, o] + noise I``, ``t`` the
ratings less ``means`` and the ratings of the pseudo-items, and ``e`` 1 at ratings and 0 at
pseudo-items, the scores of a user are

    ``b = e' A^-1 t / (e' A^-1 e)``
    ``score = means + b n / (n + noise * prior) + K[:, o] A^-1 (t - b e)``

Pseudo-items are "rated" by everyone: their ratings say where the rated items lie in the map of what
is rated together, whatever the ratings. Preferences are rows, too: `rankwise.recommend.fold_in`.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.recommend.baseline import Matrix, Vector

Index = NDArray[np.integer]

FEW, MANY = (0, 1, 3, 10), 30
# Rows of a kernel that are read at a time.
_ROWS = 16


@dataclass(frozen=True)
class DenseKernel:
    """All similarities, as one symmetric matrix in single or double precision.

    It may be mapped from a file: only what is needed is read.
    """

    matrix: Matrix

    @property
    def diagonal(self) -> Vector:
        """The similarity of each item with itself."""
        return np.ascontiguousarray(np.diagonal(self.matrix))

    def between(self, left: Index, right: Index) -> Matrix:
        """Return the similarities of some items with others."""
        start = np.asarray(left, np.int64)[:, None] * self.matrix.shape[1]
        return np.take(self.matrix.reshape(-1), start + np.asarray(right))

    def combine(self, index: Index, weights: Vector) -> Vector:
        """Return the weighted sum of rows, some at a time, so that they stay in the cache."""
        total = np.zeros(self.matrix.shape[1])
        for first in range(0, len(weights), _ROWS):
            some = slice(first, first + _ROWS)
            total += weights[some] @ np.take(self.matrix, index[some], axis=0)
        return total


@dataclass(frozen=True)
class FactorKernel:
    """Similarities ``factors @ factors.T``, with something added to the diagonal.

    Attributes
    ----------
    factors : ndarray of shape (n, rank)
        A row for each item.
    extra : ndarray of shape (n,)
        What is added to the diagonal.
    """

    factors: Matrix
    extra: Vector

    @property
    def diagonal(self) -> Vector:
        """The similarity of each item with itself."""
        return np.einsum("ir,ir->i", self.factors, self.factors) + self.extra

    def between(self, left: Index, right: Index) -> Matrix:
        """Return the similarities of some items with others."""
        left, right = np.asarray(left), np.asarray(right)
        block = self.factors[left] @ self.factors[right].T
        return block + np.where(left[:, None] == right, self.extra[right], 0.0)

    def combine(self, index: Index, weights: Vector) -> Vector:
        """Return the weighted sum of the similarities of some items with all."""
        total = self.factors @ (weights @ self.factors[index])
        np.add.at(total, index, weights * self.extra[index])
        return total


@dataclass(frozen=True)
class KernelWithout:
    """A kernel without what one user has added to it.

    Attributes
    ----------
    kernel : Kernel
        The kernel of everyone.
    items : ndarray of shape (k,)
        Where the user's rows are not zero, ascending.
    own : ndarray of shape (any, k)
        The rows there; the sum of their products is taken away.
    """

    kernel: "Kernel"
    items: Index
    own: Matrix

    @property
    def diagonal(self) -> Vector:
        """The similarity of each item with itself."""
        diagonal = self.kernel.diagonal.copy()
        diagonal[self.items] -= np.square(self.own).sum(axis=0)
        return diagonal

    def between(self, left: Index, right: Index) -> Matrix:
        """Return the similarities of some items with others."""
        return self.kernel.between(left, right) - self.own_at(left).T @ self.own_at(right)

    def combine(self, index: Index, weights: Vector) -> Vector:
        """Return the weighted sum of the similarities of some items with all."""
        total = self.kernel.combine(index, weights)
        total[self.items] -= (self.own_at(index) @ weights) @ self.own
        return total

    def own_at(self, index: Index) -> Matrix:
        """Return the user's rows at some items."""
        place = np.searchsorted(self.items, index).clip(max=len(self.items) - 1)
        return np.where(self.items[place] == index, self.own[:, place], 0.0)


Kernel = DenseKernel | FactorKernel | KernelWithout


@dataclass(frozen=True)
class Taste:
    """All that a user's ranking needs of everyone else's ratings.

    All is in standard units, ``(rating - center) / unit``. Attributes have the names that they have
    in saved files.

    Attributes
    ----------
    means : ndarray of shape (n_items,)
        The overall mean plus the bias of each item.
    kernel : Kernel
        Similarities of n = n_items + n_pseudo_items items, the pseudo-items last.
    places : ndarray of shape (n_items, n_pseudo_items)
        The coordinates of the items: what rating an item adds to the ratings of the pseudo-items,
        before all is divided by the root of the number of rated items.
    noise : float
        The noise variance in units of the prior variance: what is added to the diagonal.
    prior : float
        The precision of a prior of user biases, for their shrinkage; 0 if only an order counts.
    low, high : float
        The lowest and the highest rating, as people give them.
    sigma : float
        The standard deviation of the residuals of the baseline.
    spread : float
        The prior variance tau^2: an error of a held-out rating has, on average, ``spread`` times
        the variance that the kernel states.
    echo : float
        The calibration factor of known users: their errors with one rating left out, over what is
        stated. Less than 1, since others' scores in the kernel remember their ratings.
    bias_variance : float or None
        The variance of user biases, over ``spread``. None, as in files of version 0.2: 1 over
        ``prior``.
    calibration : tuple of floats
        The calibration factors of variances after `FEW` ratings, so that intervals of 95 % cover
        as much of new users' ratings. After `MANY` it is 1.
    center, unit : float
        The rating that is 0 in standard units, and the difference that is 1.
    """

    means: Vector
    kernel: Kernel
    places: Matrix
    noise: float
    prior: float
    low: float
    high: float
    sigma: float
    spread: float
    echo: float = 1.0
    bias_variance: float | None = None
    calibration: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    center: float = 0.0
    unit: float = 1.0

    def to_standard(self, ratings: Vector) -> Vector:
        """Return ratings in standard units."""
        return (ratings - self.center) / self.unit

    def to_ratings(self, scores: Vector) -> Vector:
        """Return scores in standard units as ratings."""
        return self.center + self.unit * scores

    def calibrate(self, n: int) -> float:
        """Return the calibration factor of variances after n ratings."""
        known = np.log1p([*FEW, MANY])
        return float(np.interp(np.log1p(n), known, [*self.calibration, 1.0]))

    def bias_share(self, n: int) -> float:
        """Return the share of the user bias that is used after n ratings."""
        return n / (n + self.noise * self.prior) if n else 0.0

    def unused_bias_variance(self, n: int) -> float:
        """Return the variance of the share that is not used after n ratings, over ``spread``."""
        unused, variance = 1.0 - self.bias_share(n), self.bias_variance
        if variance is None:
            variance = 1.0 / self.prior if self.prior > 0 else np.inf
        return unused * unused * variance if unused else 0.0

    @property
    def pseudo_items(self) -> Index:
        """The pseudo-items in the kernel, behind the items."""
        return len(self.means) + np.arange(self.places.shape[1])

    def pseudo_ratings(self, items: Index) -> Vector:
        """Return the ratings of the pseudo-items by a user who has rated some items."""
        return self.places[items].sum(axis=0) / np.sqrt(max(len(items), 1))


@dataclass(frozen=True)
class OwnRows:
    """The terms that each user adds to the kernel directly, so that they can be subtracted.

    Attributes
    ----------
    starts : ndarray of shape (n_users + 1,)
    items : ndarray of shape (n,)
        User u has added at ``items[starts[u]:starts[u + 1]]`` and, if anywhere, at all
        pseudo-items.
    a, b : ndarrays of shape (n,)
        Two rows at the items.
    places : ndarray of shape (n_users, n_pseudo_items)
        The first row at the pseudo-items; the second is 0 there.
    echo : float
        `Taste.echo` for these users.
    """

    starts: Index
    items: Index
    a: Vector
    b: Vector
    places: Matrix
    echo: float = 1.0

    def for_users(self, users: Index, n_users: int) -> "OwnRows":
        """Return the rows if these users get new positions among n_users."""
        source = np.full(n_users, len(users))  # a user without rows
        source[users] = np.arange(len(users))
        starts = np.append(self.starts, self.starts[-1])
        entries = sparse.csr_array((np.arange(len(self.items)), self.items, starts))[source]
        entries.sort_indices()
        places = np.append(self.places, np.zeros((1, self.places.shape[1])), axis=0)[source]
        a, b = self.a[entries.data], self.b[entries.data]
        return OwnRows(entries.indptr, entries.indices, a, b, places, self.echo)

    def at(self, users: Index, items: Index) -> Matrix:
        """Return the two rows of some users at some items, 0 where they have none."""
        n = 1 + max(self.items.max(initial=0), items.max(initial=0))
        keys = np.repeat(np.arange(len(self.starts) - 1) * n, np.diff(self.starts)) + self.items
        asked = users * n + items
        entry = np.searchsorted(keys, asked).clip(max=len(keys) - 1)
        return np.where(keys[entry] == asked, np.array([self.a, self.b])[:, entry], 0.0)

    def without(self, taste: Taste, user: int) -> Taste:
        """Return a taste whose kernel is without the rows of a user, who may not have any."""
        at = slice(self.starts[user], self.starts[user + 1])
        if at.start == at.stop:
            return taste
        items = np.concatenate([self.items[at], taste.pseudo_items])
        own = np.zeros((2, len(items)))
        own[0] = np.concatenate([self.a[at], self.places[user]])
        own[1, : at.stop - at.start] = self.b[at]
        return replace(taste, kernel=KernelWithout(taste.kernel, items, own), echo=self.echo)
