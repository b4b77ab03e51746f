r"""RankBoost: coordinate descent on the mean of :math:`e^{-(s_j - s_i)}` over pairs.

A round searches all features for the best cut, splits the rows by it, and steps the scores. For d
features of all pairs in k groups of equal target and query, it costs O(n d + d bins k), with n rows
on the smaller side of the last cut where histograms are kept, else all m of them.
``criterion="edge"`` costs O(m d) for any number of groups; P given pairs cost O(P d).
`rankwise.boosting.steps` has the steps of the p-norm push and of the smooth margin.
"""

import math
from collections.abc import Callable

import numpy as np

from rankwise._core.threads import Pool
from rankwise.boosting._loops import given_pairs
from rankwise.boosting._loops import stumps as loops
from rankwise.boosting._loops.bins import WIDTH, Dense, Part
from rankwise.boosting._loops.stumps import TIE, WIDE, Objective, Split, State, Wholes
from rankwise.boosting.pair_weights import AllPairs, Bins, GivenPairs, Tree
from rankwise.boosting.steps import margin_step, push_step

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


class Rounds:
    """What rounds on all pairs and on given ones share; parameters are those of `StumpRounds`."""

    magnitude = False

    def __init__(
        self,
        relation: AllPairs | GivenPairs,
        bins: Bins,
        criterion: str,
        pool: Pool,
        step: str = "exact",
    ) -> None:
        m = len(relation.s)
        self.pairs, self.bins, self.pool, self.criterion = relation, bins, pool, criterion
        self.objective = Objective(self.magnitude, criterion == "edge", relation.limit)
        self.first_log = relation.log_total
        # the sum of the sizes of all steps, and whether they are to enlarge the smooth margin
        self.length, self.for_margin = 0.0, step == "smooth-margin"
        self.found, self.n_rows = np.empty((len(bins.n_bins), 3)), m
        self.rows, self.h = np.arange(m, dtype=np.uint32), np.empty(m, dtype=np.uint8)

    def grow(self) -> Tree | None:
        """Take a round, and return it as a tree of two leaves; None if nothing is gained."""
        before, bins = self.pairs.log_total, self.bins
        self.search()
        # the first feature that is as good as the best
        values = self.found[:, 0]
        feature = int(np.argmax(values <= values.min() + TIE))
        value, cut, missing_above = self.found[feature].tolist()
        if value >= (0.0 if self.objective.edge else 1.0) - TIE:
            return None
        n_above = self.split(feature, int(cut), int(missing_above))
        picks_above = 2 * n_above <= self.n_rows
        alpha = self.choose_step(picks_above)
        if not abs(alpha) > 0:
            return None
        self.add_step(alpha, picks_above)
        self.length += abs(alpha)
        above = missing_above if bins.missing[feature] else not picks_above
        return Tree(
            features=np.array([feature]),
            cuts=np.array([int(cut)]),
            missing_above=np.array([above], dtype=np.bool_),
            gains=np.array([before - self.pairs.log_total]),
            children=np.array([[~0, ~1]]),
            values=np.array([0.0, alpha]),
            loss=math.exp(self.pairs.log_total - self.first_log),
        )

    def search(self) -> None:
        """Fill ``found`` with (value, cut, side of the missing) of each feature's best cut."""
        raise NotImplementedError

    def split(self, feature: int, cut: int, missing_above: int) -> int:
        """Let h be the base ranker of a cut; return how many rows are above it."""
        n_above = loops.split_rows(self.bins, feature, cut, missing_above, self.rows, self.h)
        return int(n_above)

    def choose_step(self, picks_above: bool) -> float:
        """Return how far to go along h; ``picks_above`` is as in `weigh`."""
        (plus, minus), limit = self.weigh(picks_above), self.objective.limit
        # of the sum over the pairs, not the mean: the loss is under 1 once all of them are right
        log_sum = self.pairs.log_total - self.first_log + math.log(limit / 2)
        if self.for_margin and log_sum < 0:
            return margin_step(plus, minus, -log_sum, self.length, 0.5 * math.log(limit))
        return best_step(plus, minus, limit)

    def weigh(self, picks_above: bool) -> tuple[float, float]:
        """Return the weight of the pairs that h puts in the right order, and in the wrong one.

        ``picks_above`` says whether the rows above the cut are the fewer ones.
        """
        raise NotImplementedError

    def add_step(self, alpha: float, picks_above: bool) -> None:
        """Add alpha times h to the scores; all weights follow."""
        raise NotImplementedError

    def _search_edges(self) -> None:
        up, down = self.pairs.shares()
        values = (WIDE * (up - down)).astype(np.int64)
        part = Part(self.rows, values, 0, values.sum(keepdims=True))

        def search(first: int, last: int) -> None:
            loops.search_edges(self.bins, first, last, part, self.found)

        self._share(search, self.bins.codes.size)

    def _share(self, search: Callable[[int, int], None], work: float) -> None:
        self.pool.run_ranges(search, -(-len(self.found) // WIDTH), work=work)


class StumpRounds(Rounds):
    """Rounds of RankBoost on all pairs.

    Parameters
    ----------
    relation : AllPairs
        The pairs; its scores are moved.
    bins : Dense or Sparse
        The features.
    criterion : {"loss", "edge"}
        Whether the base ranker with the smallest Z is taken, or that with the largest edge.
    pool : Pool
        Threads that share the features.
    step : {"exact", "smooth-margin"}, default="exact"
        What a step makes best: the loss, or the smooth margin.
    """

    def __init__(
        self,
        relation: AllPairs,
        bins: Bins,
        criterion: str,
        pool: Pool,
        step: str = "exact",
    ) -> None:
        self.magnitude, self.relation = relation.magnitude, relation
        super().__init__(relation, bins, criterion, pool, step)
        n, m = len(relation.factors.group), len(relation.s)
        split = Split(
            h=self.h,
            picked=np.empty(m + 1, dtype=np.uint32),
            bounds=np.zeros(len(relation.groups.y) + 1, dtype=np.int64),
            sums=np.empty((n, 2)),
            exact=np.empty((n, 2), dtype=np.int64),
        )
        wholes = Wholes(
            unit=np.empty(n),
            total=np.zeros(n, dtype=np.int64),
            begins=np.ones(n, dtype=np.bool_),
            added=np.empty(len(relation.factors.values), dtype=np.int64),
            exact=np.empty((n, 2), dtype=np.int64),
        )
        self.state = State(
            relation.groups, relation.factors, relation.links, wholes, split, self.rows
        )
        self.travelled = 0.0
        self.by_edges = criterion == "edge" and not few_groups(relation, bins)
        n_blocks, stride = -(-len(bins.n_bins) // WIDTH), int(bins.n_bins.max()) + 1
        room = max(KEPT, bins.codes.nbytes) if isinstance(bins, Dense) else 0
        self.keeps = not self.by_edges and 8 * n_blocks * n * WIDTH * stride <= room
        shape = (n_blocks, n) if self.keeps else (1, 1)
        self.hists = np.empty((*shape, WIDTH, stride), dtype=np.int64)
        loops.fill_wholes(self.state, True)

    def search(self) -> None:
        """Fill the best cuts; see `Rounds`."""
        if self.by_edges:
            self._search_edges()
            return
        bins, state = self.bins, self.state

        def search(first: int, last: int) -> None:
            hists = self.hists if self.keeps else np.empty_like(self.hists)
            loops.search_slots(bins, first, last, state, self.objective, hists, self.found)

        n = len(self.rows) if state.wholes.begins.any() else int(state.split.bounds[-1])
        entries = n * len(bins.n_bins) if isinstance(bins, Dense) else len(bins.codes)
        cells = len(bins.n_bins) * len(state.wholes.unit) * self.hists.shape[3]
        self._share(search, entries + cells)

    def choose_step(self, picks_above: bool) -> float:
        """Return how far to go; see `Rounds`."""
        relation, push = self.relation, self.relation.push
        if push == 1.0:
            return super().choose_step(picks_above)
        plus, minus = self.weigh(picks_above)
        step = best_step(plus, minus, self.objective.limit, push)
        # A query has two slots, of the worse rows and of the better ones.
        sums = self.state.split.sums.reshape(-1, 2, 2)
        if len(sums) == 1:
            return step
        sides = (sums / relation.factors.sums.reshape(-1, 2, 1)).transpose(2, 1, 0)
        above, below = sides if picks_above else sides[::-1]
        share = relation.links.weight[relation.factors.group[1::2]]
        cap = math.log(self.objective.limit) / (1.0 + push)
        return push_step(above, below, share, push, cap)

    def weigh(self, picks_above: bool) -> tuple[float, float]:
        """Return plus and minus; see `Rounds`."""
        plus, minus = loops.weigh_split(self.state, picks_above, self.magnitude)
        return plus, minus

    def add_step(self, alpha: float, picks_above: bool) -> None:
        """Add a step; see `Rounds`."""
        loops.add_step(self.state, self.relation.s, alpha, picks_above)
        self.travelled += self.relation.push * abs(alpha)
        if self.travelled > SPAN:
            self.relation.factors.stale[:], self.travelled = True, 0.0
        self.relation.follow()
        loops.fill_wholes(self.state, not self.keeps)


class PairRounds(Rounds):
    """Rounds of RankBoost on given pairs; parameters are those of `StumpRounds`."""

    def __init__(
        self,
        relation: GivenPairs,
        bins: Bins,
        criterion: str,
        pool: Pool,
        step: str = "exact",
    ) -> None:
        super().__init__(relation, bins, criterion, pool, step)
        self.relation = relation

    def search(self) -> None:
        """Fill the best cuts; see `Rounds`."""
        if self.objective.edge:
            self._search_edges()
            return
        bins, listed, m = self.bins, self.relation.pairs, len(self.rows)

        def search(first: int, last: int) -> None:
            given_pairs.search_pairs(bins, first, last, listed, m, self.objective, self.found)

        self._share(search, (len(listed.shares) + m) * len(self.found))

    def weigh(self, picks_above: bool) -> tuple[float, float]:  # noqa: ARG002
        """Return plus and minus; see `Rounds`."""
        plus, minus = given_pairs.weigh_pair_sides(self.h, self.relation.pairs)
        return plus, minus

    def add_step(self, alpha: float, picks_above: bool) -> None:  # noqa: ARG002
        """Add a step; see `Rounds`."""
        self.relation.s += alpha * self.h
        self.relation.compute_weights()


def best_step(plus: float, minus: float, limit: float, push: float = 1.0) -> float:
    """Return the step of least loss, whose size is at most the logarithm of the limit / (1 + p).

    With a push of p, it is that of a single query.
    """
    cap = math.log(limit) / (1.0 + push)
    if plus > 0 and minus > 0:
        return min(max((math.log(plus) - math.log(minus)) / (1.0 + push), -cap), cap)
    if plus > 0:
        return cap
    return -cap if minus > 0 else 0.0
