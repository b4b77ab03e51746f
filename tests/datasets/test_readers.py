import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from rankwise.datasets import (
    read_book_crossing,
    read_contests,
    read_cystic_fibrosis,
    read_jester,
    read_letor,
    read_movielens,
    read_ordinal,
    read_preflib,
    read_ratings,
)


@pytest.fixture
def write(tmp_path):
    def put(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def test_movielens_ratings_are_alike_in_all_forms(samples, write):
    expected = pd.DataFrame(samples.RATINGS, columns=["user", "item", "rating", "timestamp"])
    forms = {
        "ratings.dat": samples.ratings(b"::"),
        "u.data": samples.ratings(b"\t"),
        "ratings.csv": samples.CSV_RATINGS,
        "bare.csv": samples.ratings(b","),
        "quoted.csv": samples.CSV_RATINGS.replace(b"1193", b'"1193"'),
        "crlf.dat": samples.ratings(b"::").replace(b"\n", b"\r\n"),
        "bom.csv": b"\xef\xbb\xbf" + samples.CSV_RATINGS,
        "blank.dat": b"\n\r\n" + samples.ratings(b"::") + b"\n",
        "packed.dat.gz": gzip.compress(samples.ratings(b"::")),
        "packed.zip": samples.zipped(ml__README=b"no", ml__ratings_DOT_dat=samples.ratings()),
    }
    for name, content in forms.items():
        frame = read_movielens(write(name, content))
        assert_frame_equal(frame, expected, obj=name)
        assert frame.attrs == {"skipped_rows": 0}


@pytest.mark.parametrize(
    ("sample", "encoding", "titles", "years", "genres"),
    [
        ("MOVIES", "latin-1", ["Toy Story", "Misérables, Les", "Plain"], [1995, 1995, None], "War"),
        ("MOVIES", "utf-8", ["Toy Story", "Misérables, Les", "Plain"], [1995, 1995, None], "War"),
        (
            "CSV_MOVIES",
            "utf-8",
            ["American President, The", 'Say "No"', "Misérables"],
            [1995, 1999, 1998],
            "(no genres listed)",
        ),
        ("ITEMS", "latin-1", ["Toy Story", "unknown"], [1995, None], "unknown"),
    ],
)
def test_movielens_films(samples, write, sample, encoding, titles, years, genres):
    frame = read_movielens(write("film", getattr(samples, sample).encode(encoding)), table="movies")
    assert list(frame) == ["item", "title", "year", "genres"]
    assert frame.title.tolist() == titles
    assert frame.year.astype(object).where(frame.year.notna(), None).tolist() == years
    assert frame.genres.iloc[-1] == genres


def test_movielens_item_genres_are_flags(samples, write):
    frame = read_movielens(write("u.item", samples.ITEMS), table="movies")
    assert frame.genres[0] == "Animation|Children's|Comedy"


def test_movielens_users_and_choice_of_encoding(samples, write):
    first = read_movielens(write("users.dat", samples.USERS), table="users")
    assert first.to_dict("list") == {
        "user": [1, 2],
        "gender": ["F", "M"],
        "age": [1, 56],
        "occupation": [10, 16],
        "zip": ["48067", "70072"],
    }
    second = read_movielens(write("u.user", samples.ITEM_USERS), table="users")
    assert second.occupation.tolist() == ["technician", "other"]
    path = write("movies.dat", "1::é::Drama\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"movies.dat:1: not utf-8"):
        read_movielens(path, table="movies", encoding="utf-8")
    with pytest.raises(ValueError, match="encoding='no' is not known"):
        read_movielens(path, table="movies", encoding="no")


def test_book_crossing(samples, write, tmp_path):
    for name in ["RATINGS", "BOOKS", "USERS"]:
        file = {"RATINGS": "Book-Ratings"}.get(name, name.title())
        write(f"deep/BX-{file}.csv", getattr(samples, f"BX_{name}"))
    ratings = read_book_crossing(tmp_path)
    assert ratings.item.tolist() == ["034545104X", "0155061224", '"04465;20802"']
    assert_array_equal(ratings.rating, [np.nan, 5, 10])
    assert ratings.implicit.tolist() == [True, False, False]
    books = read_book_crossing(tmp_path, table="books")
    assert books.title.tolist() == ['A "quoted"; title', "Erzählungen \\"]
    assert books.author.tolist() == ["J. Doe", "André"]
    assert books.publisher.tolist() == ["W. W. Norton & Company", "Lübbe"]
    assert books.year.isna().tolist() == [False, True]
    users = read_book_crossing(tmp_path, table="users")
    assert users.location.tolist() == ["nyc, é", "porto"]
    assert users.age.isna().tolist() == [True, False]


def test_a_joined_book_is_a_bad_row(samples, write):
    joined = samples.BX_BOOKS.replace(b'J. Doe";"2002', b'J. Doe\\";2002')
    path = write("BX-Books.csv", joined)
    with pytest.raises(ValueError, match=r"BX-Books.csv:2: 7 fields between ';', expected 8"):
        read_book_crossing(path, table="books")
    with pytest.warns(UserWarning, match="skipped 1 bad rows and kept 1"):
        assert len(read_book_crossing(path, table="books", on_bad_rows="skip")) == 1


def test_jester_in_all_forms(samples, write):
    expected = pd.DataFrame(
        [(1, 1, -7.82), (1, 3, 4.17), (2, 1, 0.5), (2, 2, -10.0), (2, 3, 10.0)],
        columns=["user", "item", "rating"],
    )
    sheet = samples.xls(samples.JOKES)
    forms = {
        "jester.csv": samples.JESTER,
        "semicolon.csv": samples.JESTER.replace(b",", b";"),
        "jester.xls": sheet,
        "jester.xlsx": samples.xlsx(samples.JOKES),
        "padded.xlsx": samples.xlsx([[*row, None, ""] for row in samples.JOKES] + [[None]]),
        "csv.zip": samples.zipped(jester_DOT_csv=samples.JESTER),
        "xls.zip": samples.zipped(a__jester_DOT_xls=sheet, a__readme_DOT_txt=b"x"),
        "xlsx.zip": samples.zipped(jester_DOT_xlsx=samples.xlsx(samples.JOKES)),
    }
    for name, content in forms.items():
        frame = read_jester(write(name, content))
        assert_frame_equal(frame, expected, obj=name)
        assert frame.attrs == {"skipped_rows": 0, "n_users": 3, "n_items": 3}


def test_letor(samples, write):
    data = read_letor(write("S1.txt", samples.LETOR))
    assert_array_equal(data.X, [[0.5, -0.001, 0, 1], [0, 0, 0.25, 0], [0, 0, 0, 0]])
    assert_array_equal(data.y, [2, 0, 1])
    assert data.y.dtype == np.int64
    assert_array_equal(data.qid, [10, 10, 7])
    assert data.names == ["1", "2", "3", "4"]
    assert data.comments == ["docid = A inc = 1", "docid = B", ""]
    packed = read_letor(write("S1.txt.gz", gzip.compress(samples.LETOR)), n_features=6)
    assert packed.X.shape == (3, 6)
    both = read_letor([write("a", samples.LETOR), write("b", b"1.5 qid:3 9:1\r\n")], sparse=True)
    assert both.X.shape == (4, 9)
    assert_array_equal(both.X.toarray()[:3, :4], data.X)
    assert_array_equal(both.y, [2, 0, 1, 1.5])
    assert read_letor(write("c", b"1 qid:3 9:1\n")).comments is None
    assert read_letor(write("d", b"1 qid:3\n0 qid:3\n")).X.shape == (2, 1)
    assert read_letor(write("e", "1 qid:3 1:2 # Café\n".encode())).comments == ["Café"]


def test_lightgbm_layout(write):
    text = b"2 1:0.5 3:1 # a\n\n0 2:.25\n# comment\n1\n3 1:1\n"
    path = write("rank.train", text)
    with pytest.raises(
        ValueError, match=r"rank\.train:1: no query: write qid:number .* into .*rank\.train\.query"
    ):
        read_letor(path)
    write("rank.train.query", b"3\r\n\r\n1\r\n")
    data = read_letor(path)
    assert_array_equal(data.X, [[0.5, 0, 1], [0, 0.25, 0], [0, 0, 0], [1, 0, 0]])
    assert_array_equal(data.y, [2, 0, 1, 3])
    assert_array_equal(data.qid, [1, 1, 1, 2])
    assert data.comments == ["a", "", "", ""]
    packed = read_letor(write("rank.train.gz", gzip.compress(text)))
    assert_array_equal(packed.qid, data.qid)
    assert_array_equal(read_letor([path, path]).qid, [1, 1, 1, 2, 3, 3, 3, 4])
    with pytest.raises(ValueError, match=r"rank.train: queries by their sizes, but .*S1 has qid"):
        read_letor([write("S1", b"1 qid:1 1:1\n"), path])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (b"3\n2\n", r"rank: 4 rows, but the sizes of the queries in its .query file add up to 5"),
        (b"3\n", r"rank: 4 rows, .* add up to 3"),
        (b"999999999999999\n4\n", r"rank: 4 rows, .* add up to 1000000000000003"),
        (b"3\n0\n1\n", r"rank\.query:2: size is 0, expected 1 or more"),
        (b"3\n1.5\n", r"rank\.query:2: size is '1.5'"),
        (b"3\n-1\n", r"rank\.query:2: size is '-1'"),
        (b"3 1\n", r"rank\.query:1: size is '3 1'"),
        (b"", r"rank\.query:1: the file is empty"),
    ],
)
def test_bad_sizes_of_queries(write, sizes, message):
    path = write("rank", b"1 1:1\n2 1:1\n3 1:1\n4 1:1\n")
    write("rank.query", sizes)
    with pytest.raises(ValueError, match=message):
        read_letor(path)


