r"""RankBoost: coordinate descent on the mean of :math:`e^{-(s_j - s_i)}` over pairs.

A round searches all features for the best cut, splits the rows by it, and steps the scores. For d
features of all pairs in k groups of equal target and query, it costs O(n d + d bins k), with n rows
on the smaller side of the last cut where histograms are kept, else all m of them.
``criterion="edge"`` costs O(m d) for any number of groups; P given pairs cost O(P d).
"""

import math

import numpy as np

from rankwise.engine.loops.boosting import given_pairs, stumps
from rankwise.engine.loops.boosting.bins import WIDTH, Dense, Part
from rankwise.engine.loops.boosting.stumps import TIE, WIDE, Objective, Split, State, Wholes
from rankwise.engine.pool import Pool
from rankwise.engine.solvers.boosting import AllPairs, Bins, Floats, GivenPairs, Tree, check_bins

# Groups whose histograms are always fewer than the rows are worth.
FEW_GROUPS = 32
# Bytes of histograms that may be kept, whatever the size of the bins.
KEPT = 1 << 24
# Powers of e by which scores may move before all factors are computed anew.
SPAN = 300.0


def few_groups(relation: AllPairs, bins: Bins) -> bool:
    """Return whether histograms of all groups cost no more than a pass through the rows."""
    n = len(relation.groups.y)
    return n <= FEW_GROUPS or n * (int(bins.n_bins.max()) + 1) <= len(relation.s)


