"""Kernels: Gram matrices, also centred for differences of scores."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from rankwise._core.inputs import dense
from rankwise._core.sklearn_private import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions({"linear", "poly", "rbf", "precomputed"}), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, 0, None, closed="left")],
}
_BLOCK = 256
# A square this far below 0, as a share of the largest, is not rounding.
_INDEFINITE = 1e-6
# Rows are moved if the square of their mean is this many times their variance, ...
_FAR = 4.0
# ... estimated from about this many rows.
_ANCHOR_ROWS = 1024
# An RBF kernel is near 1 below the first exponent. Past the second, products lose its digits.
_NEAR, _STEEP = 0.05, 100.0


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
            return np.array(dense(X), dtype=np.float64, order="C")
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
            return np.array(X.diagonal(), dtype=np.float64)
        if self.kernel == "rbf":
            return np.ones(X.shape[0])
        squares = row_norms(X, squared=True)
        if self.kernel == "linear":
            return squares
        gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
        return (gamma * squares + self.coef0) ** self.degree

    def _called(self, X: Any, Y: Any) -> NDArray[np.float64]:
        # What the callable makes of huge numbers is looked at below.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            given, shape = self.kernel(X, Y), (X.shape[0], Y.shape[0])
        values = np.asarray(given)
        numbers = values.dtype.kind in "biuf" and np.isfinite(values).all()
        if values.shape != shape or not numbers:
            raise ValueError(
                f"kernel={self.kernel!r} was given {shape[0]} rows and {shape[1]} others, so it "
                f"must return finite numbers of shape {shape}; what it returned, a "
                f"{type(given).__name__} of {values.dtype}, has shape {values.shape}"
                + " and is not finite"
                * (values.dtype.kind == "f" and not numbers)
            )
        return np.array(values, dtype=np.float64, order="C")


def checked_kernel(caller: str, kernel: Any, gamma: Any, degree: Any, coef0: Any) -> Kernel:
    """Return a kernel whose parameters are as those of an estimator must be.

    Parameters
    ----------
    caller : str
        The function that takes them, for the message.
    kernel, gamma, degree, coef0
        As in `Kernel`.

    Raises
    ------
    ValueError
        If one is not. The message names it and what it may be.
    """
    result = Kernel(kernel, gamma, degree, coef0)
    validate_parameter_constraints(KERNEL_CONSTRAINTS, result._asdict(), caller)
    return result


class Anchored(NamedTuple):
    r"""A kernel as differences of scores see it.

    Coefficients that add to 0 give the same norm and the same differences of scores with k and with

    .. math:: \tilde k(x, x') = k(x, x') - f(x) - f(x')

    for any f. So what all values have in common is taken off before they are formed, where it would
    hide the rest by rounding. Let u = x - c for an anchor c amid the rows.

    - ``"linear"``: :math:`u \cdot u'`.
    - ``"poly"``: :math:`\langle \phi(x) - \phi(c), \phi(x') - \phi(c) \rangle`, expanded about c.
    - ``"rbf"``: of u, and :math:`\exp(\cdot) - 1` if all values are nearly 1.

    The values of a precomputed or callable kernel are taken as they are.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    anchor : ndarray of shape (d,) or None
        The point c, 0 for columns that are not moved; None: 0.
    gamma : float
        That of the kernel, 1 / n_features if it is None.
    mode : {"plain", "far", "near", "steep"}
        How the values are formed: as they are; "far", a polynomial about c; "near" 1 and "steep",
        of an RBF kernel.
    """

    kernel: Kernel
    anchor: NDArray[np.float64] | None = None
    mode: str = "plain"
    gamma: float = 1.0

    @classmethod
    def of(cls, kernel: Kernel, X: Any) -> "Anchored":
        """Choose the anchor for the rows of a fit, whose squares must be finite."""
        if callable(kernel.kernel) or kernel.kernel == "precomputed":
            return cls(kernel)
        gamma = 1.0 / X.shape[1] if kernel.gamma is None else float(kernel.gamma)
        kernel = kernel._replace(gamma=gamma)
        anchor = find_anchor(X)
        if kernel.kernel == "linear":
            return cls(kernel, anchor)
        largest = gamma * float(row_norms(shift_rows(X, anchor), squared=True).max(initial=0.0))
        if kernel.kernel == "poly":
            constant = kernel.coef0 > _FAR * largest
            mode = "plain" if anchor is None and not constant else "far"
            return cls(kernel, anchor, mode, gamma)
        # differences of rows are taken there, which no offset makes more exact
        mode = "near" if largest < _NEAR else "steep" if largest > _STEEP else "plain"
        return cls(kernel, None if mode == "steep" else anchor, mode, gamma)

    def gram(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """Return the values between the rows of X and Y, as a new C-ordered array."""
        left = shift_rows(X, self.anchor)
        right = left if Y is None else shift_rows(Y, self.anchor)
        if self.mode == "far":
            return self._about_anchor(left, right)
        if self.mode == "plain":
            return self.kernel.gram(left, right)
        exponents = self._exponents(left, right)
        return np.expm1(exponents, out=exponents) if self.mode == "near" else np.exp(exponents)

    def sizes(self, X: Any, diagonal: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how large the terms of each row's value with itself are, from X or these values.

        An entry [i, j] is known to some rounding errors of the geometric mean of two sizes.
        """
        kernel, rows = self.kernel, shift_rows(X, self.anchor)
        if callable(kernel.kernel) or kernel.kernel in ("linear", "precomputed"):
            return np.abs(diagonal)
        squares = self.gamma * row_norms(rows, squared=True)
        if self.mode == "far":
            a, s = self._at_anchor(rows)
            return kernel.degree * _expand(a, np.abs(s), np.abs(s), squares, kernel.degree)
        if kernel.kernel == "poly":
            return kernel.degree * np.abs(diagonal)
        ones = np.ones_like(diagonal)
        return {"near": 4 * squares, "plain": 1 + 2 * squares}.get(self.mode, ones)

    def constant(self, X: Any, alpha: NDArray[np.float64]) -> float:
        """Return by how much scores of the kernel itself are above those of `gram`."""
        if self.mode != "far" or self.anchor is None:
            return 0.0
        return float(self.kernel.gram(self.anchor[None], X)[0] @ alpha)

    def _exponents(self, left: Any, right: Any) -> NDArray[np.float64]:
        values = np.empty((left.shape[0], right.shape[0]))
        for start in range(0, left.shape[0], _BLOCK):
            for first in range(0, right.shape[0], _BLOCK):
                rows, others = left[start : start + _BLOCK], right[first : first + _BLOCK]
                block = cdist(dense(rows), dense(others), "sqeuclidean")
                values[start : start + _BLOCK, first : first + _BLOCK] = -self.gamma * block
        return values

    def _at_anchor(self, rows: Any) -> tuple[float, NDArray[np.float64]]:
        """Return gamma c.c + coef0, and gamma c.u of moved rows."""
        kernel, c = self.kernel, self.anchor
        if c is None:
            return float(kernel.coef0), np.zeros(rows.shape[0])
        return float(self.gamma * (c @ c) + kernel.coef0), self.gamma * (rows @ c)

    def _about_anchor(self, left: Any, right: Any) -> NDArray[np.float64]:
        """Return the polynomial kernel less its values with the anchor."""
        a, s = self._at_anchor(left)
        t = self._at_anchor(right)[1]
        values = np.ascontiguousarray(safe_sparse_dot(left, right.T, dense_output=True))
        values *= self.gamma
        for start in range(0, len(values), _BLOCK):
            rows = slice(start, start + _BLOCK)
            values[rows] = _expand(a, s[rows, None], t, values[rows], self.kernel.degree)
        return values


def _expand(
    a: float,
    s: NDArray[np.float64],
    t: NDArray[np.float64],
    r: NDArray[np.float64],
    degree: int,
) -> NDArray[np.float64]:
    r"""Return :math:`(a + s + t + r)^p - (a + s)^p - (a + t)^p + a^p`; arrays are broadcast.

    The value for p + 1 follows from that for p, D, and from :math:`d(s) = (a + s)^p - a^p`:
    :math:`(a + s + t + r) D + (t + r) d(s) + (s + r) d(t) + r a^p`. Nothing large is subtracted.
    """
    value, of_s, of_t, power = np.zeros_like(r), np.zeros_like(s), np.zeros_like(t), 1.0
    for _ in range(degree):
        value *= a + s + t + r
        value += (t + r) * of_s + (s + r) * of_t + r * power
        of_s, of_t, power = (a + s) * of_s + s * power, (a + t) * of_t + t * power, power * a
    return value


def find_anchor(X: Any) -> NDArray[np.float64] | None:
    """Return the means of columns far from 0 compared with their spread; None: shift no rows.

    Other columns are 0, so that sparse rows stay sparse. A sample of the rows is enough.
    """
    rows = X[:: max(1, X.shape[0] // _ANCHOR_ROWS)]
    n = rows.shape[0]
    # products with 1 / n: a sum of large numbers might overflow
    means = np.full(n, 1.0 / n) @ rows
    if issparse(rows):
        squares = np.full(n, 1.0 / n) @ rows.multiply(rows).tocsr()
        spread = np.maximum(squares - means * means, 0.0)
    else:
        spread = np.square(rows - means).mean(axis=0)
    if not (means @ means > _FAR * spread.sum()):
        return None
    return np.where(means * means > _FAR * spread, means, 0.0)


def anchor_rows(m: int) -> NDArray[np.int64]:
    """Return the rows out of m that `find_anchor` takes: its result for these is that for all."""
    return np.arange(0, m, max(1, m // _ANCHOR_ROWS))


def shift_rows(X: Any, anchor: NDArray[np.float64] | None) -> Any:
    """Return rows less the anchor, as new ones; X itself if that is None."""
    if anchor is None:
        return X
    if not issparse(X):
        return X - anchor
    columns, m = np.flatnonzero(anchor), X.shape[0]
    starts = np.arange(0, m * len(columns) + 1, len(columns))
    offset = np.tile(anchor[columns], m), np.tile(columns, m), starts
    return csr_array(X - csr_array(offset, X.shape))


class Factor(NamedTuple):
    """A Gram matrix as Z Z', with as many columns as it has rank.

    Attributes
    ----------
    Z : ndarray of shape (m, rank)
        The rows in coordinates.
    pivots : ndarray of shape (rank,)
        Rows that span all others; theirs in Z are a lower triangle.
    left : ndarray of shape (m,)
        The squares that Z lacks.
    """

    Z: NDArray[np.float64]
    pivots: NDArray[np.int64]
    left: NDArray[np.float64]

    def coefficients(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return alpha of shape (m,), not 0 at the pivots only, with Z' alpha = w."""
        alpha = np.zeros(len(self.Z))
        triangle = self.Z[self.pivots]
        alpha[self.pivots] = solve_triangular(triangle, w, lower=True, trans="T")
        return alpha

    def coordinates(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the w that gives the pivots these scores, of shape (m,)."""
        return solve_triangular(self.Z[self.pivots], scores[self.pivots], lower=True)


def centre(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre a Gram matrix in place, as if its rows had mean 0; return the means of its columns."""
    means = K.mean(axis=0)
    K -= means
    K -= (means - means.mean())[:, None]
    return means


def factorise(K: NDArray[np.float64], noise: float = 0.0) -> Factor:
    """Factorise a Gram matrix, which is overwritten, by pivoted Cholesky: O(m rank^2).

    ``noise`` is by how much entries may be off.

    Raises
    ------
    ValueError
        If the matrix is not positive semi-definite.
    """
    diagonal = np.diagonal(K).copy()
    if not np.isfinite(diagonal).all():
        raise ValueError("the kernel's values are larger than a float can hold: scale the features")
    tolerance = max(len(K) * np.finfo(np.float64).eps * diagonal.max(initial=0.0), noise)
    lower, pivots, rank, _ = lapack.dpstrf(K.T, tol=tolerance, lower=1, overwrite_a=1)
    order = pivots.astype(np.int64) - 1
    Z = np.zeros((len(K), rank))
    Z[order] = np.tril(lower[:, :rank])
    left = diagonal - (Z * Z).sum(axis=1)
    if left.min(initial=0.0) < -max(_INDEFINITE * np.abs(diagonal).max(), len(K) * noise):
        raise ValueError(
            "the kernel is not positive semi-definite: it gives some rows a negative square; use "
            "another kernel"
        )
    return Factor(Z, order[:rank], np.maximum(left, 0.0))
