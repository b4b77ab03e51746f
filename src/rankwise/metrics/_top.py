r"""The top of a list of two classes: how good it is, and how sure that is.

Each measure is a mean over the first places of some profile, the highest score first: of the
positives among all rows, or of the share of positives above each negative. Rows with tied scores
have no order of their own, so a profile is the mean over all orders of them: of t tied rows, r of
them positive, each place has r / t positives, and above the i-th of b tied negatives are
i / (b + 1) of the tied positives.

A mean A over the first k of n places, k = c n, has the variance

.. math:: \frac1k \bigl(S^2 + (1 - c)(A - e)^2\bigr),

:math:`S^2` being the variance of the profile there and e the profile where it is cut: the second
term is for the cut, which other rows would have set elsewhere.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.arguments import check_level
from rankwise._core.queries import encode_queries
from rankwise.metrics._pairs import check_two_classes
from rankwise.metrics.intervals import binomial_interval
from rankwise.metrics.scored_rows import Floats, check_numbers


def precision_at_top_score(
    y_true: ArrayLike, y_score: ArrayLike, *, tau: float, qid: ArrayLike | None = None
) -> float:
    """Share of positives among the first ``tau`` of the rows, the mean over queries.

    Of m rows the first tau m count, the last of them by its fraction if that is not an integer.
    Of tied rows, the mean over their orders. O(m log m).

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets with two different values; the higher is the positive class.
    y_score : array-like of shape (m,)
        Scores.
    tau : float
        The share of the rows that the top is, above 0 and at most 1.
    qid : array-like of shape (m,), default=None
        The query of each row, in any row order: each query has its own top. Those without
        both classes are left out.

    Raises
    ------
    ValueError
        If no query has both classes.

    See Also
    --------
    precision_at_top_interval : How sure it is.
    rankwise.pairwise.AccuracyAtTop : Learns for it.

    Examples
    --------
    >>> from rankwise.metrics import precision_at_top_score
    >>> precision_at_top_score([1, 0, 1, 0], [4, 3, 2, 1], tau=0.5)
    0.5
    """
    lists, share = _lists(y_true, y_score, qid), _check_share(tau, "tau")
    return float(_means(lists.codes, lists.precision, share * lists.n).mean())


def precision_at_top_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    tau: float,
    level: float = 0.95,
    qid: ArrayLike | None = None,
) -> tuple[float, float]:
    """Confidence interval of `precision_at_top_score`: binomial, with the variance above.

    The profile at the cut is the share of positives among the rows around it, as many on each side
    as the root of the rows at the top. With ``qid`` the queries are what was sampled.

    Parameters
    ----------
    y_true, y_score, tau, qid
        As for `precision_at_top_score`.
    level : float, default=0.95
        The confidence level, between 0 and 1.

    Returns
    -------
    low, high : float
        The interval, inside [0, 1].

    Examples
    --------
    >>> from rankwise.metrics import precision_at_top_interval
    >>> low, high = precision_at_top_interval([0] * 80 + [1] * 20, range(100), tau=0.1)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.69 to 1.00
    """
    check_level(level)
    lists, share = _lists(y_true, y_score, qid), _check_share(tau, "tau")
    means = _means(lists.codes, lists.precision, share * lists.n)
    if qid is not None:
        return _of_queries(means, level)
    found, k = float(means[0]), max(1.0, share * len(lists.precision))
    near = int(np.ceil(np.sqrt(k)))
    cut = float(lists.precision[max(0, int(k) - near) : int(k) + near].mean())
    variance = (found * (1 - found) + (1 - share) * (found - cut) ** 2) / k
    return binomial_interval(found, variance, k, level)


def positives_at_top_score(
    y_true: ArrayLike, y_score: ArrayLike, *, qid: ArrayLike | None = None
) -> float:
    """Share of positives above the highest negative, the mean over queries.

    Of rows tied with the highest negative, the mean over their orders. O(m log m).

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets with two different values; the higher is the positive class.
    y_score : array-like of shape (m,)
        Scores.
    qid : array-like of shape (m,), default=None
        The query of each row, in any row order: positives are above the negatives of their query.
        Queries without both classes are left out.

    Raises
    ------
    ValueError
        If no query has both classes.

    See Also
    --------
    positives_at_top_interval : How sure it is.
    rankwise.pairwise.TopPush : Learns for it.

    Examples
    --------
    >>> from rankwise.metrics import positives_at_top_score
    >>> positives_at_top_score([1, 1, 0, 1, 1, 0], [9, 8, 7, 6, 5, 4])
    0.5
    """
    lists = _lists(y_true, y_score, qid)
    return float(lists.above[lists.first].mean())


def positives_at_top_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    level: float = 0.95,
    qid: ArrayLike | None = None,
) -> tuple[float, float]:
    """Confidence interval of `positives_at_top_score`.

    Without ``qid`` the highest negative is used: the exact interval for the share of all
    positives, of which these are a sample, that are above it. How high the highest of other
    negatives would be, a single list does not tell. With ``qid`` the queries are what was sampled,
    each with its negatives.

    Parameters
    ----------
    y_true, y_score, qid
        As for `positives_at_top_score`.
    level : float, default=0.95
        The confidence level, between 0 and 1.

    Returns
    -------
    low, high : float
        The interval, inside [0, 1].

    Examples
    --------
    >>> from rankwise.metrics import positives_at_top_interval
    >>> low, high = positives_at_top_interval([1, 1, 0, 1, 1, 0] * 10, list(range(60, 0, -1)))
    >>> print(f"{low:.2f} to {high:.2f}")
    0.01 to 0.17
    """
    check_level(level)
    lists = _lists(y_true, y_score, qid)
    found = lists.above[lists.first]
    if qid is not None:
        return _of_queries(found, level)
    n_pos, share = int(lists.n_pos[0]), float(found[0])
    return binomial_interval(share, share * (1 - share) / n_pos, n_pos, level)


def partial_auc_score(
    y_true: ArrayLike, y_score: ArrayLike, *, max_fpr: float, qid: ArrayLike | None = None
) -> float:
    """Area under the ROC curve up to a false positive rate, over that rate; the mean over queries.

    It is the mean, over the highest ``max_fpr`` of the negatives, of the share of positives above
    them: 1 if all are, ``max_fpr / 2`` for scores that know nothing, and the AUC for a rate of 1.
    If ``max_fpr`` times the number of negatives is not an integer, the last one counts by what is
    left. Of tied rows, the mean over their orders. O(m log m).

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets with two different values; the higher is the positive class.
    y_score : array-like of shape (m,)
        Scores.
    max_fpr : float
        The highest false positive rate, above 0 and at most 1.
    qid : array-like of shape (m,), default=None
        The query of each row, in any row order; each has its own curve. Those without both
        classes are left out.

    Raises
    ------
    ValueError
        If no query has both classes.

    See Also
    --------
    partial_auc_interval : How sure it is.
    sklearn.metrics.roc_auc_score : With ``max_fpr`` it draws a line through tied rows, and rescales
        so that scores that know nothing have 1/2.

    Examples
    --------
    >>> from rankwise.metrics import partial_auc_score
    >>> partial_auc_score([1, 1, 0, 1, 0, 1, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], max_fpr=0.5)
    0.625
    """
    lists, share = _lists(y_true, y_score, qid), _check_share(max_fpr, "max_fpr")
    return float(_means(lists.of_above, lists.above, share * (lists.n - lists.n_pos)).mean())


def partial_auc_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    max_fpr: float,
    level: float = 0.95,
    qid: ArrayLike | None = None,
) -> tuple[float, float]:
    """Confidence interval of `partial_auc_score`: binomial, with a variance from both classes.

    That of the negatives is the variance above; that of the positives is the variance of the share
    of the highest negatives that each is above, over their number. For ``max_fpr=1`` it is the
    interval of `auc_interval`. With ``qid`` the queries are what was sampled.

    Parameters
    ----------
    y_true, y_score, max_fpr, qid
        As for `partial_auc_score`.
    level : float, default=0.95
        The confidence level, between 0 and 1.

    Returns
    -------
    low, high : float
        The interval, inside [0, 1].

    Examples
    --------
    >>> from rankwise.metrics import partial_auc_interval
    >>> low, high = partial_auc_interval([0] * 20 + [1] * 20, range(40), max_fpr=0.5)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.69 to 1.00
    """
    check_level(level)
    lists, share = _lists(y_true, y_score, qid), _check_share(max_fpr, "max_fpr")
    k = share * (lists.n - lists.n_pos)
    means = _means(lists.of_above, lists.above, k)
    if qid is not None:
        return _of_queries(means, level)
    found, most = float(means[0]), float(k[0])
    weights = _taken(len(lists.above), most)
    spread = float(weights @ (lists.above - found) ** 2) / most
    cut = float(lists.above[min(len(lists.above) - 1, int(most))])
    variance = (spread * most / max(1.0, most - 1) + (1 - share) * (found - cut) ** 2) / most
    # what of the highest negatives is below each positive, half of those that tie with it
    group = lists.groups[~lists.positive]
    of_group = np.bincount(group, weights, lists.groups[-1] + 1)
    below = most - np.cumsum(of_group) + 0.5 * of_group
    placed = below[lists.groups[lists.positive]] / most
    n_pos = len(placed)
    variance += float(placed.var()) / max(1, n_pos - 1)
    return binomial_interval(found, variance, min(n_pos, max(1.0, most)), level)


class _Lists(NamedTuple):
    """Lists sorted by query, the highest score first; only queries with both classes.

    Attributes
    ----------
    codes, groups, positive, precision : ndarrays of shape (m,)
        The query of each row, its group of tied rows, its class, and the share of positives in the
        group.
    of_above, above : ndarrays of shape (n_negatives,)
        The query of each negative, and the share of its positives above it.
    first : ndarray of shape (n_queries,)
        Where the highest negative of each query is in ``above``.
    n, n_pos : ndarrays of shape (n_queries,)
        Rows and positives of each query.
    """

    codes: NDArray[np.int64]
    groups: NDArray[np.int64]
    positive: NDArray[np.bool_]
    precision: Floats
    of_above: NDArray[np.int64]
    above: Floats
    first: NDArray[np.int64]
    n: Floats
    n_pos: Floats


def _lists(y_true: Any, y_score: Any, qid: Any) -> _Lists:
    y = check_two_classes(y_true)
    s = check_numbers(y_score, "y_score", len(y))
    codes, n_queries = encode_queries(qid, len(y))
    positive = y == y.max()
    n_pos = np.bincount(codes[positive], minlength=n_queries)
    both = (n_pos > 0) & (n_pos < np.bincount(codes))
    if not both.any() or y.min() == y.max():
        inside = "" if qid is None else " of one query"
        raise ValueError(
            f"y_true has no comparable pair: no two rows{inside} are of different classes, so "
            "there is no top to measure"
        )
    order = np.lexsort((-s, codes))
    order = order[both[codes[order]]]
    codes, positive, s = (np.cumsum(both) - 1)[codes[order]], positive[order], s[order]
    new = np.append(True, (codes[1:] != codes[:-1]) | (s[1:] != s[:-1]))
    groups = np.cumsum(new) - 1
    r, t = np.bincount(groups, positive), np.bincount(groups)
    n, n_positives = (np.bincount(codes, weights).astype(float) for weights in (None, positive))
    # positives of the query in groups above, and which of the tied negatives a row is
    before = np.cumsum(r) - r
    before -= np.append(0.0, np.cumsum(n_positives)[:-1])[codes[new]]
    negative = np.flatnonzero(~positive)
    group, query = groups[negative], codes[negative]
    b = (t - r)[group]
    i = 1 + np.arange(len(negative)) - np.searchsorted(group, group)
    above = (before[group] + r[group] * i / (b + 1)) / n_positives[query]
    first = np.searchsorted(query, np.arange(len(n)))
    return _Lists(codes, groups, positive, (r / t)[groups], query, above, first, n, n_positives)


def _taken(n: int, k: float) -> Floats:
    """Return how much of each of n places is among the first k."""
    return np.clip(k - np.arange(n), 0.0, 1.0)


def _means(codes: NDArray[np.int64], profile: Floats, k: Floats) -> Floats:
    """Return the mean of the first k places of each query."""
    places = np.arange(len(codes)) - np.searchsorted(codes, codes)
    return np.bincount(codes, profile * np.clip(k[codes] - places, 0.0, 1.0)) / k


def _of_queries(means: Floats, level: float) -> tuple[float, float]:
    """Return the interval of the mean over queries."""
    n = len(means)
    variance = float(means.var()) / max(1, n - 1)
    return binomial_interval(float(means.mean()), variance, n, level)


def _check_share(value: float, name: str) -> float:
    if not (isinstance(value, Real) and not isinstance(value, bool) and 1e-100 <= value <= 1):
        raise ValueError(f"{name}={value!r} must be a share from 1e-100 to 1, such as 0.1")
    return float(value)
