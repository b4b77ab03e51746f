"""The functions of rankwise.papers against the literal algorithms of the documents."""

from itertools import permutations, product
from math import floor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from rankwise import ordinal, papers
from rankwise.ordinal.online_kernel import polynomial_map
from rankwise.preference import quicksort, sort_by_degree
from tests import reference

K = 4
RANKS = range(1, K + 1)


@pytest.fixture
def stream():
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 3))
    score = X @ [1.0, -0.5, 0.3] + random.normal(0, 0.3, 150)
    return X, 1 + np.searchsorted(np.quantile(score, [0.25, 0.5, 0.75]), score)


def online(model, X, y):
    return model.partial_fit_predict(X, y, classes=RANKS)


def test_prank_is_figure_2(stream):
    X, y = stream
    rounds = list(reference.prank(X, y, K))
    model = papers.prank(label_order=RANKS)
    assert_array_equal(online(papers.prank(), X, y), [r.guess for r in rounds])
    assert_allclose(model.fit(X, y).coef_, rounds[-1].w)
    assert_array_equal(model.thresholds_, rounds[-1].b)


def test_prank_with_the_kernel_of_the_papers(stream):
    X, y = stream
    gram = (X @ X.T + 1) ** 2
    expected = [r.guess for r in reference.kernel_prank(gram, y, K)]
    model = papers.prank(kernel="poly", degree=2, gamma=1.0, coef0=1.0)
    assert_array_equal(online(model, X, y), expected)
    assert_array_equal(online(papers.prank(), polynomial_map(X, degree=2), y), expected)


def test_voted_prank_is_the_voted_perceptron(stream):
    X, y = stream
    expected = [r.guess for r in reference.voted_prank(X, y, K)]
    assert_array_equal(online(papers.voted_prank(), X, y), expected)


@pytest.mark.parametrize("eta", [1.0, 0.1])
def test_widrow_hoff_takes_plain_steps(stream, eta):
    X, y = stream
    rounds = list(reference.widrow_hoff(X / 4, y, K, eta))
    model = papers.widrow_hoff(eta)
    assert_array_equal(online(model, X / 4, y), [r.guess for r in rounds])
    assert_allclose(model.coef_, rounds[-1].w)


def test_the_rate_of_paper_1_is_the_default():
    assert papers.widrow_hoff().eta == 1.0


def test_multiclass_perceptron_keeps_a_prototype_a_rank(stream):
    X, y = stream
    rounds = list(reference.multiclass_perceptron(X, y, K, "uniform"))
    model = papers.multiclass_perceptron()
    assert_array_equal(online(model, X, y), [guess for guess, _ in rounds])
    assert_allclose(model.coef_, rounds[-1][1])


@pytest.mark.parametrize("combine", [papers.oap_bpm, papers.oap_bagg, papers.oap_vp])
def test_oap_is_algorithm_2_and_its_variants(stream, combine):
    X, y = stream
    n, tau, seed = 7, 0.4, 3
    model = combine(n, tau, random_state=seed, label_order=RANKS)
    model.fit(X, y)
    coins = int(np.random.RandomState(seed).randint(2**63 - 1, dtype=np.int64))
    runs = reference.oap(X, y, K, n_members=n, tau=tau, seed=coins)
    last = [[r for rounds in run for r in rounds][-1] for run in runs]
    right = np.array(
        [
            sum(r.guess == rank for rounds, rank in zip(run, y, strict=True) for r in rounds)
            for run in runs
        ]
    )
    if combine is papers.oap_bpm:
        w = np.mean([r.w for r in last], axis=0)
        b = np.mean([r.b for r in last], axis=0)
        expected = [1 + np.count_nonzero(w @ x >= b) for x in X]
    else:
        votes = np.ones(n) if combine is papers.oap_bagg else right
        said = np.array([[1 + np.count_nonzero(r.w @ x >= r.b) for r in last] for x in X])
        expected = [floor(total / votes.sum() + 0.5) for total in said @ votes]
    assert_array_equal(model.predict(X), expected)


