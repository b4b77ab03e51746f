r"""Losses over all pairs of rows, in O(m log m).

Write :math:`s` for the scores and :math:`a` for the row weights; the pair (i, j) weighs
:math:`a_i a_j`, and every loss is the weighted mean of a cost over the pairs that count.
With ``qid`` both rows of a pair are in one query, and the pairs of all queries are pooled: a query
counts by the weight of its pairs, and one without a comparable pair not at all.
"""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from rankwise._core.arguments import check_power, check_word
from rankwise._core.inputs import check_pair_labels, check_pairs, check_weights
from rankwise._core.pairs import (
    EpsilonInsensitiveLoss,
    MagnitudeLoss,
    Pairs,
    count_pairs,
    misranked_mean,
)
from rankwise.metrics._loops import exponential_sum
from rankwise.metrics.scored_rows import (
    Floats,
    Scored,
    check_numbers,
    check_scored,
    far_apart,
    homogeneous,
    is_wide,
    one_sided,
    scaled,
    shrunk,
    two_sided,
)

_TIES = {"wrong": 1.0, "half": 0.5, "right": 0.0}
_MOST = float(np.finfo(np.float64).max)


def magnitude_loss(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    power: int = 2,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean of :math:`|(s_j - s_i) - (y_j - y_i)|^n` over all ordered pairs.

    The mean squared difference (MSD) of the papers for n = 2, the mean 1-norm difference (M1D) for
    n = 1. All :math:`m^2` ordered pairs count, each row with itself included; with ``qid`` the sum
    of the squared sizes of the queries.

    Parameters
    ----------
    y_true, y_score : array-like of shape (m,)
        Targets and scores, on one scale: a constant added to the scores changes nothing, a factor
        does.
    power : {1, 2}, default=2
        n. The loss takes O(m) for n = 2 and O(m log m) for n = 1.
    qid : array-like of shape (m,), default=None
        The query of each row, integers or strings in any order; pairs are inside queries.
    sample_weight : array-like of shape (m,), default=None
        Row weights; a pair weighs their product.

    Raises
    ------
    ValueError
        If no query has two rows, or no float can hold the loss.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, *An alternative ranking problem for search engines*, 2007,
    equation 5.

    Examples
    --------
    >>> from rankwise.metrics import magnitude_loss
    >>> magnitude_loss([1, 2, 4], [11, 12, 14])
    0.0
    >>> round(magnitude_loss([1, 2, 4], [1, 2, 3]), 3)
    0.444
    """
    power = check_power(power)
    rows = check_scored(y_true, y_score, qid, sample_weight).balanced()

    def loss(exponent: int) -> float:
        pairs = two_sided(rows.pairs(exponent))
        return MagnitudeLoss(pairs, power=power).value(scaled(rows.s, exponent))

    return homogeneous(loss, power, rows.y, rows.s)


def epsilon_insensitive_loss(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    epsilon: float = 0.1,
    power: int = 1,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean of :math:`\max(0, |(s_j - s_i) - (y_j - y_i)| - \epsilon)^n` over all ordered pairs.

    Parameters
    ----------
    y_true, y_score : array-like of shape (m,)
        Targets and scores, on one scale.
    epsilon : float, default=0.1
        What a difference may be off without a cost.
    power : {1, 2}, default=1
        n.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.
    sample_weight : array-like of shape (m,), default=None
        Row weights; a pair weighs their product.

    Raises
    ------
    ValueError
        If no query has two rows, or no float can hold the loss.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, 2007, equation 7. As printed it charges
    :math:`|d| + \epsilon` for a difference :math:`d < -\epsilon`, more than for :math:`-d`, with a
    jump of :math:`2 \epsilon` at the edge; here both sides cost the same.

    Examples
    --------
    >>> from rankwise.metrics import epsilon_insensitive_loss
    >>> epsilon_insensitive_loss([1, 2, 4], [1, 2, 3.5], epsilon=0.5)
    0.0
    """
    power = check_power(power)
    if not (isinstance(epsilon, Real) and 0 <= epsilon < math.inf):
        raise ValueError(f"epsilon={epsilon!r} must be a number from 0")
    rows = check_scored(y_true, y_score, qid, sample_weight).balanced()

    def loss(exponent: int) -> float:
        with np.errstate(over="ignore"):
            free = float(np.ldexp(float(epsilon), -exponent))
        pairs = two_sided(rows.pairs(exponent))
        cost = EpsilonInsensitiveLoss(pairs, epsilon=min(free, _MOST), power=power)
        return cost.value(scaled(rows.s, exponent))

    return homogeneous(loss, power, rows.y, rows.s)


def hinge_rank_loss(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    power: int = 1,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean of :math:`\max(0, s_i - s_j)^n` over the pairs with :math:`y_j > y_i`.

    How far misranked pairs are apart in score; pairs in the right order and ties cost nothing. A
    constant score has loss 0, so it can't be learned with: a margin is missing.

    Parameters
    ----------
    y_true, y_score : array-like of shape (m,)
        Targets, of which only the order counts, and scores.
    power : {1, 2}, default=1
        n.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.
    sample_weight : array-like of shape (m,), default=None
        Row weights; a pair weighs their product.

    Raises
    ------
    ValueError
        If no pair is comparable, or no float can hold the loss.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, 2007, equation 4. The paper divides the costs of all ordered
    pairs by :math:`m^2`: that is 2 P / m^2 times this, with P comparable pairs.

    Examples
    --------
    >>> from rankwise.metrics import hinge_rank_loss
    >>> hinge_rank_loss([1, 2, 4], [1, 5, 4.5])
    0.16666666666666666
    """
    rows = check_scored(y_true, y_score, qid, sample_weight)
    return _misranked(rows, magnitude=False, power=check_power(power))


def hinge_magnitude_loss(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    power: int = 1,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean over :math:`y_j > y_i` of :math:`|(s_j - s_i) - (y_j - y_i)|^n` if misranked, else 0.

    The magnitude cost of the pairs with :math:`s_j < s_i` alone. It jumps at a tie: a pair that is
    barely misranked costs :math:`(y_j - y_i)^n`, one that is tied nothing. So it is not convex, and
    a constant score has loss 0; what can be learned with is
    :math:`\max(0, (y_j - y_i) - (s_j - s_i))^n`.

    Parameters
    ----------
    y_true, y_score : array-like of shape (m,)
        Targets and scores, on one scale.
    power : {1, 2}, default=1
        n.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.
    sample_weight : array-like of shape (m,), default=None
        Row weights; a pair weighs their product.

    Raises
    ------
    ValueError
        If no pair is comparable, or no float can hold the loss.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, 2007, equation 6, in the paper's scale 2 P / m^2 times this.

    Examples
    --------
    >>> from rankwise.metrics import hinge_magnitude_loss
    >>> hinge_magnitude_loss([1, 2, 4], [1, 5, 4.5])
    0.8333333333333334
    """
    rows = check_scored(y_true, y_score, qid, sample_weight)
    return _misranked(rows, magnitude=True, power=check_power(power))


def pairwise_misranking_loss(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    ties: str = "wrong",
    pair_weight: str = "uniform",
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Share of the pairs with :math:`y_j > y_i` whose scores are in the wrong order.

    Parameters
    ----------
    y_true, y_score : array-like of shape (m,)
        Targets, of which only the order counts unless pairs weigh by magnitude, and scores.
    ties : {"wrong", "half", "right"}, default="wrong"
        How a pair with :math:`s_j = s_i` counts.
    pair_weight : {"uniform", "magnitude"}, default="uniform"
        Whether a pair weighs 1 or :math:`y_j - y_i`.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.
    sample_weight : array-like of shape (m,), default=None
        Row weights; a pair weighs their product, times ``pair_weight``.

    Raises
    ------
    ValueError
        If no pair is comparable.

    Examples
    --------
    >>> from rankwise.metrics import pairwise_misranking_loss
    >>> pairwise_misranking_loss([1, 2, 4], [1, 5, 5], ties="half")
    0.16666666666666666
    >>> pairwise_misranking_loss([1, 2, 4], [1, 5, 3], pair_weight="magnitude")
    0.3333333333333333
    """
    check_word(ties, "ties", list(_TIES))
    rows, pairs = one_sided(check_scored(y_true, y_score, qid, sample_weight), pair_weight)
    counts = count_pairs(pairs, rows.s)
    if not counts.comparable > 0:
        pairs.check_comparable()
    return (counts.misranked + _TIES[ties] * counts.tied) / counts.comparable


def labelled_pairs_loss(
    pairs: ArrayLike,
    y_score: ArrayLike,
    *,
    y: ArrayLike | None = None,
    pair_weight: ArrayLike | None = None,
    ties: str = "wrong",
) -> float:
    r"""Empirical error of labelled pairs: the share of them whose scores contradict their label.

    .. math:: \frac1n \sum_i 1[y_i \neq 0 \wedge y_i (s(x'_i) - s(x_i)) \le 0]

    over n listed pairs :math:`(x_i, x'_i, y_i)`. A pair of label 0 costs nothing and counts in the
    mean; leave such pairs out for the error among preferences.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2)
        Rows (worse, better), as for ``fit_pairs``.
    y_score : array-like of shape (m,)
        The scores of the rows.
    y : array-like of shape (n_pairs,), default=None
        Labels: 1 if the second row is better, -1 if the first is, 0 if neither is known to be.
        None: all 1.
    pair_weight : array-like of shape (n_pairs,), default=None
        Weights of the pairs, at least 0.
    ties : {"wrong", "half", "right"}, default="wrong"
        How a pair of equal scores with a label other than 0 counts.

    References
    ----------
    M. Mohri, Foundations of machine learning: ranking, lecture.

    Examples
    --------
    >>> from rankwise.metrics import labelled_pairs_loss
    >>> labelled_pairs_loss([[0, 1], [1, 2], [0, 2]], [1.0, 2.0, 2.0], y=[1, -1, 0])
    0.3333333333333333
    """
    check_word(ties, "ties", list(_TIES))
    s = check_numbers(y_score, "y_score", shift=True)
    first, second = s[check_pairs(pairs, len(s))].T
    labels = check_pair_labels(y, len(first))
    given = 1.0 if pair_weight is None else pair_weight
    weight = check_weights(given, "pair_weight", len(first), "pair")
    order = ((second > first).astype(np.float64) - (second < first)) * labels
    costs = np.where(order < 0, 1.0, _TIES[ties] * ((second == first) & (labels != 0)))
    return float(np.average(costs, weights=weight / weight.max()))


def exponential_pair_loss(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    pair_weight: str = "uniform",
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean of :math:`\exp(-(s_j - s_i))` over the pairs with :math:`y_j > y_i`.

    What RankBoost minimises; at least the misranking loss. Sums are kept as multiples of their
    largest term, so large scores do no harm; the result is inf only if no float can hold it.

    Parameters
    ----------
    y_true, y_score : array-like of shape (m,)
        Targets and scores.
    pair_weight : {"uniform", "magnitude"}, default="uniform"
        Whether a pair weighs 1 or :math:`y_j - y_i`.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.
    sample_weight : array-like of shape (m,), default=None
        Row weights; a pair weighs their product, times ``pair_weight``.

    Raises
    ------
    ValueError
        If no pair is comparable.

    Examples
    --------
    >>> from rankwise.metrics import exponential_pair_loss
    >>> exponential_pair_loss([1, 2], [1000, 1000])
    1.0
    """
    rows, pairs = one_sided(check_scored(y_true, y_score, qid, sample_weight), pair_weight)
    layout = pairs.by_target  # first, so that the targets are sorted once
    pairs.check_comparable()
    t, a = far_apart(rows.s).take(layout.rows), layout.a if pairs.weighted else np.empty(0)
    z, c = exponential_sum(t, layout.y, a, layout.starts, pairs.magnitude)
    with np.errstate(over="ignore"):
        return float(np.exp(c + np.log(z) - np.log(pairs.one_sided_weight)))


def auc_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Area under the ROC curve: the share of pairs of the two classes in the right order.

    A tie counts half. The higher of the two targets is the positive class.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets with two different values.
    y_score : array-like of shape (m,)
        Scores.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.
    sample_weight : array-like of shape (m,), default=None
        Row weights; a pair weighs their product.

    Raises
    ------
    ValueError
        If there are more than two classes, or no pair is comparable.

    Examples
    --------
    >>> from rankwise.metrics import auc_score
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    rows = check_scored(y_true, y_score, qid, sample_weight)
    check_two_classes(rows.y)
    return 1 - pairwise_misranking_loss(
        rows.y, rows.s, ties="half", qid=rows.qid, sample_weight=rows.weight
    )


def check_two_classes(y_true: Any) -> Floats:
    """Return targets as floats, two different values at most."""
    y = check_numbers(y_true, "y_true")
    low, high = y.min(), y.max()
    other = (y != low) & (y != high)
    if other.any():
        raise ValueError(
            f"y_true holds {low}, {y[other][0]} and {high}, but an AUC is for two classes: use "
            "pair_accuracy_score or pair_accuracy_interval for more"
        )
    return y


@dataclass(frozen=True)
class ComparablePairs:
    """The pairs or queries that a mean is over.

    Attributes
    ----------
    n_pairs : int
        Pairs of rows with different targets.
    n_queries, n_left_out : int
        All queries, and those without such a pair.
    """

    n_pairs: int
    n_queries: int
    n_left_out: int


def comparable_pairs(y_true: ArrayLike, *, qid: ArrayLike | None = None) -> ComparablePairs:
    """Count the pairs with different targets, the queries, and those left out for having none.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.

    Returns
    -------
    ComparablePairs
        Its ``n_pairs``, ``n_queries`` and ``n_left_out``.

    Examples
    --------
    >>> from rankwise.metrics import comparable_pairs
    >>> comparable_pairs([1, 2, 2, 5], qid=["a", "a", "b", "b"])
    ComparablePairs(n_pairs=2, n_queries=2, n_left_out=0)
    """
    pairs = Pairs(check_numbers(y_true, "y_true"), qid=qid)
    weights = pairs.query_weights
    return ComparablePairs(int(weights.sum()), pairs.n_queries, int((weights == 0).sum()))


def _misranked(rows: Scored, *, magnitude: bool, power: int) -> float:
    """Return the mean cost of the misranked pairs, see `misranked_mean`."""
    rows, pairs = one_sided(rows)
    if is_wide(rows.y, rows.s):
        rows = rows.comparable()
        pairs = rows.pairs()

    def loss(exponent: int) -> float:
        scaled_pairs = rows.pairs(exponent) if magnitude and exponent else pairs
        s = shrunk(rows.s, exponent)
        return misranked_mean(scaled_pairs, s, magnitude=magnitude, power=power)

    return homogeneous(loss, power, *((rows.y, rows.s) if magnitude else (rows.s,)))


# For ``scoring=`` in scikit-learn's model selection. With metadata routing on,
# ``scorer.set_score_request(qid=True)`` hands them the queries.
neg_magnitude_loss_scorer = make_scorer(magnitude_loss, greater_is_better=False)
neg_epsilon_insensitive_loss_scorer = make_scorer(epsilon_insensitive_loss, greater_is_better=False)
neg_hinge_rank_loss_scorer = make_scorer(hinge_rank_loss, greater_is_better=False)
neg_hinge_magnitude_loss_scorer = make_scorer(hinge_magnitude_loss, greater_is_better=False)
neg_pairwise_misranking_loss_scorer = make_scorer(pairwise_misranking_loss, greater_is_better=False)
neg_exponential_pair_loss_scorer = make_scorer(exponential_pair_loss, greater_is_better=False)
auc_scorer = make_scorer(auc_score, response_method=("decision_function", "predict"))
