"""Parts of any kind answer alike: functions of parts, trees of them, chains, and what is kept."""

import numpy as np
import pytest

from rankwise.distributed import fit
from rankwise.distributed._parts import FAN_IN, Kept, Tree, as_parts, weigh
from rankwise.magnitude import MPRank


@pytest.mark.parametrize(
    "n", [1, 2, FAN_IN, FAN_IN + 1, FAN_IN**2 - 1, FAN_IN**2, 2 * FAN_IN**2 + 3]
)
def test_a_tree_merges_neighbours_in_order(n):
    sizes = []

    def combine(values):
        sizes.append(len(values))
        return [each for value in values for each in value]

    tree = Tree(combine)
    for value in range(n):
        tree.add([value])
    assert tree.finish() == list(range(n))
    assert max(sizes) <= FAN_IN + 1


def words(block):
    return [f"{block.part}:{len(block.y)}"]


def chain(block, state, mark):
    return [*state, f"{mark}{block.part}"]


def scaled(block, by):
    return {"rows": block.X * by, "sums": block.X.sum(axis=1)}


def total(block, kept, one, by):
    assert (kept["rows"] == 2 * block.X).all()
    return float(kept["sums"].sum() + one * by)


@pytest.fixture(params=["machine", "dask"])
def parts(request, monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 3))
    if request.param == "machine":
        from rankwise.distributed import _machine

        monkeypatch.setattr(_machine, "_LARGEST_BLOCK", 8 * 3 * 10)
        return X, as_parts(X, X[:, 0])
    da = pytest.importorskip("dask.array")
    return X, as_parts(da.from_array(X, chunks=(10, 3)), X[:, 0])


class TestParts:
    def test_map_and_reduce(self, parts):
        _, parts = parts
        wanted = [f"{part}:10" for part in range(20)]
        assert [word for each in parts.map(words) for word in each] == wanted
        assert parts.reduce(words, lambda one, other: one + other) == wanted
        assert (parts.n_rows, parts.n_features, parts.rows[0]) == (200, 3, 10)

    def test_fold(self, parts):
        _, parts = parts
        ends = parts.fold(chain, [["a"], ["b"]], "x")
        steps = [f"x{part}" for part in range(20)]
        assert ends == [["a", *steps], ["b", *steps]]

    def test_keep(self, parts):
        X, parts = parts
        kept = parts.keep(scaled, 2)
        assert isinstance(kept, Kept)
        found = parts.map(total, 10.0, each=[list(range(20))], along=[kept])
        wanted = [X[10 * n : 10 * n + 10].sum() + 10.0 * n for n in range(20)]
        np.testing.assert_allclose(found, wanted)

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
    assert weigh([np.zeros(3), {"a": 1.0}, None, "word"]) == 24 + 1 + 8 + 4
