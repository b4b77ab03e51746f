"""Intervals of an AUC against the definition over all pairs, and where others have no answer."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import beta, binom, norm
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from rankwise.metrics import (
    auc_difference_test,
    auc_interval,
    auc_score,
    mean_interval,
    pair_accuracy_interval,
    pair_accuracy_score,
)
from rankwise.testing.strategies import scored_rows, two_classes
from tests.reference import delong, pair_costs, pair_weights

METHODS = ("score", "newcombe", "delong")
LEVELS = st.floats(0.01, 0.999)


def clopper_pearson(share, n, level):
    tail = (1 - level) / 2
    low = beta.ppf(tail, n * share, n * (1 - share) + 1) if share > 0 else 0.0
    high = beta.isf(tail, n * share + 1, n * (1 - share)) if share < 1 else 1.0
    return low, high


def binomial_interval(share, variance, least, level):
    n = (share * (1 - share) + 1 / (4 * least)) / (variance + 1 / (4 * least**2))
    return clopper_pearson(share, n, level)


@given(rows=two_classes(), level=LEVELS)
def test_score_and_delong_are_the_definition(rows, level):
    (auc,), ((variance,),) = delong(rows.y, rows.s)
    assert_allclose(auc_score(rows.y, rows.s), auc)
    least = min(rows.y.sum(), len(rows.y) - rows.y.sum())
    expected = binomial_interval(auc, variance, least, level)
    assert_allclose(auc_interval(rows.y, rows.s, level=level), expected, rtol=1e-9, atol=1e-12)
    half = norm.ppf((1 + level) / 2) * math.sqrt(variance)
    normal = auc_interval(rows.y, rows.s, level=level, method="delong")
    assert_allclose(normal, np.clip([auc - half, auc + half], 0, 1), rtol=1e-9, atol=1e-9)


@given(rows=two_classes(), level=LEVELS)
def test_newcombe_solves_its_equation(rows, level):
    auc, z = auc_score(rows.y, rows.s), norm.ppf((1 + level) / 2)
    n_pos, n_neg = rows.y.sum(), (1 - rows.y).sum()
    for end in auc_interval(rows.y, rows.s, level=level, method="newcombe"):
        others = (n_pos + n_neg) / 2 - 1
        spread = 1 + others * ((1 - end) / (2 - end) + end / (1 + end))
        reach = z * math.sqrt(end * (1 - end) * spread / n_pos / n_neg)
        assert_allclose(abs(end - auc), reach, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@given(rows=two_classes(), level=LEVELS, data=st.data())
def test_properties_of_intervals(method, rows, level, data):
    y, s = rows.y, rows.s
    low, high = auc_interval(y, s, level=level, method=method)
    assert 0 <= low <= auc_score(y, s) + 1e-12
    assert auc_score(y, s) - 1e-12 <= high <= 1
    order = np.array(data.draw(st.permutations(range(len(y)))))
    same = [
        auc_interval(y[order], s[order], level=level, method=method),
        auc_interval(5 - 2 * (1 - y), np.unique(s, return_inverse=True)[1], level=level,
                     method=method),
    ]  # fmt: skip
    for other in same:
        assert_allclose(other, (low, high), rtol=1e-12, atol=1e-12)
    mirrored = auc_interval(y, -s, level=level, method=method)
    assert_allclose(mirrored, (1 - high, 1 - low), rtol=1e-9, atol=1e-12)
    if method != "delong":
        wider = auc_interval(y, s, level=(1 + level) / 2, method=method)
        assert wider[1] - wider[0] > high - low
        assert wider[0] <= low
        assert wider[1] >= high


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n_pos", "n_neg"), [(1, 1), (1, 50), (50, 1), (30, 30)])
def test_corners_have_an_answer(method, n_pos, n_neg):
    y = np.repeat([0, 1], [n_neg, n_pos])
    for s in (np.arange(len(y)), -np.arange(len(y)), np.zeros(len(y)), y, 1 - y):
        low, high = auc_interval(y, s, method=method)
        auc = auc_score(y, s)
        assert 0 <= low <= auc <= high <= 1
        if method != "delong":
            assert high - low > 0.01
            wider = auc_interval(y, s, method=method, level=0.99)
            assert wider[1] - wider[0] > high - low + 1e-4
    assert auc_interval(y, y, method=method)[1] == 1
    assert auc_interval(y, 1 - y, method=method)[0] == 0


def test_perfect_separation_is_binomial_for_the_smaller_class():
    y = np.repeat([0, 1], [300, 7])
    assert_allclose(auc_interval(y, y)[0], 0.025 ** (1 / 7))
    assert auc_interval(y, y, method="delong") == (1.0, 1.0)


@pytest.mark.parametrize(("n_pos", "n_neg"), [(10**6, 10), (10**5, 10**6)])
def test_large_counts_do_not_overflow(n_pos, n_neg):
    y = np.repeat([0.0, 1.0], [n_neg, n_pos])
    for s in (y, -y, np.zeros(len(y))):
        assert_allclose(np.mean(auc_interval(y, s, method="delong")), auc_score(y, s))
    random = np.random.default_rng(0)
    s = np.round(random.normal(size=len(y)) + y, 3)
    low, high = auc_interval(y, s)
    assert low < roc_auc_score(y, s) < high
    # Binormal scores one standard deviation apart, whose placements have the variance 0.0557.
    half = norm.ppf(0.975) * math.sqrt(0.0557 * (1 / n_pos + 1 / n_neg))
    assert 0.5 * half < (high - low) / 2 < 1.5 * half


def test_spread_of_large_samples_in_extended_precision():
    random = np.random.default_rng(1)
    y = np.repeat([0.0, 1.0], [200_000, 1_000])
    s = np.round(random.normal(size=len(y)) + 3 * y, 2)
    high, low = np.sort(s[y == 1]), np.sort(s[y == 0])
    variance = np.longdouble(0)
    for mine, other in ((high, low), (-low, np.sort(-high))):
        placed = np.searchsorted(other, mine, "left") + np.searchsorted(other, mine, "right")
        shares = placed.astype(np.longdouble) / (2 * len(other))
        variance += shares.var(ddof=1) / len(mine)
    low, high = auc_interval(y, s, method="delong", level=0.5)
    assert_allclose((high - low) / 2, norm.ppf(0.75) * float(np.sqrt(variance)), rtol=1e-10)


def row_counts(y, s, qid):
    weights = pair_weights(y, one_sided=True, qid=qid)
    costs = weights * pair_costs("misranking", y, s, ties="half")
    return (weights - costs), weights


@given(rows=scored_rows(), level=LEVELS)
def test_pair_accuracy_interval_is_the_definition(rows, level):
    y, s, qid, _ = rows
    right, weights = row_counts(y, s, qid)
    total = weights.sum()
    accuracy = right.sum() / total
    off = right - accuracy * weights
    if qid is not None:
        of_query = np.array([off[np.ix_(qid == q, qid == q)].sum() for q in np.unique(qid)])
        pairs = np.array([weights[np.ix_(qid == q, qid == q)].sum() for q in np.unique(qid)])
        n, least = (pairs > 0).sum(), total**2 / (pairs**2).sum()
        variance = (of_query**2).sum() / total**2 * n / max(1, n - 1)
    elif len(np.unique(y)) == 2:
        variance = delong(y, s)[1][0, 0]
        least = np.unique(y, return_counts=True)[1].min()
    else:
        rows_off = off.sum(axis=0) + off.sum(axis=1)
        variance = (rows_off**2).sum() / total**2 * len(y) / (len(y) - 1)
        least = min(len(y) // 2, len(y) - np.unique(y, return_counts=True)[1].max())
    expected = binomial_interval(accuracy, variance, least, level)
    assert_allclose(pair_accuracy_score(y, s, qid=qid), accuracy, atol=1e-12)
    found = pair_accuracy_interval(y, s, level=level, qid=qid)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    mirrored = pair_accuracy_interval(y, -s, level=level, qid=qid)
    assert_allclose(mirrored, (1 - found[1], 1 - found[0]), rtol=1e-8, atol=1e-10)


@given(rows=scored_rows())
def test_queries_of_two_classes(rows):
    assume(rows.qid is not None)
    y = (rows.y > np.median(rows.y)).astype(float)
    y[:2], qid = [0, 1], np.r_[9, 9, rows.qid[2:]]
    found = auc_interval(y, rows.s, qid=qid)
    assert found == pair_accuracy_interval(y, rows.s, qid=[f"q{q}" for q in qid])
    normal = auc_interval(y, rows.s, qid=qid, method="delong")
    assert 0 <= normal[0] <= auc_score(y, rows.s, qid=qid) + 1e-12


def test_one_query_says_little_of_others():
    y = np.repeat([0, 1], 100)
    one = auc_interval(y, y, qid=np.zeros(200, int))
    assert_allclose(one[0], 0.025)
    many = auc_interval(np.tile(y, 50), np.tile(y, 50), qid=np.repeat(np.arange(50), 200))
    assert_allclose(many[0], 0.025 ** (1 / 50))


@pytest.mark.parametrize("n_queries", [5, 10, 15, 30])
def test_single_pairs_are_a_binomial_proportion(n_queries):
    """Coverage by the binomial distribution itself, without samples: 86 % with Wilson's."""
    y, qid = np.tile([0, 1], n_queries), np.repeat(np.arange(n_queries), 2)
    ends = []
    for right in range(n_queries + 1):
        s = y * np.where(qid < right, 1, -1)
        ends.append(auc_interval(y, s, qid=qid))
    low, high = np.array(ends).T
    for auc in (0.5, 0.75, 0.9, 0.95, 0.98, 0.986, 0.99, 0.995):
        held = (low <= auc) & (auc <= high)
        assert binom.pmf(np.arange(n_queries + 1), n_queries, auc)[held].sum() >= 0.93, auc


