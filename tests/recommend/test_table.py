"""RatingTable: any ids, any frame, one matrix; what can't be a table is refused by name."""

import pickle
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.comparison import _recognise
from rankwise.recommend import RatingTable, TasteModel
from rankwise.recommend._build import USUAL_NAMES
from rankwise.recommend._table import add_ratings

USERS = ["ann", "ann", "bob", "bob", "bob", "cid"]
ITEMS = ["tea", "milk", "tea", "rum", "milk", "rum"]
RATINGS = [5.0, 0.0, 4.0, 1.0, 2.0, 3.0]


@pytest.fixture
def table():
    return RatingTable.from_arrays(USERS, ITEMS, RATINGS, times=[1, 2, 3, 4, 5, 6])


def entries(table):
    """Return the ratings as a dict of (user, item), and the times likewise."""
    m = table.matrix.tocoo()
    keys = [(table.users[u], table.items[i]) for u, i in zip(m.row, m.col, strict=True)]
    times = table.times if table.times is not None else [None] * len(keys)
    return dict(zip(keys, m.data, strict=True)), dict(zip(keys, times, strict=True))


def test_a_rating_of_zero_is_stored(table):
    ratings, times = entries(table)
    keys = list(zip(USERS, ITEMS, strict=True))
    assert ratings == dict(zip(keys, RATINGS, strict=True))
    assert times == dict(zip(keys, range(1, 7), strict=True))
    assert (table.n_users, table.n_items, table.n_ratings) == (3, 3, 6)
    assert table.scale == (0.0, 5.0)
    assert table.has_ratings
    assert (table.by_item.toarray() == table.matrix.toarray().T).all()
    assert repr(table) == "RatingTable(3 users, 3 items, 6 ratings from 0 to 5)"


