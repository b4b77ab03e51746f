"""Numbers near the ends of what a float holds are answered or refused, never passed on."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankwise._core.kernels import Kernel
from rankwise.magnitude import MPRank, MPRankCV, SVRank
from rankwise.pairwise import RankSVM

M = 20
MODELS = {
    "primal": MPRank(),
    "dual": MPRank(solver="dual"),
    "online": MPRank(solver="online"),
    "mprank rbf": MPRank(kernel="rbf"),
    "mprank poly": MPRank(kernel="poly"),
    "online rbf": MPRank(kernel="rbf", solver="online"),
    "cv": MPRankCV([0.1, 1.0]),
    "cv rbf": MPRankCV([0.1, 1.0], kernel="rbf"),
    "cv poly": MPRankCV([0.1, 1.0], kernel="poly"),
    **{
        f"{model.__name__} {kernel} {power}": model(kernel=kernel, power=power)
        for model in (SVRank, RankSVM)
        for kernel in ("linear", "rbf", "poly")
        for power in (1, 2)
    },
}


def rated():
    random = np.random.default_rng(0)
    X = random.normal(size=(M, 3))
    return X, np.round(2 * (X[:, 0] + random.normal(size=M)))


def chunks(X, y, **given):
    return MPRank().partial_fit(X, y, **given)


each_model = pytest.mark.parametrize(
    "fit", [*(clone(model).fit for model in MODELS.values()), chunks], ids=[*MODELS, "chunks"]
)


@each_model
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("factor", [1e300, 1e160])
def test_rows_too_large_are_refused(fit, container, factor):
    X, y = rated()
    X[3] *= factor
    with pytest.raises(ValueError, match=r"row 3 of X is larger than a float.*scale the features"):
        fit(container(X), y)
    with pytest.raises(ValueError, match=r"row 0 of X is larger than a float can hold"):
        fit(container(np.where(X > 0, 1.7e308, -1.7e308)), y)


def test_the_row_is_that_of_what_was_given():
    X, y = rated()
    X[3] *= 1e300
    for model in (MPRank(), SVRank()):
        with pytest.raises(ValueError, match="row 3 of X"):
            model.fit(X, y, sample_weight=np.arange(M) > 1)


def test_precomputed_values_too_large_are_refused():
    X, y = rated()
    for model in (MPRank(), SVRank(), RankSVM()):
        model.set_params(kernel="precomputed")
        with pytest.raises(ValueError, match=r"row \d+ of X is larger than a float"):
            model.fit(1e300 * Kernel("rbf").gram(X), y)


@each_model
@pytest.mark.parametrize("factor", [1e300, 1e160])
def test_ratings_too_large_are_refused(fit, factor):
    X, y = rated()
    with pytest.raises(ValueError, match=r"y holds .*larger than a float can hold: divide"):
        fit(X, y * factor)


@each_model
@pytest.mark.parametrize(
    ("rows", "ratings"),
    [(1e-160, 1.0), (1e-320, 1.0), (1.0, 1e-170), (1.0, 1e-300), (1e-160, 1e-160), (0.0, 1.0)],
)
def test_very_small_numbers_are_answered(fit, rows, ratings):
    X, y = rated()
    model = fit(X * rows, y * ratings)
    assert np.isfinite(model.predict(X * rows)).all()


@each_model
def test_constant_features_teach_a_constant(fit):
    X, y = rated()
    said = fit(np.full_like(X, 1950.0), y).predict(X * 0 + 1950)
    assert np.ptp(said) == 0


@each_model
def test_only_ratios_of_weights_count(fit):
    X, y = rated()
    weight, qid = np.random.default_rng(1).integers(1, 5, size=M), np.arange(M) % 3
    expected = fit(X, y, sample_weight=weight, qid=qid).predict(X)
    for unit in (1e-308, 5e-324, 1e-160, 1e160, 1e306):
        model = fit(X, y, sample_weight=weight * unit, qid=qid)
        assert_allclose(model.predict(X), expected, atol=1e-4)


def test_chunks_remember_tiny_weights_and_refuse_huge_sums():
    X, y = rated()
    weight = np.random.default_rng(1).integers(1, 5, size=M)
    expected = MPRank().fit(X, y, sample_weight=weight)
    model = MPRank()
    for part in (slice(0, 7), slice(7, M)):
        model.partial_fit(X[part], y[part], sample_weight=weight[part] * 5e-324)
    assert_allclose(model.coef_, expected.coef_)
    assert_allclose(model.objective_, expected.objective_)
    named = MPRank().partial_fit(X, y, qid=np.arange(M) % 2, sample_weight=weight * 1e-300)
    before = named.coef_
    named.close_queries([1]).partial_fit(X[:2], y[:2], qid=[0, 0], sample_weight=[1e-320, 1e-320])
    assert_allclose(named.coef_, before)
    with pytest.raises(ValueError, match=r"sample_weight adds to more.*divide it"):
        MPRank().partial_fit(X, y, sample_weight=np.full(M, 1e308))
    model = MPRank().fit(X, y, sample_weight=np.full(M, 1e308))
    assert_allclose(model.coef_, MPRank().fit(X, y).coef_)


@each_model
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scores_are_finite_or_refused(fit, container):
    X, y = rated()
    model = fit(X, y)
    for far in (1e300 * X, np.where(X > 0, 1.7e308, -1.7e308)):
        try:
            assert np.isfinite(model.predict(container(far))).all()
        except ValueError as error:
            said = str(error)
        else:
            said = ""
        assert not said or ("the score of row" in said and "scale the features" in said)
    assert np.isfinite(model.predict(1e-320 * X)).all()


def test_a_score_too_large_is_refused():
    X, y = rated()
    far = X.copy()
    far[4] = 1.7e308 * np.sign(MPRank(kernel="poly").fit(X, y).predict(X)[4])
    for model in (MPRank(kernel="poly"), SVRank(kernel="poly"), RankSVM(kernel="poly")):
        with pytest.raises(ValueError, match=r"score of row 4 of X is larger than a float"):
            model.fit(X, y).predict(far)
    steep = MPRank(1e6).fit(X, 1e3 * y)
    far[4] = 1.7e308 * np.sign(steep.coef_)
    with pytest.raises(ValueError, match=r"score of row 4 of X is larger than a float"):
        steep.predict(far)


@pytest.mark.parametrize("C", [5e-324, 1e-300, 1e300, 1e308])
@pytest.mark.parametrize("name", MODELS)
def test_any_trade_off_is_answered_or_refused(name, C):
    X, y = rated()
    model = clone(MODELS[name]).set_params(
        **{"Cs" if "cv" in name else "C": [C] if "cv" in name else C}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, y)
        except ValueError as error:
            said = str(error)
        else:
            said = ""
            assert np.isfinite(model.predict(X)).all()
    if said:
        assert C > 1
        assert "scale the features" in said
        assert "smaller C" in said


def test_a_large_rating_scale_keeps_its_digits():
    X, y = rated()
    for model in (MPRank(), MPRank(kernel="rbf"), MPRank(solver="online"), SVRank(kernel="rbf")):
        expected = clone(model).fit(X, y).predict(X)
        assert_allclose(clone(model).fit(X, y + 1e12).predict(X) - 1e12, expected, atol=2e-3)


def test_one_far_row_leaves_the_others_their_distances():
    X, y = rated()
    far = X.copy()
    far[-1] += 1e9
    model = MPRank(10.0, kernel="rbf").fit(far, y)
    expected = MPRank(10.0, kernel="precomputed")
    K = Kernel("rbf").gram(X)
    K[-1, :-1] = K[:-1, -1] = 0.0
    assert_allclose(model.predict(far), expected.fit(K, y).predict(K), atol=1e-6)


def test_names_of_one_kind():
    X, y = rated()
    qid = np.arange(M) % 3
    model = MPRank().partial_fit(X, y, qid=qid)
    before = model.coef_
    with pytest.raises(ValueError, match=r"qid has numbers.*strings.*use one kind"):
        model.partial_fit(X, y, qid=qid.astype(str))
    with pytest.raises(ValueError, match="use one kind"):
        model.merge(MPRank().partial_fit(X, y, qid=qid.astype(str)))
    with pytest.raises(ValueError, match="use one kind"):
        model.close_queries().partial_fit(X, y, qid=(qid + 5).astype(str))
    assert model.coef_ is before
    model.partial_fit(X, y, qid=qid + 7.0)
    assert model.n_queries_ == 6


def test_a_query_of_one_row_may_go_on_in_the_next_chunk():
    X, y = rated()
    model = MPRank().partial_fit(X[:2], y[:2], qid=[0, 1])
    assert_allclose(model.predict(X), y[:2].mean())
    model.partial_fit(X[2:], y[2:], qid=np.arange(2, M) % 2)
    assert_allclose(model.coef_, MPRank().fit(X, y, qid=np.arange(M) % 2).coef_)


def test_what_a_function_returns_may_be_too_large():
    X, y = rated()
    for model in (MPRank(), MPRank(solver="online"), SVRank(), RankSVM()):
        model.set_params(kernel=lambda X, Y: 1e300 * (X @ Y.T))
        with pytest.raises(ValueError, match=r"kernel=.*returned .*larger than a float can hold"):
            model.fit(X, y)
        model.set_params(kernel="poly", degree=40, gamma=1e8)
        with pytest.raises(ValueError, match=r"kernel='poly' returned .*larger than a float"):
            model.fit(X, y)


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e300])
def test_only_ratios_of_weights_of_pairs_count(unit):
    X, y = rated()
    pairs = np.argwhere(y[:, None] < y)
    weight = np.random.default_rng(0).integers(1, 5, size=len(pairs))
    expected = RankSVM(tol=1e-8).fit_pairs(X, pairs, pair_weight=weight)
    model = RankSVM(tol=1e-8).fit_pairs(X, pairs, pair_weight=weight * unit)
    assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    with pytest.raises(ValueError, match="row 0 of X is larger than a float"):
        RankSVM().fit_pairs(X * 1e300, pairs)


@pytest.mark.parametrize("shift", [0.0, 1000.0])
@pytest.mark.parametrize("gamma", [2.0**-20, 0.3, 1e4])
@pytest.mark.parametrize("model", [MPRank(), SVRank(power=2)])
def test_rows_may_be_sparse_in_one_place_and_dense_in_another(model, gamma, shift):
    X, y = rated()
    X = X * (np.abs(X) > 0.5) + shift
    for kernel in ("rbf", "poly"):
        model.set_params(
            C=0.1, kernel=kernel, gamma=min(gamma, 0.3) if kernel == "poly" else gamma, degree=2
        )
        expected = model.fit(X, y).predict(X)
        assert_allclose(model.predict(sparse.csr_array(X)), expected, atol=1e-6)
        assert_allclose(model.fit(sparse.csr_matrix(X), y).predict(X), expected, atol=1e-5)
        assert_allclose(model.predict(sparse.csr_matrix(X)), expected, atol=1e-5)


def test_a_huge_epsilon_leaves_nothing_to_learn():
    X = np.random.default_rng(0).normal(size=(12, 2))
    for power in (1, 2):
        model = SVRank(epsilon=1e308, power=power).fit(X, [1, 2, 3] * 4)
        assert_allclose(model.predict(X), 2.0)
