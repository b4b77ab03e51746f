"""SVRank and RankSVM against a convex solver, their definitions, and each other."""

import warnings
from decimal import Decimal, localcontext
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from rankwise._core import newton
from rankwise._core.kernels import Kernel, factorise
from rankwise._core.pairs import HingeLoss, Pairs
from rankwise.magnitude import MPRank, SVRank
from rankwise.pairwise import RankSVM, pair_kernel
from tests.reference import pair_weights

KERNELS = {"linear": {}, "rbf": {"kernel": "rbf", "gamma": 0.3}, "poly": {"kernel": "poly"}}


def rated(m=24, seed=0, *, graded=False):
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, 3))
    y = X @ [1.0, -0.5, 0.0] + 0.7 * random.normal(size=m)
    qid = random.permutation(np.arange(m) % 3)
    weight = random.integers(0, 4, size=m) / 2
    return X, np.digitize(y, [-0.8, 0.0, 0.8]) if graded else y, qid, weight


def smallest(model, X, y, qid, weight, kernel):
    """Return the smallest value of the objective over all pairs, by a convex solver."""
    one_sided = isinstance(model, RankSVM)
    W = pair_weights(
        y,
        qid=qid,
        sample_weight=weight,
        one_sided=one_sided,
        pair_weight=model.pair_weight if one_sided else "uniform",
    )
    K = Kernel(**{"kernel": "linear", **kernel}).gram(X)
    values, U = np.linalg.eigh(K)
    Z = U * np.sqrt(np.maximum(values, 0))
    w = cp.Variable(len(y))
    i, j = np.nonzero(W)
    said, wanted = (Z[j] - Z[i]) @ w, (y[j] - y[i]).astype(float)
    if not one_sided:
        cost = cp.pos(cp.abs(said - wanted) - model.epsilon)
    else:
        cost = cp.pos((wanted if model.margin == "magnitude" else 1.0) - said)
    cost = cp.square(cost) if model.power == 2 else cost
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(w) + model.C * cp.sum(cp.multiply(W[i, j], cost)) / W.sum())
    )
    return problem.solve(solver=cp.CLARABEL)