@given(rows=two_classes(), data=st.data())
def test_difference_is_paired_delong(rows, data):
    y, s1 = rows.y, rows.s
    s2 = np.array(data.draw(st.permutations(s1.tolist())))
    statistic, pvalue = auc_difference_test(y, s1, s2)
    aucs, covariance = delong(y, s1, s2)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert math.isfinite(statistic)
    assert 0 <= pvalue <= 1
    least = min(y.sum(), (1 - y).sum())
    expected = 1.0
    if least > 1 and statistic != 0:
        expected = 2 * student.sf(abs(statistic), least - 1)
    assert_allclose(pvalue, expected)
    if least > 1 and variance > 1e-12:
        expected = (aucs[0] - aucs[1]) / math.sqrt(variance + 1 / (4 * least**2))
        assert_allclose(statistic, expected, rtol=1e-7, atol=1e-9)
    assert np.sign(np.round(statistic, 9)) == np.sign(np.round(aucs[0] - aucs[1], 9))
    back = auc_difference_test(y, s2, s1)
    assert_allclose(back, (-statistic, pvalue), rtol=1e-9, atol=1e-12)


@given(rows=two_classes())
def test_the_same_order_is_no_difference(rows):
    ranks = np.unique(rows.s, return_inverse=True)[1]
    for qid in (None, np.zeros(len(rows.y), int)):
        assert auc_difference_test(rows.y, rows.s, 3 * ranks - 7, qid=qid) == (0.0, 1.0)