IDS = {
    "numbers": [5, 7, -2],
    "large": [2**63 + 1, 2**64 - 1, 2**63],
    "huge": [2**70, 3, 2**71],
    "texts": ["b", "a", "c"],
    "mixed": ["1", 1, "x"],
    "tuples": [(1, "a"), (0, "b"), (1, "b")],
    "floats": [1.5, 0.25, 3.0],
    "dates": [datetime(2020, 1, 2), datetime(2019, 1, 1), datetime(2021, 1, 1)],
    "unordered": [frozenset([1]), frozenset([2]), object],
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("kind", [list, np.array, pd.Series, "objects"])
def test_ids_of_any_kind(ids, kind):
    if kind is np.array and ids in (IDS["tuples"], IDS["mixed"]):
        pytest.skip("NumPy makes rows of tuples, and texts of a mixture")
    if kind == "objects":
        given = np.empty(3, dtype=object)
        given[:] = ids
    else:
        given = kind(ids)
    known = given.tolist() if hasattr(given, "tolist") else ids
    table = RatingTable.from_arrays(given, given, [1, 2, 3])
    places = table.user_index(given)
    assert sorted(places) == [0, 1, 2]
    assert (places == table.item_index(known)).all()
    for place, one, rating in zip(places, known, [1, 2, 3], strict=True):
        assert table.users[place] == one
        assert table.matrix[[place], [place]] == rating
    with pytest.raises(ValueError, match=r"users holds 'nobody', which the table does not have"):
        table.user_index(["nobody"])


@pytest.mark.parametrize("ids", list(IDS)[:-1])
def test_rows_in_any_order_make_the_same_table(ids):
    ids = IDS[ids]
    users, items = [ids[i] for i in (0, 0, 1, 2)], [ids[i] for i in (0, 1, 1, 2)]
    one = RatingTable.from_arrays(users, items, [1, 2, 3, 4])
    two = RatingTable.from_arrays(users[::-1], items[::-1], [4, 3, 2, 1])
    assert one.users.tolist() == two.users.tolist()
    assert one.items.tolist() == two.items.tolist()
    assert (one.matrix.toarray() == two.matrix.toarray()).all()


def test_one_and_its_text_are_two_people():
    table = RatingTable.from_arrays([1, "1"], ["a", "a"], [2, 3])
    assert table.n_users == 2
    assert table.matrix[table.user_index(["1"])].toarray() == [[3]]


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames(make, table):
    frame = make({"item": ITEMS, "who": USERS, "stars": RATINGS, "t": [1, 2, 3, 4, 5, 6]})
    read = RatingTable.from_frame(frame, user="who", rating="stars", time="t")
    assert entries(read) == entries(table)
    assert not RatingTable.from_frame(frame, user="who", rating=None).has_ratings
    assert entries(RatingTable.from_frame(frame, user="who", time="t")) == entries(table)
    with pytest.raises(ValueError, match=r"user='user' must be a column .* 'stars'"):
        RatingTable.from_frame(frame)


@pytest.mark.parametrize(
    "names",
    [
        ("userId", "movieId", "rating"),
        ("User-ID", "ISBN", "Book-Rating"),
        ("reviewer_id", "product_id", "stars"),
    ],
)
def test_usual_names_of_columns_are_found(names, table):
    frame = pd.DataFrame(dict(zip(names, (USERS, ITEMS, RATINGS), strict=True)))
    assert (
        RatingTable.from_frame(frame).matrix.toarray().tolist() == table.matrix.toarray().tolist()
    )
    with pytest.raises(
        ValueError, match=rf"item='{names[1]}s' must be .*did you mean '{names[1]}'"
    ):
        RatingTable.from_frame(frame, item=f"{names[1]}s")


def test_a_column_of_the_very_name_comes_first():
    frame = pd.DataFrame({"userId": [8, 8], "user": [1, 2], "item": [1, 1], "rating": [3, 4]})
    assert RatingTable.from_frame(frame).users.tolist() == [1, 2]


def test_usual_names_are_those_of_the_command_line():
    assert {part: _recognise._NAMES[part] for part in USUAL_NAMES} == USUAL_NAMES


def test_an_arrow_table(table):
    pa = pytest.importorskip("pyarrow")
    frame = pa.table({"user": USERS, "item": ITEMS, "rating": RATINGS, "t": [1, 2, 3, 4, 5, 6]})
    assert entries(RatingTable.from_frame(frame, time="t")) == entries(table)


def test_what_is_no_frame():
    lazy = pl.DataFrame({"user": [1], "item": [1]}).lazy()
    with pytest.raises(ValueError, match=r"call its collect\(\) first"):
        RatingTable.from_frame(lazy, rating=None)
    with pytest.raises(ValueError, match=r"frame=\[1, 2\] must be a dataframe"):
        RatingTable.from_frame([1, 2])
    twice = pd.DataFrame([[1, 2, 3]], columns=["user", "user", "item"])
    with pytest.raises(ValueError, match="columns of one name"):
        RatingTable.from_frame(twice, rating=None)


def test_an_ordered_categorical_means_its_order():
    frame = pd.DataFrame({"user": [1, 2, 3], "item": [1, 1, 1]})
    words = pd.Categorical(["good", "bad", "fair"], ["bad", "fair", "good"], ordered=True)
    table = RatingTable.from_frame(frame.assign(rating=words))
    assert table.matrix.data.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    "times",
    [
        pd.to_datetime(["2020-01-01", "1970-01-02"]),
        pd.to_datetime(["2020-01-01", "1970-01-02"]).tz_localize("UTC"),
        [datetime(2020, 1, 1), datetime(1970, 1, 2)],
        [datetime(2020, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), datetime(1970, 1, 2)],
        [datetime(2020, 1, 1).date(), datetime(1970, 1, 2).date()],
        np.array(["2020-01-01", "1970-01-02"], "M8[D]"),
        pl.Series([datetime(2020, 1, 1), datetime(1970, 1, 2)]),
        [1577836800, 86400.0],
    ],
)
def test_dates_and_numbers_are_times(times):
    table = RatingTable.from_arrays([1, 2], [1, 1], times=times)
    expected = [datetime(2020, 1, 1, tzinfo=UTC).timestamp(), 86400]
    assert table.times.astype("M8[s]").astype(float).tolist() == expected


CLOSE = {
    "nanoseconds": np.array([1_577_836_800_000_000_002, 1_577_836_800_000_000_001], "M8[ns]"),
    "pandas": pd.to_datetime([1_577_836_800_000_000_002, 1_577_836_800_000_000_001]),
    "with a zone": pd.to_datetime(
        [1_577_836_800_000_000_002, 1_577_836_800_000_000_001], utc=True
    ).tz_convert("Asia/Tokyo"),
    "objects": [pd.Timestamp(1_577_836_800_000_000_002), pd.Timestamp(1_577_836_800_000_000_001)],
    "integers": [2**53 + 1, 2**53],
    "unsigned": np.array([2**63 + 1, 2**63], np.uint64),
    "integer objects": np.array([2**53 + 1, 2**53], object),
    "microseconds": [datetime(9000, 1, 1, 0, 0, 0, 2), datetime(9000, 1, 1, 0, 0, 0, 1)],
}


