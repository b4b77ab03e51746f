"""Checks of what every rankwise estimator promises beyond scikit-learn's own checks."""

import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from inspect import getmembers, isclass
from pathlib import Path
from re import sub
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from rankwise._core.ordinal import OnlineMixin, OrdinalMixin
from rankwise._core.ranker import RankerMixin
from rankwise.testing._helpers import (
    K,
    assert_close,
    assert_refused,
    assert_said,
    assert_same,
    assert_same_preferences,
    assert_unchanged,
    is_precomputed,
    learned,
    queries,
    stream,
)
from rankwise.testing._invariance import invariance_checks
from rankwise.testing._repeated import check_same_bits_twice, saving_checks
from rankwise.testing._robustness import robustness_checks
from rankwise.testing._tiny import check_tiny_problems
from rankwise.testing._weights import weight_checks


def contract_checks(estimator: Any) -> Iterator[Callable[[], None]]:
    """Yield the checks that apply to an estimator, as calls without arguments.

    Parameters
    ----------
    estimator : estimator
        An unfitted instance; it is cloned, never changed.

    Examples
    --------
    >>> from rankwise.ordinal import PRank
    >>> from rankwise.testing import contract_checks
    >>> for check in contract_checks(PRank()):
    ...     check()
    """
    checks = [
        check_same_bits_twice,
        *robustness_checks(estimator),
        *saving_checks(estimator),
        *weight_checks(estimator),
        check_tiny_problems,
    ]
    # Columns that are rows of the data are known to the checks of robustness only.
    if not is_precomputed(estimator):
        checks += _checks_of_meaning(estimator) + invariance_checks(estimator)
    excused = EXEMPTIONS.get(type(estimator).__name__, {})
    yield from (partial(check, estimator) for check in checks if check.__name__ not in excused)


def _checks_of_meaning(estimator: Any) -> list[Callable[[Any], None]]:
    checks: list[Callable[[Any], None]] = []
    if hasattr(estimator, "predict"):
        checks += [
            check_pickle_and_clone,
            check_same_from_any_container,
            check_float32,
            check_csr,
            check_permuted_rows,
            check_bad_values_refused,
        ]
    if hasattr(estimator, "prefer"):
        checks.append(check_pairwise_consistent)
    if isinstance(estimator, OrdinalMixin):
        checks += [
            check_monotone_relabelling,
            check_no_invented_label,
            check_one_class_refused,
            check_degenerate_rows,
        ]
        if hasattr(estimator, "decision_function"):
            checks.append(check_decision_is_prediction)
    if isinstance(estimator, OnlineMixin):
        checks += [
            check_any_chunking,
            check_predict_then_learn,
            check_refused_chunk,
            check_classes_required,
        ]
    if isinstance(estimator, RankerMixin):
        checks += [
            check_positions,
            check_score_is_a_share_of_pairs,
            check_learned_rows_in_any_order,
            check_renamed_queries,
            check_weight_is_repetition,
            check_shifted_ratings,
        ]
    return checks


def parametrize_with_contract(estimators: Iterable[Any]) -> Any:
    """Return a pytest decorator that runs a test over every check of every estimator.

    The test takes one argument, ``check``, and calls it.

    Parameters
    ----------
    estimators : iterable of estimators
        Unfitted instances.
    """
    import pytest  # noqa: PLC0415

    return pytest.mark.parametrize(
        "check",
        [
            pytest.param(check, id=f"{_name(estimator)}-{check.func.__name__}")  # type: ignore[attr-defined]
            for estimator in estimators
            for check in contract_checks(estimator)
        ],
    )


def _name(estimator: Any) -> str:
    """Return an estimator as a string, without addresses of functions, which change."""
    return sub(r" at 0x\w+", "", str(estimator))


def check_pickle_and_clone(estimator: Any) -> None:
    """A pickled model is the same and goes on alike; a clone is unfitted."""
    X, y = stream()
    model = clone(estimator).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_same(copy, model, X)
    if isinstance(estimator, OnlineMixin):
        assert_same(copy.partial_fit(X, y), model.partial_fit(X, y), X)
    assert not any(name.endswith("_") for name in vars(clone(model)) if name[0] != "_")