def test_difference_without_spread():
    for n in (1, 2, 50):
        y = np.repeat([0, 1], n)
        statistic, pvalue = auc_difference_test(y, y, -y)
        assert_allclose(statistic, 1 / math.sqrt(2 / n + 1 / (4 * n * n)))
        assert pvalue > 0
        by_query = auc_difference_test(np.tile([0, 1], n), np.tile([0, 1], n), np.tile([1, 0], n),
                                       qid=np.repeat(np.arange(n), 2))  # fmt: skip
        assert_allclose(by_query[0], 1 / math.sqrt(1 / n + 1 / (4 * n * n)))


def test_difference_over_queries():
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 12)
    y = np.tile(np.repeat([0, 1], 6), 40)
    s1, s2 = y + random.normal(size=480), 0.3 * y + random.normal(size=480)
    gains, pairs = [], []
    for q in range(40):
        (one, two), _ = delong(y[qid == q], s1[qid == q], s2[qid == q])
        gains.append(36 * (one - two))
        pairs.append(36)
    gains, pairs = np.array(gains), np.array(pairs)
    mean = gains.sum() / pairs.sum()
    variance = ((gains - mean * pairs) ** 2).sum() / pairs.sum() ** 2 * 40 / 39
    statistic, _ = auc_difference_test(y, s1, s2, qid=qid)
    assert_allclose(statistic, mean / math.sqrt(variance + 1 / (4 * 40**2)))
    assert statistic > 3


