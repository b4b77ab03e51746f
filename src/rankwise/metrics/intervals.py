r"""Intervals and tests for an AUC, a pairwise accuracy, and a mean.

Write :math:`\hat A` for the share of pairs in the right order, a tie counting half. It is a mean
over pairs that share rows, so it has the variance of a mean of fewer independent comparisons,
:math:`n_e`, and once these are known it is a binomial proportion: the exact interval of Clopper and
Pearson, between quantiles of beta distributions,

.. math:: B_{\alpha/2}(n_e \hat A,\, n_e (1 - \hat A) + 1)
    \le \theta \le B_{1 - \alpha/2}(n_e \hat A + 1,\, n_e (1 - \hat A))

lies inside [0, 1], has a width everywhere, and covers the truth near 0 and 1, too. The variance V
of DeLong, DeLong and Clarke-Pearson would make :math:`n_e = \hat A (1 - \hat A) / V`, which fails
where few rows are misplaced: V is 0 at perfect separation. Whatever the distribution of the scores,
there are at least as many independent comparisons as disjoint pairs can be formed: M, the size of
the smaller class. So

.. math:: n_e = \frac{\hat A (1 - \hat A) + 1/(4M)}{V + 1/(4M^2)}

which is M where nothing else is known and goes to DeLong's as rows are misplaced.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv
from scipy.stats import norm
from scipy.stats import t as student

from rankwise._core._loops.partners import better_partners
from rankwise._core.arguments import check_level, check_word
from rankwise._core.inputs import as_floats
from rankwise._core.pairs import Pairs, both_sweeps, sorted_rows
from rankwise.metrics._loops import placement_sums, row_placements, row_ties
from rankwise.metrics._pairs import check_two_classes, pairwise_misranking_loss
from rankwise.metrics.scored_rows import Floats, check_numbers, exponent_of, scaled

_METHODS = ("score", "newcombe", "delong")
_ROUNDING = 1e-24
# The logarithm of the smallest p-value that a level of a float tells from 0.
_LEAST = math.log(1e-15)


def auc_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    level: float = 0.95,
    method: str = "score",
    qid: ArrayLike | None = None,
) -> tuple[float, float]:
    r"""Confidence interval of the area under the ROC curve, in O(m log m).

    It answers whenever both classes occur, one row each included. Reversed scores give the mirrored
    interval, a higher level a wider one.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets with two different values; the higher is the positive class.
    y_score : array-like of shape (m,)
        Scores.
    level : float, default=0.95
        The confidence level, between 0 and 1.
    method : {"score", "newcombe", "delong"}, default="score"
        "score": the exact interval of a binomial proportion (Clopper and Pearson), for as many
        independent comparisons as DeLong's variance is worth, and for as many as the smaller class
        has rows where no row is misplaced.
        "newcombe": Newcombe's fifth method, which solves
        :math:`|\hat A - \theta| = z \sqrt{V(\theta)}` with the variance of exponential scores; it
        takes no notice of how the scores are spread. "delong": the normal interval
        :math:`\hat A \pm z \sqrt V`, cut to [0, 1]; a class of one row adds nothing to V, and at
        perfect separation the interval has no width.
    qid : array-like of shape (m,), default=None
        The query of each row. Pairs are then inside queries, as in `auc_score`, and the queries are
        what was sampled: M is their number (or :math:`P^2/\sum_q P_q^2` if query q has
        :math:`P_q` of P pairs). Not for "newcombe".

    Returns
    -------
    low, high : float
        The interval, inside [0, 1].

    Raises
    ------
    ValueError
        If there are not two classes, or no pair is comparable.

    References
    ----------
    C. Clopper and E. Pearson, *The use of confidence or fiducial limits illustrated in the case of
    the binomial*, 1934. With an effective number of observations: E. Korn and B. Graubard,
    *Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data*, 1998.
    E. DeLong, D. DeLong and D. Clarke-Pearson, *Comparing the areas under two or more correlated
    receiver operating characteristic curves*, 1988.
    R. G. Newcombe, *Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2*, 2006.

    Examples
    --------
    >>> from rankwise.metrics import auc_interval
    >>> y, s = [0] * 10 + [1] * 10, range(20)
    >>> low, high = auc_interval(y, s)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.69 to 1.00
    >>> auc_interval(y, s, method="delong")
    (1.0, 1.0)
    """
    z = normal_quantile(level)
    check_word(method, "method", _METHODS)
    y = check_two_classes(y_true)
    s = check_numbers(y_score, "y_score", len(y))
    if qid is None:
        auc, variance, n_least = of_classes(y, s)
    elif method == "newcombe":
        raise ValueError("method='newcombe' does not support qid: use 'score', or leave qid out")
    else:
        auc, variance, n_least = _over_queries(Pairs(y, qid=qid), s)
    if method == "newcombe":
        return newcombe_interval(auc, n_least, len(y) - n_least, z)
    if method == "delong":
        return normal_interval(auc, variance, z)
    return binomial_interval(auc, variance, n_least, level)


def pair_accuracy_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of the pairs with different targets in the right order, a tie counting half.

    The AUC for any number of grades: 1 less `pairwise_misranking_loss` with ``ties="half"``.

    Parameters
    ----------
    y_true, y_score : array-like of shape (m,)
        Targets, of which only the order counts, and scores.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.
    sample_weight : array-like of shape (m,), default=None
        Row weights; a pair weighs their product.

    Examples
    --------
    >>> from rankwise.metrics import pair_accuracy_score
    >>> pair_accuracy_score([1, 2, 3, 3], [1, 5, 4, 9])
    0.8
    """
    return 1 - pairwise_misranking_loss(
        y_true, y_score, ties="half", qid=qid, sample_weight=sample_weight
    )


