"""RankBoost: a score that is a sum of steps or trees, learned from pairs that are never formed."""

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_whole
from rankwise._core.inputs import check_rows, check_weighted_pairs, unchanged_on_error
from rankwise._core.pairs import Pairs, count_pairs
from rankwise._core.ranker import RankerMixin, check_ranked, scale_weights
from rankwise._core.sklearn_private import Interval, StrOptions
from rankwise._core.threads import JOBS_CONSTRAINTS, Pool
from rankwise.boosting.binning import (
    LARGEST,
    Bins,
    Block,
    Blocks,
    Floats,
    Groups,
    Indices,
    bin_features,
    proportions,
)
from rankwise.boosting.grower import Limits, Loss, Tree, TreeRounds
from rankwise.boosting.losses import ExponentialLoss, GivenPairsLoss, ListLoss, MagnitudeLoss
from rankwise.boosting.predictor import Explanation, FeatureScore, Forest, Stumps, check_nodes
from rankwise.boosting.stumps import GivenPairs, PairRounds, Rounds, StumpRounds

# The highest grade that NDCG is made for: gains of higher ones leave no digits for lower ones.
MOST_GAIN = 50
# The kurtosis of targets up to which the magnitude loss is the default of trees.
LIGHT_TAILS = 4.0
# What a tree adds of its step by default.
RATE_OF_TREES = 0.1
# What the nodes of no trees are.
_NO_NODES = (
    np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_), np.empty(0),
    np.empty((0, 2), np.int64), np.empty(0), np.empty(0),
)  # fmt: skip
# What there is after some ways to fit, and not after others.
_NOT_ALWAYS = (
    "alphas_", "children_", "criterion_", "leaf_values_", "smooth_margin_", "tree_starts_",
    "validation_loss_",
)  # fmt: skip


class Plan(NamedTuple):
    """The settings of a fit, with every "auto" resolved.

    - ``loss``: "exponential", "logistic" or "magnitude";
    - ``pair_weight``: "uniform", "magnitude" or "ndcg";
    - ``limits``: how large trees may be, and how far they go;
    - ``stumps``: whether rounds are those of the paper, one base ranker each and its exact step.
    """

    loss: str
    pair_weight: str
    limits: Limits
    stumps: bool


def plan_fit(model: "RankBoost", groups: Groups | None) -> Plan:
    """Return what a fit does by its options and its targets; None for given pairs.

    Raises
    ------
    ValueError
        If options don't go together, or not with the targets.
    """
    trees, loss, pair_weight = model.max_leaf_nodes > 2, model.loss, model.pair_weight
    rate, given = model.learning_rate, groups is None
    if isinstance(rate, str):
        rate = RATE_OF_TREES if trees else 1.0
    if loss == "auto":
        loss = "exponential"
        if groups is not None and trees and pair_weight == "auto":
            # the kurtosis of the targets around the means of their queries, 0 if all are 0
            copies, mass = groups.copies, np.bincount(groups.query, groups.copies)
            scaled = groups.heights / groups.unit
            means = np.bincount(groups.query, copies * scaled) / np.maximum(mass, 1.0)
            squares = (scaled - means[groups.query]) ** 2
            total, fourth = float(copies @ squares), float(copies @ squares**2)
            if total == 0 or fourth / total * float(mass.sum()) / total <= LIGHT_TAILS:
                loss = "magnitude"
    if loss == "magnitude" and given:
        raise ValueError(
            "loss='magnitude' is for fit: given pairs have no targets; use 'exponential'"
        )
    if loss == "magnitude" and pair_weight not in ("auto", "uniform"):
        raise ValueError(
            f"pair_weight={pair_weight!r} is for the exponential and the logistic loss: use "
            "'uniform' with loss='magnitude'"
        )
    if pair_weight == "ndcg" and given:
        raise ValueError("pair_weight='ndcg' is for fit: fit_pairs has no lists; use 'uniform'")
    pair_weight = "uniform" if pair_weight == "auto" else pair_weight
    stumps = not trees and rate == 1.0 and loss == "exponential" and pair_weight != "ndcg"
    if model.push != 1 or model.step != "exact":
        _check_steps(model, stumps=stumps, magnitude=pair_weight == "magnitude", given=given)
    if pair_weight == "ndcg" and groups is not None:
        low, high = groups.y.min(), groups.y.max()
        if not (low >= 0 and high <= MOST_GAIN):
            raise ValueError(
                f"y runs from {low} to {high}, but pair_weight='ndcg' takes grades from 0 to "
                f"{MOST_GAIN}, for the gain is 2^y - 1: shift them or use 'uniform'"
            )
    size = model.max_leaf_nodes, model.max_depth, model.min_samples_leaf
    return Plan(loss, pair_weight, Limits(*size, model.l2, float(rate)), stumps)


