"""Histograms that are kept from round to round, against those of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise.engine.binning import bin_features
from rankwise.engine.loops.boosting import histograms, weights
from rankwise.engine.loops.boosting.cuts import Objective
from rankwise.engine.pairs import Pairs
from rankwise.engine.pool import Pool
from rankwise.engine.solvers import boosting, boosting_rounds
from rankwise.testing.oracles import pair_weights


def whole_numbers(state, slots, q):
    """Return the rows of slot q and what they have in it."""
    rows = slice(*state.starts[slots.group[q] :][:2])
    a, b = np.floor(slots.unit[q] * np.stack([state.A[rows], state.B[rows]], axis=1) + 0.5).T
    kind = slots.kind[q]
    if kind == histograms.BOTH:
        return rows, a.astype(np.int64) * 2**32 + b.astype(np.int64)
    return rows, (b if kind == histograms.BETTER else a).astype(np.int64)


def split(state, h):
    """Split the rows by any base ranker."""
    h, n_parts = h.astype(np.uint8), len(state.group)
    weights.count_above(state, h, 0, n_parts)
    weights.pick_rows(state, h, 0, n_parts)


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("many_rows", [0, np.inf])
@pytest.mark.parametrize("levels", [2, 4])
def test_kept_histograms_are_those_of_all_rows(
    levels, many_rows, max_bins, monkeypatch, graded_rows
):
    # Each round adds what it changes; sums that move far are begun anew, one group at a time.
    monkeypatch.setattr(boosting_rounds, "MANY_ROWS", many_rows)
    monkeypatch.setattr(boosting, "PART", 30)
    m = 400
    X, y, qid, weight = graded_rows(levels, m=m, missing=True)
    X = np.hstack([X, X[::-1], X[:, ::-1]])
    pairs = Pairs(y, qid=qid, sample_weight=weight)
    relation = boosting.AllPairs(pairs, 1e4)
    state, order, slots = relation.state, relation.order, boosting_rounds.slots_of(relation.state)
    n_parts = len(state.group)
    assert n_parts > len(state.y)
    with Pool(1) as pool:
        bins, _ = bin_features(X, order, None, max_bins, np.random.RandomState(0), pool)
    stride = int(bins.n_bins.max()) + 1
    hists = np.empty((2, len(slots.kind), 8, stride), dtype=np.int64)
    histograms.fill_slots(state, slots, True)
    objective = Objective(False, False, 1e4)
    random, scores, renewals = np.random.default_rng(0), np.zeros(m), []
    for _ in range(60):
        renewals.append(state.is_stale.sum())
        for b, (first, last) in enumerate([(0, 8), (8, 12)]):
            histograms.search_groups(
                bins, first, last, slots, state.links, objective, hists[b : b + 1],
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
        split(state, h)
        shared = random.integers(n_parts)
        for first, last in [(shared, n_parts), (0, shared)]:
            histograms.add_step_to_slots(state, slots, alpha, first, last)
        log_total = weights.update_groups(state, alpha, False)
        histograms.update_slots(state, slots, True)
        assert_allclose(state.s + np.repeat(state.base, np.diff(state.starts)), scores, atol=1e-12)
        D = pair_weights(y, one_sided=True, qid=qid, sample_weight=weight)[order][:, order]
        total = (D * np.exp(scores[:, None] - scores[None, :])).sum()
        assert_allclose(log_total, np.log(total), rtol=1e-12)
    assert renewals[0] == len(state.y)
    assert 0 < np.mean(renewals[1:]) < len(state.y) / 2