def pair_accuracy_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    level: float = 0.95,
    qid: ArrayLike | None = None,
) -> tuple[float, float]:
    r"""Confidence interval of the pair accuracy, for any number of grades, in O(m log m).

    As `auc_interval`, which it is for two classes. For more, the rows were sampled and not the
    classes: with :math:`c_i` right ones of the :math:`p_i` pairs of row i and P pairs in all,
    :math:`V = \frac{m}{m-1} \sum_i (c_i - \hat A p_i)^2 / P^2`, and M is the number of disjoint
    pairs that can be formed.

    Parameters
    ----------
    y_true, y_score : array-like of shape (m,)
        Targets, of which only the order counts, and scores.
    level : float, default=0.95
        The confidence level, between 0 and 1.
    qid : array-like of shape (m,), default=None
        The query of each row. Pairs are then inside queries, and the queries are what was sampled.

    Returns
    -------
    low, high : float
        The interval, inside [0, 1].

    Raises
    ------
    ValueError
        If no pair is comparable.

    Examples
    --------
    >>> from rankwise.metrics import pair_accuracy_interval
    >>> low, high = pair_accuracy_interval([1, 2, 3] * 10, range(30))
    >>> print(f"{low:.2f} to {high:.2f}")
    0.36 to 0.73
    """
    check_level(level)
    y = check_numbers(y_true, "y_true")
    s = check_numbers(y_score, "y_score", len(y))
    if qid is not None:
        return binomial_interval(*_over_queries(Pairs(y, qid=qid), s), level)
    values, sizes = np.unique(y, return_counts=True)
    if len(values) == 2:
        return binomial_interval(*of_classes(y, s), level)
    pairs = Pairs(y)
    pairs.check_comparable()
    right, comparable = _row_counts(pairs, s)
    n_least = min(len(y) // 2, len(y) - int(sizes.max()))
    # A pair is counted by both of its rows, and the projection of a U-statistic has both, too.
    accuracy, variance = _ratio(right / 2, comparable)
    return binomial_interval(accuracy, 4 * variance, n_least, level)


def auc_difference_test(
    y_true: ArrayLike,
    y_score_1: ArrayLike,
    y_score_2: ArrayLike,
    *,
    qid: ArrayLike | None = None,
) -> tuple[float, float]:
    r"""Test whether two scores of the same rows have the same AUC: paired DeLong, in O(m log m).

    .. math:: t = \frac{\hat A_1 - \hat A_2}{\sqrt{V_1 + V_2 - 2 V_{12} + 1/(4M^2)}}

    The variance is that of the differences of placements in each class, and as in `auc_interval`
    that of a row or query that the sample of M lacks: near an AUC of 1 few rows make all of the
    difference. Where placements do not vary and yet differ from 0, or a class has one row, DeLong's
    is 0 or unknown: their mean square, which is the variance if the AUCs are equal, takes its
    place.

    The p-value is that of Student's t with M - 1 degrees of freedom, M the size of the smaller
    class, which is conservative for any two variances, or the number of queries: the effective one,
    :math:`P^2/\sum_q P_q^2`, if query q has :math:`P_q` of P pairs. A class of one row, or a single
    query, gives no evidence: the p-value is 1.

    Where few queries make all of a score's errors, many samples lack them, and neither their mean
    nor their variance tells. The exact interval of each AUC (see `auc_interval`) does: with
    :math:`L` its part below the higher AUC, :math:`U` that above the lower one, and r the
    correlation of the two over the queries, the difference is as sure as
    :math:`\sqrt{L^2 + U^2 - 2 r L U}` (Zou and Donner). The p-value is the larger of Student's and
    the one at which this is the difference.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets with two different values; the higher is the positive class.
    y_score_1, y_score_2 : array-like of shape (m,)
        The scores to compare.
    qid : array-like of shape (m,), default=None
        The query of each row. Pairs are then inside queries, and the queries are what was sampled.

    Returns
    -------
    statistic : float
        Positive when the first score is better, 0 when both put all pairs in the same order, or
        as many pairs of each query in the right order.
    pvalue : float
        Two-sided.

    References
    ----------
    E. DeLong, D. DeLong and D. Clarke-Pearson, *Comparing the areas under two or more correlated
    receiver operating characteristic curves*, 1988. Degrees of freedom: M. R. Mickey and M. B.
    Brown, *Bounds on the distribution functions of the Behrens-Fisher statistic*, 1966. Queries:
    G. Y. Zou and A. Donner, *Construction of confidence limits about effect measures: a general
    approach*, 2008.

    Examples
    --------
    >>> from rankwise.metrics import auc_difference_test
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> statistic, pvalue = auc_difference_test(
    ...     y, [1, 2, 3, 5, 4, 6, 7, 8], [1, 4, 6, 7, 2, 3, 5, 8]
    ... )
    >>> print(f"{statistic:.2f} {pvalue:.3f}")
    1.71 0.185
    """
    y = check_two_classes(y_true)
    pairs = Pairs(y, qid=qid)
    pairs.check_comparable()
    first, comparable = _row_counts(pairs, check_numbers(y_score_1, "y_score_1", len(y)))
    second, _ = _row_counts(pairs, check_numbers(y_score_2, "y_score_2", len(y)))
    ahead = (first - second) / 2
    if pairs.codes is not None:
        right, other, weights = _by_query(pairs, first / 2, second / 2, comparable)
        ahead, n_units = right - other, _effective_number(weights)
        difference, variance = _ratio(ahead, weights)
        square = float((ahead**2).sum() / weights.sum() ** 2)
        # shares of queries that are alike differ by rounding
        if not variance > _ROUNDING * square:
            variance = square
    else:
        placed = [ahead[side] / comparable[side] for side in (y == y.max(), y == y.min())]
        difference, n_units = float(placed[0].mean()), min(map(len, placed))
        if min(map(np.ptp, placed)) == max(map(np.ptp, placed)) == 0 or min(map(len, placed)) < 2:
            variance = sum(float((values**2).mean()) / len(values) for values in placed)
        else:
            variance = sum(float(values.var(ddof=1)) / len(values) for values in placed)
    if not ahead.any():
        return 0.0, 1.0
    statistic = difference / math.sqrt(variance + 0.25 / n_units**2)
    if not n_units > 1:
        return statistic, 1.0
    pvalue = float(2 * student.sf(abs(statistic), n_units - 1))
    if pairs.codes is not None:
        pvalue = max(pvalue, _interval_pvalue(right, other, weights, n_units))
    return statistic, pvalue


def _interval_pvalue(right: Floats, other: Floats, comparable: Floats, n_units: float) -> float:
    """Return 1 less the level at which Zou and Donner's interval of a difference begins at 0."""
    (low, low_variance), (high, high_variance) = sorted(
        _ratio(part, comparable) for part in (right, other)
    )
    correlation = 0.0
    if low_variance > _ROUNDING * low**2 and high_variance > _ROUNDING * high**2:
        off = [part - part.sum() / comparable.sum() * comparable for part in (right, other)]
        correlation = float(off[0] @ off[1] / math.sqrt((off[0] @ off[0]) * (off[1] @ off[1])))

    def inside(exponent: float) -> float:
        level = 1 - math.exp(exponent)
        below = high - binomial_interval(high, high_variance, n_units, level)[0]
        above = binomial_interval(low, low_variance, n_units, level)[1] - low
        return below**2 + above**2 - 2 * correlation * below * above - (high - low) ** 2

    if inside(0.0) >= 0:
        return 1.0
    if inside(_LEAST) <= 0:
        return 0.0
    return math.exp(brentq(inside, _LEAST, 0.0))


def normal_quantile(level: float) -> float:
    """Return how many standard deviations an interval of this level is wide on each side."""
    return float(norm.isf((1 - check_level(level)) / 2))


def of_classes(y: Floats, s: Floats) -> tuple[float, float, float]:
    """Return the AUC, DeLong's variance, and the size of the smaller class."""
    if y.min() == y.max():
        Pairs(y).check_comparable()
    positive = y == y.max()
    pos, neg = np.sort(s[positive]), np.sort(s[~positive])
    n_pos, n_neg = len(pos), len(neg)
    right, spread_pos, spread_neg = placement_sums(pos, neg)
    variance = spread_pos / (n_pos * max(1, n_pos - 1)) + spread_neg / (n_neg * max(1, n_neg - 1))
    return right / (2 * n_pos * n_neg), variance, min(n_pos, n_neg)


def _row_counts(pairs: Pairs, s: Floats) -> tuple[Floats, Floats]:
    """Return twice the pairs of each row in the right order, a tie counting half, and all of them.

    A row counts in the pairs that it is the better and the worse of, without weights.
    """
    y = pairs.y
    if pairs.codes is None and y.min() < y.max() and ((y == y.min()) | (y == y.max())).all():
        return _class_counts(y == y.max(), s)
    layout, (first, last) = pairs.by_target, pairs.ties
    rows, t = sorted_rows(s[layout.rows], layout.starts)
    tied = np.empty(len(t))
    row_ties(t, layout.y[rows], layout.starts, tied)
    right, comparable = np.empty(len(t)), np.empty(len(t))
    sizes = np.repeat(np.diff(layout.starts), np.diff(layout.starts))
    comparable[layout.rows] = sizes - (last - first)
    right[layout.rows[rows]] = -tied
    ones, band, misranked = np.ones((len(t), 1)), (0.0, 0.0, np.inf), np.zeros(len(t))
    for sweep in both_sweeps(pairs, rows, t):
        partners = np.empty_like(ones)
        better_partners(*sweep, ones, band, np.empty((sweep[-1] + 1, 1)), partners)
        misranked[layout.rows] += partners[:, 0]
    right += 2 * (comparable - misranked)
    return right, comparable


def _class_counts(positive: NDArray[np.bool_], s: Floats) -> tuple[Floats, Floats]:
    """Count the pairs of each row of two classes: a sort and a sweep."""
    n, n_pos = len(s), int(positive.sum())
    rows, t = sorted_rows(s)
    right = np.empty(n)
    row_placements(t, rows, positive, n_pos, right)
    return right, np.where(positive, float(n - n_pos), float(n_pos))


def _over_queries(pairs: Pairs, s: Floats) -> tuple[float, float, float]:
    """Return the pair accuracy, its variance with queries as units, and how many they are worth."""
    pairs.check_comparable()
    twice, all_pairs = _row_counts(pairs, s)
    right, comparable = _by_query(pairs, twice / 2, all_pairs)
    return *_ratio(right, comparable), _effective_number(comparable)


def _effective_number(weights: Floats) -> float:
    """Return how many equal weights average as well as these."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _by_query(pairs: Pairs, *counts: Floats) -> list[Floats]:
    """Sum counts of rows over the queries with a comparable pair."""
    kept = pairs.query_weights > 0
    of_queries = (np.bincount(np.asarray(pairs.codes), weights=values) for values in counts)
    return [sums[kept].astype(np.float64) for sums in of_queries]


def _ratio(part: Floats, whole: Floats) -> tuple[float, float]:
    """Return sum(part) / sum(whole) and its variance, the entries being independent."""
    total, n = float(whole.sum()), len(whole)
    share = float(part.sum()) / total
    off = (part - share * whole) / total
    return share, float(off @ off) * n / max(1, n - 1)


def normal_interval(share: float, variance: float, z: float) -> tuple[float, float]:
    """Return the interval of DeLong's variance, cut to [0, 1]."""
    half = z * math.sqrt(variance)
    return max(0.0, share - half), min(1.0, share + half)


def binomial_interval(
    share: float, variance: float, n_least: float, level: float
) -> tuple[float, float]:
    """Return Clopper and Pearson's interval for as many comparisons as the variance is worth."""
    doubt = 0.25 / n_least
    n = (share * (1 - share) + doubt) / (variance + doubt / n_least)
    tail = (1 - level) / 2

    def low(share: float) -> float:
        return 0.0 if share <= 0 else float(betaincinv(n * share, n * (1 - share) + 1, tail))

    return low(share), 1 - low(1 - share)


def newcombe_interval(auc: float, n_pos: float, n_neg: float, z: float) -> tuple[float, float]:
    """Return Newcombe's fifth interval, which is the same for the classes exchanged."""
    others = (n_pos + n_neg) / 2 - 1

    def low(share: float) -> float:
        def off(x: float) -> float:
            spread = x * (1 - x) * (1 + others * ((1 - x) / (2 - x) + x / (1 + x)))
            return share - x - z * math.sqrt(spread / n_pos / n_neg)

        # At a share of 1 the equation also holds at 1, and nothing else solves it for a small z.
        high = min(share, 1 - 1e-12)
        if share <= 0 or off(high) > 0:
            return share
        return float(brentq(off, 0.0, high, xtol=1e-14))

    return low(auc), 1 - low(1 - auc)


def mean_interval(
    values: ArrayLike, *, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the mean over the first axis and the half-width of its Student-t interval.

    .. math:: t_{n-1,\,(1+\text{level})/2}\; s / \sqrt n

    Parameters
    ----------
    values : array-like of shape (n, ...)
        Independent trials along the first axis.
    level : float, default=0.95
        The confidence level, between 0 and 1.

    Returns
    -------
    mean, half_width : ndarrays of shape (...)
        With a single trial nothing is known of the spread: the half-width is infinite.

    Examples
    --------
    >>> from rankwise.metrics import mean_interval
    >>> mean, half_width = mean_interval([0.31, 0.35, 0.33])
    >>> print(f"{mean:.2f} ± {half_width:.2f}")
    0.33 ± 0.05
    """
    check_level(level)
    trials = as_floats(values, "values")
    if trials.ndim == 0 or not len(trials):
        raise ValueError("values is empty: a mean needs at least one trial along the first axis")
    if not np.isfinite(trials).all():
        bad = trials[~np.isfinite(trials)][0]
        raise ValueError(f"values contains {bad}: drop the trial or correct it")
    exponent = exponent_of(trials) if trials.size else 0
    trials = scaled(trials, exponent)
    mean, half_width = trials.mean(axis=0), np.full(trials.shape[1:], np.inf)[()]
    if len(trials) > 1:
        spread = trials.std(axis=0, ddof=1) / np.sqrt(len(trials))
        half_width = student.ppf((1 + level) / 2, len(trials) - 1) * spread
    with np.errstate(over="ignore"):
        mean, half_width = scaled(mean, -exponent), scaled(half_width, -exponent)
    if len(trials) > 1 and not np.isfinite(half_width).all():
        raise ValueError("the interval is larger than a float can hold: scale the values")
    return mean, half_width