@pytest.mark.parametrize("grades", [3, 6])
@pytest.mark.parametrize("slope", [0.5, 2.0])
def test_pair_accuracy_interval_holds_the_truth(grades, slope):
    random = np.random.default_rng(0)

    def sample(n):
        y = random.integers(0, grades, n) / grades
        return y, 3 * slope * y + random.normal(size=n)

    truth = np.mean([pair_accuracy_score(*sample(20_000)) for _ in range(5)])
    ends = np.array([pair_accuracy_interval(*sample(40)) for _ in range(300)])
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) > 0.92


@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_interval_over_queries_holds_the_truth(spread):
    random = np.random.default_rng(0)

    def sample(n):
        qid = np.repeat(np.arange(n), random.integers(4, 20, n))
        y = random.integers(0, 2, len(qid))
        y[np.flatnonzero(np.diff(qid, prepend=-1))] = 0
        slopes = 1 + spread * random.normal(size=n)
        return (y, slopes[qid] * y + random.normal(size=len(qid))), qid

    rows, qid = sample(20_000)
    truth = auc_score(*rows, qid=qid)
    ends = []
    for _ in range(300):
        rows, qid = sample(25)
        ends.append(auc_interval(*rows, qid=qid))
    ends = np.array(ends)
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) > 0.92


def binormal(random, y, auc, shared, spread=1.0):
    """Return two scores of equal AUC; positives of the second are ``spread`` times as spread."""
    common = math.sqrt(shared) * random.normal(size=len(y))
    pair = []
    for scale in (1.0, spread):
        noise = common + math.sqrt(1 - shared) * random.normal(size=len(y))
        pair.append(np.where(y == 1, norm.ppf(auc) * math.hypot(1, scale) + scale * noise, noise))
    return pair


