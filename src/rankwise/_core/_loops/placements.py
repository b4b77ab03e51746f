"""Where the rows of one class lie among those of the other. Twin: the definition."""

from rankwise._core.compilation import compiled


@compiled
def placement_sums(pos, neg):
    """Return how many pairs are in the right order, and how the placements of both classes vary.

    Both classes are sorted. The placement of a positive row is the number of negative ones below
    it, that of a negative row the number of positive ones above it; a tie counts half.

    Returns
    -------
    right : int
        Twice the number of pairs in the right order.
    spread_pos, spread_neg : float
        Sum of squared differences between placements, as shares, and their mean.
    """
    n_pos, n_neg = pos.shape[0], neg.shape[0]
    right, lower, upper = 0, 0, 0
    for i in range(n_pos):
        while lower < n_neg and neg[lower] < pos[i]:
            lower += 1
        while upper < n_neg and neg[upper] <= pos[i]:
            upper += 1
        right += lower + upper
    share = right / (2.0 * n_pos * n_neg)
    return right, _spread(pos, neg, share), _spread(neg, pos, 1.0 - share)


@compiled
def _spread(mine, others, share):
    """Sum the squared differences between the share of others below each and ``share``."""
    n = others.shape[0]
    spread, lower, upper = 0.0, 0, 0
    for i in range(mine.shape[0]):
        while lower < n and others[lower] < mine[i]:
            lower += 1
        while upper < n and others[upper] <= mine[i]:
            upper += 1
        off = (lower + upper) / (2.0 * n) - share
        spread += off * off
    return spread


@compiled
def row_placements(s, rows, positive, n_pos, out):
    """Fill twice the placement of each row; s is sorted, the rest in the order of the input."""
    n = s.shape[0]
    below, below_pos = 0, 0
    i = 0
    while i < n:
        here_pos, begin = 0, i
        while i < n and s[i] == s[begin]:
            here_pos += positive[rows[i]]
            i += 1
        here_neg = i - begin - here_pos
        for k in range(begin, i):
            if positive[rows[k]]:
                out[rows[k]] = 2 * below + here_neg
            else:
                out[rows[k]] = 2 * (n_pos - below_pos) - here_pos
        below += here_neg
        below_pos += here_pos


@compiled
def row_ties(s, y, starts, tied):
    """Fill how many rows with the same s in the query have another y; rows sorted by (s, y)."""
    for q in range(starts.shape[0] - 1):
        i = starts[q]
        while i < starts[q + 1]:
            end = i
            while end < starts[q + 1] and s[end] == s[i]:
                end += 1
            begin = i
            while begin < end:
                stop = begin
                while stop < end and y[stop] == y[begin]:
                    stop += 1
                for row in range(begin, stop):
                    tied[row] = (end - i) - (stop - begin)
                begin = stop
            i = end
