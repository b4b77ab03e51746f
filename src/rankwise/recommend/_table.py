"""A table of ratings: who rated what, and how.

Ids of any kind are positions 0..n-1 inside; the ratings are one CSR matrix, people by items.
Nothing of a table changes after it is made, so that models and threads share it.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rankwise._core.arguments import check_whole, check_word, shortened
from rankwise._core.inputs import as_floats, as_times
from rankwise.recommend._build import (
    as_ratings,
    build_matrix,
    check_inside,
    check_parts,
    check_scale,
    columns_of,
    tested_entries,
)
from rankwise.recommend._ids import Ids
from rankwise.recommend.baseline import Ints, Matrix, Vector, some_entries

MISSING = ("median", "mean", "zero", "nan")
CENTER = ("scale", "user")
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class TableSummary:
    """The summary of a table of ratings; `print` shows it.

    Attributes
    ----------
    n_users, n_items, n_ratings : int
        How many there are; people and items without a rating count, too.
    density : float
        The share of all pairs of a person and an item that are rated.
    has_ratings : bool
        Whether people graded what they took.
    scale : tuple of two floats
        The lowest and the highest rating.
    mean, sd : float
        Of all ratings; 0 without any.
    per_user, per_item : tuple of five floats
        Ratings of a person and of an item: the least, the quartiles and the most.
    n_silent : int
        People without a rating.
    n_constant : int
        People who gave all they rated, two items or more, the same.
    n_learnable : int
        People who can be learned from: two different ratings at least, or without ratings two
        items.
    """

    n_users: int
    n_items: int
    n_ratings: int
    density: float
    has_ratings: bool
    scale: tuple[float, float]
    mean: float
    sd: float
    per_user: tuple[float, ...]
    per_item: tuple[float, ...]
    n_silent: int
    n_constant: int
    n_learnable: int

    def __str__(self) -> str:
        share = f"{self.density:.2%} of all pairs"
        lines = [
            f"{self.n_users:,} users, {self.n_items:,} items, {self.n_ratings:,} ratings: {share}",
            f"ratings of a user  {_quartiles(self.per_user)}",
            f"ratings of an item {_quartiles(self.per_item)}",
        ]
        if self.has_ratings:
            low, high = self.scale
            lines.insert(
                1, f"scale from {low:g} to {high:g}, mean {self.mean:.2f}, sd {self.sd:.2f}"
            )
            unlearnable = f"{self.n_constant:,} give one rating to all, {self.n_silent:,} have none"
        else:
            lines.insert(1, "taken, not graded")
            unlearnable = f"{self.n_silent:,} have no item"
        lines.append(f"{self.n_learnable:,} users can be learned from; {unlearnable}")
        return "\n".join(lines)


def _quartiles(five: tuple[float, ...]) -> str:
    low, first, median, third, high = (f"{q:,g}" for q in five)
    return f"from {low} to {high}, median {median}, half of them {first} to {third}"


def standardised(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float]:
    """Return values from 0 to 1, the lowest of them, and their range; 1 if all are equal.

    Differences and squares of these lose no digits to a large offset, and neither overflow nor
    underflow.
    """
    low, high = float(values.min()), float(values.max())
    width = high - low or 1.0
    return (values - low) / width, low, width


def deviation(values: NDArray[np.float64]) -> float:
    """Return the standard deviation of values of any size; 0 without any."""
    if not len(values):
        return 0.0
    standard, _, width = standardised(values)
    return float(width * standard.std())


def varied_rows(matrix: sparse.csr_array) -> NDArray[np.bool_]:
    """Return which rows hold two different numbers at least."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    first = np.append(matrix.data, 0.0)[matrix.indptr[:-1]]
    return np.bincount(rows, matrix.data != first[rows], minlength=matrix.shape[0]) > 0


