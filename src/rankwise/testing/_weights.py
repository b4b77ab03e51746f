"""Checks that rows of weight 0 change neither a model nor a score."""

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.testing._helpers import assert_same, is_precomputed, named, queries, stream


class Weighted(NamedTuple):
    """Rows, their targets, queries and weights."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    qid: NDArray[np.int64]
    weight: NDArray[np.float64]


def weight_checks(estimator: Any) -> list[Callable[[Any], None]]:
    """Return the checks that apply to an estimator."""
    checks: dict[str, Callable[[Any], None]] = {
        "fit": check_zero_weight_is_absence,
        "score": check_zero_weight_in_score,
    }
    return [check for method, check in checks.items() if takes_weights(estimator, method)]


def check_zero_weight_is_absence(estimator: Any) -> None:
    """Fit and partial_fit give the same model with rows of weight 0 among the others.

    The features of these are finite but extreme, their labels occur nowhere else, and some are in
    queries of their own. The models are equal bit for bit, but for precomputed kernels, whose
    matrices have other sizes.
    """
    some, everything, rows = _with_and_without(estimator)
    for method in ("fit", "partial_fit"):
        if not takes_weights(estimator, method):
            continue
        model, other = clone(estimator), clone(estimator)
        _call(model, method, some)
        _call(other, method, everything)
        if is_precomputed(estimator):
            found = other.predict(everything.X)[rows]
            assert_allclose(found, model.predict(some.X), rtol=1e-9, atol=1e-9)
            continue
        assert_same(other, model, some.X)


def check_zero_weight_in_score(estimator: Any) -> None:
    """The score is the same, bit for bit, with rows of weight 0 among the others."""
    some, everything, rows = _with_and_without(estimator)
    model = clone(estimator)
    _call(model, "fit", some)
    if is_precomputed(estimator):
        everything = everything._replace(X=everything.X[:, rows])
    assert _call(model, "score", everything) == _call(model, "score", some)


def takes_weights(estimator: Any, method: str) -> bool:
    """Whether a method of an estimator has the argument ``sample_weight``."""
    call = getattr(estimator, method, None)
    return call is not None and "sample_weight" in signature(call).parameters


def with_absent_rows(some: Weighted) -> tuple[Weighted, NDArray[np.int64]]:
    """Return the rows with others of weight 0 among them, and where the former are."""
    random = np.random.default_rng(8)
    m, n = len(some.y), 12
    X = random.normal(size=(n, some.X.shape[1])) * np.logspace(-60, 60, n)[:, None]
    y = np.array([-7, 0, 3, 9, 77, 10**6, 10**15, -(10**15), 1, 2, 5, 6])
    qid = np.append(random.choice(some.qid, n - 3), [-5, 99, 100])
    absent = Weighted(X, y, qid, np.zeros(n))
    order = random.permutation(m + n)
    # The others stay in the order in which they were.
    order[order < m] = np.arange(m)
    columns = (np.concatenate(pair)[order] for pair in zip(some, absent, strict=True))
    return Weighted(*columns), np.flatnonzero(order < m)


def weighted() -> Weighted:
    X, y = stream(real=True)
    weight = np.random.default_rng(4).integers(1, 4, size=len(y)) / 2
    return Weighted(X, y, queries(len(y)), weight)


def _with_and_without(estimator: Any) -> tuple[Weighted, Weighted, NDArray[np.int64]]:
    """Return rows, the same among others of weight 0, and where the former are."""
    some = weighted()
    everything, rows = with_absent_rows(some)
    if is_precomputed(estimator):
        X = everything.X.clip(-9, 9)
        everything = everything._replace(X=X @ X.T + np.eye(len(X)))
        some = some._replace(X=everything.X[np.ix_(rows, rows)])
    return some, everything, rows


def _call(model: Any, method: str, rows: Weighted) -> Any:
    call = getattr(model, method)
    return call(rows.X, rows.y, **named(call, rows.qid, rows.weight))
