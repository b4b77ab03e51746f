"""What all evidence shares: the `Ranking` that comes out, and the grammar of the estimators.

`OrdinalMixin` is a classifier over ordered labels, `OnlineMixin` one that learns from a stream in
any chunks, `RankerMixin` a regressor of a score, by which things are put in order. All follow
scikit-learn.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from rankwise.engine.inputs import as_floats, ratings_of, refuse_masked, rows_of
from rankwise.engine.labels import (
    check_same_order,
    found_labels,
    known_labels,
    named_labels,
    sorted_labels,
    to_ranks,
    warn_alphabetical,
)
from rankwise.engine.loops.rows import as_rows, scores
from rankwise.engine.queries import encode_queries, group_rows
from rankwise.engine.warn import warn_user
from rankwise.metrics import pairwise_misranking_loss

__all__ = ["OnlineMixin", "OrdinalMixin", "RankerMixin", "Ranking"]

State = dict[str, NDArray[Any]]
Method = TypeVar("Method", bound=Callable[..., Any])

_FLOATS = [np.float64, np.float32]
_UNWANTED = np.empty(0, dtype=np.int64)
# Sums of products of four weights of this size still fit a float.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-60, 1e60
TOO_LARGE = (
    "larger than a float can hold: scale the features, for example with "
    "sklearn.preprocessing.StandardScaler"
)


@dataclass(frozen=True, eq=False)
class Ranking:
    """An order of things, and what it cost to find it.

    Attributes
    ----------
    order : sequence
        The items, best first.
    positions : ndarray of shape (n,)
        The position of each item of the input, from 1.
    n_calls, n_batches : int or None
        Comparisons that were asked, and in how many batches.
    cost, lower_bound : float or None
        The objective of the order, and a proven bound on the best.
    optimal : bool or None
        Whether the order is proven to be the best.
    log : list or None
        The answers that were received, to go on from.
    certain : ndarray of shape (n,) or None
        Whether each place of ``order`` is settled by answers, rather than left as it was.

    Examples
    --------
    >>> from rankwise.base import Ranking
    >>> Ranking.from_scores([0.2, 0.9, 0.5])
    Ranking(order=array([1, 2, 0]), positions=array([3, 1, 2]))
    """

    order: Any
    positions: NDArray[np.int64]
    n_calls: int | None = None
    n_batches: int | None = None
    cost: float | None = None
    lower_bound: float | None = None
    optimal: bool | None = None
    log: list[Any] | None = None
    certain: NDArray[np.bool_] | None = None

    @classmethod
    def from_scores(cls, scores: ArrayLike) -> Self:
        """Order the indices of ``scores`` from the highest to the lowest; ties as they come."""
        values = as_floats(scores, "scores")
        if values.ndim != 1 or np.isnan(values).any():
            raise ValueError("scores must be a 1-D array without NaN, one number an item")
        order = np.argsort(-values, kind="stable")
        positions = np.empty(len(order), dtype=np.int64)
        positions[order] = np.arange(1, len(order) + 1)
        return cls(order=order, positions=positions)

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if f.name not in {"log", "certain"}]
        known = ((name, getattr(self, name)) for name in shown)
        return f"Ranking({', '.join(f'{k}={v!r}' for k, v in known if v is not None)})"


def unchanged_on_error(learn: Method) -> Method:
    """Decorate a method that learns: if it raises, the model is left as it was.

    Every attribute is put back, those of scikit-learn's validation included. The method must
    replace what it has learned before, not write into it.
    """

    @wraps(learn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return learn(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return cast(Method, method)


class OrdinalMixin(ClassifierMixin):
    """A classifier over ordered labels that projects a row on a line cut by thresholds.

    The ranks are the places between ``thresholds_``; a score on a threshold belongs to the higher
    rank. A model with another rule overrides `_guess` and `_decide`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"label_order": ["array-like", None]}

    label_order: ArrayLike | None
    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    thresholds_: NDArray[np.float64]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags

    def project(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the projections of the rows: inner products with ``coef_``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, k) if ``coef_`` has a row a class
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        direction = self._direction()
        coef = np.atleast_2d(direction)
        projections = np.empty((rows.shape[0], len(coef)))
        for place, part in self._parts(rows):
            scores(part, coef, projections[place])
        bad = np.flatnonzero(~np.isfinite(projections).all(axis=1))
        if len(bad):
            raise bad_row(rows, bad[0])
        return projections if direction.ndim == 2 else projections[:, 0]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label of each row, always one of ``classes_``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        """
        projections = self.project(X)
        return self.classes_[self._guess(projections)]

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return how far inside each rank's place a row lies; the argmax is ``predict``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, k), or (n_samples,) for two ranks
            ``min(s - b_(r-1), b_r - s)`` for rank r; for two ranks ``s - b_1``, where more than 0
            means the higher one.
        """
        return self._decide(self.project(X))

    def _check_rows(self, X: ArrayLike, *, reset: bool) -> Any:
        # The loops find what is not finite, but for a precomputed kernel, of which they read parts.
        precomputed = getattr(self, "kernel", None) == "precomputed"
        return check_rows(self, X, reset=reset, dtype=_FLOATS, finite=precomputed)

    def _direction(self) -> NDArray[np.float64]:
        """Return what the parts of X are multiplied with."""
        return self.coef_

    def _parts(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Yield places of X and the rows there, as the loops take them."""
        yield slice(None), as_rows(X)

    def _guess(self, projections: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.searchsorted(self.thresholds_, projections, side="right")

    def _decide(self, projections: NDArray[np.float64]) -> NDArray[np.float64]:
        # A score on a threshold is 0 for both neighbours; the smallest step tells them apart.
        tiny = np.finfo(np.float64).tiny
        above = projections[:, None] - self.thresholds_
        if above.shape[1] == 1:
            return np.where(above == 0, tiny, above)[:, 0]
        edge = np.full((len(projections), 1), np.inf)
        return np.minimum(
            np.hstack([edge, above]), np.hstack([np.where(above == 0, -tiny, -above), edge])
        )

    def _check_labels(
        self, y: ArrayLike, classes: ArrayLike | None = None, *, find: bool
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the ordered labels and the ranks of y, from 0.

        Labels come from ``label_order``, an ordered categorical, ``classes``, or, with ``find``,
        y itself.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        known, values = known_labels(y, self.label_order)
        if classes is not None:
            given = named_labels(classes, "classes")
            if known is None:
                known = sorted_labels(given, name="classes")
                warn_alphabetical(known, name="classes")
            elif set(given.tolist()) != set(known.tolist()):
                raise ValueError(
                    f"classes={given.tolist()} and the label order {known.tolist()} "
                    "name different labels; leave one of them out"
                )
        if known is None:
            if not find:
                raise ValueError(
                    "classes is missing on the first call to partial_fit: name all labels with "
                    "classes=[...], since one chunk may not hold each of them"
                )
            known = found_labels(values)
            if len(known) == 1:
                raise ValueError(
                    f"y holds one class only ({known.tolist()[0]!r}): there is nothing to order; "
                    "if other labels exist, name all of them with label_order=[...]"
                )
            warn_alphabetical(known)
        return known, to_ranks(values, known)

    def _check_labels_again(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[np.int64]:
        """Return the ranks of a later chunk, whose labels must be those of the first."""
        known, values = known_labels(y, self.label_order)
        if known is not None:
            if self.label_order is not None and known.tolist() != self.classes_.tolist():
                raise ValueError(
                    f"label_order={known.tolist()} was changed within a stream that began with "
                    f"{self.classes_.tolist()}: set it before the first partial_fit, or fit anew"
                )
            check_same_order(known, self.classes_, "y")
        if classes is not None:
            given = named_labels(classes, "classes")
            if set(given.tolist()) != set(self.classes_.tolist()):
                raise ValueError(
                    f"classes={given.tolist()} is not the same as on the first call to "
                    f"partial_fit ({self.classes_.tolist()}): start a new model for other labels"
                )
        return to_ranks(values, self.classes_)


class OnlineMixin(OrdinalMixin):
    """An ordinal model that learns one row at a time: the same model for any chunking, bit for bit.

    All that is learned is in ``state``, a dict of arrays. A subclass supplies three hooks:

    - ``_start(n_ranks, width)`` returns the state before the first round; the width of a direction
      is the number of features, unless `_width` says otherwise;
    - ``_pass(X, ranks, state, order, guesses)`` learns in place from the rows in ``order`` (None:
      as they come), fills ``guesses`` unless it is empty, and returns -1 or a row with a score that
      is not finite;
    - ``_publish(state)`` sets the learned attributes.

    A call works on a copy of the state and puts it in place at the end, so a refused chunk or an
    interrupt leaves the model as it was.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrdinalMixin._parameter_constraints,
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    epochs: int
    shuffle: bool
    random_state: int | np.random.RandomState | None
    n_rounds_: int
    n_mistakes_: int
    rank_loss_: int

    @unchanged_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from scratch, in ``epochs`` passes over the rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
        """
        rows = self._begin(X, y, reset=True)
        self._check_whole(rows)
        classes, ranks = self._check_labels(y, find=True)
        state = self._start(len(classes), self._width(rows.shape[1]))
        random = check_random_state(self.random_state)
        for _ in range(self.epochs):
            order = random.permutation(len(ranks)) if self.shuffle else None
            self._run(rows, ranks, state, order)
        self._finish(state, classes)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on learning, in one pass over the rows as they come.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (k,), default=None
            All labels of the stream. Required on the first call, unless ``label_order`` or an
            ordered categorical y names them.

        Returns
        -------
        self
        """
        self._learn(X, y, classes, wanted=False)
        return self

    def partial_fit_predict(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Go on learning, and return the labels predicted before each update.

        The same as ``predict`` and then ``partial_fit`` with each row in turn, in one pass.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (k,), default=None
            As in ``partial_fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        guesses = self._learn(X, y, classes, wanted=True)
        return self.classes_[guesses]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @unchanged_on_error
    def _learn(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, *, wanted: bool
    ) -> NDArray[np.int64]:
        first = not self.__sklearn_is_fitted__()
        rows = self._begin(X, y, reset=first)
        if first:
            labels, ranks = self._check_labels(y, classes, find=False)
            state = self._start(len(labels), self._width(rows.shape[1]))
        else:
            labels, ranks = self.classes_, self._check_labels_again(y, classes)
            state = {name: array.copy() for name, array in self._state.items()}
        guesses = np.empty(len(ranks), dtype=np.int64) if wanted else _UNWANTED
        self._run(rows, ranks, state, None, guesses)
        self._finish(state, labels)
        return guesses

    def _begin(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> Any:
        self._validate_params()
        refuse_masked(y, "y")
        rows = self._check_rows(X, reset=reset)
        check_consistent_length(rows, y)
        return rows

    def _run(
        self,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64] | None,
        guesses: NDArray[np.int64] = _UNWANTED,
    ) -> None:
        bad = self._learn_from(X, ranks, state, order, guesses)
        if bad >= 0:
            raise bad_row(X, bad)
        if not all(np.isfinite(array).all() for array in state.values()):
            raise ValueError(f"what was learned from X is {TOO_LARGE}")

    def _learn_from(
        self,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64] | None,
        guesses: NDArray[np.int64],
    ) -> int:
        return self._pass(X, ranks, state, order, guesses)

    def _finish(self, state: State, classes: NDArray[Any]) -> None:
        self._state, self.classes_ = state, classes
        self.n_rounds_, self.n_mistakes_, self.rank_loss_ = state["counts"].tolist()
        self._publish(state)

    def _check_whole(self, X: Any) -> None:
        """Refuse rows that ``fit`` can't take as the whole data."""

    def _width(self, n_features: int) -> int:
        return n_features

    def _start(self, n_ranks: int, width: int) -> State:
        raise NotImplementedError

    def _pass(
        self,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64] | None,
        guesses: NDArray[np.int64],
    ) -> int:
        raise NotImplementedError

    def _publish(self, state: State) -> None:
        raise NotImplementedError


