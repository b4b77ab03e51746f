"""MPRank in chunks: statistics that add up, so that the model is that of all rows at once."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.metaestimators import available_if

from rankwise._core.ranker import KernelRanker, check_learned, check_ratings, check_size
from rankwise._core.rounding import check_trusted
from rankwise._core.validation import Ranked, check_ranked, unchanged_on_error
from rankwise.magnitude.ridge import moments_objective, solve_primal
from rankwise.magnitude.statistics import Statistics


def chunk_statistics(data: Ranked, qid: ArrayLike | None) -> Statistics:
    """Return the statistics of some rows, query by query."""
    names: list[Any] = [None]
    if qid is not None:
        firsts = np.unique(data.codes, return_index=True)[1]
        names = np.asarray(qid)[data.kept[firsts]].tolist()
    with np.errstate(over="ignore", under="ignore"):
        return Statistics.of(
            data.X, data.y, data.given_weight, data.codes, names, named=qid is not None
        )


class ChunkLearner(KernelRanker):
    """A ridge over pairs that learns chunk by chunk if its kernel is linear."""

    C: float
    _statistics: Statistics | None

    @available_if(KernelRanker._is_linear)
    @unchanged_on_error
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows: the model of all rows so far at once, whatever the chunks.

        Every open query keeps its weight, mean and scatter, 8 (n_features + 1)^2 bytes; see
        `close_queries`. Only for linear kernels. ``fit`` keeps the same statistics to go on from if
        they take no more room than its rows; otherwise start by ``partial_fit``.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``fit``. A query may go on in later chunks, so that one row of it is enough here:
            until two rows of a query are there, all scores are the mean rating. Names must all be
            numbers, or all strings.

        Returns
        -------
        self
        """
        self._validate_params()
        before = getattr(self, "_statistics", None)
        if before is None and hasattr(self, "coef_"):
            raise ValueError(
                "this model was fitted by fit, and statistics to go on from would have been larger "
                "than the rows: learn all chunks by partial_fit, the first one too, which gives "
                "the same model"
            )
        data = check_ranked(self, X, y, qid, sample_weight, reset=before is None)
        check_ratings(data.y)
        check_size(data.X, self._kernel(), data.kept)
        chunk = chunk_statistics(data, qid)
        return self._learned(chunk if before is None else before.merged(chunk))

    @available_if(KernelRanker._is_linear)
    @unchanged_on_error
    def close_queries(self, qid: Iterable[Any] | None = None) -> Self:
        """Forget the scatter of queries that get no more rows; the model stays the same.

        Parameters
        ----------
        qid : iterable of names, default=None
            The queries. None: all that are open.

        Returns
        -------
        self
        """
        statistics = self._known_statistics()
        if issparse(qid):
            raise TypeError(f"qid={type(qid).__name__} must be a list of the names of queries")
        names = list(statistics.queries) if qid is None else list(qid)
        self._statistics = statistics.without(names)
        return self

    @available_if(KernelRanker._is_linear)
    @unchanged_on_error
    def merge(self, other: "ChunkLearner") -> Self:
        """Learn what another model has learned: the model of the rows of both, exactly.

        Both must have learned by ``partial_fit``, for example on two machines. A query may have
        rows in both. C and the rest are this model's.

        Parameters
        ----------
        other : MPRank
            It is left as it is.

        Returns
        -------
        self
        """
        if not isinstance(other, ChunkLearner):
            raise TypeError(f"other={other!r} must be an MPRank that has learned by partial_fit")
        return self._learned(self._known_statistics().merged(other._known_statistics()))

    def _known_statistics(self) -> Statistics:
        statistics = getattr(self, "_statistics", None)
        if statistics is None:
            raise ValueError(
                "there are no statistics: only a model that has learned by partial_fit has some"
            )
        return statistics

    def _learned(self, statistics: Statistics) -> Self:
        """Solve for the statistics, and take them over."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            if not np.isfinite(statistics.weight):
                raise ValueError(
                    "sample_weight adds to more than a float can hold: divide it by a constant"
                )
            stats, mean = statistics.moments()
            coef, error = solve_primal(stats, self.C)
            check_trusted(error, "the scores")
            learned = {
                "coef_": coef,
                "intercept_": float(mean[-1] - mean[:-1] @ coef),
                "objective_": moments_objective(stats, coef, self.C),
            }
        check_learned(learned, self.C)
        self.__dict__.update(learned)
        self.n_iter_, self.solver_ = 0, "primal"
        self.n_queries_ = statistics.n_queries
        self._statistics = statistics
        return self