def test_a_skipped_row_keeps_the_queries_of_the_others(write):
    path = write("rank", b"1 1:1\n2 x\n3 1:3\n4 1:nan\n5 1:5\n")
    write("rank.query", b"2\n2\n1\n")
    with pytest.raises(ValueError, match=r"rank:2: 'x' is not of the form feature:value"):
        read_letor(path)
    with pytest.warns(UserWarning, match="skipped 2 bad rows and kept 3"):
        data = read_letor(path, on_bad_rows="skip")
    assert_array_equal(data.qid, [1, 2, 3])
    assert_array_equal(data.y, [1, 3, 5])


def test_features_from_zero(write):
    path = write("x", b"1 qid:1 0:5 2:1\n0 qid:1 1:7\n")
    with pytest.raises(ValueError, match=r"x:1: feature 0 .* pass zero_based=True"):
        read_letor(path)
    data = read_letor(path, zero_based=True)
    assert_array_equal(data.X, [[5, 0, 1], [0, 7, 0]])
    assert data.names == ["0", "1", "2"]
    assert read_letor(path, zero_based=True, n_features=3).X.shape == (2, 3)
    with pytest.raises(ValueError, match=r"x:1: feature 2 is beyond the largest, 1"):
        read_letor(path, zero_based=True, n_features=2)


