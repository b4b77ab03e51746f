r"""RankBoost: coordinate descent on the mean of :math:`e^{-(s_j - s_i)}` over pairs.

A round searches all features for the best cut, splits the rows by it, and steps the scores. A base
ranker ``bin >= cut`` is judged by how much weight of the pairs it puts in the right order (plus)
and in the wrong one (minus). With ``criterion="edge"`` one histogram of all rows tells the
difference, O(m d). With ``criterion="loss"`` histograms of the factors of each group tell both. A
step multiplies the factors on one side of its cut, or divides those on the other, which is the same
but for the unit: so histograms are kept from round to round where they fit, and only the changes of
the smaller side are added, O(n d) for n rows there. Everything is summed again every few rounds.
"""

import math
from functools import partial

import numpy as np
from scipy.optimize import brentq

from rankwise._core.threads import Pool
from rankwise.boosting._loops.histogram import (
    CUT_TIE,
    Bins,
    choose_edge_cuts,
    choose_pair_cuts,
    choose_slot_cuts,
    find_above,
)
from rankwise.boosting.grower import Tree
from rankwise.boosting.histogram import (
    Blocks,
    Floats,
    Slots,
    add_step,
    fill_factors,
    potential_histogram,
    potential_histograms,
    slot_histograms,
    split_by_cut,
)
from rankwise.boosting.losses import GivenPairs, Groups, PairWeights

# Groups whose histograms are always fewer than the rows are worth.
FEW_GROUPS = 32
# Bytes of histograms that may be kept, whatever the size of the bins, and that are made at a time.
KEPT, AT_A_TIME = 1 << 24, 1 << 26
# Rounds after which all is summed again, and the growth of a sum that makes it at once.
FRESH, GROWTH = 25, 16.0
# A smooth margin that rises by less than this for each unit of a step is not worth one.
MARGIN_TIE = 1e-12

# The feature, the first bin above, and the side of missing values.
Cut = tuple[int, int, int]


def few_groups(n_groups: int, n_rows: int, bins: Bins) -> bool:
    """Return whether histograms of all groups cost no more than a pass through the rows."""
    return n_groups <= FEW_GROUPS or n_groups * (int(bins.n_bins.max()) + 1) <= n_rows


class Rounds:
    """What rounds on all pairs and on given ones share.

    Parameters
    ----------
    bins : Bins
        The number of bins of each feature.
    criterion : {"loss", "edge"}
        Whether the base ranker with the smallest Z is taken, or that with the largest edge.
    step : {"exact", "smooth-margin"}
        What a step makes best: the loss, or the smooth margin.
    n_pairs : float
    pool : Pool
        Threads that share the features.
    """

    log_total: float
    first_log: float

    def __init__(self, bins: Bins, criterion: str, step: str, n_pairs: float, pool: Pool) -> None:
        self.bins, self.criterion, self.pool = bins, criterion, pool
        # a step is at most half the logarithm of the limit in size
        self.limit, self.for_margin = 2.0 * n_pairs, step == "smooth-margin"
        self.length, self.best = 0.0, np.empty((len(bins.n_bins), 3))

    def grow(self) -> Tree | None:
        """Take a round, and return it as a tree of two leaves; None if nothing is gained."""
        before = self.log_total
        self.search()
        # the first feature that is as good as the best
        values = self.best[:, 0]
        feature = int(np.argmax(values <= values.min() + CUT_TIE))
        value, cut, missing_above = self.best[feature].tolist()
        if value >= (0.0 if self.criterion == "edge" else 1.0) - CUT_TIE:
            return None
        n_above, n_rows, counts = self.split((feature, int(cut), int(missing_above)))
        alpha = self.choose_step()
        if not abs(alpha) > 0:
            return None
        picks_above = 2 * n_above <= n_rows
        self.add_step(alpha, picks_above)
        self.length += abs(alpha)
        above = missing_above if self.bins.missing[feature] else not picks_above
        return Tree(
            features=np.array([feature]),
            cuts=np.array([int(cut)]),
            missing_above=np.array([above], dtype=np.bool_),
            gains=np.array([before - self.log_total]),
            children=np.array([[~0, ~1]]),
            values=np.array([0.0, alpha]),
            counts=np.array(counts),
            loss=math.exp(self.log_total - self.first_log),
        )

    def search(self) -> None:
        """Fill ``best`` with (value, cut, side of the missing) of each feature's best cut."""
        raise NotImplementedError

    def split(self, cut: Cut) -> tuple[int, int, tuple[float, float]]:
        """Split the rows by a cut; return how many are above, all, and counts of both sides."""
        raise NotImplementedError

    def weigh(self) -> tuple[float, float]:
        """Return the weight of the pairs that the split orders rightly, and wrongly."""
        raise NotImplementedError

    def add_step(self, alpha: float, picks_above: bool) -> None:
        """Add alpha above the cut; ``picks_above`` says whether that is the smaller side."""
        raise NotImplementedError

    def choose_step(self) -> float:
        """Return how far to go along the base ranker."""
        plus, minus = self.weigh()
        # of the sum over the pairs, not the mean: the loss is under 1 once all of them are right
        log_sum = self.log_total - self.first_log + math.log(self.limit / 2)
        if self.for_margin and log_sum < 0:
            return margin_step(plus, minus, -log_sum, self.length, 0.5 * math.log(self.limit))
        return best_step(plus, minus, self.limit)


