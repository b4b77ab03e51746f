"""Compiled loops of contests: counts, likelihoods, samples for the bootstrap, and Elo's updates.

A cell is a pair that has met: items ``left`` and ``right``, covariates z, a scale a and four counts
(see `rankwise.contests._counts`). Its advantage is eta = a (s_left - s_right + beta.z).
The parameters are the strengths, then beta, then the parameter k of ties, if there is one:

- `PLAIN`: P(left) : P(right) = e^(eta/2) : e^(-eta/2), no ties;
- `DAVIDSON`: P(left) : P(right) : P(tie) = e^(eta/2) : e^(-eta/2) : e^k;
- `RAO_KUPPER`: P(left) = 1 / (1 + e^(k - eta)), P(right) = 1 / (1 + e^(k + eta)), k > 0.

All are concave in (eta, k).

A ranking is a row of choices: the best of all, the best of the rest, and so on, each with the
probability e^s of the chosen one over the sum of e^s of those that are left. A tie of t items is t
choices in Efron's form: the r-th has r / t of the tied items' weight left out. The last group of a
ranking is not a choice.
"""

from typing import Any, NamedTuple

import numpy as np

from rankwise._core.compilation import compiled

PLAIN, DAVIDSON, RAO_KUPPER = 0, 1, 2
GOOD = -1
"""No row is bad."""
BITS = 21
"""Of each of three counts in one number."""
_MAX_PASSES = 60
# The squared standard errors that a sample's fit may be off by: they differ by integers.
_ENOUGH = 1e-7


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


@compiled(inner=True)
def _advantage(cells, c, n, params):
    """Return s_left - s_right + beta.z of cell c; the scale is left out."""
    eta = params[cells.left[c]] - params[cells.right[c]]
    for k in range(cells.z.shape[1]):
        eta += cells.z[c, k] * params[n + k]
    return eta


@compiled(inner=True)
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


@compiled(inner=True)
def _scores(kind, p_left, p_right, p_tie, tie):
    """Return the slopes of log P by eta and k: of a win of left, of right, of a tie."""
    if kind == RAO_KUPPER:
        q_left, q_right = 1.0 - p_left, 1.0 - p_right
        between = -2.0 / np.expm1(-2.0 * tie)
        return q_left, -q_left, -q_right, -q_right, q_left - q_right, between - q_left - q_right
    half_difference = 0.5 * (p_left - p_right)
    return (
        0.5 - half_difference,
        -p_tie,
        -0.5 - half_difference,
        -p_tie,
        -half_difference,
        1.0 - p_tie,
    )


@compiled(inner=True)
def _curvature(kind, p_left, p_right, p_tie, wins, losses, ties, tie):
    """Return minus the second derivatives of the log likelihood: by eta, by eta and k, by k."""
    if kind == RAO_KUPPER:
        left = (wins + ties) * p_left * (1.0 - p_left)
        right = (losses + ties) * p_right * (1.0 - p_right)
        shrunk = np.expm1(-2.0 * tie)
        between = 4.0 * np.exp(-2.0 * tie) / (shrunk * shrunk) if ties > 0.0 else 0.0
        return left + right, right - left, left + right + ties * between
    difference, total = p_left - p_right, wins + losses + ties
    return (
        0.25 * total * (p_left + p_right - difference * difference),
        -0.5 * total * p_tie * difference,
        total * p_tie * (1.0 - p_tie),
    )


@compiled
def log_likelihood(cells, n, params, kind):
    """Return the log likelihood of the counts."""
    counts, tie = cells.counts, params[params.shape[0] - 1]
    value = 0.0
    for c in range(counts.shape[0]):
        wins, losses, ties = counts[c, 0], counts[c, 1], counts[c, 2]
        eta = cells.scale[c] * _advantage(cells, c, n, params)
        if kind == RAO_KUPPER:
            p_left, p_right, p_tie = probabilities(kind, eta, tie)
            value += wins * np.log(max(p_left, 1e-300)) + losses * np.log(max(p_right, 1e-300))
            value += ties * np.log(max(p_tie, 1e-300))
        else:
            # relative to the more likely of the two sides
            gap = abs(eta)
            total = 1.0 + np.exp(-gap)
            if kind == DAVIDSON:
                total += np.exp(tie - 0.5 * gap)
                value += ties * (tie - 0.5 * gap)
            value -= (wins + losses + ties) * np.log(total)
            value -= gap * (losses if eta >= 0.0 else wins)
    return value


