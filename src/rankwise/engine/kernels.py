"""Kernels: Gram blocks, and explicit maps of small polynomial kernels."""

from collections import Counter
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular
from scipy.sparse import issparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from rankwise.engine.loops.inner import monomials

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions({"linear", "poly", "rbf", "precomputed"}), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, 0, None, closed="left")],
}
_BLOCK = 256
# A square this far below 0, as a share of the largest, is no rounding.
_INDEFINITE = 1e-6


class Kernel(NamedTuple):
    r"""A kernel by its parameters, with scikit-learn's meaning of each.

    ``"linear"`` is :math:`x \cdot x'`, ``"poly"`` :math:`(\gamma\, x \cdot x' + c_0)^p`, ``"rbf"``
    :math:`\exp(-\gamma \|x - x'\|^2)`; ``"precomputed"`` takes the values for X; a callable is
    given two matrices of rows and returns the matrix of values. ``gamma=None`` is 1 / n_features.
    """

    kernel: Any = "linear"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    def gram(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """Return the values of the kernel between the rows of X and Y, as a new C-ordered array.

        Parameters
        ----------
        X, Y : ndarrays or CSR matrices of shapes (n, d) and (m, d)
            The rows; Y of None is X.
        """
        Y = X if Y is None else Y
        if callable(self.kernel):
            return self._called(X, Y)
        if self.kernel == "precomputed":
            return np.array(X.toarray() if issparse(X) else X, dtype=np.float64, order="C")
        values = np.ascontiguousarray(safe_sparse_dot(X, Y.T, dense_output=True), dtype=np.float64)
        if self.kernel == "linear":
            return values
        gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
        if self.kernel == "poly":
            values *= gamma
            values += self.coef0
            return np.power(values, self.degree, out=values)
        left, right = row_norms(X, squared=True), row_norms(Y, squared=True)
        for start in range(0, len(values), _BLOCK):
            block = values[start : start + _BLOCK]
            block *= 2 * gamma
            block -= gamma * right
            block -= gamma * left[start : start + _BLOCK, None]
            np.minimum(block, 0.0, out=block)
            np.exp(block, out=block)
        if X is Y:
            np.fill_diagonal(values, 1.0)
        return values

    def diagonal(self, X: Any) -> NDArray[np.float64]:
        """Return the value of the kernel between each row and itself."""
        if callable(self.kernel):
            return np.array([self._called(X[[i]], X[[i]])[0, 0] for i in range(X.shape[0])])
        if self.kernel == "precomputed":
            return np.array(np.diagonal(X), dtype=np.float64)
        if self.kernel == "rbf":
            return np.ones(X.shape[0])
        squares = row_norms(X, squared=True)
        if self.kernel == "linear":
            return squares
        gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
        return (gamma * squares + self.coef0) ** self.degree

    def _called(self, X: Any, Y: Any) -> NDArray[np.float64]:
        given, wanted = self.kernel(X, Y), (X.shape[0], Y.shape[0])
        values = np.asarray(given)
        numbers = values.dtype.kind in "biuf" and np.isfinite(values).all()
        if values.shape != wanted or not numbers:
            raise ValueError(
                f"kernel={self.kernel!r} was given {wanted[0]} rows and {wanted[1]} others, so it "
                f"must return finite numbers of shape {wanted}; what it returned, a "
                f"{type(given).__name__} of {values.dtype}, has shape {values.shape}"
                + " and is not finite"
                * (values.dtype.kind == "f" and not numbers)
            )
        return np.array(values, dtype=np.float64, order="C")


def map_width(n_features: int, degree: int, coef0: float) -> int:
    """Return the number of columns of `polynomial_map`."""
    return comb(n_features + degree - (coef0 == 0), degree)


@lru_cache(maxsize=8)
def _terms(n_factors: int, degree: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the multisets of factors, and the roots of how often each occurs in the power."""
    terms = list(combinations_with_replacement(range(n_factors), degree))
    ways = [factorial(degree) // prod(map(factorial, Counter(t).values())) for t in terms]
    return np.array(terms), np.sqrt(np.array(ways, dtype=np.float64))


class Factor(NamedTuple):
    """A Gram matrix as Z Z', with as many columns as it has rank.

    Attributes
    ----------
    Z : ndarray of shape (m, rank)
        The rows in coordinates.
    pivots : ndarray of shape (rank,)
        Rows that span all others; theirs in Z are a lower triangle.
    """

    Z: NDArray[np.float64]
    pivots: NDArray[np.int64]

    def coefficients(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return alpha of shape (m,), not 0 at the pivots only, with Z' alpha = w."""
        alpha = np.zeros(len(self.Z))
        triangle = self.Z[self.pivots]
        alpha[self.pivots] = solve_triangular(triangle, w, lower=True, trans="T")
        return alpha

    def coordinates(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the w that gives the pivots these scores, of shape (m,)."""
        return solve_triangular(self.Z[self.pivots], scores[self.pivots], lower=True)


def factorise(K: NDArray[np.float64]) -> Factor:
    """Factorise a Gram matrix, which is overwritten, by pivoted Cholesky: O(m rank^2).

    Raises
    ------
    ValueError
        If the matrix is not positive semi-definite.
    """
    diagonal = np.diagonal(K).copy()
    lower, pivots, rank, _ = lapack.dpstrf(K.T, lower=1, overwrite_a=1)
    order = pivots.astype(np.int64) - 1
    Z = np.zeros((len(K), rank))
    Z[order] = np.tril(lower[:, :rank])
    left = diagonal - (Z * Z).sum(axis=1)
    if left.min(initial=0.0) < -_INDEFINITE * max(diagonal.max(), -diagonal.min()):
        raise ValueError(
            "the kernel is not positive semi-definite: it gives some rows a negative square; use "
            "another kernel"
        )
    return Factor(Z, order[:rank])


def polynomial_map(
    X: NDArray[np.float64], *, degree: int, gamma: float = 1.0, coef0: float = 1.0
) -> NDArray[np.float64]:
    r"""Map rows so that inner products are :math:`(\gamma\, x \cdot x' + c_0)^p`.

    By the multinomial theorem, a column a multiset of p factors out of the d features and the
    constant: :math:`\binom{d+p}{p}` columns, or :math:`\binom{d+p-1}{p}` when c_0 = 0.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows.
    degree : int
        The power p.
    gamma, coef0 : float
        The scale, more than 0, and the constant, at least 0.
    """
    if degree < 1 or gamma <= 0 or coef0 < 0:
        raise ValueError(
            f"degree={degree}, gamma={gamma}, coef0={coef0}: a polynomial kernel has an explicit "
            "map for degree >= 1, gamma > 0 and coef0 >= 0"
        )
    factors = np.sqrt(gamma) * X
    if coef0 > 0:
        factors = np.hstack([np.full((len(X), 1), np.sqrt(coef0)), factors])
    mapped = np.empty((len(X), map_width(X.shape[1], degree, coef0)))
    monomials(factors, *_terms(factors.shape[1], degree), mapped)
    return mapped
