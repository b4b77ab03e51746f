r"""The weights of all pairs of different targets, without the pairs.

Rows are sorted by (query, target); a *group* is a run of rows with the same of both. The pair of a
row i of group g and a row j of a later group g' of the query weighs

.. math:: D_{ij} \propto w_{gg'}\, a_i e^{s_i}\, a_j e^{-s_j} .

A *slot* is one kind of factor of a group: :math:`a e^s` for its rows as the worse ones of pairs, or
:math:`a e^{-s}` as the better ones. Factors are kept as shares of the sum of their slot, which is
kept as a logarithm, so scores of any size do no harm. Sums over all worse rows then follow from
group to group by a chain of links: with x the sum over the lower groups in units of the largest of
them, the next one is ratio x + rise.

Sums over rows are taken in whole numbers, two for each, so they are the same in any order of the
rows, and those of parts of the rows add up.

A push of p makes the worse factors :math:`a e^{p s}`, and a query's sum of the better ones count to
the power of p. Then the total is that of the p-norm push, and D its gradient; queries have at most
two groups.
"""

from typing import NamedTuple

import numpy as np

from rankwise._core.compilation import compiled

# The signs of the slots of worse and of better rows; with a push, the former is times that.
WORSE, BETTER = 1.0, -1.0
# The most that the first whole number of a sum may be, and parts of 1 that the second one counts.
MOST, FINE = 2.0**61, 2.0**28


class Groups(NamedTuple):
    """The n groups of m rows.

    - ``starts`` (n + 1,): group g has the rows ``starts[g]`` to ``starts[g + 1]``;
    - ``is_lowest``, ``is_highest`` (n,): the worst and the best group of a query. The first is
      never the better one of a pair, the last never the worse;
    - ``y`` (n,): targets;
    - ``a`` (m,): row weights.
    """

    starts: np.ndarray
    is_lowest: np.ndarray
    is_highest: np.ndarray
    y: np.ndarray
    a: np.ndarray


class Factors(NamedTuple):
    """The factors of the rows, slot by slot; of a group the better slot is first.

    - ``group``, ``sign`` (n_slots,): slot q is of a e^(sign s) of a group;
    - ``first`` (n_slots,): where its values begin;
    - ``values`` (n_values,): the factors, in units of e^shift;
    - ``shift``, ``sums`` (n_slots,): the unit of a slot, and the sum of its values;
    - ``fresh`` (n_slots,): that sum when the values were last computed from the scores;
    - ``stale`` (n_slots,): whether they are to be computed from the scores, or just were.
    """

    group: np.ndarray
    sign: np.ndarray
    first: np.ndarray
    values: np.ndarray
    shift: np.ndarray
    sums: np.ndarray
    fresh: np.ndarray
    stale: np.ndarray


class Links(NamedTuple):
    """How sums lead from group to group, (n,) each.

    - ``ratio``, ``rise``: the sum over worse rows is ratio x + rise a, where x is that of the lower
      groups and a the share of this group that is counted;
    - ``step``: the target less that of the group below;
    - ``weight``: times x, the share in D of the pairs whose better row is in this group.
    """

    ratio: np.ndarray
    rise: np.ndarray
    step: np.ndarray
    weight: np.ndarray


@compiled(inner=True, error_model="numpy")
def sum_of(high, low, unit):
    """Return a sum whose terms, times unit, are ``high`` in whole and ``low`` in parts of 1."""
    return (np.float64(high) + np.float64(low) * (1.0 / FINE)) / unit


@compiled(inner=True, error_model="numpy")
def fill_factors(a, s, sign, top, unit, values):
    """Fill the factors ``values`` (n,) of rows of a slot in units of e^top.

    ``a`` and ``s`` (n,) are weights and scores. Returns their sum as `sum_of` takes it.
    """
    high, low = np.int64(0), np.int64(0)
    for i in range(values.shape[0]):
        values[i] = np.exp(sign * s[i] - top + np.log(a[i]))
        x = unit * values[i]
        whole = np.int64(x)
        high += whole
        low += np.int64((x - whole) * FINE)
    return high, low


@compiled(error_model="numpy")
def fill_tops(groups, s, factors, tops):
    """Fill ``tops`` (n_slots,) with the logarithm of the largest factor of each stale slot."""
    for q in range(factors.group.shape[0]):
        if factors.stale[q]:
            g, tops[q] = factors.group[q], -np.inf
            for i in range(groups.starts[g], groups.starts[g + 1]):
                tops[q] = max(tops[q], factors.sign[q] * s[i] + np.log(groups.a[i]))