def test_a_dense_matrix_has_a_limit(write):
    text = b"1 qid:1 10000:1\n" + b"1 qid:1\n" * 200_000
    path = write("bomb.gz", gzip.compress(text))
    assert path.stat().st_size < 5_000
    with pytest.raises(ValueError, match=r"bomb\.gz: a dense X would take 16,000,080,000 bytes"):
        read_letor(path)
    assert read_letor(path, sparse=True).X.shape == (200_001, 10_000)


def test_names_of_very_many_features_are_not_listed(write):
    data = read_letor(write("x", b"1 qid:1 2147483647:1\n"), sparse=True)
    assert data.X.shape == (1, 2**31 - 1)
    assert data.names is None


def test_letor_arguments(write):
    path = write("x", b"1 qid:1 20000:1\n")
    with pytest.raises(ValueError, match=r"x:1: feature 20000 .* pass sparse=True"):
        read_letor(path)
    assert read_letor(path, sparse=True).X.shape == (1, 20000)
    with pytest.raises(ValueError, match="n_features=0"):
        read_letor(path, n_features=0)
    with pytest.raises(ValueError, match="empty sequence"):
        read_letor([])
    with pytest.raises(ValueError, match=r"x:1: feature 20000 is beyond the largest, 7"):
        read_letor(path, n_features=7)


def test_preflib(samples, write):
    path = write("x.toi", samples.PREFLIB)
    orders = read_preflib(path)
    assert type(orders) is list
    assert orders[::3] == [["Esche", ("Föhre", "Ulme"), "Eiche: alt"], ["Ulme", "Esche"]]
    assert len(orders) == 6
    assert orders[0] is not orders[1]
    unique, counts = read_preflib(path, names=False, return_counts=True)
    assert unique == [[1, (2, 4), 3], [4, 1], [3]]
    assert_array_equal(counts, [3, 2, 1])
    crlf = write("y.toi", samples.PREFLIB.encode("latin-1").replace(b"\n", b"\r\n"))
    assert read_preflib(crlf) == orders


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2: 4,1", "2: 4,5", r":12: alternative 5 is not one of 1 to 4"),
        ("2: 4,1", "2: 4,0", r":12: alternative 0 is not"),
        ("2: 4,1", "2: 4,4", r":12: alternative 4 occurs twice"),
        ("2: 4,1", "2: 4,{1,4}", r":12: alternative 4 occurs twice"),
        ("2: 4,1", "-2: 4,1", r":12: '-2: 4,1' is not of the form"),
        ("2: 4,1", "0: 4,1", r":13: 4 in all, but NUMBER VOTERS is 6"),
        ("2: 4,1", "2: 4,,1", r":12: '' in '4,,1' is neither"),
        ("2: 4,1", "2: {4,1", r":12: '{4' in '{4,1' is neither"),
        ("2: 4,1", "2: {}", r":12: '{}' in '{}' is neither"),
        ("2: 4,1", "2: 4;1", r":12: '4;1' in '4;1' is neither"),
        ("2: 4,1", "3: 4,1", r":13: 7 in all, but NUMBER VOTERS is 6"),
        ("1: {3}\n", "", r":12: 5 in all, but NUMBER VOTERS is 6"),
        ("VOTERS: 6", "VOTERS: six", r":5: NUMBER VOTERS is 'six'"),
        ("TYPE: toi", "TYPE: toc", r":3: the header says 'toc'"),
        ("TYPE: toi", "TYPE: wmd", r":3: type 'wmd'"),
        ("ALTERNATIVES: 4", "ALTERNATIVES: 3", r":10: no alternative has the number"),
        ("ALTERNATIVES: 4", "ALTERNATIVES: 5", r":4: no name 5; pass names=False"),
        ("ALTERNATIVES: 4", "ALTERNATIVES: 0", r":7: no alternative has the number"),
        ("Ulme", "Esche", r":10: alternatives 1 and 4 are both 'Esche'"),
        ("# NUMBER ALT", "# NUMB ALT", r":1: no line '# NUMBER ALTERNATIVES"),
        ("# TITLE:", "# TITLE", r":2: header line .* is not of the form"),
    ],
)
def test_bad_elections(samples, write, old, new, message):
    assert old in samples.PREFLIB
    path = write("x.toi", samples.PREFLIB.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"x\.toi" + message):
        read_preflib(path)


@pytest.mark.parametrize(
    ("kind", "order", "message"),
    [("soc", "1: 1,2", "2 of 4"), ("toc", "1: {1,2}", "2 of 4"), ("soi", "1: {1,2}", "a tie in")],
)
def test_orders_fit_the_type(samples, write, kind, order, message):
    text = samples.PREFLIB[: samples.PREFLIB.index("3: 1,")].replace("toi", kind)
    text = text.replace("VOTERS: 6", "VOTERS: 1").replace("ORDERS: 3", "ORDERS: 1")
    with pytest.raises(ValueError, match=rf"x\.{kind}:11: {message}"):
        read_preflib(write(f"x.{kind}", text + order + "\n"))


def test_skipped_orders_are_counted(samples, write):
    path = write("x.toi", samples.PREFLIB.replace("2: 4,1", "2: 4,9"))
    with pytest.warns(UserWarning, match="skipped 1 bad orders and kept 2"):
        assert len(read_preflib(path, on_bad_rows="skip")) == 4
    many = samples.PREFLIB.replace("3: 1,", "300000000: 1,").replace(
        "VOTERS: 6", "VOTERS: 300000003"
    )
    with pytest.raises(ValueError, match="300000003 voters; pass return_counts=True"):
        read_preflib(write("x.toi", many))


