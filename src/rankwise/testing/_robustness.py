"""Robustness that every estimator promises to a hostile or careless caller.

A refused call leaves the model unchanged. What is passed in is never written to. Any container of
the same numbers gives the same model. Numbers too large for a float are refused, or learned from.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import signature
from typing import Any

import joblib
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from rankwise._core.ordinal import OrdinalMixin
from rankwise._core.ranker import RankerMixin
from rankwise.testing._helpers import (
    assert_refused,
    assert_same_preferences,
    is_precomputed,
    named,
    queries,
    refused,
    stream,
)
from rankwise.testing._tiny import assert_finite

_LEARNERS = ("fit", "partial_fit", "partial_fit_predict", "fit_pairs")


def robustness_checks(estimator: Any) -> list[Callable[[Any], None]]:
    """Return the checks that apply to an estimator."""
    checks: list[Callable[[Any], None]] = [
        check_refused_call_changes_nothing,
        check_inputs_untouched,
        check_later_changes_of_input,
        check_threads_share_input,
        check_masked_refused,
        check_bad_weights_named,
        check_huge_numbers,
        check_arrays_of_sparse_rows,
    ]
    if not is_precomputed(estimator):
        checks.append(check_duplicate_entries)
    if not isinstance(estimator, OrdinalMixin):
        checks.append(check_ordered_categories)
    if isinstance(estimator, RankerMixin):
        checks.append(check_tiny_weights)
    return checks


def check_refused_call_changes_nothing(estimator: Any) -> None:
    """A fit, partial_fit or fit_pairs that raises leaves every attribute unchanged."""
    X, y = stream()
    rows = rows_for(estimator, X)
    model = clone(estimator).fit(rows, y)
    before, said = joblib.hash(vars(model)), say(model, rows)
    for call in _bad_calls(model):
        assert refused(call), call
        assert joblib.hash(vars(model)) == before, call
    assert_array_equal(say(model, rows), said)


def check_inputs_untouched(estimator: Any) -> None:
    """No method writes to what it is given, which may be read-only."""
    X, y = stream(real=True)
    dense = rows_for(estimator, X)
    qid, weight = queries(len(y)), np.ones(len(y))
    for rows in (
        dense,
        np.asfortranarray(dense),
        dense.astype(np.float32),
        _split_entries(dense),
        sparse.csc_array(dense),
        sparse.csr_matrix(dense),
    ):
        frozen = _freeze(rows, y, qid, weight)
        before = [array.tobytes() for array in frozen]
        model = clone(estimator)
        model.fit(rows, y, **named(model.fit, qid, weight))
        say(model, rows)
        if hasattr(model, "partial_fit") and not is_precomputed(model):
            model.partial_fit(rows, y, **named(model.partial_fit, qid, weight))
        for name in ("rank", "score", "decision_function", "predict_proba", "prefer"):
            if hasattr(model, name):
                method = getattr(model, name)
                given = {"score": (rows, y), "prefer": (rows, rows)}.get(name, (rows,))
                method(*given, **named(method, qid, weight))
        assert [array.tobytes() for array in frozen] == before


def check_later_changes_of_input(estimator: Any) -> None:
    """A model keeps no hold of the caller's arrays: what becomes of them later does not matter."""
    X, y = stream(real=True)
    rows = rows_for(estimator, X)
    for given in (rows.copy(), sparse.csr_array(rows)):
        ratings = y.copy()
        model = clone(estimator).fit(given, ratings)
        said = say(model, rows)
        ratings[:] = 1
        (given if isinstance(given, np.ndarray) else given.data)[:] = 7.0
        assert_array_equal(say(model, rows), said)


def check_threads_share_input(estimator: Any) -> None:
    """Threads that learn from one matrix at a time get the model that one alone gets."""
    X, y = stream(real=True)
    rows = rows_for(estimator, X)
    shared = rows if is_precomputed(estimator) else _split_entries(rows)
    said = say(clone(estimator).fit(shared.copy(), y), rows)

    def learn(_: int) -> Any:
        return say(clone(estimator).fit(shared, y), rows)

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(learn, range(4)):
            assert_array_equal(found, said)


