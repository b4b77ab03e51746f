"""A table that holds words, NaN or infinity is refused with the place and what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.ordinal import PRank, ThresholdRanker
from rankwise.pairwise import RankSVM
from rankwise.preference import PreferenceRanker

SIZES, CITIES = [1.0, 2.0, 3.0, 4.0], ["1", "2", "Lima", "Oslo"]
GRADES = [1, 2, 1, 2]
MODELS = [MPRank(), RankSVM(), RankBoost(2), PRank(), ThresholdRanker(), PreferenceRanker()]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return request.param


@pytest.mark.parametrize(
    ("make", "column"),
    [
        (pd.DataFrame, "'city'"),
        (pl.DataFrame, "'city'"),
        (lambda table: pd.DataFrame(table).astype({"city": "category"}), "'city'"),
        (lambda table: list(zip(*table.values(), strict=True)), "1"),
    ],
)
def test_words_in_a_column(model, make, column):
    table = make({"size": SIZES, "city": CITIES})
    with pytest.raises(ValueError, match=f"X holds words, 'Lima' in row 2, column {column}: make"):
        model.fit(table, GRADES)


@pytest.mark.parametrize("model", MODELS[:3], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_words_for_ratings(model, kind):
    with pytest.raises(ValueError, match=r"y holds words, 'low' in row 0: give numbers"):
        model.fit(np.c_[SIZES], kind(["low", "high", "low", "high"]))
    ordered = pd.Categorical(["low", "high", "low", "high"], ["low", "high"], ordered=True)
    assert model.fit(np.c_[SIZES], ordered).predict(np.c_[SIZES]).shape == (4,)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars", "object", "csr"])
def test_what_is_not_finite(model, value, name, kind):
    table = np.c_[SIZES, SIZES]
    table[3, 1] = value
    X, column = table, "1"
    if kind == "pandas":
        X, column = pd.DataFrame(table, columns=["size", "rooms"]), "'rooms'"
    elif kind == "polars":
        X, column = pl.DataFrame(table, schema=["size", "rooms"]), "'rooms'"
    elif kind == "object":
        X = table.astype(object)
        X[3, 1] = None if name == "NaN" else value
    elif kind == "csr":
        X = csr_array(table)
    if isinstance(model, PRank):  # looks at the scores of the rows, once names are gone
        column = "1"
    if isinstance(model, RankBoost) and name == "NaN":
        assert model.fit(X, GRADES).n_features_in_ == 2
        return
    with pytest.raises(ValueError, match=rf"Input X contains {name} \(row 3, column {column}\): "):
        model.fit(X, GRADES)


def test_missing_integers():
    table = pd.DataFrame({"rooms": pd.array([1, None, 3, 4], dtype="Int64")})
    with pytest.raises(ValueError, match=r"NaN \(row 1, column 'rooms'\)"):
        RankSVM().fit(table, GRADES)


def test_numbers_written_as_text_are_numbers():
    table = pd.DataFrame({"size": ["1", "2", "3", "4"]}, dtype=object)
    assert RankSVM().fit(table, GRADES).n_features_in_ == 1


@pytest.mark.parametrize("X", ["\x00", "words", ["a", "b"], [["a", 1.0], ["b"]], np.array("a")])
def test_what_is_no_table_is_refused_by_scikit_learn(X):
    with pytest.raises(ValueError, match=r".") as caught:
        RankSVM().fit(X, [1, 2])
    assert "holds words" not in str(caught.value)
