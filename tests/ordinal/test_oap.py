"""OAP against its members run one by one, and its combinations against their definitions."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils.estimator_checks import check_classifiers_train

from rankwise import ordinal
from rankwise.ordinal._loops.prank import UPDATES
from rankwise.papers import oap_bpm, prank
from tests import reference as oracles
from tests.covering import pairwise_cover

K = 5
CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array}


def stream(seed=0, n=200, k=K):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6)) * (random.random((n, 6)) < 0.7)
    score = X @ random.normal(size=6) + random.normal(0, 0.3, n)
    return X, 1 + np.searchsorted(np.quantile(score, np.arange(1, k) / k), score)


def seed_of(model):
    return int(model._state["seed"][0])


@pytest.mark.parametrize(
    ("container", "n_members", "problem"),
    pairwise_cover(CONTAINERS.values(), [1, 4, 6, 52, 53, 107], [(0.3, 5), (0.05, 2), (1.0, 9)]),
)
def test_members_are_prank_on_the_rounds_they_see(container, n_members, problem):
    tau, k = problem
    X, y = stream(k=k)
    model = oap_bpm(n_members, tau=tau, random_state=3).fit(container(X), y)
    assert_members_are_prank(model, X, y)


@pytest.mark.parametrize(
    ("container", "step", "problem"),
    pairwise_cover(
        CONTAINERS.values(),
        list(product(UPDATES, ["bernoulli", "poisson"])),
        [(0.3, 5, 6), (1.0, 2, 5), (1.0, 9, 53)],
    ),
)
def test_members_take_any_step_as_often_as_they_see_a_round(container, step, problem):
    (update, sampling), (tau, k, n_members) = step, problem
    X, y = stream(k=k, n=60)
    options = {"update": update, "sampling": sampling, "tau": tau}
    model = oap_bpm(n_members, random_state=3, **options).fit(container(X), y)
    assert_members_are_prank(model, X, y)


def assert_members_are_prank(model, X, y):
    n_members, k = len(model.members_coef_), len(model.classes_)
    options = {name: getattr(model, name) for name in ("tau", "update", "sampling")}
    runs = oracles.oap(X, y, k, n_members=n_members, seed=seed_of(model), **options)
    mistakes, loss = 0, 0
    for m, run in enumerate(runs):
        seen = [(t, r) for t, rounds in enumerate(run) for r in rounds]
        w, b = (seen[-1][1].w, seen[-1][1].b) if seen else (np.zeros(6), np.zeros(k - 1))
        tolerance = {"perceptron": 1e-12, "romma": 1e-7}.get(model.update, 1e-9)
        size = max(1.0, np.abs(w).max())
        assert_allclose(model.members_coef_[m], w, atol=tolerance * size)
        assert_allclose(model.members_thresholds_[m], b, atol=tolerance * size)
        distances = np.array([abs(r.guess - y[t]) for t, r in seen])
        assert model.members_correct_[m] == np.sum(distances == 0)
        mistakes, loss = mistakes + np.sum(distances > 0), loss + distances.sum()
    assert (model.n_rounds_, model.n_mistakes_, model.rank_loss_) == (len(y), mistakes, loss)
    members = np.hstack([model.members_coef_, model.members_thresholds_])
    if UPDATES[model.update].scale_free:
        lengths = np.linalg.norm(members, axis=1, keepdims=True)
        members = members / np.where(lengths > 0, lengths, 1)
    assert_allclose(np.append(model.coef_, model.thresholds_), members.mean(axis=0), atol=1e-12)


def test_with_tau_1_every_member_is_prank():
    X, y = stream()
    model, one = oap_bpm(9, tau=1.0).fit(X, y), prank().fit(X, y)
    assert_allclose(model.members_coef_, np.tile(one.coef_, (9, 1)), atol=1e-12)
    for combine in ("bpm", "bagging", "voted"):
        assert_array_equal(model.set_params(combine=combine).predict(X), one.predict(X))
    assert model.diversity() == pytest.approx(0, abs=1e-9)
    assert_array_equal(model.agreement(X), 1)


@pytest.mark.parametrize("tau", [0.3, 0.01])
def test_votes_are_rounded_means(tau):
    X, y = stream()
    model = oap_bpm(11, tau=tau, random_state=0).fit(X, y)
    scores = X @ model.members_coef_.T
    members = 1 + (scores[:, :, None] >= model.members_thresholds_).sum(axis=2)
    weights = model.members_correct_
    for combine, v in (("bagging", np.ones(11)), ("voted", weights)):
        expected = np.floor((members * v).sum(axis=1) / v.sum() + 0.5)
        assert_array_equal(model.set_params(combine=combine).predict(X), expected)
    shares = (members == model.predict(X)[:, None]).mean(axis=1)
    assert_allclose(model.agreement(X), shares)


def test_votes_without_a_right_guess_weigh_alike():
    model = oap_bpm(5, combine="voted", label_order=[1, 2, 3]).fit([[1.0]], [1])
    assert not model.members_correct_.any()
    expected = model.set_params(combine="bagging").predict([[1.0], [-1.0]])
    assert_array_equal(model.set_params(combine="voted").predict([[1.0], [-1.0]]), expected)
    again = oap_bpm(5, combine="voted").partial_fit_predict([[1.0]], [1], classes=[1, 2, 3])
    assert again == [3]


@pytest.mark.parametrize("combine", ["bpm", "bagging", "voted"])
@pytest.mark.parametrize(
    "options",
    [{"update": update} for update in UPDATES] + [{"update": "pa", "sampling": "poisson"}],
)
def test_threads_change_nothing(combine, options):
    X, y = stream()
    models = [
        oap_bpm(110, combine=combine, n_jobs=jobs, random_state=1, **options) for jobs in (1, 2, -1)
    ]
    said = [model.partial_fit_predict(X, y, classes=range(1, K + 1)) for model in models]
    for model, guesses in zip(models[1:], said[1:], strict=True):
        assert_array_equal(guesses, said[0])
        assert_array_equal(model.members_coef_, models[0].members_coef_)
        assert_array_equal(model.coef_, models[0].coef_)


def test_coins_are_fair_and_independent():
    coins = np.array(
        [[oracles.oap_coin(12345, t, m, 0.3) for m in range(12)] for t in range(3000)], float
    )
    assert_allclose(coins.mean(axis=0), 0.3, atol=4 * np.sqrt(0.21 / 3000))
    together = np.corrcoef(np.hstack([coins[1:], coins[:-1]]).T) - np.eye(24)
    assert np.abs(together).max() < 4.5 / np.sqrt(3000)


def test_counts_are_poisson_and_independent():
    counts = np.array(
        [[oracles.oap_count(12345, t, m, 1.0) for m in range(12)] for t in range(3000)], float
    )
    assert_allclose(counts.mean(axis=0), 1.0, atol=4 / np.sqrt(3000))
    assert_allclose(counts.var(axis=0), 1.0, atol=0.2)
    assert np.abs(np.corrcoef(counts.T) - np.eye(12)).max() < 4.5 / np.sqrt(3000)


def test_vote_shares_are_shares_of_the_members():
    X, y = stream()
    for combine in ("bpm", "bagging", "voted"):
        model = oap_bpm(11, combine=combine, random_state=0).fit(X, y)
        members = 1 + ((X @ model.members_coef_.T)[:, :, None] >= model.members_thresholds_).sum(
            axis=2
        )
        expected = [(members == label).mean(axis=1) for label in model.classes_]
        assert_allclose(model.vote_shares(X), np.transpose(expected))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("combine", ["bpm", "bagging"])
def test_the_check_of_classifiers_passes_in_any_combination(combine, dtype):
    model = ordinal.OAPRank(7, combine=combine, random_state=0)
    check_classifiers_train("OAPRank", model, X_dtype=dtype)


@pytest.mark.parametrize("update", UPDATES)
def test_a_kernel_in_the_dual_has_no_lengths_of_members(update):
    X, y = stream()
    model = oap_bpm(5, update=update, kernel="rbf")
    if UPDATES[update].needs_length or UPDATES[update].scale_free:
        with pytest.raises(ValueError, match=f"update='{update}' needs the lengths"):
            model.fit(X, y)
    else:
        assert len(model.fit(X, y).support_vectors_) <= len(X)
    assert oap_bpm(5, update=update, kernel="poly", degree=2).fit(X, y).coef_.shape == (28,)


def test_more_members_leave_the_first_as_they_were():
    X, y = stream()
    few, many = (oap_bpm(n, random_state=2).fit(X, y) for n in (10, 60))
    assert_array_equal(few.members_coef_, many.members_coef_[:10])


def test_seed_matters_and_repeats():
    X, y = stream()
    a, b, c = (oap_bpm(5, random_state=s).fit(X, y).coef_ for s in (0, 0, 1))
    assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_a_row_that_no_member_sees_is_still_checked():
    X, y = stream()
    X[50, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN \(row 50, column 2\)"):
        oap_bpm(1, tau=1e-9).fit(X, y)


def test_only_the_bayes_point_has_a_decision_function():
    X, y = stream()
    model = oap_bpm(5, random_state=0).fit(X, y)
    assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))
    assert not hasattr(model.set_params(combine="voted"), "decision_function")


def test_diversity_is_one_less_the_mean_cosine():
    X, y = stream()
    model = oap_bpm(6, tau=0.2, random_state=0).fit(X, y)
    members = np.hstack([model.members_coef_, model.members_thresholds_])
    cosines = [
        a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        for i, a in enumerate(members)
        for j, b in enumerate(members)
        if i != j
    ]
    assert model.diversity() == pytest.approx(1 - np.mean(cosines))
    assert oap_bpm(3, label_order=[1, 2]).fit([[0.0]], [2]).diversity() == 0


def test_diversity_leaves_out_members_that_learned_nothing():
    # With few rows and a small tau some members see no row at all.
    model = oap_bpm(12, tau=0.3, random_state=0).fit([[1.0], [2.0], [3.0]], [3, 1, 2])
    members = np.hstack([model.members_coef_, model.members_thresholds_])
    assert 2 <= np.count_nonzero(members.any(axis=1)) < 12
    assert 0 <= model.diversity() <= 2


@pytest.mark.parametrize(
    "params", [{"tau": 0}, {"tau": 1.1}, {"n_estimators": 0}, {"combine": "x"}]
)
def test_bad_parameters_are_named(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        ordinal.OAPRank(**params).fit([[1.0], [2.0]], [1, 2])
