r"""Learn from everyone's ratings about the items, and predict for everyone.

1. Some ratings are held out.
2. From the rest: baseline, first kernel, the noise for which it predicts the held-out ratings best,
   and with twice this noise the rounds.
3. The held-out ratings choose the noise for predictions, and calibrate the intervals.
4. Unless they are less than a hundredth of all ratings, the kernel is learned again with them.

Decisions about each ingredient are in ``docs/decisions.md``, measured by
``python -m benchmarks taste_ablation``.
"""

import sys
from dataclasses import replace
from numbers import Integral, Real
from threading import Lock
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from rankwise._core.inputs import unchanged_on_error
from rankwise._core.sklearn_private import Interval
from rankwise._core.threads import JOBS_CONSTRAINTS, Pool
from rankwise.metrics import pairwise_misranking_loss
from rankwise.recommend import _choice
from rankwise.recommend._table import (
    RatingTable,
    add_ratings,
    check_features,
    check_table,
    standardised,
)
from rankwise.recommend.baseline import (
    Ints,
    Matrix,
    Ratings,
    Vector,
    fit_baseline,
    order_by_count,
    standardise,
    with_values,
)
from rankwise.recommend.factors import factor_kernel
from rankwise.recommend.fold_in import Evidence, fold_in
from rankwise.recommend.intervals import (
    PRIOR_RATINGS,
    calibrate,
    calibrate_known,
    choose_noise,
    hold_out,
)
from rankwise.recommend.item_kernel import (
    FIRST_WEIGHT,
    HERE,
    LEAST_USERS,
    MOST_USERS,
    Say,
    UserRows,
    Work,
    learn_kernel,
    make_rows,
    solve_with_bias,
)
from rankwise.recommend.person import Catalogue, TasteRanker, person_of
from rankwise.recommend.taste import FEW, DenseKernel, OwnRows, Taste

_GIGABYTE = 1e9
_RANK = 100
# Items with an exact kernel, if not all have: at most _HEAD, and at least _LEAST_HEAD whatever the
# memory.
_HEAD, _LEAST_HEAD = 8_000, 500
NOISES = (0.5, 1.0, 2.0, 4.0, 8.0)
# Noise of the rounds, in units of the noise with which the first kernel predicts best.
_OF_ROUNDS = 2.0
# The noise of the rounds is chosen by the ratings of a third of the validation users.
_SOME = 3
# From _SINGLE items on, learning is in single precision. A noise outside of these needs more.
_SINGLE, _LEAST_NOISE, _MOST_NOISE = 2_000, 0.1, 100.0
# If more than this share of the ratings is held out, the kernel is learned again with them.
_SHARE = 0.01
# Held while a choice model is learned, so that no other thread learns it as well.
_LEARNING = Lock()


