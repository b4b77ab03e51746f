"""Sums over the misranked pairs, and over all pairs by their exponential cost."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.dominance import exponential_sum
from rankwise._core._loops.keys import deal_runs, sort_equal_keys
from rankwise._core._loops.misranked import misranked_sum
from rankwise._core.arguments import check_power
from rankwise._core.pairs._order import Floats, read_rows, row_bits, sort_ties, sorted_keys
from rankwise._core.pairs._pairs import Pairs

_NONE = np.empty(0)
# Rows that are too many for the cache, how many of them are not, and the most runs of them.
_MANY, _RUN, _MOST_RUNS = 1 << 17, 1024, 1024


class ByScore(NamedTuple):
    """Rows sorted by query, score and target, as ``keys``.

    A key ends with the place of its row in the columns ``s``, ``y`` and ``a``, the last None if all
    weigh 1. ``t`` are the sorted scores if some are equal, and else empty. The columns may be in
    the second half of the ``room`` of `misranked_sum`.
    """

    keys: NDArray[np.int64]
    s: Floats
    y: Floats
    a: Floats | None
    t: Floats
    room: Floats


def by_score(pairs: Pairs, s: Floats) -> ByScore:
    """Sort the rows, O(m log m)."""
    s, y, starts = np.ascontiguousarray(pairs.group(s)), pairs.group(pairs.y), pairs.starts
    a = pairs.group(pairs.weight) if pairs.weighted else None
    # in one piece, which is soon given back to the next call
    n_columns, m = 2 if a is None else 3, len(s)
    room = np.empty((2 * n_columns, m))
    if pairs.codes is None and m >= _MANY:
        # what lies apart in memory is slow to fetch in the order of the scores
        columns, codes = room[n_columns:], np.empty(m, np.uint16)
        starts = deal_runs(s, y, a, min(m // _RUN, _MOST_RUNS), codes, room[n_columns:])
        s, y, a = columns[0], columns[1], None if a is None else columns[2]
    keys = sorted_keys(s, starts)
    if sort_equal_keys(keys, row_bits(keys), s):
        return ByScore(keys, s, y, a, _NONE, room)
    rows, t = read_rows(keys, s, starts)
    sort_ties(rows, t, y, starts)
    return ByScore(rows.astype(np.int64), s, y, a, t, room)


def misranked_total(
    pairs: Pairs, rows: ByScore, *, scores: bool, magnitude: bool, power: int
) -> float:
    """Sum over the misranked pairs; scores are all 0 if they are no part of the cost."""
    return misranked_sum(
        rows.s,
        rows.y,
        _NONE if rows.a is None else rows.a,
        rows.keys,
        row_bits(rows.keys),
        rows.room,
        pairs.targets,
        pairs.starts,
        scores,
        magnitude,
        power,
    )


def misranked_mean(pairs: Pairs, s: Floats, *, magnitude: bool, power: int) -> float:
    """Mean over the pairs y_j > y_i of (s_i - s_j)^n if that is positive, else 0.

    With ``magnitude`` of (s_i - s_j + y_j - y_i)^n. Pairs weigh by their rows alone.
    """
    check_power(power)
    pairs.check_comparable()
    rows = by_score(pairs, s)
    total = misranked_total(pairs, rows, scores=True, magnitude=magnitude, power=power)
    return total / pairs.one_sided_weight


def exponential_mean(pairs: Pairs, s: Floats) -> float:
    """Mean of exp(-(s_j - s_i)) over the pairs y_j > y_i; inf if no float can hold it."""
    layout = pairs.by_target
    pairs.check_comparable()
    t, a = s.take(layout.rows), layout.a if pairs.weighted else _NONE
    z, c = exponential_sum(t, layout.y, a, layout.starts, pairs.magnitude)
    with np.errstate(over="ignore"):
        return float(np.exp(c + np.log(z) - np.log(pairs.one_sided_weight)))
