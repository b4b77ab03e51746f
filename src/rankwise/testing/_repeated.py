"""Checks that repeated fits and saved models are equal to the last bit."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from rankwise._core.ordinal import OnlineMixin
from rankwise.persistence import load, save
from rankwise.testing._helpers import K, assert_refused, is_precomputed, named, queries, stream
from rankwise.testing._robustness import rows_for, say


def check_same_bits_twice(estimator: Any, n_fits: int = 4) -> None:
    """Repeated fits and predictions are equal bit for bit, in any place in memory."""
    X, y = stream(real=True)
    random = np.random.default_rng(0)
    rows, qid, weight = rows_for(estimator, X), queries(len(y)), random.random(len(y)) + 0.5
    seed = {"random_state": 0} if "random_state" in estimator.get_params() else {}
    for weighted in (False, True):
        expected: tuple[Any, Any] | None = None
        for _ in range(n_fits):
            model = clone(estimator).set_params(**seed)
            given = named(model.fit, _moved(qid, random), _moved(weight, random))
            with _disturbed_memory(random):
                model.fit(_moved(rows, random), _moved(y, random), **(given if weighted else {}))
                found = model, say(model, _moved(rows, random))
            expected = expected or found
            assert same_bits(found, expected)


def _moved(array: NDArray[Any], random: np.random.Generator) -> NDArray[Any]:
    """Return a copy that begins at any multiple of 8 bytes."""
    memory = np.empty(array.nbytes + 64, dtype=np.uint8)
    start = 8 * int(random.integers(0, 8))
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


@contextmanager
def _disturbed_memory(random: np.random.Generator) -> Iterator[None]:
    """Keep blocks of memory of any size, after others that held NaN were freed."""
    sizes = random.integers(1, 2000, size=200)
    kept = [np.full(size, np.nan) for size in sizes][::2]
    yield
    kept.clear()


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values have one type and the same bits, all that they hold included.

    Of arrays, the memory order counts if both are contiguous: sums depend on it. Of a dict with
    strings for names, the order does not.
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, BaseEstimator):
        ours, theirs = dict(vars(a)), dict(vars(b))
        routed = [str(one.pop("_metadata_request", None)) for one in (ours, theirs)]
        return routed[0] == routed[1] and same_bits(ours, theirs)
    if isinstance(a, np.ndarray):
        return _same_arrays(a, b)
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return (a == b and np.signbit(a) == np.signbit(b)) or (a != a and b != b)
    if sparse.issparse(a):
        parts = ("data", "indices", "indptr", "shape")
        return all(same_bits(getattr(a, part), getattr(b, part)) for part in parts)
    if isinstance(a, np.random.RandomState):
        return same_bits(a.get_state(legacy=False), b.get_state(legacy=False))
    if isinstance(a, np.random.Generator):
        return same_bits(a.bit_generator.state, b.bit_generator.state)
    if isinstance(a, dict):
        if all(isinstance(name, str) for name in a):
            return a.keys() == b.keys() and all(same_bits(a[k], b[k]) for k in a)
        return same_bits(list(a.items()), list(b.items()))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if is_dataclass(a) and not isinstance(a, type):
        return all(same_bits(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b)


def _same_arrays(a: Any, b: Any) -> bool:
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.hasobject:
        return same_bits(a.ravel().tolist(), b.ravel().tolist())
    layouts = [(x.flags.c_contiguous, x.flags.f_contiguous) for x in (a, b)]
    alike = layouts[0] == layouts[1] or not (a.flags.forc and b.flags.forc)
    return alike and a.tobytes() == b.tobytes()


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
    """Return a model after saving and loading it."""
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