def test_orders_of_no_voter_are_left_out(samples, write):
    # NUMBER UNIQUE ORDERS counts them, as in the Netflix files of PrefLib
    text = samples.PREFLIB.replace("ORDERS: 3", "ORDERS: 5") + "0: 2,1\n0: 1,{2,3}\n"
    orders, counts = read_preflib(write("x.toi", text), names=False, return_counts=True)
    assert orders == [[1, (2, 4), 3], [4, 1], [3]]
    assert_array_equal(counts, [3, 2, 1])
    assert read_preflib(write("x.toi", text)) == read_preflib(write("y.toi", samples.PREFLIB))
    with pytest.raises(ValueError, match=r"x\.toi:14: alternative 7 is not"):
        read_preflib(write("x.toi", text.replace("0: 2,1", "0: 2,7")))
    none = samples.PREFLIB[: samples.PREFLIB.index("3: 1,")] + "0: 2,1\n"
    with pytest.raises(ValueError, match=r"x\.toi:1: no orders in this file"):
        read_preflib(write("x.toi", none.replace("VOTERS: 6", "VOTERS: 0")))


def test_voters_that_would_fill_the_memory_are_refused(samples, write):
    text = samples.PREFLIB.replace("3: 1,", "20000000: 1,").replace("VOTERS: 6", "VOTERS: 20000003")
    path = write("x.toi", text)
    with pytest.raises(ValueError, match="20000003 voters; pass return_counts=True"):
        read_preflib(path)
    assert read_preflib(path, return_counts=True)[1].sum() == 20_000_003


@pytest.fixture
def collection(samples, write, tmp_path):
    write("cf74", samples.CF74)
    write("cf75", samples.CF75)
    write("cfquery", samples.CFQUERY)
    return tmp_path


def test_cystic_fibrosis(collection, samples, write):
    data = read_cystic_fibrosis(collection)
    assert data.documents.doc.tolist() == [1, 2, 168]
    assert data.documents.title[0] == "Infection in cystic fibrosis."
    assert data.documents.text.tolist() == [
        "Abstract of two lines with a stray one.",
        "An extract.",
        "",
    ]
    assert data.documents.subjects[0] == "A: b. C."
    assert data.queries["text"].tolist() == ["What are the effects?", "Why?"]
    assert data.judgements.to_numpy().tolist() == [
        [1, 1, 1, 2, 2, 2],
        [1, 168, 0, 0, 1, 1],
        [2, 2, 0, 0, 0, 1],
    ]
    packed = samples.zipped(
        cf__cf74=samples.CF74, cf__cf75=samples.CF75, cf__cfquery=samples.CFQUERY
    )
    again = read_cystic_fibrosis(write("cf.zip", packed))
    assert_frame_equal(again.judgements, data.judgements)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("cf74", b"RN 00001 ", b"RN 0000x", r"cf74:1: RN is '0000x'"),
        ("cf74", b"RN 00002\n", b"", r"cf74:14: a record without RN"),
        ("cf74", b"RN 00002", b"RN 00001", r"cf74:14: document 1 occurs twice"),
        ("cf74", b"TI Saliva", b"XI Saliva", r"cf74:16: 'XI Saliva.', expected one of the tags"),
        ("cf74", b"AU Hoi", b"TI Hoi", r"cf74:5: a second TI in one record"),
        ("cfquery", b"1222  168", b"1232  168", r"cfquery:1: RD is not made of"),
        ("cfquery", b"0011\n", b"001\n", r"cfquery:1: RD is not made of"),
        ("cfquery", b"NR 00002", b"NR 00003", r"cfquery:1: 2 judged documents, but NR is 3"),
        ("cfquery", b"168 0011", b"169 0011", r"cfquery:1: query 1: no document 169"),
        ("cfquery", b"168 0011", b"  1 0011", r"cfquery:1: query 1: a document is judged twice"),
        ("cfquery", b"QN 00002", b"QN 00001", r"cfquery:7: query 1 occurs twice"),
        ("cfquery", b"   effects", b"effects", r"cfquery:3: 'effects\? ', expected one of"),
    ],
)
def test_bad_records(collection, file, old, new, message):
    path = collection / file
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_cystic_fibrosis(collection)


def test_judgements_of_a_skipped_document_go_with_it(collection):
    path = collection / "cf74"
    path.write_bytes(path.read_bytes().replace(b"RN 00002", b"RN x"))
    with pytest.warns(UserWarning, match="skipped 1 bad records and kept 1"):
        data = read_cystic_fibrosis(collection, on_bad_rows="skip")
    assert data.documents.doc.tolist() == [1, 168]
    assert data.judgements.doc.tolist() == [1, 168]
    assert data.skipped_rows == 1


