"""Sums over all pairs of rows whose residuals lie further apart than epsilon. Twin: the definition.

The rows of each query are sorted by r. The partners of row i below it, those with r_j < r_i - eps,
are then a window that only moves up, and sums of powers of r_i - eps - r_j follow it:
when r grows by a gap, each of these costs grows by it. Nothing is ever subtracted, so nothing
cancels.
"""

from rankwise._core.compilation import compiled


@compiled
def window_sums(r, a, starts, epsilon, power, gradient):
    """Return the sums of cost and cost^2; fill ``gradient`` with derivatives of cost^power by r.

    The cost of an ordered pair is max(0, r_i - r_j - epsilon), its weight a_i a_j. With a negative
    epsilon both orders of a pair may cost, and a row costs beside itself. ``a`` is empty if all
    rows weigh 1, ``gradient`` if none is wanted.
    """
    total, squares = 0.0, 0.0
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        count, first, second = 0.0, 0.0, 0.0
        subtotal, square = 0.0, 0.0
        edge = start
        for i in range(start, stop):
            gap = r[i] - r[max(i - 1, start)]
            second += gap * (2 * first + gap * count)
            first += gap * count
            while edge < stop and r[edge] < r[i] - epsilon:
                cost = r[i] - epsilon - r[edge]
                w = a[edge] if a.shape[0] > 0 else 1.0
                count += w
                first += w * cost
                second += w * cost * cost
                edge += 1
            w = a[i] if a.shape[0] > 0 else 1.0
            if gradient.shape[0] > 0:
                gradient[i] = w * (count if power == 1 else 2 * first)
            subtotal += w * first
            square += w * second
        total += subtotal
        squares += square
        if gradient.shape[0] == 0:
            continue
        count, first = 0.0, 0.0
        edge = stop - 1
        for i in range(stop - 1, start - 1, -1):
            first += (r[min(i + 1, stop - 1)] - r[i]) * count
            while edge >= start and r[i] < r[edge] - epsilon:
                w = a[edge] if a.shape[0] > 0 else 1.0
                count += w
                first += w * (r[edge] - epsilon - r[i])
                edge -= 1
            w = a[i] if a.shape[0] > 0 else 1.0
            gradient[i] -= w * (count if power == 1 else 2 * first)
    return total, squares
