"""Rounds of boosting: precise sums, scores of any size, and any number of threads."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise._core import threads as pool_module
from rankwise._core.pairs import Pairs
from rankwise._core.threads import Pool
from rankwise.boosting import RankBoost, stumps
from rankwise.boosting._loops import stumps as loops
from rankwise.boosting.binning import bin_features
from rankwise.boosting.pair_weights import AllPairs
from rankwise.boosting.stumps import StumpRounds
from tests.reference import pair_weights, rankboost


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


@pytest.fixture
def one_thread():
    """Return a function that makes the rounds of boosting on rows of one thread."""
    with Pool(1) as pool:

        def make(X, relation, criterion="loss"):
            bins, _ = bin_features(X, relation.order, None, 255, np.random.RandomState(0), pool)
            return StumpRounds(relation, bins, criterion, pool)

        yield make


def test_sums_of_what_is_left_stay_precise(one_thread):
    # The smaller side has nearly all the weight, and then almost none.
    y = np.repeat([0, 1], [50, 3])
    relation = AllPairs(Pairs(y), 150)
    rounds = one_thread(np.zeros((53, 1)), relation)
    rare, usual = np.arange(53) % 50 == 0, np.ones(53, dtype=bool)
    scores = np.zeros(53)
    for h, alpha in [(rare, 34.0), (rare, -34.0), (rare, 30.0), (usual, 3.0), (rare, -30.0)]:
        up, down = np.exp(scores[:50]), np.exp(-scores[50:])
        plus = up[~h[:50]].sum() * down[h[50:]].sum()
        minus = up[h[:50]].sum() * down[~h[50:]].sum()
        expected = np.array([plus, minus]) / (up.sum() * down.sum())
        rounds.h[:] = h
        picks_above = 2 * h.sum() <= 53
        found = loops.weigh_split(rounds.state, picks_above, False)
        assert_allclose(found, expected, rtol=1e-9)
        rounds.add_step(alpha, picks_above)
        scores += alpha * h


@pytest.mark.parametrize("criterion", ["loss", "edge"])
@pytest.mark.parametrize("kept", [0, np.inf])
def test_scores_of_any_size_in_every_way(kept, criterion, one_thread, monkeypatch, graded_rows):
    X, y, qid, _ = graded_rows(None, seed=2)
    y = np.round(y, 1)
    start = 400 * y + np.random.default_rng(0).normal(size=len(y))
    D = pair_weights(y, one_sided=True, qid=qid)
    D = D * np.exp(np.where(D > 0, start[:, None] - start[None, :], 0))
    monkeypatch.setattr(stumps, "KEPT", kept)
    relation = AllPairs(Pairs(y, qid=qid), 100)
    relation.s[:] = start[relation.order]
    relation.compute_weights()
    assert_allclose(relation.log_total, np.log(D.sum()))
    rounds = one_thread(X, relation, criterion)
    for expected in rankboost(X, D, 5, n_pairs=100, criterion=criterion):
        tree = rounds.grow()
        assert tree.features[0] == expected.feature
        assert_allclose(tree.values, [0.0, expected.alpha], rtol=1e-7)
        assert_allclose(tree.loss, expected.loss, rtol=1e-9)


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
        # threads share blocks of eight features
        assert d <= 8 or max(shared) > 1
        assert_array_equal(one.predict(X), three.predict(X))
        assert_array_equal(one.train_loss_, three.train_loss_)


@pytest.mark.usefixtures("shared")
def test_rounds_that_keep_nothing_are_the_same(monkeypatch, graded_rows):
    X, y, qid, _ = graded_rows(4, m=5_000, missing=True)
    expected = RankBoost(10).fit(X, y, qid=qid)
    monkeypatch.setattr(stumps, "KEPT", 0)
    big = np.hstack([X, np.zeros((len(y), 1))])
    for n_jobs in (1, 3):
        model = RankBoost(10, max_bins=255, n_jobs=n_jobs).fit(big, y, qid=qid)
        assert_allclose(model.train_loss_, expected.train_loss_)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("kind", [MemoryError, KeyboardInterrupt])
def test_an_error_in_a_thread_ends_the_fit(kind, monkeypatch, graded_rows):
    X, y, _, _ = graded_rows(2, m=5_000)
    X = np.hstack([X] * 8)
    model = RankBoost(3, n_jobs=2).fit(X, y)
    before, threads = dict(vars(model)), threading.active_count()
    search_slots = loops.search_slots

    def broken(bins, first, last, *others):
        if first > 0:
            raise kind(f"blocks {first} to {last}")
        search_slots(bins, first, last, *others)

    monkeypatch.setattr(loops, "search_slots", broken)
    with pytest.raises(kind, match="blocks"):
        model.fit(X, y)
    assert threading.active_count() == threads
    assert vars(model) == before


@pytest.mark.usefixtures("shared")
def test_no_thread_is_left_when_rounds_are_broken_off(graded_rows):
    X, y, _, _ = graded_rows(2, m=5_000)
    threads = threading.active_count()
    relation = AllPairs(Pairs(y), 1e4)
    with Pool(3) as pool:
        bins, _ = bin_features(X, relation.order, None, 255, np.random.RandomState(0), pool)
        StumpRounds(relation, bins, "loss", pool).grow()
        assert threading.active_count() > threads
    assert threading.active_count() == threads


def test_weights_that_differ_by_180_orders_of_magnitude():
    """The heaviest worse row falls behind a light one: its share is still the whole loss."""
    model = RankBoost(100).fit(
        [[-1, 2], [-1, -1], [0, 0]], [2, 0, 0], sample_weight=[2e-245, 2e-70, 1e-249]
    )
    s = model.predict([[-1, 2], [-1, -1]])
    assert_allclose(model.train_loss_[-1], np.exp(s[1] - s[0]), rtol=1e-9)