def test_tables_of_contests(samples, write):
    data = read_contests(write("arena.csv", samples.CONTESTS))
    assert data.first == ["cat", "cat", "eel"]
    assert data.second == ["dog, big", "eel", "cat"]
    assert data.outcome == [0.0, 0.5, 1.0]
    assert data.others == {"judge": ["1", "2", "1"]}
    for said, score in (("left", 1.0), ("RIGHT", 0.0), ("tie", 0.5), ("0.25", 0.25), ("b", 0.0)):
        data = read_contests(write("x.csv", f"left,right,winner\na,b,{said}\n"))
        assert data.outcome == [score]
    path = write("y.csv", "u,v,w\na,b,a\na,b,c\nb,b,a\n,b,a\nb,a,2\n")
    with pytest.raises(ValueError, match=r"y.csv:1: the columns are u, v, w: name that of the fir"):
        read_contests(path)
    names = {"first": "u", "second": "v", "outcome": "w"}
    with pytest.raises(ValueError, match=r"y.csv:3: the outcome is 'c'"):
        read_contests(path, **names)
    with pytest.warns(UserWarning, match="skipped 4 bad rows and kept 1"):
        data = read_contests(path, **names, on_bad_rows="skip")
    assert (data.outcome, data.skipped_rows) == ([1.0], 4)
    with pytest.raises(ValueError, match="three columns"):
        read_contests(path, first="u", second="u", outcome="w")
    with pytest.raises(ValueError, match="winners and losers needs a third column that is 1"):
        read_contests(write("z.csv", "winner,loser\na,b\n"))


@pytest.mark.parametrize(
    ("rows", "outcomes"),
    [
        # items are numbers, and outcomes 1 or 0: the 1 of the first row is no item
        (["5,1,1", "1,5,1", "0,5,0", "7,8,0", "0,1,0.5"], [1, 1, 0, 0, 0.5]),
        (["5,1,1", "7,8,0.25", "0,5,bad"], [1, 0.25]),
        # items are numbers, and outcomes are the winners
        (["5,1,1", "1,5,1", "0,5,0", "7,8,7", "0,1,tie"], [0, 1, 1, 1, 0.5]),
        (["1,0,0", "0,1,0"], [0, 1]),
        (["a,b,a", "b,a,a", "c,a,c"], [1, 0, 1]),
        (["b,a,a", "c,d,a", "c,d,b"], [1, 1, 0]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*skipped 1 bad row")
def test_outcomes_that_are_also_names_of_items(write, rows, outcomes):
    path = write("x.csv", "first,second,outcome\n" + "\n".join(rows) + "\n")
    assert read_contests(path, on_bad_rows="skip").outcome == outcomes


def test_ordinal_tables(samples, write):
    path = write("wine.csv", samples.ORDINAL)
    data = read_ordinal(path)
    assert_array_equal(data.X, [[7.4, 1.9], [11.2, 2]])
    assert_array_equal(data.y, [3, 5])
    assert read_ordinal(write("last.csv", b"a,b\n.5,1\n")).names == ["a"]
    with pytest.raises(ValueError, match=r"wine.csv:2: acid is 7.4, expected whole numbers"):
        read_ordinal(path, target="acid")
    with pytest.raises(ValueError, match=r"wine.csv:1: no column 'no'"):
        read_ordinal(path, target="no")
    with pytest.raises(ValueError, match=r"twice.csv:1: .* is not a header"):
        read_ordinal(write("twice.csv", b"a,a\n1,1\n"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1::2::5", r":4: 3 fields between '::', expected 4: user, item, rating, timestamp"),
        ("1::2::5::0::0", r":4: more than 4 fields"),
        ("1::2::nan::0", r":4: rating is 'nan', expected a number"),
        ("1::2::inf::0", r":4: rating is 'inf'"),
        ("1::2::::0", r":4: rating is ''"),
        ("1::2::6::0", r":4: rating is 6, expected half stars"),
        ("1::2::0::0", r":4: rating is 0, expected half stars"),
        ("1::2::3.7::0", r":4: rating is 3.7, expected half stars"),
        ("1::2::1e400::0", r":4: rating is '1e400', expected a number"),
        ("-1::2::5::0", r":4: user is '-1', expected 1 to 15 digits"),
        ("1::1234567890123456::5::0", r":4: item is '1234567890123456'"),
        ("1::2.5::5::0", r":4: item is '2.5'"),
        ("1;2;5;0", r":4: user is '1;2;5;0'"),
        ("1::2::5::\x00", r":4: a control character"),
    ],
)
def test_bad_ratings(samples, write, row, message):
    path = write("ratings.dat", samples.ratings() + f"{row}\n7::8::1::9\n".encode())
    with pytest.raises(ValueError, match=r"ratings\.dat" + message):
        read_movielens(path)
    with pytest.warns(UserWarning, match=r"skipped 1 bad rows and kept 4; .*" + message):
        frame = read_movielens(path, on_bad_rows="skip")
    assert frame.user.tolist() == [1, 1, 2, 7]
    assert frame.attrs["skipped_rows"] == 1


def test_blanks_around_a_cell_are_no_part_of_it(write):
    frame = read_movielens(write("ratings.dat", b"1:: 2::5 ::0 \n 7::8::1::9\n"))
    assert frame.to_numpy().tolist() == [[1, 2, 5, 0], [7, 8, 1, 9]]
    frame = read_book_crossing(write("BX-Book-Ratings.csv", b'"1";"2" ; "0"\r\n3; x;"5"\r\n'))
    assert frame.item.tolist() == ["2", "x"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b'"1";"2"', r":5: 2 fields between ';', expected 3"),
        (b'"1";"2";"11"', r":5: rating is 11, expected 0 to 10"),
        (b'"1";"2;"0"', r":5: item: text after the closing quote"),
        (b'"1";2"x;"0"', r":5: a quote in the middle of a field"),
        (b'"1";"2\\";"0"', r":5: item: text after the closing quote"),
        (b'"1";"\x01";"0"', r":5: a control character"),
        (b'"1;2;0', r":5: a quote that is never closed"),
    ],
)
def test_bad_books(samples, write, row, message):
    path = write("BX-Book-Ratings.csv", samples.BX_RATINGS + row + b"\r\n3;x;5\r\n")
    with pytest.raises(ValueError, match=r"BX-Book-Ratings\.csv" + message):
        read_book_crossing(path)
    with pytest.warns(UserWarning, match=message):
        frame = read_book_crossing(path, on_bad_rows="skip")
    assert frame.user.tolist() == [276725, 276726, 276727, 3]


def test_lines_are_counted_through_quoted_newlines(write):
    path = write("BX-Users.csv", b'"1";"a\nb\nc";NULL\n"x";"d";NULL\n')
    with pytest.raises(ValueError, match=r"BX-Users.csv:4: user is 'x'"):
        read_book_crossing(path, table="users")
    with pytest.warns(UserWarning, match="skipped 1"):
        frame = read_book_crossing(path, table="users", on_bad_rows="skip")
    assert frame.location.tolist() == ["a\nb\nc"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 5, 99], [2, 5, 11]], r":2: joke 2 is rated 11"),
        ([[1, 5, 99], [1, 5, 5]], r":2: 2 ratings, but the first column says 1"),
        ([[1, 5, 99], [1, 5]], r":2: 2 (fields|cells).* expected"),
        ([[1, 5, 99], [1, "x", 99]], r":2: (joke 1 is )?'x'"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_bad_jokes(samples, write, rows, message, form):
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    path = write(f"jester.{form}", text if form == "csv" else samples.xlsx(rows))
    with pytest.raises(ValueError, match=rf"jester\.{form}" + message):
        read_jester(path)
    with pytest.warns(UserWarning, match="skipped 1 bad rows and kept 1"):
        frame = read_jester(path, on_bad_rows="skip")
    assert frame.attrs["n_users"] == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"x qid:1 1:1", r":3: the grade is 'x'"),
        (b"1 1:1", r":3: after the grade comes '1:1'"),
        (b"1", r":3: after the grade comes the end"),
        (b"1 qid:-1", r":3: after the grade comes 'qid:-1'"),
        (b"1 qid:1 1", r":3: '1' is not of the form feature:value"),
        (b"1 qid:1 1:", r":3: '1:' is not"),
        (b"1 qid:1 1:nan", r":3: '1:nan' is not"),
        (b"1 qid:1 1:1e308", r":3: '1:1e308' is not"),
        (b"1e999 qid:1", r":3: the grade is '1e999'"),
        (b"1 qid:1 1:NULL", r":3: '1:NULL' is not"),
        (b"1 qid:1 0:1", r":3: feature 0 is out of order"),
        (b"1 qid:1 2:1 2:1", r":3: feature 2 is out of order"),
        (b"1 qid:1 3:1 2:1", r":3: feature 2 is out of order"),
        (b"1 qid:1 1:1:1", r":3: '1:1:1' is not"),
        (b"1 qid:1 1:1\x00", r":3: '1:1\\x00' is not"),
    ],
)
def test_bad_documents(write, row, message):
    path = write("S1.txt", b"\n1 qid:1 1:1\n" + row + b"\n2 qid:2 1:3\n")
    with pytest.raises(ValueError, match=r"S1\.txt" + message):
        read_letor(path)
    with pytest.warns(UserWarning, match=message):
        data = read_letor(path, on_bad_rows="skip")
    assert_array_equal(data.X, [[1], [3]])
    assert data.skipped_rows == 1