def learn_taste(
    matrix: Ratings,
    noise: float | None,
    rank: int,
    head: int,
    features: Matrix | None,
    work: Work,
    pool: Pool,
    say: Say,
) -> tuple[Taste, OwnRows | None]:
    """Return the taste of a table and, of the exact form, what users have added to its kernel.

    Parameters
    ----------
    matrix : csr_array of shape (n_users, n_items)
        Ratings from 0 to 1.
    noise : float or None
        The noise variance; None if it is learned.
    rank : int
        0 for the exact form.
    head : int
        The number of items that have an exact kernel.
    features : ndarray or None
        Standardised features of the items.
    work : Work
    pool : Pool
    say : callable
    """
    active = np.flatnonzero(np.diff(matrix.indptr))
    R = matrix[active]
    # Similarities of items that are rated much are read much: they are stored side by side, and at
    # the end, since an entry is multiplied by those behind it.
    items = order_by_count(R.T.tocsr())[:head][::-1]
    part = R[:, items]
    part.sort_indices()
    users = np.flatnonzero(np.diff(part.indptr))
    part = part[users]
    of_items = None if features is None else features[items]
    noises = NOISES if noise is None else (noise,)
    usual = noise is None or _LEAST_NOISE <= noise <= _MOST_NOISE
    precision = np.float32 if usual and len(items) >= _SINGLE else np.float64

    def start(some: Ratings) -> tuple[UserRows, Matrix]:
        say(f"products of {some.shape[1]} items over {some.shape[0]} users")
        rows = make_rows(some, *fit_baseline(some, of_items))
        return rows, work.first_kernel(rows, pool, precision)

    rest, judges, held = hold_out(part)
    rows, C = start(rest)
    first = choose_noise(C, 1.0, rows.only(judges[::_SOME]), held[::_SOME], noises, pool)
    of_rounds = noise or _OF_ROUNDS * first[0]
    K = learn_kernel(rows, C, of_rounds, work, pool, say)
    noise, errors = choose_noise(K, FIRST_WEIGHT, rows.only(judges), held, noises, pool)
    spread, bias_variance, factors = calibrate(
        K, FIRST_WEIGHT, rows, (judges, held), errors, noise, pool
    )
    if held.nnz > _SHARE * R.nnz:
        del C, K
        say(f"again with the {held.nnz} ratings held out, noise {noise:g}")
        rows, C = start(part)
        K = learn_kernel(rows, C, of_rounds, work, pool, say)

    means, coordinates = np.empty(R.shape[1]), np.zeros((R.shape[1], rows.coordinates.shape[1]))
    if rank:
        say(f"factors of rank {rank}")
        user_bias, means = fit_baseline(R, features)
        K = K.astype(np.float64, copy=False)
        baseline = user_bias, means
        kernel = factor_kernel(K, rows, users, items, R, baseline, noise, rank, pool)
    else:
        place = np.append(np.argsort(items), np.arange(len(items), len(K)))
        kernel = DenseKernel(K[np.ix_(place, place)])
    means[items], coordinates[items] = rows.item_means, rows.coordinates
    taste = Taste(
        means=means,
        kernel=kernel,
        places=coordinates,
        noise=noise,
        prior=PRIOR_RATINGS / noise,
        low=0.0,
        high=1.0,
        sigma=rows.residual_sd,
        spread=spread,
        bias_variance=bias_variance,
        calibration=factors,
    )
    if rank:
        return taste, None
    R, root = rows.ratings, np.sqrt(FIRST_WEIGHT)
    (a, b), places = root * rows.own, root * rows.own_pseudo
    echo = calibrate_known(taste, K, rows, pool)
    own = OwnRows(R.indptr, items[R.indices], a, b, places, echo)
    return taste, own.for_users(active, matrix.shape[0])


def predict_users(
    taste: Taste, own: OwnRows | None, R: Ratings, users: Ints, items: Ints, pool: Pool
) -> Vector:
    """Return the scores of pairs of a user and an item, in standard units.

    The same as `fold_in` of each user, with one solution for all items of a user: n^3 / 3 for n
    ratings, O(n) for each score.

    Parameters
    ----------
    taste : Taste
    own : OwnRows or None
        What the users have added to the kernel; None for a kernel in factors.
    R : csr_array of shape (n_users, n_items)
        The ratings of the users, as people give them.
    users, items : ndarrays of shape (n,)
    pool : Pool
    """
    distinct, group = np.unique(users, return_inverse=True)
    order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))
    scores, R, kernel = np.empty(len(users)), R[distinct], taste.kernel

    if own is None or not isinstance(kernel, DenseKernel):

        def predict_user(u: int, pairs: Ints) -> None:
            at = slice(R.indptr[u], R.indptr[u + 1])
            fold = fold_in(taste, Evidence.of(R.indices[at], R.data[at]))
            scores[pairs] = fold.standard_scores(items[pairs])

    else:
        sizes, rated = np.diff(R.indptr), with_values(R, np.ones(R.nnz))
        rows = UserRows(
            ratings=with_values(R, taste.to_standard(R.data)),
            item_means=taste.means,
            residual_sd=taste.sigma,
            own=own.at(np.repeat(distinct, sizes), R.indices),
            pseudo_ratings=(rated @ taste.places) / np.sqrt(np.maximum(sizes, 1))[:, None],
            own_pseudo=own.places[distinct],
            coordinates=taste.places,
        )
        own_at_pairs = own.at(users, items)

        def predict_user(u: int, pairs: Ints) -> None:
            index, right, own_rows = rows.problem(u)
            coefs, user_bias = solve_with_bias(kernel.matrix, index, right, own_rows, taste.noise)
            found = kernel.between(items[pairs], index) @ coefs
            found -= (own_rows[:2] @ coefs) @ own_at_pairs[:, pairs]
            scores[pairs] = taste.means[items[pairs]] + taste.bias_share(sizes[u]) * user_bias
            scores[pairs] += found

    def predict_group(u: int) -> None:
        predict_user(u, order[ends[u - 1] if u else 0 : ends[u]])

    pool.run(predict_group, len(distinct), work=np.inf)
    return scores


