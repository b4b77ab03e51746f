"""The likelihood of rankings under Plackett and Luce, and a pass of Elo's updates.

A ranking is a row of choices: the best of all, the best of the rest, and so on, each with the
probability e^s of the chosen one over the sum of e^s of those that are left. A tie of t items is t
choices in Efron's form: the r-th has r / t of the tied items' weight left out. The last group of a
ranking is no choice.
"""

import numpy as np

from rankwise._core.compilation import compiled


@compiled
def _choices(items, levels, start, stop, strengths, terms):
    """Fill the terms of one ranking; return its log probability.

    ``terms`` has a row an item: e^s, the slope of the log probability, and what its product of e^s
    with that of a tied item, or of one behind, is multiplied by in the curvature.
    """
    top = strengths[items[start]]
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
