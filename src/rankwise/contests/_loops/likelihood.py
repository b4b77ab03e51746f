"""Count rows of contests by pair, and the likelihood of strengths: value, gradient and curvature.

A cell is a pair that has met: items ``left`` and ``right``, covariates z, a scale a and four counts
(see `rankwise.contests._counts`). Its advantage is eta = a (s_left - s_right + beta.z).
The parameters are the strengths, then beta, then the parameter k of ties, if there is one:

- `PLAIN`: P(left) : P(right) = e^(eta/2) : e^(-eta/2), no ties;
- `DAVIDSON`: P(left) : P(right) : P(tie) = e^(eta/2) : e^(-eta/2) : e^k;
- `RAO_KUPPER`: P(left) = 1 / (1 + e^(k - eta)), P(right) = 1 / (1 + e^(k + eta)), k > 0.

All are concave in (eta, k).
"""

from typing import Any, NamedTuple

import numpy as np

from rankwise._core.compilation import compiled

PLAIN, DAVIDSON, RAO_KUPPER = 0, 1, 2


class Cells(NamedTuple):
    """Pairs that have met, as the loops read them.

    Attributes
    ----------
    left, right : int64 arrays of shape (c,)
        Codes of two items.
    counts : float64 array of shape (c, 4)
        Wins of the left one, of the right one, ties, and what rows of both lack in spread.
    z : float64 array of shape (c, d)
        Covariates, d may be 0.
    scale : float64 array of shape (c,)
        What the advantage is multiplied by.
    """

    left: Any
    right: Any
    counts: Any
    z: Any
    scale: Any


@compiled(inline="always")
def _advantage(cells, c, n, params):
    """Return s_left - s_right + beta.z of cell c; the scale is left out."""
    eta = params[cells.left[c]] - params[cells.right[c]]
    for k in range(cells.z.shape[1]):
        eta += cells.z[c, k] * params[n + k]
    return eta


@compiled
def probabilities(kind, eta, tie):
    """Return the probabilities of left, right and a tie."""
    if kind == RAO_KUPPER:
        left, right = 1.0 / (1.0 + np.exp(tie - eta)), 1.0 / (1.0 + np.exp(tie + eta))
        # expm1(2 tie) left right, with no product that overflows
        apart = np.exp(abs(eta) - tie) + np.exp(-abs(eta) - tie)
        return left, right, -np.expm1(-2.0 * tie) / (1.0 + np.exp(-2.0 * tie) + apart)
    # the larger of the two sides is e^0
    small = np.exp(-abs(eta))
    middle = np.exp(tie - 0.5 * abs(eta)) if kind == DAVIDSON else 0.0
    total = 1.0 + small + middle
    if eta >= 0.0:
        return 1.0 / total, small / total, middle / total
    return small / total, 1.0 / total, middle / total


@compiled
def _scores(kind, p_left, p_right, p_tie, tie):
    """Return the slopes of log P by eta and k: of a win of left, of right, of a tie."""
    if kind == RAO_KUPPER:
        q_left, q_right = 1.0 - p_left, 1.0 - p_right
        between = -2.0 / np.expm1(-2.0 * tie)
        return q_left, -q_left, -q_right, -q_right, q_left - q_right, between - q_left - q_right
    lean = 0.5 * (p_left - p_right)
    return 0.5 - lean, -p_tie, -0.5 - lean, -p_tie, -lean, 1.0 - p_tie


@compiled
def _curvature(kind, p_left, p_right, p_tie, wins, losses, ties, tie):
    """Return minus the second derivatives of the log likelihood: by eta, by eta and k, by k."""
    if kind == RAO_KUPPER:
        left = (wins + ties) * p_left * (1.0 - p_left)
        right = (losses + ties) * p_right * (1.0 - p_right)
        shrunk = np.expm1(-2.0 * tie)
        between = 4.0 * np.exp(-2.0 * tie) / (shrunk * shrunk) if ties > 0.0 else 0.0
        return left + right, right - left, left + right + ties * between
    lean, total = p_left - p_right, wins + losses + ties
    return (
        0.25 * total * (p_left + p_right - lean * lean),
        -0.5 * total * p_tie * lean,
        total * p_tie * (1.0 - p_tie),
    )


@compiled
def _log(p):
    return np.log(max(p, 1e-300))


