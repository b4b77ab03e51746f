"""Any score cut into ranks, by the thresholds that cost least."""

import math
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, ClassVar, Self
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, check_consistent_length, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise._core.arguments import warn_user
from rankwise._core.inputs import (
    TOO_LARGE,
    as_floats,
    check_rows,
    check_weights,
    refuse_masked,
    unchanged_on_error,
)
from rankwise._core.ordinal import OrdinalMixin
from rankwise._core.queries import encode_queries
from rankwise._core.sklearn_private import HasMethods, StrOptions, safe_indexing, safe_split
from rankwise.model_selection.routing import fit_arguments
from rankwise.ordinal._landmarks import LandmarkRidge
from rankwise.ordinal.cuts import best_places, chances, cumulative_regressions

# What a linear estimator can't solve, or hardly.
_DEPENDENT = (
    "features that are nearly multiples or sums of each other, or of very different scale: raise "
    "its penalty, standardise the features, or drop some"
)
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def best_thresholds(
    scores: Floats,
    ranks: Indices,
    weight: Floats,
    n_ranks: int,
    loss: str = "absolute",
    costs: str = "observed",
) -> Floats:
    """Return the rising thresholds on a line of scores whose ranks cost least.

    A score has the rank ``np.searchsorted(thresholds, score, side="right")``. A threshold lies in
    the middle between two scores, or beyond all of them by their range. Of equally good thresholds
    the lowest are taken. Cost: O(n log n + n k).

    Parameters
    ----------
    scores, ranks, weight : ndarrays of shape (n,)
        The scores, and the ranks from 0 and weights of their rows.
    n_ranks : int
        The number of ranks, k.
    loss : {"absolute", "zero-one", "squared"}
        What a distance in ranks costs.
    costs : {"observed", "expected"}
        Those of the rows, or what they are on average for such scores, by `cumulative_regressions`.

    Returns
    -------
    ndarray of shape (k - 1,)
    """
    order = np.argsort(scores, kind="stable")
    s, truth, a = scores[order], ranks[order], weight[order]
    # what[true rank, said rank]
    distance = np.abs(np.subtract.outer(np.arange(n_ranks), np.arange(n_ranks))).astype(float)
    what = {"absolute": distance, "zero-one": np.sign(distance), "squared": distance**2}[loss]
    above = None
    if costs == "expected":
        above = chances(s, *cumulative_regressions(s, truth, a, n_ranks))

    def cost(rank: int) -> Floats:
        if above is None:
            return a * what[truth, rank]
        # the cost of the lowest rank, and what each rank that the truth is above adds to it
        return a * (what[0, rank] + above @ np.diff(what[:, rank]))

    places = best_places(s, cost, n_ranks)
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        reach = 2.0 * (float(s[-1] - s[0]) or max(1.0, abs(float(s[0]))))
        line = np.concatenate([[s[0] - reach], s, [s[-1] + reach]]).clip(-largest, largest)
    below, above = line[places], line[places + 1]
    middle = 0.5 * below + 0.5 * above
    # The middle of two neighbouring floats is one of them; a score on a threshold ranks higher.
    return np.where(middle > below, middle, above)


