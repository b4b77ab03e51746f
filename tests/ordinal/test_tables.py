"""What fit does with a table by default: passes, averages, intercepts and normalised steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rankwise._core import ordinal as _online
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, WidrowHoff
from tests import reference as oracles

K = 4
CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array}
MODELS = [PRank(), OAPRank(9, random_state=0), WidrowHoff(), MulticlassPerceptron()]


def table(n=80, noise=0.5):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)) + 0.5
    score = X @ [1.0, -1.0, 0.5] + random.normal(0, noise, n)
    return X, 1 + np.searchsorted(np.quantile(score, [0.25, 0.5, 0.75]), score)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_passes_end_when_the_loss_no_longer_falls(model):
    X, y = table()
    chosen = clone(model).fit(X, y)
    passes = chosen.n_rounds_ // len(y)
    losses = np.diff(
        [0, *(clone(model).set_params(epochs=n).fit(X, y).rank_loss_ for n in range(1, passes + 1))]
    )
    # the literal rule: three passes in a row of which none is a hundredth below all before
    lowest, stalled, ends = np.inf, 0, []
    for n, loss in enumerate(losses, start=1):
        stalled = 0 if loss < 0.99 * lowest else stalled + 1
        lowest = loss if stalled == 0 else lowest
        ends += [n] if stalled == 3 or loss == 0 or n == 50 else []
    assert ends[0] == passes
    assert_array_equal(
        chosen.predict(X), clone(model).set_params(epochs=passes).fit(X, y).predict(X)
    )


def test_passes_end_at_once_without_a_mistake_and_at_last_after_fifty(monkeypatch):
    X = np.linspace(-1, 1, 30)[:, None]
    y = 1 + (X[:, 0] > 0)
    model = PRank().fit(X, y)
    assert model.n_rounds_ < 50 * 30
    assert_array_equal(model.predict(X), y)
    monkeypatch.setattr(_online, "PATIENCE", 100)
    noisy = table(noise=2.0)
    assert PRank().fit(*noisy).n_rounds_ == 50 * 80


def test_rows_in_order_of_their_rank_are_learned_from_alike():
    X, y = table(300)
    order = np.argsort(y, kind="stable")
    losses = []
    for options in ({}, {"epochs": 1, "shuffle": False}):
        said = PRank(**options).fit(X[order], y[order]).predict(X)
        losses.append(np.abs(said - y).mean())
    assert losses[0] < 0.8 * losses[1]


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("step", ["normalised", "plain"])
@pytest.mark.parametrize("intercept", [True, False])
def test_widrow_hoff_round_by_round(container, step, intercept):
    X, y = table()
    rows = np.insert(X, 3, 1.0, axis=1) if intercept else X
    rounds = list(oracles.widrow_hoff(rows, y, K, 0.07, normalised=step == "normalised"))
    model = WidrowHoff(0.07, step=step, fit_intercept=intercept)
    said = model.partial_fit_predict(container(X), y, classes=range(1, K + 1))
    assert_array_equal(said, [r.guess for r in rounds])
    w = rounds[-1].w
    assert_allclose(model.coef_, w[:3])
    assert model.intercept_ == pytest.approx(w[3] if intercept else 0.0)
    assert_allclose(model.thresholds_, np.arange(1.5, K) - model.intercept_)


def test_normalised_steps_do_not_diverge():
    X, y = table()
    for scale in (1e-6, 1.0, 1e6, 1e100):
        for eta in (0.1, 1.0, 1.9):
            model = WidrowHoff(eta, epochs=30).fit(scale * X, y)
            assert np.abs(model.project(scale * X)).max() < 1e3
    assert (WidrowHoff(fit_intercept=False).fit(np.zeros((4, 1)), [1, 2, 1, 2]).coef_ == 0).all()


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("update", ["uniform", "max", "proportional"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_average_of_prototypes_round_by_round(container, update, intercept):
    X, y = table()
    rows = np.insert(X, 3, 1.0, axis=1) if intercept else X
    rounds = list(oracles.multiclass_perceptron(rows, y, K, update))
    held = np.array([np.zeros((K, rows.shape[1])), *(W for _, W in rounds[:-1])])
    model = MulticlassPerceptron(update=update, fit_intercept=intercept)
    said = model.partial_fit_predict(container(X), y, classes=range(1, K + 1))
    for t in range(1, len(y)):
        scores = held[:t].mean(axis=0) @ rows[t]
        assert scores[said[t] - 1] == pytest.approx(scores.max(), abs=1e-12)
    mean = held.mean(axis=0)
    assert_allclose(model.coef_, mean[:, :3], atol=1e-12)
    assert_allclose(model.intercept_, mean[:, 3] if intercept else np.zeros(K), atol=1e-12)
    assert model.n_mistakes_ == sum(
        guess != rank for (guess, _), rank in zip(rounds, y, strict=True)
    )


def test_the_vote_of_a_stream_of_prototypes_is_not_changed():
    X, y = table()
    model = MulticlassPerceptron().partial_fit(X, y, classes=range(1, K + 1))
    with pytest.raises(ValueError, match="vote=None was changed within a stream"):
        model.set_params(vote=None).partial_fit(X, y)


@pytest.mark.parametrize("epochs", [0, -1, 1.5, "all", None])
def test_bad_epochs_are_named(epochs):
    with pytest.raises(ValueError, match="epochs"):
        PRank(epochs=epochs).fit(*table())
