"""Online models: ordinal models that learn from a stream in any chunks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, check_random_state

from rankwise._core._loops.stream import NO_GUESSES, Stream
from rankwise._core.inputs import refuse_masked
from rankwise._core.ordinal import OrdinalMixin
from rankwise._core.sklearn_private import Interval, StrOptions
from rankwise._core.validation import TOO_LARGE, bad_row, unchanged_on_error

State = dict[str, NDArray[Any]]
Pass = Callable[[Stream, State], int]

# Passes of ``epochs="auto"``: at most so many, and until so many in a row have not lowered the loss
# by a hundredth. Chosen on tables by ``python -m benchmarks tables``.
MOST_EPOCHS = 50
PATIENCE = 3
FALL = 0.01

# Set by scikit-learn's validation, before anything is learned.
_VALIDATED = {"n_features_in_", "feature_names_in_"}


class RowSource(Protocol):
    """What a model learns from in place of X: its rows, an explicit map of them, or kernel values.

    Attributes
    ----------
    width : int
        The numbers of a direction before the first round.
    description : ndarray
        The kind of rows, as numbers. A stream goes on with the same ones only.
    """

    width: int
    description: NDArray[np.float64]

    def check(self, X: Any, *, whole: bool) -> None:
        """Refuse rows that can't be learned from; ``whole``: they must be all there will be."""

    def learn(
        self,
        one_pass: Pass,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64] | None,
        guesses: NDArray[np.int64],
    ) -> int:
        """Give streams of rows to ``one_pass``; return -1, or a row whose score is not finite."""

    def parts(self, X: Any, state: State) -> Iterator[tuple[slice, Any]]:
        """Yield places of X and the rows there, as the loops take them."""

    def attributes(self, state: State, learned: dict[str, Any]) -> dict[str, Any]:
        """Return the learned attributes of the model, directions under their public names."""


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


class OnlineMixin(OrdinalMixin):
    """An ordinal model that learns one row at a time: the same model for any chunking, bit for bit.

    All that is learned is in ``state``, a dict of arrays. A subclass supplies four hooks:

    - ``_source(state)`` returns what is learned from, checked against the state; None: a new one;
    - ``_start(n_ranks, width)`` returns the state before the first round, for directions of this
      width; ``counts`` are its rounds, mistakes and rank loss;
    - ``_pass(stream, state)`` learns from the rows of a stream, writing into the state, and returns
      -1 or a row with a score that is not finite;
    - ``_learned(state)`` returns the learned attributes.

    A call works on a copy of the state and puts it in place at the end, so a refused chunk or an
    interrupt leaves the model as it was.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrdinalMixin._parameter_constraints,
        "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

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
        rows = self._check_stream(X, y, reset=True)
        source = self._source(None)
        source.check(rows, whole=True)
        classes, ranks = self._check_labels(y, find=True)
        state = self._start(len(classes), source.width)
        random = check_random_state(self.random_state)
        falling = Falling()
        for _ in range(MOST_EPOCHS if self.epochs == "auto" else int(self.epochs)):
            before = int(state["counts"][2])
            order = random.permutation(len(ranks)) if self.shuffle else None
            bad = source.learn(self._pass, rows, ranks, state, order, NO_GUESSES)
            _refuse_overflow(rows, bad, state)
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
        self._partial_fit(X, y, classes, wanted=False)
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
        guesses = self._partial_fit(X, y, classes, wanted=True)
        return self.classes_[guesses]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @unchanged_on_error
    def _partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, *, wanted: bool
    ) -> NDArray[np.int64]:
        first = not self.__sklearn_is_fitted__()
        rows = self._check_stream(X, y, reset=first)
        if first:
            labels, ranks = self._check_labels(y, classes, find=False)
            source = self._source(None)
            state = self._start(len(labels), source.width)
        else:
            labels, ranks = self.classes_, self._check_labels_again(y, classes)
            state = {name: array.copy() for name, array in self._state.items()}
            source = self._source(state)
        source.check(rows, whole=False)
        guesses = np.empty(len(ranks), dtype=np.int64) if wanted else NO_GUESSES
        bad = source.learn(self._pass, rows, ranks, state, None, guesses)
        _refuse_overflow(rows, bad, state)
        self._finish(source, state, labels)
        return guesses

    def _check_stream(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> Any:
        """Return the rows; refuse parameters, rows and a number of labels that are not valid."""
        self._validate_params()
        refuse_masked(y, "y")
        rows = self._check_rows(X, reset=reset)
        check_consistent_length(rows, y)
        return rows

    def _finish(self, source: RowSource, state: State, classes: NDArray[Any]) -> None:
        """Set what was learned, in place of what an earlier call has learned."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in _VALIDATED]:
            delattr(self, name)
        state["kernel"] = source.description
        self._state, self.classes_ = state, classes
        self.n_rounds_, self.n_mistakes_, self.rank_loss_ = state["counts"].tolist()
        for name, value in source.attributes(state, self._learned(state)).items():
            setattr(self, name, value)

    def _source(self, state: State | None) -> RowSource:
        raise NotImplementedError

    def _start(self, n_ranks: int, width: int) -> State:
        raise NotImplementedError

    def _pass(self, stream: Stream, state: State) -> int:
        raise NotImplementedError

    def _learned(self, state: State) -> dict[str, Any]:
        raise NotImplementedError


def _refuse_overflow(X: Any, bad: int, state: State) -> None:
    """Refuse a row with a score that is not finite, and what can't be learned further."""
    if bad >= 0:
        raise bad_row(X, bad)
    if not all(np.isfinite(array).all() for array in state.values()):
        raise ValueError(f"what was learned from X is {TOO_LARGE}")
