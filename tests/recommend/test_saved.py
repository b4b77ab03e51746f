"""Models of tables on disk."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import rankwise
from rankwise.recommend import RatingTable, TasteModel

RANDOM = np.random.default_rng(0)
LIKES = RANDOM.normal(size=(60, 2)) @ RANDOM.normal(size=(2, 20))
USERS, ITEMS = np.nonzero(RANDOM.random(LIKES.shape) < 0.4)
RATINGS = np.clip(np.rint(3 + LIKES[USERS, ITEMS]), 1, 5)
NAMES = np.array([f"film {k}" for k in range(20)], dtype=object)
TABLES = {
    "names": RatingTable.from_arrays(USERS, NAMES[ITEMS], RATINGS),
    "times": RatingTable.from_arrays(USERS, ITEMS, RATINGS, times=np.arange(len(USERS))),
    "no ratings": RatingTable.from_arrays(USERS, ITEMS),
}


@pytest.fixture
def again(tmp_path):
    """Save and load a model."""

    def run(model):
        rankwise.save(model, tmp_path / "model")
        return rankwise.load(tmp_path / "model")

    return run


@pytest.mark.parametrize("rank", [None, 4])
@pytest.mark.parametrize("choice", [True, False])
@pytest.mark.parametrize("name", TABLES)
def test_a_loaded_model_is_the_same(again, name, choice, rank):
    table = TABLES[name]
    model = TasteModel(rank=rank, choice=choice).fit(table)
    loaded = again(model)
    assert loaded.get_params() == model.get_params()
    assert vars(loaded).keys() == vars(model).keys()
    assert repr(loaded.table_) == repr(table)
    assert (loaded.table_.matrix != table.matrix).nnz == 0
    assert loaded.table_.items.tolist() == table.items.tolist()
    if table.has_ratings:
        asked = table.users[[0, 0, 5, 9]], table.items[[3, 1, 2, 8]]
        assert np.array_equal(loaded.predict(*asked), model.predict(*asked))
        assert loaded.partial_fit(table).evaluate(table) == model.partial_fit(table).evaluate(table)
    for user in (None, table.users[3]):
        by = "rating" if table.has_ratings else "choice"
        lists = [one.person(user).ranking(5, by=by) for one in (model, loaded)]
        assert np.array_equal(lists[0].order, lists[1].order)
    clone(loaded).fit(loaded.table_)


def test_an_unfitted_model_is_saved(again):
    assert again(TasteModel(rank=7)).get_params() == TasteModel(rank=7).get_params()


def altered(table, **parts):
    """Return a table whose parts were changed."""
    fields = {**table.__getstate__(), **parts}
    other = object.__new__(RatingTable)
    other.__setstate__(fields)
    return other


def matrix_with(table, **parts):
    """Return the matrix of a table with another array, unchecked."""
    matrix = table.matrix.copy()
    for name, array in parts.items():
        setattr(matrix, name, array)
    return matrix


def swapped(array, i, j):
    array = array.copy()
    array[[i, j]] = array[[j, i]]
    return array


def set_to(array, place, value):
    array = array.copy()
    array[place] = value
    return array


X = TABLES["times"].matrix


@pytest.mark.parametrize(
    "parts",
    [
        {"matrix": matrix_with(TABLES["times"], indices=set_to(X.indices, 5, 20))},
        {"matrix": matrix_with(TABLES["times"], indices=set_to(X.indices, 5, -1))},
        {"matrix": matrix_with(TABLES["times"], indices=swapped(X.indices, 0, 1))},
        {"matrix": matrix_with(TABLES["times"], indptr=set_to(X.indptr, 3, 10**6))},
        {"matrix": matrix_with(TABLES["times"], indptr=set_to(X.indptr, -1, 4))},
        {"matrix": matrix_with(TABLES["times"], data=set_to(X.data, 2, np.nan))},
        {"matrix": sparse.csr_array(X[:, :10])},
        {"times": np.arange(3.0)},
    ],
)
def test_a_forged_table_is_refused(again, parts):
    model = TasteModel().fit(TABLES["times"])
    model.table_ = altered(model.table_, **parts)
    with pytest.raises(ValueError, match=r"RatingTable|CSR|sparse|index"):
        again(model)


def test_a_forged_model_is_refused(again):
    model = TasteModel().fit(TABLES["times"])
    model.taste_ = replace(model.taste_, means=model.taste_.means[:-1])
    with pytest.raises(ValueError, match="different sizes"):
        again(model)
