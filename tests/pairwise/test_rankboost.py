"""RankBoost against the algorithm on the pairs themselves, and the lecture's facts about it."""

import threading
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from rankwise.engine import binning
from rankwise.engine import team as team_module
from rankwise.engine.binning import find_edges
from rankwise.engine.loops import boosting as loops
from rankwise.engine.loops import histograms, meeting, rounds
from rankwise.engine.pairs import Pairs
from rankwise.engine.solvers import boosting
from rankwise.engine.team import Team
from rankwise.metrics import exponential_pair_loss, pairwise_misranking_loss
from rankwise.pairwise import RankBoost
from rankwise.testing.oracles import adaboost, pair_weights, rankboost

M = 40


def sample(levels, *, seed=0, m=M, missing=False):
    """Rows with real, coarse and constant features; targets of so many levels (None: real)."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, 4))
    X[:, 1] = np.round(X[:, 1])
    X[:, 3] = 1.0
    y = X[:, 0] + np.sin(2 * X[:, 2]) + random.normal(0, 0.7, m)
    if levels is not None:
        y = np.searchsorted(np.quantile(y, np.arange(1, levels) / levels), y).astype(float) ** 2
    if missing:
        X[random.uniform(size=X.shape) < 0.2] = np.nan
    return X, y, random.integers(0, 4, size=m), random.uniform(0.2, 2, size=m)


def assert_same_rounds(model, X, weights, *, tie=1e-10, criterion="loss"):
    """Assert that a model is the literal one round by round, ties apart."""
    x, cuts = X[:, model.features_].T, model.cutpoints_[:, None]
    hs = list(np.where(np.isnan(x), model.missing_above_[:, None], x > cuts))
    rounds = rankboost(X, weights, len(hs), criterion=criterion, ties=hs, tol=tie)
    for t, expected in enumerate(rounds):
        # Missing values apart from others may be told by either side.
        same = np.array_equal(hs[t], expected.h)
        assert same or np.array_equal(hs[t], ~expected.h)
        alpha = expected.alpha if same else -expected.alpha
        assert_allclose(model.alphas_[t], alpha, rtol=1e-7, atol=1e-9)
        assert_allclose(model.train_loss_[t], expected.loss, rtol=1e-9)
    assert len(hs) == 8


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("criterion", ["loss", "edge"])
@pytest.mark.parametrize(
    ("levels", "missing", "queries", "weighted"),
    list(product([2, 4, None], [False, True], [False, True], [False, True])),
)
def test_rounds_of_the_literal_algorithm(levels, missing, queries, weighted, criterion, max_bins):
    X, y, qid, weight = sample(levels, missing=missing)
    qid, weight = qid if queries else None, weight if weighted else None
    for pair_weight in ("uniform", "magnitude"):
        model = RankBoost(8, criterion=criterion, max_bins=max_bins, pair_weight=pair_weight).fit(
            X, y, qid=qid, sample_weight=weight
        )
        weights = pair_weights(
            y, one_sided=True, qid=qid, sample_weight=weight, pair_weight=pair_weight
        )
        assert_same_rounds(model, X, weights, criterion=criterion)
        assert model.n_pairs_ == np.count_nonzero(weights)
        loss = exponential_pair_loss(
            y, model.predict(X), qid=qid, sample_weight=weight, pair_weight=pair_weight
        )
        assert_allclose(model.train_loss_[-1], loss, rtol=1e-9)


@pytest.mark.parametrize("levels", [2, 5, None])
@pytest.mark.parametrize("pair_weight", ["uniform", "magnitude"])
@pytest.mark.parametrize("kept", [0, np.inf])
@pytest.mark.parametrize(("few", "many_rows"), [(0, np.inf), (np.inf, np.inf), (np.inf, 0)])
def test_every_way_to_sum_is_the_literal_one(
    levels, pair_weight, few, many_rows, kept, monkeypatch
):
    # Trees, histograms of one sum a word, and of two; the last have 32 bits.
    monkeypatch.setattr(boosting, "FEW", few)
    monkeypatch.setattr(boosting, "MANY_ROWS", many_rows)
    monkeypatch.setattr(boosting, "KEPT", kept)
    X, y, qid, weight = sample(levels, seed=1, missing=True)
    weights = pair_weights(
        y, one_sided=True, qid=qid, sample_weight=weight, pair_weight=pair_weight
    )
    for rows in (X, sparse.csr_array(np.where(X == 1, 0, X))):
        model = RankBoost(8, pair_weight=pair_weight).fit(rows, y, qid=qid, sample_weight=weight)
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        assert_same_rounds(model, dense, weights, tie=1e-10 if many_rows else 1e-7)


def whole_numbers(state, slots, q):
    """Return the rows of slot q and what they have in it."""
    rows = slice(*state.starts[slots.group[q] :][:2])
    a, b = np.floor(slots.unit[q] * np.stack([state.A[rows], state.B[rows]], axis=1) + 0.5).T
    kind = slots.kind[q]
    if kind == histograms.BOTH:
        return rows, a.astype(np.int64) * 2**32 + b.astype(np.int64)
    return rows, (b if kind == histograms.BETTER else a).astype(np.int64)


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("many_rows", [0, np.inf])
@pytest.mark.parametrize("levels", [2, 4])
def test_kept_histograms_are_those_of_all_rows(levels, many_rows, max_bins, monkeypatch):
    # Each round adds what it changes; sums that move far are begun anew, one group at a time.
    monkeypatch.setattr(boosting, "MANY_ROWS", many_rows)
    monkeypatch.setattr(boosting, "PART", 30)
    m = 400
    X, y, qid, weight = sample(levels, m=m, missing=True)
    X = np.hstack([X, X[::-1], X[:, ::-1]])
    pairs = Pairs(y, qid=qid, sample_weight=weight)
    relation = boosting.Graded(pairs, 1e4)
    state, order, slots = relation.state, relation.order, boosting._slots(relation.state)
    n_parts = len(state.group)
    assert n_parts > len(state.y)
    with Team(1) as team:
        bins, _ = binning.bin_features(X, order, None, max_bins, np.random.RandomState(0), team.run)
    stride = int(bins.n_bins.max()) + 1
    hists = np.empty((2, len(slots.kind), 8, stride), dtype=np.int64)
    histograms.fill_slots(state, slots, True)
    random, scores, renewals = np.random.default_rng(0), np.zeros(m), []
    for _ in range(60):
        renewals.append(state.anew.sum())
        for b, (first, last) in enumerate([(0, 8), (8, 12)]):
            histograms.search_groups(
                bins, first, last, slots, state.links, False, False, 1e4, hists[b : b + 1],
                np.zeros(histograms.scratch_shape(len(slots.kind), stride)),
                np.empty((last - first, 3)),
            )  # fmt: skip
        for q in range(len(slots.kind)):
            rows, values = whole_numbers(state, slots, q)
            assert slots.total[q] == values.sum()
            for f in range(12):
                expected = np.zeros(stride, dtype=np.int64)
                np.add.at(expected, bins.codes[f // 8, rows, f % 8], values)
                assert_array_equal(hists[f // 8, q, f % 8], expected)
        h = random.uniform(size=m) < random.uniform()
        alpha = random.normal()
        scores += alpha * h
        relation.sides(h.astype(np.uint8))
        shared = random.integers(n_parts)
        for first, last in [(shared, n_parts), (0, shared)]:
            histograms.move_slots(state, slots, alpha, first, last)
        relation.log_total = loops.settle(state, alpha, False)
        histograms.settle_slots(state, slots, True)
        assert_allclose(state.s + np.repeat(state.base, np.diff(state.starts)), scores, atol=1e-12)
        weights = pair_weights(y, one_sided=True, qid=qid, sample_weight=weight)[order][:, order]
        total = (weights * np.exp(scores[:, None] - scores[None, :])).sum()
        assert_allclose(relation.log_total, np.log(total), rtol=1e-12)
    assert renewals[0] == len(state.y)
    assert 0 < np.mean(renewals[1:]) < len(state.y) / 2


def test_sums_of_what_is_left_stay_precise():
    # The smaller side has nearly all the weight, and then almost none.
    y = np.repeat([0, 1], [50, 3])
    relation = boosting.Graded(Pairs(y), 150)
    rare, usual = np.arange(53) % 50 == 0, np.ones(53, dtype=np.uint8)
    scores = np.zeros(53)
    for h, alpha in [(rare, 34.0), (rare, -34.0), (rare, 30.0), (usual, 3.0), (rare, -30.0)]:
        s = scores.copy()
        up, down = np.exp(s[:50]), np.exp(-s[50:])
        plus = up[~h[:50].astype(bool)].sum() * down[h[50:].astype(bool)].sum()
        minus = up[h[:50].astype(bool)].sum() * down[~h[50:].astype(bool)].sum()
        expected = np.array([plus, minus]) / (up.sum() * down.sum())
        assert_allclose(relation.sides(h.astype(np.uint8)), expected, rtol=1e-9)
        relation.move(alpha)
        scores += alpha * h


@pytest.mark.parametrize("max_bins", [255, None])
def test_bins_count_the_edges_below(max_bins):
    random = np.random.default_rng(0)
    m = 3_000
    X = np.column_stack(
        [
            random.normal(size=m),
            np.exp(10 * random.normal(size=m)),
            random.integers(0, 9, size=m),
            np.where(random.uniform(size=m) < 0.1, np.nan, random.normal(size=m)),
            np.full(m, 2.0),
            np.full(m, np.nan),
            random.choice([-1.7e308, -1.0, 0.0, 5e-324, 1.7e308], size=m),
            np.append(np.full(m - 1, 0.5), 1e300),
            np.sort(random.normal(size=m)),
            1e-3 * random.standard_cauchy(size=m),
        ]
    )
    order = random.permutation(m)
    results = []
    for rows in (X, sparse.csr_array(X)):
        with Team(2) as team:
            bins, edges = binning.bin_features(
                rows, order, None, max_bins, np.random.RandomState(0), team.run
            )
        assert_array_equal(np.flatnonzero(bins.missing), [3, 5])
        for f in range(X.shape[1]):
            x = X[order, f]
            if isinstance(rows, np.ndarray):
                codes = bins.codes[f // 8, :, f % 8]
            else:
                codes = np.full(m, bins.zero[f])
                entries = slice(bins.indptr[f], bins.indptr[f + 1])
                codes[bins.rows[entries]] = bins.codes[entries]
            expected = np.where(np.isnan(x), len(edges[f]) + 1, np.searchsorted(edges[f], x))
            assert_array_equal(codes, expected)
        results.append(edges)
    assert len(results[0][0]) == (254 if max_bins else m - 1)


def test_scores_of_any_size_in_every_way(monkeypatch):
    X, y, qid, _ = sample(None, seed=2)
    y = np.round(y, 1)
    start = 400 * y + np.random.default_rng(0).normal(size=M)
    weights = pair_weights(y, one_sided=True, qid=qid)
    D = weights * np.exp(np.where(weights > 0, start[:, None] - start[None, :], 0))
    results = []
    for few in (0, np.inf):
        monkeypatch.setattr(boosting, "FEW", few)
        relation = boosting.Graded(Pairs(y, qid=qid), 100)
        relation.s[:] = start[relation.order]
        relation.weigh()
        assert_allclose(relation.log_total, np.log(D.sum()))
        with Team(1) as team:
            bins, _ = binning.bin_features(
                X, relation.order, None, 255, np.random.RandomState(0), team.run
            )
            rounds = list(boosting.boost(bins, relation, 5, "loss", team))
        results.append(rounds)
        for t, expected in zip(rounds, rankboost(X, D, 5, n_pairs=100), strict=True):
            assert t.feature == expected.feature
            assert_allclose(t.alpha, expected.alpha, rtol=1e-7)
            assert_allclose(np.exp(t.log_loss), expected.loss, rtol=1e-9)
    assert_allclose([t.log_loss for t in results[0]], [t.log_loss for t in results[1]])


@pytest.mark.parametrize("criterion", ["loss", "edge"])
def test_given_pairs_are_the_literal_ones(criterion):
    X, _, _, _ = sample(2, missing=True)
    random = np.random.default_rng(3)
    pairs = np.vstack([random.integers(0, M, size=(200, 2)), [[0, 1], [1, 2], [2, 0], [5, 5]]])
    weight = random.uniform(size=len(pairs)) * (random.uniform(size=len(pairs)) > 0.1)
    model = RankBoost(8, criterion=criterion).fit_pairs(X, pairs, pair_weight=weight)
    D = np.zeros((M, M))
    np.add.at(D, tuple(pairs.T), weight)
    np.fill_diagonal(D, 0)
    kept = (weight > 0) & (pairs[:, 0] != pairs[:, 1])
    assert (model.n_pairs_, model.n_dropped_pairs_) == (kept.sum(), (~kept).sum())
    limit = rankboost(X, D, len(model.alphas_), criterion=criterion, n_pairs=model.n_pairs_)
    for loss, expected in zip(model.train_loss_, limit, strict=True):
        assert_allclose(loss, expected.loss, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["loss", "edge"])
def test_all_pairs_given_are_those_of_fit(criterion):
    X, y, qid, _ = sample(4)
    pairs = np.argwhere(pair_weights(y, one_sided=True, qid=qid))
    expected = RankBoost(20, criterion=criterion).fit(X, y, qid=qid)
    model = RankBoost(20, criterion=criterion).fit_pairs(X, pairs)
    assert_allclose(model.train_loss_, expected.train_loss_)
    assert_allclose(model.predict(X), expected.predict(X), atol=1e-9)


def test_cyclic_pairs_are_a_compromise():
    X = np.array([[0.0], [1.0], [2.0]])
    model = RankBoost().fit_pairs(X, [[0, 1], [1, 2], [2, 0]], pair_weight=[1.0, 1.0, 0.5])
    assert_array_equal(model.rank(X), [3, 2, 1])
    assert 0 < model.train_loss_[-1] < 1


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("levels", [2, 3, None])
def test_csr_is_dense(levels, max_bins):
    X, y, qid, _ = sample(levels, m=150, missing=True)
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.6] = 0
    for criterion in ("loss", "edge"):
        model = RankBoost(20, criterion=criterion, max_bins=max_bins)
        expected = model.fit(X, y, qid=qid).predict(X)
        for rows in (sparse.csr_array(X), sparse.csc_matrix(X)):
            assert_allclose(model.fit(rows, y, qid=qid).predict(rows), expected, atol=1e-9)
            assert_allclose(list(model.staged_predict(rows))[-1], expected, atol=1e-9)


def test_wide_sparse_rows_stay_sparse():
    import tracemalloc

    X = sparse.csr_array(sparse.random(5_000, 10_000, density=1e-3, random_state=0))
    y = (np.asarray(X[:, :2000].sum(axis=1)).ravel() > 0).astype(int)
    tracemalloc.start()
    model = RankBoost(3).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(model.alphas_) == 3
    assert peak < 5_000 * 10_000 / 4


@pytest.fixture
def present(monkeypatch):
    """Let all threads of a team help, on whatever machine; list the sizes of the teams."""
    sizes, take_rounds = [], rounds.take_rounds

    def watched(*job):
        found = take_rounds(*job)
        sizes.append(found[-3])
        return found

    monkeypatch.setattr(meeting, "USUAL_PATIENCE", 10**12)
    monkeypatch.setattr(meeting, "USUAL_STAY", 10**12)
    monkeypatch.setattr(team_module, "WAKING", 60.0)
    monkeypatch.setattr(team_module, "no_core_is_free", lambda: False)
    monkeypatch.setattr(Team, "_learn", lambda *_: None)
    monkeypatch.setattr(rounds, "take_rounds", watched)
    return sizes


@pytest.mark.parametrize("criterion", ["loss", "edge"])
@pytest.mark.parametrize("levels", [2, 4, None])
@pytest.mark.parametrize("d", [1, 4, 24])
def test_threads_make_no_difference(d, levels, criterion, present):
    X, y, qid, _ = sample(levels, m=5_000, missing=True)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(len(y), 20))])[:, :d]
    for rows in (X, sparse.csr_array(X)):
        one = RankBoost(4, criterion=criterion).fit(rows, y, qid=qid)
        present.clear()
        three = RankBoost(4, criterion=criterion, n_jobs=3).fit(rows, y, qid=qid)
        assert (3 in present) == (levels is not None)
        assert_array_equal(one.predict(X), three.predict(X))
        assert_array_equal(one.train_loss_, three.train_loss_)


@pytest.mark.usefixtures("present")
def test_rounds_that_keep_nothing_are_the_same(monkeypatch):
    X, y, qid, _ = sample(4, m=5_000, missing=True)
    expected = RankBoost(10).fit(X, y, qid=qid)
    monkeypatch.setattr(boosting, "KEPT", 0)
    big = np.hstack([X, np.zeros((len(y), 1))])
    for n_jobs in (1, 3):
        model = RankBoost(10, max_bins=255, n_jobs=n_jobs).fit(big, y, qid=qid)
        assert_allclose(model.train_loss_, expected.train_loss_)


@pytest.mark.usefixtures("present")
def test_helpers_leave_when_a_fit_is_broken_off():
    X, y, _, _ = sample(2, m=5_000)
    before = set(threading.enumerate())
    relation = boosting.Graded(Pairs(y), 1e4)
    with Team(3) as team:
        bins, _ = binning.bin_features(
            X, relation.order, None, 255, np.random.RandomState(0), team.run
        )
        taken = boosting.boost(bins, relation, 10, "loss", team)
        next(taken)
        taken.close()
    helpers = set(threading.enumerate()) - before
    for helper in helpers:
        helper.join(10)
    assert not any(helper.is_alive() for helper in helpers)


def test_a_sleeping_thread_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(team_module, "no_core_is_free", lambda: False)
    woken = threading.Event()

    def task(t):
        if t == 0 and threading.current_thread() is not threading.main_thread():
            woken.wait(10)
        return t * t

    with Team(2) as team:
        for _ in range(5):
            assert team.run(task, 6) == [t * t for t in range(6)]
            team._rest = 0
        woken.set()


def test_a_team_of_no_use_rests(monkeypatch):
    monkeypatch.setattr(team_module, "no_core_is_free", lambda: False)
    woken = threading.Event()

    def used(team):
        parts = team.parts(6)
        assert team.run(lambda t: t, parts) == list(range(parts))
        return parts

    with Team(1) as team:
        assert [used(team) for _ in range(3)] == [1, 1, 1]
    with Team(2) as team:
        team._pool.submit(woken.wait, 10)
        for rest in (15, 75, 255, 255):
            assert used(team) == 6
            assert [used(team) for _ in range(rest)] == [1] * rest
        team._learn(1.0)
        team._learn(-0.001)
        assert team.parts(6) == 6
        woken.set()


@pytest.mark.parametrize(("running", "asked"), [(1, True), (2, False)])
def test_nobody_is_woken_when_no_core_is_free(running, asked, monkeypatch, tmp_path):
    load = tmp_path / "loadavg"
    monkeypatch.setattr(team_module, "LOAD", load)
    monkeypatch.setattr(team_module.os, "cpu_count", lambda: 2)
    assert not team_module.no_core_is_free()
    load.write_text(f"0.1 0.2 0.3 {running}/99 1234")
    others = threading.Event()

    def task(t):
        if threading.current_thread() is not threading.main_thread():
            others.set()
        elif asked:
            others.wait(10)
        return t

    with Team(2) as team:
        assert team.run(task, 8) == list(range(8))
    assert others.is_set() == asked


def test_an_error_in_a_thread_is_raised():
    def task(t):
        raise ZeroDivisionError(t)

    with Team(2) as team, pytest.raises(ZeroDivisionError):
        team.run(task, 4)


@pytest.mark.parametrize("levels", [2, 3, None])
def test_ten_thousand_rounds_of_separable_data_stay_finite(levels):
    X, y, _, _ = sample(levels, m=30)
    X[:, 2] = y
    model = RankBoost(10_000).fit(X, y)
    P = pair_weights(y, one_sided=True).sum()
    assert np.isfinite(model.alphas_).all()
    assert np.abs(model.alphas_).max() <= np.log(2 * P) / 2 + 1e-12
    assert np.isfinite(model.train_loss_).all()
    assert (np.diff(model.train_loss_) <= 0).all()
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, y) == 1.0


def test_boosting_ends_when_nothing_is_gained():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 0, 1]
    model = RankBoost().fit(X, y)
    assert len(model.alphas_) == len(model.train_loss_) == 0
    assert_array_equal(model.predict(X), np.zeros(4))
    assert_array_equal(model.feature_importances_, [0.0])
    assert len(RankBoost().fit([[0.0], [0.0], [1.0], [1.0]], [0, 1, 1, 1]).alphas_) < 100


def test_a_missing_value_is_what_matters():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = random.integers(0, 2, size=200)
    X[y == 1, 1] = np.nan
    model = RankBoost(1).fit(X, y)
    assert model.features_[0] == 1
    assert model.cutpoints_[0] == -np.inf
    assert model.score(X, y) == 1.0
    # None was missing in feature 0: the larger part decides.
    model = RankBoost(1).fit(X[:, :1], X[:, 0] > 1.5)
    assert model.predict([[np.nan]]) == model.predict([[0.0]])


def test_bins_come_close_to_every_cut():
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000, 6))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + random.normal(0, 0.5, 30_000) > 1).astype(int)
    binned, exact = (
        RankBoost(30, max_bins=b, random_state=0).fit(X[:25_000], y[:25_000]) for b in (255, None)
    )
    assert_allclose(binned.train_loss_, exact.train_loss_, rtol=3e-2)
    scores = [m.score(X[25_000:], y[25_000:]) for m in (binned, exact)]
    assert_allclose(*scores, atol=3e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_edges(weighted):
    weight = np.ones(6) if weighted else None
    values = np.array([1.0, 2.0, 2.0, 3.0, 7.0, np.nan])
    assert_array_equal(find_edges(values, weight, None), [1.5, 2.5, 5.0])
    assert len(find_edges(np.full(3, np.nan), None, 10)) == 0
    close = np.array([1.0, np.nextafter(1.0, 2)])
    assert_array_equal(find_edges(close, None, 255), [1.0])
    assert np.isfinite(find_edges(np.array([-1.7e308, 1.7e308]), None, 255)).all()
    # Zeros fill one bin, and the others are still cut evenly.
    values = np.append(np.zeros(9_000), np.linspace(1, 2, 1_000))
    edges = find_edges(values, np.ones(10_000) if weighted else None, 50)
    assert 45 <= len(edges) <= 49
    counts = np.diff(np.searchsorted(values[9_000:], edges))
    assert counts.max() <= 2 * counts.min() + 2
    even = find_edges(np.arange(1_000.0), np.ones(1_000) if weighted else None, 10)
    assert_allclose(even, np.arange(100, 1_000, 100) - 0.5, atol=1)


def test_early_stopping():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5))
    y = (X[:, 0] + random.normal(0, 2, 400) > 0).astype(int)
    qid = random.integers(0, 40, size=400)
    pairs = np.argwhere(pair_weights(y, one_sided=True))[::50]
    fits = [
        lambda model: model.fit(X, y),
        lambda model: model.fit(X, y, qid=qid),
        lambda model: model.fit_pairs(X, pairs),
    ]
    for fit in fits:
        model = fit(RankBoost(500, n_iter_no_change=5, validation_fraction=0.25, random_state=0))
        n = len(model.alphas_)
        assert 1 <= n < 200
        assert len(model.validation_loss_) == n + 5
        assert np.argmin(model.validation_loss_) == n - 1
        assert not hasattr(RankBoost(2).fit(X, y), "validation_loss_")
    with pytest.raises(ValueError, match=r"validation_fraction=0.1 leaves a part"):
        RankBoost(n_iter_no_change=5).fit(X[:4], [0, 0, 0, 1])
    with pytest.raises(ValueError, match="no pair to learn from"):
        RankBoost(n_iter_no_change=5).fit_pairs(X, [[0, 1]])


def test_what_is_learned_can_be_taken_apart():
    X, y, _, _ = sample(4, m=200, missing=True)
    model = RankBoost(30).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 30
    for scores, loss in zip(stages, model.train_loss_, strict=True):
        assert_allclose(exponential_pair_loss(y, scores), loss, rtol=1e-9)
    assert_allclose(stages[-1], model.predict(X), atol=1e-12)
    parts = [model.feature_score(f)(X[:, f]) for f in range(4)]
    assert_allclose(np.sum(parts, axis=0), model.predict(X), atol=1e-12)
    assert len(model.feature_score(3).cuts) == 0
    falls = -np.diff(np.log(model.train_loss_), prepend=0)
    assert_allclose(model.feature_importances_[0], falls[model.features_ == 0].sum() / falls.sum())
    assert_allclose(model.feature_importances_.sum(), 1)


def test_pair_weights_are_normalised_and_targets_may_be_shifted():
    X, y, _, weight = sample(None)
    for pair_weight in ("uniform", "magnitude"):
        model, scaled = (
            RankBoost(20, pair_weight=pair_weight).fit(X, c * y, sample_weight=c * weight)
            for c in (1, 1e-3)
        )
        assert_allclose(scaled.train_loss_, model.train_loss_, rtol=1e-9)


def test_the_product_of_the_normalisers_is_the_training_loss():
    X, y, qid, weight = sample(3, m=80)
    model = RankBoost(30).fit(X, y, qid=qid, sample_weight=weight)
    D = pair_weights(y, one_sided=True, qid=qid, sample_weight=weight)
    product_of_z = 1.0
    for t, alpha in enumerate(model.alphas_):
        h = (X[:, model.features_[t]] > model.cutpoints_[t]).astype(float)
        moved = D * np.exp(-alpha * (h[None, :] - h[:, None]))
        product_of_z *= moved.sum() / D.sum()
        D = moved
        assert_allclose(product_of_z, model.train_loss_[t], rtol=1e-9)
    loss = exponential_pair_loss(y, model.predict(X), qid=qid, sample_weight=weight)
    assert_allclose(product_of_z, loss, rtol=1e-9)
    assert loss >= pairwise_misranking_loss(y, model.predict(X), qid=qid, sample_weight=weight)


def test_the_distribution_over_pairs_of_two_classes_factorises():
    X, y, _, _ = sample(2)
    model = RankBoost(10).fit(X, y)
    worse, better = y == 0, y > 0
    D = np.full((worse.sum(), better.sum()), 1 / (worse.sum() * better.sum()))
    for t, alpha in enumerate(model.alphas_):
        h = (X[:, model.features_[t]] > model.cutpoints_[t]).astype(float)
        D = D * np.exp(-alpha * (h[better][None, :] - h[worse][:, None]))
        D = D / D.sum()
    assert_allclose(D, np.outer(D.sum(axis=1), D.sum(axis=0)), rtol=1e-10)
    s = model.predict(X)
    assert_allclose(D.sum(axis=1), np.exp(s[worse]) / np.exp(s[worse]).sum(), rtol=1e-9)
    assert_allclose(D.sum(axis=0), np.exp(-s[better]) / np.exp(-s[better]).sum(), rtol=1e-9)


def test_adaboost_with_a_constant_reaches_the_same_objective():
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(300, 3)).astype(float)
    y = (X.sum(axis=1) + random.normal(0, 2, 300) > 6).astype(int)
    best = RankBoost(2_000).fit(X, y).train_loss_[-1]
    scores = adaboost(X, y, 2_000)
    up, down = np.exp(-scores[y == 1]).sum(), np.exp(scores[y == 0]).sum()
    assert_allclose(up, down, rtol=1e-6)
    assert_allclose(exponential_pair_loss(y, scores), best, rtol=1e-6)
    early = exponential_pair_loss(y, adaboost(X, y, 3))
    assert early > best * (1 + 1e-3)
    alone = adaboost(X, y, 2_000, constant=False)
    assert abs(np.exp(-alone[y == 1]).sum() / np.exp(alone[y == 0]).sum() - 1) > 1e-2


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"max_bins": 256}, {}, "max_bins"),
        ({"max_bins": 1}, {}, "max_bins"),
        ({"criterion": "auc"}, {}, "criterion"),
        ({"pair_weight": "log"}, {}, "pair_weight"),
        ({"n_estimators": 0}, {}, "n_estimators"),
        ({"validation_fraction": 1.0}, {}, "validation_fraction"),
        ({}, {"y": np.zeros(M)}, "no comparable pair"),
        ({}, {"qid": np.arange(M)}, "no comparable pair"),
        ({}, {"sample_weight": -np.ones(M)}, "negative"),
        ({}, {"X": np.full((M, 4), np.inf)}, "infinity"),
    ],
)
def test_bad_input_is_named(parameters, arguments, message):
    X, y, _, _ = sample(4)
    with pytest.raises(ValueError, match=message):
        RankBoost(**parameters).fit(**{"X": X, "y": y, **arguments})


@pytest.mark.parametrize(
    ("pairs", "weight", "message"),
    [
        ([0, 1], None, "shape"),
        ([[0.5, 1.0]], None, "whole numbers"),
        ([[0, M]], None, r"pairs\[0\]"),
        ([[0, -1]], None, r"pairs\[0\]"),
        ([[0, 1]], [1.0, 2.0], "pair_weight has the shape"),
        ([[0, 1]], [-1.0], "pair_weight is -1.0"),
        ([[0, 1]], [np.nan], "pair_weight is nan"),
        ([[0, 1], [2, 2]], [0.0, 1.0], "nothing to learn from"),
    ],
)
def test_bad_pairs_are_named(pairs, weight, message):
    with pytest.raises(ValueError, match=message):
        RankBoost().fit_pairs(sample(2)[0], pairs, pair_weight=weight)


def test_unfitted_and_unknown():
    with pytest.raises(NotFittedError):
        RankBoost().predict([[1.0]])
    X, y, _, _ = sample(2)
    for feature in (4, -1, np.ones(3), 0.5):
        with pytest.raises(ValueError, match="feature="):
            RankBoost(2).fit(X, y).feature_score(feature)
