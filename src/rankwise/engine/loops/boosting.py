r"""RankBoost without its pairs.

Rows are sorted by (query, target); a *group* is a run of rows with the same of both. The pair of a
row i of group g and a row j of a later group g' of the query weighs

.. math:: D_{ij} \propto w_{gg'}\, a_i e^{s_i}\, a_j e^{-s_j} .

The two factors are kept as shares of their group's sums, which are kept as logarithms, so
scores of any size do no harm. Sums over all better or worse rows then follow from group to group
by a chain of ``links``: with x the sum over the lower groups in units of the largest of them, the
next one is r x + t A. A link is (r, t, step of the target, weight of the group as the better one).

Of a base ranker ``bin > cut`` all that counts is how much weight of the pairs it puts in the right
order (plus) and in the wrong one (minus). All cuts of a feature have theirs at once: from
histograms of the groups, or, for many groups, from trees over the bins. Histograms are of whole
numbers, so their sums are exact in any order.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload

from rankwise.engine.loops.bins import WIDTH, fill_column

# A choice must be better than one before it by more than the noise of sums.
TIE = 1e-12
# Powers of e by which factors may move before they are computed anew.
SPAN = 300.0
WIDE = 2.0**61
HALF = 2.0**32


@njit(cache=True, nogil=True)
def refresh(s, a, starts, A, B, shift, sums):
    """Fill the factors a e^s and a e^-s in units of each group's largest, and their sums."""
    for g in range(starts.shape[0] - 1):
        top, low = -np.inf, np.inf
        for i in range(starts[g], starts[g + 1]):
            top, low = max(top, s[i]), min(low, s[i])
        shift[g, 0], shift[g, 1] = top, -low
        up = down = 0.0
        for i in range(starts[g], starts[g + 1]):
            A[i], B[i] = a[i] * np.exp(s[i] - top), a[i] * np.exp(low - s[i])
            up += A[i]
            down += B[i]
        sums[g, 0], sums[g, 1] = up, down


@njit(cache=True, nogil=True)
def move(h, alpha, starts, lead, tail, s, A, B, sums):
    """Add alpha to the scores of the rows in h, and follow with the factors that are in use.

    The worst group of a query is never the better one, and the best never the worse.
    """
    for g in range(starts.shape[0] - 1):
        rows = slice(starts[g], starts[g + 1])
        scores, mine = s[rows], h[rows]
        for i in range(mine.shape[0]):
            scores[i] += alpha * mine[i]
        if not tail[g]:
            sums[g, 0] = _multiply(A[rows], mine, np.exp(alpha))
        if not lead[g]:
            sums[g, 1] = _multiply(B[rows], mine, np.exp(-alpha))


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _multiply(values, h, factor):
    """Multiply the values in h, and return the sum of all."""
    total = 0.0
    for i in range(h.shape[0]):
        values[i] *= 1.0 + (factor - 1.0) * h[i]
        total += values[i]
    return total


@njit(cache=True, nogil=True)
def find_links(y, lead, shift, sums, magnitude, links, logs):
    """Fill the links and the logarithms of the groups' sums; return that of the total weight."""
    n = y.shape[0]
    lower = gaps = 0.0
    peak, top = -np.inf, -np.inf
    for g in range(n):
        logs[g, 0] = shift[g, 0] + np.log(sums[g, 0])
        logs[g, 1] = shift[g, 1] + np.log(sums[g, 1])
        if lead[g]:
            peak, lower, gaps = logs[g, 0], 1.0, 0.0
            links[g, 0], links[g, 1], links[g, 2], links[g, 3] = 0.0, 1.0, 0.0, -np.inf
            continue
        step = y[g] - y[g - 1]
        gaps += step * lower
        exponent = peak + logs[g, 1]
        links[g, 2], links[g, 3] = step, exponent
        top = max(top, exponent + np.log(gaps if magnitude else lower))
        higher = max(peak, logs[g, 0])
        links[g, 0], links[g, 1] = np.exp(peak - higher), np.exp(logs[g, 0] - higher)
        lower = links[g, 0] * lower + links[g, 1]
        gaps *= links[g, 0]
        peak = higher
    total = 0.0
    for g in range(n):
        if lead[g]:
            lower, gaps = 1.0, 0.0
            continue
        gaps += links[g, 2] * lower
        total += np.exp(links[g, 3] - top) * (gaps if magnitude else lower)
        lower = links[g, 0] * lower + links[g, 1]
        gaps *= links[g, 0]
    total = top + np.log(total)
    for g in range(n):
        links[g, 3] = np.exp(links[g, 3] - total)
    return total