def test_duplicates_are_kept(write):
    frame = read_movielens(write("ratings.dat", b"1::2::3::4\n1::2::5::4\n"))
    assert frame.duplicated(["user", "item"]).tolist() == [False, True]


@pytest.mark.parametrize("separator", ["::", "\t", ",", ";", "|"])
@pytest.mark.parametrize("head", ["", "user{0}item{0}rating{0}time\n", "a{0}b{0}c{0}d\n"])
def test_ratings_in_all_forms(write, separator, head):
    text = head + "1{0}0114508{0}8{0}1381006850\n-2{0}7{0}0{0}1381006851\n"
    frame = read_ratings(write("x", text.format(separator)))
    expected = {
        "user": [1, -2],
        "item": ["0114508", "7"],
        "rating": [8.0, 0.0],
        "timestamp": [1381006850, 1381006851],
    }
    assert frame.to_dict("list") == expected
    assert frame.attrs == {"skipped_rows": 0}
    assert_frame_equal(read_ratings(write("x", text.format(separator)), separator=separator), frame)


@pytest.mark.parametrize("head", ["", "user;item;rating\n"])
def test_ratings_with_a_decimal_comma(write, head):
    path = write("r.csv", head + 'ann;tea;4,5\n"bob";"a; b";"-3"\n\n007;tea;1,25\n')
    frame = read_ratings(path, scale=(-5, 5))
    assert frame["rating"].tolist() == [4.5, -3, 1.25]
    assert frame["user"].tolist() == ["ann", "bob", "007"]
    path = write("bad.csv", head + "ann;tea;4,5\nbob;tea;4.5,\neve;tea; 3,5\n")
    line = 2 + bool(head)
    with pytest.raises(ValueError, match=rf"bad\.csv:{line}: rating is '4\.5,', expected a number"):
        read_ratings(path)
    with pytest.warns(UserWarning, match="skipped 1 bad rows and kept 2"):
        assert read_ratings(path, on_bad_rows="skip")["rating"].tolist() == [4.5, 3.5]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["1", "-5", "0"], [1, -5, 0]),
        (["1", "2", "x"], ["1", "2", "x"]),
        (["1", "02", "2"], ["1", "02", "2"]),
        (["1", "-0", "0"], ["1", "-0", "0"]),
        (["1", "+1", "2"], ["1", "+1", "2"]),
        (["1", "1.0", "2"], ["1", "1.0", "2"]),
        (["9" * 15, "1", "2"], [10**15 - 1, 1, 2]),
        (["1", "9223372036854775808", "2"], ["1", "9223372036854775808", "2"]),
        (["é", "1", "2"], ["é", "1", "2"]),
    ],
)
def test_ids_are_whole_numbers_or_text(write, ids, expected):
    rows = "".join(f"{user},a b,{i}.5\n" for i, user in enumerate(ids))
    for text in [rows, rows.replace(",a b,", ',"a b",'), rows.replace("\n", "\r\n")]:
        frame = read_ratings(write("x.csv", text), header=False)
        assert frame.user.tolist() == expected
        assert frame.item.tolist() == ["a b"] * 3
    with pytest.warns(UserWarning, match="skipped 1 bad rows and kept 3"):
        frame = read_ratings(
            write("x.csv", "9,bad\n" + rows), columns=["user", "item", "rating"], separator=",",
            header=False, on_bad_rows="skip",
        )  # fmt: skip
    assert frame.user.tolist() == expected


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1::2", r":3: 2 fields between '::', expected 3: user, item, rating"),
        ("1::2::3::4", r":3: more than 3 fields"),
        ("1::2::nan", r":3: rating is 'nan', expected a number"),
        ("1::2::-inf", r":3: rating is '-inf', expected a number"),
        ("1::2::1e999", r":3: rating is '1e999', expected a number"),
        ("1::2::", r":3: rating is '', expected a number"),
        ("1::2::11", r":3: rating is 11, expected 0 to 10"),
        ("1::2::-0.5", r":3: rating is -0.5, expected 0 to 10"),
        ("::2::5", r":3: user is empty"),
        ("1::::5", r":3: item is empty"),
        ("1::\x00::5", r":3: a control character"),
    ],
)
def test_bad_ratings_of_any_scale(write, row, message):
    path = write("x.dat", f"1::2::10\n1::3::0\n{row}\n2::4::2.5\n")
    with pytest.raises(ValueError, match=r"x\.dat" + message):
        read_ratings(path, scale=(0, 10))
    with pytest.warns(UserWarning, match=message):
        frame = read_ratings(path, scale=(0, 10), on_bad_rows="skip")
    assert frame.rating.tolist() == [10, 0, 2.5]
    assert frame.attrs["skipped_rows"] == 1
    assert frame.index.tolist() == [0, 1, 2]


