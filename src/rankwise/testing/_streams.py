"""What every online estimator promises about streams and their chunks."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.base import clone

from rankwise.testing._helpers import (
    K,
    assert_refused,
    assert_same,
    assert_unchanged,
    learned,
    stream,
)


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
    """A chunk with an unknown label, NaN or another width leaves the model as it was."""
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


STREAM_CHECKS: list[Callable[[Any], None]] = [
    check_any_chunking,
    check_predict_then_learn,
    check_refused_chunk,
    check_classes_required,
]
