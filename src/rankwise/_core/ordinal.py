"""Ordinal models: classifiers over ordered labels."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from rankwise._core._loops.rows import as_rows, scores
from rankwise._core.inputs import check_weights
from rankwise._core.labels import (
    check_same_order,
    found_labels,
    known_labels,
    named_labels,
    sorted_labels,
    to_ranks,
    warn_alphabetical,
)
from rankwise._core.sklearn_private import num_samples
from rankwise._core.validation import bad_row, check_rows

_FLOATS = [np.float64, np.float32]


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
