"""Ordinal models: classifiers over ordered labels, and those that learn from a stream."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from rankwise._core._loops.rows import NONE, as_rows, scores
from rankwise._core.arguments import warn_user
from rankwise._core.inputs import TOO_LARGE, bad_row, check_rows, check_weights, unchanged_on_error
from rankwise._core.labels import (
    check_same_order,
    found_labels,
    known_labels,
    named_labels,
    sorted_labels,
    to_ranks,
    warn_alphabetical,
)
from rankwise._core.learned_state import check_shape, learned_floats
from rankwise._core.sklearn_private import Interval, StrOptions, num_samples

_FLOATS = [np.float64, np.float32]
# Lengths of rows that steps of 1 can match, looked at in this number of rows.
_USUAL_NORMS = (0.05, 50.0)
_SAMPLE = 200


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
    n_features_in_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

    def project(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the projections of the rows: inner products with ``coef_``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, k) if ``coef_`` has one row for each class
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        direction = self._direction()
        coef = np.atleast_2d(direction)
        projections = np.empty((rows.shape[0], len(coef)))
        for place, _, tile in self._tiles(rows):
            scores(as_rows(tile), coef, projections[place])
        bad = np.flatnonzero(~np.isfinite(projections).all(axis=1))
        if len(bad):
            raise bad_row(rows, bad[0])
        return projections if direction.ndim == 2 else projections[:, 0]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the weighted share of rows whose label is predicted.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        """
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, "sample_weight", num_samples(y))
            # by a power of 2, which changes no digit, so that their sum is finite
            sample_weight = np.ldexp(sample_weight, -np.frexp(sample_weight.max())[1])
        # missing labels of pandas are cast before scikit-learn names them
        with np.errstate(invalid="ignore"):
            return float(super().score(X, y, sample_weight))

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
        with np.errstate(over="ignore"):
            decisions = self._decide(self.project(X))
        bad = np.flatnonzero(~np.isfinite(decisions).reshape(len(decisions), -1).all(axis=1))
        if len(bad):
            raise bad_row(self._check_rows(X, reset=False), bad[0])
        return decisions

    def _check_rows(self, X: ArrayLike, *, reset: bool) -> Any:
        # The loops find what is not finite, but for a precomputed kernel, of which they read parts.
        precomputed = getattr(self, "kernel", None) == "precomputed"
        return check_rows(self, X, reset=reset, dtype=_FLOATS, finite=precomputed)

    def _direction(self) -> NDArray[np.float64]:
        """Return what the rows are multiplied with, in the shape that fits them."""
        coef = learned_floats("coef_", self.coef_)
        check_shape("coef_", coef, *coef.shape[:-1], self.n_features_in_)
        return coef

    def _tiles(self, rows: Any) -> Iterator[tuple[slice, Any, Any]]:
        """Yield some rows after the others: their places, their numbers, and they."""
        yield slice(None), None, rows

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
            named = named_labels(classes, "classes")
            if known is None:
                known = sorted_labels(named, name="classes")
                warn_alphabetical(known, name="classes")
            elif set(named.tolist()) != set(known.tolist()):
                raise ValueError(
                    f"classes={named.tolist()} and the label order {known.tolist()} "
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
                    f"{self.classes_.tolist()}: set it before the first partial_fit, or fit again"
                )
            check_same_order(known, self.classes_, "y")
        if classes is not None:
            named = named_labels(classes, "classes")
            if set(named.tolist()) != set(self.classes_.tolist()):
                raise ValueError(
                    f"classes={named.tolist()} is not the same as on the first call to "
                    f"partial_fit ({self.classes_.tolist()}): start a new model for other labels"
                )
        return to_ranks(values, self.classes_)


