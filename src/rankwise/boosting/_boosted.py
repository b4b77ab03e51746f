"""What boosting sets and reads: rounds are taken, kept as attributes, and give scores."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_whole
from rankwise._core.inputs import check_rows
from rankwise._core.ranker import RankerMixin
from rankwise.boosting._ensemble import FeatureScore, Forest, Stumps, check_nodes
from rankwise.boosting.pair_weights import Tree
from rankwise.boosting.rounds import Stopping
from rankwise.boosting.stumps import Rounds
from rankwise.boosting.trees import Trees

Floats = NDArray[np.float64]

# What there is after some ways to fit, and not after others.
_NOT_ALWAYS = (
    "alphas_", "children_", "criterion_", "leaf_values_", "smooth_margin_", "tree_starts_",
    "validation_loss_",
)  # fmt: skip


class BoostedRanker(RankerMixin, BaseEstimator):
    """A sum of base rankers or trees; `RankBoost` has the parameters, and learns."""

    n_estimators: int
    max_leaf_nodes: int
    push: float
    n_features_in_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

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
                "trees mix features, so none has a score of its own: fit with max_leaf_nodes=2"
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
        learner: Rounds | Trees,
        edges: list[Floats],
        missing: NDArray[np.bool_],
        stop: Stopping | None = None,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Take rounds on bins of these edges, tell ``say`` of each, and set what was learned."""
        trees: list[Tree] = []
        while len(trees) < self.n_estimators and (tree := learner.grow()) is not None:
            trees.append(tree)
            say(f"round {len(trees)} of {self.n_estimators}")
            if stop is not None and stop.after(Forest.of([tree], edges)):
                break
        for name in _NOT_ALWAYS:
            self.__dict__.pop(name, None)
        if stop is not None:
            trees = trees[: stop.n_best]
            self.validation_loss_ = np.array(stop.losses)
        forest = Forest.of(trees, edges)
        self.features_, self.cutpoints_ = forest.features, forest.cutpoints
        self.missing_above_ = forest.missing_above
        if self.max_leaf_nodes == 2:
            self.alphas_ = forest.values[1::2] - forest.values[::2]
        else:
            self.children_, self.leaf_values_ = forest.children, forest.values
            self.tree_starts_ = forest.starts
        self.train_loss_ = np.array([tree.loss for tree in trees], dtype=np.float64)
        gains = np.concatenate([np.empty(0), *(tree.gains for tree in trees)])
        if isinstance(learner, Rounds):
            self.criterion_ = learner.criterion
            if self.push == 1:
                falls = np.cumsum(gains) - np.log(learner.objective.limit / 2)
                self.smooth_margin_ = falls / np.cumsum(np.abs(self.alphas_))
        total = np.bincount(self.features_, weights=gains, minlength=self.n_features_in_)
        self.feature_importances_ = total / (total.sum() or 1.0)
        self.features_with_missing_ = np.flatnonzero(missing)