class TasteErrors(NamedTuple):
    """Errors of the predictions of a table of ratings.

    Attributes
    ----------
    rmse, mae : float
        Root mean squared and mean absolute error of the scores, cut to the scale.
    misranking : float
        Share of the pairs of ratings of one person that are put in the wrong order, a tie half.
    n_ratings : int
        The number of ratings that were predicted.
    """

    rmse: float
    mae: float
    misranking: float
    n_ratings: int


class TasteModel(BaseEstimator):
    r"""Learn a kernel of items from everyone's ratings, and rank for each person with it.

    A person's scores minimise

    .. math::

        \|h\|_K^2 + \frac{1}{\lambda} \sum_{i \in o} (m_i + b + h_i - y_i)^2

    over the rated items o: `rankwise.magnitude.MPRank` with the level b of the person, the means m
    of the items, and a kernel K between items that is learned from all people. K is large for two
    items if people who like one more than expected like the other more than expected, or if the
    same people rate both. It is learned in rounds: everybody's ranking is predicted with the kernel
    so far, without the part that the person has in it, and the products of these predictions,
    which have no gaps, make the next kernel. A new person needs no training.

    Which items were rated tells something, too: 20 pseudo-items, the places, say where in the map
    of what is rated together a person's items lie.

    Parameters
    ----------
    rank : int, default=None
        Number of factors of an approximate kernel for tables with many items. None: the exact
        kernel if ``max_memory`` allows, else 100 factors.
    noise : float, default=None
        The penalty lambda, from 1e-6 to 1e6. None: 0.5, 1, 2, 4 or 8, by ratings that are held
        out.
    choice : bool, default=False
        Whether ``fit`` also learns what people take next, for ``ranking(by="choice")``. If not, it
        is learned when a live person first asks. From a table without ratings it is all that is
        learned.
    max_memory : float, default=4.0
        Gigabytes that ``fit`` may take besides the table.
    n_jobs : int, default=None
        Threads of ``fit`` and ``predict``; -1 for all cores. The result is the same for any number.
    verbose : bool, default=False
        Whether ``fit`` says on standard error what it is doing.

    Attributes
    ----------
    table_ : RatingTable
        The ratings of the people that the model knows.
    taste_ : Taste
        Means, kernel, noise and spread; None for a table without ratings.
    choice_ : ChoiceModel
        What people take next; None until it is learned.
    catalogue_ : Catalogue
        What live people share besides that: ids, scale, how many people know an item.
    own_ : OwnRows
        What each person has added to the exact kernel; None for the other forms. It is taken away
        when this person is predicted.
    form_ : {"exact", "factors", "choice"}
        Which form of the kernel was learned; "choice" if the table has no ratings.
    rank_ : int
        Number of factors; 0 for the exact form.
    noise_ : float
        The penalty lambda; None for a table without ratings.

    See Also
    --------
    TasteRanker : One live person.
    fit_many : The papers' personal models.

    Notes
    -----
    With n items, N ratings and H people in the rounds (half of them, at least 3,000 and at most
    10,000), the exact form takes :math:`O(\sum n_u^2 + H n^2)` time and 8 (2 n^2 + H n) bytes. The
    other form does the same for the 8,000 items with most ratings, and takes O(N rank^2) for the
    others.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.recommend import RatingTable, TasteModel
    >>> g = np.random.default_rng(0)
    >>> likes = g.normal(size=(300, 2)) @ g.normal(size=(2, 40))
    >>> user, item = np.nonzero(g.random(likes.shape) < 0.5)
    >>> rating = np.clip(np.rint(3 + likes[user, item]), 1, 5)
    >>> table = RatingTable.from_arrays(user, item, rating)
    >>> train, test = table.split(0.2, random_state=0)
    >>> model = TasteModel().fit(train)
    >>> model.form_
    'exact'
    >>> round(model.score(test), 2)
    0.98
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rank": [Interval(Integral, 1, 10**5, closed="both"), None],
        "noise": [Interval(Real, 1e-6, 1e6, closed="both"), None],
        "choice": ["boolean"],
        "max_memory": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": JOBS_CONSTRAINTS,
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        *,
        rank: int | None = None,
        noise: float | None = None,
        choice: bool = False,
        max_memory: float = 4.0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.noise = noise
        self.choice = choice
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    @unchanged_on_error
    def fit(self, table: RatingTable, *, item_features: ArrayLike | None = None) -> Self:
        """Learn from a table of ratings.

        A table without ratings teaches only what people take.

        Parameters
        ----------
        table : RatingTable
            The ratings.
        item_features : array-like of shape (n_items, n_features), default=None
            Numbers that are known of the items, in the order of ``table.items``: genres as 0 and 1,
            years. An item with few ratings is then thought to be about as good as others with such
            features, and not as good as all.

        Returns
        -------
        self
        """
        return self._fit(table, item_features, HERE)

    def _fit(self, table: RatingTable, item_features: ArrayLike | None, work: Work) -> Self:
        """Learn, with the steps over all users done by ``work``."""
        self._validate_params()
        check_table(table)
        features = None
        if item_features is not None:
            features = standardise(check_features(item_features, table))
        start = perf_counter()

        def say(what: str) -> None:
            if self.verbose:
                print(f"[TasteModel] {perf_counter() - start:6.1f} s  {what}", file=sys.stderr)

        taste = own = choice = None
        form, rank, head = "choice", 0, 0
        if table.has_ratings:
            values, center, unit = standardised(table.matrix.data)
            matrix = with_values(table.matrix, values)
            form, rank, head = self._choose_form(table)
            noise = None if self.noise is None else float(self.noise)
            with Pool(self.n_jobs) as pool, threadpool_limits(1, "blas"):
                taste, own = learn_taste(matrix, noise, rank, head, features, work, pool, say)
            low, high = table.scale
            taste = replace(taste, low=low, high=high, center=center, unit=unit)
        if self.choice or taste is None:
            say("what people take")
            choice = _choice.learn(table.matrix)
        say("done")
        self.taste_, self.own_, self.choice_ = taste, own, choice
        self.table_, self.catalogue_ = table, Catalogue.of(table, None, None)
        self.form_, self.rank_ = form, rank
        self.noise_ = None if taste is None else taste.noise
        return self

    def predict(self, users: ArrayLike, items: ArrayLike) -> Vector:
        """Return what people would give to items.

        The scores are not cut to the scale, so that the order stays.

        Parameters
        ----------
        users, items : array-like of shape (n,)
            Ids of the table: a person and an item for each score. Somebody who is not in the table
            is a `person`.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        taste = self._need_ratings("predict")
        rows, columns = self.table_.user_index(users), self.table_.item_index(items)
        if len(rows) != len(columns):
            raise ValueError(
                f"users has {len(rows)} entries, but items has {len(columns)}: give pairs of both"
            )
        return taste.to_ratings(self._scores(taste, rows, columns))

    def score(self, table: RatingTable) -> float:
        """Return the share of the pairs of one person's ratings that are put in the right order.

        Two ratings make a pair if they differ; a tie of scores counts half. Misranking is 1 minus
        this.

        Parameters
        ----------
        table : RatingTable
            Ratings that the model has not learned from, of people and items that it knows.
        """
        return 1.0 - self.evaluate(table).misranking

    def evaluate(self, table: RatingTable) -> TasteErrors:
        """Return how far predictions are from ratings.

        Parameters
        ----------
        table : RatingTable
            Ratings that the model has not learned from, of people and items that it knows.

        Examples
        --------
        >>> from rankwise.recommend import RatingTable, TasteModel
        >>> users, items = [1, 1, 1, 2, 2, 3], [1, 2, 3, 1, 2, 1]
        >>> table = RatingTable.from_arrays(users, items, [5, 3, 1, 4, 2, 3])
        >>> model = TasteModel().fit(table)
        >>> model.evaluate(table).misranking
        0.0
        """
        check_is_fitted(self)
        taste = self._need_ratings("evaluate")
        check_table(table)
        if not table.has_ratings:
            raise ValueError("table has only choices, and no ratings to compare predictions with")
        matrix = table.matrix
        rows = np.repeat(np.arange(table.n_users), np.diff(matrix.indptr))
        users = self.table_.user_index(table.users[rows])
        items = self.table_.item_index(table.items[matrix.indices])
        scores = self._scores(taste, users, items)
        scale = taste.to_standard(np.array(self.table_.scale))
        errors = np.clip(scores, *scale) - taste.to_standard(matrix.data)
        return TasteErrors(
            float(taste.unit * np.sqrt(np.mean(errors * errors))),
            float(taste.unit * np.mean(np.abs(errors))),
            float(pairwise_misranking_loss(matrix.data, scores, qid=rows, ties="half")),
            len(errors),
        )

    @unchanged_on_error
    def partial_fit(self, table: RatingTable) -> Self:
        """Add people, or more ratings of known people; the item kernel stays the same.

        The predictions for them are exactly those of a live `person` with these ratings. A new
        rating replaces an earlier one of the same item, unless both tables have times and it is
        older. A table with other items raises: these need ``fit``.

        Parameters
        ----------
        table : RatingTable
            Ratings of known items, by anyone.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        check_table(table)
        if table.has_ratings != self.table_.has_ratings:
            raise ValueError(
                "one table has ratings and the other none: give tables of the same kind, or fit"
            )
        merged, rows = add_ratings(self.table_, table)
        if self.own_ is not None:
            self.own_ = self.own_.for_users(rows, merged.n_users)
        self.table_, self.catalogue_ = merged, Catalogue.of(merged, None, None)
        return self

    def person(self, user: Any = None, *, estimator: Any = None) -> TasteRanker:
        """Return a live person: one of the table, or a new one without ratings.

        Parameters
        ----------
        user : object, default=None
            The id of a person of the table, whose ratings the live person starts with. What the
            live person says then is not seen by the model.
        estimator : estimator, default=None
            A ranker for the papers' personal problem, instead of the kernel.

        Returns
        -------
        TasteRanker
        """
        check_is_fitted(self)
        choice = LateChoice(self) if self.choice_ is None else self.choice_
        taste = self.taste_
        if user is not None and taste is not None and self.own_ is not None:
            taste = self.own_.without(taste, int(self.table_.user_index([user])[0]))
        catalogue = replace(self.catalogue_, taste=taste, choice=choice)
        return person_of(catalogue, self.table_, user, estimator)

    def _scores(self, taste: Taste, rows: Ints, columns: Ints) -> Vector:
        """Return the score of each pair of places in the table, in standard units."""
        with threadpool_limits(1, "blas"), Pool(self.n_jobs) as pool:
            return predict_users(taste, self.own_, self.table_.matrix, rows, columns, pool)

    def _choose_form(self, table: RatingTable) -> tuple[str, int, int]:
        """Return the form of the kernel, its rank and the number of items of its head."""
        (n_users, n_items), n_ratings = table.matrix.shape, table.matrix.nnz
        users = min(n_users, max(LEAST_USERS, n_users // 2), MOST_USERS)
        # numbers of 8 bytes: 8 for each rating, 2 n^2 for the kernels, and the scores of the users
        numbers = max(self.max_memory * _GIGABYTE / 8 - 8 * n_ratings, 0.0)
        largest = int((np.sqrt(users**2 + 8 * numbers) - users) / 4)
        if self.rank is None and n_items <= largest:
            return "exact", 0, n_items
        return "factors", self.rank or _RANK, min(n_items, max(min(largest, _HEAD), _LEAST_HEAD))

    def _check_loaded(self) -> None:
        """Refuse parts from a file that do not belong together."""
        if not hasattr(self, "table_"):
            return
        n_users, n_items = self.table_.n_users, self.table_.n_items
        taste, own, choice = self.taste_, self.own_, self.choice_
        parts: list[tuple[Any, int]] = [
            (self.catalogue_.known, n_items),
            (self.catalogue_.ids, n_items),
        ]
        if taste is not None:
            n = n_items + taste.places.shape[1]
            parts += [(taste.means, n_items), (taste.places, n_items), (taste.kernel.diagonal, n)]
            parts += [(taste.calibration, len(FEW))]
        if own is not None:
            parts += [(own.starts, n_users + 1), (own.places, n_users)]
        if choice is not None:
            parts += [(choice.popularity, n_items)]
        if any(len(part) != size for part, size in parts):
            raise ValueError("the parts of a TasteModel are of tables of different sizes")

    def _need_ratings(self, method: str) -> Taste:
        taste: Taste | None = self.taste_
        if taste is None:
            raise ValueError(
                f"{method} needs ratings, but the table of this model has only choices: use "
                'person(...).ranking(by="choice")'
            )
        return taste


class LateChoice:
    """A model of what people take next, learned at its first use."""

    def __init__(self, model: TasteModel) -> None:
        self._model = model

    def scores(self, own: NDArray[np.int64]) -> Vector:
        """Return a score of each item for someone who has taken some."""
        with _LEARNING:
            if self._model.choice_ is None:
                self._model.choice_ = _choice.learn(self._model.table_.matrix)
        return self._model.choice_.scores(own)
