"""RankBoost: a score that is a sum of steps or trees, learned from pairs that are never formed."""

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from rankwise._core.inputs import check_rows, check_weighted_pairs, unchanged_on_error
from rankwise._core.pairs import Pairs
from rankwise._core.ranker import Ranked, check_ranked, scale_weights
from rankwise._core.sklearn_private import Interval, StrOptions
from rankwise._core.threads import JOBS_CONSTRAINTS, Pool
from rankwise.boosting._boosted import BoostedRanker
from rankwise.boosting.binning import LARGEST, bin_features
from rankwise.boosting.pair_weights import AllPairs, GivenPairs, proportions
from rankwise.boosting.rounds import (
    Relation,
    Stopping,
    check_gains,
    check_steps,
    check_two_classes,
    learner_of,
    misranked_share,
    misranking,
    pair_weight_of,
    split_rows,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class RankBoost(BoostedRanker):
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
    side of the last cut; ``criterion="edge"`` takes O(m d) for m rows and any number of groups. CSR
    rows take O(entries) in place of O(n d) or O(m d). Memory is a byte an entry, or four with
    ``max_bins=None``, and at most as much again, or 16 MB, for histograms.

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
    :math:`-\nu \sum g / (\sum h + \lambda \bar h)`; ``max_leaf_nodes=31`` is usual. The exponential
    loss takes O(m) a round beside the histograms, O(m d log leaves) if splits are even. The
    logistic loss and "ndcg" take O(n^2) for a query of n rows up to 4,096; longer ones go on a grid
    of 512 scores.

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
        Whether a pair weighs 1, :math:`y_j - y_i`, or by how much NDCG would change if its rows
        changed places, at the present scores; beside its row weights. "auto" is "ndcg" for more
        than two leaves on several queries of grades from 0 to 10, otherwise "uniform".
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
    loss : {"auto", "exponential", "logistic"}, default="auto"
        What a pair costs, :math:`e^{-(s_j - s_i)}` or :math:`\log(1 + e^{-(s_j - s_i)})`. "auto" is
        the former. Second-order steps scale the gradient of each query by
        :math:`\log_2(1 + S) / S`, with S the sum of its size.
    push : float, default=1.0
        The power p of the p-norm push, at least 1, which is RankBoost; 4 to 16 are usual.
    step : {"exact", "smooth-margin"}, default="exact"
        Whether a step of RankBoost makes the loss smallest, or the smooth margin largest.
    n_iter_no_change : int or None, default=None
        If given, a part of the data is set aside, and boosting ends when the share of its misranked
        pairs, averaged over so many rounds, has had no new low for so many. Rounds after the
        lowest are dropped.
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
    criterion_ : {"loss", "edge"}
        What base rankers were chosen by; absent for second-order steps.
    pair_weight_ : {"uniform", "magnitude", "ndcg"}
        What a pair weighed.
    train_loss_ : ndarray of shape (n_rounds,)
        The exponential loss after each round, or the p-norm push, over its first value. For pairs
        that are summed one by one, logistic or "ndcg", the mean slope of the loss over the pairs.
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
        The number of pairs P. Row weights in the proportions of whole numbers count as repetitions.
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
    >>> trees = RankBoost(max_leaf_nodes=31).fit(X[:1000], y[:1000])
    >>> round(trees.score(X[1000:], y[1000:]), 1)
    1.0
    """

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
        "loss": [StrOptions({"auto", "exponential", "logistic"})],
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
            Weights in the proportions of whole numbers count as repetitions.

        Returns
        -------
        self
        """
        self._validate_params()
        data = check_ranked(self, X, y, qid, sample_weight, missing=True)
        if len(data.y) == 1:
            raise ValueError("X has 1 sample with a weight, and a pair takes two")
        pair_weight = pair_weight_of(self, data)
        check_steps(self, pair_weight)
        check_two_classes(self.push, data)
        if pair_weight == "ndcg":
            check_gains(data.y)
        random = check_random_state(self.random_state)
        weight, counts = proportions(data.weight)
        data = data._replace(weight=weight)
        kept, stop = np.arange(len(data.y)), None
        pairs = self._pairs(data, kept)
        pairs.check_comparable()
        if self.n_iter_no_change is not None:
            kept, left_out = split_rows(data, self.validation_fraction, random)
            pairs, held = self._pairs(data, kept), self._pairs(data, left_out)
            if not min(held.one_sided_weight, pairs.one_sided_weight) > 0:
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} leaves a part without a "
                    "comparable pair: take another one, or n_iter_no_change=None"
                )
            loss = partial(misranking, held)
            stop = Stopping(self.n_iter_no_change, data.X[left_out], loss)
        copies = counts[kept].astype(np.float64)
        n_pairs = Pairs(pairs.y, qid=pairs.codes, sample_weight=copies).one_sided_weight
        rows = data.X if len(kept) == len(data.y) else data.X[kept]
        weighted = None if sample_weight is None else weight[kept]
        relation = AllPairs(pairs, n_pairs, self.push)
        self._boost(rows, relation, pair_weight, weighted, counts[kept], stop, random)
        self.n_pairs_, self.n_dropped_pairs_ = int(n_pairs), 0
        self.n_queries_ = data.n_queries
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
        if self.pair_weight == "ndcg":
            raise ValueError(
                "pair_weight='ndcg' is for fit: given pairs are no lists; use 'uniform'"
            )
        check_steps(self, "uniform", given=True)
        rows = check_rows(self, X, reset=True, finite="allow-nan")
        given, weight, n_dropped = check_weighted_pairs(pairs, pair_weight, rows.shape[0], y)
        weight, _ = scale_weights(weight)
        n_dropped += int((weight == 0).sum())
        given, weight = given[weight > 0], weight[weight > 0]
        random = check_random_state(self.random_state)
        stop = None
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
            loss = partial(misranked_share, worse, better, share)
            stop = Stopping(self.n_iter_no_change, rows, loss)
        worse_rows, better_rows = np.ascontiguousarray(given.T)
        relation = GivenPairs(worse_rows, better_rows, weight, rows.shape[0])
        ones = np.ones(rows.shape[0], dtype=np.int64)
        self._boost(rows, relation, "uniform", None, ones, stop, random)
        self.n_pairs_, self.n_dropped_pairs_, self.n_queries_ = len(weight), n_dropped, 1
        return self

    def _pairs(self, data: Ranked, rows: Indices) -> Pairs:
        return Pairs(
            data.y[rows],
            qid=data.codes[rows] if data.n_queries > 1 else None,
            sample_weight=None if (data.weight == 1.0).all() else data.weight[rows],
            pair_weight="magnitude" if self.pair_weight == "magnitude" else "uniform",
        )

    def _boost(
        self,
        X: Any,
        relation: Relation,
        pair_weight: str,
        weight: Floats | None,
        counts: Indices,
        stop: Stopping | None,
        random: np.random.RandomState,
    ) -> None:
        """Learn from the rows X."""
        with Pool(self.n_jobs) as pool:
            bins, edges = bin_features(X, relation.order, weight, self.max_bins, random, pool)
            counts = counts[relation.order]
            learner = learner_of(self, relation, bins, counts, pool, pair_weight)
            self._take_rounds(learner, edges, bins.missing, stop)
        self.pair_weight_ = pair_weight