@pytest.mark.slow
@pytest.mark.parametrize("n_pos", [1, 2, 3, 4, 5, 10, 20, 50])
@pytest.mark.parametrize(("shared", "spread"), [(0.0, 1.0), (0.8, 3.0), (0.95, 5.0)])
def test_few_positives_reject_rarely_and_intervals_hold_the_truth(n_pos, shared, spread):
    """Simulate 2,000 samples a cell, which tell 5 % from 7 % by four standard errors.

    The standard error of a share of 5 % is .5 %: a true size above 8.1 % or a true coverage
    below 91.9 % is found with a probability of 97.5 %.
    """
    random, n = np.random.default_rng(0), 2_000
    few, many = ((2, 0.5), (5, 0.9), (20, 0.75), (20, 0.98)), (0.5, 0.95, 0.98, 0.99)
    for n_neg, auc in (*few, *((100, auc) for auc in many)):
        y = np.repeat([0, 1], [n_neg, n_pos])
        rejected = covered = 0
        for _ in range(n):
            pair = binormal(random, y, auc, shared, spread)
            rejected += auc_difference_test(y, *pair)[1] < 0.05
            low, high = auc_interval(y, pair[1])
            covered += low <= auc <= high
        assert rejected / n <= 0.07, (n_neg, auc)
        assert covered / n >= 0.93, (n_neg, auc)


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [2, 3, 5, 10, 30])
@pytest.mark.parametrize(
    ("shared", "sizes"),
    [(0.0, "single pairs"), (0.0, "equal"), (0.8, "unequal"), (0.8, "one large")],
)
@pytest.mark.parametrize("effects", [(0.5, 0.5), (0.0, 2.0)])
def test_few_queries_reject_rarely_and_intervals_hold_the_truth(n_queries, shared, sizes, effects):
    """Simulate 1,500 samples a cell, whose standard error at a share of 5 % is .56 %.

    A true size above 8.3 % or a true coverage below 91.7 % is found with a probability of 97.5 %.
    """
    random, n = np.random.default_rng(0), 1_500
    for auc in (0.5, 0.8, 0.95, 0.98, 0.99):
        rejected = covered = 0
        for _ in range(n):
            rows = {
                "single pairs": np.full(n_queries, 2),
                "equal": np.full(n_queries, 10),
                "unequal": random.integers(2, 30, n_queries),
                "one large": np.where(np.arange(n_queries) == 0, 100, 10),
            }[sizes]
            qid = np.repeat(np.arange(n_queries), rows)
            starts = np.cumsum(rows) - rows
            y = ((np.arange(len(qid)) - starts[qid]) % 3 == 0).astype(int)
            common = math.sqrt(shared) * random.normal(size=len(y))
            scores = []
            for spread in effects:
                # an effect of each query, with the same AUC on average for both scores
                effect = norm.ppf(auc) * math.sqrt(2 + spread**2)
                effect = effect + spread * random.normal(size=n_queries)
                noise = common + math.sqrt(1 - shared) * random.normal(size=len(y))
                scores.append(noise + effect[qid] * y)
            rejected += auc_difference_test(y, *scores, qid=qid)[1] < 0.05
            low, high = auc_interval(y, scores[1], qid=qid)
            covered += low <= auc <= high
        assert rejected / n <= 0.07, auc
        assert covered / n >= 0.93, auc


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [10, 20, 40, 80])
@pytest.mark.parametrize("auc", [0.8, 0.9, 0.95, 0.98])
@pytest.mark.parametrize("hardness", [3.0, 4.0, 10.0, 30.0])
def test_a_few_hard_queries_of_one_score_reject_rarely(n_queries, auc, hardness):
    """Simulate 4,000 samples, whose standard error at a share of 7 % is .4 %.

    The difficulty of queries of 60 rows varies for the second score only: a few queries make all
    of its errors, and most samples of few queries have none. Student's t alone rejects in 8 % with
    3 times the noise, and in 20 % with 30 times.
    """
    random, n, rejected = np.random.default_rng(1), 4_000, 0
    qid = np.repeat(np.arange(n_queries), 60)
    y = np.tile(np.arange(60) % 3 == 0, n_queries).astype(int)
    for _ in range(n):
        common, scores = math.sqrt(0.8) * random.normal(size=len(y)), []
        for spread in (0.0, hardness):
            effect = norm.ppf(auc) * math.sqrt(2 + spread**2)
            effect = effect + spread * random.normal(size=n_queries)
            noise = common + math.sqrt(0.2) * random.normal(size=len(y))
            scores.append(noise + effect[qid] * y)
        rejected += auc_difference_test(y, *scores, qid=qid)[1] < 0.05
    assert rejected / n <= 0.07


def shares_of(y, s, qid):
    """Return the pairs in the right order and all pairs of each query."""
    counts = []
    for q in np.unique(qid):
        n = (y[qid == q] == 1).sum() * (y[qid == q] == 0).sum()
        counts.append((n * auc_score(y[qid == q], s[qid == q]), n))
    return np.array(counts).T


