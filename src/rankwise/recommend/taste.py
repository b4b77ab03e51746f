"""What everyone's ratings teach about the items: a kernel between items, and their means.

A person is a ridge on this kernel: of the items that he or she has rated, and of a few
pseudo-items, the *places*, that everyone has "rated". The value of a place says where the rated
items lie in the map of what is rated together, whatever the ratings.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Index = NDArray[np.integer]

FEW, MANY = (0, 1, 3, 10), 30


class Kernel(Protocol):
    """Similarities of n things: the items, then the places."""

    @property
    def diagonal(self) -> Vector:
        """The similarity of each thing with itself, of shape (n,)."""

    def rows(self, index: Index) -> Matrix:
        """Return the similarities of some things with all, of shape (len(index), n)."""

    def between(self, left: Index, right: Index) -> Matrix:
        """Return the similarities of some things with others, (len(left), len(right))."""

    def near(self, index: Index) -> "Near":
        """Return the similarities of some things, gathered for several uses."""


class Near(Protocol):
    """Similarities of some m of the n things with all."""

    def block(self) -> Matrix:
        """Return the similarities among them, a new array of shape (m, m)."""

    def between(self, right: Index) -> Matrix:
        """Return their similarities with others, of shape (m, len(right))."""

    def combine(self, weights: Vector) -> Vector:
        """Return the sum of their weighted rows, of shape (n,)."""


@dataclass(frozen=True)
class DenseKernel:
    """All similarities, as one symmetric matrix."""

    matrix: Matrix

    @property
    def diagonal(self) -> Vector:
        """The similarity of each thing with itself."""
        return np.ascontiguousarray(np.diagonal(self.matrix))

    def rows(self, index: Index) -> Matrix:
        """Return the similarities of some things with all."""
        return np.take(self.matrix, index, axis=0)

    def between(self, left: Index, right: Index) -> Matrix:
        """Return the similarities of some things with others."""
        return self.matrix[np.ix_(left, right)]

    def near(self, index: Index) -> "NearRows":
        """Return the rows of some things: memory is read once, in order, whatever is asked."""
        return NearRows(self.rows(index), index)


class NearRows(NamedTuple):
    """Gathered rows of a dense kernel."""

    rows: Matrix
    things: Index

    def block(self) -> Matrix:
        """Return the similarities among the things."""
        return self.between(self.things)

    def between(self, right: Index) -> Matrix:
        """Return their similarities with others."""
        return np.take(self.rows, right, axis=1)

    def combine(self, weights: Vector) -> Vector:
        """Return the sum of their weighted rows."""
        return weights @ self.rows


@dataclass(frozen=True)
class FactorKernel:
    """Similarities ``factors @ factors.T``, with something added to the diagonal.

    Attributes
    ----------
    factors : ndarray of shape (n, rank)
        A row for each thing.
    extra : ndarray of shape (n,)
        What is added to the diagonal.
    """

    factors: Matrix
    extra: Vector

    @property
    def diagonal(self) -> Vector:
        """The similarity of each thing with itself."""
        return np.einsum("ir,ir->i", self.factors, self.factors) + self.extra

    def rows(self, index: Index) -> Matrix:
        """Return the similarities of some things with all."""
        index = np.asarray(index)
        rows = self.factors[index] @ self.factors.T
        rows[np.arange(len(index)), index] += self.extra[index]
        return rows

    def between(self, left: Index, right: Index) -> Matrix:
        """Return the similarities of some things with others."""
        left, right = np.asarray(left), np.asarray(right)
        block = self.factors[left] @ self.factors[right].T
        return block + np.where(left[:, None] == right, self.extra[right], 0.0)

    def near(self, index: Index) -> "NearFactors":
        """Return the similarities of some things, by their factors."""
        return NearFactors(self, index)


class NearFactors(NamedTuple):
    """Some things of a kernel with factors."""

    kernel: FactorKernel
    things: Index

    def block(self) -> Matrix:
        """Return the similarities among the things."""
        return self.kernel.between(self.things, self.things)

    def between(self, right: Index) -> Matrix:
        """Return their similarities with others."""
        return self.kernel.between(self.things, right)

    def combine(self, weights: Vector) -> Vector:
        """Return the sum of their weighted rows."""
        factors, extra = self.kernel.factors, self.kernel.extra
        total = factors @ (weights @ factors[self.things])
        np.add.at(total, self.things, weights * extra[self.things])
        return total


@dataclass(frozen=True)
class KernelWithout:
    """A kernel without what one person has added to it.

    Attributes
    ----------
    kernel : Kernel
        The kernel of everyone.
    things : ndarray of shape (k,)
        Where the person's rows are not zero, ascending.
    own : ndarray of shape (any, k)
        The rows there; the sum of their squares is taken away.
    """

    kernel: Kernel
    things: Index
    own: Matrix

    @property
    def diagonal(self) -> Vector:
        """The similarity of each thing with itself."""
        diagonal = self.kernel.diagonal.copy()
        diagonal[self.things] -= np.square(self.own).sum(axis=0)
        return diagonal

    def rows(self, index: Index) -> Matrix:
        """Return the similarities of some things with all."""
        rows = self.kernel.rows(index)
        rows[:, self.things] -= self.own_at(index).T @ self.own
        return rows

    def between(self, left: Index, right: Index) -> Matrix:
        """Return the similarities of some things with others."""
        return self.kernel.between(left, right) - self.own_at(left).T @ self.own_at(right)

    def near(self, index: Index) -> "NearWithout":
        """Return the similarities of some things, gathered for several uses."""
        return NearWithout(self.kernel.near(index), self, self.own_at(index))

    def own_at(self, index: Index) -> Matrix:
        """Return the person's rows at some things."""
        place = np.searchsorted(self.things, index).clip(max=len(self.things) - 1)
        return np.where(self.things[place] == index, self.own[:, place], 0.0)


