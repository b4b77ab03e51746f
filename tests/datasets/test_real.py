"""The real files, where they are at hand: all rows, and the numbers that others read."""

import csv

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_svmlight_files

from rankwise.cli._commands import rankwise
from rankwise.datasets import (
    fetch_jester,
    fetch_movielens,
    read_book_crossing,
    read_cystic_fibrosis,
    read_jester,
    read_letor,
    read_movielens,
    read_ordinal,
    read_preflib,
)


@pytest.mark.parametrize(
    ("release", "ratings", "users", "rated", "films"),
    [("1m", 1_000_209, 6_040, 3_706, 3_883), ("100k", 100_000, 943, 1_682, 1_682)],
)
def test_movielens(real, release, ratings, users, rated, films):
    frame = fetch_movielens(release)
    assert (len(frame), frame.user.nunique(), frame.item.nunique()) == (ratings, users, rated)
    assert not frame.duplicated(["user", "item"]).any()
    assert len(read_movielens(real / f"ml-{release}", table="users")) == users
    movies = read_movielens(real / f"ml-{release}", table="movies")
    assert len(movies) == films
    assert movies.title[0] == "Toy Story"
    assert set(frame.item) <= set(movies.item)
    assert movies.year.isna().sum() == (release == "100k") * 2


def test_movielens_is_what_pandas_reads(real):
    names = ["user", "item", "rating", "timestamp"]
    theirs = pd.read_csv(real / "ml-100k" / "u.data", sep="\t", names=names)
    assert_array_equal(read_movielens(real / "ml-100k" / "u.data"), theirs)


def test_jester(real):
    frame = fetch_jester(1)
    assert frame.attrs == {"skipped_rows": 0, "n_users": 24_983, "n_items": 100}
    theirs = pd.read_csv(real / "jester" / "jester-data-1.zip", header=None)
    assert len(frame) == theirs[0].sum()
    wide = np.full((24_983, 100), 99.0)
    wide[frame.user - 1, frame.item - 1] = frame.rating
    assert_array_equal(wide, theirs.iloc[:, 1:])
    assert len(read_jester(real / "jester")) == len(frame)


def test_book_crossing(real):
    folder = real / "book-crossing-sample"
    for table, file in {"ratings": "Book-Ratings", "books": "Books", "users": "Users"}.items():
        path = folder / f"BX-{file}.csv"
        with path.open(encoding="latin-1", newline="") as lines:
            theirs = list(csv.reader(lines, delimiter=";", escapechar="\\"))[1:]
        frame = read_book_crossing(folder, table=table)
        assert len(frame) == len(theirs)
        if table == "ratings":
            assert frame.item.tolist() == [row[1] for row in theirs]
            assert_array_equal(frame.rating.fillna(0), [int(row[2]) for row in theirs])
            assert_array_equal(frame.implicit, frame.rating.isna())


def test_letor(real):
    paths = sorted((real / "letor-mq2008").glob("S?.txt"))
    data = read_letor(paths)
    assert data.X.shape == (15_211, 46)
    assert len(set(data.qid.tolist())) == 784
    assert set(data.y.tolist()) == {0, 1, 2}
    assert all(comment.startswith("docid = GX") for comment in data.comments)
    theirs = load_svmlight_files([str(path) for path in paths], query_id=True)
    assert_array_equal(data.X, sparse.vstack(theirs[::3]).toarray())
    assert_array_equal(data.y, np.concatenate(theirs[1::3]))
    assert_array_equal(data.qid, np.concatenate(theirs[2::3]))


def test_preflib(real):
    n_files = 0
    for folder in sorted((real / "preflib").iterdir()):
        with (folder / "metadata.csv").open(encoding="utf-8") as lines:
            stated = {row["file"]: row for row in csv.DictReader(lines, delimiter=";")}
        for path in sorted(folder.glob("*.[st]o[ci]")):
            orders, counts = read_preflib(path, return_counts=True)
            row = stated[path.name]
            assert len(orders) == int(row["numUniq"])
            assert counts.sum() == int(row["numVot"]) == len(read_preflib(path))
            strict = not any(isinstance(place, tuple) for order in orders for place in order)
            assert strict or row["isStrict"] == "False"
            n_files += 1
    assert n_files == 204


def test_cystic_fibrosis(real):
    data = read_cystic_fibrosis(real / "cystic-fibrosis")
    assert (len(data.documents), len(data.queries), len(data.judgements)) == (1_239, 100, 4_819)
    assert_array_equal(np.sort(data.documents.doc), np.arange(1, 1_240))
    assert (data.documents.text != "").all()
    first = data.judgements.iloc[0].tolist()
    assert first == [1, 139, 1, 2, 2, 2]


def test_ordinal(real):
    rows = {}
    for path in sorted((real / "ordinal").glob("*.csv")):
        data = read_ordinal(path)
        theirs = pd.read_csv(path)
        assert_array_equal(data.X, theirs.drop(columns="response"))
        assert_array_equal(data.y, theirs.response)
        rows[path.stem] = len(data.y)
    assert rows == {
        "abalone_ord": 4_177,
        "affairs": 265,
        "auto_ord": 392,
        "bostonhousing_ord": 506,
        "machine_ord": 199,
        "stock_ord": 950,
        "winequality-red": 1_359,
    }


def test_check_finds_no_problem(real):
    result = CliRunner().invoke(rankwise, ["data", "check", str(real)])
    assert result.exit_code == 0
    assert "1,000,209 ratings by 6,040 users" in result.stdout