@compiled(inner=True)
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
def score_spread(cells, n, params, kind, variance, matrix, less):
    """Add the sum of the squared slopes of the rows to the upper triangle of ``matrix``.

    A training row is nearer to its prediction than a new one, by its leverage h: its square is
    divided by (1 - h)^2, as if it had been left out. ``less`` receives the smaller variance of rows
    that are partly wins and partly losses, times 1 - h. ``variance`` is that of each cell's
    advantage.
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
        kept = 1.0 - min(by_eta * variance[c], 0.9)
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
def expected(cells, n, params, kind, out):
    """Fill one row for each cell: the probabilities of left, right and a tie."""
    tie = params[params.shape[0] - 1]
    for c in range(cells.left.shape[0]):
        eta = cells.scale[c] * _advantage(cells, c, n, params)
        out[c, 0], out[c, 1], out[c, 2] = probabilities(kind, eta, tie)


@compiled
def resample(rows, seed, out):
    """Count as many draws of rows as there are, in the place of ``out`` that each row names.

    A draw has 32 random bits, so that m rows are equally likely but for a share of m / 2^32.
    """
    for i in range(out.shape[0]):
        out[i] = 0.0
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


@compiled(error_model="numpy")
def refit(cells, n, kind, precision, inverse, params):
    """Climb from ``params``, which are changed, by steps of one inverse; return whether it settled.

    A step of Newton's method with the inverse information of all contests in place of the sample's
    leaves a share of the distance that is small if the sample is large, so that four or five passes
    do; each costs the cells and O(p^2). It ends when what the shares of the last two steps leave is
    less than a thousandth of a standard error, or fails if steps hardly shrink.

    Parameters
    ----------
    cells : Cells
        With the counts of the sample; z has no column, or one of ones; scales are not read. For
        `PLAIN` a tie is half a win of each.
    n : int
        Strengths among the parameters.
    kind : int
        The model of ties.
    precision : float
        One over the variance of the prior of a strength.
    inverse : float64 array of shape (p, p)
        Symmetric, of the information of all contests.
    params : float64 array of shape (p,)
        The fit to all contests.
    """
    p = params.shape[0]
    fixed, gradient, step = np.zeros(p), np.empty(p), np.empty(p)
    totals, odds = np.empty(cells.left.shape[0]), np.empty(n)
    _add_up(cells, n, kind, totals, fixed)
    before = np.inf
    for _ in range(_MAX_PASSES):
        if kind == RAO_KUPPER:
            _gradient_rao_kupper(cells, n, params, odds, gradient)
        else:
            _gradient(cells, totals, fixed, n, kind, params, odds, gradient)
        for i in range(n):
            gradient[i] -= precision * params[i]
        for j in range(p):
            step[j] = 0.0
        for i in range(p):
            slope = gradient[i]
            for j in range(p):
                step[j] += slope * inverse[i, j]
        decrement = 0.0
        for j in range(p):
            decrement += step[j] * gradient[j]
            params[j] += step[j]
        # also if it is not a number
        if not (0.0 <= decrement < np.inf) or decrement > 0.6 * before:
            return False
        if kind == RAO_KUPPER and params[p - 1] <= 0.0:
            return False
        # what remains if steps keep shrinking at this rate; unknown after the first step
        share = np.sqrt(decrement / before) if before < np.inf else 0.5
        left = share / (1.0 - share)
        if decrement * left * left < _ENOUGH:
            return True
        before = decrement
    return False


@compiled(error_model="numpy")
def _add_up(cells, n, kind, totals, fixed):
    """Fill in the contests of each cell, and add to ``fixed`` what slopes have of the outcomes."""
    counts, p = cells.counts, fixed.shape[0]
    for c in range(counts.shape[0]):
        points = counts[c, 0] + 0.5 * counts[c, 2]
        totals[c] = counts[c, 0] + counts[c, 1] + counts[c, 2]
        fixed[cells.left[c]] += points
        fixed[cells.right[c]] -= points
        if cells.z.shape[1] == 1:
            fixed[n] += points
        if kind != PLAIN:
            fixed[p - 1] += counts[c, 2]


@compiled(error_model="numpy")
def _gradient(cells, totals, fixed, n, kind, params, odds, gradient):
    """Fill in the slopes: what left ones got less what they were to get, a tie being half."""
    left, right = cells.left, cells.right
    p, ordered = params.shape[0], cells.z.shape[1] == 1
    # Davidson's model takes square roots
    power = 0.5 if kind == DAVIDSON else 1.0
    ahead = np.exp(power * params[n]) if ordered else 1.0
    tie = np.exp(params[p - 1]) if kind == DAVIDSON else 0.0
    for i in range(n):
        odds[i] = np.exp(power * params[i])
    for j in range(p):
        gradient[j] = fixed[j]
    tied, last, held, up = 0.0, 0, 0.0, ahead * odds[0]
    for c in range(left.shape[0]):
        if left[c] != last:
            # cells of one left item follow each other: their sum is kept
            gradient[last] -= held
            if ordered:
                gradient[n] -= held
            last, held, up = left[c], 0.0, ahead * odds[left[c]]
        down = odds[right[c]]
        if kind == DAVIDSON:
            middle = tie * up * down
            share = totals[c] / (up * up + down * down + middle)
            fitted = share * (up * up + 0.5 * middle)
            tied += share * middle
        else:
            fitted = totals[c] * up / (up + down)
        held += fitted
        gradient[right[c]] += fitted
    gradient[last] -= held
    if ordered:
        gradient[n] -= held
    if kind == DAVIDSON:
        gradient[p - 1] -= tied


@compiled(error_model="numpy")
def _gradient_rao_kupper(cells, n, params, odds, gradient):
    """Fill in the slopes of a model outside the exponential family."""
    counts, p, ordered = cells.counts, params.shape[0], cells.z.shape[1] == 1
    ahead = np.exp(params[n]) if ordered else 1.0
    tie, between = np.exp(params[p - 1]), -2.0 / np.expm1(-2.0 * params[p - 1])
    for i in range(n):
        odds[i] = np.exp(params[i])
    for j in range(p):
        gradient[j] = 0.0
    for c in range(counts.shape[0]):
        i, j, ties = cells.left[c], cells.right[c], counts[c, 2]
        up, down = ahead * odds[i], odds[j]
        upper = (counts[c, 0] + ties) * tie * down / (up + tie * down)
        lower = (counts[c, 1] + ties) * tie * up / (down + tie * up)
        gradient[i] += upper - lower
        gradient[j] -= upper - lower
        if ordered:
            gradient[n] += upper - lower
        gradient[p - 1] += ties * between - upper - lower


@compiled
def largest_gaps(draws, orders, per_error, most, out):
    """Fill the largest difference of two items of each draw, in units of its standard error.

    A draw is sorted, and pairs are tried from the ends inwards as long as one that is as far apart
    could still be the largest: a few n pairs a draw instead of n^2 / 2.

    Parameters
    ----------
    draws : float64 array of shape (b, n)
        Errors of the strengths.
    orders : int64 array of shape (b, n)
        The argsort of each draw: a compiled sort takes longer to compile than all the rest.
    per_error : float64 array of shape (n, n)
        One over the standard error of each difference, symmetric; the diagonal is not read.
    most : float64 array of shape (n,)
        The largest of each row of these.
    out : float64 array of shape (b,)
        Filled.
    """
    b, n = draws.shape
    for row in range(b):
        draw, order = draws[row], orders[row]
        best = 0.0
        for a in range(n - 1, 0, -1):
            i = order[a]
            if (draw[i] - draw[order[0]]) * most[i] <= best:
                continue
            for o in range(a):
                j = order[o]
                gap = draw[i] - draw[j]
                if gap * most[i] <= best:
                    break
                best = max(best, gap * per_error[i, j])
        out[row] = best


@compiled
def _choices(items, levels, start, stop, strengths, terms):
    """Fill the terms of one ranking; return its log probability.

    ``terms`` has one row for each item: e^s, the derivative of the log probability, and the factors
    of the product of two items' e^s in the Hessian: of a tied item, and of one behind.
    """
    top = -np.inf  # a ranking may be empty
    for a in range(start, stop):
        top = max(top, strengths[items[a]])
    # in place of the slope, the sum of e^s from an item to the end
    rest = 0.0
    for a in range(stop - 1, start - 1, -1):
        terms[a - start, 0] = np.exp(strengths[items[a]] - top)
        rest += terms[a - start, 0]
        terms[a - start, 1] = rest
    value, once, twice = 0.0, 0.0, 0.0
    begin = start
    while begin < stop:
        end, own, rest = begin, 0.0, terms[begin - start, 1]
        while end < stop and levels[end] == levels[begin]:
            own += terms[end - start, 0]
            end += 1
        choices = end - begin if end < stop else 0
        slope, tied, behind = once, twice, twice
        for r in range(choices):
            left = 1.0 - r / choices
            total = max(rest - (1.0 - left) * own, 1e-300)
            value -= np.log(total)
            slope += left / total
            tied += left * left / (total * total)
            behind += left / (total * total)
            once += 1.0 / total
            twice += 1.0 / (total * total)
        for a in range(begin, end):
            row = terms[a - start]
            value += strengths[items[a]] - top if choices else 0.0
            row[1] = (1.0 if choices else 0.0) - row[0] * slope
            row[2], row[3] = tied, behind
        begin = end
    return value


@compiled
def rankings_value(items, levels, starts, weight, strengths):
    """Return the log likelihood of votes, each times its weight."""
    terms = np.empty((items.shape[0], 4))
    value = 0.0
    for v in range(weight.shape[0]):
        value += weight[v] * _choices(items, levels, starts[v], starts[v + 1], strengths, terms)
    return value


@compiled
def rankings_derivatives(items, levels, starts, weight, strengths, gradient, curvature, squares):
    """Add the gradient, and to upper triangles minus the Hessian and the squares of gradients.

    Both are sums over votes, each times its weight.
    """
    terms = np.empty((items.shape[0], 4))
    for v in range(weight.shape[0]):
        start, stop, w = starts[v], starts[v + 1], weight[v]
        _choices(items, levels, start, stop, strengths, terms)
        for a in range(start, stop):
            i, one = items[a], terms[a - start]
            chosen = 1.0 if levels[a] != levels[stop - 1] else 0.0
            gradient[i] += w * one[1]
            curvature[i, i] += w * (chosen - one[1] - one[0] * one[0] * one[2])
            squares[i, i] += w * one[1] * one[1]
            for b in range(a + 1, stop):
                j, other = items[b], terms[b - start]
                factor = one[2] if levels[a] == levels[b] else one[3]
                low, high = min(i, j), max(i, j)
                curvature[low, high] -= w * one[0] * other[0] * factor
                squares[low, high] += w * one[1] * other[1]


@compiled
def elo_pass(first, second, outcome, k, scale, ratings):
    """Update the ratings contest by contest: the first gets k times what it won beyond its odds."""
    for r in range(first.shape[0]):
        i, j = first[r], second[r]
        chance = 1.0 / (1.0 + 10.0 ** ((ratings[j] - ratings[i]) / scale))
        step = k * (outcome[r] - chance)
        ratings[i] += step
        ratings[j] -= step