class RankerMixin(RegressorMixin):
    """A regressor of a score, higher is better, by which rows are put in order.

    A subclass has ``fit(X, y, *, qid=None, sample_weight=None)`` and ``predict(X)``, and sets
    ``n_queries_``, the number of queries that it has learned from.
    """

    n_queries_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def rank(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the position of each row, from 1, best first; ties as they come.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        qid : array-like of shape (n_samples,), default=None
            The query of each row: positions are counted within queries.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self.predict(X)
        codes, n_queries = encode_queries(qid, len(values))
        best = np.argsort(-values, kind="stable")
        order, starts = group_rows(codes[best], n_queries)
        positions = np.empty(len(values), dtype=np.int64)
        positions[best[order]] = 1 + np.arange(len(values)) - starts[codes[best[order]]]
        return positions

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of comparable pairs that are put in the right order, a tie half.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their true ratings. Two rows are comparable if these differ.
        qid : array-like of shape (n_samples,), default=None
            The query of each row: only rows of one query are compared.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; a pair weighs their product.
        """
        values = self.predict(X)
        if qid is None and self.n_queries_ > 1:
            warn_user(
                f"this {type(self).__name__} was fitted with qid and is scored without it, so rows "
                "of different queries are compared, too: pass qid=... to score (in GridSearchCV "
                "and cross_val_score through metadata routing)"
            )
        return 1.0 - pairwise_misranking_loss(
            y, values, qid=qid, sample_weight=sample_weight, ties="half"
        )


class Ranked(NamedTuple):
    """Rows to learn a ranker from, all of positive weight.

    Attributes
    ----------
    X : ndarray or csr_array of shape (m, n_features)
        The rows, in double precision.
    y, weight : ndarrays of shape (m,)
        Their ratings and weights.
    codes : ndarray of shape (m,)
        The query of each row.
    n_queries : int
        Each code below it occurs.
    kept : ndarray of shape (m,)
        Which of the given rows these are; those without weight are left out.
    weight_unit : float
        What the given weights were divided by: 1, unless all are tiny or one is huge.
    """

    X: Any
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    codes: NDArray[np.int64]
    n_queries: int
    kept: NDArray[np.int64]
    weight_unit: float

    @property
    def given_weight(self) -> NDArray[np.float64]:
        """The weights as they were given."""
        return self.weight if self.weight_unit == 1 else self.weight * self.weight_unit


def check_ranked(
    estimator: object,
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    reset: bool = True,
    missing: bool = False,
) -> Ranked:
    """Validate what a ranker learns from; with ``missing``, X may hold NaN."""
    given = None if sample_weight is None else as_floats(sample_weight, "sample_weight")
    refuse_masked(y, "y")
    with np.errstate(over="ignore", invalid="ignore"):
        rows, ratings = validate_data(
            estimator,
            rows_of(X),
            ratings_of(y, "y"),
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan" if missing else True,
            y_numeric=True,
            reset=reset,
        )
    ratings = np.ascontiguousarray(as_floats(ratings, "y"))
    if given is not None and given.ndim == 0:
        given = np.full(len(ratings), float(given))
    weight, weight_unit = _scaled(_check_sample_weight(given, rows, dtype=np.float64))
    codes, n_queries = encode_queries(qid, len(ratings))
    if (weight < 0).any():
        row = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(f"sample_weight is {weight[row]} in row {row}: a weight can't be negative")
    kept = np.flatnonzero(weight)
    if not len(kept):
        raise ValueError("sample_weight is zero for every row: nothing is left to learn from")
    if len(kept) < len(weight):
        rows, ratings, weight = rows[kept], ratings[kept], weight[kept]
        codes, n_queries = encode_queries(codes[kept], len(kept))
    return Ranked(rows, ratings, weight, codes, n_queries, kept, weight_unit)


def _scaled(weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return weights whose products a float can hold, and what they were divided by."""
    largest = float(np.abs(weight).max(initial=0.0))
    if largest == 0 or _LEAST_WEIGHT <= largest <= _LARGEST_WEIGHT:
        return weight, 1.0
    return weight / largest, largest


def check_rows(
    estimator: object,
    X: ArrayLike,
    *,
    reset: bool,
    dtype: Any = np.float64,
    finite: bool | str = True,
) -> Any:
    """Return X as a C-ordered float array or a CSR matrix without an entry twice.

    ``finite`` is scikit-learn's ``ensure_all_finite``: True, False or "allow-nan".
    """
    # scikit-learn adds the numbers to see whether all are finite.
    with np.errstate(over="ignore", invalid="ignore"):
        return validate_data(
            estimator,
            rows_of(X),
            accept_sparse="csr",
            dtype=dtype,
            order="C",
            ensure_all_finite=finite,
            reset=reset,
        )


def bad_row(X: Any, row: int) -> ValueError:
    """Return the error for a row whose score is not finite."""
    values = X[[row]].toarray()[0] if hasattr(X, "toarray") else X[row]
    for name, found in (("NaN", np.isnan(values)), ("infinity", np.isinf(values))):
        if found.any():
            return ValueError(
                f"Input X contains {name} (row {row}, column {np.flatnonzero(found)[0]}): "
                "drop the row or impute it, for example with sklearn.impute.SimpleImputer"
            )
    return ValueError(f"the score of row {row} of X is {TOO_LARGE}")
