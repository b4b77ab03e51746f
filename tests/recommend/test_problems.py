"""The papers' personal problem, against a literal loop over all options."""

import numpy as np
import pytest

from rankwise.recommend import RatingTable


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    rated = random.random((9, 12)) < 0.5
    rated[3] = False  # nobody that anything is known of
    rated[4, :2] = True
    users, items = np.nonzero(rated)
    ratings = random.integers(0, 6, len(users)) / 1.0
    ratings[users == 4] = 2.0  # one who gives the same to all
    whole = RatingTable.from_arrays(
        np.append(users, 3), np.append(items, 0), np.append(ratings, 1), scale=(0, 5)
    )
    keep = np.repeat(np.arange(9) != 3, np.diff(whole.matrix.indptr))
    return whole._entries(keep)


def literal(table, user, items, raters, missing, center):
    """Fill the columns one entry at a time."""
    given = {}
    for u in range(table.n_users):
        row = table.matrix[[u]]
        given[table.users[u]] = dict(zip(table.items[row.indices], row.data, strict=True))
    low, high = table.scale
    X = np.empty((len(items), len(raters)))
    for c, rater in enumerate(raters):
        assert rater != user
        own = list(given[rater].values()) or [(low + high) / 2]
        shift = {"scale": (low + high) / 2, "user": np.mean(own), None: 0.0}[center]
        fill = {"median": np.median(own) - shift, "mean": np.mean(own) - shift}
        fill |= {"zero": 0.0, "nan": np.nan}
        for r, item in enumerate(items):
            X[r, c] = given[rater][item] - shift if item in given[rater] else fill[missing]
    return X


@pytest.mark.parametrize("missing", ["median", "mean", "zero", "nan"])
@pytest.mark.parametrize("center", ["scale", "user", None])
def test_problem_and_features_by_a_loop(table, missing, center):
    options = {"missing": missing, "center": center}
    others = [u for u in range(9) if u not in (1, 3)]
    X, y, items = table.problem_for(1, **options)
    row = table.matrix[[1]]
    assert items.tolist() == table.items[row.indices].tolist()
    assert y.tolist() == row.data.tolist()
    np.testing.assert_allclose(X, literal(table, 1, items, others, missing, center), atol=1e-12)
    unseen, left = table.features_for(1, **options)
    assert sorted([*items, *left]) == table.items.tolist()
    expected = literal(table, 1, left, others, missing, center)
    np.testing.assert_allclose(unseen, expected, atol=1e-12)
    named, again = table.features_for(1, [5, 0, 5], raters=[8, 3, 1, 4], **options)
    assert again.tolist() == [5, 0, 5]
    expected = literal(table, 1, [5, 0, 5], [8, 3, 4], missing, center)
    np.testing.assert_allclose(named, expected, atol=1e-12)
    stranger, _ = table.features_for(None, [2], **options)
    expected = literal(table, None, [2], [*range(3), *range(4, 9)], missing, center)
    np.testing.assert_allclose(stranger, expected, atol=1e-12)


@pytest.mark.parametrize("n", [1, 3, 7, 99])
def test_raters_who_share_most_items(table, n):
    own = set(table.matrix[[1]].indices)
    shared = [-len(own & set(table.matrix[[u]].indices)) for u in range(9)]
    order = [u for u in np.argsort(shared, kind="stable") if u not in (1, 3)]
    X, _, items = table.problem_for(1, raters=n, missing="nan")
    expected = literal(table, 1, items, sorted(order[:n]), "nan", None)
    np.testing.assert_array_equal(X, expected)
    counts = -np.diff(table.matrix.indptr)
    best = sorted(u for u in np.argsort(counts, kind="stable")[:n] if u != 3)
    X, _ = table.features_for(None, [0, 1], raters=n, missing="nan")
    np.testing.assert_array_equal(X, literal(table, None, [0, 1], best, "nan", None))


def test_own_ratings_never_enter(table):
    X, y, items = table.problem_for(1, missing="nan")
    m = table.matrix.tocoo()
    turned = np.where(m.row == 1, 5 - m.data, m.data)
    other = RatingTable.from_arrays(table.users[m.row], table.items[m.col], turned, scale=(0, 5))
    X2, y2, items2 = other.problem_for(1, missing="nan")
    np.testing.assert_array_equal(X, X2)
    assert items2.tolist() == items.tolist()
    assert (y2 == 5 - y).all()


BAD = {
    "stranger": ({"user": 77}, "user holds 77, which the table does not have"),
    "list": ({"user": [1]}, r"user=\[1\] must be one of the ids"),
    "silent": ({"user": 3}, "user=3 has no ratings"),
    "missing": ({"user": 1, "missing": "mode"}, "missing='mode' must be 'median'"),
    "center": ({"user": 1, "center": "item"}, "center='item' must be 'scale', 'user' or None"),
    "nobody": ({"user": 1, "raters": [1]}, "nobody but the person"),
    "zero": ({"user": 1, "raters": 0}, "raters=0 must be 1 or more"),
    "twice": ({"user": 1, "raters": [2, 4, 2]}, "raters names 2 twice"),
    "unknown": ({"user": 1, "raters": [2, "x"]}, "raters holds 'x'"),
    "flag": ({"user": 1, "raters": True}, "raters=True is invalid: expected a list of ids"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_options_are_named(table, arguments, message):
    with pytest.raises(ValueError, match=message):
        table.problem_for(**arguments)


def test_no_ratings_no_problem():
    taken = RatingTable.from_arrays([1, 1, 2], [1, 2, 2])
    with pytest.raises(ValueError, match="problem_for needs ratings"):
        taken.problem_for(1)
    with pytest.raises(ValueError, match="features_for needs ratings"):
        taken.features_for(1)


def test_one_person_and_one_item():
    alone = RatingTable.from_arrays([1, 1], [1, 2], [3, 4])
    with pytest.raises(ValueError, match="nobody but the person"):
        alone.problem_for(1)
    one = RatingTable.from_arrays([1, 2], [1, 1], [3, 4])
    X, y, _ = one.problem_for(1)
    assert (X.tolist(), y.tolist()) == ([[4]], [3])
    assert one.features_for(1)[0].shape == (0, 1)
