"""Learn a comparator from pairs with any classifier, then sort by it."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import RegressorTags, Tags, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from rankwise._core.arguments import as_array, check_word
from rankwise._core.inputs import (
    TOO_LARGE,
    as_floats,
    check_weighted_pairs,
    explained,
    ratings_of,
    refuse_masked,
    rows_of,
    unchanged_on_error,
)
from rankwise._core.learned_state import check_shape
from rankwise._core.queries import encode_queries, group_rows, positions_in_queries
from rankwise._core.ranker import warn_without_qid
from rankwise._core.ranking import Ranking
from rankwise._core.sklearn_private import HasMethods, Interval, StrOptions
from rankwise.metrics import pairwise_misranking_loss
from rankwise.metrics.scored_rows import check_scored
from rankwise.preference._all_pairs import sort_by_degree
from rankwise.preference.sorting import QuickSort, decide, quicksort

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Features = str | Callable[[Any, Any], Any]

BLOCK = 1 << 22
"""Numbers in the features of the pairs that are made or compared at once."""


def sample_pairs(
    y: Floats, codes: Indices, max_pairs: int | None, random: np.random.RandomState
) -> tuple[Indices, Indices, int]:
    """Return rows (worse, better) of one query with different grades, and how many there are.

    Past ``max_pairs`` a random sample of them, without ever listing all: O(m log m + max_pairs).
    """
    order = np.lexsort((y, codes))
    grades, queries = y[order], codes[order]
    index = np.arange(len(y))
    new_query = np.append(True, queries[1:] != queries[:-1])
    new_grade = new_query | np.append(True, grades[1:] != grades[:-1])
    start = np.maximum.accumulate(np.where(new_query, index, 0))
    n_worse = np.maximum.accumulate(np.where(new_grade, index, 0)) - start
    ends = np.cumsum(n_worse)
    total = int(ends[-1])
    if max_pairs is None or total <= max_pairs:
        chosen = np.arange(total)
    else:
        generator = np.random.default_rng(random.randint(2**31))
        chosen = np.sort(generator.choice(total, max_pairs, replace=False, shuffle=False))
    better = np.searchsorted(ends, chosen, side="right")
    worse = start[better] + chosen - (ends - n_worse)[better]
    return order[worse], order[better], total


def features_of(features: Features, U: Any, V: Any) -> Any:
    """Return what a classifier sees of pairs, the rows of U and V."""
    if features == "difference":
        with np.errstate(over="ignore"):
            difference = U - V
        values = difference.data if sparse.issparse(difference) else difference
        if not np.isfinite(values).all():
            raise ValueError(f"a difference of two rows of X is {TOO_LARGE}")
        return difference
    if features == "concat":
        return sparse.hstack([U, V], format="csr") if sparse.issparse(U) else np.hstack([U, V])
    made = features(U, V)  # type: ignore[operator]
    shape: tuple[int, ...] = getattr(made, "shape", ())
    if len(shape) != 2 or shape[0] != U.shape[0]:
        raise ValueError(
            f"features must return a matrix with a row for each of {U.shape[0]} pairs, but "
            f"what it returned, a {type(made).__name__}, has the shape {shape}"
        )
    return made


def pair_features(features: Features, rows: Any, first: Indices, second: Indices) -> Any:
    """Return the same for pairs of row numbers, block by block, so that no copy of rows is large.

    What is dense is written into one matrix.
    """
    size = max(1, BLOCK // rows.shape[1])
    if len(first) <= size:
        return features_of(features, rows[first], rows[second])
    blocks: list[Any] = []
    for start in range(0, len(first), size):
        here = slice(start, start + size)
        block = features_of(features, rows[first[here]], rows[second[here]])
        if sparse.issparse(block):
            blocks.append(block)
            continue
        if not blocks:
            blocks.append(np.empty((len(first), block.shape[1]), dtype=np.asarray(block).dtype))
        blocks[0][here] = block
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else blocks[0]


class PreferenceRanker(BaseEstimator):
    r"""A classifier of pairs as the comparator, and a sort by it: ranking in two stages.

    Stage one learns from pairs (u, v), u better than v: features of (u, v) have the label 1, those
    of (v, u) the label 0. With g the classifier's probability of 1, the comparator is

    .. math:: h(u, v) = \tfrac12 \bigl(1 + g(u, v) - g(v, u)\bigr),

    so that h(u, v) + h(v, u) = 1 exactly, whatever the classifier. Stage two sorts by h, which need
    not be transitive. The expected bipartite loss of the order is that of the classifier on the
    pairs; a score that is learned directly has no such tie.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier, with ``predict_proba``, ``decision_function`` or ``predict``;
        None is ``LogisticRegression()``.
    features : {"difference", "concat"} or callable, default="difference"
        What the classifier sees of a pair: u - v, u and v side by side, or ``features(U, V)``, a
        row for each pair of rows.
    max_pairs : int or None, default=100_000
        Largest number of pairs to learn from; past it ``fit`` takes a random sample of them.
    n_references : int, default=100
        Rows of ``fit`` that are kept for ``predict`` to compare with.
    random_state : int, RandomState instance or None, default=None
        Draws the sample of pairs, the references, and the pivots of ``rank`` and ``score``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted one.
    references_ : ndarray or csr_array of shape (n_kept, n_features)
        A random sample of the rows of ``fit``, all if they are few.
    n_pairs_ : int
        Number of pairs in the fit, each in both directions.
    n_dropped_pairs_ : int
        Pairs that were not: beyond ``max_pairs``, or with weight 0, or of a row with itself.
    n_queries_ : int
        Number of queries in the fit.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    quicksort : Sort by any comparator.

    Notes
    -----
    With linear features and a linear classifier, h is transitive and equals a score; the two
    stages pay off with classifiers that see both sides. ``rank``, ``order`` and ``score`` sort the
    rows that they are given; ``predict`` gives each row its own score, whatever the others.

    References
    ----------
    N. Ailon and M. Mohri, *An efficient reduction of ranking to classification*, COLT 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.preference import PreferenceRanker
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> y = np.digitize(X @ [1, -1, 0], [-1, 1])
    >>> model = PreferenceRanker(random_state=0).fit(X[:40], y[:40])
    >>> print(f"{model.score(X[40:], y[40:]):.2f} of the pairs in order")
    1.00 of the pairs in order
    >>> y[40:][model.order(X[40:], random_state=0).order]
    array([2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0])
    >>> bool(model.prefer(X[:1], X[1:2]) + model.prefer(X[1:2], X[:1]) == 1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "features": [StrOptions({"difference", "concat"}), callable],
        "max_pairs": [Interval(Integral, 1, None, closed="left"), None],
        "n_references": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    estimator_: Any
    references_: Any
    n_pairs_: int
    n_dropped_pairs_: int
    n_queries_: int

    def __init__(
        self,
        estimator: Any = None,
        *,
        features: str | Callable[[Any, Any], Any] = "difference",
        max_pairs: int | None = 100_000,
        n_references: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.max_pairs = max_pairs
        self.n_references = n_references
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    @unchanged_on_error
    def fit(self, X: ArrayLike, y: ArrayLike, *, qid: ArrayLike | None = None) -> Self:
        """Learn from the pairs of rows of one query with different grades.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their grades; more is better.
        qid : array-like of shape (n_samples,), default=None
            The query of each row, in any row order.

        Returns
        -------
        self
        """
        self._validate_params()
        refuse_masked(y, "y")
        with explained(X, y):
            rows, grades = validate_data(
                self, rows_of(X), ratings_of(y, "y"), accept_sparse="csr", y_numeric=True,
                dtype=[np.float64, np.float32], ensure_min_samples=2,
            )  # fmt: skip
            grades = as_floats(grades, "y")
        codes, n_queries = encode_queries(qid, len(grades))
        random = check_random_state(self.random_state)
        worse, better, total = sample_pairs(grades, codes, self.max_pairs, random)
        if not total:
            raise ValueError(
                "y has one grade only in every query, so there is no pair to learn from: rows of "
                "different grades are needed"
            )
        self._learn(rows, worse, better, None, random)
        self.n_pairs_, self.n_dropped_pairs_ = len(worse), total - len(worse)
        self.n_queries_ = n_queries
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
        """Learn from given pairs, which may contradict each other.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        pairs : array-like of shape (n_pairs, 2)
            Rows (worse, better). A pair of one row with itself, or of label 0, is dropped and
            counted.
        y : array-like of shape (n_pairs,), default=None
            Labels of the pairs: 1 if the second row is better, as without ``y``, -1 if the first
            is, 0 if neither is known to be.
        pair_weight : array-like of shape (n_pairs,), default=None
            The weight of each pair, as the classifier's ``sample_weight``.

        Returns
        -------
        self
        """
        self._validate_params()
        rows = validate_data(
            self,
            rows_of(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
        )
        checked, weight, n_dropped = check_weighted_pairs(pairs, pair_weight, rows.shape[0], y)
        worse, better = checked.T
        random = check_random_state(self.random_state)
        self._learn(rows, worse, better, None if pair_weight is None else weight, random)
        self.n_pairs_, self.n_dropped_pairs_ = len(checked), n_dropped
        self.n_queries_ = 1
        return self

    def prefer(self, U: ArrayLike, V: ArrayLike) -> Any:
        """Return the probability that each row of U goes before that of V.

        Parameters
        ----------
        U, V : array-like or CSR matrix of shape (n_pairs, n_features), or two rows
            The rows to compare.

        Returns
        -------
        ndarray of shape (n_pairs,), or float for two rows
            ``prefer(U, V) + prefer(V, U)`` is 1 exactly.
        """
        check_is_fitted(self)
        single = [_n_dimensions(U, "U"), _n_dimensions(V, "V")] == [1, 1]
        if single:
            U, V = np.reshape(U, (1, -1)), np.reshape(V, (1, -1))
        first, second = self._check(U), self._check(V)
        check_consistent_length(first, second)
        each = np.arange(first.shape[0])
        probability = self._compare(first, second, each, each)
        return float(probability[0]) if single else probability

    def predict(self, X: ArrayLike) -> Floats:
        """Return the share of the references that each row is expected to go before.

        With it scorers, pipelines and plots take the model for a regressor of a score. n rows take
        n ``n_references`` comparisons.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Between 0 and 1, higher is better.
        """
        check_is_fitted(self)
        shape = np.shape(getattr(self, "references_", np.empty(0)))
        if len(shape) != 2 or not shape[0]:
            raise ValueError(
                "the model has no references: it was saved by a version that had no predict; fit "
                "it again, or use prefer and order"
            )
        rows, references = self._check(X), self.references_
        check_shape("references_", references, None, rows.shape[1], kind=references.dtype)
        if sparse.issparse(rows) != sparse.issparse(references):
            references = (
                sparse.csr_array(references) if sparse.issparse(rows) else references.toarray()
            )
        n = references.shape[0]
        wins, size = np.empty(rows.shape[0]), max(1, BLOCK // (n * rows.shape[1]))
        for start in range(0, len(wins), size):
            some = np.arange(start, min(start + size, len(wins)))
            u, v = np.repeat(some, n), np.tile(np.arange(n), len(some))
            wins[some] = self._compare(rows, references, u, v).reshape(-1, n).mean(axis=1)
        return wins

    def order(
        self,
        X: ArrayLike,
        *,
        k: int | None = None,
        method: str = "quicksort",
        random_state: int | np.random.RandomState | None = None,
    ) -> Ranking:
        """Put rows in order by the learned comparator.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        k : int, default=None
            With "quicksort", sort the best k only.
        method : {"quicksort", "degree"}, default="quicksort"
            By `quicksort`, O(n log n) comparisons, or by `sort_by_degree`, all pairs.
        random_state : int, RandomState instance or None, default=None
            Draws the pivots.

        Returns
        -------
        Ranking
            ``order`` holds row numbers, best first.
        """
        check_is_fitted(self)
        check_word(method, "method", ("quicksort", "degree"))
        if method == "degree" and k is not None:
            raise ValueError(f"k={k!r} goes with method='quicksort': sorting by degree orders all")
        return self._order(self._check(X), k, method, random_state)

    def rank(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Indices:
        """Return the position of each row, from 1, best first.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        qid : array-like of shape (n_samples,), default=None
            The query of each row: each query is sorted by itself.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._positions(self._check(X), qid)

    def _positions(self, rows: Any, qid: ArrayLike | None) -> Indices:
        codes, n_queries = encode_queries(qid, rows.shape[0])
        by_query, starts = group_rows(codes, n_queries)
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31))
        sort = QuickSort(len(codes), random.permutation(len(codes)), lists=starts)
        while len((pairs := sort.plan())[0]):
            u, v = by_query[pairs[0]], by_query[pairs[1]]
            sort.take(decide(self._compare(rows, rows, u, v), u, v, seed, randomise=False))
        return positions_in_queries(by_query[sort.order], codes, starts)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of comparable pairs that the sorted rows have in the right order.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their grades. Two rows are comparable if these differ.
        qid : array-like of shape (n_samples,), default=None
            The query of each row: only rows of one query are sorted and compared.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; a pair weighs their product.
        """
        check_is_fitted(self)
        rows = self._check(X)
        check_consistent_length(rows, y)
        # Rows of weight 0 are not sorted, for they could change the order of the others.
        kept = check_scored(y, np.arange(rows.shape[0]), qid, sample_weight)
        positions = self._positions(rows[kept.s.astype(np.int64)], kept.qid)
        warn_without_qid(self, qid)
        return 1.0 - pairwise_misranking_loss(
            kept.y, -positions.astype(np.float64), qid=kept.qid, sample_weight=kept.weight
        )

    def _check(self, X: Any) -> Any:
        return validate_data(
            self, rows_of(X), accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def _learn(
        self,
        rows: Any,
        worse: Indices,
        better: Indices,
        weight: Floats | None,
        random: np.random.RandomState,
    ) -> None:
        model = LogisticRegression() if self.estimator is None else clone(self.estimator)
        if weight is not None and not has_fit_parameter(model, "sample_weight"):
            raise ValueError(
                f"pair_weight was given, but {type(model).__name__}.fit takes no sample_weight: "
                "leave the weights out, or repeat pairs"
            )
        pairs = pair_features(
            self.features, rows, np.concatenate([better, worse]), np.concatenate([worse, better])
        )
        labels = np.repeat([1, 0], len(worse))
        weights = {} if weight is None else {"sample_weight": np.tile(weight, 2)}
        # What a classifier makes of huge numbers is looked at when it compares.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.estimator_ = model.fit(pairs, labels, **weights)
        self._compare(rows, rows, better[:1], worse[:1])
        m = rows.shape[0]
        kept = np.sort(random.permutation(m)[: self.n_references])
        self.references_ = rows[kept]

    def _compare(self, U: Any, V: Any, u: Indices, v: Indices) -> Floats:
        """Return the probability that row u of U goes before row v of V, for many u and v."""
        size = max(1, BLOCK // U.shape[1])
        probabilities = np.empty(len(u))
        for start in range(0, len(u), size):
            here = slice(start, start + size)
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                probabilities[here] = self._lean(U[u[here]], V[v[here]])
        if not np.isfinite(probabilities).all():
            raise ValueError(f"the scores of {type(self.estimator_).__name__} are {TOO_LARGE}")
        # With ties rounded to even, 1/2 + x and 1/2 - x sum to 1 exactly for every x up to 1/2.
        return 0.5 + probabilities

    def _lean(self, U: Any, V: Any) -> Floats:
        """Return h - 1/2, which changes its sign when U and V change places."""
        model = self.estimator_
        straight, turned = features_of(self.features, U, V), features_of(self.features, V, U)
        if hasattr(model, "predict_proba"):
            return 0.5 * (model.predict_proba(straight)[:, 1] - model.predict_proba(turned)[:, 1])
        if hasattr(model, "decision_function"):
            margin = model.decision_function(straight) - model.decision_function(turned)
            return np.sign(margin) * (expit(0.5 * np.abs(margin)) - 0.5)
        return 0.5 * (model.predict(straight).astype(np.float64) - model.predict(turned))

    def _order(
        self,
        rows: Any,
        k: int | None,
        method: str,
        random_state: int | np.random.RandomState | None,
    ) -> Ranking:
        def prefer(u: Indices, v: Indices) -> Floats:
            return self._compare(rows, rows, u, v)

        numbers = np.arange(rows.shape[0])
        if method == "degree":
            return sort_by_degree(numbers, prefer, batch=True)
        return quicksort(numbers, prefer, k=k, batch=True, random_state=random_state)


def _n_dimensions(rows: Any, name: str) -> int:
    """Return the number of dimensions of an array, a frame, a sparse matrix or a list."""
    return int(rows.ndim if hasattr(rows, "ndim") else as_array(rows, name).ndim)