class ThresholdRanker(MetaEstimatorMixin, OrdinalMixin, BaseEstimator):
    r"""Cuts the score of any ranker or regressor into ranks: an ordinal model of it.

    The estimator learns the ranks 1..k as numbers, and its ``predict`` is the score s. With rank(s)
    the number of thresholds that s has reached, the thresholds minimise

    .. math::

        \sum_i a_i\, L\bigl(|\mathrm{rank}(s_i) - y_i|\bigr), \qquad b_1 \le \dots \le b_{k-1},

    over all positions, by dynamic programming: the least cost of the i lowest scores in the first r
    ranks follows from those in the first r - 1. L(d) is d, 1[d > 0] or :math:`d^2`, and a are the
    row weights. A row's cost is what is to be expected for its score, by a logistic regression of
    y > r on the score for each r: cuts that follow each row (``costs="observed"``) are less steady.

    ``ThresholdRanker()`` is the model for a table with grades. Its score is a smooth function plus
    a line: ridge with a Matern kernel on 300 landmarks, after columns were made alike (asinh in
    units of quartiles, standardised), with the penalty of the least leave-one-out error. The rows'
    leave-one-out scores, exact and without a refit, are what is cut. Nothing has to be scaled or
    chosen; O(m) time and the same result each time.

    A score on rows that were learned from is better than it will be on others, and cuts fitted to
    it are too bold. So the thresholds are fitted to out-of-fold scores: each row is scored by a
    copy of the estimator that learned without its fold. ``estimator_`` learns from all rows. The
    score of a ranker has no natural zero and no unit: each copy's is shifted and stretched so
    that the rows it learned from have the mean and standard deviation that ``estimator_`` gives
    them.

    ``cv`` folds cost ``cv + 1`` fits of the estimator; the thresholds cost O(n log n + n k) time
    and O(n k) memory.

    Parameters
    ----------
    estimator : estimator, default=None
        A ranker, such as ``RankSVM``, or a regressor, or a pipeline that ends in one. It is cloned.
        None is the score above; sparse rows are made dense, a block at a time.
    loss : {"absolute", "zero-one", "squared"}, default="absolute"
        What the thresholds minimise: the mean distance in ranks, the share of wrong ranks, or the
        mean squared distance.
    costs : {"auto", "expected", "observed"}, default="auto"
        What a rank costs for a row: what it does on average for rows of its score, or what it does
        for the row itself. "auto" is "expected", but for ``cv=None`` "observed": the thresholds are
        then the best of all for the training scores.
    cv : int, splitter, iterable or None, default=5
        A number of folds, each with about its share of every rank; with ``qid``, of whole queries.
        Fewer rows or queries give as many folds. Without an estimator and ``qid``, a number stands
        for leave-one-out, which costs nothing. Or a splitter of scikit-learn, or pairs of
        (train, test) indices; rows that are in no test set do not count for the thresholds. None:
        the scores of the rows that ``estimator_`` learned from, at the cost of one fit. So is a
        single row scored.
    label_order : array-like of shape (k,), default=None
        The labels from the lowest rank to the highest. None: the sorted labels of y.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        The labels, lowest rank first.
    estimator_ : estimator
        Fitted to all rows.
    thresholds_ : ndarray of shape (k-1,)
        Where its scores are cut, in order.
    slopes_, intercepts_ : ndarrays of shape (k-1,)
        Of the logistic regressions of "above this rank" on the score, for ``predict_proba``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    PRank : learns direction and thresholds together, also from a stream.

    References
    ----------
    Thresholds on a learned score: R. Herbrich, T. Graepel and K. Obermayer, Large margin rank
    boundaries for ordinal regression, 2000. Chances from a score: J. Platt, Probabilistic outputs
    for support vector machines, 1999. Landmarks: C. Williams and M. Seeger, Using the Nystroem
    method to speed up kernel machines, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.ordinal import ThresholdRanker
    >>> from rankwise.pairwise import RankSVM
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X @ [1, -1, 0], [-1, 0, 2])
    >>> model = ThresholdRanker(RankSVM()).fit(X[:200], y[:200])
    >>> print(f"{model.score(X[200:], y[200:]):.2f} of the ranks are right")
    0.98 of the ranks are right
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrdinalMixin._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "loss": [StrOptions({"absolute", "zero-one", "squared"})],
        "costs": [StrOptions({"auto", "expected", "observed"})],
        "cv": ["cv_object"],
    }

    estimator_: Any

    def __init__(
        self,
        estimator: Any = None,
        *,
        loss: str = "absolute",
        costs: str = "auto",
        cv: Any = 5,
        label_order: ArrayLike | None = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.costs = costs
        self.cv = cv
        self.label_order = label_order

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._scorer()).input_tags
        return tags

    @unchanged_on_error
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the score, then where to cut it.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        qid : array-like of shape (n_samples,), default=None
            The query of each row, in any row order. Folds hold whole queries, and the estimator is
            given it if its ``fit``, or that of the last step of a pipeline, takes it.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights, of the loss and of the estimator, which must take them. A row of weight 0
            is left out.

        Returns
        -------
        self
        """
        self._validate_params()
        model = self._scorer()
        if is_classifier(model):
            raise ValueError(
                f"estimator={type(model).__name__}(...) is a classifier, which has no score to cut:"
                " give a ranker or a regressor"
            )
        refuse_masked(y, "y")
        rows = self._check_rows(X, reset=True)
        check_consistent_length(rows, y)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, "sample_weight", rows.shape[0])
        weight = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
        weight = weight / weight.max()
        codes, n_queries = encode_queries(qid, len(weight))
        n_rows, kept = len(weight), np.flatnonzero(weight)
        if len(kept) < n_rows:
            rows, y, sample_weight = (safe_indexing(v, kept) for v in (rows, y, sample_weight))
            qid = None if qid is None else safe_indexing(qid, kept)
            codes, n_queries = encode_queries(codes[kept], len(kept))
        classes, ranks = self._check_labels(y, find=True)
        weight = weight[kept]
        given = fit_arguments(model, qid=qid, sample_weight=sample_weight)
        target = ranks.astype(np.float64) + 1.0
        places, folds = np.arange(len(ranks)), list[tuple[Indices, Indices]]()
        if self.estimator is None and isinstance(self.cv, Integral) and n_queries == 1:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                fitted = model
                scores = _checked(model, model.fit_left_out(rows, target, sample_weight))
        else:
            fitted = _fit(clone(model), rows, target, given)
            scores, folds = _score(fitted, rows), list(self._folds(rows, ranks, codes, n_queries))
        if len(kept) < n_rows and isinstance(self.cv, Iterable):
            # pairs of indices, which count the rows of weight 0, too
            position = np.full(n_rows, -1)
            position[kept] = np.arange(len(kept))
            folds = [(position[train], position[test]) for train, test in folds]
            folds = [(train[train >= 0], test[test >= 0]) for train, test in folds]
            folds = [fold for fold in folds if len(fold[1])]
            if not folds:
                raise ValueError(
                    f"sample_weight is zero for every row that cv={self.cv!r} holds back: hold "
                    "back rows with a weight"
                )
        if folds:
            parts = [
                _align(
                    *_score_fold(model, rows, target, given, fold),
                    scores[fold[0]],
                    weight[fold[0]],
                )
                for fold in folds
            ]
            places, scores = np.concatenate([fold[1] for fold in folds]), np.concatenate(parts)
        costs = self.costs
        if costs == "auto":
            costs = "observed" if self.cv is None else "expected"
        self.thresholds_ = best_thresholds(
            scores, ranks[places], weight[places], len(classes), self.loss, costs
        )
        self.slopes_, self.intercepts_ = cumulative_regressions(
            scores, ranks[places], weight[places], len(classes)
        )
        self.estimator_, self.classes_ = fitted, classes
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        r"""Return the probability of each label, by cumulative logistic regressions on the score.

        :math:`P(y > r) = 1 / (1 + e^{-\alpha_r s - \beta_r})` for each r is fitted to the scores
        that the thresholds are fitted to, of rows that were left out: so the probabilities are
        calibrated. Where two of the curves cross, the higher rank's is lowered to that of the rank
        below. ``predict`` cuts by the loss: with "absolute" it is the median of the labels, which
        need not be the most probable one.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, k)
        """
        scores = self.project(X)
        above = np.minimum.accumulate(chances(scores, self.slopes_, self.intercepts_), axis=1)
        return -np.diff(above, axis=1, prepend=1.0, append=0.0)

    def project(self, X: ArrayLike) -> Floats:
        """Return the scores of the rows, by ``estimator_``.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if np.shape(self.thresholds_) != (len(self.classes_) - 1,):
            raise ValueError(
                f"thresholds_ has the shape {np.shape(self.thresholds_)} for {len(self.classes_)} "
                "classes: it was changed; fit the model again"
            )
        return _score(self.estimator_, self._check_rows(X, reset=False))

    def _scorer(self) -> Any:
        return LandmarkRidge() if self.estimator is None else self.estimator

    def _check_rows(self, X: ArrayLike, *, reset: bool) -> Any:
        """Return a frame unchanged, since a pipeline may want its columns, and all else as floats.

        The estimator looks whether they are finite.
        """
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return check_rows(self, X, reset=reset, finite=False)

    def _folds(
        self, rows: Any, ranks: Indices, codes: Indices, n_queries: int
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the rows to learn from and those to score."""
        if self.cv is None:
            return
        if not isinstance(self.cv, Integral):
            yield from check_cv(self.cv).split(rows, ranks, codes if n_queries > 1 else None)
            return
        # Rows in the order of their ranks, or queries in that of their sizes, dealt like cards.
        keys = -np.bincount(codes) if n_queries > 1 else ranks
        n_folds = min(int(self.cv), len(keys))
        fold = np.empty(len(keys), dtype=np.int64)
        fold[np.argsort(keys, kind="stable")] = np.arange(len(keys)) % n_folds
        held = fold[codes] if n_queries > 1 else fold
        for number in range(n_folds if n_folds > 1 else 0):
            yield np.flatnonzero(held != number), np.flatnonzero(held == number)