def _check_steps(model: "RankBoost", *, stumps: bool, magnitude: bool, given: bool) -> None:
    """Raise if something does not go with a push, or with steps for the margin."""
    named = f"push={model.push}" if model.push != 1 else f"step={model.step!r}"
    if not stumps:
        raise ValueError(
            f"{named} is for base rankers, max_leaf_nodes=2, learning_rate=1 and the exponential "
            "loss: leave these at their defaults, or take push=1 and step='exact'"
        )
    if model.criterion == "loss":
        raise ValueError(
            f"{named} chooses base rankers by their edge: use criterion='edge' or 'auto'"
        )
    if model.push != 1 and model.step != "exact":
        raise ValueError(f"{named} has no margin: use step='exact', or push=1")
    if model.push != 1 and (given or magnitude):
        what = "given pairs" if given else "pair_weight='magnitude'"
        raise ValueError(
            f"{named} does not support {what}: use fit with pair_weight='uniform', or push=1"
        )


def check_groups(push: float, groups: Groups) -> None:
    """Raise if no pair of rows has an order, or a push has a query of more than two targets."""
    if groups.is_lowest.all():
        Pairs(groups.y, qid=groups.query if groups.n_queries > 1 else None).check_comparable()
    n_targets = np.diff(groups.starts)
    worst = int(np.argmax(n_targets))
    if push != 1 and n_targets[worst] > 2:
        where = f"query number {worst + 1} has" if groups.n_queries > 1 else "there are"
        raise ValueError(
            f"push={push} is for two classes, but {where} {n_targets[worst]} different targets: "
            "make two of them, such as y > 0, or use push=1"
        )


def make_rounds(
    model: "RankBoost",
    plan: Plan,
    blocks: Blocks,
    groups: Groups,
    bins: Bins,
    sizes: tuple[int, int],
) -> Rounds | TreeRounds:
    """Return what takes the rounds; ``sizes`` counts rows, and rows with repetitions."""
    n_rows, n_copies = sizes
    if plan.stumps:
        options = model.criterion, model.step, plan.pair_weight, model.push
        return StumpRounds(blocks, groups, bins, n_rows, *options)
    loss: Loss
    if plan.loss == "magnitude":
        loss = MagnitudeLoss(groups)
    elif plan.loss == "exponential" and plan.pair_weight != "ndcg":
        loss = ExponentialLoss(groups, magnitude=plan.pair_weight == "magnitude")
    else:
        loss = ListLoss(float(np.abs(groups.y).max()), plan.loss, plan.pair_weight)
    return TreeRounds(blocks, loss, loss(blocks), bins, plan.limits, n_copies)


def misranking(held: Pairs, scores: Floats) -> float:
    """Return the share of misranked pairs, a tie counting half."""
    found = count_pairs(held, scores)
    return (found.misranked + 0.5 * found.tied) / found.comparable


def misranked_share(worse: Indices, better: Indices, share: Floats, scores: Floats) -> float:
    """Return the share of misranked pairs among given ones, a tie counting half."""
    return float(share @ (0.5 + 0.5 * np.sign(scores[worse] - scores[better])))