def check_same_from_any_container(estimator: Any) -> None:
    """Read-only, memory-mapped, Fortran-ordered, pandas and polars input give the same model."""
    import pandas as pd  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415

    X, y = stream()
    expected = clone(estimator).fit(X, y)
    columns = [f"f{j}" for j in range(X.shape[1])]
    readonly = X.copy()
    readonly.flags.writeable = False
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        mapped = np.load(Path(folder) / "X.npy", mmap_mode="r")
        assert_same(clone(estimator).fit(mapped, y), expected, mapped)
        del mapped
    for same in (readonly, np.asfortranarray(X), X.tolist()):
        assert_same(clone(estimator).fit(same, y), expected, X)
    for frame, labels in (
        (pd.DataFrame(X, columns=columns), pd.Series(y)),
        (pl.DataFrame(X, schema=columns), pl.Series(y)),
    ):
        model = clone(estimator).fit(frame, labels)
        assert model.feature_names_in_.tolist() == columns
        assert_said(model.predict(frame), expected.predict(X), model)


def check_float32(estimator: Any) -> None:
    """Single-precision rows give the model of the same numbers in double precision."""
    X, y = stream()
    model, expected = (clone(estimator).fit(X.astype(t), y) for t in (np.float32, np.float64))
    assert_close(model, expected, X)


def check_csr(estimator: Any) -> None:
    """CSR rows, of either kind of index, give the model of the dense ones."""
    X, y = stream()
    expected = clone(estimator).fit(X, y)
    for container in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array):
        assert_close(clone(estimator).fit(container(X), y), expected, X)
        assert_said(expected.predict(container(X)), expected.predict(X), expected)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert_close(clone(estimator).fit(wide, y), expected, X)


def check_permuted_rows(estimator: Any) -> None:
    """Predictions for a row do not depend on the rows around it."""
    X, y = stream()
    model = clone(estimator).fit(X, y)
    order = np.random.default_rng(3).permutation(len(X))
    assert_said(model.predict(X)[order], model.predict(X[order]), model)