State = dict[str, NDArray[Any]]
# Rows, ranks, order, counts and guesses, as in `rankwise.ordinal._loops.prank`.
Stream = tuple[Any, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

# Passes of ``epochs="auto"``: the most, and the number in a row that may not lower the loss
# by a hundredth. Chosen on tables by ``python -m benchmarks tables``.
MOST_EPOCHS = 50
PATIENCE = 3
FALL = 0.01

# Set by scikit-learn's validation, before anything is learned.
_VALIDATED = {"n_features_in_", "feature_names_in_"}
# Types of the arrays of a state that hold integers.
_INTEGERS = {
    **dict.fromkeys(("counts", "survived", "voter_counts", "correct"), np.int64),
    "seed": np.uint64,
}


@dataclass
class LinearRows:
    """Rows to learn from, as they are. A direction has a number for each feature.

    Parameters
    ----------
    description : ndarray
        The kernel and its numbers. A stream is resumed with the same ones only.
    width : int
        The length of a direction before the first round.
    """

    description: NDArray[np.float64]
    width: int

    def tiles(
        self, X: Any, state: State, order: NDArray[np.int64] = NONE, *, learning: bool = False
    ) -> Iterator[tuple[slice, NDArray[np.int64] | None, Any]]:
        """Yield some rows after the others: their places in the order, their numbers, and they.

        The numbers are None if the rows are all of X, not yet in order. With ``learning``, the
        state follows what a loop learns from the rows.
        """
        yield slice(None), None, X

    def length(self, state: State) -> int:
        """Return the length of a learned direction."""
        return self.width

    def products(self, W: NDArray[np.float64], state: State) -> NDArray[np.float64]:
        """Return the inner products of directions with each other."""
        return W @ W.T


@dataclass
class Falling:
    """Tells from the rank loss of each pass whether the loss still falls."""

    lowest: float = np.inf
    waited: int = 0

    def goes_on(self, loss: int) -> bool:
        """Whether another pass is worth it after one of this loss."""
        if loss < (1 - FALL) * self.lowest:
            self.lowest, self.waited = loss, 0
        else:
            self.waited += 1
        return loss > 0 and self.waited < PATIENCE


def warn_unusual_scale(rows: Any, name: str) -> None:
    """Warn when the first rows are too long or short for thresholds that move by 1."""
    with np.errstate(over="ignore"):
        if hasattr(rows, "within"):  # kernel values
            norms = np.sqrt(np.maximum(rows.within.diagonal()[: len(rows.slots)], 0))
        else:
            norms = row_norms(rows[:_SAMPLE].astype(np.float64, copy=False))
    norms = norms[norms > 0]
    typical = float(np.median(norms)) if len(norms) else 1.0
    if not _USUAL_NORMS[0] <= typical <= _USUAL_NORMS[1]:
        warn_user(
            f"rows of X have a typical length of {typical:.2g}, while the thresholds of {name} "
            "move by 1 at a mistake: standardise the features or divide them, so that rows are "
            "about 1 long"
        )


class OnlineMixin(OrdinalMixin):
    """An ordinal model that learns one row at a time: the same model for any chunking, bit for bit.

    All that is learned is in ``state``, a dict of arrays. A subclass supplies four hooks:

    - ``_start(n_ranks, width)`` returns the state before the first round, for directions of this
      width; ``counts`` are its rounds, mistakes and rank loss;
    - ``_pass(stream, state)`` learns from a stream, the first five arguments of a compiled loop,
      writing into the state, and returns -1 or a row with a score that is not finite;
    - ``_learned(state)`` returns the learned attributes;
    - ``_shapes(state, n_ranks, width)`` returns the shapes of the arrays of a valid state.

    A call works on a copy of the state and puts it in place at the end, so an invalid chunk or an
    interrupt leaves the model unchanged.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrdinalMixin._parameter_constraints,
        "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }
    # Whether each rank has its own direction, instead of thresholds on a common one.
    _own_directions: ClassVar[bool] = False
    # Values of ``update`` by which thresholds move by 1 whatever the length of the rows.
    _fixed_steps: ClassVar[frozenset[str]] = frozenset()

    epochs: int | str
    shuffle: bool
    random_state: int | np.random.RandomState | None
    n_rounds_: int
    n_mistakes_: int
    rank_loss_: int

    @unchanged_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from scratch, in ``epochs`` passes over the rows.

        With "auto" the passes end when the rank loss of the guesses made in a pass, before each
        update, has not fallen for some passes, or after 50.

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
        self._validate_params()
        rows = self._check_rows(X, reset=True)
        check_consistent_length(rows, y)
        if getattr(self, "kernel", None) == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"X has shape {rows.shape}, but with kernel='precomputed' fit takes the square "
                "matrix of all pairs of rows; partial_fit takes some rows of it"
            )
        source = self._source()
        classes, ranks = self._check_labels(y, find=True)
        state = self._start(len(classes), source.width)
        random = check_random_state(self.random_state)
        falling = Falling()
        for _ in range(MOST_EPOCHS if self.epochs == "auto" else int(self.epochs)):
            before = int(state["counts"][2])
            order = random.permutation(len(ranks)) if self.shuffle else NONE
            self._learn(source, rows, ranks, state, order, NONE)
            if self.epochs == "auto" and not falling.goes_on(int(state["counts"][2]) - before):
                break
        self._finish(source, state, classes)
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
        self._partial_fit(X, y, classes, guess=False)
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
        guesses = self._partial_fit(X, y, classes, guess=True)
        return self.classes_[guesses]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @unchanged_on_error
    def _partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, *, guess: bool
    ) -> NDArray[np.int64]:
        first = not self.__sklearn_is_fitted__()
        self._validate_params()
        rows = self._check_rows(X, reset=first)
        check_consistent_length(rows, y)
        if first:
            labels, ranks = self._check_labels(y, classes, find=False)
            source = self._source()
            state = self._start(len(labels), source.width)
        else:
            source = self._check_state()
            labels, ranks = self.classes_, self._check_labels_again(y, classes)
            state = {name: array.copy() for name, array in self._state.items()}
        guesses = np.empty(len(ranks), dtype=np.int64) if guess else NONE
        self._learn(source, rows, ranks, state, NONE, guesses)
        self._finish(source, state, labels)
        return guesses

    def _learn(
        self,
        source: LinearRows,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64],
        guesses: NDArray[np.int64],
    ) -> None:
        """Run one pass over the rows; raise if a score or what is learned is not finite."""
        for place, numbers, rows in source.tiles(X, state, order, learning=True):
            if getattr(self, "update", None) in self._fixed_steps and state["counts"][0] == 0:
                warn_unusual_scale(rows, type(self).__name__)
            some = (ranks, order) if numbers is None else (ranks[numbers], NONE)
            bad = self._pass((as_rows(rows), *some, state["counts"], guesses[place]), state)
            if bad >= 0:
                raise bad_row(X, bad if numbers is None else int(numbers[bad]))
        if not all(np.isfinite(array).all() for array in state.values()):
            raise ValueError(f"the learned coefficients are {TOO_LARGE}")

    def _finish(self, source: LinearRows, state: State, classes: NDArray[Any]) -> None:
        """Set what was learned, in place of what an earlier call has learned."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in _VALIDATED]:
            delattr(self, name)
        state["kernel"] = source.description
        self._state, self.classes_ = state, classes
        self.n_rounds_, self.n_mistakes_, self.rank_loss_ = state["counts"].tolist()
        dual = "supports" in state
        for name, value in self._learned(state).items():
            setattr(self, name.replace("coef_", "dual_coef_") if dual else name, value)
        if dual:
            self._set_supports(source, state)

    def _check_state(self) -> LinearRows:
        """Return the training rows; raise if they, the state or the labels were changed."""
        state, source = self._state, self._source()
        if not np.array_equal(state.get("kernel", ()), source.description):
            raise ValueError(
                "the kernel, its parameters or budget were changed within a stream: restore them, "
                "or fit again"
            )
        classes = np.asarray(self.classes_)
        check_shape("classes_", classes, None, kind=classes.dtype)
        shapes = self._shapes(state, len(classes), source.length(state))
        for name, shape in {"counts": (3,), **shapes}.items():
            check_shape(name, state.get(name), *shape, kind=_INTEGERS.get(name, np.float64))
        if not self._own_directions:
            thresholds = learned_floats("thresholds_", self.thresholds_)
            check_shape("thresholds_", thresholds, len(classes) - 1)
        return source

    def _check_loaded(self) -> None:
        if self.__sklearn_is_fitted__():
            self._check_state()

    def _direction(self) -> NDArray[np.float64]:
        name = "dual_coef_" if "supports" in self._state else "coef_"
        direction = learned_floats(name, getattr(self, name, None))
        ranks = (len(self.classes_),) if self._own_directions else ()
        check_shape(name, direction, *ranks, self._check_state().length(self._state))
        return direction

    def _tiles(self, rows: Any) -> Iterator[tuple[slice, Any, Any]]:
        return self._check_state().tiles(rows, self._state)

    def _source(self) -> LinearRows:
        """Return the rows to learn from: the given ones, or their kernel values."""
        if getattr(self, "kernel", "linear") == "linear":
            budget = getattr(self, "budget", None)
            description = [0.0, float(budget) if isinstance(budget, Integral) else 0.0]
            return LinearRows(np.array(description), self.n_features_in_)
        return self._kernel_source()

    @abstractmethod
    def _kernel_source(self) -> LinearRows:
        """Return the kernel values of rows, to learn from."""

    @abstractmethod
    def _set_supports(self, source: Any, state: State) -> None:
        """Set the rows that a kernel has kept."""

    @abstractmethod
    def _start(self, n_ranks: int, width: int) -> State:
        """Return the state before the first round."""

    @abstractmethod
    def _pass(self, stream: Stream, state: State) -> int:
        """Learn from a stream."""

    @abstractmethod
    def _learned(self, state: State) -> dict[str, Any]:
        """Return the learned attributes."""

    @abstractmethod
    def _shapes(self, state: State, n_ranks: int, width: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays of a valid state."""
