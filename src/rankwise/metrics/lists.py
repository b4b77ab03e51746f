"""Measures of the order of lists, one list a query: the mean over queries.

Rows with tied scores have no order of their own, so each measure is the mean over all orders of
them. A query whose rows are all alike to the measure is left out of the mean.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer

from rankwise._core.pairs import Pairs, sorted_rows
from rankwise.metrics import _loops
from rankwise.metrics.scored_rows import Floats, check_numbers

__all__ = [
    "average_precision_score",
    "average_precision_scorer",
    "ndcg_score",
    "ndcg_scorer",
    "reciprocal_rank_score",
    "reciprocal_rank_scorer",
]

# 2^y can be summed below the one, and is 1 + log(2) y to all digits below the other.
_HIGH, _LOW, _SHIFT = 1000.0, 2.0**-200, 250


def ndcg_score(
    y_true: ArrayLike, y_score: ArrayLike, *, qid: ArrayLike | None = None, k: int | None = None
) -> float:
    r"""Normalised discounted cumulative gain, the mean over queries.

    .. math:: \frac{\sum_{p \le k} (2^{y_{(p)}} - 1) / \log_2(p + 1)}{\text{its largest value}}

    where :math:`y_{(p)}` is the target of the row in place p. The mean over the orders of tied rows
    gives each of them the mean discount of their places. O(m).

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets, not negative.
    y_score : array-like of shape (m,)
        Scores.
    qid : array-like of shape (m,), default=None
        The query of each row, integers or strings in any order. None: one query.
    k : int, default=None
        Only the first k places of each list count. None: all.

    Raises
    ------
    ValueError
        If every query has equal targets.

    See Also
    --------
    sklearn.metrics.ndcg_score : Its gain is y and not 2^y - 1, and it wants a matrix.

    Examples
    --------
    >>> from rankwise.metrics import ndcg_score
    >>> round(ndcg_score([3, 2, 0], [0.1, 0.9, 0.5]), 3)
    0.731
    """
    y = check_numbers(y_true, "y_true")
    if y.min() < 0:
        raise ValueError(f"y_true holds {y.min()}, but gains start at 0: shift the targets")
    pairs, s = _lists(y, y_score, qid)
    cut = _check_k(k, len(y))
    starts = pairs.starts
    rows, scores = sorted_rows(pairs.group(s), starts)
    discounts = 1 / np.log2(np.arange(2, np.diff(starts).max() + 2))
    discounts[cut:] = 0.0
    best, out = np.empty(pairs.n_queries), np.empty(pairs.n_queries)
    extreme = _is_extreme(y if pairs.grades is None else pairs.grades[1])
    if pairs.grades is None or extreme:
        targets = pairs.group(pairs.y)
        gains = _extreme_gains(targets, starts) if extreme else _gains(targets)
        _loops.best_gains(sorted_rows(gains, starts)[1], discounts, starts, best)
        _loops.ndcg(scores, rows, gains, discounts, starts, best, out)
    else:
        codes, gains = pairs.group(pairs.grades[0]), _gains(pairs.grades[1])
        _loops.best_grades(codes, gains, discounts, starts, best)
        _loops.ndcg(scores, codes[rows], gains, discounts, starts, best, out)
    return _mean(out)


def average_precision_score(
    y_true: ArrayLike, y_score: ArrayLike, *, qid: ArrayLike | None = None, k: int | None = None
) -> float:
    """Average precision, the mean over queries (MAP); rows with y > 0 are relevant.

    Of one list: the sum over the places of relevant rows, up to k, of the share of relevant rows so
    far, divided by the number of all relevant rows.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets, relevant if positive.
    y_score : array-like of shape (m,)
        Scores.
    qid : array-like of shape (m,), default=None
        The query of each row, integers or strings in any order. None: one query.
    k : int, default=None
        Only the first k places of each list count. None: all.

    Raises
    ------
    ValueError
        If no query has both relevant and other rows.

    See Also
    --------
    sklearn.metrics.average_precision_score : Takes all tied rows at once, at the last place.

    Examples
    --------
    >>> from rankwise.metrics import average_precision_score
    >>> round(average_precision_score([1, 0, 1], [0.9, 0.5, 0.1]), 3)
    0.833
    """
    return _relevance(_loops.average_precision, y_true, y_score, qid, k)


def reciprocal_rank_score(
    y_true: ArrayLike, y_score: ArrayLike, *, qid: ArrayLike | None = None, k: int | None = None
) -> float:
    """One over the place of the first relevant row, the mean over queries (MRR).

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Targets, relevant if positive.
    y_score : array-like of shape (m,)
        Scores.
    qid : array-like of shape (m,), default=None
        The query of each row, integers or strings in any order. None: one query.
    k : int, default=None
        0 for a list whose first relevant row comes after place k. None: no such cut.

    Raises
    ------
    ValueError
        If no query has both relevant and other rows.

    Examples
    --------
    >>> from rankwise.metrics import reciprocal_rank_score
    >>> reciprocal_rank_score([0, 1, 0, 1], [3, 2, 5, 4], qid=["a", "a", "b", "b"])
    0.5
    """
    return _relevance(_loops.reciprocal_rank, y_true, y_score, qid, k)


def _gains(y: Floats) -> Floats:
    """Return 2^y - 1."""
    return np.expm1(np.log(2) * y)


def _is_extreme(y: Floats) -> bool:
    """Whether gains, or sums of them, could overflow or lose digits."""
    return bool(y.max() >= _HIGH or y.min(where=y > 0, initial=np.inf) < _LOW)


def _extreme_gains(y: Floats, starts: NDArray[np.int64]) -> Floats:
    """Return 2^y - 1 as multiples of a power of 2 that each query has for itself."""
    top = np.repeat(np.maximum.reduceat(y, starts[:-1]), np.diff(starts))
    high = -np.exp2(y - top) * np.expm1(-np.log(2) * y)
    low = np.ldexp(np.minimum(y, _LOW), _SHIFT)  # 2^y - 1 is log(2) y there, to all digits
    usual = _gains(np.minimum(y, _HIGH))
    return np.where(top >= _HIGH, high, np.where(top < _LOW, low, usual))


def _relevance(
    measure: Callable[..., None], y_true: Any, y_score: Any, qid: Any, k: int | None
) -> float:
    y = check_numbers(y_true, "y_true")
    pairs, s = _lists(y, y_score, qid)
    cut = _check_k(k, len(y))
    rows, scores = sorted_rows(pairs.group(s), pairs.starts)
    out = np.empty(pairs.n_queries)
    measure(scores, pairs.group(pairs.y > 0)[rows], cut, pairs.starts, out)
    return _mean(out)


def _lists(y: Floats, y_score: Any, qid: Any) -> tuple[Pairs, Floats]:
    return Pairs(y, qid=qid), check_numbers(y_score, "y_score", len(y))


def _check_k(k: int | None, n: int) -> int:
    if k is None:
        return n
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k={k!r} must be an integer from 1, or None for the whole list")
    return min(int(k), n)


def _mean(values: NDArray[np.float64]) -> float:
    judged = values[~np.isnan(values)]
    if not len(judged):
        raise ValueError(
            "y_true has no comparable pair: the rows of every query are alike to this measure, so "
            "there is no order to measure"
        )
    return float(judged.mean())


# For ``scoring=`` in scikit-learn's model selection. With metadata routing on,
# ``scorer.set_score_request(qid=True)`` hands them the queries.
ndcg_scorer = make_scorer(ndcg_score)
average_precision_scorer = make_scorer(average_precision_score)
reciprocal_rank_scorer = make_scorer(reciprocal_rank_score)

# Every list measure: what the warm-up calls, and tests and documents have to cover. The scorer of
# ``NAME_score`` is ``NAME_scorer``; its literal form is in ``tests/reference``.
LIST_MEASURES: dict[str, Callable[..., float]] = {
    "ndcg": ndcg_score,
    "average_precision": average_precision_score,
    "reciprocal_rank": reciprocal_rank_score,
}