def choose_raters(
    matrix: sparse.csr_array, by_item: sparse.csr_array, person: int | None, raters: Any, ids: Ids
) -> Ints:
    """Return the raters of a person's features, never the person.

    None are all others who rated something, a number n the n of them who rated most of the person's
    items (most of all items without a person), equals in the order of the table.
    """
    n_given = np.diff(matrix.indptr)
    if raters is None:
        chosen = np.flatnonzero(n_given)
    elif isinstance(raters, Integral) and not isinstance(raters, bool | np.bool_):
        if raters < 1:
            raise ValueError(f"raters={shortened(raters)} must be 1 or more, ids, or None for all")
        shared = n_given
        if person is not None:
            own = matrix.indices[matrix.indptr[person] : matrix.indptr[person + 1]]
            shared = np.bincount(by_item[own].indices, minlength=len(n_given))
            shared[person] = -1
        order = np.argsort(-shared, kind="stable")
        order = order[n_given[order] > 0]
        chosen = np.sort(order[order != person][: int(raters)])
    else:
        chosen = ids.find(raters, "raters")
        if len(np.unique(chosen)) < len(chosen):
            twice = np.flatnonzero(np.bincount(chosen) > 1)[0]
            raise ValueError(f"raters names {ids.show(twice)} twice: name each person once")
    chosen = chosen[chosen != person] if person is not None else chosen
    if not len(chosen):
        raise ValueError(
            "raters names nobody but the person: the features are other people's ratings"
        )
    return chosen