@compiled
def log_likelihood(cells, n, params, kind):
    """Return the log likelihood of the counts."""
    counts, scale = cells.counts, cells.scale
    tie = params[params.shape[0] - 1]
    value = 0.0
    for c in range(counts.shape[0]):
        eta = scale[c] * _advantage(cells, c, n, params)
        p_left, p_right, p_tie = probabilities(kind, eta, tie)
        value += counts[c, 0] * _log(p_left) + counts[c, 1] * _log(p_right)
        if counts[c, 2] > 0.0:
            value += counts[c, 2] * _log(p_tie)
    return value


@compiled(inline="always")
def _add_square(cells, c, n, weights, matrix):
    """Add to the upper triangle what a cell's weights by eta, eta and k, k amount to."""
    a, i, j = cells.scale[c], cells.left[c], cells.right[c]
    d, last = cells.z.shape[1], matrix.shape[0] - 1
    h = a * a * weights[0]
    matrix[i, i] += h
    matrix[j, j] += h
    matrix[min(i, j), max(i, j)] -= h
    for k in range(d):
        along = h * cells.z[c, k]
        matrix[i, n + k] += along
        matrix[j, n + k] -= along
        for other in range(k, d):
            matrix[n + k, n + other] += along * cells.z[c, other]
    if last == n + d:
        both = a * weights[1]
        matrix[i, last] += both
        matrix[j, last] -= both
        for k in range(d):
            matrix[n + k, last] += both * cells.z[c, k]
        matrix[last, last] += weights[2]


@compiled
def derivatives(cells, n, params, kind, gradient, matrix):
    """Add the slopes of the log likelihood to ``gradient``, and its curvature to ``matrix``.

    Only the upper triangle of the curvature, minus the second derivatives, is filled.
    """
    counts, scale, z = cells.counts, cells.scale, cells.z
    last, d = params.shape[0] - 1, z.shape[1]
    tie = params[last]
    for c in range(counts.shape[0]):
        a = scale[c]
        wins, losses, ties = counts[c, 0], counts[c, 1], counts[c, 2]
        p_left, p_right, p_tie = probabilities(kind, a * _advantage(cells, c, n, params), tie)
        left, left_k, right, right_k, tied, tied_k = _scores(kind, p_left, p_right, p_tie, tie)
        slope = a * (wins * left + losses * right + ties * tied)
        gradient[cells.left[c]] += slope
        gradient[cells.right[c]] -= slope
        for k in range(d):
            gradient[n + k] += slope * z[c, k]
        if last == n + d:
            gradient[last] += wins * left_k + losses * right_k
            gradient[last] += ties * tied_k if ties > 0.0 else 0.0
        weights = _curvature(kind, p_left, p_right, p_tie, wins, losses, ties, tie)
        _add_square(cells, c, n, weights, matrix)


@compiled
def plain_value(left, right, counts, params):
    """Return the log likelihood of `PLAIN` cells without covariates and scale."""
    value = 0.0
    for c in range(left.shape[0]):
        eta = params[left[c]] - params[right[c]]
        value -= (counts[c, 0] + counts[c, 1]) * np.log1p(np.exp(-abs(eta)))
        value -= (counts[c, 1] if eta >= 0.0 else counts[c, 0]) * abs(eta)
    return value


@compiled
def plain_derivatives(left, right, counts, params, gradient, matrix):
    """Do what `derivatives` does for `PLAIN` cells without covariates and scale, in less time."""
    for c in range(left.shape[0]):
        i, j = left[c], right[c]
        eta = params[i] - params[j]
        small = np.exp(-abs(eta))
        large = 1.0 / (1.0 + small)
        p = large if eta >= 0.0 else small * large
        total = counts[c, 0] + counts[c, 1]
        slope = counts[c, 0] - total * p
        gradient[i] += slope
        gradient[j] -= slope
        h = total * p * (1.0 - p)
        matrix[i, i] += h
        matrix[j, j] += h
        matrix[min(i, j), max(i, j)] -= h


@compiled
def _variance(cells, c, n, inverse):
    """Return the variance of a cell's advantage, its scale left out."""
    i, j = cells.left[c], cells.right[c]
    total = inverse[i, i] + inverse[j, j] - 2.0 * inverse[i, j]
    for k in range(cells.z.shape[1]):
        total += 2.0 * cells.z[c, k] * (inverse[i, n + k] - inverse[j, n + k])
        for other in range(cells.z.shape[1]):
            total += cells.z[c, k] * cells.z[c, other] * inverse[n + k, n + other]
    return total