def check_masked_refused(estimator: Any) -> None:
    """A masked entry is not a number."""
    X, y = stream()
    rows = rows_for(estimator, X)
    model = clone(estimator).fit(rows, y)
    masked = np.ma.array(rows, mask=np.zeros(rows.shape, dtype=bool))
    masked[5, 1] = np.ma.masked
    hidden = np.ma.array(y, mask=np.arange(len(y)) == 3)
    assert_refused(partial(model.fit, masked, y), "masked")
    assert_refused(partial(say, model, masked), "masked")
    assert_refused(partial(model.fit, rows, hidden), "masked")
    if "sample_weight" in signature(model.fit).parameters:
        weight = np.ma.array(np.ones(len(y)), mask=np.arange(len(y)) == 3)
        assert_refused(partial(model.fit, rows, y, sample_weight=weight), "masked")


def check_bad_weights_named(estimator: Any) -> None:
    """A weight that is NaN, infinite or negative is named with its row and the fix."""
    X, y = stream()
    rows = rows_for(estimator, X)
    model = clone(estimator).fit(rows, y)
    calls = [
        (partial(getattr(model, name), rows, y), "sample_weight")
        for name in (*_LEARNERS, "score", "leave_pair_out")
        if hasattr(model, name) and "sample_weight" in signature(getattr(model, name)).parameters
    ]
    if hasattr(model, "fit_pairs"):
        learn = partial(model.fit_pairs, rows, [[0, 1]] * len(y))
        calls += [] if refused(learn) else [(learn, "pair_weight")]
    for call, name in calls:
        for good in (2.0, np.full((len(y), 1), 2.0)):  # one number, and a column of a table
            call(**{name: good})
        for bad in (np.nan, np.inf, -1.0):
            weight = np.where(np.arange(len(y)) == 3, bad, 1.0)
            expected = f"{name}[3] is {bad}: expected a finite number of at least 0; drop the "
            assert_refused(partial(call, **{name: weight}), expected)
        assert_refused(partial(call, **{name: np.zeros(len(y))}), "weight")
        assert_refused(partial(call, **{name: np.ones(7)}), f"{name} has the shape (7,) for 60 ")


def check_huge_numbers(estimator: Any) -> None:
    """Numbers near the largest float are refused, or what is learned from them is finite."""
    X, y = stream(real=True)
    rows = rows_for(estimator, X)
    known = clone(estimator).fit(rows, y)
    one = rows.copy()
    one[7, 1] = one[1, 7 if is_precomputed(estimator) else 1] = 1.7e308
    for huge in (rows * 1e300, rows * 1e154, one, rows * 1e-300):
        for given in (huge, sparse.csr_array(huge)):
            refused(partial(_assert_finite_scores, known, given))
            refused(partial(_learn_finite, clone(estimator), given, y, rows))
            # two classes have one decision, a difference that may be too large
            two = np.minimum(y, 2)
            refused(partial(_learn_finite, clone(estimator), given, two, given))
    if not isinstance(estimator, OrdinalMixin):
        for factor in (1e300, 1e-300):
            refused(partial(_learn_finite, clone(estimator), rows, y * factor, rows))


def check_arrays_of_sparse_rows(estimator: Any) -> None:
    """Sparse rows whose indices lie outside of their shape are refused before they are read."""
    X, y = stream()
    rows = rows_for(estimator, X)
    model = clone(estimator).fit(rows, y)
    for kind in (sparse.csr_array, sparse.csc_array):
        outside, falling = kind(rows), kind(rows)
        outside.indices[3] = 1_000_000
        falling.indptr[2] = falling.indptr[-1] + 5
        for bad in (outside, falling):
            for method, given in (("fit", (bad, y)), ("predict", (bad,)), ("rank", (bad,))):
                if hasattr(model, method):
                    assert_refused(partial(getattr(model, method), *given), "contradict each other")


def check_duplicate_entries(estimator: Any) -> None:
    """Entries of sparse rows that are given twice are added, by fit and predict alike."""
    X, y = stream()
    twice = _split_entries(X)
    expected = clone(estimator).fit(X, y)
    model = clone(estimator).fit(twice, y)
    wanted = say(expected, X)
    for found in (say(expected, twice), say(model, X), say(model, twice)):
        if isinstance(model, OrdinalMixin):
            assert_array_equal(found, wanted)
        else:
            assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


