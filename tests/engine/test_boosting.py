"""Rounds of boosting: precise sums, scores of any size, and any number of threads."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise.engine import pool as pool_module
from rankwise.engine.binning import bin_features
from rankwise.engine.loops.boosting import weights
from rankwise.engine.pairs import Pairs
from rankwise.engine.pool import Pool
from rankwise.engine.solvers import boosting, boosting_rounds
from rankwise.pairwise import RankBoost
from rankwise.testing.oracles import pair_weights, rankboost


@pytest.fixture
def shared(monkeypatch):
    """Let threads share even the shortest passes; list how many ranges each pass had."""
    ranges, run = [], Pool.run

    def watched(pool, task, n, *, work):
        ranges.append(n)
        return run(pool, task, n, work=work)

    monkeypatch.setattr(pool_module, "WORTH_SHARING", 0)
    monkeypatch.setattr(Pool, "run", watched)
    return ranges


def test_sums_of_what_is_left_stay_precise():
    # The smaller side has nearly all the weight, and then almost none.
    y = np.repeat([0, 1], [50, 3])
    state = boosting.AllPairs(Pairs(y), 150).state
    n_parts = len(state.group)
    rare, usual = np.arange(53) % 50 == 0, np.ones(53, dtype=np.uint8)
    scores = np.zeros(53)
    for h, alpha in [(rare, 34.0), (rare, -34.0), (rare, 30.0), (usual, 3.0), (rare, -30.0)]:
        s = scores.copy()
        up, down = np.exp(s[:50]), np.exp(-s[50:])
        plus = up[~h[:50].astype(bool)].sum() * down[h[50:].astype(bool)].sum()
        minus = up[h[:50].astype(bool)].sum() * down[~h[50:].astype(bool)].sum()
        expected = np.array([plus, minus]) / (up.sum() * down.sum())
        weights.count_above(state, h.astype(np.uint8), 0, n_parts)
        weights.pick_rows(state, h.astype(np.uint8), 0, n_parts)
        assert_allclose(weights.weigh_sides(state, False), expected, rtol=1e-9)
        weights.add_step(state, alpha, 0, n_parts)
        weights.update_groups(state, alpha, False)
        scores += alpha * h


def test_scores_of_any_size_in_every_way(monkeypatch, graded_rows):
    X, y, qid, _ = graded_rows(None, seed=2)
    y = np.round(y, 1)
    start = 400 * y + np.random.default_rng(0).normal(size=len(y))
    D = pair_weights(y, one_sided=True, qid=qid)
    D = D * np.exp(np.where(D > 0, start[:, None] - start[None, :], 0))
    results = []
    for few in (0, np.inf):
        monkeypatch.setattr(boosting, "FEW_GROUPS", few)
        relation = boosting.AllPairs(Pairs(y, qid=qid), 100)
        relation.s[:] = start[relation.order]
        relation.compute_weights()
        assert_allclose(relation.log_total, np.log(D.sum()))
        with Pool(1) as pool:
            bins, _ = bin_features(X, relation.order, None, 255, np.random.RandomState(0), pool)
            rounds = list(boosting.boost(bins, relation, 5, "loss", pool))
        results.append(rounds)
        for t, expected in zip(rounds, rankboost(X, D, 5, n_pairs=100), strict=True):
            assert t.feature == expected.feature
            assert_allclose(t.alpha, expected.alpha, rtol=1e-7)
            assert_allclose(np.exp(t.log_loss), expected.loss, rtol=1e-9)
    assert_allclose([t.log_loss for t in results[0]], [t.log_loss for t in results[1]])


@pytest.mark.parametrize("criterion", ["loss", "edge"])
@pytest.mark.parametrize("levels", [2, 4, None])
@pytest.mark.parametrize("d", [1, 4, 24])
def test_threads_make_no_difference(d, levels, criterion, shared, graded_rows):
    X, y, qid, _ = graded_rows(levels, m=5_000, missing=True)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(len(y), 20))])[:, :d]
    for rows in (X, sparse.csr_array(X)):
        one = RankBoost(4, criterion=criterion).fit(rows, y, qid=qid)
        shared.clear()
        three = RankBoost(4, criterion=criterion, n_jobs=3).fit(rows, y, qid=qid)
        assert max(shared) > 1
        assert_array_equal(one.predict(X), three.predict(X))
        assert_array_equal(one.train_loss_, three.train_loss_)


@pytest.mark.usefixtures("shared")
def test_rounds_that_keep_nothing_are_the_same(monkeypatch, graded_rows):
    X, y, qid, _ = graded_rows(4, m=5_000, missing=True)
    expected = RankBoost(10).fit(X, y, qid=qid)
    monkeypatch.setattr(boosting_rounds, "KEPT", 0)
    big = np.hstack([X, np.zeros((len(y), 1))])
    for n_jobs in (1, 3):
        model = RankBoost(10, max_bins=255, n_jobs=n_jobs).fit(big, y, qid=qid)
        assert_allclose(model.train_loss_, expected.train_loss_)


@pytest.mark.usefixtures("shared")
def test_an_error_in_a_thread_ends_the_fit(monkeypatch, graded_rows):
    X, y, _, _ = graded_rows(2, m=5_000)
    model = RankBoost(3, n_jobs=2).fit(X, y)
    before, threads = dict(vars(model)), threading.active_count()
    pick_rows = weights.pick_rows

    def broken(state, h, first, last):
        if first > 0:
            raise MemoryError(f"parts {first} to {last}")
        pick_rows(state, h, first, last)

    monkeypatch.setattr(weights, "pick_rows", broken)
    with pytest.raises(MemoryError, match="parts"):
        model.fit(X, y)
    assert threading.active_count() == threads
    assert vars(model) == before


@pytest.mark.usefixtures("shared")
def test_no_thread_is_left_when_rounds_are_broken_off(graded_rows):
    X, y, _, _ = graded_rows(2, m=5_000)
    threads = threading.active_count()
    relation = boosting.AllPairs(Pairs(y), 1e4)
    with Pool(3) as pool:
        bins, _ = bin_features(X, relation.order, None, 255, np.random.RandomState(0), pool)
        rounds = boosting.boost(bins, relation, 10, "loss", pool)
        next(rounds)
        assert threading.active_count() > threads
        rounds.close()
    assert threading.active_count() == threads