def check_bad_values_refused(estimator: Any) -> None:
    """NaN, infinity and empty input are refused by fit and predict, which change nothing.

    A model whose tags allow NaN takes it as a missing value.
    """
    X, y = stream()
    model = clone(estimator).fit(X, y)
    before = learned(model)
    values = [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")]
    for value, name in values[model.__sklearn_tags__().input_tags.allow_nan :]:
        bad = X.copy()
        bad[7, 1] = value
        for rows in (bad, sparse.csr_array(bad)):
            assert_refused(partial(model.fit, rows, y), name)
            assert_refused(partial(model.predict, rows), name)
            assert_refused(partial(clone(estimator).fit, rows, y), name)
    assert_refused(partial(model.fit, X[:0], y[:0]), "0 sample")
    assert_refused(partial(model.fit, X[:, :0], y), "0 feature")
    assert_refused(partial(model.fit, X, y[:-1]), "inconsistent")
    assert_unchanged(model, before)


def check_pairwise_consistent(estimator: Any) -> None:
    """A comparator says the same of a pair from both sides: h(u, v) + h(v, u) = 1."""
    X, y = stream(real=True)
    model = clone(estimator).fit(X, y)
    there, back = model.prefer(X, X[::-1]), model.prefer(X[::-1], X)
    assert_array_equal(there + back, 1.0)
    assert sorted(model.order(X).order) == list(range(len(X)))


def check_monotone_relabelling(estimator: Any) -> None:
    """Other labels in the same order give the same model."""
    X, y = stream()
    expected = clone(estimator).fit(X, y)
    for names in (
        np.array([-5, 0, 3, 1_000_000]),
        np.array([1, 2, 4, 2**62]),
        np.array([0.0, 2.0, 3.0, 9.0]),
        np.array(["a", "b", "c", "d"]),
    ):
        model = clone(estimator).set_params(label_order=names).fit(X, names[y - 1])
        assert_array_equal(model.predict(X), names[expected.predict(X) - 1])
        assert_array_equal(model.project(X), expected.project(X))


def check_no_invented_label(estimator: Any) -> None:
    """Gaps between labels stay gaps, and ordered strings stay in their order."""
    import pandas as pd  # noqa: PLC0415

    X, y = stream()
    gaps = np.array([1, 2, 4, 8])[y - 1]
    assert set(clone(estimator).fit(X, gaps).predict(5 * X)) <= {1, 2, 4, 8}
    names = ["poor", "fair", "good", "fine", "never seen"]
    words = np.array(names)[y - 1]
    by_order = clone(estimator).set_params(label_order=names).fit(X, words)
    by_category = clone(estimator).fit(X, pd.Categorical(words, categories=names, ordered=True))
    for model in (by_order, by_category):
        assert model.classes_.tolist() == names
        assert set(model.predict(5 * X)) <= set(names)
    assert_array_equal(by_order.project(X), by_category.project(X))


def check_decision_is_prediction(estimator: Any) -> None:
    """The argmax of the decisions is the prediction, also on a threshold."""
    X, y = stream()
    for k in (2, K):
        model = clone(estimator).fit(X, np.minimum(y, k))
        assert np.all(np.diff(getattr(model, "thresholds_", [])) >= 0)
        for rows in (X, np.zeros_like(X), 1e6 * X, 1e-12 * X):
            decision = model.decision_function(rows)
            ranks = decision.argmax(axis=1) if k > 2 else (decision > 0).astype(int)
            assert decision.shape == ((len(rows), k) if k > 2 else (len(rows),))
            assert_array_equal(model.classes_[ranks], model.predict(rows))


def check_one_class_refused(estimator: Any) -> None:
    """A single label has no order, unless others are named."""
    X, _ = stream()
    same = np.full(len(X), 3)
    assert_refused(partial(clone(estimator).fit, X, same), "one class")
    model = clone(estimator).set_params(label_order=[1, 3]).fit(X, same)
    assert set(model.predict(X)) <= {1, 3}


def check_degenerate_rows(estimator: Any) -> None:
    """One row, zeros, a constant column and duplicate rows are learned from without a complaint."""
    X, y = stream()
    named = clone(estimator).set_params(label_order=np.arange(1, K + 1))
    constant = X.copy()
    constant[:, 0] = 1.0
    for rows in (X[:1], np.zeros_like(X), constant, np.repeat(X[:5], 4, axis=0)):
        model = clone(named).fit(rows, y[: len(rows)])
        assert np.isfinite(model.project(rows)).all()
        assert set(model.predict(rows)) <= set(range(1, K + 1))


def check_positions(estimator: Any) -> None:
    """Positions count from 1 within queries, the highest score first, ties as they come."""
    X, y = stream()
    qid = queries(len(y))
    model = clone(estimator).fit(X, y, qid=qid)
    scores = model.predict(X)
    for names in (None, qid):
        positions = model.rank(X, qid=names)
        for row in range(len(y)):
            rivals = np.flatnonzero((qid == qid[row]) | (names is None))
            ahead = sum(
                scores[r] > scores[row] or (scores[r] == scores[row] and r < row) for r in rivals
            )
            assert positions[row] == 1 + ahead


def check_score_is_a_share_of_pairs(estimator: Any) -> None:
    """The score is the share of comparable pairs in the right order; without qid it warns."""
    X, y = stream()
    qid = queries(len(y))
    model = clone(estimator).fit(X, y, qid=qid)
    said = model.predict(X)
    right = total = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if qid[i] == qid[j] and y[j] > y[i]:
                total += 1
                right += 1.0 if said[j] > said[i] else 0.5 if said[j] == said[i] else 0.0
    assert_allclose(model.score(X, y, qid=qid), right / total)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.score(X, y)
    assert any("qid" in str(warning.message) for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(estimator).fit(X, y).score(X, y)


def check_learned_rows_in_any_order(estimator: Any) -> None:
    """The order of the rows that are learned from makes no difference."""
    X, y = stream(real=True)
    qid = queries(len(y))
    order = np.random.default_rng(3).permutation(len(y))
    model = clone(estimator).fit(X, y, qid=qid)
    other = clone(estimator).fit(X[order], y[order], qid=qid[order])
    assert_same_preferences(other, model, X)


def check_renamed_queries(estimator: Any) -> None:
    """Queries may have any names."""
    X, y = stream(real=True)
    qid = queries(len(y))
    model = clone(estimator).fit(X, y, qid=qid)
    for names in (100 - 7 * qid, np.array(["c", "a", "e", "b", "d"])[qid], [str(q) for q in qid]):
        assert_same_preferences(clone(estimator).fit(X, y, qid=names), model, X)


def check_weight_is_repetition(estimator: Any) -> None:
    """A row of weight 2 is the row twice, and one of weight 0 is not there."""
    X, y = stream(real=True)
    qid = queries(len(y))
    weight = np.random.default_rng(4).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    model = clone(estimator).fit(X, y, qid=qid, sample_weight=weight)
    other = clone(estimator).fit(X[rows], y[rows], qid=qid[rows])
    assert_same_preferences(model, other, X)


def check_shifted_ratings(estimator: Any) -> None:
    """Only differences of ratings count."""
    X, y = stream(real=True)
    model, other = (clone(estimator).fit(X, y + shift) for shift in (0, 1000))
    assert_same_preferences(other, model, X)


def check_any_chunking(estimator: Any) -> None:
    """One pass of fit is partial_fit in any chunks, bit for bit."""
    X, y = stream(real=True)
    whole = clone(estimator).set_params(epochs=1, shuffle=False).fit(X, y)
    random = np.random.default_rng(2)
    places = np.arange(1, len(X))
    for n_cuts in (0, len(places), 1, 2, 5, 5, 20):
        model, guessed, said = clone(estimator), clone(estimator), []
        cuts = np.sort(random.choice(places, n_cuts, replace=False))
        for rows in np.split(np.arange(len(X)), cuts):
            model.partial_fit(X[rows], y[rows], classes=np.arange(1, K + 1))
            said.append(guessed.partial_fit_predict(X[rows], y[rows], classes=range(1, K + 1)))
        assert_same(model, whole, X)
        assert_same(guessed, whole, X)
        at_once = clone(estimator).partial_fit_predict(X, y, classes=np.arange(1, K + 1))
        assert_array_equal(np.concatenate(said), at_once)


def check_predict_then_learn(estimator: Any) -> None:
    """partial_fit_predict says what predict says before each update."""
    X, y = stream(real=True)
    model, other = (clone(estimator).partial_fit(X[:1], y[:1], range(1, K + 1)) for _ in range(2))
    said = model.partial_fit_predict(X[1:], y[1:])
    for i in range(1, len(X)):
        assert said[i - 1] == other.predict(X[i : i + 1])[0]
        other.partial_fit(X[i : i + 1], y[i : i + 1])


def check_refused_chunk(estimator: Any) -> None:
    """A chunk with an unknown label, NaN or another width leaves the model unchanged."""
    X, y = stream()
    model = clone(estimator).partial_fit(X, y, classes=range(1, K + 1))
    before = learned(model)
    bad_label, bad_row = y.copy(), X.copy()
    bad_label[-1], bad_row[-1, 0] = 77, np.nan
    for learn in (model.partial_fit, model.partial_fit_predict):
        assert_refused(partial(learn, X, bad_label), "77")
        assert_refused(partial(learn, bad_row, y), "NaN")
        assert_refused(partial(learn, X[:, 1:], y), "features")
        assert_refused(partial(learn, X, y, classes=[1, 2]), "classes")
    assert_unchanged(model, before)


def check_classes_required(estimator: Any) -> None:
    """The first chunk must come with all labels, and a refused one leaves nothing behind."""
    X, y = stream()
    model = clone(estimator)
    assert_refused(partial(model.partial_fit, X, y), "classes")
    assert_refused(partial(model.partial_fit, X, y, classes=[1, 2]), "label 3")
    assert learned(model) == {}
    model.set_params(label_order=range(1, K + 1)).partial_fit(X, y)
    assert model.classes_.tolist() == list(range(1, K + 1))


# Estimator name -> {check name: reason}, for scikit-learn's checks and the contract alike.
_BOTH_COPIES = "leaving out a row of weight 2 leaves out both copies of it, so errors differ"
_MEDIAN = "predict cuts by the loss: the median of the labels need not be the most probable one"
EXEMPTIONS: dict[str, dict[str, str]] = {
    "MPRankCV": {
        "check_sample_weight_equivalence_on_dense_data": _BOTH_COPIES,
        "check_sample_weight_equivalence_on_sparse_data": _BOTH_COPIES,
        "check_weight_is_repetition": _BOTH_COPIES,
    },
    "ThresholdRanker": {
        "check_sample_weight_equivalence_on_dense_data": _BOTH_COPIES,
        "check_sample_weight_equivalence_on_sparse_data": _BOTH_COPIES,
        "check_classifiers_train": _MEDIAN,
    },
}

# Estimators that do not learn from rows X and y, so that no check of either kind can be asked of
# them: name -> what they learn from. Their own tests look at refusals, inputs, clones and files.
NOT_OF_ROWS: dict[str, str] = {
    "BradleyTerry": "contests: two columns of items and an outcome",
    "EloRating": "contests: two columns of items and an outcome",
    "PlackettLuce": "rankings: lists of items, best first",
}

_PACKAGES = ("ordinal", "magnitude", "pairwise", "boosting", "preference", "contests")


def all_estimators() -> dict[str, Any]:
    """Return the public estimator classes that learn from rows, by name.

    Examples
    --------
    >>> from rankwise.testing import all_estimators
    >>> [name for name in sorted(all_estimators()) if name.startswith("Rank")]
    ['RankBoost', 'RankSVM']
    """
    return {
        name: member
        for package in _PACKAGES
        for name, member in getmembers(import_module(f"rankwise.{package}"), isclass)
        if issubclass(member, BaseEstimator) and name not in NOT_OF_ROWS
    }
