"""Rounds of boosting: precise sums, scores of any size, and any number of threads."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise._core import threads as pool_module
from rankwise._core.threads import Pool
from rankwise.boosting import RankBoost, stumps
from rankwise.boosting.stumps import PairWeights, StumpRounds, split_by_cut
from tests.boosting.blocks import one_block, set_scores
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


def test_sums_of_what_is_left_stay_precise():
    # The smaller side has nearly all the weight, and then almost none.
    y = np.repeat([0, 1], [50, 3])
    rare, usual = np.arange(53) % 50 == 0, np.ones(53, dtype=bool)
    scores = np.zeros(53)
    with Pool(1) as pool:
        blocks, groups, _, _ = one_block(np.column_stack([rare, usual]).astype(float), y, pool)
        rounds = StumpRounds(blocks, groups, blocks.blocks[0].bins, 53, "loss")
        for f, alpha in [(0, 34.0), (0, -34.0), (0, 30.0), (1, 3.0), (0, -30.0)]:
            h = (rare, usual)[f]
            up, down = np.exp(scores[:50]), np.exp(-scores[50:])
            plus = up[~h[:50]].sum() * down[h[50:]].sum()
            minus = up[h[:50]].sum() * down[~h[50:]].sum()
            expected = np.array([plus, minus]) / (up.sum() * down.sum())
            rounds.search()
            counts, rounds.sides = blocks.run(split_by_cut, (f, 1 - f, 0), 2)
            assert_allclose(rounds.weigh(), expected, rtol=1e-9)
            rounds.add_step(alpha, 2 * counts[0] <= counts[1])
            scores += alpha * h


@pytest.mark.parametrize("criterion", ["loss", "edge"])
@pytest.mark.parametrize("kept", [0, np.inf])
def test_scores_of_any_size_in_every_way(kept, criterion, monkeypatch, graded_rows):
    X, y, qid, _ = graded_rows(None, seed=2)
    y = np.round(y, 1)
    start = 400 * y + np.random.default_rng(0).normal(size=len(y))
    D = pair_weights(y, one_sided=True, qid=qid)
    D = D * np.exp(np.where(D > 0, start[:, None] - start[None, :], 0))
    monkeypatch.setattr(stumps, "KEPT", kept)
    with Pool(1) as pool:
        blocks, groups, order, _ = one_block(X, y, pool, qid=qid)
        groups.n_pairs = 100
        set_scores(blocks, start[order])
        weights = PairWeights(groups)
        weights.compute(blocks)
        assert_allclose(weights.log_total, np.log(D.sum()))
        rounds = StumpRounds(blocks, groups, blocks.blocks[0].bins, len(y), criterion)
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
        assert d == 1 or max(shared) > 1
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
    choose_slot_cuts = stumps.choose_slot_cuts

    def broken(*arguments):
        *_, first, last = arguments
        if first > 0:
            raise kind(f"features {first} to {last}")
        choose_slot_cuts(*arguments)

    monkeypatch.setattr(stumps, "choose_slot_cuts", broken)
    with pytest.raises(kind, match="features"):
        model.fit(X, y)
    assert threading.active_count() == threads
    assert vars(model) == before


@pytest.mark.usefixtures("shared")
def test_no_thread_is_left_when_rounds_are_broken_off(graded_rows):
    X, y, _, _ = graded_rows(2, m=5_000)
    threads = threading.active_count()
    with Pool(3) as pool:
        blocks, groups, _, _ = one_block(X, y, pool, max_bins=255)
        StumpRounds(blocks, groups, blocks.blocks[0].bins, len(y), "loss").grow()
        assert threading.active_count() > threads
    assert threading.active_count() == threads


def test_weights_that_differ_by_180_orders_of_magnitude():
    """The heaviest worse row falls behind a light one: its share is still the whole loss."""
    model = RankBoost(100).fit(
        [[-1, 2], [-1, -1], [0, 0]], [2, 0, 0], sample_weight=[2e-245, 2e-70, 1e-249]
    )
    s = model.predict([[-1, 2], [-1, -1]])
    assert_allclose(model.train_loss_[-1], np.exp(s[1] - s[0]), rtol=1e-9)