class RatingTable:
    """Ratings of items by people, or who took what.

    Make one with `from_frame` or `from_arrays`. It can't be changed.

    Attributes
    ----------
    n_users, n_items, n_ratings : int
        How many there are.
    users, items : ndarray
        The ids, sorted where they have an order: the rows and the columns of ``matrix``.
    matrix : scipy.sparse.csr_array of shape (n_users, n_items)
        The ratings in float64, read-only, each row in the order of the items. What is not rated is
        not stored, so that a rating of 0 is an entry like any other. Without ratings all are 1.
    times : ndarray of shape (n_ratings,) or None
        When each entry of ``matrix.data`` was rated, in the given type: integers, floats, or NumPy
        dates in their resolution, those with a zone in UTC.
    has_ratings : bool
        Whether people graded what they took.
    scale : tuple of two floats
        The lowest and the highest rating.
    by_item : scipy.sparse.csr_array of shape (n_items, n_users)
        The matrix with a row for each item, made when first asked for.

    See Also
    --------
    rankwise.datasets.read_ratings : From a file to a frame.

    Notes
    -----
    An entry takes 12 bytes, 20 with a time, and 16 in tables of more than 2^31 entries.

    Examples
    --------
    >>> from rankwise.recommend import RatingTable
    >>> table = RatingTable.from_arrays(
    ...     users=["ann", "ann", "bob", "bob", "cid"],
    ...     items=["tea", "milk", "tea", "rum", "rum"],
    ...     ratings=[5, 2, 4, 1, 3],
    ... )
    >>> table
    RatingTable(3 users, 3 items, 5 ratings from 1 to 5)
    >>> table.items
    array(['milk', 'rum', 'tea'], dtype=object)
    >>> table.matrix.toarray()
    array([[2., 0., 5.],
           [0., 1., 4.],
           [0., 3., 0.]])
    """

    matrix: sparse.csr_array
    times: NDArray[Any] | None
    has_ratings: bool
    scale: tuple[float, float]
    _user_ids: Ids
    _item_ids: Ids

    def __init__(self) -> None:
        raise TypeError("make a table with RatingTable.from_frame or RatingTable.from_arrays")

    @classmethod
    def _of(cls, matrix: sparse.csr_array, users: Ids, items: Ids, **others: Any) -> Self:
        """Return a table of parts that fit together: others are times, has_ratings and scale."""
        self = object.__new__(cls)
        self.__setstate__({"matrix": matrix, "_user_ids": users, "_item_ids": items, **others})
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a RatingTable can't be changed: {name!r} is read-only")

    def __sizeof__(self) -> int:
        # Dask sends what is large to a worker once.
        arrays = (self.matrix.data, self.matrix.indices, self.matrix.indptr)
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("matrix", "times", "has_ratings", "scale", "_user_ids", "_item_ids")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        matrix = state["matrix"]
        for array in (matrix.data, matrix.indices, matrix.indptr, state["times"]):
            if array is not None:
                array.flags.writeable = False
        # else scipy looks, and would sort in place
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        self.__dict__.update(state)

    def _check_loaded(self) -> None:
        """Raise if parts from a file do not belong together: compiled code trusts them."""
        check_parts(self)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str = "user",
        item: str = "item",
        rating: str | None = "rating",
        time: str | None = None,
        duplicates: str = "refuse",
        nan: str = "refuse",
        scale: tuple[float, float] | None = None,
    ) -> Self:
        """Make a table of a dataframe with a row for each rating.

        Parameters
        ----------
        frame : dataframe
            Of pandas, polars, pyarrow or any other library that narwhals reads.
        user, item : str
            The columns of ids: numbers, strings or anything that can be a key of a dict. The
            defaults also find usual names: ``userId``, ``movieId``, ``product_id``.
        rating : str or None, default="rating"
            The column of ratings, numbers or an ordered categorical; the default also finds
            ``stars`` and ``score``. None: people took items, and did not grade them.
        time : str, default=None
            The column of times, numbers or dates.
        duplicates, nan, scale
            As for `from_arrays`.

        Examples
        --------
        >>> import pandas as pd
        >>> from rankwise.recommend import RatingTable
        >>> frame = pd.DataFrame({"userId": [1, 1, 2], "film": ["A", "B", "A"], "stars": [4, 2, 5]})
        >>> RatingTable.from_frame(frame)
        RatingTable(2 users, 2 items, 3 ratings from 2 to 5)
        """
        optional = {"rating": rating, "time": time}
        named = {part: name for part, name in optional.items() if name is not None}
        columns = columns_of(frame, {"user": user, "item": item, **named})
        return cls.from_arrays(
            columns["user"],
            columns["item"],
            columns.get("rating"),
            times=columns.get("time"),
            duplicates=duplicates,
            nan=nan,
            scale=scale,
        )

    @classmethod
    def from_arrays(
        cls,
        users: ArrayLike,
        items: ArrayLike,
        ratings: ArrayLike | None = None,
        *,
        times: ArrayLike | None = None,
        duplicates: str = "refuse",
        nan: str = "refuse",
        scale: tuple[float, float] | None = None,
    ) -> Self:
        """Make a table of arrays with an entry for each rating.

        Parameters
        ----------
        users, items : array-like of shape (n,)
            Ids: numbers, strings or anything that can be a key of a dict.
        ratings : array-like of shape (n,), default=None
            Numbers, higher is better. None: people took items, and did not grade them.
        times : array-like of shape (n,), default=None
            When each was rated, numbers or dates.
        duplicates : {"refuse", "last", "mean"}, default="refuse"
            What to do with several ratings of an item by a person: an error, the last one (by time
            if there is a time, and the last row among equal times), or their mean at the last time.
        nan : {"refuse", "drop"}, default="refuse"
            Whether a rating that is NaN is an error, or its row is left out.
        scale : tuple of two numbers, default=None
            The lowest and the highest rating that can be given; by default those that were.

        Raises
        ------
        ValueError
            If the table is empty, the lengths differ, an id is missing, or a rating or time is not
            finite. The message names the row.
        """
        check_word(duplicates, "duplicates", ("refuse", "last", "mean"))
        check_word(nan, "nan", ("refuse", "drop"))
        bounds = check_scale(scale)
        user_ids, rows = Ids.encode(users, "users")
        item_ids, columns = Ids.encode(items, "items")
        n = len(rows)
        moments = None if times is None else as_times(times, "times")
        values = np.ones(n) if ratings is None else as_ratings(ratings, nan)
        for name, given in (("items", columns), ("ratings", values), ("times", moments)):
            if given is not None and len(given) != n:
                raise ValueError(
                    f"{name} has {len(given)} entries for {n} rows of users: give one a row"
                )
        if n == 0:
            raise ValueError("users, items and ratings are empty: a table needs a row at least")
        kept = ~np.isnan(values)
        if not kept.all():
            if not kept.any():
                raise ValueError("ratings are all NaN: nothing is left to learn from")
            user_ids, rows = user_ids.only(rows[kept])
            item_ids, columns = item_ids.only(columns[kept])
            values, moments = values[kept], None if moments is None else moments[kept]
        if bounds is not None:
            check_inside(values, bounds)
        ids = user_ids, item_ids
        matrix, moments = build_matrix(rows, columns, values, moments, ids, duplicates)
        return cls._of(
            matrix,
            user_ids,
            item_ids,
            times=moments,
            has_ratings=ratings is not None,
            scale=bounds or (float(values.min()), float(values.max())),
        )

    @property
    def n_users(self) -> int:
        """The number of people."""
        return len(self._user_ids)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self._item_ids)

    @property
    def n_ratings(self) -> int:
        """The number of ratings."""
        return len(self.matrix.data)

    @property
    def users(self) -> NDArray[Any]:
        """The ids of the people, in the order of the rows."""
        return self._user_ids.values

    @property
    def items(self) -> NDArray[Any]:
        """The ids of the items, in the order of the columns."""
        return self._item_ids.values

    def user_index(self, users: ArrayLike) -> Ints:
        """Return the row of each of these people; unknown ids are a ValueError that names them."""
        return self._user_ids.find(users, "users")

    def item_index(self, items: ArrayLike) -> Ints:
        """Return the column of each of these items; unknown ids are a ValueError."""
        return self._item_ids.find(items, "items")

    @cached_property
    def by_item(self) -> sparse.csr_array:
        """The ratings as a matrix of items by people."""
        matrix = sparse.csr_array(self.matrix.T)
        for array in (matrix.data, matrix.indices, matrix.indptr):
            array.flags.writeable = False
        return matrix

    def problem_for(
        self, user: Any, *, raters: Any = None, missing: str = "median", center: str | None = None
    ) -> tuple[Matrix, Vector, NDArray[Any]]:
        """Return what a ranker of one person learns from: the papers' problem.

        A row is an item that the person rated, a column another person, an entry the rating that
        this one gave to the item. The person's own ratings are never a column.

        Parameters
        ----------
        user : id
            The person.
        raters : list of ids, int or None, default=None
            The people whose ratings are the columns, without the person: these, in this order; or
            as many of those who rated most of the person's items; or all others who rated anything.
        missing : {"median", "mean", "zero", "nan"}, default="median"
            What stands for an item that a rater did not rate: the median or the mean of all
            that this rater gave, 0 (after centring), or NaN.
        center : {"scale", "user"} or None, default=None
            What is subtracted from the columns: the middle of the scale, each rater's mean, or
            nothing.

        Returns
        -------
        X : ndarray of shape (n_rated, n_raters)
        y : ndarray of shape (n_rated,)
            The person's ratings, as they were given.
        items : ndarray of shape (n_rated,)
            The ids of the items.

        See Also
        --------
        features_for : Rows of other items, to rank them by what was learned.
        fit_many : One model for each of many people.

        Notes
        -----
        Crammer and Singer (2001) subtract the middle of the scale and set 0 for what is not rated:
        ``missing="zero", center="scale"``. Cortes, Mohri and Rastogi (2007) set the median of the
        rater: the defaults.

        Cost: X has 8 bytes for each item and rater.

        Examples
        --------
        >>> from rankwise.recommend import RatingTable
        >>> table = RatingTable.from_arrays(
        ...     users=["ann", "ann", "bob", "bob", "bob", "cid"],
        ...     items=["tea", "milk", "tea", "rum", "milk", "rum"],
        ...     ratings=[5, 2, 4, 1, 2, 3],
        ... )
        >>> X, y, items = table.problem_for("ann")
        >>> X, y, items
        (array([[2., 3.], [4., 3.]]), array([2., 5.]), array(['milk', 'tea'], dtype=object))
        >>> table.features_for("ann")
        (array([[1., 3.]]), array(['rum'], dtype=object))
        """
        self._check_graded("problem_for")
        person = self._user_ids.find_one(user, "user")
        own = slice(*self.matrix.indptr[person : person + 2].tolist())
        if own.start == own.stop:
            raise ValueError(f"user={self._user_ids.show(person)} has no ratings in this table")
        items = self.matrix.indices[own]
        X = self._features(person, items, raters, missing, center)
        return X, self.matrix.data[own].copy(), self.items[items]

    def features_for(
        self,
        user: Any,
        items: ArrayLike | None = None,
        *,
        raters: Any = None,
        missing: str = "median",
        center: str | None = None,
    ) -> tuple[Matrix, NDArray[Any]]:
        """Return rows of any items, with the columns of a person's problem.

        Parameters
        ----------
        user : id or None
            The person, who is not among the columns. None: somebody who is not in the table.
        items : list of ids, default=None
            The items; by default all that the person has not rated.
        raters, missing, center
            As they were given to `problem_for`.

        Returns
        -------
        X : ndarray of shape (n, n_raters)
        items : ndarray of shape (n,)
        """
        self._check_graded("features_for")
        person = None if user is None else self._user_ids.find_one(user, "user")
        if items is not None:
            chosen = self.item_index(items)
        else:
            unrated = np.ones(self.n_items, dtype=bool)
            if person is not None:
                unrated[self.matrix[[person]].indices] = False
            chosen = np.flatnonzero(unrated)
        return self._features(person, chosen, raters, missing, center), self.items[chosen]

    def _features(
        self, person: int | None, items: Ints, raters: Any, missing: str, center: str | None
    ) -> Matrix:
        """Return a row for each of some items, and a column for each rater."""
        check_word(missing, "missing", MISSING)
        if center is not None and not (isinstance(center, str) and center in CENTER):
            raise ValueError(f"center={shortened(center)} must be 'scale', 'user' or None")
        chosen = choose_raters(self.matrix, self.by_item, person, raters, self._user_ids)
        low, high = self.scale
        shift = np.zeros(len(chosen))
        if center is not None:
            shift += low + (high - low) / 2 if center == "scale" else self._middles["mean"][chosen]
        X = np.empty((len(items), len(chosen)))
        if missing in self._middles:
            X[:] = self._middles[missing][chosen] - shift
        else:
            X[:] = 0.0 if missing == "zero" else np.nan
        column = np.full(self.n_users, -1)
        column[chosen] = np.arange(len(chosen))
        ratings = self.by_item[items]
        row = np.repeat(np.arange(len(items)), np.diff(ratings.indptr))
        place = column[ratings.indices]
        kept = place >= 0
        X[row[kept], place[kept]] = ratings.data[kept] - shift[place[kept]]
        return X

    @cached_property
    def _middles(self) -> dict[str, Vector]:
        """The median and the mean of each person's ratings; without any, that of the scale."""
        (low, high), n = self.scale, np.diff(self.matrix.indptr)
        medians = np.full(len(n), low + (high - low) / 2)
        means, rated = medians.copy(), np.flatnonzero(n)
        if len(rated):
            y, starts = self.matrix.data, self.matrix.indptr[rated]
            y = y[np.lexsort((y, np.repeat(np.arange(len(n)), n)))]
            n = n[rated]
            medians[rated] = (y[starts + (n - 1) // 2] + y[starts + n // 2]) / 2
            # from the least rating of each person, so that a large offset costs no digits
            means[rated] = y[starts] + np.add.reduceat(y - np.repeat(y[starts], n), starts) / n
        return {"median": medians, "mean": means}

    def _check_graded(self, method: str) -> None:
        if not self.has_ratings:
            raise ValueError(f"{method} needs ratings, but this table has only choices")

    def split(
        self, test_size: float = 0.2, *, by: str = "rating", random_state: Any = None
    ) -> tuple[Self, Self]:
        """Return two tables, one to learn from and one to test on, with the same ids.

        Parameters
        ----------
        test_size : float or int, default=0.2
            The share of what is split that goes to the second table, or how many.
        by : {"rating", "user", "time"}, default="rating"
            ``"rating"``: single ratings at random. ``"user"``: whole people at random, so that the
            first table knows nothing of those in the second. ``"time"``: the last ratings.
        random_state : int, Generator, RandomState or None, default=None
            What is drawn from.

        Returns
        -------
        train, test : RatingTable
            Both have all users and items of this table at the same places, with ratings or not.

        Notes
        -----
        An integer draws one permutation of ``numpy.random.default_rng``, of the ratings in the
        order of ``matrix.data`` or of the people; its first part is learned from. Ratings of one
        time are in the order of ``matrix.data``.

        Examples
        --------
        >>> from rankwise.recommend import RatingTable
        >>> table = RatingTable.from_arrays([1, 1, 2, 3], [7, 8, 7, 8], [5, 3, 4, 1])
        >>> table.split(0.25, random_state=0)
        (RatingTable(3 users, 2 items, 3 ratings from 1 to 5),
         RatingTable(3 users, 2 items, 1 ratings from 1 to 5))
        """
        tested = tested_entries(self.matrix, self.times, test_size, by, random_state)
        return self._entries(~tested), self._entries(tested)

    def people(self, start: int, stop: int) -> Self:
        """Return the table of the people from one place up to another, with all items.

        It shares the ratings of this table. Ints are those of ``users``, as in a slice.

        Examples
        --------
        >>> from rankwise.recommend import RatingTable
        >>> table = RatingTable.from_arrays([1, 1, 2, 3], [7, 8, 7, 8], [5, 3, 4, 1])
        >>> table.people(1, 3)
        RatingTable(2 users, 2 items, 2 ratings from 1 to 5)
        """
        first = min(check_whole(start, "start", 0), self.n_users)
        past = max(min(check_whole(stop, "stop", 0), self.n_users), first)
        if first == past:
            raise ValueError(f"{start=} and {stop=} select none of {self.n_users} people")
        X, ends = self.matrix, self.matrix.indptr[first : past + 1]
        entries = slice(int(ends[0]), int(ends[-1]))
        matrix = sparse.csr_array((past - first, self.n_items))
        # set one by one: SciPy copies slices, and parts that are much smaller than the whole
        matrix.data, matrix.indices = X.data[entries], X.indices[entries]
        matrix.indptr = ends - ends[0]
        return self._with(matrix, Ids(self.users[first:past], "users"), entries)

    def _entries(self, kept: NDArray[np.bool_]) -> Self:
        """Return the table of some entries, with all people and items."""
        return self._with(some_entries(self.matrix, kept), self._user_ids, kept)

    def _with(self, matrix: sparse.csr_array, users: Ids, entries: Any) -> Self:
        """Return the table of a part of the entries, with all items."""
        times = None if self.times is None else self.times[entries]
        others: dict[str, Any] = {"has_ratings": self.has_ratings, "scale": self.scale}
        return self._of(matrix, users, self._item_ids, times=times, **others)

    def describe(self) -> TableSummary:
        """Return what is in the table, in numbers: sizes, scale, who can be learned from.

        Examples
        --------
        >>> from rankwise.recommend import RatingTable
        >>> table = RatingTable.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 8, 8], [5, 3, 4, 4, 1])
        >>> print(table.describe())
        3 users, 2 items, 5 ratings: 83.33% of all pairs
        scale from 1 to 5, mean 3.40, sd 1.36
        ratings of a user  from 1 to 2, median 2, half of them 1.5 to 2
        ratings of an item from 2 to 3, median 2.5, half of them 2.25 to 2.75
        1 users can be learned from; 1 give one rating to all, 0 have none
        """
        per_user = np.diff(self.matrix.indptr)
        per_item = np.bincount(self.matrix.indices, minlength=self.n_items)
        varied, several = varied_rows(self.matrix), per_user > 1
        return TableSummary(
            n_users=self.n_users,
            n_items=self.n_items,
            n_ratings=self.n_ratings,
            density=self.n_ratings / (self.n_users * self.n_items),
            has_ratings=self.has_ratings,
            scale=self.scale,
            mean=float(self.matrix.data.mean()) if self.n_ratings else 0.0,
            sd=deviation(self.matrix.data),
            per_user=tuple(np.quantile(per_user, _SHARES).tolist()),
            per_item=tuple(np.quantile(per_item, _SHARES).tolist()),
            n_silent=int((per_user == 0).sum()),
            n_constant=int((several & ~varied).sum()) if self.has_ratings else 0,
            n_learnable=int((varied if self.has_ratings else several).sum()),
        )

    def __repr__(self) -> str:
        low, high = self.scale
        graded = f"ratings from {low:g} to {high:g}" if self.has_ratings else "taken, not graded"
        return f"RatingTable({self.n_users} users, {self.n_items} items, {self.n_ratings} {graded})"


def check_table(table: Any) -> None:
    """Refuse all but a table with a rating at least; parts of a table may have none."""
    if not isinstance(table, RatingTable):
        raise ValueError(
            f"table={shortened(table)} must be a RatingTable: make one with "
            "RatingTable.from_frame or RatingTable.from_arrays"
        )
    if table.matrix.nnz == 0:
        raise ValueError(f"table={table!r} is empty: give one with at least one rating")


def check_features(item_features: ArrayLike, table: RatingTable) -> NDArray[np.float64]:
    """Return features of the items as numbers, a row for each item of a table."""
    X = as_floats(item_features, "item_features")
    if X.ndim != 2 or len(X) != table.n_items:
        raise ValueError(
            f"item_features has the shape {X.shape}: give a row for each of the {table.n_items} "
            "items of the table, in the order of table.items"
        )
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        row, column = bad[0].tolist()
        raise ValueError(
            f"item_features holds {X[row, column]} (row {row}, column {column}): impute it"
        )
    return X


def _joined(times: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return the times of two tables; dates become seconds since 1970 if the others are numbers."""
    if (times.dtype.kind == "M") != (more.dtype.kind == "M"):
        times, more = (
            part.astype("M8[us]").astype(np.int64) / 1e6 if part.dtype.kind == "M" else part
            for part in (times, more)
        )
    return np.concatenate([times, more])


def add_ratings(table: RatingTable, more: RatingTable) -> tuple[RatingTable, NDArray[np.int64]]:
    """Return a table with more ratings of its items, and where its people are in that.

    The last rating of an item by a person counts.
    """
    low, high = table.scale
    if more.has_ratings and not (low <= more.matrix.data.min() and more.matrix.data.max() <= high):
        raise ValueError(f"table holds ratings outside of the scale {table.scale} of this model")
    X, Y = table.matrix.tocoo(), more.matrix.tocoo()
    present, people = np.unique(Y.row, return_inverse=True)
    ids, places = Ids.encode([*table.users.tolist(), *more.users[present].tolist()], "users")
    before, after = places[: table.n_users], places[table.n_users :]
    rows = np.concatenate([before[X.row], after[people]])
    columns = np.concatenate([X.col, table.item_index(more.items[Y.col])])
    values = np.concatenate([X.data, Y.data])
    times = None
    if table.times is not None and more.times is not None:
        times = _joined(table.times, more.times)
    matrix, times = build_matrix(rows, columns, values, times, (ids, table._item_ids), "last")
    parts: dict[str, Any] = {"has_ratings": table.has_ratings, "scale": table.scale}
    return RatingTable._of(matrix, ids, table._item_ids, times=times, **parts), before
