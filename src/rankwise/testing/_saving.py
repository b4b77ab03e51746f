"""What every estimator of rankwise promises about files."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import joblib
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rankwise._core.ordinal import OnlineMixin
from rankwise.persistence import load, save
from rankwise.testing._bits import same_bits
from rankwise.testing._helpers import K, assert_refused, is_precomputed, named, queries, stream
from rankwise.testing._robustness import rows_for, say


def saving_checks(estimator: Any) -> list[Callable[[Any], None]]:
    """Return the checks that apply to an estimator; others than rankwise's can't be saved."""
    if type(estimator).__module__.partition(".")[0] != "rankwise":
        return []
    if any(map(callable, estimator.get_params(deep=False).values())):
        return [check_functions_are_not_saved]
    return [check_saved_and_loaded, check_saved_within_a_stream]


def check_saved_and_loaded(estimator: Any) -> None:
    """A loaded model is the same to the last bit and clones; an unfitted one is its parameters."""
    X, y = stream(real=True)
    rows, qid = rows_for(estimator, X), queries(len(y))
    _assert_equal(_loaded(clone(estimator)), clone(estimator))
    for given in (rows, sparse.csr_array(rows)):
        for names in (None, qid):
            model = clone(estimator)
            model.fit(given, y, **({} if names is None else named(model.fit, names, None)))
            copy = _loaded(model)
            _assert_equal(copy, model)
            for asked in (rows, sparse.csr_array(rows), rows[:2]):
                assert_array_equal(say(copy, asked), say(model, asked))
            _assert_equal(clone(copy), clone(model))


def check_saved_within_a_stream(estimator: Any) -> None:
    """A model that was saved between two chunks goes on bit for bit."""
    if not hasattr(estimator, "partial_fit"):
        return
    X, y = stream(real=True)
    rows = rows_for(estimator, X)
    model = clone(estimator)
    online = isinstance(estimator, OnlineMixin)
    labels = {"classes": range(1, K + 1)} if online else {}
    for part in (slice(0, 1), slice(1, 30)):
        model.partial_fit(rows[part], y[part], **labels)
    copy = _loaded(model)
    for part in (slice(30, 31), slice(31, 60)):
        for one in (model, copy):
            one.partial_fit(rows[part], y[part])
        _assert_equal(copy, model)
    if online and not is_precomputed(estimator):
        said = [one.partial_fit_predict(rows, y) for one in (copy, model)]
        assert_array_equal(*said)
        _assert_equal(copy, model)


def check_functions_are_not_saved(estimator: Any) -> None:
    """A parameter that is a function is refused by name, and no file is written."""
    X, y = stream(real=True)
    model = clone(estimator).fit(rows_for(estimator, X), y)
    (name,) = (k for k, v in estimator.get_params(deep=False).items() if callable(v))
    with tempfile.TemporaryDirectory() as folder:
        assert_refused(partial(save, model, Path(folder) / "model"), f"{name} is the function")
        assert not list(Path(folder).iterdir())


def _loaded(model: Any) -> Any:
    """Return a model as it comes back from a file."""
    before = joblib.hash(vars(model))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(model, path)
        assert [p.name for p in Path(folder).iterdir()] == ["model"]
        content = path.read_bytes()
        copy = load(path)
        save(copy, path)
        assert path.read_bytes() == content
    assert joblib.hash(vars(model)) == before
    return copy


def _assert_equal(model: Any, expected: Any) -> None:
    """Assert that two models have the same type, parameters and attributes to the last bit."""
    assert type(model) is type(expected)
    assert vars(model).keys() == vars(expected).keys()
    for name, value in vars(expected).items():
        assert same_bits(vars(model)[name], value), name