def _score_fold(
    model: Any, rows: Any, target: Floats, given: dict[str, Any], fold: tuple[Indices, Indices]
) -> tuple[Floats, Floats]:
    """Return the scores of both rows of a fold by a model that learned from the first."""
    train, test = fold
    some, ranks = safe_split(model, rows, target, train)
    others, _ = safe_split(model, rows, target, test, train)
    try:
        fitted = _fit(clone(model), some, ranks, {k: v[train] for k, v in given.items()})
    except ValueError as error:
        raise ValueError(
            f"{type(model).__name__} can't learn without a fold of {len(test)} rows: {error}; use "
            "fewer folds, or cv=None to cut the scores of the rows that were learned from"
        ) from error
    return _score(fitted, some), _score(fitted, others)


def _align(learned: Floats, scores: Floats, wanted: Floats, weight: Floats) -> Floats:
    """Return scores after the shift and stretch that give the learned ones another mean and sd."""
    (shift, sd), (mean, wanted_sd) = _moments(learned, weight), _moments(wanted, weight)
    return mean + (scores - shift) * (wanted_sd / sd if sd > 0 else 1.0)


def _moments(scores: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted mean and standard deviation."""
    # divided by a power of 2, which is exact: squares might overflow
    exponent = math.frexp(float(np.abs(scores).max()))[1]
    scores = np.ldexp(scores, -exponent)
    mean = float(np.average(scores, weights=weight))
    sd = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight)))
    return math.ldexp(mean, exponent), math.ldexp(sd, exponent)


def _fit(model: Any, rows: Any, target: Floats, given: dict[str, Any]) -> Any:
    """Fit an estimator; say in words of ours what linear algebra warns of or raises."""
    name = type(model).__name__
    # What an estimator makes of huge numbers is looked at when it scores.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), catch_warnings():
        simplefilter("error", LinAlgWarning)
        try:
            return model.fit(rows, target, **given)
        except LinAlgWarning:
            warn_user(f"{name} learns from {_DEPENDENT}")
        except LinAlgError as error:
            raise ValueError(f"{name} can't learn from {_DEPENDENT}") from error
        except ValueError as error:
            if "must not contain infs or NaNs" in str(error):  # SciPy, of sums of products
                raise ValueError(f"the scores of {name} are {TOO_LARGE}") from error
            raise
        simplefilter("ignore", LinAlgWarning)
        return model.fit(rows, target, **given)


def _score(model: Any, rows: Any) -> Floats:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _checked(model, as_floats(model.predict(rows), "a score"))


def _checked(model: Any, scores: Floats) -> Floats:
    if scores.ndim != 1:
        raise ValueError(
            f"{type(model).__name__}.predict returned an array of shape {scores.shape}, expected "
            "a score for each row"
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"the scores of {type(model).__name__} are {TOO_LARGE}")
    return scores