MODELS = [
    *(SVRank(epsilon=e, power=p) for e, p in product((0.0, 0.3), (1, 2))),
    *(
        RankSVM(power=p, margin=margin, pair_weight=weight)
        for p, margin, weight in product((1, 2), ("unit", "magnitude"), ("uniform", "magnitude"))
    ),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_objective_is_that_of_a_convex_solver(model, kernel):
    model.set_params(tol=1e-6, **{"kernel": "linear", "gamma": None, **KERNELS[kernel]})
    for C, queries, weights in ((1.0, False, False), (30.0, True, False), (30.0, True, True)):
        X, y, qid, weight = rated(graded=weights)
        given = {"qid": qid if queries else None, "sample_weight": weight if weights else None}
        model.set_params(C=C).fit(X, y, **given)
        expected = smallest(model, X, y, given["qid"], given["sample_weight"], KERNELS[kernel])
        assert_allclose(model.objective_, expected, rtol=2e-6)
        assert 0 <= model.duality_gap_ <= 1e-6 * model.objective_
        assert model.objective_ - model.duality_gap_ <= expected * (1 + 1e-7)


def objective(model, X, y, **given):
    """Return the value of the objective at what was learned, by definition."""
    one_sided = isinstance(model, RankSVM)
    W = pair_weights(
        y, one_sided=one_sided, pair_weight=getattr(model, "pair_weight", "uniform"), **given
    )
    s = model.predict(X)
    said, wanted = s - s[:, None], y - y[:, None]
    if one_sided:
        cost = np.maximum(0, (wanted if model.margin == "magnitude" else 1.0) - said)
    else:
        cost = np.maximum(0, np.abs(said - wanted) - model.epsilon)
    if hasattr(model, "coef_"):
        square = model.coef_ @ model.coef_
    else:
        K = Kernel(model.kernel, model.gamma, model.degree, model.coef0).gram(model.X_fit_)
        square = model.dual_coef_ @ K @ model.dual_coef_
    return square + model.C * (W * cost**model.power).sum() / W.sum()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_what_is_reported_holds_for_many_rows(model, container, seed):
    """More pairs than are listed; rows in samples and not."""
    X, y, qid, weight = rated(700, seed, graded=seed == 1)
    X[:, 1] *= np.abs(X[:, 1]) > 0.5
    given = [{}, {"qid": qid}, {"qid": qid, "sample_weight": weight}][seed]
    model.set_params(C=20.0, kernel="linear", tol=1e-5).fit(container(X), y, **given)
    assert_allclose(objective(model, X, y, **given), model.objective_, rtol=1e-9)
    assert model.duality_gap_ <= 1e-5 * model.objective_


@pytest.mark.parametrize(("estimator", "power"), [*product((SVRank, RankSVM), (1, 2))])
@pytest.mark.parametrize("queries", [None, "many", "few"])
def test_samples_lead_to_the_same_certificate(estimator, power, queries, monkeypatch):
    monkeypatch.setattr(newton, "_SAMPLE", 200)
    monkeypatch.setattr(newton, "_PER_FEATURE", 5)
    X, y, _, weight = rated(1_500)
    random = np.random.default_rng(1)
    qid = None if queries is None else random.integers(0, 150 if queries == "many" else 3, 1_500)
    for given in ({"qid": qid}, {"qid": qid, "sample_weight": weight}):
        model = estimator(10.0, power=power, tol=1e-5).fit(X, y, **given)
        assert model.duality_gap_ <= 1e-5 * model.objective_
        assert_allclose(objective(model, X, y, **given), model.objective_, rtol=1e-8)


def test_power_two_without_epsilon_is_mprank():
    X, y, qid, weight = rated(200)
    for kernel, given in product(
        ({}, {"kernel": "rbf"}), ({}, {"qid": qid}, {"qid": qid, "sample_weight": weight})
    ):
        expected = MPRank(5.0, **kernel).fit(X, y, **given)
        model = SVRank(5.0, epsilon=0.0, power=2, tol=1e-13, **kernel).fit(X, y, **given)
        assert_allclose(model.objective_, expected.objective_, rtol=1e-10)
        assert_allclose(model.predict(X), expected.predict(X), atol=1e-6)


@pytest.mark.parametrize(("power", "kernel"), [*product((1, 2), ({}, {"kernel": "rbf"}))])
def test_all_pairs_as_a_list_are_all_pairs(power, kernel):
    X, y, _, weight = rated(40, graded=True)
    worse, better = np.nonzero(y[:, None] < y)
    pairs = np.column_stack([worse, better])
    for pair_weight, given in (
        (None, {}),
        (weight[worse] * weight[better], {"sample_weight": weight}),
    ):
        expected = RankSVM(10.0, power=power, tol=1e-8, **kernel).fit(X, y, **given)
        model = RankSVM(10.0, power=power, tol=1e-8, **kernel)
        model.fit_pairs(X, pairs, pair_weight=pair_weight)
        assert_allclose(model.objective_, expected.objective_, rtol=2e-8)
        assert_allclose(model.predict(X), expected.predict(X), atol=2e-3)
    assert model.n_dropped_pairs_ == int((pair_weight == 0).sum()) > 0
    spread = RankSVM(10.0, power=power).fit(X, y, sample_weight=weight)
    assert spread.n_dropped_pairs_ == 0
    assert model.fit(X, y).n_dropped_pairs_ == 0


def test_pairs_of_many_rows_and_sparse_ones():
    random = np.random.default_rng(0)
    X = random.normal(size=(4_000, 5)) * (random.random((4_000, 5)) < 0.5)
    pairs = random.integers(0, 4_000, size=(20_000, 2))
    s = X @ [1.0, 2.0, 0.0, 0.0, -1.0]
    pairs = np.take_along_axis(pairs, np.argsort(s[pairs], axis=1), axis=1)
    model = RankSVM(100.0, power=1).fit_pairs(X, pairs)
    assert model.n_dropped_pairs_ == (pairs[:, 0] == pairs[:, 1]).sum()
    assert (np.diff(model.predict(X)[pairs]) >= 0).mean() > 0.97
    other = RankSVM(100.0, power=1).fit_pairs(sparse.csr_matrix(X), pairs)
    assert_allclose(other.predict(X), model.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    ("pairs", "weight", "message"),
    [
        ([[0, 1, 2]], None, r"shape \(n_pairs, 2\), .* but its shape is \(1, 3\)"),
        ([], None, r"one or more pairs, but its shape is \(0,\)"),
        ([[0.0, 1.0]], None, "pairs must be integers .* its dtype float64"),
        ([[0, 9]], None, r"pairs\[0\] is \[0, 9\], but there are the rows 0 to 3"),
        ([[0, 1], [-1, 1]], None, r"pairs\[1\] is \[-1, 1\]"),
        ([[0, 1]], [1.0, 2.0], r"pair_weight has the shape \(2,\) for 1 pairs"),
        ([[0, 1], [1, 2]], [1.0, -2.0], r"pair_weight\[1\] is -2.0: expected a finite number"),
        ([[0, 1]], [np.nan], r"pair_weight\[0\] is nan: expected a finite number"),
        ([[0, 1], [2, 2]], [0.0, 1.0], "pairs has no pair of two different rows"),
    ],
)
def test_bad_pairs_are_refused(pairs, weight, message):
    with pytest.raises(ValueError, match=message):
        RankSVM().fit_pairs(np.eye(4), pairs, pair_weight=weight)


def test_what_can_not_be_learned_is_refused():
    X, y, _, _ = rated()
    with pytest.raises(ValueError, match="no comparable pair"):
        RankSVM().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="no comparable pair: no two rows inside a query"):
        RankSVM().fit(X, y, qid=np.arange(len(y)))
    with pytest.raises(ValueError, match="margin='magnitude' needs ratings"):
        RankSVM(margin="magnitude").fit_pairs(X, [[0, 1]])
    with pytest.raises(ValueError, match="square"):
        RankSVM(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        RankSVM(kernel="precomputed").fit(-np.eye(len(y)), y)
    with pytest.raises(ValueError, match="'power' parameter"):
        RankSVM(power=3).fit(X, y)


def test_an_svm_over_pairs_with_the_pair_kernel_is_the_same_model():
    X, y, _, _ = rated(14)
    worse, better = np.nonzero(y[:, None] < y)
    pairs = np.column_stack([worse, better])
    kernel = {"kernel": "rbf", "gamma": 0.5}
    K = pair_kernel(X, pairs, **kernel)
    differences = np.eye(len(y))[better] - np.eye(len(y))[worse]
    assert_allclose(K, differences @ Kernel(**kernel).gram(X) @ differences.T, atol=1e-12)
    C = 50.0
    # both signs of each pair leave the intercept of the classifier at 0
    both = np.block([[K, -K], [-K, K]])
    svc = SVC(C=C / (4 * len(K)), kernel="precomputed", tol=1e-9)
    svc.fit(both, np.repeat([1, -1], len(K)))
    model = RankSVM(C, power=1, tol=1e-9, **kernel).fit(X, y)
    said = svc.decision_function(both[: len(K)]) - svc.intercept_
    assert_allclose(differences @ model.predict(X), said, atol=1e-3)
    other = pair_kernel(X[:5], [[0, 1]], X, pairs, **kernel)
    assert_allclose(other[0], pair_kernel(X, [[0, 1]], X, pairs, **kernel)[0])


@pytest.mark.parametrize(("estimator", "power"), [*product((SVRank, RankSVM), (1, 2))])
def test_ill_conditioned_features_and_huge_weights(estimator, power):
    X, y, _, _ = rated(50)
    X = np.column_stack([X, X[:, 0] + 1e-7 * X[:, 1], 1e4 * X[:, 2], 1e-4 * X[:, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for C in (1e-3, 1.0, 1e6):
            model = estimator(C, power=power).fit(X, y)
            assert model.duality_gap_ <= 1e-4 * model.objective_
            assert_allclose(objective(model, X, y), model.objective_, rtol=1e-6)


@pytest.mark.parametrize(("estimator", "power"), [*product((SVRank, RankSVM), (1, 2))])
@pytest.mark.parametrize("kernel", [{}, {"kernel": "rbf"}])
def test_a_path_of_weights_starts_where_the_last_fit_ended(estimator, power, kernel):
    X, y, _, weight = rated(150)
    model = estimator(power=power, warm_start=True, tol=1e-6, **kernel)
    for C in (1.0, 2.0, 4.0):
        model.set_params(C=C).fit(X, y, sample_weight=weight)
        expected = estimator(C, power=power, tol=1e-6, **kernel).fit(X, y, sample_weight=weight)
        assert_allclose(model.objective_, expected.objective_, rtol=2e-6)
    again = model.fit(X, y, sample_weight=weight).n_iter_
    assert again <= 2
    model.fit(X[:20], y[:20])
    assert model.duality_gap_ <= 1e-6 * model.objective_


def test_more_features_than_rows_and_more_than_a_matrix_holds(monkeypatch):
    random = np.random.default_rng(0)
    X = sparse.csr_array(sparse.random(400, 900, density=0.02, random_state=0))
    y = X @ random.normal(size=900)
    for estimator, power in product((SVRank, RankSVM), (1, 2)):
        wide = estimator(10.0, power=power, tol=1e-6).fit(X, y)
        assert_allclose(objective(wide, X, y), wide.objective_, rtol=1e-9)
        with monkeypatch.context() as patch:
            patch.setattr("rankwise._core.support_vectors._FEW_ROWS", 0)
            patch.setattr(newton, "MATRIX", 0)
            by_products = estimator(10.0, power=power, tol=1e-6).fit(X, y)
        assert_allclose(by_products.objective_, wide.objective_, rtol=2e-6)


def test_an_early_stop_says_what_to_change():
    X, y, _, _ = rated(200)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps.*allow more steps"):
        model = RankSVM(1e4, power=1, max_iter=1).fit(X, y)
    assert model.duality_gap_ > 1e-4 * model.objective_
    with pytest.warns(ConvergenceWarning, match="rounding hides.*larger tol"):
        RankSVM(1e10, power=1, tol=1e-15).fit(X, y)


def test_precomputed_kernels_and_rows_without_weight():
    X, y, qid, weight = rated(60)
    K, left = Kernel("rbf").gram(X), weight > 0
    for estimator in (SVRank, RankSVM):
        expected = estimator(10.0, kernel="rbf", tol=1e-8).fit(X[left], y[left], qid=qid[left])
        model = estimator(10.0, kernel="precomputed", tol=1e-8)
        model.fit(K, y, qid=qid, sample_weight=left.astype(float))
        assert_allclose(model.predict(K), expected.predict(X), atol=1e-3)
        assert model.dual_coef_.shape == (60,)
        assert not model.dual_coef_[~left].any()


def test_a_factor_spans_its_matrix():
    X, _, _, _ = rated(30)
    factor = factorise(X @ X.T)
    assert factor.Z.shape == (30, 3)
    assert_allclose(factor.Z @ factor.Z.T, X @ X.T, atol=1e-12)
    w = np.arange(3.0)
    assert_allclose(factor.Z.T @ factor.coefficients(w), w, atol=1e-12)
    assert_allclose(factor.coordinates(factor.Z @ w), w, atol=1e-12)


def test_a_sample_keeps_pairs_inside_queries():
    codes = np.repeat(np.arange(1_000), 20)
    rows, times = newton.sample_rows(codes, len(codes), 500)
    assert 500 <= len(rows) < 540
    assert (np.bincount(codes[rows])[np.unique(codes[rows])] == 20).all()
    assert (times == 1).all()
    codes = np.r_[np.zeros(10_000, int), np.ones(5, int)]
    rows, times = newton.sample_rows(codes, len(codes), 400)
    assert (np.diff(rows) > 0).all()
    assert_allclose(times[codes[rows] == 0].sum(), 10_000)
    assert_allclose(times[codes[rows] == 1], 1)
    rows, times = newton.sample_rows(None, 1_000, 100)
    assert len(set(rows.tolist())) == 100
    assert times is None


def test_slopes_of_samples_are_slopes_of_all_pairs():
    """A loss over more grades than counters goes through the tree, with the same result."""
    random = np.random.default_rng(0)
    y, s = random.integers(0, 60, 500).astype(float), random.normal(size=500)
    loss = HingeLoss(Pairs(y), power=2)
    listed, swept = loss.listed().evaluate(s, 1.0), loss.costs().evaluate(s, 1.0)
    assert_allclose(swept.cost, listed.cost)
    assert_allclose(swept.slopes, listed.slopes, atol=1e-14)


def centred(X, kernel, gamma=None, degree=3):
    """Return a centred Gram matrix without rounding."""
    with localcontext(prec=100):
        X = np.array([[Decimal(float(v)) for v in row] for row in X])
        if kernel == "rbf":
            squares = ((X[:, None] - X) ** 2).sum(axis=2)
            K = np.array([[(-Decimal(gamma) * s).exp() for s in row] for row in squares])
        else:
            K = X @ X.T if kernel == "linear" else (X @ X.T * Decimal(gamma) + 1) ** degree
        means = K.sum(axis=0) / len(K)
        return (K - means - (means - means.sum() / len(K))[:, None]).astype(float)


FAR = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2},
    "rbf": {"kernel": "rbf", "gamma": 0.25},
    "near": {"kernel": "rbf", "gamma": 2.0**-20},
}


@pytest.mark.parametrize("shift", [0.0, 100.0, 2000.0, 1e6])
@pytest.mark.parametrize("kernel", FAR)
@pytest.mark.parametrize(("estimator", "power"), [*product((SVRank, RankSVM), (1, 2))])
def test_rows_far_from_0_are_ranked_alike_or_refused(estimator, power, kernel, shift):
    X, y, qid, weight = rated()
    X = np.round(64 * X) / 64 + shift
    given, refused = {"qid": qid, "sample_weight": weight}, 0
    K = centred(X, **FAR[kernel])
    for C in (1e-2, 1.0, 1e5):
        options = {"power": power, "tol": 1e-5, "max_iter": 3000}
        try:
            model = estimator(C, **FAR[kernel], **options).fit(X, y, **given)
        except (ValueError, ConvergenceWarning) as error:
            said = str(error)
        else:
            said = ""
            expected = estimator(C, kernel="precomputed", **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                expected.fit(K, y, **given)
            assert_allclose(model.objective_, expected.objective_, rtol=1e-3)
            missed = model.predict(X) - expected.predict(K)
            assert_allclose(missed - missed.mean(), 0, atol=0.03 * expected.predict(K).std())
        assert not said or "scale the features" in said
        refused += bool(said)
    assert refused == 0 or (kernel == "poly" and shift)
    assert refused < 3 or shift == 1e6


@pytest.mark.parametrize(("estimator", "power"), [*product((SVRank, RankSVM), (1, 2))])
def test_coefficients_of_a_kernel_add_to_0(estimator, power):
    X, y, _, _ = rated(60)
    model = estimator(10.0, kernel="poly", power=power).fit(X, y)
    assert_allclose(model.dual_coef_.sum() / np.abs(model.dual_coef_).max(), 0, atol=1e-13)


def test_scores_are_those_of_the_kernel_itself():
    X, y, _, _ = rated(60)
    for model, shift in product((MPRank(kernel="poly"), SVRank(kernel="poly")), (0.0, 20.0)):
        model.fit(X + shift, y)
        said = Kernel("poly").gram(X + shift) @ model.dual_coef_ + model.intercept_
        assert_allclose(said, model.predict(X + shift), atol=1e-6)
