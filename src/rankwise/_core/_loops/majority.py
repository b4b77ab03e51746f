"""Sums over votes, pair by pair and place by place."""

from rankwise._core.compilation import compiled


@compiled
def count_wins(items, levels, starts, weight, wins):
    """Add to ``wins[i, j]`` the weight of the votes that put i before j.

    Vote v is ``items[starts[v] : starts[v + 1]]``, best first; items of one level are tied.
    """
    for v in range(len(weight)):
        stop = starts[v + 1]
        behind = starts[v]
        for a in range(starts[v], stop):
            while behind < stop and levels[behind] <= levels[a]:
                behind += 1
            row = wins[items[a]]
            for b in range(behind, stop):
                row[items[b]] += weight[v]


@compiled
def order_cost(wins, order):
    """Return the weight of the votes against the pairs of an order."""
    total = 0.0
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            total += wins[order[b], order[a]]
    return total


@compiled
def common_divisor(margins):
    """Return the greatest common divisor of the numbers above the diagonal, 0 if one is no integer.

    Zeros don't count, and at least one number is none.
    """
    n = len(margins)
    divisor = 0
    for i in range(n):
        for j in range(i + 1, n):
            whole = int(margins[i, j])
            if whole != margins[i, j]:
                return 0
            whole = abs(whole)
            if divisor == 0 or whole % divisor:
                while whole:
                    divisor, whole = whole, divisor % whole
    return divisor