def test_columns_of_ratings_in_any_order(write):
    path = write("x", "2.5;ann;b;Mon;tea\n-1e3;bob;c;Tue;milk\n")
    frame = read_ratings(path, columns=["rating", "user", "x", "day", "item"])
    assert frame.to_dict("list") == {
        "user": ["ann", "bob"],
        "item": ["tea", "milk"],
        "rating": [2.5, -1000],
        "x": ["b", "c"],
        "day": ["Mon", "Tue"],
    }


@pytest.mark.parametrize(
    ("head", "header", "n_rows"),
    [
        ("user,item,rating", None, 1),
        ('"a, b","c","rating"', None, 1),
        ("user,item,rating", True, 1),
        ("7,8,9", True, 1),
        ("7,8,9", None, 2),
        ("7,8,9", False, 2),
    ],
)
def test_headers_of_ratings(write, head, header, n_rows):
    assert len(read_ratings(write("x", f"\n{head}\n1,2,3\n"), header=header)) == n_rows


def test_a_header_in_another_order_is_not_guessed(write):
    path = write("x.csv", "movieId,userId,rating\n7,1,3\n")
    with pytest.raises(ValueError, match=r"x\.csv:1: the header is 'movieId, .*: pass columns"):
        read_ratings(path)
    frame = read_ratings(path, columns=("item", "user", "rating"))
    assert frame.user.tolist() == [1]
    with pytest.raises(ValueError, match=r"x\.csv:1: rating is 'nan'"):
        read_ratings(write("x.csv", "ann,tea,nan\nbob,tea,1\n"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["user", "item"]}, "columns=.* must have user, item and rating"),
        ({"columns": "user"}, "columns='user' must have user"),
        ({"columns": ["user", "item", "rating", "item"]}, "columns=.* each once"),
        ({"columns": ["user", "item", "rating", 4]}, "columns=.* must be names"),
        ({"separator": ""}, "separator='' is invalid: expected one character"),
        ({"separator": ":;"}, "separator=':;' is invalid"),
        ({"separator": "é"}, "separator='é' is invalid"),
        ({"separator": "1"}, "separator='1' is invalid"),
        ({"separator": "\n"}, "separator='.n' is invalid"),
        ({"separator": ";"}, r"x:1: '1,2,3' has not 3 or 4 fields between any of ';'"),
        ({"columns": ["user", "item", "rating", "a", "b"]}, "x:1: '1,2,3' has not 5 fields"),
        ({"scale": 5}, "scale=5 must be two numbers"),
        ({"scale": (5, 1)}, "the lower one first"),
        ({"scale": (0, float("nan"))}, "two finite numbers"),
        ({"encoding": "no"}, "encoding='no' is not known"),
        ({"encoding": "\0"}, "is not known to Python"),
    ],
)
def test_options_of_ratings(write, options, message):
    with pytest.raises(ValueError, match=message):
        read_ratings(write("x", "1,2,3\n"), **options)


