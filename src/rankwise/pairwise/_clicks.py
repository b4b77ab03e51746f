"""Pairs from clicks: what was clicked is preferred to what was seen and left."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.arguments import as_array, check_word
from rankwise._core.inputs import as_floats, as_times, check_floats, refuse_masked
from rankwise._core.queries import encode_queries

Indices = NDArray[np.int64]

RULES = ("skip-above", "last-click", "skip-next", "skip-previous")
WEIGHTS = ("uniform", "query")


def pairs_from_clicks(
    position: ArrayLike,
    clicked: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    rule: str = "skip-above",
    time: ArrayLike | None = None,
    pair_weight: str = "uniform",
) -> tuple[Indices, NDArray[np.float64]]:
    r"""Return the preferences that a log of clicks tells, as pairs of its rows.

    People read a list from the top. Who clicks the third result has probably seen the first two
    and left them: that the third is better than these two is said by the click, and nothing about
    what stands below it. With c for clicked and :math:`p` for the position, the rules are

    - "skip-above": j over i if c(j), not c(i) and :math:`p_i < p_j` (Joachims 2002);
    - "last-click": the same, for the last click on a page only;
    - "skip-next": j over the result directly below it, if that was not clicked;
    - "skip-previous": j over the result directly above it, if that was not clicked.

    The first, second and fourth only ever contradict the order that was shown, the third only ever
    confirms it: the user guide shows what that does to a model. Pairs of "skip-above" and of
    "skip-next" are different ones, so that both can be put together by ``np.concatenate``.

    Takes O(m log m) time for m rows, and time and memory for the pairs themselves.

    Parameters
    ----------
    position : array-like of shape (n_samples,)
        Where each row stood on its page, 1 being the top. Rows may come in any order, positions
        may have gaps: what is in the log is what was shown.
    clicked : array-like of shape (n_samples,)
        Whether it was clicked: True or False, or 1 or 0.
    qid : array-like of shape (n_samples,), default=None
        The page of each row, integers or strings: a list shown once to one person. A question
        asked twice makes two pages. None: all rows are one page.
    rule : {"skip-above", "last-click", "skip-next", "skip-previous"}, default="skip-above"
        Which preferences a click tells.
    time : array-like of shape (n_samples,), default=None
        For "last-click", when each row was clicked, numbers or dates, which are compared exactly;
        those of other rows are not read. None: the last click is the one that stands lowest.
    pair_weight : {"uniform", "query"}, default="uniform"
        Whether each pair weighs 1, or the pairs of each page weigh 1 together.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
        Rows (worse, better), sorted by page, by position of the better and of the worse. There may
        be none.
    weight : ndarray of shape (n_pairs,)
        What each pair weighs.

    Raises
    ------
    ValueError
        If an argument is not as above, or two rows of a page have one position.

    See Also
    --------
    RankSVM.fit_pairs : Learns from them.
    RankBoost.fit_pairs : Learns from them.

    References
    ----------
    T. Joachims, Optimizing search engines using clickthrough data, KDD 2002. T. Joachims, L.
    Granka, B. Pan, H. Hembrooke and G. Gay, Accurately interpreting clickthrough data as implicit
    feedback, SIGIR 2005.

    Examples
    --------
    A page with clicks on its third and fifth result. The first two were left for the third; the
    first, second and fourth for the fifth.

    >>> from rankwise.pairwise import RankSVM, pairs_from_clicks
    >>> pairs, weight = pairs_from_clicks([1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 1, 0])
    >>> pairs.tolist()
    [[0, 2], [1, 2], [0, 4], [1, 4], [3, 4]]
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.8, 1.0], [0.2, 0.5], [0.9, 0.0], [0.3, 0.1]]
    >>> model = RankSVM().fit_pairs(X, pairs, pair_weight=weight)
    >>> model.rank(X)
    array([6, 5, 2, 4, 1, 3])
    """
    check_word(rule, "rule", RULES)
    check_word(pair_weight, "pair_weight", WEIGHTS)
    positions = check_floats(position, "position")
    chosen = _check_clicked(clicked, len(positions))
    codes, _ = encode_queries(qid, len(positions))
    order = np.lexsort((positions, codes))
    _check_unique_positions(order, codes, positions)
    if time is not None and rule != "last-click":
        raise ValueError(f"time is for rule='last-click', but rule={rule!r}: leave it out")
    page, hit = codes[order], chosen[order]
    if rule in {"skip-next", "skip-previous"}:
        pairs = _beside(page, hit, 1 if rule == "skip-next" else -1)
    else:
        better = np.flatnonzero(hit)
        if rule == "last-click":
            better = _last_clicks(better, page, order, time)
        pairs = _above(better, page, hit)
    weight = np.ones(len(pairs))
    if pair_weight == "query" and len(pairs):
        pages = page[pairs[:, 1]]
        weight /= np.bincount(pages)[pages]
    return order[pairs], weight


def _above(better: Indices, page: Indices, hit: NDArray[np.bool_]) -> Indices:
    """Return the pairs of clicked rows with all rows above them on their page, not clicked."""
    skipped = np.flatnonzero(~hit)
    first = np.searchsorted(skipped, np.searchsorted(page, page[better]))
    count = np.searchsorted(skipped, better) - first
    # in the list of all pairs, those of a click start where the ones before have ended
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.column_stack(
        [skipped[np.repeat(first, count) + within], np.repeat(better, count)]
    ).astype(np.int64)


def _beside(page: Indices, hit: NDArray[np.bool_], step: int) -> Indices:
    """Return the pairs of clicked rows with the neighbour at an offset, not clicked."""
    better = np.flatnonzero(hit)
    worse = better + step
    inside = (worse >= 0) & (worse < len(page))
    better, worse = better[inside], worse[inside]
    kept = (page[better] == page[worse]) & ~hit[worse]
    return np.column_stack([worse[kept], better[kept]]).astype(np.int64)


def _last_clicks(better: Indices, page: Indices, order: Indices, time: Any) -> Indices:
    """Return the last of the clicked rows of each page."""
    if time is not None:
        refuse_masked(time, "time")
        when = as_array(time, "time")
        if when.shape != order.shape:
            raise ValueError(
                f"time has the shape {when.shape} for {len(order)} rows: expected one for each row"
            )
        rows = order[better]
        when = as_times(when[rows], "time", rows)
        better = better[np.lexsort((when, page[better]))]
    if not len(better):
        return better
    pages = page[better]
    return better[np.append(pages[1:] != pages[:-1], True)]


def _check_clicked(clicked: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Return whether each row was clicked."""
    refuse_masked(clicked, "clicked")
    values = as_array(clicked, "clicked")
    if values.shape != (n,):
        raise ValueError(
            f"clicked has the shape {values.shape} for {n} positions: expected one each"
        )
    numbers = as_floats(values, "clicked")
    bad = np.flatnonzero((numbers != 0) & (numbers != 1))
    if len(bad):
        raise ValueError(
            f"clicked is {numbers[bad[0]]:g} in row {bad[0]}, but must be 0 or 1: for numbers of "
            "clicks give clicked > 0"
        )
    return numbers == 1


def _check_unique_positions(order: Indices, codes: Indices, positions: NDArray[np.float64]) -> None:
    """Raise if two rows of a page have the same position."""
    above, below = order[:-1], order[1:]
    same = np.flatnonzero((codes[above] == codes[below]) & (positions[above] == positions[below]))
    if len(same):
        i, j = sorted((int(above[same[0]]), int(below[same[0]])))
        raise ValueError(
            f"position={positions[i]:g} is duplicated in rows {i} and {j} of one page: give each "
            "page that was shown its own qid, also where the same question was asked again"
        )
