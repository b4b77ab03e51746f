"""What can't be learned from is refused with a sentence that says where it is."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from rankwise.boosting import RankBoost
from rankwise.distributed import _linear, fit
from rankwise.distributed._partitions import bytes_of
from rankwise.distributed.connection import import_dask
from rankwise.magnitude import MPRank
from rankwise.ordinal import PRank
from rankwise.pairwise import RankSVM, TopPush

da = pytest.importorskip("dask.array")


def rows(n=100):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (X[:, 0] > 0).astype(int)


def lazy(values, size=30):
    return da.from_array(values, chunks=(size, *values.shape[1:]))


MODELS = [MPRank(), RankSVM(), PRank(epochs=1, shuffle=False), RankBoost(3)]


@pytest.mark.parametrize("model", MODELS, ids=str)
class TestRows:
    def test_a_bad_number_is_named_by_part_and_row(self, model):
        X, y = rows()
        X[37, 2] = np.inf if isinstance(model, RankBoost) else np.nan
        before = vars(model).copy()
        with pytest.raises(ValueError, match=r"part 1: Input X contains \w+ \(row 7, column 2\)"):
            fit(model, lazy(X), lazy(y))
        assert vars(model) == before

    def test_a_bad_target(self, model):
        X, y = rows()
        y = y.astype(float)
        y[95] = np.inf
        with pytest.raises(ValueError, match=r"part 3: y contains inf \(row 5\)"):
            fit(model, lazy(X), lazy(y))

    def test_lengths(self, model):
        X, y = rows()
        parts = lazy(y)
        short = da.concatenate([parts[:90], parts[:5]])
        short._chunks = ((np.nan,) * 4,)
        with pytest.raises(ValueError, match="part 3: y has 5 entries for 10 rows"):
            fit(model, lazy(X), short)
        for other in (y[:99], lazy(y[:99]), lazy(y[:99], 50)):
            with pytest.raises(ValueError, match="y has 99 entries for 100 rows"):
                fit(model, lazy(X), other)
        parts = [_delayed(X[:50]), _delayed(X[50:])]
        with pytest.raises(ValueError, match="y has 1 parts and X has 2"):
            fit(model, parts, [_delayed(y)])

    def test_nothing_to_learn_from(self, model):
        X, y = rows()
        with pytest.raises(ValueError, match="y is missing"):
            fit(model, lazy(X), None)
        with pytest.raises(ValueError, match="part 0: X has no features"):
            fit(model, lazy(X[:, :0], 100), lazy(y, 100))
        with pytest.raises(ValueError, match=r"all their rows have weight 0"):
            fit(model, lazy(X), lazy(y), sample_weight=lazy(np.zeros(100)))

    def test_no_rows(self, model):
        X, y = rows(0)
        with pytest.raises(ValueError, match="parts are empty"):
            fit(model, [_delayed(X), _delayed(X)], [_delayed(y), _delayed(y)])


def _delayed(value):
    import dask

    return dask.delayed(value)


class TestTypes:
    def test_mixed_types_of_x(self):
        X, y = rows()
        parts = [_delayed(X[:50]), _delayed(X[50:].astype(np.float32))]
        with pytest.raises(
            ValueError, match="X is of type float32 in part 1 and float64 in part 0"
        ):
            fit(MPRank(), parts, [_delayed(y[:50]), _delayed(y[50:])])

    def test_mixed_types_of_qid(self):
        X, y = rows()
        qid = [_delayed(np.arange(50) // 5), _delayed(np.array(["a"] * 50))]
        y = [_delayed(y[:50]), _delayed(y[50:])]
        with pytest.raises(ValueError, match="qid is of type string in part 1 and int64 in part 0"):
            fit(MPRank(), [_delayed(X[:50]), _delayed(X[50:])], y, qid=qid)

    def test_widths(self):
        X, y = rows()
        parts = [_delayed(X[:50]), _delayed(X[50:, :2])]
        for model in MODELS:
            with pytest.raises(ValueError, match="part 1 has 2 features and part 0 has 3"):
                fit(model, parts, [_delayed(y[:50]), _delayed(y[50:])])

    def test_text(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"a": ["x", "y"], "b": [1, 2], "y": [0, 1]})
        with pytest.raises(ValueError, match="part 0: column 'a' of X holds"):
            fit(MPRank(), [_delayed(frame)], "y")
        with pytest.raises(ValueError, match="part 0: y='z' is not a column of X"):
            fit(MPRank(), [_delayed(frame)], "z")
        for model in (MPRank(), RankBoost()):
            with pytest.raises(ValueError, match="part 0: y must be numbers"):
                fit(model, [_delayed(frame)], "a", columns=["b"])

    def test_weights(self):
        X, y = rows()
        weight = np.ones(100)
        weight[64] = -1
        with pytest.raises(ValueError, match=r"part 2: sample_weight\[4\] is -1.0: expected"):
            fit(MPRank(), lazy(X), lazy(y), sample_weight=lazy(weight))
        weight[64] = np.nan
        for model in MODELS:
            with pytest.raises(ValueError, match=r"part 2: sample_weight\[4\] is nan: expected"):
                fit(model, lazy(X), lazy(y), sample_weight=lazy(weight))


class TestSettings:
    def test_weights_of_streams(self):
        X, y = rows()
        with pytest.raises(ValueError, match="PRank does not use sample_weight"):
            fit(MODELS[2], lazy(X), lazy(y), sample_weight=lazy(np.ones(100)))

    @pytest.mark.parametrize("model", [MPRank(kernel="rbf"), RankSVM(kernel="rbf")])
    def test_kernels(self, model):
        X, y = rows()
        with pytest.raises(ValueError, match="Nystroem"):
            fit(model, lazy(X), lazy(y))

    def test_other_estimators(self):
        X, y = rows()
        with pytest.raises(TypeError, match="can't be fitted in parts; these can"):
            fit(TopPush(), lazy(X), lazy(y))
        with pytest.raises(TypeError, match="estimator=MPRank is a class: give a model"):
            fit(MPRank, lazy(X), lazy(y))
        with pytest.raises(TypeError, match="the step 'pca'"):
            fit(make_pipeline(PCA(), MPRank()), lazy(X), lazy(y))

    def test_other_rows(self):
        X, y = rows()
        with pytest.raises(TypeError, match="must be a dask array or dataframe"):
            fit(MPRank(), X.tolist(), y)
        with pytest.raises(ValueError, match=r"X must have a row for each sample, .* \(100,\)"):
            fit(MPRank(), lazy(X[:, 0]), lazy(y))
        with pytest.raises(TypeError, match=r"client='tcp://x' must be a distributed\.Client"):
            fit(MPRank(), lazy(X), lazy(y), client="tcp://x")
        with pytest.raises(ValueError, match="y='y' is not a column of X, which is an array"):
            fit(MPRank(), X, "y")

    def test_one_row_of_each_query(self):
        X, y = rows()
        for model in (MPRank(), RankSVM()):
            with pytest.raises(ValueError, match=r"ranking compares|no comparable pair"):
                fit(model, lazy(X), lazy(y), qid=lazy(np.arange(100)))

    def test_parts_that_are_not_cut_alike(self):
        X, y = rows()
        unknown = lazy(y, 50)
        unknown._chunks = ((np.nan, np.nan),)
        with pytest.raises(ValueError, match="y has 2 parts and X has 4"):
            fit(MPRank(), lazy(X), unknown)


class TestFiles:
    def test_folders(self, tmp_path):
        with pytest.raises(ValueError, match=r"has no file whose name ends in \.parquet"):
            fit(MPRank(), tmp_path, "y")

    def test_columns(self, cut):
        X, y = rows()
        (folder, _), _ = cut("parquet", X, y)
        with pytest.raises(ValueError, match="y='nonsense' is not a column of 0"):
            fit(MPRank(), folder, "nonsense")
        with pytest.raises(ValueError, match="y must be the name of a column"):
            fit(MPRank(), folder, y)

    def test_features(self, cut):
        X, y = rows()
        (folder, name), _ = cut("parquet", X, y)
        found = fit(MPRank(), folder, name, columns=["x2", "x0"])
        assert found.feature_names_in_.tolist() == ["x2", "x0"]
        alone = MPRank(solver="primal").fit(X[:, [2, 0]], y)
        np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-10)
        with pytest.raises(ValueError, match="columns='z' is not a column of 0"):
            fit(MPRank(), folder, name, columns=["z"])
        with pytest.raises(ValueError, match="columns='z' is not a column of X, which is an array"):
            fit(MPRank(), X, y, columns=["z"])
        for columns in ("x0", [], [1]):
            with pytest.raises(ValueError, match="must be a list of names of features"):
                fit(MPRank(), folder, name, columns=columns)
        with pytest.raises(ValueError, match="columns names 'x0' twice"):
            fit(MPRank(), folder, name, columns=["x0", "x0"])
        with pytest.raises(ValueError, match="columns names 'grade', which is y"):
            fit(MPRank(), folder, name, columns=["x0", "grade"])

    def test_a_file_that_is_none_of_parquet(self, cut, tmp_path):
        (folder, name), _ = cut("parquet", *rows())
        (tmp_path / "notes.txt").write_text("left alone")
        fit(MPRank(), folder, name)
        (tmp_path / "9.parquet").write_text("hello, I am no Parquet")
        with pytest.raises(ValueError, match=r"9\.parquet' is not a Parquet file"):
            fit(MPRank(), folder, name)

    @pytest.mark.parametrize("model", MODELS, ids=str)
    def test_files_that_differ(self, cut, tmp_path, model):
        pandas = pytest.importorskip("pandas")
        (folder, name), _ = cut("parquet", *rows())
        frame = pandas.read_parquet(tmp_path / "0.parquet")
        frame.drop(columns="x1").to_parquet(tmp_path / "1.parquet")
        with pytest.raises(ValueError, match=r"1\.parquet has other columns .* 'x1' is in one"):
            fit(model, folder, name)
        assert fit(clone(model), folder, name, columns=["x0", "x2"]).n_features_in_ == 2
        frame[["x2", "x1", "x0", "grade"]].to_parquet(tmp_path / "1.parquet")
        with pytest.raises(ValueError, match="in another order"):
            fit(model, folder, name)
        frame.assign(x0=1).astype({"grade": float}).to_parquet(tmp_path / "1.parquet")
        with pytest.raises(ValueError, match="y is of type float64 in part"):
            fit(model, folder, name)

    def test_missing_values_are_found(self, cut):
        X, y = rows()
        X[95, 1] = np.nan
        (folder, name), _ = cut("parquet", X, y)
        with pytest.raises(ValueError, match=r"part 1: Input X contains NaN \(row 5, column 1\)"):
            fit(MPRank(), folder, name)

    def test_a_limit_is_for_the_disk(self):
        X, y = rows()
        with pytest.raises(ValueError, match="memory_limit='4GB' is for rows on disk"):
            fit(MPRank(), lazy(X), lazy(y), memory_limit="4GB")

    @pytest.mark.parametrize("limit", ["4 bananas", "0", 0, "", "1MB", -1, 3.5, True, "GB", "nan"])
    def test_limits(self, limit):
        with pytest.raises(ValueError, match="memory_limit="):
            bytes_of(limit)

    def test_a_limit_that_is_too_small_for_the_rows(self, monkeypatch):
        monkeypatch.setattr(_linear, "_ROW_BYTES", 10**7)
        X, y = rows()
        with pytest.raises(ValueError, match="memory_limit must be at least 1 GB"):
            fit(RankSVM(), X, y, memory_limit="500MB")

    def test_units(self):
        texts = ["4GB", "4 gb", "4000MB", "4e9"[:1] + "000000000"]
        assert {bytes_of(text) for text in texts} == {4 * 10**9}
        assert bytes_of("1GiB") == 2**30


def test_importing_and_reading_from_disk_need_no_dask(cut):
    X, y = rows()
    (folder, name), _ = cut("parquet", X, y)
    code = (
        "import sys; sys.modules['dask'] = None; from rankwise import distributed; "
        "from rankwise.magnitude import MPRank; "
        f"print(distributed.fit(MPRank(), {folder!r}, {name!r}).coef_.shape); "
        "print([m for m in ('dask', 'distributed') if sys.modules.get(m)])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["(3,)", "[]"]


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"pip install 'rankwise\[dask\]'"):
        import_dask()
