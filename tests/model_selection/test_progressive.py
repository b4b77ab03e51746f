import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Perceptron, Ridge, SGDClassifier, SGDRegressor

from rankwise.datasets import make_herbrich
from rankwise.model_selection import progressive_validation
from rankwise.ordinal import MulticlassPerceptron, PRank, WidrowHoff

X, Y = make_herbrich(150, random_state=1)


class RowByRow(ClassifierMixin, BaseEstimator):
    """The same model without its compiled pass."""

    def __init__(self, model=None):
        self.model = model

    def partial_fit(self, X, y, classes):
        self.model.partial_fit(X, y, classes=classes)

    def predict(self, X):
        return self.model.predict(X)


@pytest.mark.parametrize(
    "model",
    [
        PRank(),
        PRank(vote="averaged"),
        PRank(vote="voted"),
        WidrowHoff(),
        MulticlassPerceptron(),
    ],
    ids=str,
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_compiled_pass_equals_row_by_row(model, container):
    fast = progressive_validation(model, container(X), Y)
    slow = progressive_validation(RowByRow(model), container(X), Y)
    assert_array_equal(fast.predictions[1:], slow.predictions[1:])
    assert not hasattr(model, "coef_")


def test_loss_curve_and_regret():
    result = progressive_validation(PRank(vote=None), X, Y)
    literal = [abs(int(p) - int(y)) for p, y in zip(result.predictions, Y, strict=True)]
    assert_allclose(result.loss_curve, np.cumsum(literal) / np.arange(1, len(Y) + 1))
    assert result.losses.sum() == result.estimator.rank_loss_
    comparator = PRank(vote="averaged", epochs=10).fit(X, Y)
    fixed = np.abs(comparator.predict(X) - Y)
    assert_array_equal(result.regret(comparator), np.cumsum(literal) - np.cumsum(fixed))


def test_label_order_gives_the_ranks():
    words = np.array(["bad", "weak", "fair", "good", "best"])
    result = progressive_validation(PRank(label_order=words), X, words[Y - 1])
    assert_array_equal(result.losses, progressive_validation(PRank(), X, Y).losses)


def test_strings_without_an_order_warn_once():
    words = np.array(list("abcde"))
    with pytest.warns(UserWarning, match="alphabetically") as caught:
        result = progressive_validation(PRank(), X, words[Y - 1])
    assert len(caught) == 1
    assert_array_equal(result.losses, progressive_validation(PRank(), X, Y).losses)


def test_other_classifiers_run_row_by_row():
    result = progressive_validation(SGDClassifier(random_state=0), X, Y)
    assert result.predictions[0] == 3
    assert result.loss_curve[-1] < 2
    assert progressive_validation(Perceptron(), X, np.minimum(Y, 4)).predictions[0] == 2


def test_categories_give_the_ranks_to_any_classifier():
    names = ["worst", "b", "c", "d", "the very best"]
    words = pd.Categorical(np.array(names)[Y - 1], categories=names, ordered=True)
    for model in (PRank(), Perceptron(random_state=0)):
        result = progressive_validation(model, X, words)
        assert result.classes.tolist() == names
        assert set(result.predictions) <= set(names)
        assert result.losses.max() > 1


def test_regret_counts_ranks_that_the_stream_lacks():
    rows, y = np.array([[0.0], [0.0]]), [1, 4]
    model = PRank(label_order=[1, 2, 3, 4])
    comparator = PRank(label_order=[1, 2, 3, 4]).fit(rows, [4, 4])
    assert progressive_validation(model, rows, y).regret(comparator)[0] == 0
    assert progressive_validation(model, rows, y).losses[0] == 3


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        (Ridge(), X, "not a classifier"),
        (SGDRegressor(), X, "not a classifier"),
        (PRank(), X[:-1], "inconsistent"),
        (PRank(), X * np.nan, "NaN"),
    ],
)
def test_bad_input_is_named(model, rows, message):
    with pytest.raises(ValueError, match=message):
        progressive_validation(model, rows, Y)


def test_masked_entries_are_refused():
    X, y = np.arange(8.0).reshape(4, 2), np.array([1, 2, 1, 2])
    for model in (PRank(), SGDClassifier()):
        with pytest.raises(ValueError, match="X has a masked entry"):
            progressive_validation(model, np.ma.masked_equal(X, 3), y)
        with pytest.raises(ValueError, match="y has a masked entry"):
            progressive_validation(model, X, np.ma.masked_array(y, mask=[0, 0, 1, 0]))


def test_a_comparator_must_predict():
    result = progressive_validation(PRank(), np.eye(3), [1, 2, 3])
    with pytest.raises(TypeError, match="comparator=None must be a fitted model"):
        result.regret(None)