class NearWithout(NamedTuple):
    """Some things of a kernel without a person; ``own`` are the person's rows at them."""

    near: Near
    kernel: KernelWithout
    own: Matrix

    def block(self) -> Matrix:
        """Return the similarities among the things."""
        return self.near.block() - self.own.T @ self.own

    def between(self, right: Index) -> Matrix:
        """Return their similarities with others."""
        return self.near.between(right) - self.own.T @ self.kernel.own_at(right)

    def combine(self, weights: Vector) -> Vector:
        """Return the sum of their weighted rows."""
        total = self.near.combine(weights)
        total[self.kernel.things] -= (self.own @ weights) @ self.kernel.own
        return total


@dataclass(frozen=True)
class Taste:
    """All that a person's ranking needs of everyone else's ratings.

    All is in standard units, ``(rating - center) / unit``. With o the n rated items and the places,
    ``A = K[o, o] + noise I``, ``t`` the ratings minus ``means`` and the values of the places, and
    ``e`` 1 at ratings and 0 at places, the scores are

        ``b = e' A^-1 t / (e' A^-1 e)``
        ``score = means + b n / (n + noise * prior) + K[:, o] A^-1 (t - b e)``

    Preferences are rows, too: see `rankwise.recommend.fold_in`.

    Attributes
    ----------
    means : ndarray of shape (n_items,)
        The overall mean plus the bias of each item.
    kernel : Kernel
        Similarities of n = n_items + n_places things, the places last.
    places : ndarray of shape (n_items, n_places)
        Row j is what rating item j adds to the values of a person's places, before all is divided
        by the square root of the number of items that the person has rated.
    noise : float
        What is added to the diagonal, for ratings and places.
    prior : float
        The weight of a level of 0, against the free level of a person; 0 if only an order counts.
    low, high : float
        The lowest and the highest rating, as people give them.
    sigma : float
        Standard deviation of what the biases leave of the ratings.
    spread : float
        Square of the scale of the standard deviations: an error of a held-out rating has, on
        average, ``spread`` times the variance that the kernel states.
    echo : float
        The same for ratings of a person that are left out one at a time, over ``spread``: less than
        1 for people whose ratings the kernel was learned from, since others' scores remember them.
    bias_variance : float or None
        Variance of the levels of people, over ``spread``. None, as in files of version 0.2: 1 over
        ``prior``.
    calibration : tuple of floats
        What the variances after `FEW` ratings are multiplied by, so that intervals of 95 % cover as
        much of new people's ratings. After `MANY` it is 1.
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
        """Return what the variances after n ratings are multiplied by."""
        known = np.log1p([*FEW, MANY])
        return float(np.interp(np.log1p(n), known, [*self.calibration, 1.0]))

    def hidden_variance(self, n: int) -> float:
        """Return the variance of the level that is not shown after n ratings, over ``spread``."""
        hidden = 1.0 - self.shown(n)
        if hidden == 0.0:
            return 0.0
        variance = self.bias_variance
        if variance is None:
            variance = 1.0 / self.prior if self.prior > 0 else np.inf
        return hidden * hidden * variance

    def shown(self, n: int) -> float:
        """Return the share of the level that is shown after n ratings."""
        return n / (n + self.noise * self.prior) if n else 0.0

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.means)

    @property
    def n_places(self) -> int:
        """How many places there are."""
        return self.places.shape[1]

    def place_of(self, items: Index) -> Vector:
        """Return the values of the places of a person who has rated some items."""
        return self.places[items].sum(axis=0) / np.sqrt(max(len(items), 1))

    def only(self, items: Index) -> "Taste":
        """Return the taste of some items, for a person who says and asks nothing of others."""
        things = np.concatenate([items, np.arange(self.n_items, self.n_items + self.n_places)])
        kernel = DenseKernel(self.kernel.between(things, things))
        return replace(self, means=self.means[items], kernel=kernel, places=self.places[items])
