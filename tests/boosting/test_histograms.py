"""Histograms that are kept from round to round, against those of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise._core.compilation import compiled
from rankwise._core.pairs import Pairs
from rankwise._core.threads import Pool
from rankwise.boosting import stumps
from rankwise.boosting._loops.bins import Part, add_part, fill_column
from rankwise.boosting._loops.stumps import weigh_split
from rankwise.boosting.binning import bin_features
from rankwise.boosting.pair_weights import AllPairs
from rankwise.boosting.stumps import StumpRounds
from tests.reference import pair_weights


@compiled
def add_to(bins, begin, end, part, hist):
    """Add a part in compiled code, which sums differently from Python."""
    add_part(bins, begin, end, part, hist)


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("levels", [2, 4])
def test_kept_histograms_are_those_of_all_rows(levels, max_bins, monkeypatch, graded_rows):
    # Each round adds what it changes; sums that move far are begun anew, one slot at a time.
    monkeypatch.setattr(stumps, "KEPT", np.inf)
    m = 400
    X, y, qid, weight = graded_rows(levels, m=m, missing=True)
    X = np.hstack([X, X[::-1], X[:, ::-1]])
    relation = AllPairs(Pairs(y, qid=qid, sample_weight=weight), 1e4)
    order, groups, factors = relation.order, relation.groups, relation.factors
    with Pool(1) as pool:
        bins, _ = bin_features(X, order, None, max_bins, np.random.RandomState(0), pool)
        rounds = StumpRounds(relation, bins, "loss", pool)
    wholes, stride = rounds.state.wholes, int(bins.n_bins.max()) + 1
    random, scores, renewals = np.random.default_rng(0), np.zeros(m), []
    for _ in range(60):
        renewals.append(wholes.begins.sum())
        rounds.search()
        for q, g in enumerate(factors.group):
            rows = slice(groups.starts[g], groups.starts[g + 1])
            n = rows.stop - rows.start
            values = wholes.unit[q] * factors.values[factors.first[q] :][:n]
            values = np.floor(values + 0.5).astype(np.int64)
            assert wholes.total[q] == values.sum()
            for f in range(12):
                expected = np.zeros(stride, dtype=np.int64)
                np.add.at(expected, bins.codes[f // 8, rows, f % 8], values)
                assert_array_equal(rounds.hists[f // 8, q, f % 8], expected)
        h = random.uniform(size=m) < random.uniform()
        alpha = random.normal()
        scores += alpha * h
        rounds.h[:] = h
        picks_above = 2 * h.sum() <= m
        weigh_split(rounds.state, picks_above, False)
        rounds.add_step(alpha, picks_above)
        assert_allclose(relation.s, scores, atol=1e-12)
        D = pair_weights(y, one_sided=True, qid=qid, sample_weight=weight)[order][:, order]
        total = (D * np.exp(scores[:, None] - scores[None, :])).sum()
        assert_allclose(relation.log_total, np.log(total), rtol=1e-12)
    assert renewals[0] == len(factors.group)
    assert 0 < np.mean(renewals[1:]) < len(factors.group) / 2


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("words", [(), (2,)])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_histograms_of_parts_add_up(is_sparse, words, max_bins, graded_rows):
    X, _, _, _ = graded_rows(2, m=500, missing=True)
    X = np.hstack([X] * 3)
    X[X > 1] = 0
    rows = sparse.csr_array(X) if is_sparse else X
    with Pool(1) as pool:
        bins, _ = bin_features(rows, np.arange(500), None, max_bins, np.random.RandomState(0), pool)
    values = np.random.default_rng(0).integers(-(2**40), 2**40, size=(500, *words))
    stride = int(bins.n_bins.max()) + 1
    for first, last in [(0, 8), (8, 12)]:
        found, expected = np.zeros((2, 8, stride, *words), dtype=np.int64)
        for start, stop in [(0, 500), (0, 200), (200, 500)]:
            some = values[start:stop]
            total = np.atleast_1d(some.sum(axis=0))
            part = Part(np.arange(start, stop, dtype=np.uint32), some, start, total)
            add_to(bins, first, last, part, expected if stop - start == 500 else found)
        # a block of four or fewer features leaves the rest of the words alone
        assert_array_equal(found[: last - first], expected[: last - first])
        for f in range(first, last):
            column = np.empty(500, dtype=np.int64)
            fill_column(bins, f, column)
            counted = np.zeros((stride, *words), dtype=np.int64)
            np.add.at(counted, column, values)
            assert_array_equal(expected[f - first], counted)