@compiled
def score_spread(cells, n, params, kind, inverse, matrix, less):
    """Add the sum of the squared slopes of the rows to the upper triangle of ``matrix``.

    A row that was learned from is nearer to its prediction than a new one, by its leverage h: its
    square is divided by (1 - h)^2, as if it had been left out. To ``less`` is added how much less
    than wins and losses the rows vary that are partly both, times 1 - h. ``inverse`` is that of the
    information.
    """
    counts = cells.counts
    tie = params[params.shape[0] - 1]
    for c in range(counts.shape[0]):
        a, wins, losses, ties, soft = (
            cells.scale[c],
            counts[c, 0],
            counts[c, 1],
            counts[c, 2],
            counts[c, 3],
        )
        p_left, p_right, p_tie = probabilities(kind, a * _advantage(cells, c, n, params), tie)
        by_eta, _, _ = _curvature(kind, p_left, p_right, p_tie, p_left, p_right, p_tie, tie)
        kept = 1.0 - min(a * a * by_eta * _variance(cells, c, n, inverse), 0.9)
        left, left_k, right, right_k, tied, tied_k = _scores(kind, p_left, p_right, p_tie, tie)
        gap, gap_k = left - right, left_k - right_k
        weights = (
            wins * left * left + losses * right * right - soft * gap * gap,
            wins * left * left_k + losses * right * right_k - soft * gap * gap_k,
            wins * left_k * left_k + losses * right_k * right_k - soft * gap_k * gap_k,
        )
        if ties > 0.0:
            weights = (
                weights[0] + ties * tied * tied,
                weights[1] + ties * tied * tied_k,
                weights[2] + ties * tied_k * tied_k,
            )
        if soft > 0.0:
            # no more than the curvature, so that what is expected is not negative
            lacking = kept * min(soft * gap * gap, (wins + losses + ties) * by_eta)
            _add_square(cells, c, n, (lacking, 0.0, 0.0), less)
        kept *= kept
        weights = (weights[0] / kept, weights[1] / kept, weights[2] / kept)
        _add_square(cells, c, n, weights, matrix)


@compiled
def scale_derivatives(cells, n, params, kind, rater, gradient, curvature):
    """Add slope and curvature by the scale of each rater; ``rater`` is the code of each cell's."""
    counts, tie = cells.counts, params[params.shape[0] - 1]
    for c in range(counts.shape[0]):
        wins, losses, ties = counts[c, 0], counts[c, 1], counts[c, 2]
        u = _advantage(cells, c, n, params)
        p_left, p_right, p_tie = probabilities(kind, cells.scale[c] * u, tie)
        left, _, right, _, tied, _ = _scores(kind, p_left, p_right, p_tie, tie)
        by_eta, _, _ = _curvature(kind, p_left, p_right, p_tie, wins, losses, ties, tie)
        gradient[rater[c]] += u * (wins * left + losses * right + ties * tied)
        curvature[rater[c]] += u * u * by_eta


@compiled
def moments(cells, n, params, kind, out):
    """Fill a row a cell: contests, what the left one got, what was hoped for, and two moments.

    A tie counts half. The moments are the variance and the fourth cumulant of what it may get.
    """
    counts, tie = cells.counts, params[params.shape[0] - 1]
    for c in range(counts.shape[0]):
        eta = cells.scale[c] * _advantage(cells, c, n, params)
        p_left, p_right, p_tie = probabilities(kind, eta, tie)
        total, mean = counts[c, 0] + counts[c, 1] + counts[c, 2], p_left + 0.5 * p_tie
        win, loss, half = (1.0 - mean) * (1.0 - mean), mean * mean, (0.5 - mean) * (0.5 - mean)
        variance = p_left * win + p_right * loss + p_tie * half
        fourth = p_left * win * win + p_right * loss * loss + p_tie * half * half
        out[c, 0], out[c, 1] = total, counts[c, 0] + 0.5 * counts[c, 2]
        out[c, 2], out[c, 3] = total * mean, total * variance
        out[c, 4] = total * (fourth - 3.0 * variance * variance)


@compiled
def expected(cells, n, params, kind, out):
    """Fill a row a cell with the probabilities of left, right and a tie."""
    tie = params[params.shape[0] - 1]
    for c in range(cells.left.shape[0]):
        eta = cells.scale[c] * _advantage(cells, c, n, params)
        out[c, 0], out[c, 1], out[c, 2] = probabilities(kind, eta, tie)


