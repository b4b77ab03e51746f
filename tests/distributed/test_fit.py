"""A fit in parts is the fit of one machine, for parts of any kind."""

import logging

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise.boosting import RankBoost
from rankwise.distributed import fit
from rankwise.magnitude import MPRank, SVRank
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, WidrowHoff
from rankwise.pairwise import RankSVM

KINDS = ["memmap", "parquet", "array", "unknown", "frame", "delayed"]
STREAM = {"epochs": 1, "shuffle": False}


def table(n=600, dtype=np.float64, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).astype(dtype) + 3
    y = np.digitize(X @ [2.0, -1.0, 0.5, 0.0] + random.normal(size=n), [3.0, 4.5, 6.0])
    qid = random.integers(0, 25, n)
    weight = random.integers(0, 3, n).astype(float)
    return X, y, qid, weight


def learned(model):
    names = ("coef_", "intercept_", "thresholds_", "members_coef_", "objective_", "n_mistakes_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def same(one, other, **tolerance):
    one, other = learned(one), learned(other)
    assert one.keys() == other.keys()
    assert "coef_" in one
    for name in one:
        np.testing.assert_allclose(one[name], other[name], err_msg=name, **tolerance)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", KINDS)
class TestKinds:
    @pytest.mark.parametrize("queries", [False, True])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_mprank(self, cut, kind, queries, weighted):
        X, y, qid, weight = table()
        rows = {"qid": qid} if queries else {}
        rows |= {"sample_weight": weight} if weighted else {}
        args, given = cut(kind, X, y, rows.get("qid"), rows.get("sample_weight"))
        model = fit(MPRank(C=3.0), *args, **given)
        alone = MPRank(C=3.0, solver="primal").fit(X, y, **rows)
        same(model, alone, rtol=1e-10, atol=1e-12)
        assert model.n_queries_ == alone.n_queries_

    @pytest.mark.parametrize("model", [PRank(**STREAM), OAPRank(24, random_state=0, **STREAM)])
    def test_online(self, cut, kind, model):
        X, y, _, _ = table()
        args, _ = cut(kind, X, y)
        same(fit(clone(model), *args), clone(model).fit(X, y), rtol=0)

    @pytest.mark.parametrize("queries", [False, True])
    def test_ranksvm(self, cut, kind, queries):
        X, y, qid, weight = table()
        rows = {"qid": qid} if queries else {}
        model = RankSVM(C=2.0, tol=1e-11)
        args, given = cut(kind, X, y, rows.get("qid"), weight)
        alone = clone(model).fit(X, y, sample_weight=weight, **rows)
        found = fit(clone(model), *args, **given)
        same(found, alone, rtol=1e-5, atol=1e-7)
        assert found.duality_gap_ <= 1e-11 * found.objective_
        assert found.n_queries_ == alone.n_queries_


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "model",
    [
        PRank(update="pa", vote="averaged", **STREAM),
        PRank(epochs="auto", shuffle=False),
        PRank(epochs=3, shuffle=False),
        PRank(kernel="poly", degree=2, **STREAM),
        PRank(kernel="rbf", **STREAM),
        WidrowHoff(0.001, **STREAM),
        MulticlassPerceptron(**STREAM),
        OAPRank(10, epochs=2, shuffle=False, random_state=3),
        OAPRank(8, kernel="poly", degree=2, random_state=0, **STREAM),
        OAPRank(8, kernel="rbf", random_state=0, **STREAM),
        OAPRank(9, sampling="poisson", update="pa", random_state=0, **STREAM),
    ],
    ids=str,
)
def test_online_models_are_those_of_one_stream_bit_for_bit(cut, model):
    X, y, _, _ = table(400)
    args, _ = cut("array", X, y)
    alone = clone(model).fit(X, y)
    found = fit(clone(model), *args)
    np.testing.assert_array_equal(found.predict(X), alone.predict(X))
    np.testing.assert_array_equal(found.project(X), alone.project(X))
    for name in ("n_rounds_", "n_mistakes_", "rank_loss_", "classes_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
    assert found.get_params() == alone.get_params()


@pytest.mark.parametrize("epochs", ["auto", 2])
@pytest.mark.parametrize("model", [PRank(), OAPRank(random_state=0), WidrowHoff(0.001)], ids=str)
def test_shuffled_streams_take_the_rows_in_the_order_of_the_partitions(cut, model, epochs):
    X, y, _, _ = table(300)
    args, _ = cut("array", X, y)
    model = clone(model).set_params(epochs=epochs)
    before = model.get_params()
    said = "in one pass" if epochs == "auto" else "in 2 passes"
    with pytest.warns(UserWarning, match=f"in the order of the partitions, {said}") as warned:
        found = fit(model, *args)
    assert len(warned) == 1
    assert found.get_params() == before
    passes = 1 if epochs == "auto" else 2
    alone = clone(model).set_params(epochs=passes, shuffle=False).fit(X, y)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    assert found.n_rounds_ == 300 * passes


def test_a_block_of_members_is_that_of_all_members():
    # would fail if the coins of a block were those of the first members
    X, y, _, _ = table(300)
    import dask.array as da

    model = OAPRank(20, random_state=0, **STREAM)
    parts = da.from_array(X, chunks=(50, 4))
    found = fit(clone(model), parts, da.from_array(y, chunks=50))
    alone = clone(model).fit(X, y)
    np.testing.assert_array_equal(found.members_coef_, alone.members_coef_)
    np.testing.assert_array_equal(found.members_correct_, alone.members_correct_)
    assert len(np.unique(found.members_coef_, axis=0)) == 20


@pytest.mark.usefixtures("small_blocks")
class TestModels:
    @pytest.mark.parametrize("power", [1, 2])
    @pytest.mark.parametrize("queries", [False, True])
    def test_svrank(self, cut, power, queries):
        X, y, qid, weight = table()
        rows = {"qid": qid} if queries else {}
        model = SVRank(C=2.0, power=power, tol=1e-8)
        args, given = cut("parquet", X, y + 0.1, rows.get("qid"), weight)
        alone = clone(model).fit(X, y + 0.1, sample_weight=weight, **rows)
        found = fit(clone(model), *args, **given)
        np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-2, atol=1e-3)
        assert found.intercept_ == pytest.approx(alone.intercept_, rel=1e-2)
        assert found.objective_ == pytest.approx(alone.objective_, rel=1e-7)

    def test_many_rows_are_sampled_as_on_one_machine(self, cut):
        X, y, qid, _ = table(6000)
        args, given = cut("memmap", X, y, qid)
        model = RankSVM()
        found, alone = fit(clone(model), *args, **given), clone(model).fit(X, y, qid=qid)
        assert found.n_iter_ == alone.n_iter_
        same(found, alone, rtol=1e-6)

    @pytest.mark.parametrize("far", [0.0, 1e6])
    def test_rows_far_from_zero(self, cut, far):
        X, y, _, _ = table()
        X = X + far
        args, _ = cut("memmap", X, y)
        found, alone = fit(RankSVM(tol=1e-9), *args), RankSVM(tol=1e-9).fit(X, y)
        np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-4, atol=1e-6)

    def test_single_precision(self, cut):
        X, y, qid, _ = table(dtype=np.float32)
        args, given = cut("memmap", X, y, qid)
        same(fit(MPRank(), *args, **given), MPRank(solver="primal").fit(X, y, qid=qid), rtol=1e-10)

    def test_sparse_rows(self):
        import dask.array as da
        from scipy import sparse

        X, y, qid, _ = table()
        X = np.where(X > 3, X, 0)
        lazy = da.from_array(X, chunks=(100, 4)).map_blocks(sparse.csr_array)
        to_dask = {"qid": da.from_array(qid, chunks=100)}
        for model, tolerance in ((MPRank(), 1e-10), (RankSVM(tol=1e-10), 1e-5)):
            found = fit(clone(model), lazy, da.from_array(y, chunks=100), **to_dask)
            same(found, clone(model).fit(X, y, qid=qid), rtol=tolerance, atol=1e-9)

    @pytest.mark.parametrize("kind", ["parquet", "array"])
    def test_pipelines(self, cut, kind):
        X, y, qid, _ = table()
        args, given = cut(kind, X, y, qid)
        model = make_pipeline(
            StandardScaler(),
            Nystroem(gamma=0.3, n_components=20, random_state=0),
            RankSVM(tol=1e-9),
        )
        found = fit(clone(model), *args, **given)
        alone = clone(model).fit(X, y, ranksvm__qid=qid)
        if kind == "parquet":
            import pandas as pd

            frame = pd.DataFrame(X, columns=found.feature_names_in_)
            np.testing.assert_array_equal(
                found.predict(frame), found[1:].predict(found[0].transform(frame))
            )
        else:
            np.testing.assert_allclose(found.predict(X), alone.predict(X), rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(found[1].component_indices_, alone[1].component_indices_)
        np.testing.assert_allclose(found[1].components_, alone[1].components_, rtol=1e-9)

    def test_the_model_goes_on(self, cut):
        X, y, _, _ = table()
        args, _ = cut("parquet", X[:500], y[:500])
        model = fit(MPRank(), *args)
        import pandas as pd

        more = pd.DataFrame(X[500:], columns=model.feature_names_in_)
        model.partial_fit(more, y[500:])
        same(model, MPRank(solver="primal").fit(X, y), rtol=1e-10)

    def test_what_moves_is_logged_once(self, cut, caplog):
        X, y, qid, _ = table()
        args, given = cut("parquet", X, y, qid)
        with caplog.at_level(logging.INFO, "rankwise.distributed"):
            fit(RankSVM(), *args, **given)
        said = [record.getMessage() for record in caplog.records]
        assert sum("brought back" in text for text in said) == 1
        assert sum("queries" in text for text in said) == 1


@pytest.mark.parametrize("kind", ["parquet", "delayed"])
def test_columns_of_several_types(tmp_path, kind):
    import dask
    import pandas as pd

    X, y, _, _ = table(300)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(a=X[:, 0] > 3, b=X[:, 1].astype(np.int8))
    frame["y"] = y
    for n in range(3):
        frame[n * 100 :][:100].to_parquet(tmp_path / f"{n}.parquet")
    parts = [dask.delayed(frame[n * 100 :][:100]) for n in range(3)]
    found = fit(MPRank(), tmp_path if kind == "parquet" else parts, "y")
    alone = MPRank(solver="primal").fit(frame[list("abcd")].astype(float), y)
    same(found, alone, rtol=1e-10)


class TestMissingValues:
    """Steps that all take NaN get it, in parts as on one machine; others are told where it is."""

    def table(self):
        X, y, qid, _ = table()
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
        return X, y, qid

    @pytest.mark.usefixtures("small_blocks")
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_pipeline_that_takes_them(self, cut, kind):
        X, y, qid = self.table()
        args, given = cut(kind, X, y, qid)
        model = make_pipeline(StandardScaler(), RankBoost(8))
        found = fit(clone(model), *args, **given)
        alone = clone(model).fit(X, y, rankboost__qid=qid)
        np.testing.assert_allclose(found[0].mean_, alone[0].mean_, rtol=1e-12)
        np.testing.assert_array_equal(found[1].features_, alone[1].features_)
        np.testing.assert_allclose(found[1].alphas_, alone[1].alphas_, rtol=1e-8)

    @pytest.mark.parametrize("kind", ["memmap", "array"])
    @pytest.mark.parametrize(
        "model",
        [
            make_pipeline(StandardScaler(), MPRank()),
            make_pipeline(Nystroem(n_components=5), RankBoost(3)),
            RankSVM(),
        ],
        ids=str,
    )
    def test_others_refuse_them(self, cut, kind, model):
        X, y, _, _ = table()
        X[95, 2] = np.nan
        args, _ = cut(kind, X, y)
        part, row = {"memmap": (0, 95), "array": (2, 5)}[kind]
        where = rf"part {part}: Input X contains NaN \(row {row}, column 2\)"
        with pytest.raises(ValueError, match=where):
            fit(clone(model), *args)