READERS = {
    "movielens": read_movielens,
    "ratings": read_ratings,
    "book_crossing": read_book_crossing,
    "jester": read_jester,
    "letor": read_letor,
    "preflib": read_preflib,
    "cystic_fibrosis": read_cystic_fibrosis,
    "ordinal": read_ordinal,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("mode", ["raise", "skip"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\r\n \n",
        b"\x00\x01\x02" * 100,
        b"PK\x03\x04" + b"\x00" * 50,
        b"\x1f\x8b" + b"\x00" * 50,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 600,
        b"\xff\xfe1\x00\n\x00",
        b"x\n",
    ],
    ids=["empty", "blank", "binary", "zip", "gzip", "ole", "utf-16", "text"],
)
def test_what_is_no_data_is_refused(write, reader, mode, content):
    path = write("some.csv", content)
    with pytest.raises(ValueError, match=r"some\.csv:1: ") as caught:
        reader(path, on_bad_rows=mode)
    assert type(caught.value) is ValueError


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_folder_or_archive_without_data_is_refused(samples, write, tmp_path, reader):
    with pytest.raises(ValueError, match=str(tmp_path)):
        reader(tmp_path)
    with pytest.raises(ValueError, match=r"empty\.zip"):
        reader(write("empty.zip", samples.zipped()))
    with pytest.raises(FileNotFoundError):
        reader(tmp_path / "absent")


def test_an_archive_must_not_be_ambiguous(samples, write, tmp_path):
    two = samples.zipped(a__ratings_DOT_dat=b"1::1::1::1\n", b__ratings_DOT_csv=b"1,1,1,1\n")
    with pytest.raises(ValueError, match=r"several files could be meant.*a/ratings.dat, b/ratings"):
        read_movielens(write("two.zip", two))
    (tmp_path / "ml" / "x").mkdir(parents=True)
    write("ml/u.data", b"1\t1\t1\t1\n")
    write("ml/x/ratings.csv", b"1,1,1,1\n")
    with pytest.raises(ValueError, match=r"several files could be meant, .*u.data, x/ratings.csv"):
        read_movielens(tmp_path / "ml")


def test_a_last_line_without_newline_warns(write):
    path = write("ratings.dat", b"1::2::3::4\n1::3::5::97")
    with pytest.warns(UserWarning, match=r"ratings.dat: no newline at the end; .* cut"):
        assert len(read_movielens(path)) == 2


def test_warnings_point_at_the_caller(write):
    path = write("ratings.dat", b"1::2::3::4\n1::3::5::97")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_movielens(path)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_unknown_options_are_refused(samples, collection, write, reader):
    for name, content in {
        "ratings.dat": samples.ratings(),
        "BX-Book-Ratings.csv": samples.BX_RATINGS,
        "jester.csv": samples.JESTER,
    }.items():
        write(name, content)
    single = {
        read_letor: samples.LETOR,
        read_preflib: samples.PREFLIB,
        read_ordinal: samples.ORDINAL,
        read_ratings: samples.ratings(),
    }
    path = write("one.toi", single[reader]) if reader in single else collection
    with pytest.raises(ValueError, match="on_bad_rows='drop' must be 'raise' or 'skip'"):
        reader(path, on_bad_rows="drop")
    if reader in {read_movielens, read_book_crossing}:
        with pytest.raises(ValueError, match="table='genome' must be 'ratings', "):
            reader(path, table="genome")


def test_hard_numbers_are_pythons(write):
    numbers = ["0.1", "1e22", "1e23", "123456789012345678", "9007199254740993", "1e-320"]
    numbers += [".1e-5", "5.", "1e-400", "-0", "0e999", "9.99e307", "0.000001e313"]
    # past 2^53, and wrong if divided by a power of ten after rounding
    numbers += ["91399620.84340797", "944608837.2433843", "986.5452293525111"]
    numbers += ["0." + "1" * 30, "1" * 30, "7.8200000000000003", "-7.82", "+5e-04"]
    line = " ".join(f"{j}:{number}" for j, number in enumerate(numbers, 1))
    X = read_letor(write("x", f"1e0 qid:1 {line}\n" * 3)).X
    assert_array_equal(X, [[float(number) for number in numbers]] * 3)
    table = read_ordinal(
        write("y", f"response,{line.replace(' ', ',')}\n" + f"1,{','.join(numbers)}\n" * 3)
    )
    assert_array_equal(table.X, X)
    assert np.signbit(table.X[0, numbers.index("-0")])


@pytest.mark.parametrize("value", [np.ones((2, 2)), pd.NA, 1 + 2j, [], "yes"])
def test_odd_options_are_named(samples, write, value):
    letor, ratings = write("one.txt", samples.LETOR), write("ratings.dat", samples.ratings())
    preflib, ordinal = write("one.toi", samples.PREFLIB), write("one.csv", samples.ORDINAL)
    calls = [(read_letor, letor, name) for name in ("n_features", "sparse", "zero_based")]
    calls += [(read_preflib, preflib, name) for name in ("names", "return_counts")]
    calls += [(read_ratings, ratings, name) for name in ("header", "encoding")]
    calls += [(read_movielens, ratings, name) for name in ("table", "encoding", "on_bad_rows")]
    calls += [(read_ordinal, ordinal, "target")] if not isinstance(value, str) else []
    for read, path, name in calls:
        with pytest.raises(ValueError, match=rf"^{name}="):
            read(path, **{name: value})
