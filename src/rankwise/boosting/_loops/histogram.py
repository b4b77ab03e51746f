"""Bins of values, histograms over bins, the best cut or split of a histogram, sums over groups.

The bin of a value is the number of edges below it; a missing value has the bin after the last one
of its feature. Functions of a range, ``first`` to ``last``, of features or rows write to places of
their own, so that threads that share it compute the same sums in the same order.
"""

from typing import NamedTuple

import numpy as np

from rankwise._core.compilation import compiled

# Equal parts of the range of a feature, which say where to begin to look for a value.
CELLS = 1024
# Rows that are put into bins at a time, so that they stay in the cache.
TILE = 256
# A cut must be better than one before it by more than the rounding error of sums.
CUT_TIE = 1e-12
# The same for the gain of a split, as a share of its score.
SPLIT_TIE = 1e-9

# The sums that a bin of a tree's node holds: gradients, Hessians, and rows, repetitions counted.
GRADIENT, HESSIAN, COUNT = 0, 1, 2


class Bins(NamedTuple):
    """The bins of m rows and d features, dense or in the form of a CSC matrix.

    - ``codes``: feature f has the codes ``codes[starts[f] : starts[f + 1]]``, those of all rows if
      dense, else those of its entries;
    - ``starts`` (d + 1,);
    - ``rows``: the rows of the entries, rising in a feature; empty if dense;
    - ``zero`` (d,): the bin of rows without an entry; empty if dense;
    - ``n_bins`` (d,): the number of bins of each feature;
    - ``missing`` (d,): whether the feature has missing values;
    - ``sparse``: whether these are entries.
    """

    codes: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    zero: np.ndarray
    n_bins: np.ndarray
    missing: np.ndarray
    sparse: bool

    def spread(self, f, m):
        """Return the codes of all m rows for feature f, if these are entries."""
        codes, some = np.full(m, self.zero[f]), slice(self.starts[f], self.starts[f + 1])
        codes[self.rows[some]] = self.codes[some]
        return codes


@compiled(error_model="numpy")
def bin_rows(
    X, order, edges, starts, cells, low, scale, codes, missing, values, places, first, last
):
    """Fill the codes (d, m) of the rows ``order[first:last]`` of X, and mark missing values.

    ``edges[starts[f] : starts[f + 1]]`` are those of feature f, rising, the last one infinity; see
    `rankwise.boosting.binning.BinMapper` for the other tables. ``values`` and ``places`` are room
    for a number of each of `TILE` rows.
    """
    for begin in range(first, last, TILE):
        n = min(TILE, last - begin)
        for f in range(X.shape[1]):
            table, own, column = cells[f], edges[starts[f] : starts[f + 1]], codes[f, begin:last]
            for t in range(n):
                x = values[t] = X[order[begin + t], f]
                way = (0.5 * x - low[f]) * scale[f]
                way = way if way > 0.0 else 0.0
                places[t] = np.int32(way if way < CELLS - 1.0 else CELLS - 1.0)
            for t in range(n):
                x, cell = values[t], np.uint32(places[t])
                left = np.uint64(table[cell])
                # most cells have one edge or none: no branch that can't be foreseen
                left += np.uint64(own[left] < x)
                if own[left] < x:
                    right = np.uint64(table[cell + np.uint32(1)])
                    while left < right:
                        middle = (left + right) >> np.uint64(1)
                        if own[middle] < x:
                            left = middle + np.uint64(1)
                        else:
                            right = middle
                column[t] = left
            for t in range(n):
                if np.isnan(values[t]):
                    column[t], missing[f] = own.shape[0], True