@pytest.mark.parametrize("seed", range(8))
def test_the_p_value_over_queries_is_the_definition(seed):
    """The larger of Student's and Zou and Donner's, whose level makes 0 an end of the interval."""
    random, n = np.random.default_rng(seed), 12
    qid = np.repeat(np.arange(n), random.integers(4, 20, n))
    y = (np.arange(len(qid)) % 2).astype(int)
    hard = random.uniform(0, 3, n)[qid]
    scores = [2 * y + hard * y + random.normal(size=len(y)) for _ in range(2)]
    scores[1] -= y * random.uniform(0, 2.5)
    (first, pairs), (second, _) = (shares_of(y, s, qid) for s in scores)
    units = pairs.sum() ** 2 / (pairs**2).sum()
    auc = np.array([first.sum(), second.sum()]) / pairs.sum()
    off = np.array([first, second]) - auc[:, None] * pairs
    covariance = off @ off.T / pairs.sum() ** 2 * n / (n - 1)
    spreads = np.sqrt(np.diag(covariance))
    correlation = covariance[0, 1] / spreads.prod() if spreads.all() else 0.0
    for sign in (1, -1):
        statistic, pvalue = auc_difference_test(y, *scores[::sign], qid=qid)
        least = 2 * student.sf(abs(statistic), units - 1)
        assert pvalue >= least
        better = int(auc[1] > auc[0])
        ends = [
            binomial_interval(a, covariance[i, i], units, 1 - pvalue) for i, a in enumerate(auc)
        ]
        below, above = auc[better] - ends[better][0], ends[1 - better][1] - auc[1 - better]
        half = math.sqrt(below**2 + above**2 - 2 * correlation * below * above)
        if least < pvalue < 1:
            assert_allclose(half, abs(auc[0] - auc[1]), rtol=1e-6)
        else:
            assert (half <= abs(auc[0] - auc[1])) == (pvalue < 1)


@pytest.mark.parametrize(("n_queries", "misplaced"), [(20, 2), (40, 1), (80, 1)])
def test_a_score_that_never_failed_may_have_hard_queries(n_queries, misplaced):
    """All queries are right for one score; the other misplaces some pairs of 20 in each."""
    qid, y = np.repeat(np.arange(n_queries), 9), np.tile(np.arange(9) >= 5, n_queries)
    right = np.tile(np.arange(9.0), n_queries)
    wrong = np.where(right == 5, 4.5 - misplaced, right)
    for scores, sign in (((right, wrong), 1), ((wrong, right), -1)):
        statistic, pvalue = auc_difference_test(y, *scores, qid=qid)
        assert sign * statistic > 0
        assert 2 * student.sf(abs(statistic), n_queries - 1) < 0.02
        # as sure as the share of n queries that all were right
        assert binom.pmf(n_queries, n_queries, 1 - misplaced / 20) < pvalue


def test_queries_that_agree_tell_apart():
    """Both scores have errors in all queries, and one has more."""
    random, n = np.random.default_rng(0), 40
    qid, y = np.repeat(np.arange(n), 60), np.tile(np.arange(60) % 3 == 0, n)
    signal = 1.2 * y + random.normal(size=60 * n)
    worse = signal + 1.2 * random.normal(size=60 * n)
    assert auc_difference_test(y, signal, worse, qid=qid)[1] < 1e-3


