"""Measures of the top against all orders of tied rows, and their intervals."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from rankwise import metrics
from rankwise.metrics import (
    auc_interval,
    auc_score,
    partial_auc_interval,
    partial_auc_score,
    positives_at_top_interval,
    positives_at_top_score,
    precision_at_top_interval,
    precision_at_top_score,
)
from rankwise.metrics.intervals import binomial_interval


def first(values, k):
    """The mean of the first k values, the last by what is left of it."""
    total, left = 0.0, k
    for value in values:
        total += min(left, 1.0) * value
        left -= min(left, 1.0)
    return total / k


def precision(ranked, share):
    return first(ranked, share * len(ranked))


def partial_auc(ranked, share):
    above = [ranked[:i].sum() / ranked.sum() for i in np.flatnonzero(ranked == 0)]
    return first(above, share * len(above))


def positives_at_top(ranked, _):
    return ranked[: np.flatnonzero(ranked == 0)[0]].sum() / ranked.sum()


def over_orders(measure, y, s, share):
    """The mean over all orders that the scores allow."""
    orders = [p for p in permutations(range(len(y))) if (np.diff(s[list(p)]) <= 0).all()]
    return np.mean([measure(y[list(order)], share) for order in orders])


SCORES = {
    precision: lambda y, s, share, **q: precision_at_top_score(y, s, tau=share, **q),
    partial_auc: lambda y, s, share, **q: partial_auc_score(y, s, max_fpr=share, **q),
    positives_at_top: lambda y, s, _, **q: positives_at_top_score(y, s, **q),
}
INTERVALS = {
    precision_at_top_score: precision_at_top_interval,
    partial_auc_score: partial_auc_interval,
    positives_at_top_score: positives_at_top_interval,
}
lists = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=2, max_size=6).filter(
    lambda rows: 0 < sum(y for y, _ in rows) < len(rows)
)


@pytest.mark.parametrize("measure", SCORES)
@given(
    queries=st.lists(lists, min_size=1, max_size=3), share=st.sampled_from([0.01, 0.3, 0.7, 1.0])
)
def test_mean_over_queries_of_the_mean_over_orders(measure, queries, share):
    expected = [over_orders(measure, *np.transpose(rows), share) for rows in queries]
    y, s = np.transpose([row for rows in queries for row in rows])
    qid = np.repeat([f"q{-i}" for i in range(len(queries))], [len(rows) for rows in queries])
    order = np.random.default_rng(0).permutation(len(y))
    y, s, qid = y[order], s[order], qid[order]
    assert_allclose(SCORES[measure](y, s, share, qid=qid), np.mean(expected), atol=1e-12)
    if len(queries) == 1:
        assert_allclose(SCORES[measure](y, s, share), expected[0], atol=1e-12)
        # other names of the classes, and any monotone function of the scores
        assert_allclose(SCORES[measure](3 - 2 * (1 - y), 2.0**s, share), expected[0], atol=1e-12)


def test_peers():
    random = np.random.default_rng(0)
    s = random.normal(size=200)
    y = s + random.normal(size=200) > 0.5
    for rate in (0.05, 0.3):
        least, found = 0.5 * rate**2, partial_auc_score(y, s, max_fpr=rate) * rate
        n_neg = (~y).sum()
        # scikit-learn stops at the rate, between two negatives
        assert 0.5 * (1 + (found - least) / (rate - least)) == pytest.approx(
            roc_auc_score(y, s, max_fpr=rate), abs=1.0 / n_neg
        )
    tied = np.round(s, 1)
    assert partial_auc_score(y, tied, max_fpr=1) == pytest.approx(auc_score(y, tied))
    assert_allclose(partial_auc_interval(y, s, max_fpr=1), auc_interval(y, s), atol=1e-12)
    assert_allclose(partial_auc_interval(y, tied, max_fpr=1), auc_interval(y, tied), atol=1e-3)


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        (precision_at_top_score, {"tau": 0.1}),
        (partial_auc_score, {"max_fpr": 0.1}),
        (positives_at_top_score, {}),
    ],
)
def test_intervals(measure, options):
    interval = partial(INTERVALS[measure], **options)
    random = np.random.default_rng(1)
    s = np.round(random.normal(size=300), 1)
    y, qid = s + random.normal(size=300) > 1, np.arange(300) % 10
    for queries in (None, qid):
        found = measure(y, s, qid=queries, **options)
        low, high = interval(y, s, qid=queries)
        assert 0 <= low < found < high <= 1
        wide = interval(y, s, qid=queries, level=0.99)
        assert wide[0] <= low
        assert high <= wide[1]
    for n in (1, 2, 40):  # perfect and reversed lists keep their doubt
        perfect = np.repeat([0, 1], n)
        low, high = interval(perfect, np.arange(2 * n))
        assert 0 < low < 1
        assert high == pytest.approx(1)
        low, high = interval(perfect, -np.arange(2 * n))
        assert low == pytest.approx(0)
        assert 0 < high < 1
    with pytest.raises(ValueError, match="level=1"):
        interval(y, s, level=1)


def test_the_cut_adds_doubt():
    """Of the first 20 places three in four are positive, of the ten around the cut half."""
    ranked = np.ones(100)
    ranked[[3, 8, 17, 18, 19, 21, 22]] = 0
    ranked[25:] = 0
    share, level = ranked[:20].mean(), ranked[15:25].mean()
    variance = (share * (1 - share) + 0.8 * (share - level) ** 2) / 20
    expected = binomial_interval(share, variance, 20, 0.95)
    assert_allclose(precision_at_top_interval(ranked, -np.arange(100), tau=0.2), expected)
    above = 1 - np.cumsum(ranked[::-1])[::-1][ranked == 0] / ranked.sum()
    share, highest = above[:16].mean(), np.flatnonzero(ranked == 0)[:16]
    placed = [(highest > i).mean() for i in np.flatnonzero(ranked)]
    variance = (above[:16].var(ddof=1) + (1 - 16 / 82) * (share - above[16]) ** 2) / 16
    variance += np.var(placed, ddof=1) / len(placed)
    expected = binomial_interval(share, variance, 16, 0.95)
    found = partial_auc_interval(ranked, -np.arange(100), max_fpr=16 / 82)
    assert_allclose(found, expected)


def test_coverage():
    """A fifth of the rows are positives, and a unit higher in the mean."""
    level = brentq(lambda t: 0.2 * norm.sf(t - 1) + 0.8 * norm.sf(t) - 0.1, -5, 5)
    highest = norm.isf((np.arange(2000) + 0.5) / 10_000)
    truths = {
        precision_at_top_score: ({"tau": 0.1}, 0.2 * norm.sf(level - 1) / 0.1),
        partial_auc_score: ({"max_fpr": 0.2}, norm.sf(highest - 1).mean()),
    }
    random = np.random.default_rng(0)
    for measure, (options, truth) in truths.items():
        hits = []
        for _ in range(400):
            y = random.random(400) < 0.2
            low, high = INTERVALS[measure](y, random.normal(size=400) + y, **options)
            hits.append(low <= truth <= high)
        assert 0.92 < np.mean(hits) < 0.98


def few_units(random, n_pos, n_neg, gap, n_queries):
    """Return y, s and qid of queries whose positives are higher by a gap that varies."""
    y = np.tile(np.repeat([0, 1], [n_neg, n_pos]), n_queries)
    qid = np.repeat(np.arange(n_queries), n_neg + n_pos)
    gaps = gap + (n_queries > 1) * random.normal(size=n_queries)
    return y, gaps[qid] * y + random.normal(size=len(y)), qid


@pytest.mark.slow
@pytest.mark.parametrize("measure", INTERVALS)
@pytest.mark.parametrize("gap", [0.0, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_intervals_of_few_units_hold_the_truth(measure, gap, share):
    """Simulate 500 samples, whose standard error at a coverage of 95 % is 1 %.

    A true coverage below 91 % is found with a probability of 97.5 %.
    """
    name = {precision_at_top_score: "tau", partial_auc_score: "max_fpr"}.get(measure)
    options, n = {name: share} if name else {}, 500
    random = np.random.default_rng(0)
    for n_queries in (2, 3, 5, 10, 30):
        y, s, qid = few_units(random, 3, 6, gap, 8_000)
        truth, covered = measure(y, s, qid=qid, **options), 0
        for _ in range(n):
            y, s, qid = few_units(random, 3, 6, gap, n_queries)
            low, high = INTERVALS[measure](y, s, qid=qid, **options)
            covered += low <= truth <= high
        assert covered / n >= 0.93, n_queries
    for n_pos, n_neg in ((1, 20), (2, 5), (3, 20), (5, 100), (20, 20)):
        y, s, _ = few_units(random, 4_000 * n_pos, 4_000 * n_neg, gap, 1)
        truth, covered = measure(y, s, **options), 0
        for _ in range(n):
            y, s, _ = few_units(random, n_pos, n_neg, gap, 1)
            if measure is positives_at_top_score:  # above the highest of these negatives
                truth = norm.sf(s[y == 0].max() - gap)
            low, high = INTERVALS[measure](y, s, **options)
            covered += low <= truth <= high
        assert covered / n >= 0.93, (n_pos, n_neg)


def test_every_interval_is_simulated():
    named = {interval.__name__ for interval in INTERVALS.values()}
    # the others are in test_auc.py and test_ordinal.py
    others = {"auc_interval", "mean_interval", "pair_accuracy_interval"}
    assert named | others == {name for name in metrics.__all__ if name.endswith("_interval")}


@pytest.mark.parametrize("measure", INTERVALS)
def test_refusals(measure):
    name = {precision_at_top_score: "tau", partial_auc_score: "max_fpr"}.get(measure)
    options = {name: 0.5} if name else {}
    for function in (measure, INTERVALS[measure]):
        with pytest.raises(ValueError, match="no comparable pair"):
            function([1, 1], [1, 2], **options)
        with pytest.raises(ValueError, match="of one query"):
            function([0, 1], [1, 2], qid=[0, 1], **options)
        with pytest.raises(ValueError, match="two classes"):
            function([0, 1, 2], [1, 2, 3], **options)
        for share in (0.0, 1.5, float("nan"), "0.1", True):
            if name:
                with pytest.raises(ValueError, match=f"{name}="):
                    function([0, 1], [1, 2], **{name: share})