@compiled(error_model="numpy")
def fill_histograms(bins, features, rows, gradients, hessians, counts, hist, first, last):
    """Add some rows (n,) of a node to its histogram (d, stride, 3), for some features.

    These are ``features[first:last]``. ``gradients``, ``hessians`` and ``counts`` (m,) are of all
    rows.
    """
    n = rows.shape[0]
    # values in the order of the rows, or, for entries, in the places of all rows
    values, total = np.zeros((gradients.shape[0] if bins.sparse else n, 3)), np.zeros(3)
    for t in range(n):
        i = rows[t]
        mine = values[i if bins.sparse else t]
        mine[GRADIENT], mine[HESSIAN], mine[COUNT] = gradients[i], hessians[i], counts[i]
        for k in range(3):
            total[k] += mine[k]
    if bins.sparse:
        for f in features[first:last]:
            column, cells, rest = (
                bins.codes[bins.starts[f] : bins.starts[f + 1]],
                hist[f],
                total.copy(),
            )
            for p in range(column.shape[0]):
                cell, mine = cells[column[p]], values[bins.rows[bins.starts[f] + p]]
                for k in range(3):
                    cell[k] += mine[k]
                    rest[k] -= mine[k]
            for k in range(3):
                cells[bins.zero[f], k] += rest[k]
        return
    spare = np.zeros(hist.shape[1:])
    # two features at a time, since additions to one bin wait for each other
    for at in range(first, last, 2):
        f, g = features[at], features[min(at + 1, last - 1)]
        one, other = bins.codes[bins.starts[f] :], bins.codes[bins.starts[g] :]
        cells, others = hist[f], hist[g] if f < g else spare
        for t in range(n):
            i = rows[t]
            cell, next_cell = cells[one[i]], others[other[i]]
            for k in range(3):
                cell[k] += values[t, k]
                next_cell[k] += values[t, k]


@compiled(error_model="numpy")
def find_splits(hist, n_bins, missing, total, l2, min_rows, best, first, last):
    """Let ``best`` (d, 3) be (gain, cut, side of the missing) of features first to last.

    Cut p has the bins below p on the low side; missing values are there too if the side is 0.
    ``total`` (3,) is what the node sums up to.
    """
    g_all, h_all, n_all = total[GRADIENT], total[HESSIAN], total[COUNT]
    before = g_all * g_all / (h_all + l2)
    for f in range(first, last):
        best[f, 0] = best[f, 1] = best[f, 2] = 0.0
        cells, highest = hist[f], before
        for side in range(1 + missing[f]):
            g = h = n = 0.0
            for p in range(side, n_bins[f]):
                # the cut at 0 has only the missing values below; to leave out empty bins, where
                # nothing changes, would cost a branch that can't be foreseen
                cell = cells[p - 1 if p > 0 else n_bins[f]]
                g += cell[GRADIENT]
                h += cell[HESSIAN]
                n += cell[COUNT]
                if n < min_rows:
                    continue
                if n_all - n < min_rows:
                    break
                low, high = h + l2, h_all - h + l2
                score = g * g * high + (g_all - g) * (g_all - g) * low  # times low and high
                if score * (1.0 - SPLIT_TIE) > highest * low * high:
                    highest = score / (low * high)
                    best[f, 0], best[f, 1], best[f, 2] = highest - before, p, side