@pytest.mark.parametrize("times", CLOSE.values(), ids=CLOSE)
def test_the_last_of_times_that_are_close(times):
    given = [1, 1], [9, 9], [5, 2]
    for order in (slice(None), slice(None, None, -1)):
        users, items, ratings = (column[order] for column in given)
        table = RatingTable.from_arrays(
            users, items, ratings, times=times[order], duplicates="last"
        )
        assert table.matrix.data.tolist() == [5]
    later, earlier = (
        RatingTable.from_arrays([1], [9], given[2][k : k + 1], times=times[k : k + 1], scale=(1, 5))
        for k in range(2)
    )
    for one, two in ((later, earlier), (earlier, later)):
        assert add_ratings(one, two)[0].matrix.data.tolist() == [5]


def test_dates_beside_numbers_are_seconds():
    numbers = RatingTable.from_arrays([1], [9], [5], times=[86_401], scale=(1, 5))
    dates = RatingTable.from_arrays([1], [9], [2], times=[datetime(1970, 1, 2)])
    assert add_ratings(numbers, dates)[0].matrix.data.tolist() == [5]


def test_duplicates():
    given = [1, 1, 1, 1], [9, 8, 9, 9], [5, 1, 2, 3]
    with pytest.raises(ValueError, match=r"user 1 rated item 9 twice \(rows 0 and 2; 2 such rows"):
        RatingTable.from_arrays(*given)
    last = RatingTable.from_arrays(*given, duplicates="last")
    assert last.matrix.toarray().tolist() == [[1, 3]]
    mean = RatingTable.from_arrays(*given, duplicates="mean")
    assert mean.matrix.toarray() == pytest.approx(np.array([[1, 10 / 3]]))
    by_time = RatingTable.from_arrays(*given, times=[7, 1, 7, 2], duplicates="last")
    assert by_time.matrix.toarray().tolist() == [[1, 2]]
    assert by_time.times.tolist() == [1, 7]
    taken = RatingTable.from_arrays(*given[:2], duplicates="mean")
    assert taken.matrix.toarray().tolist() == [[1, 1]]


def test_nan_is_refused_or_dropped():
    given = ["a", "b", "a"], ["x", "y", "z"], [1, np.nan, 2]
    with pytest.raises(ValueError, match=r"ratings holds NaN \(row 1, 1 in all\).*nan=\"drop\""):
        RatingTable.from_arrays(*given)
    table = RatingTable.from_arrays(*given, nan="drop", times=[1, 2, 3])
    assert table.users.tolist() == ["a"]
    assert table.items.tolist() == ["x", "z"]
    assert table.times.tolist() == [1, 3]
    with pytest.raises(ValueError, match="all NaN"):
        RatingTable.from_arrays([1], [1], [np.nan], nan="drop")
    nullable = pd.DataFrame({"user": [1, 2], "item": [1, 2]})
    nullable["rating"] = pd.array([1, None], dtype="Int64")
    assert RatingTable.from_frame(nullable, nan="drop").n_ratings == 1


