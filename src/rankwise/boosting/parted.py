r"""One part of the rows of boosting, and what it is asked in a round.

The rows of a fit may lie in parts, on several machines or on disk. A part knows its rows: their
bins, weights and scores. What joins them are a few numbers for each slot (see
`rankwise.boosting._loops.weights`) and histograms, all of which add up over the parts.
`rankwise.boosting.parted_stumps` and `rankwise.boosting.parted_trees` ask.

Sums are whole numbers, so those of base rankers don't depend on how the rows are parted.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.pairs import Pairs
from rankwise._core.threads import Pool
from rankwise.boosting._loops import parted as loops
from rankwise.boosting._loops import trees as tree_loops
from rankwise.boosting._loops.bins import WIDTH, Dense, Part
from rankwise.boosting._loops.stumps import (
    WIDE,
    Split,
    State,
    Wholes,
    add_step,
    pick_side,
    split_rows,
)
from rankwise.boosting._loops.trees import Rule
from rankwise.boosting._loops.weights import Factors, Groups, Links, fill_tops
from rankwise.boosting.gradients import PairSlopes
from rankwise.boosting.pair_weights import AllPairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Answer = dict[str, Any]
# What is asked: the name of a method of `PartRows`, and its arguments.
Question = tuple[str, tuple[Any, ...]]
Ask = Callable[..., Answer]


class Slots(NamedTuple):
    """All slots of a fit: ``group`` and ``sign`` (n_slots,) as in `Factors`, of ``n_groups``."""

    group: Ints
    sign: Floats
    n_groups: int


def merge(one: Answer, other: Answer) -> Answer:
    """Return the answer of two parts: largest values for names that start with top, else sums."""
    return {
        name: np.maximum(value, other[name]) if name.startswith("top") else value + other[name]
        for name, value in one.items()
    }


class PartRows:
    """Some rows, in the order of their groups.

    Parameters
    ----------
    bins : Dense
        Their bins; ``missing`` says whether a feature is missing anywhere.
    groups : ndarray of shape (n,)
        The numbers of the groups that have rows here, rising.
    starts : ndarray of shape (n + 1,)
        Where the rows of each begin.
    a : ndarray of shape (m,)
        Row weights.
    counts : ndarray of shape (m,)
        How many rows each stands for.
    slots : Slots
    """

    def __init__(
        self,
        bins: Dense,
        groups: Ints,
        starts: Ints,
        a: Floats,
        counts: Ints,
        slots: Slots,
    ) -> None:
        m = len(a)
        self.bins, self.n_slots = bins, len(slots.group)
        place = np.searchsorted(groups, slots.group)
        inside = place < len(groups)
        inside[inside] = groups[place[inside]] == slots.group[inside]
        self.slots = np.flatnonzero(inside)
        group, sizes = place[self.slots], np.diff(starts)
        ends, n = np.cumsum(sizes[group]), len(self.slots)
        flags, none = np.zeros(len(groups), dtype=np.bool_), np.empty(0)
        self.state = State(
            groups=Groups(starts, flags, flags, np.zeros(len(groups)), a),
            factors=Factors(
                group=group,
                sign=slots.sign[self.slots],
                first=ends - sizes[group],
                values=np.empty(int(ends[-1]) if n else 0),
                shift=np.zeros(n),
                sums=np.ones(n),
                fresh=np.ones(n),
                stale=np.zeros(n, dtype=np.bool_),
            ),
            links=Links(none, none, none, none),
            wholes=Wholes(
                unit=np.ones(n),
                total=np.zeros(n, dtype=np.int64),
                begins=np.zeros(n, dtype=np.bool_),
                added=np.empty(int(ends[-1]) if n else 0, dtype=np.int64),
                exact=np.zeros((n, 2), dtype=np.int64),
            ),
            split=Split(
                h=np.zeros(m, dtype=np.uint8),
                picked=np.empty(m + 1, dtype=np.uint32),
                bounds=np.zeros(len(groups) + 1, dtype=np.int64),
                sums=np.empty((n, 2)),
                exact=np.zeros((n, 2), dtype=np.int64),
            ),
            rows=np.arange(m, dtype=np.uint32),
        )
        self.s, self.counts, self.groups = np.zeros(m), counts, groups
        self.shape = -(-len(bins.n_bins) // WIDTH), WIDTH, int(bins.n_bins.max()) + 1
        self.picks_above = True

    # ------------------------------------------------------------------ weights of the pairs

    def tops(self, stale: NDArray[np.bool_]) -> Answer:
        """Return the logarithm of the largest factor of each stale slot; -inf for none here."""
        state = self.state
        state.factors.stale[:] = stale[self.slots]
        tops, found = np.full(self.n_slots, -np.inf), np.full(len(self.slots), -np.inf)
        fill_tops(state.groups, self.s, state.factors, found)
        tops[self.slots] = found
        return {"top": tops}

    def refresh(self, tops: Floats, units: Floats) -> Answer:
        """Compute the factors of stale slots anew, in these units; return their sums."""
        factors = self.state.factors
        here = factors.stale
        factors.shift[here] = tops[self.slots][here]
        found = np.zeros((len(self.slots), 2), dtype=np.int64)
        loops.refresh_slots(self.state.groups, self.s, factors, units[self.slots], found)
        return {"sums": self._spread(found)}

    # ------------------------------------------------------------------ rounds of base rankers

    def begin(self, units: Floats, keeps: bool) -> Answer:
        """Round the factors of stale slots to whole numbers; return sums and histograms."""
        wholes, stale = self.state.wholes, self.state.factors.stale
        wholes.unit[stale] = units[self.slots][stale]
        wholes.begins[:] = stale
        loops.begin_slots(self.state)
        exact, total = wholes.exact.copy(), wholes.total.copy()
        exact[~stale], total[~stale] = 0, 0
        answer = {"exact": self._spread(exact), "total": self._spread(total)}
        if keeps:
            answer["hists"] = self._histograms(stale)
        return answer

    def edges(self, shares: Floats) -> Answer:
        """Return the histogram of the potentials, for the share of a factor of each slot."""
        up, down = self._shares(shares)
        values = (WIDE * (up - down)).astype(np.int64)
        return {"hist": self._histogram(self.state.rows, values)}

    def split(self, feature: int, cut: int, missing_above: int) -> Answer:
        """Split the rows by a cut; return how many are above, and the sums of their factors."""
        state = self.state
        n = int(split_rows(self.bins, feature, cut, missing_above, state.rows, state.split.h))
        self.picks_above = 2 * n <= len(self.s)
        pick_side(state, self.picks_above)
        above = state.split.exact
        above = above if self.picks_above else state.wholes.exact - above
        return {"n_above": n, "above": self._spread(above)}

    def step(
        self, alpha: float, picks_above: bool, stale: NDArray[np.bool_], keeps: bool
    ) -> Answer:
        """Add alpha above the cut; return how sums and histograms of slots that stay change."""
        state, here = self.state, stale[self.slots]
        wholes = state.wholes
        if picks_above != self.picks_above:
            pick_side(state, picks_above)
        exact, total = wholes.exact.copy(), wholes.total.copy()
        wholes.begins[:] = False
        add_step(state, self.s, alpha, picks_above)
        exact, total = wholes.exact - exact, wholes.total - total
        exact[here], total[here] = 0, 0
        answer = {"exact": self._spread(exact), "total": self._spread(total)}
        if keeps:
            answer["hists"] = self._histograms(~here)
        if stale.any():
            answer |= self.tops(stale)
        return answer

    # ------------------------------------------------------------------ rounds of trees

    def slopes(self, shares: Floats, query: Ints) -> Answer:
        """Compute gradients of the exponential loss; return the share of each query.

        ``query`` (n_groups,) is the query of each group.
        """
        up, down = self._shares(shares)
        self.g, self.h = down - up, down + up
        self.query = np.repeat(query[self.groups], np.diff(self.state.groups.starts))
        n = int(query[-1]) + 1
        return {"share": np.bincount(self.query, self.h, n)}

    def scale(self, factor: Floats) -> Answer:
        """Multiply the gradients of each query; return the sums of sizes and of curvature."""
        rows = factor[self.query]
        self.g *= rows
        self.h *= rows
        return {"size": np.abs(self.g).sum(), "bend": self.h.sum()}

    def pair_slopes(self, y: Floats, query: Ints, loss: str, pair_weight: str) -> Answer:
        """Compute gradients pair by pair, of queries that are whole; return their sums.

        ``y`` and ``query`` (n_groups,) are of all groups.
        """
        if not len(self.s):
            return {"size": 0.0, "bend": 0.0, "slope": 0.0, "weight": 0.0}
        if not hasattr(self, "pairs"):
            groups, sizes = self.groups, np.diff(self.state.groups.starts)
            rows = np.repeat(groups, sizes)
            kind = "magnitude" if pair_weight == "magnitude" else "uniform"
            of = Pairs(
                y[rows], qid=query[rows], sample_weight=self.state.groups.a, pair_weight=kind
            )
            self.pairs = AllPairs(of, 1.0)
            # the unit of the weights is that of all parts, also where those here are tiny
            a = self.state.groups.a[self.pairs.order]
            self.pairs.groups = self.pairs.groups._replace(a=a)
        with Pool(1) as pool:
            counts = self.counts[self.pairs.order]
            compute = PairSlopes(self.pairs, loss == "logistic", pair_weight, pool, counts)
            self.pairs.s[:] = self.s[self.pairs.order]
            g, h, slope, weight = compute.sums()
        self.g, self.h = np.empty((2, len(self.s)))
        self.g[self.pairs.order], self.h[self.pairs.order] = g, h
        size, bend = np.abs(self.g).sum(), self.h.sum()
        return {"size": size, "bend": bend, "slope": slope, "weight": weight}

    def plant(self, rule: Rule) -> Answer:
        """Begin a tree: return the sum of all rows and their histogram."""
        m = len(self.s)
        if not hasattr(self, "values"):
            self.values = np.empty((m, 2), dtype=np.int64)
            self.order, self.room = np.empty((2, m), dtype=np.uint32)
        tree_loops.fill_values(self.g, self.h, self.counts, rule, self.values)
        self.order[:] = np.arange(m)
        self.leaves = [(0, m)]
        return {
            "total": self.values.sum(axis=0),
            "hist": self._histogram(self.order, self.values),
        }

    def divide(
        self, leaf: int, feature: int, cut: int, missing_above: int, takes_above: bool
    ) -> Answer:
        """Split a leaf, the part above becoming the last leaf; return rows and sums below.

        The histogram is that of the side that is to be taken.
        """
        start, stop = self.leaves[leaf]
        rows = self.order[start:stop]
        below, g, hn = tree_loops.split_node(
            self.bins, feature, cut, missing_above, rows, self.values, self.state.split.h, self.room
        )
        middle = start + int(below)
        self.leaves[leaf] = start, middle
        self.leaves.append((middle, stop))
        taken = self.order[slice(*self.leaves[-1 if takes_above else leaf])]
        return {
            "below": int(below),
            "total": np.array([g, hn]),
            "hist": self._histogram(taken, self.values[taken]),
        }

    def sums(self) -> Answer:
        """Return gradient and curvature of each leaf."""
        found = np.zeros((len(self.leaves), 2))
        for k, (start, stop) in enumerate(self.leaves):
            rows = self.order[start:stop]
            found[k] = self.g[rows].sum(), self.h[rows].sum()
        return {"sums": found}

    def add(self, values: Floats) -> Answer:
        """Add the value of each leaf to the scores."""
        for value, (start, stop) in zip(values, self.leaves, strict=True):
            self.s[self.order[start:stop]] += value
        return {}

    # ------------------------------------------------------------------ parts of these

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the slots here as those of all slots."""
        out = np.zeros((self.n_slots, *values.shape[1:]), dtype=values.dtype)
        out[self.slots] = values
        return out

    def _shares(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the shares in D of the pairs of each row, given those of a factor of each slot."""
        up, down = np.zeros((2, len(self.s)))
        loops.spread_shares(self.state.groups, self.state.factors, shares[self.slots], up, down)
        return up, down

    def _histograms(self, which: NDArray[np.bool_]) -> Ints:
        """Return what some slots add to the histograms of all slots."""
        hists = np.zeros((self.shape[0], self.n_slots, *self.shape[1:]), dtype=np.int64)
        loops.fill_slots(self.bins, 0, self.shape[0], self.state, which, self.slots, hists)
        return hists

    def _histogram(self, rows: NDArray[np.uint32], values: Ints) -> Ints:
        """Return the histogram of some rows."""
        hist = np.zeros((*self.shape, *values.shape[1:]), dtype=np.int64)
        part = Part(rows, values, 0, np.zeros(values.shape[1:] or 1, dtype=np.int64))
        loops.fill_part(self.bins, 0, self.shape[0], part, hist)
        return hist