@compiled(error_model="numpy")
def fill_slots(bins, values, kinds, row_spans, picked, spans, hist, offset, first, last):
    """Add the values of picked rows to the histograms of slots.

    Parameters
    ----------
    bins : Bins
    values : ndarray of shape (n_kinds, any)
        Those of the rows that are picked; for entries, those of all rows, 0 if not picked.
    kinds : ndarray of shape (n_slots,)
        Which of the values a slot takes.
    row_spans : ndarray of shape (n_slots, 2)
        Where its rows begin and end.
    picked : ndarray of shape (n,)
        The rows that are picked, rising.
    spans : ndarray of shape (n_slots, 2)
        Where those of the slot begin and end among them.
    hist : ndarray of shape (any, n_slots, stride)
        Those of the features from ``offset`` on, of which ``first`` to ``last`` are filled.
    offset, first, last : int
    """
    for f in range(first, last):
        begin, end = bins.starts[offset + f], bins.starts[offset + f + 1]
        column = bins.codes[begin:end]
        for q in range(kinds.shape[0]):
            cells, mine = hist[f, q], values[kinds[q]]
            if not bins.sparse:
                for t in range(spans[q, 0], spans[q, 1]):
                    cells[column[picked[t]]] += mine[t]
                continue
            rest = 0.0
            for i in range(row_spans[q, 0], row_spans[q, 1]):
                rest += mine[i]
            p, after = begin, end
            while p < after:  # the first entry of the rows of the slot
                middle = (p + after) // 2
                if bins.rows[middle] < row_spans[q, 0]:
                    p = middle + 1
                else:
                    after = middle
            while p < end and bins.rows[p] < row_spans[q, 1]:
                cells[bins.codes[p]] += mine[bins.rows[p]]
                rest -= mine[bins.rows[p]]
                p += 1
            cells[bins.zero[offset + f]] += rest


@compiled(error_model="numpy")
def sum_before(logs, log_steps, opens, out):
    """Return ``out`` (2, n) with the logarithms of sums over the groups before each, in its query.

    First come the plain sums, then those in which a group counts times the distance of the targets.

    Parameters
    ----------
    logs : ndarray of shape (n,)
        The logarithm of what each group adds.
    log_steps : ndarray of shape (n,)
        The logarithm of the distance between the target of a group and that of the one before.
    opens : ndarray of shape (n,)
        Whether a group is the first of its query.
    """
    for g in range(logs.shape[0]):
        if opens[g]:
            out[0, g] = out[1, g] = -np.inf
        else:
            out[0, g] = np.logaddexp(out[0, g - 1], logs[g - 1])
            out[1, g] = np.logaddexp(out[1, g - 1], log_steps[g] + out[0, g])
    return out


@compiled(inner=True, error_model="numpy")
def choose(plus, minus, n_bins, edge, limit, side, best):
    """Let ``best`` be (value, cut, side of the missing) if a cut here has a lower value.

    ``plus`` and ``minus`` are the shares of pairs that each cut puts in the right order, and in
    the wrong one. The value is Z of the best step, of at most half the logarithm of ``limit``, or
    minus the edge.
    """
    most, least = np.sqrt(limit), 1.0 / np.sqrt(limit)
    for p in range(n_bins):
        right, wrong = max(plus[p], 0.0), max(minus[p], 0.0)
        low, high = min(right, wrong), max(right, wrong)
        capped, free = high * least + low * most, 2.0 * np.sqrt(right * wrong)
        value = 1.0 - right - wrong + (capped if high > limit * low else free)
        if edge:
            value = low - high
        if value < best[0] - CUT_TIE:
            best[0], best[1], best[2] = value, p, side


@compiled(error_model="numpy")
def choose_slot_cuts(
    hist, bins, kinds, groups, links, edge, limit, best, offset, room, first, last
):
    """Let ``best`` (d, 3) be (value, cut, side of the missing) of some features.

    Parameters
    ----------
    hist : ndarray of shape (any, n_slots, stride)
        Histograms of the weights of each slot: of the rows of a group as worse ones (kind 0) or
        better ones (kind 1) of pairs. They are those of the features from ``offset`` on, of which
        ``first`` to ``last`` are searched.
    bins : Bins
    kinds, groups : ndarrays of shape (n_slots,)
        The kind and group of each slot; groups rise, and the better slot of a group is first.
    links : ndarray of shape (4, n_groups)
        ``ratio``, ``rise``, ``blend`` and ``weight``, see `rankwise.boosting.stumps.StumpRounds`.
    edge, limit
        As in `choose`.
    best : ndarray
    room : ndarray of shape (4, stride)
        Room to work in.
    offset, first, last : int
    """
    ratio, rise, blend, weight = links[0], links[1], links[2], links[3]
    stride = hist.shape[2]
    below, gaps, plus, minus = room[0], room[1], room[2], room[3]
    for f in range(offset + first, offset + last):
        best[f, 0], n_bins = np.inf, bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            for p in range(stride):
                below[p] = gaps[p] = plus[p] = minus[p] = 0.0
            for q in range(kinds.shape[0]):
                cells, g, total = hist[f - offset, q], groups[q], 0.0
                for p in range(n_bins + 1):
                    total += cells[p]
                unit = 1.0 / total
                share = 0.0 if side else unit * cells[n_bins]
                for p in range(n_bins):
                    if kinds[q] == 1:
                        gaps[p] += blend[g] * (below[p] - gaps[p])
                        plus[p] += weight[g] * gaps[p] * (1.0 - share)
                        minus[p] += weight[g] * (1.0 - gaps[p]) * share
                    else:
                        below[p] = ratio[g] * below[p] + rise[g] * share
                    share += unit * cells[p]
            choose(plus, minus, n_bins, edge, limit, side, best[f])