class Stumps:
    """Rounds of RankBoost on all pairs, or on given pairs if ``relation`` is a list of them.

    Parameters
    ----------
    relation : AllPairs or GivenPairs
        The pairs; its scores are moved.
    bins : Dense or Sparse
        The features.
    criterion : {"loss", "edge"}
        Whether the base ranker with the smallest Z is taken, or that with the largest edge.
    pool : Pool
        Threads that share the features.
    """

    def __init__(
        self, relation: AllPairs | GivenPairs, bins: Bins, criterion: str, pool: Pool
    ) -> None:
        m = len(relation.s)
        check_bins(bins, m)
        self.relation, self.bins, self.pool = relation, bins, pool
        given = isinstance(relation, GivenPairs)
        self.objective = Objective(
            not given and relation.magnitude, criterion == "edge", relation.limit
        )
        self.first_log = relation.log_total
        self.found = np.empty((len(bins.n_bins), 3))
        n_slots = 0 if given else len(relation.factors.group)
        n_groups = 0 if given else len(relation.groups.y)
        self.split = Split(
            rows=np.arange(m, dtype=np.uint32),
            h=np.empty(m, dtype=np.uint8),
            picked=np.empty(m + 1, dtype=np.uint32),
            bounds=np.zeros(n_groups + 1, dtype=np.int64),
            sums=np.empty((n_slots, 2)),
        )
        self.travelled = 0.0
        if given:
            self.search = self._search_edges if criterion == "edge" else self._search_pairs
            return
        wholes = Wholes(
            unit=np.empty(n_slots),
            total=np.zeros(n_slots, dtype=np.int64),
            begins=np.ones(n_slots, dtype=np.bool_),
            added=np.empty(len(relation.factors.values), dtype=np.int64),
        )
        self.state = State(relation.groups, relation.factors, relation.links, wholes, self.split)
        self.by_edges = criterion == "edge" and not few_groups(relation, bins)
        self.search = self._search_edges if self.by_edges else self._search_slots
        n_blocks, stride = -(-len(bins.n_bins) // WIDTH), int(bins.n_bins.max()) + 1
        size = 8 * n_blocks * n_slots * WIDTH * stride
        kept = max(KEPT, bins.codes.nbytes) if isinstance(bins, Dense) else 0
        self.hists = None
        if not self.by_edges and size <= kept:
            self.hists = np.empty((n_blocks, n_slots, WIDTH, stride), dtype=np.int64)
        stumps.fill_wholes(self.state, True)

    def grow(self) -> Tree | None:
        """Take a round, and return it as a tree of two leaves; None if nothing is gained."""
        before, found = self.relation.log_total, self.search()
        # the first feature that is as good as the best
        feature = int(np.argmax(found[:, 0] <= found[:, 0].min() + TIE))
        value, cut, missing_above = found[feature].tolist()
        if value >= (0.0 if self.objective.edge else 1.0) - TIE:
            return None
        bins, split = self.bins, self.split
        n_above = stumps.split_rows(bins, feature, int(cut), int(missing_above), split)
        picks_above = 2 * n_above <= len(split.h)
        if isinstance(self.relation, GivenPairs):
            plus, minus = given_pairs.weigh_pair_sides(split.h, self.relation.pairs)
        else:
            plus, minus = stumps.weigh_split(self.state, picks_above, self.objective.magnitude)
        alpha = best_step(plus, minus, self.objective.limit)
        if not abs(alpha) > 0:
            return None
        self.add_step(alpha, picks_above)
        log_total = self.relation.log_total
        return Tree(
            features=np.array([feature]),
            cuts=np.array([int(cut)]),
            missing_above=np.array(
                [missing_above if bins.missing[feature] else not picks_above], bool
            ),
            gains=np.array([before - log_total]),
            children=np.array([[~0, ~1]]),
            values=np.array([0.0, alpha]),
            loss=math.exp(log_total - self.first_log),
        )

    def add_step(self, alpha: float, picks_above: bool) -> None:
        """Add alpha times the base ranker to the scores; all weights follow."""
        relation = self.relation
        if isinstance(relation, GivenPairs):
            relation.s += alpha * self.split.h
            relation.compute_weights()
            return
        stumps.add_step(self.state, relation.s, alpha, picks_above)
        self.travelled += abs(alpha)
        if self.travelled > SPAN:
            relation.factors.stale[:], self.travelled = True, 0.0
        relation.follow()
        stumps.fill_wholes(self.state, self.hists is None)

    def _search_slots(self) -> Floats:
        """Return (value, cut, side of the missing) of the best cut of each feature, (d, 3)."""
        wholes, d = self.state.wholes, len(self.found)
        stride = int(self.bins.n_bins.max()) + 1

        def search(first: int, last: int) -> None:
            hists = self.hists
            if hists is None:
                hists = np.empty((1, 1, WIDTH, stride), dtype=np.int64)
            stumps.search_slots(
                self.bins, first, last, self.state, self.objective, hists, self.found
            )

        entries = len(self.bins.codes)
        if isinstance(self.bins, Dense):
            n_picked = int(self.split.bounds[-1])
            entries = d * (len(self.split.h) if wholes.begins.any() else n_picked)
        return self._share(search, entries + d * len(wholes.unit) * stride)

    def _search_edges(self) -> Floats:
        """Return the same by the edges, from what each row has as better and as worse."""
        up, down = self.relation.shares()
        values = (WIDE * (up - down)).astype(np.int64)
        part = Part(self.split.rows, values, 0, int(values.sum()))

        def search(first: int, last: int) -> None:
            stumps.search_edges(self.bins, first, last, part, self.found)

        return self._share(search, self.bins.codes.size)

    def _search_pairs(self) -> Floats:
        """Return the same for given pairs, from the pairs themselves."""
        assert isinstance(self.relation, GivenPairs)
        pairs, m = self.relation.pairs, len(self.relation.s)

        def search(first: int, last: int) -> None:
            given_pairs.search_pairs(self.bins, first, last, pairs, m, self.objective, self.found)

        return self._share(search, (len(pairs.shares) + m) * len(self.found))

    def _share(self, search, work: float) -> Floats:
        self.pool.run_ranges(search, -(-len(self.found) // WIDTH), work=work)
        return self.found


def best_step(plus: float, minus: float, limit: float) -> float:
    """Return the step of least loss, whose size is at most half the logarithm of the limit."""
    cap = 0.5 * math.log(limit)
    if plus > 0 and minus > 0:
        return min(max(0.5 * (math.log(plus) - math.log(minus)), -cap), cap)
    if plus > 0:
        return cap
    return -cap if minus > 0 else 0.0