BAD = {
    "empty": ({"users": [], "items": []}, "are empty: a table needs a row"),
    "lengths": ({"users": [1], "items": [1, 2]}, "items has 2 entries for 1 rows"),
    "ratings": ({"users": [1], "items": [1], "ratings": [1, 2]}, "ratings has 2 entries"),
    "times": ({"users": [1], "items": [1], "times": [1, 2]}, "times has 2 entries"),
    "one text": (
        {"users": "ann", "items": ["x"]},
        "users='ann' is invalid: expected a list of ids",
    ),
    "one number": ({"users": [1], "items": 7}, "items=7 is invalid: expected a list of ids"),
    "two columns": ({"users": np.ones((2, 2)), "items": [1, 2]}, "users must be 1-D"),
    "None": ({"users": [1, None], "items": [1, 2]}, "users is missing in row 1"),
    "NaN": ({"users": [1, 2], "items": [1, np.nan]}, "items is missing in row 1"),
    "NaT": ({"users": [1], "items": np.array(["NaT"], "M8[s]")}, "items is missing in row 0"),
    "masked": ({"users": np.ma.array([1, 2], mask=[0, 1]), "items": [1, 2]}, "masked entry"),
    "unhashable": ({"users": [[1], [2]], "items": [1, 2]}, "can't be an id"),
    "infinite": ({"users": [1], "items": [1], "ratings": [np.inf]}, r"ratings holds inf \(row 0\)"),
    "huge": ({"users": [1], "items": [1], "ratings": [1e200]}, r"ratings holds 1e\+200"),
    "words": ({"users": [1], "items": [1], "ratings": ["good"]}, "ratings must be numbers"),
    "table": ({"users": [1], "items": [1], "ratings": [[1]]}, "ratings must be 1-D"),
    "times NaN": ({"users": [1], "items": [1], "times": [np.nan]}, "times is missing in row 0"),
    "times inf": ({"users": [1], "items": [1], "times": [np.inf]}, r"times holds inf \(row 0\)"),
    "times table": ({"users": [1], "items": [1], "times": [[1]]}, "times must be 1-D"),
    "scale": (
        {"users": [1], "items": [1], "ratings": [9], "scale": (1, 5)},
        r"outside of scale=\(1",
    ),
    "scale order": (
        {"users": [1], "items": [1], "ratings": [9], "scale": (5, 1)},
        r"scale=\(5, 1\) must",
    ),
    "scale size": ({"users": [1], "items": [1], "ratings": [9], "scale": (1, 1e200)}, "too large"),
    "duplicates": (
        {"users": [1], "items": [1], "duplicates": "first"},
        "duplicates='first' must be",
    ),
    "nan": ({"users": [1], "items": [1], "nan": "fill"}, "nan='fill' must be"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        RatingTable.from_arrays(**arguments)


def test_unknown_ids_are_named(table):
    with pytest.raises(ValueError, match=r"items holds 'gin', 3, which .* its 3 items are 'milk'"):
        table.item_index(["tea", "gin", 3, "gin"])
    many = RatingTable.from_arrays([1], [1], [1])
    with pytest.raises(ValueError, match="users holds 2, 3, 4, 5, 6 and 4 more"):
        many.user_index(np.arange(2, 11))
    assert many.user_index([1.0]).tolist() == [0]
    assert many.user_index([]).tolist() == []


def test_a_similar_id_is_suggested():
    films = RatingTable.from_arrays([1, 2], ["Dumbo", "Bambi"], [3, 4])
    with pytest.raises(ValueError, match=r"item holds 'Dumboo', .*; did you mean 'Dumbo'\?$"):
        TasteModel().fit(films).person().rate("Dumboo", 3)
    with pytest.raises(ValueError, match=r"are 'Bambi', 'Dumbo'$"):
        films.item_index(["Casablanca"])


def test_nothing_can_be_changed(table):
    for array in (*vars(table.matrix).values(), table.times, table.users, table.by_item.data):
        if isinstance(array, np.ndarray):
            assert not array.flags.writeable
    with pytest.raises(AttributeError, match="can't be changed"):
        table.scale = (0, 1)
    with pytest.raises(TypeError, match="from_frame"):
        RatingTable()


def test_arrays_that_were_given_stay_writable():
    users, ratings, times = np.array([1, 2]), np.array([1.0, 2.0]), np.array([1.0, 2.0])
    table = RatingTable.from_arrays(users, users, ratings, times=times)
    for array in (users, ratings, times):
        array[0] = 7
    assert table.matrix.data.tolist() == [1, 2]
    assert table.users.tolist() == [1, 2]


def test_a_table_survives_pickle(table):
    copy = pickle.loads(pickle.dumps(table))
    assert entries(copy) == entries(table)
    assert not copy.matrix.data.flags.writeable
    assert copy.item_index(["rum"]).tolist() == [1]


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("stop", [1, 2, 3, 99])
def test_parts_of_the_people(table, start, stop):
    if stop <= start:
        with pytest.raises(ValueError, match="select none"):
            table.people(start, stop)
        return
    part = table.people(start, stop)
    assert part.users.tolist() == table.users[start:stop].tolist()
    ratings, times = entries(part)
    assert ratings == {k: v for k, v in entries(table)[0].items() if k[0] in part.users}
    assert times == {k: v for k, v in entries(table)[1].items() if k[0] in part.users}
    assert np.shares_memory(part.matrix.data, table.matrix.data)
    assert part.scale == table.scale


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=30
    )
)
def test_the_last_of_several_by_a_dict(rows):
    users, items, ratings = zip(*rows, strict=True)
    table = RatingTable.from_arrays(users, items, ratings, duplicates="last")
    assert entries(table)[0] == {(u, i): r for u, i, r in rows}
    assert (np.diff(table.matrix.indptr) > 0).all()