@compiled(error_model="numpy")
def choose_edge_cuts(hist, bins, best):
    """Let ``best`` (d, 3) be (-edge, cut, side of the missing) of all features.

    ``hist`` (d, 1, stride) has the share of the pairs that a row is the better one of,
    less that of those that it is the worse one of: below a cut it sums up to minus the edge.
    """
    for f in range(hist.shape[0]):
        best[f, 0], cells, n_bins = np.inf, hist[f, 0], bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            total = 0.0 if side else cells[n_bins]
            for p in range(n_bins):
                if -abs(total) < best[f, 0] - CUT_TIE:
                    best[f, 0], best[f, 1], best[f, 2] = -abs(total), p, side
                total += cells[p]


@compiled(error_model="numpy")
def choose_pair_cuts(bins, worse, better, shares, n_rows, limit, best, first, last):
    """Let ``best`` be as in `choose_slot_cuts`, for given pairs with their shares in the loss.

    A pair is split by the cuts between the bins of its rows: each says where that begins and ends.
    """
    column = np.empty(n_rows, dtype=np.int64)
    plus, minus = np.empty((2, bins.n_bins.max() + 2))
    for f in range(first, last):
        best[f, 0], n_bins, begin = np.inf, bins.n_bins[f], bins.starts[f]
        for side in range(1 + bins.missing[f]):
            for i in range(n_rows):
                column[i] = bins.zero[f] if bins.sparse else np.int64(bins.codes[begin + i])
            for p in range(begin, bins.starts[f + 1] if bins.sparse else begin):
                column[bins.rows[p]] = bins.codes[p]
            for i in range(n_rows):
                column[i] = column[i] + 1 if column[i] < n_bins else (n_bins + 1) * side
            for p in range(n_bins + 2):
                plus[p] = minus[p] = 0.0
            for p in range(shares.shape[0]):
                i, j = column[worse[p]], column[better[p]]
                if i < j:
                    plus[i] += shares[p]
                    plus[j] -= shares[p]
                elif j < i:
                    minus[j] += shares[p]
                    minus[i] -= shares[p]
            for p in range(1, n_bins):
                plus[p] += plus[p - 1]
                minus[p] += minus[p - 1]
            choose(plus, minus, n_bins, False, limit, side, best[f])


@compiled(error_model="numpy")
def add_trees(X, features, cuts, missing_above, children, values, starts, first, last, out):
    """Add the trees first to last to the scores ``out`` (m,) of the rows X (m, d).

    The other arrays are those of `rankwise.boosting.predictor.Forest`.
    """
    for t in range(first, last):
        node, leaf = starts[t], starts[t] + t
        for i in range(X.shape[0]):
            at = 0
            while at >= 0:
                x = X[i, features[node + at]]
                above = missing_above[node + at] if np.isnan(x) else x > cuts[node + at]
                at = children[node + at, 1 if above else 0]
            out[i] += values[leaf + ~at]
