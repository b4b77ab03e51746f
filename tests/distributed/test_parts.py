"""Parts of any kind answer alike: functions of parts, trees of them, chains, and what is kept."""

import numpy as np
import pytest

from rankwise.distributed import _partitions, fit
from rankwise.distributed._partitions import FAN_IN, as_partitions, n_bytes
from rankwise.magnitude import MPRank


def joined(one, other):
    return one + other


@pytest.mark.parametrize(
    "n", [1, 2, FAN_IN, FAN_IN + 1, FAN_IN**2 - 1, FAN_IN**2, 2 * FAN_IN**2 + 3]
)
def test_neighbours_are_merged_in_order_in_a_tree(n, monkeypatch):
    da, sizes, merge = pytest.importorskip("dask.array"), [], _partitions.merge_pairs

    def counted(combine, pairs):
        sizes.append(len(pairs))
        return merge(combine, pairs)

    monkeypatch.setattr(_partitions, "merge_pairs", counted)
    X = np.zeros((2 * n, 3))
    parts = as_partitions(da.from_array(X, chunks=(2, 3)), X[:, 0])
    assert parts.reduce(words, joined) == [f"{part}:2" for part in range(n)]
    assert max(sizes, default=1) <= FAN_IN


def words(block):
    return [f"{block.part}:{len(block.y)}"]


def chain(block, state, mark):
    return [*state, f"{mark}{block.part}"]


def total(block, one, by):
    return float(block.X.sum() + one * by)


def sizes(block):
    return block.X.shape, block.names


class Doubled:
    """A transformer that needs no rows."""

    def transform(self, X):
        return np.hstack([2 * X, X])


@pytest.fixture(params=["machine", "dask"])
def parts(request, monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 3))
    if request.param == "machine":
        monkeypatch.setattr(_partitions, "_LARGEST_BLOCK", 8 * 3 * 10)
        return X, as_partitions(X, X[:, 0])
    da = pytest.importorskip("dask.array")
    return X, as_partitions(da.from_array(X, chunks=(10, 3)), X[:, 0])


class TestParts:
    def test_map_and_reduce(self, parts):
        _, parts = parts
        wanted = [f"{part}:10" for part in range(20)]
        assert [word for each in parts.map(words) for word in each] == wanted
        assert parts.reduce(words, joined) == wanted
        assert (parts.n_rows, parts.n_features, parts.rows[0]) == (200, 3, 10)

    def test_fold(self, parts):
        _, parts = parts
        ends = parts.fold(chain, [["a"], ["b"]], "x")
        steps = [f"x{part}" for part in range(20)]
        assert ends == [["a", *steps], ["b", *steps]]

    def test_values_for_all_and_for_each(self, parts):
        X, parts = parts
        found = parts.map(total, 10.0, each=[list(range(20))])
        wanted = [X[10 * n : 10 * n + 10].sum() + 10.0 * n for n in range(20)]
        np.testing.assert_allclose(found, wanted)

    def test_mapped(self, parts):
        X, parts = parts
        view = parts.mapped(Doubled())
        assert (view.n_features, parts.n_features) == (6, 3)
        for _ in range(2):
            assert view.map(sizes) == [((10, 6), None)] * 20
            np.testing.assert_array_equal(view.fetch([3, 77]), np.hstack([2 * X, X])[[3, 77]])
            view.persist()
        assert parts.map(sizes)[0][0] == (10, 3)

    def test_split(self, parts):
        X, parts = parts
        parts.look()
        assert [len(each) for each in parts.split(X)] == parts.rows
        np.testing.assert_array_equal(np.concatenate(parts.split(X)), X)

    def test_traffic(self, parts):
        X, parts = parts
        parts.look()
        before = parts.traffic.sent
        parts.map(total_of, each=[parts.split(X[:, 0].copy())])
        assert parts.traffic.sent - before == 8 * 200
        assert parts.traffic.back == 8 * 20
        assert parts.traffic.passes == 2


def total_of(block, values):
    assert len(values) == len(block.y)
    return float(values.sum())


def test_many_parts():
    da = pytest.importorskip("dask.array")
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(700, 3)), random.integers(0, 9, 700)
    y = X[:, 0] + random.normal(size=700)
    lazy = [da.from_array(value, chunks=(10, *value.shape[1:])) for value in (X, y, qid)]
    for given, rows in ({}, {}), ({"qid": lazy[2]}, {"qid": qid}):
        found, alone = fit(MPRank(), *lazy[:2], **given), MPRank(solver="primal").fit(X, y, **rows)
        np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-10)


def test_weights():
    assert n_bytes([np.zeros(3), {"a": 1.0}, None, "word"]) == 24 + 1 + 8 + 4