class RankBoost(RankerMixin, BaseEstimator):
    r"""Boosting for ranking: minimises the mean of :math:`e^{-(s_j - s_i)}` over pairs.

    Pairs are those with :math:`y_j > y_i` in a query; base rankers are :math:`h(x) = 1[x_f > c]`.
    So a column of 0 and 1 is a base ranker of your own, and a table of them is any finite set H.
    In each round D are the current shares of the pairs in the loss, and

    .. math:: \epsilon_+ = \sum_{h(x_j) > h(x_i)} D_{ij}, \quad
              \epsilon_- = \sum_{h(x_j) < h(x_i)} D_{ij}, \quad
              \alpha = \tfrac12 \log \frac{\epsilon_+}{\epsilon_-}, \quad
              Z = 1 - \epsilon_+ - \epsilon_- + \epsilon_+ e^{-\alpha} + \epsilon_- e^{\alpha} .

    :math:`\alpha h` is added to the score, and the product of the Z is the training loss. A step is
    at most :math:`\tfrac12 \log 2P` in size, with P the number of pairs, since a base ranker that
    errs on no pair has no finite one. Boosting ends early when no base ranker lowers the loss.

    The pairs are never formed: their weights are products of a factor of each row. A round takes
    O(n d + d bins k) for d features, k groups of equal query and target, and n rows on the smaller
    side of the last cut; ``criterion="edge"`` takes O(m d) for m rows and many groups. CSR
    rows take O(entries) in place of O(n d) or O(m d). Memory is a byte an entry, or four with
    ``max_bins=None``, at most as much again, or 64 MB, for histograms, and some 120 bytes a row.

    ``push=p`` is the p-norm push, for two classes: it minimises

    .. math:: \sum_{\text{negative } i} a_i \Bigl( \sum_{\text{positive } j}
              a_j e^{s_i - s_j} \Bigr)^p ,

    so that the highest negatives count most. It is a sum over queries, of factors as above; D is
    its gradient, and the step is :math:`\log(\epsilon_+ / \epsilon_-) / (1 + p)`, or with several
    queries the root of one function. ``step="smooth-margin"`` is for pairs that can all be
    ordered: with F the sum of :math:`e^{-(s_j - s_i)}` over the pairs, once F < 1 each step makes
    :math:`G = -\log F / \sum |\alpha|` largest, which then never falls, and is at most the margin
    of each pair, :math:`(s_j - s_i) / \sum |\alpha|`. Both choose base rankers by the edge.

    With more than two leaves, another rate or loss, or ``pair_weight="ndcg"``, a round is a
    second-order step: with g and h gradient and diagonal Hessian of the loss, it grows a tree, best
    split first, whose leaves add
    :math:`-\nu \sum g / (\sum h + \lambda \bar h)`; 8 to 31 leaves are usual. The magnitude loss,
    with residuals :math:`r = s - y` and :math:`A_q` the weight of query q, is

    .. math:: \sum_q \frac{1}{2 A_q} \sum_{ij \in q} a_i a_j
              \bigl((s_j - s_i) - (y_j - y_i)\bigr)^2 = \sum_i a_i (r_i - \bar r_{q(i)})^2 .

    So differences of scores in a query are in the units of y. Rows count alike, where pairs do in
    `rankwise.magnitude.MPRank`: the same for lists of one length. This and the exponential loss
    take O(m) a round besides the histograms, O(m d log leaves) if splits are even. The logistic
    loss and "ndcg" take O(n^2) for a query of n rows up to 4,096; longer ones go on a grid of
    512 scores.

    Parameters
    ----------
    n_estimators : int, default=100
        Most rounds.
    max_bins : int or None, default=255
        The features are cut at quantiles (of 20,000 rows at random, if there are more) into so
        many bins at most. None: every cut between two different values.
    criterion : {"auto", "loss", "edge"}, default="auto"
        Whether a round of RankBoost takes the base ranker with the smallest Z, or that with the
        largest :math:`|\epsilon_+ - \epsilon_-|`, which is the steepest. "auto" is "loss" for up to
        32 groups of equal query and target, or if they have more rows than bins on average, and
        "edge" for more, as with many queries or real-valued targets.
    pair_weight : {"auto", "uniform", "magnitude", "ndcg"}, default="auto"
        Whether a pair weighs 1, :math:`y_j - y_i`, or the change of NDCG if its rows swapped places
        at the present scores; multiplied by its row weights. "auto" is "uniform".
        The magnitude loss takes no other.
    max_leaf_nodes : int, default=2
        Most leaves of a tree. Two, with ``learning_rate=1``, are the paper's RankBoost.
    max_depth : int or None, default=None
        Most splits on the way to a leaf.
    min_samples_leaf : int, default=20
        The least number of rows of a leaf of second-order steps.
    l2 : float, default=10.0
        :math:`\lambda`, in rows of mean curvature :math:`\bar h`, for second-order steps.
    learning_rate : float or "auto", default="auto"
        :math:`\nu`, the share of a second-order step that is taken. "auto" is 1 for two leaves and
        0.1 for more.
    loss : {"auto", "exponential", "logistic", "magnitude"}, default="auto"
        What a pair costs, :math:`e^{-(s_j - s_i)}`, :math:`\log(1 + e^{-(s_j - s_i)})` or as above.
        "auto" is "exponential" for two leaves, for given pairs and if ``pair_weight`` is given;
        otherwise "magnitude" if the kurtosis of y around the means of the queries is at most 4, and
        "exponential" if it is larger. Second-order steps on the first two scale the gradient of
        each query by :math:`\log_2(1 + S) / S`, with S the sum of its size.
    push : float, default=1.0
        The power p of the p-norm push, at least 1, which is RankBoost; 4 to 16 are usual.
    step : {"exact", "smooth-margin"}, default="exact"
        Whether a step of RankBoost makes the loss smallest, or the smooth margin largest.
    n_iter_no_change : int or None, default=None
        If given, a part of the data is set aside, and boosting stops when the share of its
        misranked pairs, averaged over this number of rounds, has not reached a new minimum for as
        many rounds. Rounds after the minimum are dropped.
    validation_fraction : float, default=0.1
        The part that is set aside: of the queries if there are some, of the rows or pairs
        otherwise.
    n_jobs : int, default=None
        Threads that share the features; None means 1, -1 all cores. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        Draws the sample for the bins and the part that is set aside.

    Attributes
    ----------
    features_ : ndarray of shape (n_nodes,)
        The feature of each node; base rankers have one each.
    cutpoints_ : ndarray of shape (n_nodes,)
        Its cut; -inf for one that tells missing values from others.
    missing_above_ : ndarray of shape (n_nodes,)
        Whether a missing value counts as above the cut. Learned if some were missing; otherwise
        missing values go with the larger part of the rows.
    alphas_ : ndarray of shape (n_rounds,)
        With two leaves, the steps.
    tree_starts_ : ndarray of shape (n_rounds + 1,)
        With more leaves, the first node of each tree; leaves are as many and one more a tree.
    children_ : ndarray of shape (n_nodes, 2)
        With more leaves, the next node of the tree below and above the cut, or ~leaf.
    leaf_values_ : ndarray of shape (n_leaves,)
        With more leaves, what each adds to the score.
    leaf_counts_ : ndarray of shape (n_leaves,)
        The training rows of each leaf, repetitions counted; base rankers have two, below and above.
    criterion_ : {"loss", "edge"}
        What base rankers were chosen by; absent for second-order steps.
    loss_ : {"exponential", "logistic", "magnitude"}
        What was minimised.
    pair_weight_ : {"uniform", "magnitude", "ndcg"}
        What a pair weighed.
    train_loss_ : ndarray of shape (n_rounds,)
        The exponential or magnitude loss after each round, or the p-norm push, over its first
        value. For pairs that are summed one by one, logistic or "ndcg", the mean slope of the loss.
    smooth_margin_ : ndarray of shape (n_rounds,)
        G after each round, negative as long as some pair is in the wrong order; absent for
        second-order steps and for a push. With weights, the mean weight of a pair counts as 1.
    validation_loss_ : ndarray
        With ``n_iter_no_change``, the smoothed share of misranked pairs of the part set aside after
        each round, the dropped ones too.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the fall of the logarithm of the training loss, or in the gain
        of the splits.
    features_with_missing_ : ndarray
        The features that had missing values.
    n_pairs_ : int
        The number of pairs P. Row weights in the proportions of integers count as repetitions.
    n_dropped_pairs_ : int
        Pairs given to ``fit_pairs`` that have no weight, the label 0, or one row twice.
    n_queries_ : int
        Queries that the model has learned from; 1 without ``qid``.

    See Also
    --------
    rankwise.plots.FeatureScoreDisplay : What each feature adds to the score, drawn.

    References
    ----------
    Y. Freund, R. Iyer, R. Schapire and Y. Singer, An efficient boosting algorithm for combining
    preferences, JMLR 2003. C. Rudin, C. Cortes, M. Mohri and R. Schapire, Margin-based ranking
    meets boosting in the middle, COLT 2005. C. Rudin, The p-norm push, JMLR 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.boosting import RankBoost
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(2000, 5))
    >>> score = np.sin(X[:, 0]) + X[:, 1] ** 2 + random.normal(0, 0.5, size=2000)
    >>> y = np.digitize(score, [0.0, 1.0, 2.0])
    >>> model = RankBoost(n_estimators=50).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 1)
    0.9
    >>> model.feature_importances_.round(1)
    array([0.4, 0.6, 0. , 0. , 0. ])
    >>> y = np.digitize(X[:, 0] * X[:, 1], [0.0, 1.0])
    >>> trees = RankBoost(max_leaf_nodes=16).fit(X[:1000], y[:1000])
    >>> round(trees.score(X[1000:], y[1000:]), 1)
    1.0
    """

    _accepts_missing = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_bins": [Interval(Integral, 2, LARGEST, closed="both"), None],
        "criterion": [StrOptions({"auto", "loss", "edge"})],
        "pair_weight": [StrOptions({"auto", "uniform", "magnitude", "ndcg"})],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "loss": [StrOptions({"auto", "exponential", "logistic", "magnitude"})],
        "push": [Interval(Real, 1, None, closed="left")],
        "step": [StrOptions({"exact", "smooth-margin"})],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": JOBS_CONSTRAINTS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_bins: int | None = 255,
        criterion: str = "auto",
        pair_weight: str = "auto",
        max_leaf_nodes: int = 2,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2: float = 10.0,
        learning_rate: float | str = "auto",
        loss: str = "auto",
        push: float = 1.0,
        step: str = "exact",
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_bins = max_bins
        self.criterion = criterion
        self.pair_weight = pair_weight
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2 = l2
        self.learning_rate = learning_rate
        self.loss = loss
        self.push = push
        self.step = step
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    @unchanged_on_error
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the pairs of rows with different targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value, an absent entry of a CSR matrix is 0.
        y : array-like of shape (n_samples,)
            Their targets: two classes, grades or real numbers.
        qid : array-like of shape (n_samples,), default=None
            The query of each row, integers or strings in any order: only rows of one query are
            compared. None: all rows are one query.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights, at least 0; a pair weighs their product. Only their proportions count.
            Weights in the proportions of integers count as repetitions.

        Returns
        -------
        self
        """
        self._validate_params()
        data = check_ranked(self, X, y, qid, sample_weight)
        if len(data.y) == 1:
            raise ValueError("X has 1 sample with a weight, but a pair needs two")
        random = check_random_state(self.random_state)
        m, weight = len(data.y), data.weight
        copies, kept, held = np.ones(m, dtype=np.int64), np.arange(m), None
        if sample_weight is not None:
            weight, copies = proportions(weight)
        groups, order, starts = Groups.of_rows(data.codes, data.y, copies)
        plan = plan_fit(self, groups)
        check_groups(self.push, groups)
        if self.n_iter_no_change is not None:
            # whole queries are set aside if there are some
            by_query = data.n_queries > 1
            part, n = (data.codes, data.n_queries) if by_query else (kept, m)
            left_out = (random.permutation(n) < np.ceil(self.validation_fraction * n))[part]
            kept = np.flatnonzero(~left_out)
            pairs = Pairs(
                data.y[left_out],
                qid=data.codes[left_out] if by_query else None,
                sample_weight=None if (weight == 1.0).all() else weight[left_out],
                pair_weight="magnitude" if self.pair_weight == "magnitude" else "uniform",
            )
            groups, order, starts = Groups.of_rows(data.codes[kept], data.y[kept], copies[kept])
            if groups.is_lowest.all() or not pairs.one_sided_weight > 0:
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} leaves a part without a "
                    "comparable pair: take another one, or n_iter_no_change=None"
                )
            held = data.X[left_out], partial(misranking, pairs)
        order = kept[order]
        self._set_plan(plan, groups.n_pairs, data.n_queries)
        with Pool(self.n_jobs) as pool:
            given = None if sample_weight is None else weight
            bins, edges = bin_features(data.X, order, given, self.max_bins, random, pool)
            keys = np.arange(len(groups.y)), groups.query, groups.y, groups.heights
            blocks = Blocks([Block.of(bins, keys, starts, weight[order], copies[order])], pool)
            sizes = len(order), int(copies[order].sum())
            rounds = make_rounds(self, plan, blocks, groups, bins, sizes)
            self._take_rounds(rounds, edges, bins.missing, held)
        return self

    @unchanged_on_error
    def fit_pairs(
        self,
        X: ArrayLike,
        pairs: ArrayLike,
        *,
        y: ArrayLike | None = None,
        pair_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from given pairs, in any relation: they may contradict each other.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        pairs : array-like of shape (n_pairs, 2)
            Row numbers (worse, better).
        y : array-like of shape (n_pairs,), default=None
            Labels of the pairs: 1 if the second row is better, as without ``y``, -1 if the first
            is, 0 if neither is known to be.
        pair_weight : array-like of shape (n_pairs,), default=None
            Their weights, at least 0; all 1 by default. The parameter of the same name is for
            ``fit``.

        Returns
        -------
        self
        """
        self._validate_params()
        plan = plan_fit(self, None)
        rows = check_rows(self, X, reset=True, finite="allow-nan")
        given, weight, n_dropped = check_weighted_pairs(pairs, pair_weight, rows.shape[0], y)
        weight, _ = scale_weights(weight)
        n_dropped += int((weight == 0).sum())
        given, weight = given[weight > 0], weight[weight > 0]
        random = check_random_state(self.random_state)
        held = None
        if self.n_iter_no_change is not None:
            n_left_out = int(np.ceil(self.validation_fraction * len(weight)))
            if n_left_out == len(weight):
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} leaves no pair to learn from: "
                    "take another one, or n_iter_no_change=None"
                )
            order = random.permutation(len(weight))
            worse, better = given[order[:n_left_out]].T
            share = weight[order[:n_left_out]] / weight[order[:n_left_out]].sum()
            given, weight = given[order[n_left_out:]], weight[order[n_left_out:]]
            held = rows, partial(misranked_share, worse, better, share)
        worse, better = np.ascontiguousarray(given.T)
        listed, m = GivenPairs(worse, better, np.log(weight)), rows.shape[0]
        rounds: Rounds | TreeRounds
        with Pool(self.n_jobs) as pool:
            bins, edges = bin_features(rows, np.arange(m), None, self.max_bins, random, pool)
            keys, ones = (np.zeros(1, dtype=np.int64),) * 2 + (np.zeros(1),) * 2, np.ones(m)
            blocks = Blocks([Block.of(bins, keys, np.array([0, m]), ones, ones)], pool)
            if plan.stumps:
                rounds = PairRounds(listed, blocks, self.criterion, self.step)
            else:
                loss = GivenPairsLoss(listed, plan.loss)
                rounds = TreeRounds(blocks, loss, loss(blocks), bins, plan.limits, m)
            self._take_rounds(rounds, edges, bins.missing, held)
        self._set_plan(plan, len(weight), 1)
        self.n_dropped_pairs_, self._two_targets = n_dropped, False
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the score of each row, higher is better.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, finite="allow-nan")
        return self._learned().scores(rows)

    def staged_predict(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield the scores of the rows after each round.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, finite="allow-nan")
        yield from self._learned().stages(rows)

    def explain(self, X: ArrayLike) -> Explanation:
        """Return what each feature adds to the score of each row: Shapley values.

        A feature that is not known is replaced by its share in the training rows at each node
        (path-dependent TreeSHAP). For two leaves O(n rounds), else O(n leaves depth^2).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        Explanation
            ``contributions`` (n_samples, n_features) and ``base``, which add up to the scores.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, finite="allow-nan")
        learned, counts = self._learned(), np.asarray(getattr(self, "leaf_counts_", ()), np.float64)
        n = 2 * len(self.features_) if isinstance(learned, Stumps) else len(learned.values)
        if counts.shape != (n,):
            raise ValueError(
                "leaf_counts_ is missing: the model was saved by a version that did not count the "
                "rows of each leaf; fit it again to explain its scores"
            )
        return learned.explain(rows, counts)

    def feature_score(self, feature: int) -> FeatureScore:
        """Return what a feature adds to the score, as a step function; for two leaves only.

        Parameters
        ----------
        feature : int
            Its column.
        """
        check_is_fitted(self)
        check_whole(feature, "feature", 0)
        if feature >= self.n_features_in_:
            raise ValueError(
                f"feature={feature} is not a column: there are {self.n_features_in_}, from 0"
            )
        learned = self._learned()
        if isinstance(learned, Forest):
            raise ValueError(
                "trees mix features, so no feature has a separate score: fit with max_leaf_nodes=2"
            )
        return learned.of_feature(feature)

    def _learned(self) -> Stumps | Forest:
        """Return what was learned, as it gives scores."""
        arrays = self.features_, self.cutpoints_, self.missing_above_
        learned: Stumps | Forest
        if hasattr(self, "alphas_"):
            learned = Stumps(*arrays, self.alphas_)
        else:
            learned = Forest(*arrays, self.children_, self.leaf_values_, self.tree_starts_)
        check_nodes(learned, self.n_features_in_)
        return learned

    def _check_loaded(self) -> None:
        if hasattr(self, "features_"):
            self._learned()

    def _take_rounds(
        self,
        rounds: Rounds | TreeRounds,
        edges: list[Floats],
        missing: NDArray[np.bool_],
        held: tuple[Any, Callable[[Floats], float]] | None = None,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Boost on bins of these edges, report each round to ``say``, and store the result.

        ``held`` are rows, and a loss of their scores. Before the first round all pairs are tied,
        half of them wrong: averages of the loss begin with that, so that a single good round at
        the beginning is not mistaken for the best.
        """
        for name in _NOT_ALWAYS:
            self.__dict__.pop(name, None)
        trees, cutpoints = list[Tree](), list[list[float]]()
        patience = self.n_iter_no_change or 0
        wrong, averages = [0.5] * patience, list[float]()
        scores = np.zeros(held[0].shape[0] if held else 0)
        while len(trees) < self.n_estimators and (tree := rounds.grow()) is not None:
            nodes = zip(tree.features, tree.cuts, strict=True)
            cutpoints.append([edges[f][cut - 1] if cut else -np.inf for f, cut in nodes])
            trees.append(tree)
            say(f"round {len(trees)} of {self.n_estimators}")
            if held is None:
                continue
            arrays = np.array(cutpoints[-1]), tree.missing_above, tree.children, tree.values
            forest = Forest(tree.features, *arrays, np.array([0, len(tree.features)]))
            scores = scores + forest.scores(held[0])
            wrong.append(held[1](scores))
            averages.append(float(np.mean(wrong[-patience:])))
            if len(averages) - int(np.argmin(averages)) > patience:
                break
        if held is not None:
            trees = trees[: int(np.argmin(averages)) + 1 if averages else 0]
            self.validation_loss_ = np.array(averages)
        self.features_, _, self.missing_above_, gains, children, values, self.leaf_counts_ = (
            np.concatenate(each)
            for each in zip(_NO_NODES, *(tree[:-1] for tree in trees), strict=True)
        )
        self.cutpoints_ = np.concatenate([np.empty(0), *cutpoints[: len(trees)]])
        if self.max_leaf_nodes == 2:
            self.alphas_ = values[1::2] - values[::2]
        else:
            self.children_, self.leaf_values_ = children, values
            self.tree_starts_ = np.cumsum([0, *(len(tree.features) for tree in trees)])
        self.train_loss_ = np.array([tree.loss for tree in trees], dtype=np.float64)
        if isinstance(rounds, Rounds):
            self.criterion_ = rounds.criterion
            if self.push == 1:
                falls = np.cumsum(gains) - np.log(rounds.limit / 2)
                self.smooth_margin_ = falls / np.cumsum(np.abs(self.alphas_))
        total = np.bincount(self.features_, weights=gains, minlength=self.n_features_in_)
        self.feature_importances_ = total / (total.sum() or 1.0)
        self.features_with_missing_ = np.flatnonzero(missing)

    def _set_plan(self, plan: Plan, n_pairs: float, n_queries: int) -> None:
        """Set what the fit was about."""
        self.loss_, self.pair_weight_ = plan.loss, plan.pair_weight
        self.n_pairs_, self.n_dropped_pairs_, self.n_queries_ = int(n_pairs), 0, n_queries
