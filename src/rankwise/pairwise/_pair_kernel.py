"""The kernel between pairs that makes a ranking SVM an SVM."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from rankwise._core.explicit_pairs import check_pairs
from rankwise._core.inputs import rows_of
from rankwise._core.kernels import Anchored, checked_kernel


def pair_kernel(
    X: ArrayLike,
    pairs: ArrayLike,
    Y: ArrayLike | None = None,
    other_pairs: ArrayLike | None = None,
    *,
    kernel: Any = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
) -> NDArray[np.float64]:
    r"""Return the kernel between pairs of rows: inner products of differences.

    .. math::

        K'((i, j), (k, l)) = K(x_i, x_k) + K(x_j, x_l) - K(x_i, x_l) - K(x_j, x_k)

    With it any kernel method for two classes learns from pairs: a classifier without an intercept,
    fitted to all pairs with the label 1, is a ranking SVM. It is quadratic in the number of pairs,
    `RankSVM` is not.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows; for a precomputed kernel its values between them and those of Y.
    pairs : array-like of shape (n_pairs, 2)
        Rows of X: the worse and the better of each pair.
    Y : array-like or CSR matrix of shape (n_others, n_features), default=None
        Other rows; None: X.
    other_pairs : array-like of shape (n_other_pairs, 2), default=None
        Rows of Y; None: ``pairs``.
    kernel, gamma, degree, coef0
        As in `RankSVM`.

    Returns
    -------
    ndarray of shape (n_pairs, n_other_pairs)

    References
    ----------
    M. Mohri, Foundations of machine learning: ranking, lecture.

    Examples
    --------
    >>> from rankwise.pairwise import pair_kernel
    >>> pair_kernel([[0.0], [1.0], [3.0]], [[0, 1], [1, 2]])
    array([[1., 2.],
           [2., 4.]])
    """
    chosen = checked_kernel("pair_kernel", kernel, gamma, degree, coef0)
    rows = _check(X, "X")
    columns = rows if Y is None else _check(Y, "Y")
    with np.errstate(over="ignore", invalid="ignore"):
        # differences are the same, and no digits of them are lost
        K = Anchored.of(chosen, rows).gram(rows, columns)
    if not np.isfinite(K).all():
        raise ValueError("the kernel's values are larger than a float can hold: scale the features")
    ours = check_pairs(pairs, K.shape[0])
    name, given = ("pairs", pairs) if other_pairs is None else ("other_pairs", other_pairs)
    others = check_pairs(given, K.shape[1], name)
    with np.errstate(over="ignore"):
        differences = K[ours[:, 1]] - K[ours[:, 0]]
        values = differences[:, others[:, 1]] - differences[:, others[:, 0]]
    if not np.isfinite(values).all():
        raise ValueError("the kernel's values are larger than a float can hold: scale the features")
    return values


def _check(X: ArrayLike, name: str) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        return check_array(rows_of(X, name), accept_sparse="csr", dtype=np.float64, input_name=name)
