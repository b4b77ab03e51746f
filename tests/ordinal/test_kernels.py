"""Learning with kernels: against literal dual loops, explicit maps, and any cut of the stream."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels, polynomial_kernel, rbf_kernel

from rankwise import ordinal
from rankwise.datasets import make_herbrich
from rankwise.ordinal import online_kernel as _kernel
from rankwise.ordinal._loops.prank import UPDATES
from rankwise.ordinal.online_kernel import polynomial_map
from rankwise.papers import multiclass_perceptron, oap_bpm, prank, widrow_hoff
from tests import reference as oracles
from tests.covering import pairwise_cover

CLASSES = np.arange(1, 6)
NUMBERS = {"gamma": 0.7, "degree": 3, "coef0": 0.5}


def laplacian(X, Y):
    return np.exp(-np.abs(X[:, None] - Y[None]).sum(axis=2))


KERNELS = {
    "poly": {"kernel": "poly", **NUMBERS},
    "rbf": {"kernel": "rbf", **NUMBERS},
    "rbf, default gamma": {"kernel": "rbf"},
    "callable": {"kernel": laplacian},
    "precomputed": {"kernel": "precomputed"},
}
VOTES = [
    {},
    {"vote": "averaged"},
    {"vote": "voted"},
    {"vote": "voted", "max_voters": 3},
    {"update": "pa", "vote": "averaged"},
    {"update": "romma", "vote": "voted"},
    *({"update": update} for update in UPDATES if update != "perceptron"),
]


@pytest.fixture
def no_map(monkeypatch):
    monkeypatch.setattr(_kernel, "_SMALL", 0)


def stream(n_rows=100, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3)) * (random.random((n_rows, 3)) < 0.8)
    # A row of zeros can tie classes exactly, and then rounding, which is the machine's, decides.
    X[~X.any(axis=1), 0] = 1.5
    score = X[:, 0] * X[:, 1] + X[:, 2] + random.normal(0, 0.3, n_rows)
    return X, 1 + np.searchsorted(np.quantile(score, [0.2, 0.4, 0.6, 0.8]), score)


def gram(X, kernel, gamma=None, degree=3, coef0=1.0):
    if kernel == "precomputed":
        return gram(X, "rbf")
    if callable(kernel):
        return kernel(X, X)
    numbers = {"gamma": gamma or 1 / X.shape[1], "degree": degree, "coef0": coef0}
    return pairwise_kernels(X, metric=kernel, filter_params=True, **numbers)


def rows_for(model, X):
    return gram(X, "rbf") if model.kernel == "precomputed" else X


def spread(model, X):
    """Return the dual coefficients, a place for each row of X: where its support came from."""
    if hasattr(model, "support_"):
        places = model.support_
    else:
        supports = model.support_vectors_
        supports = supports.toarray() if sparse.issparse(supports) else supports
        places = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in supports]
    coef = np.atleast_2d(model.dual_coef_)
    out = np.zeros((len(coef), len(X)))
    for column, place in enumerate(places):
        out[:, place] += coef[:, column]
    return out if model.dual_coef_.ndim == 2 else out[0]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS)
@pytest.mark.usefixtures("no_map")
class TestRoundByRound:
    def learn(self, model, X, y, container):
        rows = rows_for(model, X)
        rows = rows if model.kernel == "precomputed" else container(rows)
        for i in range(len(y)):
            yield model.partial_fit_predict(rows[[i]], y[[i]], classes=CLASSES)[0]

    def test_prank(self, params, container):
        X, y = stream()
        model = prank(**params)
        rounds = oracles.kernel_prank(gram(X, **params), y, 5)
        for guess, expected in zip(self.learn(model, X, y, container), rounds, strict=True):
            assert guess == expected.guess
            assert_array_equal(model.thresholds_, expected.b)
            assert_array_equal(spread(model, X), expected.w)

    def test_widrow_hoff(self, params, container):
        X, y = stream()
        model = widrow_hoff(0.05, **params)
        rounds = oracles.kernel_widrow_hoff(gram(X, **params), y, 5, 0.05)
        for guess, expected in zip(self.learn(model, X, y, container), rounds, strict=True):
            assert guess == expected.guess
            assert_allclose(spread(model, X), expected.w, atol=1e-9)

    @pytest.mark.parametrize("update", ["uniform", "max", "proportional"])
    def test_multiclass_perceptron(self, params, container, update):
        X, y = stream()
        model = multiclass_perceptron(update=update, **params)
        rounds = oracles.kernel_multiclass_perceptron(gram(X, **params), y, 5, update)
        for guess, (expected, A) in zip(self.learn(model, X, y, container), rounds, strict=True):
            assert guess == expected
            assert_allclose(spread(model, X), A, atol=1e-9)

    def test_members_share_their_supports(self, params, container):
        X, y = stream()
        model = oap_bpm(6, tau=0.4, random_state=3, **params)
        said = list(self.learn(model, X, y, container))
        K = gram(X, **params)
        alphas = np.zeros((6, len(X)))
        for member in range(6):
            seed = int(model._state["seed"][0])
            seen = [t for t in range(len(X)) if oracles.oap_coin(seed, t, member, 0.4)]
            last = list(oracles.kernel_prank(K[np.ix_(seen, seen)], y[seen], 5))[-1]
            assert_array_equal(model.members_thresholds_[member], last.b)
            alphas[member, seen] = last.w
        model.dual_coef_, mean = model.members_dual_coef_, model.dual_coef_
        assert_array_equal(spread(model, X), alphas)
        assert_allclose(mean, model.members_dual_coef_.mean(axis=0))
        assert len(said) == len(y)
        again = clone(model).partial_fit_predict(rows_for(model, X), y, classes=CLASSES)
        assert_array_equal(said, again)


def build(**params):
    return [
        *(prank(**vote, **params) for vote in VOTES),
        widrow_hoff(0.01, **params),
        *(multiclass_perceptron(update=u, **params) for u in ("uniform", "max")),
        *(oap_bpm(6, combine=c, random_state=0, **params) for c in ("bpm", "bagging", "voted")),
    ]


@pytest.mark.parametrize("model", build(), ids=str)
@pytest.mark.parametrize("kernel", [{"degree": 2}, {"degree": 3, "coef0": 0.0}, NUMBERS], ids=str)
class TestExplicitMap:
    def test_equals_the_kernel(self, model, kernel, monkeypatch):
        X, y = stream(300)
        model.set_params(kernel="poly", **kernel)
        mapped, dual = clone(model), clone(model)
        said = mapped.partial_fit_predict(X, y, classes=CLASSES)
        projections, guesses = mapped.project(X), mapped.predict(X)
        assert not hasattr(mapped, "support_vectors_")
        spread = (
            (mapped.diversity(), mapped.agreement(X))
            if isinstance(model, ordinal.OAPRank)
            else None
        )
        monkeypatch.setattr(_kernel, "_SMALL", 0)
        assert_array_equal(dual.partial_fit_predict(X, y, classes=CLASSES), said)
        assert_allclose(dual.project(X), projections, rtol=1e-8, atol=1e-8)
        assert_array_equal(dual.predict(X), guesses)
        assert (dual.n_mistakes_, dual.rank_loss_) == (mapped.n_mistakes_, mapped.rank_loss_)
        assert not hasattr(dual, "coef_")
        if isinstance(dual, ordinal.OAPRank):
            assert_allclose(dual.diversity(), spread[0], atol=1e-9)
            assert_array_equal(dual.agreement(X), spread[1])


@pytest.mark.parametrize("vote", [None, "voted"])
def test_a_long_stream_in_its_monomials(vote):
    X, y = stream(2_500)
    monomials = polynomial_map(X, degree=2, gamma=1 / 3)
    mapped, plain = prank(kernel="poly", degree=2, vote=vote), prank(vote=vote)
    said = [
        m.partial_fit_predict(rows, y, classes=CLASSES)
        for m, rows in ((mapped, X), (plain, monomials))
    ]
    assert_array_equal(*said)
    passes = {"epochs": 2, "shuffle": True, "random_state": 0}
    mapped.set_params(**passes).fit(X, y)
    plain.set_params(**passes).fit(monomials, y)
    assert_array_equal(mapped.coef_, plain.coef_)
    assert_array_equal(mapped.predict(X), plain.predict(monomials))


def test_as_many_monomials_as_are_small():
    X, y = np.random.default_rng(0).normal(size=(20, 500)), np.arange(20) % 2
    for n_features, kept in ((499, False), (500, True)):
        model = prank(kernel="poly", degree=1).fit(X[:, :n_features], y)
        assert hasattr(model, "support_vectors_") == kept


def test_another_fit_leaves_nothing_of_the_one_before():
    X, y = stream()
    model = prank()
    for kernel, rows in (("rbf", X), ("precomputed", gram(X, "rbf")), ("linear", X), ("rbf", X)):
        model.set_params(kernel=kernel).fit(rows, y)
        fresh = prank(kernel=kernel).fit(rows, y)
        assert vars(model).keys() == vars(fresh).keys()
        assert_array_equal(model.predict(rows), fresh.predict(rows))


@pytest.mark.parametrize("params", list(KERNELS.values())[:4], ids=list(KERNELS)[:4])
@pytest.mark.parametrize("small", [0, 500])
def test_entries_that_a_csr_matrix_holds_twice(params, small, monkeypatch):
    monkeypatch.setattr(_kernel, "_SMALL", small)
    random, y = np.random.default_rng(0), stream(100)[1]
    arrays = random.normal(size=400), random.integers(0, 3, 400), np.arange(0, 401, 4)
    X = sparse.csr_array(arrays, shape=(100, 3))
    before = X.indices.copy()
    dense = prank(**params).fit(X.toarray(), y)
    assert_array_equal(prank(**params).fit(X, y).predict(X), dense.predict(X.toarray()))
    assert_array_equal(X.indices, before)


@pytest.mark.parametrize(
    ("model", "budget", "params"),
    pairwise_cover(build(), [None, 7], list(KERNELS.values())[1:]),
)
def test_any_chunking_bit_for_bit(model, budget, params):
    X, y = stream(200)
    model = clone(model)
    model.set_params(**params, budget=budget)
    rows = rows_for(model, X)
    whole = clone(model)
    said = whole.partial_fit_predict(rows, y, classes=CLASSES)
    for cuts in ([1, 2, 70], [64, 128], range(1, 200, 9)):
        parts = clone(model)
        chunks = np.split(np.arange(len(y)), cuts)
        again = [parts.partial_fit_predict(rows[c], y[c], classes=CLASSES) for c in chunks]
        assert_array_equal(np.concatenate(again), said)
        assert parts._state.keys() == whole._state.keys()
        for name, array in whole._state.items():
            assert_array_equal(parts._state[name], array, err_msg=name)
        assert_array_equal(parts.project(rows), whole.project(rows))


def test_precomputed_is_the_kernel_it_holds():
    X, y = stream(200)
    K = rbf_kernel(X, gamma=1 / 3)
    for epochs in (1, 3):
        ours = prank(kernel="rbf", epochs=epochs, shuffle=True, random_state=0).fit(X, y)
        given = prank(kernel="precomputed", epochs=epochs, shuffle=True, random_state=0).fit(K, y)
        assert_array_equal(given.predict(K), ours.predict(X))
        assert_array_equal(given.dual_coef_, ours.dual_coef_)
        assert_array_equal(X[given.support_], ours.support_vectors_)


def test_precomputed_shapes_are_checked():
    K = rbf_kernel(stream(40)[0])
    y = stream(40)[1]
    with pytest.raises(ValueError, match=r"\(30, 40\).*square"):
        prank(kernel="precomputed").fit(K[:30], y[:30])
    model = prank(kernel="precomputed").partial_fit(K[:30], y[:30], classes=CLASSES)
    with pytest.raises(ValueError, match="20 rows after 30 others"):
        model.partial_fit(K[:20], y[:20])
    assert model.partial_fit(K[30:], y[30:]).n_rounds_ == 40
    with pytest.raises(ValueError, match="precomputed"):
        oap_bpm(3, kernel="precomputed", random_state=0).fit(K, y).diversity()


@pytest.mark.usefixtures("no_map")
@pytest.mark.parametrize("budget", [None, 20])
@pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS)
def test_a_row_is_kept_once_in_several_passes(params, budget):
    X, y = stream(200)
    model = prank(epochs=5, shuffle=True, random_state=0, budget=budget, **params)
    rows = rows_for(model, X)
    supports = getattr(model.fit(rows, y), "support_vectors_", X)
    assert len(np.unique(supports, axis=0)) == len(supports)
    if budget is None:
        random = np.random.RandomState(0)
        order = np.concatenate([random.permutation(200) for _ in range(5)])
        K = gram(X, **params)
        last = list(oracles.kernel_prank(K[np.ix_(order, order)], y[order], 5))[-1]
        assert_array_equal(spread(model, X), np.bincount(order, weights=last.w))


# A mean over the whole past is not made to follow.
FOLLOWING = [m for m in build(kernel="rbf", gamma=3.0) if getattr(m, "vote", None) is None]


class TestBudget:
    @pytest.mark.parametrize("budget", [1, 2, 5, 20])
    @pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS)
    @pytest.mark.usefixtures("no_map")
    def test_equals_the_literal_loop(self, params, budget):
        X, y = stream()
        model = prank(budget=budget, **params)
        rows = rows_for(model, X)
        for i, expected in enumerate(oracles.budget_prank(gram(X, **params), y, 5, budget)):
            guess = model.partial_fit_predict(rows[[i]], y[[i]], classes=CLASSES)[0]
            alpha = np.zeros(len(X))
            alpha[expected.rows] = expected.alpha
            assert guess == expected.guess
            assert len(model.dual_coef_) == len(expected.rows) <= budget
            assert_allclose(spread(model, X), alpha, atol=1e-6)

    @pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
    @pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS)
    @pytest.mark.parametrize("budget", [20, 75])
    @pytest.mark.usefixtures("no_map")
    def test_equals_the_literal_loop_in_several_passes(self, params, container, budget):
        X, y = stream()
        model = prank(budget=budget, epochs=4, shuffle=True, random_state=0, **params)
        model.fit(container(rows_for(model, X)), y)
        random = np.random.RandomState(0)
        order = np.concatenate([random.permutation(100) for _ in range(4)])
        *_, last = oracles.budget_prank(gram(X, **params), y, 5, budget, order)
        alpha = np.zeros(len(X))
        alpha[last.rows] = last.alpha
        assert_array_equal(model.thresholds_, last.b)
        assert_allclose(spread(model, X), alpha, atol=1e-6)

    @pytest.mark.parametrize("model", build(kernel="rbf", gamma=3.0), ids=str)
    @pytest.mark.parametrize("budget", [1, 30])
    def test_never_keeps_more(self, model, budget):
        X, y = make_herbrich(600, random_state=0)
        model = clone(model).set_params(budget=budget)
        for start in range(0, 600, 50):
            model.partial_fit(X[start : start + 50], y[start : start + 50], classes=CLASSES)
            assert len(model.support_vectors_) <= budget
        assert len(model.support_vectors_) == budget
        assert model.dual_coef_.shape[-1] == budget

    @pytest.mark.parametrize("model", build(kernel="rbf", gamma=3.0), ids=str)
    def test_costs_little_on_a_stationary_stream(self, model):
        X, y = make_herbrich(3_000, random_state=0)
        free, bound = clone(model), clone(model).set_params(budget=50)
        losses = [
            np.abs(m.partial_fit_predict(X, y, classes=CLASSES) - y).mean() for m in (free, bound)
        ]
        assert len(free.support_vectors_) > 500
        assert losses[1] < 1.2 * losses[0]

    @pytest.mark.parametrize("model", FOLLOWING, ids=str)
    def test_follows_rows_that_move_away(self, model):
        X, y = make_herbrich(6_000, random_state=0)
        X = X + np.arange(6).repeat(1_000)[:, None] * [1.0, 0.0]
        free, bound = clone(model), clone(model).set_params(budget=25)
        losses = [
            np.abs(m.partial_fit_predict(X, y, classes=CLASSES) - y)[-800:].mean()
            for m in (free, bound)
        ]
        assert losses[1] < 1.2 * losses[0]

    @pytest.mark.parametrize(
        "model",
        [*build(degree=1, gamma=1.0), oap_bpm(60, random_state=0, degree=1, gamma=1.0, n_jobs=2)],
        ids=str,
    )
    def test_nothing_is_lost_where_the_rows_span_everything(self, model):
        X, y = make_herbrich(400, random_state=1)
        free = clone(model).set_params(kernel="poly")
        bound = clone(model).set_params(kernel=lambda A, B: A @ B.T + 1, budget=12)
        said = [m.partial_fit_predict(X, y, classes=CLASSES) for m in (free, bound)]
        assert_array_equal(*said)
        assert_array_equal(bound.predict(X), free.predict(X))
        off = np.abs(bound.project(X) - free.project(X)).max()
        assert off < 0.003 * np.abs(free.project(X)).max()

    @pytest.mark.parametrize("update", UPDATES)
    def test_the_length_is_that_of_the_direction(self, update):
        X, y = stream(500)
        model = prank(update=update, kernel="rbf", gamma=0.1, budget=5).fit(X, y)
        alpha, G = model.dual_coef_, rbf_kernel(model.support_vectors_, gamma=0.1)
        assert_allclose(model._state["length"], alpha @ G @ alpha, rtol=1e-6)

    def test_more_than_there_are_rows(self):
        X, y = stream()
        whole = prank(kernel="rbf").fit(X, y)
        for budget in (whole.n_mistakes_, 10**6, 10**20):
            model = prank(kernel="rbf", budget=budget).fit(X, y)
            assert_array_equal(model.dual_coef_, whole.dual_coef_)
            assert_array_equal(model.predict(X), whole.predict(X))

    def test_long_runs_keep_the_inverse(self):
        random = np.random.default_rng(0)
        X, y = random.uniform(size=(20_000, 2)), random.integers(1, 6, 20_000)
        model = prank(kernel="rbf", gamma=0.1, budget=15).fit(X, y)
        G = rbf_kernel(model.support_vectors_, gamma=0.1) + 1e-4 * np.eye(15)
        assert_allclose(model._state["inverse"] @ G, np.eye(15), atol=1e-5)

    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_rows_that_are_all_alike(self, value):
        X, y = np.full((200, 2), value), stream(200)[1]
        for kernel in ("rbf", lambda X, Y: X @ Y.T):
            model = prank(kernel=kernel, budget=3).fit(X, y)
            assert np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize(
    "change", [{"kernel": "linear"}, {"gamma": 2.0}, {"budget": 3}, {"kernel": "poly", "degree": 9}]
)
def test_a_kernel_can_not_change_within_a_stream(change):
    X, y = stream()
    model = prank(kernel="rbf").partial_fit(X, y, classes=CLASSES)
    before = model.project(X)
    with pytest.raises(ValueError, match="changed within a stream"):
        model.set_params(**change).partial_fit(X, y)
    model.set_params(kernel="rbf", gamma=None, budget=None, degree=3)
    assert_array_equal(model.project(X), before)


@pytest.mark.parametrize(
    ("params", "change"),
    [
        ({"kernel": "rbf"}, {"kernel": "linear"}),
        ({"kernel": "rbf"}, {"gamma": 2.0}),
        ({"kernel": "rbf", "budget": 5}, {"budget": None}),
        ({"kernel": "poly", "degree": 9}, {"degree": 2}),
        ({"kernel": "linear"}, {"kernel": "rbf"}),
    ],
    ids=str,
)
def test_what_was_learned_with_one_kernel_does_not_predict_with_another(params, change):
    X, y = stream()
    for model in (prank(**params), prank(vote="voted", **params), oap_bpm(3, **params)):
        model.fit(X, y).set_params(**change)
        for method in {"predict", "project", "agreement"} & set(dir(model)):
            with pytest.raises(ValueError, match="changed within a stream"):
                getattr(model, method)(X)
    with pytest.raises(ValueError, match="changed within a stream"):
        model.diversity()


def test_numbers_that_a_kernel_does_not_use_may_change():
    X, y = stream()
    model = prank(kernel="rbf").partial_fit(X, y, classes=CLASSES)
    assert model.set_params(degree=7, coef0=0.0).partial_fit(X, y).n_rounds_ == 200
    model = prank().partial_fit(X, y, classes=CLASSES)
    assert model.set_params(gamma=7.0).partial_fit(X, y).n_rounds_ == 200


@pytest.mark.parametrize("first", ["perceptron", "pa"])
def test_a_step_that_needs_the_length_may_come_later(first, monkeypatch):
    X, y = stream(300)
    said = []
    for small in (500, 0):
        monkeypatch.setattr(_kernel, "_SMALL", small)
        model = prank(update=first, kernel="poly", degree=2)
        model.partial_fit(X[:99], y[:99], classes=CLASSES).set_params(update="romma")
        said.append(model.partial_fit_predict(X[99:], y[99:]))
    assert_array_equal(*said)


def test_the_length_of_a_very_long_direction(monkeypatch):
    X, y = stream(300)
    said = []
    for small in (500, 0):
        monkeypatch.setattr(_kernel, "_SMALL", small)
        model = prank(update="romma", kernel="poly", degree=2)
        model.partial_fit(X[:99], y[:99], classes=CLASSES)
        for name, power in (("w", 101), ("b", 101), ("length", 202)):
            if name in model._state:
                model._state[name] *= 2.0**power
        said.append(model.partial_fit_predict(X[99:], y[99:]))
        assert np.abs(model.thresholds_).max() < 2.0**70
    assert_array_equal(*said)


def test_a_high_degree_of_one_feature():
    X, y = stream()
    X = X[:, :1] / 3
    mapped = prank(kernel="poly", degree=120).fit(X, y)
    dual = prank(kernel=lambda A, B: (A @ B.T + 1) ** 120).fit(X, y)
    assert_allclose(mapped.project(X), dual.project(X), rtol=1e-8)


def test_dense_and_csr_chunks_mix():
    X, y = stream()
    dense = prank(kernel="rbf").fit(X, y)
    for first, second in ((sparse.csr_array, np.asarray), (np.asarray, sparse.csr_array)):
        model = prank(kernel="rbf").partial_fit(first(X[:50]), y[:50], classes=CLASSES)
        model.partial_fit(second(X[50:]), y[50:])
        assert_array_equal(model.predict(X), dense.predict(X))
        assert_array_equal(model.predict(sparse.csr_array(X)), dense.predict(X))


@pytest.mark.parametrize("kernel", ["poly", "rbf", laplacian])
def test_values_that_are_not_finite_are_named(kernel):
    X, y = stream()
    X[97, 2] = np.nan
    for rows in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match=r"NaN \(row 97, column 2\)"):
            prank(kernel=kernel).fit(rows, y)
    model = prank(kernel=kernel).fit(X[:90], y[:90])
    with pytest.raises(ValueError, match=r"NaN \(row 97, column 2\)"):
        model.predict(X)


@pytest.mark.parametrize(
    "convert",
    [np.asfortranarray, np.float32, lambda K: K.round().astype(int), lambda K: -K],
    ids=["fortran", "float32", "whole", "negative"],
)
def test_a_callable_may_return_any_real_numbers(convert):
    X, y = stream()
    K = convert(X @ X.T)
    given = prank(kernel="precomputed").fit(K, y)
    called = prank(kernel=lambda A, B: convert(A @ B.T)).fit(X, y)
    assert_array_equal(called.dual_coef_, given.dual_coef_)


@pytest.mark.parametrize("convert", [sparse.csr_array, lambda K: K + 0j, lambda K: K.astype(str)])
def test_a_callable_must_return_numbers(convert):
    X, y = stream()
    with pytest.raises(ValueError, match="must return finite numbers"):
        prank(kernel=lambda A, B: convert(A @ B.T)).fit(X, y)


def test_a_callable_must_return_a_value_a_pair():
    X, y = stream()
    with pytest.raises(ValueError, match=r"shape \(64, 64\).*has shape \(3, 3\)"):
        prank(kernel=lambda *_: np.ones((3, 3))).fit(X, y)


@pytest.mark.parametrize("small", [0, 500])
@pytest.mark.parametrize("vote", [None, "voted"])
def test_scores_that_overflow_name_their_row(small, vote, monkeypatch):
    monkeypatch.setattr(_kernel, "_SMALL", small)
    X, y = stream(1_500)
    model = prank(kernel="poly", degree=4, vote=vote).fit(X, y)
    X[1_400] = 1e200
    with pytest.raises(ValueError, match=r"row 1400 .*scale the features"):
        model.predict(X)
    for shuffle in (False, True):
        model.set_params(shuffle=shuffle, random_state=0)
        with pytest.raises(ValueError, match=r"row 1400 .*scale the features"):
            model.fit(X, y)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_what_is_shown_is_a_copy(container):
    X, y = stream()
    model = prank(kernel="rbf").fit(container(X), y)
    before = model.project(X)
    (model.support_vectors_.data if container is sparse.csr_array else model.support_vectors_)[
        :
    ] = 0
    assert_array_equal(model.project(X), before)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("coef0", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("gamma", [1.0, 0.3])
def test_map_reproduces_the_kernel(degree, coef0, gamma):
    random = np.random.default_rng(degree)
    X, Z = random.normal(size=(7, 3)), random.normal(size=(5, 3))
    params = {"degree": degree, "gamma": gamma, "coef0": coef0}
    mapped = polynomial_map(X, **params) @ polynomial_map(Z, **params).T
    assert_allclose(mapped, polynomial_kernel(X, Z, **params), rtol=1e-10, atol=1e-12)