class StumpRounds(Rounds):
    """Rounds of RankBoost on all pairs.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    groups : Groups
    n_rows : int
    bins, criterion, step
        As for `Rounds`; "auto" is "loss" if there are few groups.
    pair_weight : {"uniform", "magnitude"}, default="uniform"
    push : float, default=1.0
        The power of the p-norm push.
    """

    def __init__(
        self,
        blocks: Blocks,
        groups: Groups,
        bins: Bins,
        n_rows: int,
        criterion: str,
        step: str = "exact",
        pair_weight: str = "uniform",
        push: float = 1.0,
    ) -> None:
        n = len(groups.y)
        few = few_groups(n, n_rows, bins)
        if criterion == "auto":
            criterion = "loss" if few and push == 1.0 and step == "exact" else "edge"
        super().__init__(bins, criterion, step, groups.n_pairs, blocks.pool)
        self.blocks, self.push = blocks, push
        self.weights = PairWeights(groups, magnitude=pair_weight == "magnitude", push=push)
        slots, kinds = np.nonzero(np.stack([~groups.is_lowest, ~groups.is_highest], axis=1))
        self.slots = Slots(1 - kinds, slots, n, int(bins.n_bins.max()) + 1)
        self.row_bytes = 8 * len(kinds) * self.slots.stride
        most = max(KEPT, n_rows * len(bins.n_bins))
        # with many groups a histogram of potentials tells the edge
        self.by_potentials = criterion == "edge" and not few
        self.keeps = not self.by_potentials and self.row_bytes * len(bins.n_bins) <= most
        self._sum_again()
        self.first_log = self.log_total

    def _sum_again(self) -> None:
        """Compute all weights from the scores, and the histograms that are kept."""
        self.weights.compute(self.blocks)
        self.log_total = self.weights.log_total
        # the sums of the factors of each group, in units of e^shift
        self.shift, self.sums = self.weights.logs, np.ones((2, len(self.weights.logs[0])))
        self.blocks.run(fill_factors, self.shift, self.push)
        self.age = 0
        if self.keeps:
            d = len(self.best)
            (self.hist,) = self.blocks.run(slot_histograms, self.slots, 0, d)

    def search(self) -> None:
        """Fill the best cuts; see `Rounds`."""
        weights, slots, bins, d = self.weights, self.slots, self.bins, len(self.best)
        if self.by_potentials:
            with np.errstate(over="ignore"):
                coefficients = np.exp(weights.log_shares() + self.shift)
            (hist,) = self.blocks.run(potential_histograms, coefficients, slots.stride)
            choose_edge_cuts(hist, 0, d, bins, self.best)
            return
        links, step = weights.links(), d if self.keeps else max(1, AT_A_TIME // self.row_bytes)
        for first in range(0, d, step):
            last = min(first + step, d)
            if self.keeps:
                hist = self.hist
            else:
                (hist,) = self.blocks.run(slot_histograms, slots, first, last)
            choose = partial(self._choose, hist, first, links)
            self.pool.run_ranges(choose, last - first, work=hist.size)

    def _choose(self, hist: Floats, offset: int, links: Floats, first: int, last: int) -> None:
        """Fill the best cuts of the features first to last of a histogram."""
        slots, some = self.slots, hist[first:last]
        first, last = offset + first, offset + last
        choose_slot_cuts(
            some, first, last, self.bins, slots.kinds, slots.groups, links,
            self.criterion == "edge", self.limit, self.best,
        )  # fmt: skip

    def split(self, cut: Cut) -> tuple[int, int, tuple[float, float]]:
        """Split the rows; see `Rounds`."""
        n = self.slots.n_groups
        counts, self.sides = self.blocks.run(split_by_cut, cut, n)
        n_above, n_rows, above, everything = counts.tolist()
        return int(n_above), int(n_rows), (everything - above, above)

    def weigh(self) -> tuple[float, float]:
        """Return plus and minus; see `Rounds`."""
        with np.errstate(divide="ignore"):
            return self.weights.split(np.log(self.sides) + self.shift[:, None])

    def choose_step(self) -> float:
        """Return how far to go; see `Rounds`."""
        push, groups = self.push, self.weights.groups
        if push == 1.0:
            return super().choose_step()
        plus, minus = self.weigh()
        better = np.flatnonzero(~groups.is_lowest)
        if len(better) == 1:
            return best_step(plus, minus, self.limit, push)
        shares = self.sides / self.sides.sum(axis=1)[:, None]
        above, below = (
            np.stack([shares[0, side, better - 1], shares[1, side, better]]) for side in (0, 1)
        )
        cap = math.log(self.limit) / (1.0 + push)
        return push_step(above, below, self.weights.weight[better], push, cap)

    def add_step(self, alpha: float, picks_above: bool) -> None:
        """Add a step; see `Rounds`."""
        exponents = alpha * np.array([self.push, -1.0])
        change = np.exp(exponents if picks_above else -exponents)
        slots = self.slots if self.keeps else None
        answer = self.blocks.run(add_step, alpha, (picks_above, change), slots)
        changed, rest = (0, 1) if picks_above else (1, 0)
        self.sums = self.sides[:, rest] + change[:, None] * self.sides[:, changed]
        if not picks_above:
            self.shift = self.shift + exponents[:, None]
        self.age += 1
        grown = np.maximum(self.sums.max(), 1.0 / max(self.sums.min(), 1e-300))
        if self.age >= FRESH or grown > GROWTH:
            self._sum_again()
            return
        if self.keeps:
            self.hist += answer[0]
        self.weights.update(self.shift + np.log(self.sums))
        self.log_total = self.weights.log_total


class PairRounds(Rounds):
    """Rounds of RankBoost on given pairs; O(P d) a round for P of them.

    Parameters
    ----------
    pairs : GivenPairs
    n_rows : int
    bins, criterion, step, pool
        As for `Rounds`; "auto" is "loss".
    """

    def __init__(
        self, pairs: GivenPairs, n_rows: int, bins: Bins, criterion: str, step: str, pool: Pool
    ) -> None:
        criterion = "loss" if criterion == "auto" else criterion
        super().__init__(bins, criterion, step, len(pairs.logs), pool)
        self.pairs, self.numbers = pairs, np.arange(n_rows, dtype=np.uint32)
        self.s, self.above = np.zeros(n_rows), np.empty(n_rows, dtype=np.bool_)
        self.shares, self.log_total = pairs.weigh(self.s)
        self.first_log = self.log_total

    def search(self) -> None:
        """Fill the best cuts; see `Rounds`."""
        pairs, bins, d, n = self.pairs, self.bins, len(self.best), len(self.s)
        if self.criterion == "edge":
            worse, better = pairs.sum_rows(self.shares, n)
            potentials, stride = (better - worse)[None, :], int(bins.n_bins.max()) + 1
            hist = potential_histogram(bins, self.pool, potentials, self.numbers, stride)
            choose_edge_cuts(hist, 0, d, bins, self.best)
            return

        def search(first: int, last: int) -> None:
            choose_pair_cuts(
                bins, first, last, pairs.worse, pairs.better, self.shares, n, self.limit, self.best
            )

        self.pool.run_ranges(search, d, work=(len(pairs.logs) + n) * d)

    def split(self, cut: Cut) -> tuple[int, int, tuple[float, float]]:
        """Split the rows; see `Rounds`."""
        find_above(self.bins, *cut, self.numbers, self.above)
        n_above, n_rows = int(self.above.sum()), len(self.above)
        return n_above, n_rows, (float(n_rows - n_above), float(n_above))

    def weigh(self) -> tuple[float, float]:
        """Return plus and minus; see `Rounds`."""
        better, worse = self.above[self.pairs.better], self.above[self.pairs.worse]
        return float(self.shares[better > worse].sum()), float(self.shares[better < worse].sum())

    def add_step(self, alpha: float, picks_above: bool) -> None:  # noqa: ARG002
        """Add a step; see `Rounds`."""
        self.s = self.s + alpha * self.above
        self.shares, self.log_total = self.pairs.weigh(self.s)


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


def margin_step(plus: float, minus: float, log_gain: float, length: float, cap: float) -> float:
    r"""Return the step that makes the smooth margin :math:`-\log F / \sum |\alpha|` largest.

    F is the sum of the exponential loss over the pairs. The margin rises along the base ranker up
    to one point and falls from there on, for it is a concave function over a linear one.

    Parameters
    ----------
    plus, minus : float
        The shares in F of the pairs that the base ranker puts in the right order, and in the wrong.
    log_gain : float
        The logarithm of 1 / F, positive.
    length : float
        The sum of the sizes of the steps before.
    cap : float
        The largest size of a step.
    """
    right, wrong = max(plus, minus), min(plus, minus)
    rest = max(1.0 - right - wrong, 0.0)

    def rises(size: float) -> float:
        # the sign of the derivative of (log_gain - log z) / (length + size)
        up, down = right * math.exp(-size), wrong * math.exp(size)
        z = rest + up + down
        return (up - down) / z * (length + size) - (log_gain - math.log(z))

    if not rises(0.0) > MARGIN_TIE * length:
        return 0.0
    size = cap if rises(cap) >= 0 else float(brentq(rises, 0.0, cap, xtol=1e-14))
    return size if plus > minus else -size


def push_step(above: Floats, below: Floats, share: Floats, push: float, cap: float) -> float:
    r"""Return the step of least p-norm push over several queries.

    With :math:`n_q` and :math:`p_q` the shares of the base ranker in the factors of worse and
    better rows, and :math:`v_q` those of the queries in the whole, a step :math:`\alpha` multiplies
    it by

    .. math:: \sum_q v_q (1 - n_q + n_q e^{p \alpha}) (1 - p_q + p_q e^{-\alpha})^p ,

    whose logarithm is convex.

    Parameters
    ----------
    above, below : ndarrays of shape (2, n_queries)
        The shares of the worse rows, then of the better ones, above the cut and below.
    share : ndarray of shape (n_queries,)
        Those of the queries.
    push : float
        The power p.
    cap : float
        The largest size of a step.
    """

    def slope(step: float) -> float:
        worse, better = above[0] * math.exp(push * step), above[1] * math.exp(-step)
        all_worse, all_better = worse + below[0], better + below[1]
        logs = np.log(all_worse) + push * np.log(all_better)
        weight = share * np.exp(logs - logs.max())
        return float(weight @ (worse / all_worse - better / all_better))

    if slope(-cap) >= 0:
        return -cap
    return cap if slope(cap) <= 0 else float(brentq(slope, -cap, cap, xtol=1e-14))