def test_oap_has_the_members_of_paper_2():
    model = papers.oap_bpm()
    assert isinstance(model, ordinal.OAPRank)
    assert (model.n_estimators, model.tau, model.combine) == (100, 0.3, "bpm")


@pytest.fixture
def rated():
    random = np.random.default_rng(1)
    X = random.normal(size=(12, 2))
    return X, np.round(X @ [1.0, 2.0] + random.normal(0, 0.5, 12), 1)


def test_mprank_is_least_squares_over_the_pairs(rated):
    X, y = rated
    w, _ = reference.mprank(X, y, 3.0)
    assert_allclose(papers.mprank(3.0).fit(X, y).coef_, w)
    assert_allclose(papers.online_mprank(3.0, tol=1e-12).fit(X, y).coef_, w, rtol=1e-5)
    assert_allclose(papers.online_mprank(3.0, 0.05, tol=1e-12).fit(X, y).coef_, w, rtol=1e-5)
    assert papers.online_mprank().tol == 1e-4


def least(objective, d):
    """Return the least value of a convex function, from several starts without gradients."""
    starts = [np.zeros(d), np.ones(d), minimize(objective, np.ones(d), method="Powell").x]
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10_000}
    return min(minimize(objective, x, method="Nelder-Mead", options=options).fun for x in starts)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_svrank_minimises_equation_9(rated, power, epsilon):
    X, y = rated

    def objective(w):
        residual = X @ w - y
        off = np.abs(residual[:, None] - residual) - epsilon
        return w @ w + 5.0 * np.mean(np.maximum(off, 0.0) ** power)

    model = papers.svrank(5.0, epsilon, power, tol=1e-7).fit(X, y)
    assert objective(model.coef_) == pytest.approx(least(objective, 2), rel=1e-5)


def test_ranking_svm_minimises_the_hinge_over_the_pairs(rated):
    X, y = rated
    pairs = [(i, j) for i, j in product(range(12), repeat=2) if y[i] < y[j]]
    of_lecture = 0.1

    def objective(w):
        slack = sum(max(0.0, 1 - w @ (X[j] - X[i])) for i, j in pairs)
        return w @ w / 2 + of_lecture * slack

    model = papers.ranking_svm(2 * len(pairs) * of_lecture, tol=1e-7).fit(X, y)
    assert objective(model.coef_) == pytest.approx(least(objective, 2), rel=1e-5)


def test_rankboost_takes_the_largest_edge(graded_rows):
    X, y, _, _ = graded_rows(None)
    weights = 1.0 * (y[:, None] < y)
    model = papers.rankboost(10).fit(X, y)
    losses = [r.loss for r in reference.rankboost(X, weights, 10, criterion="edge")]
    assert_allclose(model.train_loss_, losses)


def test_the_sorts_of_the_lecture_are_those_of_preference():
    assert papers.quicksort is quicksort
    assert papers.sort_by_degree is sort_by_degree
    for before in permutations(range(4)):
        place = {item: n for n, item in enumerate(before)}
        order = papers.sort_by_degree(range(4), lambda u, v, place=place: place[u] < place[v])
        assert tuple(order.order) == before


@pytest.mark.parametrize(
    "make",
    [papers.prank, papers.voted_prank, papers.widrow_hoff, papers.multiclass_perceptron,
     papers.oap_bpm, papers.oap_bagg, papers.oap_vp],
)  # fmt: skip
def test_online_ones_make_one_pass_in_the_order_of_arrival(make, stream):
    X, y = stream
    X = X / 4
    fitted = make(random_state=5, label_order=RANKS).fit(X, y)
    streamed = make(random_state=5, label_order=RANKS)
    for rows in np.split(np.arange(150), 5):
        streamed.partial_fit(X[rows], y[rows], classes=RANKS)
    assert_array_equal(fitted.predict(X), streamed.predict(X))
    assert make(epochs=3).epochs == 3
