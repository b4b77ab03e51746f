"""Online models on rows far from the origin, and on rows near the largest float."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, WidrowHoff
from rankwise.ordinal._loops.prank import UPDATES


def test_a_decision_that_no_float_can_hold_is_refused():
    X, y = np.array([[1.2e154], [1.0]]), [2, 1]
    model = MulticlassPerceptron(vote=None, epochs=1, shuffle=False).fit(X, y)
    assert np.isfinite(model.project(X)).all()
    assert model.predict(X).tolist() == [2, 2]
    with pytest.raises(ValueError, match="the score of row 0 of X is larger than a float can hold"):
        model.decision_function(X)


MODELS = [
    PRank(vote="voted"), PRank(budget=9), *(PRank(update=u) for u in UPDATES), WidrowHoff(),
    OAPRank(n_estimators=5, random_state=0), OAPRank(n_estimators=5, budget=9, random_state=0),
    MulticlassPerceptron(), MulticlassPerceptron(budget=9),
]  # fmt: skip


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_rows_far_from_the_origin_in_any_chunks(model, offset, container):
    random = np.random.default_rng(0)
    near = np.round(64 * random.normal(size=(150, 3))) / 64
    y = 1 + np.digitize(near @ [1, 2, -1], [-1, 1])
    near[::10] -= 40.0  # rows that lie elsewhere, the first of them among these
    model = clone(model).set_params(kernel="rbf", epochs=1, shuffle=False)
    expected = clone(model).fit(near, y)
    X = container(near + offset)
    whole = clone(model).fit(X, y)
    assert_array_equal(whole.predict(X), expected.predict(near))
    parts = clone(model)
    for rows in (slice(0, 1), slice(1, 90), slice(90, 93), slice(93, None)):
        parts.partial_fit(X[rows], y[rows], classes=[1, 2, 3])
    assert_array_equal(parts.project(X), whole.project(X))