def test_level_of_the_difference_test():
    """Simulate 2,000 samples of a true level near 3.5 %, whose standard error is .4 %."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], [60, 40])
    rejected = []
    for _ in range(2_000):
        signal = random.normal(size=100) + y
        pair = [signal + random.normal(size=100) for _ in range(2)]
        rejected.append(auc_difference_test(y, *pair)[1] < 0.05)
    assert 0.025 < np.mean(rejected) < 0.055


@pytest.mark.parametrize(
    ("y", "first", "second", "qid"),
    [
        ([0, 0, 1, 1] * 2, [1, 2, 2, 3] * 2, [2, 1, 3, 2] * 2, [1] * 4 + [2] * 4),
        ([0, 1] * 3, [1, 2] * 3, [5, 8] * 3, [1, 1, 2, 2, 3, 3]),
        ([0, 0, 1, 1], [1, 2, 2, 3], [2, 1, 3, 2], [7] * 4),
        ([0, 1], [1, 2], [3, 4], None),
        ([0, 1], [1, 2], [3, 4], ["a", "a"]),
        ([0, 1, 1], [1, 1, 1], [2, 2, 2], None),
    ],
)
def test_no_difference(y, first, second, qid):
    assert auc_difference_test(y, first, second, qid=qid) == (0.0, 1.0)


@pytest.mark.parametrize("n_queries", [1, 7])
def test_difference_that_is_the_same_in_every_query(n_queries):
    y, qid = np.tile([0, 0, 0, 1, 1], n_queries), np.repeat(np.arange(n_queries), 5)
    first, second = np.tile([1, 2, 3, 4, 2.5], n_queries), np.tile([1, 2, 3, 2.5, 0], n_queries)
    statistic, pvalue = auc_difference_test(y, first, second, qid=qid)
    variance = 0.5**2 * (1 / n_queries) + 1 / (4 * n_queries**2)
    assert_allclose(statistic, 0.5 / np.sqrt(variance))
    expected = 2 * student.sf(statistic, 6) if n_queries == 7 else 1.0
    assert_allclose(pvalue, expected)


@pytest.mark.parametrize("method", ["score", "newcombe", "delong"])
@pytest.mark.parametrize("level", [5e-324, 1e-15, 1e-9, 1 - 1e-15, np.nextafter(1, 0)])
@pytest.mark.parametrize("scores", [[1, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 1], [1, 3, 2, 4]])
def test_any_level(method, level, scores):
    y = [0, 0, 1, 1]
    low, high = auc_interval(y, scores, level=level, method=method)
    assert 0 <= low <= auc_score(y, scores) + 1e-12
    assert auc_score(y, scores) - 1e-12 <= high <= 1


@pytest.mark.parametrize("level", [0, 1, np.nan, -0.5, np.inf, None, "a", [0.95]])
def test_no_level(level):
    for call in (auc_interval, pair_accuracy_interval):
        with pytest.raises(ValueError, match="level="):
            call([0, 1], [1, 2], level=level)
    with pytest.raises(ValueError, match="level="):
        mean_interval([1.0, 2.0], level=level)


@pytest.mark.parametrize("values", [[1.7e308, -1.7e308, 1.7e308], [5e-324, 1e-323, 0], [0, 0, 0]])
def test_intervals_of_any_size(values):
    y, s = [0, 1, 1], values
    assert 0 <= auc_interval(y, s)[0] <= auc_score(y, s) <= auc_interval(y, s)[1] <= 1
    accuracy = pair_accuracy_score([1, 2, 3], s)
    low, high = pair_accuracy_interval([1, 2, 3], s)
    assert 0 <= low <= accuracy <= high <= 1


def test_mean_of_any_size():
    mean, half = mean_interval([1.7e308, 1.7e308, 1.6e308], level=0.5)
    assert_allclose([mean, half], np.array(mean_interval([1.7, 1.7, 1.6], level=0.5)) * 1e308)
    mean, half = mean_interval([[1e-320, 1.0], [2e-320, 3.0]])
    assert mean[1] == 2
    with pytest.raises(ValueError, match="larger than a float can hold"):
        mean_interval([1.7e308, -1.7e308])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, np.nan], "values contains nan"),
        ([[1, 2], [np.inf, 1]], "values contains inf"),
        (np.ma.masked_array([1, 2], mask=[0, 1]), "values has a masked entry"),
        (["a", "b"], "values must be numbers"),
        ([], "values is empty"),
        (3.0, "values is empty"),
    ],
)
def test_no_mean(values, message):
    with pytest.raises(ValueError, match=message):
        mean_interval(values)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: auc_interval([0, 0], [1, 2]), "no comparable pair"),
        (lambda: auc_interval([0, 1, 2], [1, 2, 3]), "pair_accuracy"),
        (lambda: auc_interval([0, 1], [1, np.nan]), "y_score contains nan"),
        (lambda: auc_interval([0, 1], [1]), "y_score has 1"),
        (lambda: auc_interval([0, 1], [1, 2], level=1), "level=1"),
        (lambda: auc_interval([0, 1], [1, 2], level="95"), "level='95'"),
        (lambda: auc_interval([0, 1], [1, 2], method="wald"), "method='wald'"),
        (lambda: auc_interval([0, 1], [1, 2], method="newcombe", qid=[1, 1]), "newcombe"),
        (lambda: auc_interval([0, 1], [1, 2], qid=[1, 2]), "inside a query"),
        (lambda: pair_accuracy_interval([3, 3], [1, 2]), "no comparable pair"),
        (lambda: pair_accuracy_interval([1, 2], [1, 2], level=0), "level=0"),
        (lambda: auc_difference_test([0, 1], [1, 2], [1]), "y_score_2 has 1"),
        (lambda: auc_difference_test([1, 1], [1, 2], [1, 2]), "no comparable pair"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