@compiled(error_model="numpy")
def compute_factors(groups, s, factors):
    """Fill the factors of stale slots in units of each one's largest, and their sums."""
    fill_tops(groups, s, factors, factors.shift)
    for q in range(factors.group.shape[0]):
        if not factors.stale[q]:
            continue
        g, sign, first = factors.group[q], factors.sign[q], factors.first[q]
        start, stop = groups.starts[g], groups.starts[g + 1]
        unit, top = MOST / (stop - start), factors.shift[q]
        values = factors.values[first : first + stop - start]
        high, low = fill_factors(groups.a[start:stop], s[start:stop], sign, top, unit, values)
        factors.sums[q] = factors.fresh[q] = sum_of(high, low, unit)


@compiled(error_model="numpy")
def fill_links(groups, factors, magnitude, push, links):
    """Fill the links; return the logarithm of the total weight of the pairs."""
    n, logs = groups.y.shape[0], np.empty((2, groups.y.shape[0]))
    for g in range(n):
        logs[0, g] = logs[1, g] = 0.0
    for q in range(factors.group.shape[0]):
        way = 1 if factors.sign[q] == BETTER else 0
        logs[way, factors.group[q]] = factors.shift[q] + np.log(factors.sums[q])
    lower = gaps = 0.0
    peak, top = -np.inf, -np.inf
    for g in range(n):
        if groups.is_lowest[g]:
            peak, lower, gaps = logs[0, g], 1.0, 0.0
            links.ratio[g], links.rise[g], links.step[g] = 0.0, 1.0, 0.0
            links.weight[g] = -np.inf
            continue
        step = groups.y[g] - groups.y[g - 1]
        gaps += step * lower
        exponent = peak + push * logs[1, g]
        links.step[g], links.weight[g] = step, exponent
        top = max(top, exponent + np.log(gaps if magnitude else lower))
        higher = max(peak, logs[0, g])
        links.ratio[g], links.rise[g] = np.exp(peak - higher), np.exp(logs[0, g] - higher)
        lower = links.ratio[g] * lower + links.rise[g]
        gaps *= links.ratio[g]
        peak = higher
    lower = gaps = total = 0.0
    for g in range(n):
        gaps += links.step[g] * lower
        total += np.exp(links.weight[g] - top) * (gaps if magnitude else lower)
        lower = links.ratio[g] * lower + links.rise[g]
        gaps *= links.ratio[g]
    total = top + np.log(total)
    for g in range(n):
        links.weight[g] = np.exp(links.weight[g] - total)
    return total


@compiled(error_model="numpy")
def find_shares(links, magnitude, better, worse):
    """Fill the shares in D of all pairs whose better row, or worse one, is in each group (n,)."""
    n = better.shape[0]
    lower = gaps = 0.0
    for g in range(n):
        gaps += links.step[g] * lower
        better[g] = links.weight[g] * (gaps if magnitude else lower)
        lower = links.ratio[g] * lower + links.rise[g]
        gaps *= links.ratio[g]
    lower = gaps = 0.0
    for g in range(n - 1, -1, -1):
        worse[g] = links.rise[g] * lower
        gaps = links.ratio[g] * gaps + (links.weight[g] if magnitude else 0.0)
        lower = links.ratio[g] * lower + links.step[g] * gaps
        lower += 0.0 if magnitude else links.weight[g]


@compiled(error_model="numpy")
def fill_shares(groups, factors, links, magnitude, up, down):
    """Fill the shares in D of the pairs of each row: ``up`` (m,) as the better one, ``down``."""
    n = groups.y.shape[0]
    better, worse = np.empty(n), np.empty(n)
    find_shares(links, magnitude, better, worse)
    for i in range(up.shape[0]):
        up[i] = down[i] = 0.0
    for q in range(factors.group.shape[0]):
        g, first = factors.group[q], factors.first[q] - groups.starts[factors.group[q]]
        out, share = (up, better[g]) if factors.sign[q] == BETTER else (down, worse[g])
        share /= factors.sums[q]
        for i in range(groups.starts[g], groups.starts[g + 1]):
            out[i] = share * factors.values[first + i]