GOOD = -1
"""No row is bad."""

BITS = 21
"""Of each of three counts in one number."""


@compiled
def bounds(first, second):
    """Return the least and the largest whole number of two columns, which are not empty."""
    low, high = first[0], first[0]
    for r in range(first.shape[0]):
        low, high = min(low, first[r], second[r]), max(high, first[r], second[r])
    return low, high


@compiled
def look(outcome):
    """Return the first row that is not from 0 to 1, or `GOOD`; and whether all are 0, 1/2 or 1."""
    plain = True
    for r in range(outcome.shape[0]):
        p = outcome[r]
        if not 0.0 <= p <= 1.0:
            return r, False
        plain &= (p == 0.0) | (p == 0.5) | (p == 1.0)
    return GOOD, plain


@compiled
def count_dense(first, second, outcome, low, fold, table, n):
    """Count outcomes 0, 1/2 and 1 by pair; return the first row that can't be counted, or `GOOD`.

    The three counts of a pair share one number, so that the table stays in the processor's cache:
    21 bits each for wins of j, ties and wins of i, from the lowest. If a count overflows, the sum
    of all is less than the number of rows.

    Parameters
    ----------
    first, second : int64 arrays of shape (m,)
        Ids from ``low`` on, less than n above it.
    outcome : float64 array of shape (m,)
        What the first one got.
    fold : bool
        Whether a pair is counted at i < j, whichever came first.
    table : uint64 array of shape (n * n,)
        Is added to.
    """
    # No branch depends on a row: which of two comes first can't be predicted.
    for r in range(first.shape[0]):
        i, j, p = first[r] - low, second[r] - low, outcome[r]
        kind = np.int64(p + p) if 0.0 <= p <= 1.0 else np.int64(3)
        if i == j or 0.5 * kind != p:
            return r
        turned = np.int64(fold) & np.int64(i > j)
        step = (j - i) * turned
        kind += 2 * turned * (1 - kind)
        table[(i + step) * n + j - step] += np.uint64(1) << np.uint64(BITS * kind)
    return GOOD


@compiled
def resample(rows, seed, out):
    """Count as many draws of rows as there are, in the place of ``out`` that each row names.

    A draw has 32 random bits, so that m rows are equally likely but for a share of m / 2^32.
    """
    for place in range(out.shape[0]):
        out[place] = 0.0
    m, half = rows.shape[0], np.uint64(32)
    state, word = np.uint64(seed), np.uint64(0)
    for r in range(m):
        if r % 2 == 0:
            # splitmix64
            state += np.uint64(0x9E3779B97F4A7C15)
            word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            word ^= word >> np.uint64(31)
        else:
            word <<= half
        out[rows[((word >> half) * np.uint64(m)) >> half]] += 1.0


@compiled
def count_sorted(order, starts, right, swapped, outcome, weight, ties):
    """Return the pairs that have met, and their counts.

    Parameters
    ----------
    order, starts : int64 arrays of shape (m,) and (n + 1,)
        Rows sorted by their left item, and where each item's rows begin.
    right, swapped : arrays of shape (m,)
        The right item of each row, and whether it came first.
    outcome, weight : float64 arrays of shape (m,)
        What the first one got, from 0 to 1, and how often.
    ties : bool
        Whether an outcome of 1/2 is a tie, and not half a win and half a loss.
    """
    n, m = starts.shape[0] - 1, order.shape[0]
    slot, of = np.empty(n, np.int64), np.full(n, -1, np.int64)
    lefts, rights, counts = np.empty(m, np.int64), np.empty(m, np.int64), np.zeros((m, 4))
    met = 0
    for i in range(n):
        for at in range(starts[i], starts[i + 1]):
            r = order[at]
            j = right[r]
            if of[j] != i:
                of[j], slot[j] = i, met
                lefts[met], rights[met] = i, j
                met += 1
            row = counts[slot[j]]
            p, w = outcome[r], weight[r]
            if swapped[r]:
                p = 1.0 - p
            if ties and p == 0.5:
                row[2] += w
            else:
                row[0] += w * p
                row[1] += w * (1.0 - p)
                row[3] += w * p * (1.0 - p)
    return lefts[:met].copy(), rights[:met].copy(), counts[:met].copy()