def check_ordered_categories(estimator: Any) -> None:
    """An ordered categorical means its order, in fit and score."""
    import pandas as pd  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415

    X, y = stream()
    rows = rows_for(estimator, X)
    names = ["poor", "fair", "good", "fine"]
    words = np.array(names)[y - 1]
    expected = clone(estimator).fit(rows, y)
    ordered = pd.Series(pd.Categorical(words, categories=names, ordered=True))
    numbers = pd.Categorical(5 - y, categories=[4, 3, 2, 1], ordered=True)
    for ratings in (ordered, ordered.array, numbers, pl.Series(words, dtype=pl.Enum(names))):
        model = clone(estimator).fit(rows, ratings)
        # The places of the categories count from 0, and only differences matter.
        if isinstance(model, RankerMixin):
            assert_same_preferences(model, expected, rows)
        else:
            assert_array_equal(say(model, rows), say(expected, rows))
        assert model.score(rows, ratings) == expected.score(rows, y)
    assert_refused(partial(clone(estimator).fit, rows, pd.Categorical(words)), "order")


def check_tiny_weights(estimator: Any) -> None:
    """Only the proportions of weights count, however small they are."""
    X, y = stream(real=True)
    rows = rows_for(estimator, X)
    expected = clone(estimator).fit(rows, y, sample_weight=np.ones(len(y)))
    for size in (5e-324, 1e-308, 1e-200, 1e200, 1e308):
        model = clone(estimator).fit(rows, y, sample_weight=np.full(len(y), size))
        assert_same_preferences(model, expected, rows)


def rows_for(estimator: Any, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return X, or for a precomputed kernel a matrix of values between its rows."""
    return X @ X.T + np.eye(len(X)) if is_precomputed(estimator) else X


def say(model: Any, rows: Any) -> Any:
    """Return predictions, or how a model without scores compares each row with the next."""
    if hasattr(model, "predict"):
        return model.predict(rows)
    return model.prefer(rows[:-1], rows[1:])


def _bad_calls(model: Any) -> Iterator[Callable[[], Any]]:
    """Yield calls that must be refused, with more columns than the model knows."""
    X, y = stream()
    rows = rows_for(model, X[:50]) if is_precomputed(model) else np.hstack([X, X])
    y = y[: len(rows)]
    bad_rows, bad_target = rows.copy(), y.astype(float)
    bad_rows[-1, -1], bad_target[-1] = np.inf, np.nan
    same = np.ones(len(y))
    for name in _LEARNERS:
        if not hasattr(model, name):
            continue
        learn = getattr(model, name)
        if name == "fit_pairs":
            yield partial(learn, rows, [[0, 1000]])
            yield partial(learn, bad_rows, [[0, 1]])
            yield partial(learn, rows, [[0, 1]], pair_weight=[-1.0])
            yield partial(learn, rows, [[3, 3]])
            continue
        yield partial(learn, bad_rows, y)
        yield partial(learn, rows, bad_target)
        yield partial(learn, rows, y[:-1])
        if "sample_weight" in signature(learn).parameters:
            yield partial(learn, rows, y, sample_weight=-same)
            yield partial(learn, rows, y, sample_weight=0 * same)
        if "qid" in signature(learn).parameters:
            yield partial(learn, rows, y, qid=y[:-1])
            if name == "fit" and not isinstance(model, OrdinalMixin):
                yield partial(learn, rows, y, qid=np.arange(len(y)))
        if isinstance(model, OrdinalMixin):
            yield partial(learn, rows, same)


def _split_entries(X: NDArray[np.float64]) -> sparse.csr_array:
    """Return CSR rows with each entry of X in two parts, not in the order of the columns."""
    m, d = X.shape
    columns = np.tile(np.concatenate([np.arange(d)[::-1], np.arange(d)]), m)
    values = np.repeat(0.5 * X, 2, axis=0).reshape(m, 2, d)
    data = np.concatenate([values[:, 0, ::-1], values[:, 1]], axis=1).ravel()
    return sparse.csr_array((data, columns, np.arange(m + 1) * 2 * d), shape=(m, d))


def _freeze(*given: Any) -> list[NDArray[Any]]:
    """Make all arrays read-only, those of sparse matrices too, and return them."""
    arrays: list[NDArray[Any]] = []
    for one in given:
        arrays += [one.data, one.indices, one.indptr] if sparse.issparse(one) else [one]
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _learn_finite(model: Any, rows: Any, y: Any, others: Any) -> None:
    """Fit a model, and assert that it and what it says of other rows is finite."""
    model.fit(rows, y)
    assert_finite(vars(model), "")
    _assert_finite_scores(model, others)


def _assert_finite_scores(model: Any, rows: Any) -> None:
    assert_finite(say(model, rows), "predictions")
    if hasattr(model, "decision_function"):
        assert_finite(model.decision_function(rows), "decision_function")
