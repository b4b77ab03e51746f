"""Shared by the checks of the contract: small data, and equality of models."""

import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor

K = 4


def is_precomputed(estimator: Any) -> bool:
    """Whether the estimator takes kernel values for rows."""
    kernel = estimator.get_params().get("kernel")
    return isinstance(kernel, str) and kernel == "precomputed"


def queries(n: int) -> NDArray[np.int64]:
    """Return a query for each row: some of several rows, one of two and one of one."""
    qid = np.random.default_rng(2).integers(0, 3, size=n)
    qid[[3, 40]], qid[17] = 3, 4
    return qid


def stream(*, real: bool = False) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return 60 rows and ranks 1..4, all of which occur; small integers unless ``real``."""
    random = np.random.default_rng(1)
    X = random.integers(-1, 2, size=(60, 4)).astype(np.float64)
    y = 1 + np.digitize(X @ [1.0, 2.0, -1.0, 0.0] + random.normal(0, 0.3, 60), [-1.5, 0.0, 1.5])
    return (X + random.normal(0, 0.1, X.shape) if real else X), y


def named(method: Callable[..., Any], qid: Any, weight: Any) -> dict[str, Any]:
    """Return those of qid and weight that a method takes."""
    given = {"qid": qid, "sample_weight": weight}
    return {name: value for name, value in given.items() if name in signature(method).parameters}


def learned(model: Any) -> dict[str, Any]:
    """Return copies of what fit has set, the arrays of the state among them."""
    found: dict[str, Any] = {}
    for name, value in vars(model).items():
        if isinstance(value, BaseEstimator) and name.endswith("_"):
            found |= {f"{name}.{k}": v for k, v in learned(value).items()}
        elif name.endswith("_"):
            found[name] = np.array(value)
    return found | {f"_state[{k}]": v.copy() for k, v in vars(model).get("_state", {}).items()}


def assert_same(model: Any, expected: Any, X: Any) -> None:
    """Assert that two models are equal bit for bit."""
    assert_unchanged(model, learned(expected))
    assert_array_equal(model.predict(X), expected.predict(X))


def assert_close(model: Any, expected: Any, X: Any) -> None:
    """Assert that two models agree but for the order of summation."""
    if is_regressor(model):
        assert_allclose(model.predict(X), expected.predict(X), rtol=1e-6, atol=1e-9)
        return
    for name in {"coef_", "dual_coef_"} & vars(expected).keys():
        assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-9, atol=1e-12)
    assert_allclose(model.project(X), expected.project(X), atol=1e-9)
    assert_array_equal(model.predict(X), expected.predict(X))


def assert_said(said: Any, expected: Any, model: Any) -> None:
    """Assert that predictions are the same; scores may differ by their summation."""
    if is_regressor(model):
        assert_allclose(said, expected, rtol=1e-9, atol=1e-9)
    else:
        assert_array_equal(said, expected)


def assert_same_preferences(model: Any, expected: Any, X: Any) -> None:
    """Assert that two rankers predict the same differences."""
    said, wanted = model.predict(X), expected.predict(X)
    assert_allclose(said - said[0], wanted - wanted[0], rtol=1e-4, atol=1e-6)


def assert_unchanged(model: Any, before: dict[str, Any]) -> None:
    """Assert that a model is what `learned` said of it before."""
    after = learned(model)
    assert after.keys() == before.keys()
    for name, value in before.items():
        assert_array_equal(after[name], value, err_msg=name)


def assert_refused(call: Callable[[], Any], word: str) -> None:
    """Assert that a call raises a ValueError whose message has the word."""
    message = "nothing"
    try:
        call()
    except ValueError as error:
        message = str(error)
    assert word in message, f"a ValueError should say {word!r}, but said: {message}"


def refused(call: Callable[[], Any]) -> bool:
    """Whether a call raises a ValueError; other errors and warnings of NumPy pass through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            call()
        except ValueError:
            return True
    return False
