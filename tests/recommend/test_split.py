"""Splits of a table, and what it is said to hold."""

import numpy as np
import pytest

from rankwise.recommend import RatingTable


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    users, items = np.nonzero(random.random((20, 15)) < 0.4)
    mixed = random.permutation(len(users))
    ratings = random.integers(1, 6, len(users))
    times = random.integers(0, 30, len(users))
    return RatingTable.from_arrays(users[mixed], items[mixed], ratings, times=times)


def listed(table):
    m = table.matrix.tocoo()
    return sorted(zip(m.row, m.col, m.data, table.times, strict=True))


@pytest.mark.parametrize("by", ["rating", "user", "time"])
@pytest.mark.parametrize("test_size", [0.2, 0.5, 3])
def test_two_tables_of_one_index(table, by, test_size):
    train, test = table.split(test_size, by=by, random_state=3)
    for part in (train, test):
        assert part.users is table.users
        assert part.items is table.items
        assert part.scale == table.scale
        assert part.matrix.shape == table.matrix.shape
        assert not part.matrix.data.flags.writeable
    assert sorted(listed(train) + listed(test)) == listed(table)
    people = [set(np.flatnonzero(np.diff(part.matrix.indptr))) for part in (train, test)]
    n = len(people[0] | people[1]) if by == "user" else table.n_ratings
    wanted = test_size if isinstance(test_size, int) else int(np.ceil(test_size * n))
    assert (len(people[1]) if by == "user" else test.n_ratings) == wanted
    if by == "user":
        assert not people[0] & people[1]
    if by == "time":
        assert train.times.max() <= test.times.min()


def test_a_seed_is_the_permutation_that_is_promised(table):
    _, test = table.split(0.25, random_state=7)
    order = np.random.default_rng(7).permutation(table.n_ratings)
    last = np.sort(order[-test.n_ratings :])
    assert test.matrix.data.tolist() == table.matrix.data[last].tolist()
    again = table.split(0.25, random_state=np.random.default_rng(7))[1]
    assert listed(again) == listed(test)
    old = table.split(0.25, random_state=np.random.RandomState(7))[1]
    assert listed(old) != listed(test)


def test_a_part_can_be_split_again(table):
    train, _ = table.split(0.3, by="user", random_state=0)
    one, two = train.split(0.5, by="user", random_state=0)
    assert one.n_ratings + two.n_ratings == train.n_ratings


BAD = {
    "share": ({"test_size": 1.5}, "test_size=1.5 must be a share"),
    "flag": ({"test_size": True}, "test_size=True must be a share"),
    "word": ({"test_size": "half"}, "test_size='half' must be a share"),
    "none": ({"test_size": 0}, "test_size=0 takes 0 of"),
    "all": ({"test_size": 10**6}, "leave some in both"),
    "by": ({"by": "item"}, "by='item' must be"),
    "seed": ({"random_state": -1}, "random_state=-1 must be"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_splits_are_named(table, arguments, message):
    with pytest.raises(ValueError, match=message):
        table.split(**arguments)


def test_no_time_or_one_time():
    timeless = RatingTable.from_arrays([1, 2], [1, 1], [3, 4])
    with pytest.raises(ValueError, match="by='time' needs times"):
        timeless.split(0.5, by="time")
    once = RatingTable.from_arrays([1, 2], [1, 1], [3, 4], times=[5, 5])
    with pytest.raises(ValueError, match="all are 5"):
        once.split(0.5, by="time")
    with pytest.raises(ValueError, match="has 1 ratings"):
        RatingTable.from_arrays([1], [1], [3]).split()
    alone = RatingTable.from_arrays([1, 1], [1, 2], [3, 4])
    with pytest.raises(ValueError, match="has 1 people"):
        alone.split(by="user")


def test_describe(table):
    summary = table.describe()
    dense = table.matrix.toarray()
    n = (dense > 0).sum(axis=1)
    assert summary.n_ratings == (dense > 0).sum()
    assert summary.density == pytest.approx((dense > 0).mean())
    assert summary.mean == pytest.approx(dense[dense > 0].mean())
    assert summary.per_user == tuple(np.quantile(n, [0, 0.25, 0.5, 0.75, 1]))
    several = [len(set(row[row > 0])) > 1 for row in dense]
    assert summary.n_learnable == sum(several)
    assert str(summary).startswith("20 users, 15 items")


def test_describe_constant_and_silent_people():
    table = RatingTable.from_arrays([1, 1, 2, 2, 3], [1, 2, 1, 2, 1], [3, 3, 1, 2, 4])
    summary = table.describe()
    assert (summary.n_constant, summary.n_silent, summary.n_learnable) == (1, 0, 1)
    rest, _ = table.split(1, by="user", random_state=0)
    assert rest.describe().n_silent == 1
    taken = RatingTable.from_arrays([1, 1, 2], [1, 2, 1]).describe()
    assert (taken.n_constant, taken.n_learnable) == (0, 1)
    assert "taken, not graded" in str(taken)