@njit(cache=True, nogil=True)
def sides(h, starts, lead, tail, A, B, sums, links, magnitude):
    """Return (plus, minus) of the base ranker that is 1 for the rows in h."""
    plus = minus = low0 = low1 = gap0 = gap1 = 0.0
    for g in range(starts.shape[0] - 1):
        r, t, step, c = links[g, 0], links[g, 1], links[g, 2], links[g, 3]
        if not lead[g]:
            gap0 += step * low0
            gap1 += step * low1
            b0, b1 = _shared(h[starts[g] : starts[g + 1]], B[starts[g] : starts[g + 1]])
            plus += c * (gap0 if magnitude else low0) * (b1 / sums[g, 1])
            minus += c * (gap1 if magnitude else low1) * (b0 / sums[g, 1])
        if not tail[g]:
            a0, a1 = _shared(h[starts[g] : starts[g + 1]], A[starts[g] : starts[g + 1]])
            low0 = r * low0 + t * (a0 / sums[g, 0])
            low1 = r * low1 + t * (a1 / sums[g, 0])
            gap0 *= r
            gap1 *= r
    return plus, minus


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _shared(h, values):
    """Return the sums of the values of the rows that are not in h, and of those that are."""
    out = within = 0.0
    for i in range(h.shape[0]):
        within += h[i] * values[i]
        out += (1 - h[i]) * values[i]
    return out, within


@njit(cache=True, nogil=True)
def potentials(starts, A, B, sums, links, magnitude, out):
    """Fill what D gives each row as the better of its pairs, less what it gives it as the worse.

    In whole numbers, 2^61 being the weight of all pairs.
    """
    n = starts.shape[0] - 1
    worse, better = np.empty(n), np.empty(n)
    lower = gaps = 0.0
    for g in range(n):
        r, t, step, c = links[g, 0], links[g, 1], links[g, 2], links[g, 3]
        gaps += step * lower
        better[g] = c * (gaps if magnitude else lower)
        lower = r * lower + t
        gaps *= r
    lower = gaps = 0.0
    for g in range(n - 1, -1, -1):
        r, t, step, c = links[g, 0], links[g, 1], links[g, 2], links[g, 3]
        worse[g] = t * lower
        gaps = r * gaps + (c if magnitude else 0.0)
        lower = r * lower + step * gaps + (0.0 if magnitude else c)
    for g in range(n):
        up, down = WIDE * better[g] / sums[g, 1], WIDE * worse[g] / sums[g, 0]
        for i in range(starts[g], starts[g + 1]):
            out[i] = np.int64(up * B[i] - down * A[i])


@njit(cache=True, nogil=True)
def shares(starts, A, B, sums, lead, tail, values, packed):
    """Fill the shares of the rows in their groups' sums, as whole numbers.

    If ``packed``, both shares of a row are the halves of one word, and one addition
    adds both; otherwise there is a plane for each.
    """
    for g in range(starts.shape[0] - 1):
        rows = slice(starts[g], starts[g + 1])
        a, b = A[rows], B[rows]
        if packed:
            room = HALF - a.shape[0] - 2
            up, down, words = room / sums[g, 0], room / sums[g, 1], values[0, rows]
            for i in range(words.shape[0]):
                words[i] = (np.int64(up * a[i] + 0.5) << 32) | np.int64(down * b[i] + 0.5)
        else:
            if not tail[g]:
                _scale(a, WIDE / sums[g, 0], values[0, rows])
            if not lead[g]:
                _scale(b, WIDE / sums[g, 1], values[1, rows])


