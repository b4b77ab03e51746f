"""Histograms that are kept from round to round, against those of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise._core.threads import Pool
from rankwise.boosting import stumps
from rankwise.boosting._loops.histogram import fill_histograms, fill_slots
from rankwise.boosting.binning import Block, State, bin_features
from rankwise.boosting.grower import split_leaf
from rankwise.boosting.stumps import StumpRounds, slot_histograms, split_by_cut
from tests.boosting.blocks import column, one_block
from tests.reference import pair_weights


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("levels", [2, 4])
def test_kept_histograms_are_those_of_all_rows(
    levels, max_bins, is_sparse, monkeypatch, graded_rows
):
    # Each round adds what it changes; sums that move far are computed again.
    monkeypatch.setattr(stumps, "KEPT", np.inf)
    m = 400
    X, y, qid, weight = graded_rows(levels, m=m, missing=True)
    X = np.hstack([X, X[::-1], X[:, ::-1]])
    X[X > 1] = 0
    D = pair_weights(y, one_sided=True, qid=qid, sample_weight=weight)
    random, scores, ages = np.random.default_rng(0), np.zeros(m), []
    with Pool(1) as pool:
        rows = sparse.csr_array(X) if is_sparse else X
        blocks, groups, order, edges = one_block(
            rows, y, pool, qid=qid, weight=weight, max_bins=max_bins
        )
        bins = blocks.blocks[0].bins
        rounds = StumpRounds(blocks, groups, bins, m, "loss")
        for _ in range(60):
            ages.append(rounds.age)
            rounds.search()
            _, (expected,) = slot_histograms(
                blocks.blocks[0], blocks.states[0], pool, rounds.slots, 0, 12
            )
            totals = expected[0].sum(axis=1)[None, :, None]
            assert_allclose(rounds.hist / totals, expected / totals, atol=1e-14)
            f = random.integers(12)
            cut = random.integers(1, bins.n_bins[f]) if bins.n_bins[f] > 1 else 0
            alpha = random.normal(0, 0.3)
            (n_above, *_), rounds.sides = blocks.run(split_by_cut, (f, cut, 1), len(groups.y))
            value = edges[f][cut - 1] if cut else -np.inf
            h = np.isnan(X[:, f]) | (X[:, f] > value)
            scores += alpha * h
            assert n_above == h.sum()
            rounds.add_step(alpha, 2 * h.sum() <= m)
            assert_allclose(blocks.states[0].scores, scores[order], atol=1e-12)
            total = (D * np.exp(scores[:, None] - scores[None, :])).sum()
            assert_allclose(rounds.log_total, np.log(total), rtol=1e-12)
    assert max(ages) == stumps.FRESH - 1


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_histograms_of_some_rows_are_counts_of_them(is_sparse, max_bins, graded_rows):
    X, _, _, _ = graded_rows(2, m=500, missing=True)
    X = np.hstack([X] * 3)
    X[X > 1] = 0
    given = sparse.csr_array(X) if is_sparse else X
    with Pool(1) as pool:
        bins, _ = bin_features(
            given, np.arange(500), None, max_bins, np.random.RandomState(0), pool
        )
    random = np.random.default_rng(0)
    values, stride = random.normal(size=(3, 500)), int(bins.n_bins.max()) + 1
    rows = np.flatnonzero(random.random(500) < 0.3).astype(np.uint32)
    spans = np.array([[0, 200], [200, 500]])
    some = np.searchsorted(rows, spans)
    for first, last in [(0, 12), (3, 7)]:
        hist = np.zeros((12, stride, 3))
        fill_histograms(bins, np.arange(12), rows, *values, hist, first, last)
        slots = np.zeros((last - first, 2, stride))
        kinds, picked = np.array([1, 0]), np.zeros((2, 500))
        picked[:, rows] = values[:2, rows]
        mine = picked if is_sparse else values[:2, rows]
        fill_slots(bins, mine, kinds, spans, rows, some, slots, first, 0, last - first)
        for f in range(12):
            codes = column(bins, f, 500)
            for k, value in enumerate(values):
                expected = np.bincount(codes[rows], value[rows], stride)
                expected = expected if first <= f < last else np.zeros(stride)
                assert_allclose(hist[f, :, k], expected, atol=1e-13)
            for q, (begin, end) in enumerate(some):
                if first <= f < last:
                    here = rows[begin:end]
                    expected = np.bincount(codes[here], values[1 - q, here], stride)
                    assert_allclose(slots[f - first, q], expected, atol=1e-13)
    nothing = np.zeros((2, 500))
    for f, side in [(0, 0), (0, 1), (5, 1), (3, 0)]:
        codes, cut = column(bins, f, 500), (f, 1, side)
        expected = np.where(codes == bins.n_bins[f], side == 1, codes >= 1)
        keys = (np.zeros(1, dtype=int),) * 2 + (np.zeros(1),) * 2
        block = Block.of(bins, keys, np.array([0, 500]), np.ones(500), np.ones(500))
        state = State(nothing[0], nothing, gradients=values[0], hessians=values[1], leaves=(rows,))
        with Pool(1) as pool:
            whole, _ = split_by_cut(block, state, pool, cut, 1)
            parts, (below,) = split_leaf(block, state, pool, 0, cut, 0)
        assert_array_equal(whole.above, expected)
        assert_array_equal(parts.leaves[0], rows[~expected[rows]])
        assert_array_equal(parts.leaves[1], rows[expected[rows]])
        assert_allclose(below[f].sum(axis=0)[2], (~expected[rows]).sum())
