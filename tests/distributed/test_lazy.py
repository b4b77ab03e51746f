"""Predictions, positions and measures are lazy, and those of all rows at once."""

import numpy as np
import pytest

from rankwise.distributed import fit, measure, predict, rank
from rankwise.magnitude import MPRank
from rankwise.metrics import auc_score, ndcg_score, pairwise_misranking_loss
from rankwise.ordinal import OAPRank

KINDS = ["array", "unknown", "frame", "delayed"]


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    return X, np.digitize(X[:, 0], [-0.5, 0.5]), random.integers(0, 20, 400)


def compute(lazy):
    import dask

    if isinstance(lazy, list):
        return np.concatenate(dask.compute(*lazy))
    assert dask.is_dask_collection(lazy)
    return np.asarray(lazy.compute())


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", KINDS)
class TestLazy:
    def test_predict(self, cut, kind, rows):
        X, y, _ = rows
        args, _ = cut(kind, X, y)
        model = MPRank().fit(X, y) if kind in ("array", "unknown") else fit(MPRank(), *args)
        np.testing.assert_allclose(compute(predict(model, args[0])), model.predict(X), rtol=1e-12)

    def test_rank(self, cut, kind, rows):
        X, y, qid = rows
        args, given = cut(kind, X, y, qid)
        model = fit(MPRank(), *args, **given)
        if kind in ("array", "unknown"):
            positions = compute(rank(model, args[0], qid=given["qid"]))
        elif kind == "frame":
            positions = compute(rank(model, args[0], qid="qid"))
        else:
            positions = compute(rank(model, args[0], qid=[part["qid"] for part in args[0]]))
        np.testing.assert_array_equal(positions, model.rank(X, qid=qid))

    def test_labels_and_shares(self, cut, kind, rows):
        X, y, _ = rows
        args, _ = cut(kind, X, y)
        model = fit(OAPRank(8, epochs=1, shuffle=False, random_state=0), *args)
        np.testing.assert_array_equal(compute(predict(model, args[0])), model.predict(X))
        if kind != "delayed":
            shares = compute(predict(model, args[0], method="vote_shares"))
            np.testing.assert_array_equal(shares, model.vote_shares(X))


@pytest.mark.parametrize(
    ("metric", "options"),
    [(pairwise_misranking_loss, {"ties": "half"}), (ndcg_score, {"k": 3})],
)
@pytest.mark.parametrize("queries", [False, True])
def test_measures(rows, metric, options, queries):
    import dask.array as da

    X, y, qid = rows
    given = {"qid": qid} if queries else {}
    lazy = {name: da.from_array(value, chunks=90) for name, value in given.items()}
    found = measure(
        metric, da.from_array(y, chunks=90), da.from_array(X[:, 1], chunks=90), **lazy, **options
    )
    assert found.compute() == metric(y, X[:, 1], **given, **options)


def test_measures_of_series(rows):
    import dask.dataframe as dd
    import pandas as pd

    X, y, _ = rows
    frame = dd.from_pandas(pd.DataFrame({"y": y > 0, "s": X[:, 1]}), npartitions=3)
    assert measure(auc_score, frame["y"], frame["s"]).compute() == auc_score(y > 0, X[:, 1])


def test_from_disk(cut, rows, tmp_path):
    X, y, qid = rows
    args, given = cut("parquet", X, y, qid)
    model = fit(MPRank(), *args, **given)
    plain = MPRank(solver="primal").fit(X, y, qid=qid)
    np.testing.assert_allclose(predict(model, args[0]), plain.predict(X), rtol=1e-10)
    np.testing.assert_allclose(predict(plain, X), plain.predict(X), rtol=0)
    np.testing.assert_array_equal(rank(plain, X, qid=qid), plain.rank(X, qid=qid))
    with pytest.raises(ValueError, match="names of its columns"):
        predict(plain, str(tmp_path))


def test_refusals(rows):
    X, y, _ = rows
    model = MPRank().fit(X, y)
    with pytest.raises(ValueError, match="method='nonsense' is not a method of MPRank"):
        predict(model, X, method="nonsense")
    with pytest.raises(ValueError, match="qid='q' is not a column of X"):
        rank(model, X, qid="q")