@njit(cache=True, nogil=True)
def _scale(values, factor, out):
    for i in range(out.shape[0]):
        out[i] = np.int64(factor * values[i])


def add_bins(bins, begin, end, values, starts, skip, groups, totals, hist):  # pragma: no cover
    """Add the values of the rows to the bins of features begin to end, group by group."""
    raise TypeError("add_bins runs in compiled code only")


@overload(add_bins)
def _add_bins(bins, begin, end, values, starts, skip, groups, totals, hist):
    if isinstance(bins.types[0], types.Array) and bins.types[0].ndim == 3:

        def dense(bins, begin, end, values, starts, skip, groups, totals, hist):
            block = bins.codes[begin // WIDTH]
            for g in range(starts.shape[0] - 1):
                if skip[g]:
                    continue
                cells = hist[g]
                rows, mine = block[starts[g] : starts[g + 1]], values[starts[g] : starts[g + 1]]
                if end - begin == WIDTH:
                    for i in range(mine.shape[0]):
                        value = mine[i]
                        for k in range(WIDTH):
                            cells[k, rows[i, k]] += value
                else:
                    for i in range(mine.shape[0]):
                        value = mine[i]
                        for k in range(end - begin):
                            cells[k, rows[i, k]] += value

        return dense

    def by_column(bins, begin, end, values, starts, skip, groups, totals, hist):
        for f in range(begin, end):
            cells, zero = hist[:, f - begin], bins.zero[f]
            for g in range(starts.shape[0] - 1):
                if not skip[g]:
                    cells[g, zero] += totals[g]
            for p in range(bins.indptr[f], bins.indptr[f + 1]):
                i = bins.rows[p]
                g = groups[i]
                if not skip[g]:
                    cells[g, bins.codes[p]] += values[i]
                    cells[g, zero] -= values[i]

    return by_column


@njit(cache=True, nogil=True)
def group_totals(values, starts, out):
    """Fill the sums of the values of each group."""
    for g in range(starts.shape[0] - 1):
        total = np.int64(0)
        for i in range(starts[g], starts[g + 1]):
            total += values[i]
        out[g] = total


@njit(cache=True, nogil=True)
def _choose(plus, minus, n_bins, side, limit, best):
    """Let ``best`` be (Z, position of the cut, side of the missing) if one here is better.

    Z is for the best step, whose size is at most half the logarithm of the limit.
    """
    most = np.sqrt(limit)
    for p in range(n_bins):
        right, wrong = max(plus[p], 0.0), max(minus[p], 0.0)
        low, high = min(right, wrong), max(right, wrong)
        z = 1.0 - right - wrong
        z += high / most + low * most if high > limit * low else 2.0 * np.sqrt(right * wrong)
        if z < best[0] - TIE:
            best[0], best[1], best[2] = z, p, side


@njit(cache=True, nogil=True)
def search_groups(
    bins, first, last, values, starts, skip, groups, totals, links, packed, magnitude, limit, out
):
    """Fill the best cut of the features first to last, from histograms of the groups."""
    n_groups, stride = starts.shape[0] - 1, bins.n_bins.max() + 1
    hist = np.empty((values.shape[0], n_groups, WIDTH, stride), dtype=np.int64)
    chain, found, low = np.empty((4, stride)), np.empty((2, stride)), np.empty((2, stride))
    for begin in range(first, last, WIDTH):
        end = min(begin + WIDTH, last)
        hist[:] = 0
        for plane in range(values.shape[0]):
            add_bins(
                bins, begin, end, values[plane], starts, skip[plane], groups, totals[plane],
                hist[plane],
            )  # fmt: skip
        for f in range(begin, end):
            n_bins = bins.n_bins[f]
            out[f - first, 0] = np.inf
            for side in range(1 + bins.missing[f]):
                chain[:] = 0.0
                found[:] = 0.0
                for g in range(n_groups):
                    if packed:
                        _share_of_halves(hist[0, g, f - begin], n_bins, side, low)
                    else:
                        for plane in range(2):
                            if not skip[plane, g]:
                                _share(hist[plane, g, f - begin], n_bins, side, low[plane])
                    _follow(links[g], n_bins, magnitude, low, chain, found)
                _choose(found[0], found[1], n_bins, side, limit, out[f - first])


@njit(cache=True, nogil=True)
def _share(hist, n_bins, side, low):
    """Fill the share of the group below each cut.

    Cut p has the bins below p on the low side; missing values are there too if ``side`` is 0.
    """
    total = hist[: n_bins + 1].sum()
    scale = 1.0 / max(total, 1)
    below = np.int64(0) if side else hist[n_bins]
    low[0] = below * scale
    for p in range(1, n_bins):
        below += hist[p - 1]
        low[p] = below * scale


@njit(cache=True, nogil=True)
def _share_of_halves(hist, n_bins, side, low):
    """Fill both shares of the group below each cut, from words of two halves."""
    half = np.int64(HALF - 1)
    # The halves are below 2^32 in sum, the upper one without a sign.
    total = hist[: n_bins + 1].sum()
    up = 1.0 / max((total >> 32) & half, 1)
    down = 1.0 / max(total & half, 1)
    below = np.int64(0) if side else hist[n_bins]
    for p in range(n_bins):
        if p > 0:
            below += hist[p - 1]
        low[0, p] = ((below >> 32) & half) * up
        low[1, p] = (below & half) * down


@njit(cache=True, nogil=True)
def _follow(link, n_bins, magnitude, low, chain, found):
    """Go one group up the chain with all cuts of a feature."""
    r, t, step, c = link[0], link[1], link[2], link[3]
    low0, low1, gap0, gap1 = chain[0], chain[1], chain[2], chain[3]
    plus, minus, a, b = found[0], found[1], low[0], low[1]
    if magnitude:
        for p in range(n_bins):
            gap0[p] += step * low0[p]
            gap1[p] += step * low1[p]
            plus[p] += c * gap0[p] * (1.0 - b[p])
            minus[p] += c * gap1[p] * b[p]
            gap0[p] *= r
            gap1[p] *= r
    elif c > 0.0:
        for p in range(n_bins):
            plus[p] += c * low0[p] * (1.0 - b[p])
            minus[p] += c * low1[p] * b[p]
    for p in range(n_bins):
        low0[p] = r * low0[p] + t * a[p]
        low1[p] = r * low1[p] + t * (1.0 - a[p])


@njit(cache=True, nogil=True)
def search_edges(bins, first, last, values, starts, skip, groups, totals, out):
    """Fill the cut of the features first to last with the largest |plus - minus|, negated."""
    hist = np.empty((1, WIDTH, bins.n_bins.max() + 1), dtype=np.int64)
    for begin in range(first, last, WIDTH):
        end = min(begin + WIDTH, last)
        hist[:] = 0
        add_bins(bins, begin, end, values, starts, skip, groups, totals, hist)
        for f in range(begin, end):
            best, cells, n_bins = out[f - first], hist[0, f - begin], bins.n_bins[f]
            best[0] = np.inf
            for side in range(1 + bins.missing[f]):
                low = np.int64(0)
                for p in range(n_bins):
                    if p > 0 or side == 0:
                        low += cells[n_bins if p == 0 else p - 1]
                    value = -abs(low / WIDE)
                    if value < best[0] - TIE:
                        best[0], best[1], best[2] = value, p, side


@njit(cache=True, nogil=True)
def lazy_scales(logs, lead, tail, total, scales):
    """Fill the scales by which trees over the bins are filled and read, walking up and down.

    A tree holds factors in units of e^c, and c moves only when a factor exceeds it by SPAN:
    ``scales[way, g]`` is (what the tree is multiplied by before group g goes in, factor of what
    goes in, factor of what is read before).
    """
    n = lead.shape[0]
    for way in range(2):
        c = 0.0
        for step in range(n):
            g = step if way == 0 else n - 1 - step
            mine = logs[g, way]
            if lead[g] if way == 0 else tail[g]:
                c = mine
            scales[way, g, 2] = np.exp(logs[g, 1 - way] + c - total)
            scales[way, g, 0] = 1.0
            if mine > c + SPAN:
                scales[way, g, 0] = np.exp(c - mine)
                c = mine
            scales[way, g, 1] = np.exp(mine - c)


@njit(cache=True, nogil=True)
def search_dominance(
    bins, first, last, y, starts, lead, tail, A, B, sums, scales, magnitude, limit, out
):
    """Fill the best cut of the features first to last, whatever the number of groups.

    A walk up the targets keeps a tree of the worse rows over the bins, one down a tree of the
    better ones; each row then says where the pairs that it is in begin or cease to be split.
    """
    stride = bins.n_bins.max() + 2
    column = np.empty(A.shape[0], dtype=np.int64)
    tree, found = np.zeros((2, stride + 1)), np.empty((2, stride))
    for f in range(first, last):
        out[f - first, 0] = np.inf
        n_bins = bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            fill_column(bins, f, column)
            place_missing(column, n_bins, side)
            found[:] = 0.0
            _walk(column, y, starts, lead, A, B, sums, 0, scales[0], magnitude, tree, found)
            _walk(column, y, starts, tail, B, A, sums, 1, scales[1], magnitude, tree, found)
            for p in range(1, n_bins):
                found[0, p] += found[0, p - 1]
                found[1, p] += found[1, p - 1]
            _choose(found[0], found[1], n_bins, side, limit, out[f - first])


@njit(cache=True, nogil=True)
def place_missing(column, n_bins, side):
    """Make room for missing values: before the first bin, or after the last."""
    for i in range(column.shape[0]):
        column[i] = column[i] + 1 if column[i] < n_bins else (n_bins + 1) * side


@njit(cache=True, nogil=True)
def _walk(column, y, starts, resets, kept, asked, sums, way, scales, magnitude, tree, found):
    """Add to ``found`` where pairs begin (the way down) or cease (the way up) to be split."""
    n, size = resets.shape[0], tree.shape[1]
    whole = moment = 0.0
    begun = 0 if way == 0 else starts[n]
    tree[:] = 0.0
    for step in range(n):
        g = step if way == 0 else n - 1 - step
        rescale, into, out = scales[g, 0], scales[g, 1], scales[g, 2]
        if resets[g]:
            now = starts[g] if way == 0 else starts[g + 1]
            for i in range(min(begun, now), max(begun, now)):
                p = column[i] + 1
                while p < size and (tree[0, p] != 0.0 or tree[1, p] != 0.0):
                    tree[0, p] = tree[1, p] = 0.0
                    p += p & -p
            whole = moment = 0.0
            begun = now
        else:
            for i in range(starts[g], starts[g + 1]):
                bin_ = column[i]
                below, upto = _prefix(tree, bin_), _prefix(tree, bin_ + 1)
                if magnitude:
                    lower = y[g] * below[0] - below[1]
                    higher = y[g] * (whole - upto[0]) - (moment - upto[1])
                else:
                    lower, higher = below[0], whole - upto[0]
                value = asked[i] / sums[g, 1 - way] * out
                if way == 0:
                    found[0, bin_] -= value * lower
                    found[1, bin_] += value * higher
                else:
                    sign = -1.0 if magnitude else 1.0
                    found[0, bin_] += value * higher * sign
                    found[1, bin_] -= value * lower * sign
        if rescale != 1.0:
            tree *= rescale
            whole *= rescale
            moment *= rescale
        for i in range(starts[g], starts[g + 1]):
            value = kept[i] / sums[g, way] * into
            whole += value
            moment += value * y[g]
            p = column[i] + 1
            while p < size:
                tree[0, p] += value
                tree[1, p] += value * y[g]
                p += p & -p


@njit(cache=True, nogil=True)
def _prefix(tree, p):
    value = moment = 0.0
    while p > 0:
        value += tree[0, p]
        moment += tree[1, p]
        p &= p - 1
    return value, moment


@njit(cache=True, nogil=True)
def pair_shares(s, worse, better, logs, D):
    """Fill the shares of given pairs in the weight of all; return the logarithm of the latter."""
    top = -np.inf
    for p in range(D.shape[0]):
        D[p] = logs[p] + s[worse[p]] - s[better[p]]
        top = max(top, D[p])
    total = 0.0
    for p in range(D.shape[0]):
        D[p] = np.exp(D[p] - top)
        total += D[p]
    for p in range(D.shape[0]):
        D[p] /= total
    return top + np.log(total)


@njit(cache=True, nogil=True)
def pair_potentials(worse, better, D, out):
    """Fill the potentials of the rows, as `potentials` does."""
    out[:] = 0
    for p in range(D.shape[0]):
        value = np.int64(WIDE * D[p])
        out[better[p]] += value
        out[worse[p]] -= value


@njit(cache=True, nogil=True)
def pair_sides(h, worse, better, D):
    """Return (plus, minus) of the base ranker that is 1 for the rows in h."""
    plus = minus = 0.0
    for p in range(D.shape[0]):
        plus += D[p] * (h[better[p]] > h[worse[p]])
        minus += D[p] * (h[better[p]] < h[worse[p]])
    return plus, minus


@njit(cache=True, nogil=True)
def search_pairs(bins, first, last, worse, better, D, n_rows, limit, out):
    """Fill the best cut of the features first to last, for given pairs."""
    column = np.empty(n_rows, dtype=np.int64)
    found = np.empty((2, bins.n_bins.max() + 2))
    for f in range(first, last):
        out[f - first, 0] = np.inf
        n_bins = bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            fill_column(bins, f, column)
            place_missing(column, n_bins, side)
            found[:] = 0.0
            for p in range(D.shape[0]):
                i, j = column[worse[p]], column[better[p]]
                if i < j:
                    found[0, i] += D[p]
                    found[0, j] -= D[p]
                elif j < i:
                    found[1, j] += D[p]
                    found[1, i] -= D[p]
            for p in range(1, n_bins):
                found[0, p] += found[0, p - 1]
                found[1, p] += found[1, p - 1]
            _choose(found[0], found[1], n_bins, side, limit, out[f - first])


def fill_split(bins, f, cut, above, h):  # pragma: no cover
    """Fill h with the base ranker: 1 for rows above the cut, and for missing ones if ``above``."""
    raise TypeError("fill_split runs in compiled code only")


@overload(fill_split)
def _fill_split(bins, f, cut, above, h):
    if isinstance(bins.types[0], types.Array) and bins.types[0].ndim == 3:

        def dense(bins, f, cut, above, h):
            # A missing value has the highest code.
            block, k, top = bins.codes[f // WIDTH], f % WIDTH, bins.n_bins[f] - 1 + above
            for i in range(h.shape[0]):
                code = block[i, k]
                h[i] = (code >= cut) & (code <= top)

        return dense

    def by_column(bins, f, cut, above, h):
        h[:] = bins.zero[f] >= cut
        for p in range(bins.indptr[f], bins.indptr[f + 1]):
            code = bins.codes[p]
            h[bins.rows[p]] = above if code == bins.n_bins[f] else code >= cut

    return by_column


@njit(cache=True, nogil=True)
def split(bins, f, cut, above, h):
    """Fill h as `fill_split` does, and return how many rows are in it."""
    fill_split(bins, f, cut, above, h)
    total = 0
    for i in range(h.shape[0]):
        total += h[i]
    return total
