"""Ratings of 5,000 rows with a Gaussian kernel: fit, all left-out pairs, twenty values of C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from benchmarks.harness import Entrant, Growth, Race, Target, load

Array = NDArray[np.float64]
Predict = Callable[[Array], Array]

C = 1_000.0
CS = tuple(np.geomspace(1e-1, 1e5, 20).tolist())
FEW = 2_000


def ratings(
    m: int = 5_000, m_test: int = 2_000, d: int = 300, seed: int = 1
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Rows of unit normals; a rating is a smooth function of a few directions, and noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((m + m_test, d))
    score = X @ random.standard_normal((d, 3)) / np.sqrt(d)
    y = np.tanh(score).sum(axis=1) + 0.5 * random.standard_normal(m + m_test)
    return (X[:m], y[:m]), (X[m:], y[m:])


def msd(predict: Predict, X: Array, y: Array) -> float:
    """Mean squared difference over all pairs of test rows."""
    return float(2 * np.var(predict(X) - y))


def _gram(X: Array, Y: Array | None = None) -> Array:
    return load("sklearn.metrics.pairwise.rbf_kernel")(X, Y)


def _solve(K: Array, y: Array, *, overwrite: bool) -> Array:
    # Its transpose is in the order that LAPACK wants, so nothing is copied in vain.
    factor = cho_factor(K.T, lower=True, overwrite_a=overwrite, check_finite=False)
    return cho_solve(factor, y, check_finite=False)


def cholesky(X: Array, y: Array) -> Callable[[], None]:
    """One Cholesky solve with a kernel matrix that is already there."""
    K = _gram(X)
    K[np.diag_indices_from(K)] += len(y) / (2 * C)

    def run() -> None:
        _solve(K, y, overwrite=False)

    return run


def gram_and_cholesky(X: Array, y: Array) -> Callable[[], Predict]:
    """The kernel matrix and one Cholesky solve: kernel ridge without an intercept."""

    def run() -> Predict:
        K = _gram(X)
        K[np.diag_indices_from(K)] += len(y) / (2 * C)
        alpha = _solve(K, y, overwrite=True)
        return lambda new: _gram(new, X) @ alpha

    return run


def fit(path: str, **parameters: Any) -> Callable[[Array, Array], Callable[[], Predict]]:
    """``fit`` of an estimator."""

    def prepare(X: Array, y: Array) -> Callable[[], Predict]:
        model = load(path)
        return lambda: model(**parameters).fit(X, y).predict

    return prepare


def left_out(X: Array, y: Array) -> Callable[[], None]:
    """Errors and differences of all pairs, for a kernel matrix that is already there."""
    K = _gram(X)
    leave_pair_out, model = (
        load("rankwise.model_selection.leave_pair_out"),
        load("rankwise.magnitude.MPRank"),
    )

    def run() -> None:
        leave_pair_out(model(C, kernel="precomputed"), K, y)

    return run


RACE = Race(
    data=ratings,
    measure="MSD",
    judge=msd,
    limit=Entrant("Gram + Cholesky", gram_and_cholesky),
    ours=(
        Entrant("MPRank", fit("rankwise.magnitude.MPRank", C=C, kernel="rbf")),
        Entrant("leave-pair-out", left_out),
        Entrant(
            "MPRankCV, 20 C",
            fit("rankwise.magnitude.MPRankCV", Cs=CS, kernel="rbf"),
            rows=FEW,
        ),
    ),
    peers=(
        Entrant("Cholesky solve", cholesky, growth=True),
        Entrant("Cholesky solve, few", cholesky, rows=FEW),
        Entrant("KernelRidge", fit("sklearn.kernel_ridge.KernelRidge", kernel="rbf"), growth=True),
    ),
    targets=(
        Target("MPRank", over="Gram + Cholesky", at_most=1.3),
        Target("leave-pair-out", over="Cholesky solve", at_most=3),
        Target("MPRankCV, 20 C", over="Cholesky solve, few", at_most=45),
    ),
    growth=(Growth("m", (1_000, 2_000, 4_000), fixed={"m_test": 500}),),
)
