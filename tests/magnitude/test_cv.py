"""The errors of MPRankCV are those of leave_pair_out, for every C and gamma."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise._core.kernels import Kernel
from rankwise.magnitude import MPRank, MPRankCV
from rankwise.magnitude._leave_pair_out import _shared
from rankwise.model_selection import leave_pair_out

CS = [1e-6, 0.1, 3.0, 100.0, 1e4]


def rows(m=40, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d))
    X[5:9] = X[4]
    return X, np.round(2 * X[:, 0] + random.normal(size=m)) + 20


def errors(model, X, y, scoring, Cs=CS, **given):
    return [getattr(leave_pair_out(model.set_params(C=C), X, y, **given), scoring) for C in Cs]


QID = np.random.default_rng(1).integers(0, 12, size=40)
WEIGHT = np.random.default_rng(2).uniform(0.1, 4, size=40) * (np.arange(40) % 7 > 0)


@pytest.mark.parametrize("scoring", ["msd", "misranking"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("qid", [None, QID])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [3, 90])
def test_linear_errors(d, container, qid, weight, scoring):
    X, y = rows(d=d)
    given = {"qid": qid, "sample_weight": weight}
    model = MPRankCV(CS, scoring=scoring).fit(container(X), y, **given)
    assert_allclose(model.lpo_errors_[0], errors(MPRank(), X, y, scoring, **given), rtol=1e-5)
    assert CS[model.lpo_errors_[0].argmin()] == model.C_
    assert model.gamma_ is None
    best = MPRank(model.C_).fit(X, y, **given)
    assert_allclose(model.predict(container(X)), best.predict(X), rtol=1e-9)


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("seed", range(5))
def test_copies_of_a_row_are_tied_however_hard_the_fit(seed, C):
    X, y = rows(d=90, seed=seed)
    left = leave_pair_out(MPRank(C), X, y)
    copies = left.differences[4:9, 4:9]
    assert not copies[y[4:9, None] != y[4:9]].any()
    chosen = MPRankCV([C], scoring="misranking").fit(X, y)
    assert_allclose(chosen.lpo_errors_[0], left.misranking)


@pytest.mark.parametrize("scoring", ["msd", "misranking"])
@pytest.mark.parametrize("qid", [None, QID])
def test_kernel_errors(qid, scoring):
    X, y = rows()
    gammas = [0.1, 1.0]
    model = MPRankCV(CS, kernel="rbf", gammas=gammas, scoring=scoring).fit(X, y, qid=qid)
    for row, gamma in zip(model.lpo_errors_, gammas, strict=True):
        expected = errors(MPRank(kernel="rbf", gamma=gamma), X, y, scoring, qid=qid)
        assert_allclose(row, expected, rtol=1e-5)
        ready = MPRankCV(CS, kernel="precomputed", scoring=scoring)
        ready.fit(Kernel("rbf", gamma).gram(X), y, qid=qid)
        assert_allclose(ready.lpo_errors_[0], expected, rtol=1e-5)
    assert model.best_estimator_.get_params()["gamma"] == model.gamma_


@pytest.mark.parametrize("d", [2, 10, 200])
@pytest.mark.parametrize("Cs", [CS, np.geomspace(1e-2, 1e5, 20)])
def test_single_precision_is_enough(d, Cs):
    X, y = rows(m=300, d=d)
    model = MPRankCV(Cs, kernel="rbf").fit(X, y)
    expected = errors(MPRank(kernel="rbf"), X, y, "msd", Cs)
    assert_allclose(model.lpo_errors_[0], expected, rtol=1e-8)


def parts(filters):
    return list(_shared(filters, np.arange(len(filters))))


@pytest.mark.parametrize("lowest", [1e-16, 1e-6, 1e-4, 5e-4])
@pytest.mark.parametrize("n", [1, 7, 300])
@pytest.mark.parametrize("shrinks", [True, False])
def test_filters_that_share_shapes_lose_nothing_that_matters(shrinks, n, lowest):
    strength = np.outer(np.geomspace(1e-1, 1e5, 20), np.geomspace(lowest, 4e-3, n))
    filters = (1.0 if shrinks else strength) / (1.0 + strength)
    found = parts(filters)
    assert np.concatenate([columns for columns, *_ in found]).tolist() == list(range(20))
    assert sum(len(shapes) for _, _, shapes, _ in found) <= (11 if lowest >= 5e-4 else 20)
    for columns, scale, shapes, mix in found:
        assert_allclose(scale * (mix.astype(float) @ shapes), filters[columns], rtol=1e-6)


def test_no_filters_are_shared_by_an_empty_spectrum():
    ((columns, *_),) = parts(np.empty((3, 0)))
    assert columns.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"Cs": [1.0, 0.0]}, {}, "Cs="),
        ({"Cs": []}, {}, "Cs="),
        ({"Cs": [np.inf]}, {}, "Cs must be finite"),
        ({"gammas": [1.0]}, {}, "no meaning"),
        ({"kernel": "rbf", "gammas": [-1.0]}, {}, "gammas="),
        ({"scoring": "r2"}, {}, "'scoring'"),
        ({}, {"qid": np.arange(40)}, "no query has two rows"),
        ({"scoring": "misranking"}, {"y": np.ones(40)}, "no pair can be misranked"),
    ],
)
def test_bad_input_is_named(parameters, arguments, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        MPRankCV(**parameters).fit(X, **{"y": y, **arguments})


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_pairs_of_weights_that_vanish_decide_nothing(kernel):
    weight = [1e-200, 1e-200, 1.0, 1.0]
    model = MPRankCV(kernel=kernel, scoring="misranking")
    with pytest.raises(ValueError, match="scoring='misranking' can't be computed"):
        model.fit(np.arange(4.0)[:, None], [1, 2, 1, 1], qid=[0, 0, 1, 1], sample_weight=weight)
    assert not hasattr(model, "C_")
