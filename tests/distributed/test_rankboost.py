"""RankBoost of rows in parts is that of one machine, to the rounding of sums."""

import logging
import pickle
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rankwise.boosting import RankBoost, binning, stumps
from rankwise.distributed import _partitions
from rankwise.distributed._fit import fit
from rankwise.distributed._rankboost import RemoteBlocks

da = pytest.importorskip("dask.array")
TREES = {"max_leaf_nodes": 5, "learning_rate": 0.3, "min_samples_leaf": 5}


def table(n=300, grades=3, queries=0, weights=None, missing=False, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 9)).round(2)
    X[random.random(X.shape) < 0.1 * missing] = np.nan
    score = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 8]) ** 2 + random.normal(0, 0.3, n)
    y = np.digitize(score, np.quantile(score, np.arange(1, grades) / grades)).astype(float)
    qid = random.integers(queries, size=n) if queries else None
    weight = {
        None: None,
        "whole": random.integers(0, 4, n).astype(float),
        "real": random.random(n) + 0.1,
    }[weights]
    return X, y, qid, weight


def in_parts(sizes, *columns):
    chunks = tuple(sizes)
    return [
        None if each is None else da.from_array(each, chunks=(chunks, *each.shape[1:]))
        for each in columns
    ]


def fit_in_parts(model, data, sizes=(90, 0, 10, 120, 80), **options):
    X, y, qid, weight = in_parts(sizes, *data)
    return fit(clone(model), X, y, qid=qid, sample_weight=weight, **options)


def fit_from_file(model, data):
    X, y, qid, weight = data
    return fit(clone(model), X, y, qid=qid, sample_weight=weight, memory_limit="100MB")


def fit_alone(model, data):
    X, y, qid, weight = data
    return clone(model).fit(X, y, qid=qid, sample_weight=weight)


def learned(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_same(one, other, tolerance=1e-9):
    one, other = learned(one), learned(other)
    assert one.keys() == other.keys()
    assert "features_" in one
    for name, value in one.items():
        if name != "cutpoints_" and getattr(value, "dtype", None) == np.float64:
            assert_allclose(value, other[name], rtol=tolerance, atol=tolerance, err_msg=name)
        else:
            assert_array_equal(value, other[name], err_msg=name)


@pytest.fixture
def small_blocks(monkeypatch):
    """Let the blocks of an array on one machine have 40 rows."""
    monkeypatch.setattr(_partitions, "_LARGEST_BLOCK", 8 * 9 * 40)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("criterion", ["auto", "loss", "edge"])
@pytest.mark.parametrize("pair_weight", ["uniform", "magnitude"])
@pytest.mark.parametrize(
    ("grades", "queries", "weights", "missing"),
    [
        *product([2, 3, 300], [0], [None, "real"], [False, True]),
        *product([3], [6, 40], [None, "whole"], [False, True]),
    ],
)
def test_stumps_are_those_of_one_machine(criterion, pair_weight, grades, queries, weights, missing):
    data = table(300, grades, queries, weights, missing)
    model = RankBoost(8, criterion=criterion, pair_weight=pair_weight, max_bins=20)
    alone = fit_alone(model, data)
    assert len(alone.alphas_) == 8
    assert_same(fit_in_parts(model, data), alone)
    assert_same(fit_from_file(model, data), alone)


@pytest.mark.parametrize(
    "options",
    [
        {"max_bins": 2},
        {"max_bins": 255},
        {"max_bins": None},
        {"n_estimators": 120, "max_bins": 5},
        {"n_jobs": 2},
        {"criterion": "edge", "max_bins": None},
        {"step": "smooth-margin", "n_estimators": 30},
    ],
    ids=str,
)
@pytest.mark.parametrize("sizes", [(300,), (1, 299), (60,) * 5, (150, 150)], ids=str)
def test_options_and_sizes_of_parts(options, sizes):
    data = table(weights="whole", queries=4, missing=True)
    model = RankBoost(**{"n_estimators": 8, **options})
    alone = fit_alone(model, data)
    assert_same(fit_in_parts(model, data, sizes), alone)


@pytest.mark.parametrize("queries", [0, 4])
@pytest.mark.parametrize("push", [2.0, 4.5])
def test_a_push(queries, push):
    data = table(grades=2, queries=queries, weights="whole")
    model = RankBoost(12, push=push, max_bins=30)
    alone = fit_alone(model, data)
    assert_same(fit_in_parts(model, data), alone)
    assert_same(fit_from_file(model, data), alone)
    with pytest.raises(ValueError, match="is for two classes"):
        fit_in_parts(model, table(grades=3, queries=queries))


def test_scores_far_apart(monkeypatch):
    # all factors are computed again every few rounds
    monkeypatch.setattr(stumps, "FRESH", 3)
    X = np.arange(300.0)[:, None]
    y = (X[:, 0] > 150).astype(float)
    y[::50] = 1 - y[::50]
    data = X, y, None, None
    model = RankBoost(60)
    assert_same(fit_in_parts(model, data), fit_alone(model, data))


@pytest.mark.parametrize("weights", [None, "whole"])
def test_the_sample_for_the_bins_is_that_of_one_machine(monkeypatch, weights):
    monkeypatch.setattr(binning, "SAMPLE", 100)
    data = table(weights=weights)
    for seed in range(3):
        model = RankBoost(8, max_bins=12, random_state=seed)
        alone = fit_alone(model, data)
        assert_same(fit_in_parts(model, data), alone)
        assert_same(fit_from_file(model, data), alone)


PAIR_LOSSES = [
    {**TREES, "loss": loss, "pair_weight": pair_weight}
    for loss, pair_weight in product(("exponential", "logistic"), ("uniform", "magnitude", "ndcg"))
]


@pytest.mark.parametrize("options", [{}, {"criterion": "edge"}, {"push": 4}, *PAIR_LOSSES], ids=str)
@pytest.mark.parametrize("light", ["any", "positives", "a part", "most queries"])
def test_weights_300_orders_of_magnitude_apart(light, options):
    X, y, qid, _ = table(60, grades=2, queries=4)
    random = np.random.default_rng(1)
    rows = {
        "any": random.random(60) < 0.5,
        "positives": y > 0,
        "a part": np.arange(60) < 20,
        "most queries": qid > 0,
    }[light]
    weight = np.where(rows, 10.0 ** random.uniform(-300, -290, 60), random.random(60) + 0.5)
    data, model = (X, y, qid, weight), RankBoost(3, max_bins=20, **options)
    alone = fit_alone(model, data)
    for other in (fit_in_parts(model, data, (20, 0, 25, 15)), fit_from_file(model, data)):
        assert np.isfinite(other.train_loss_).all()
        assert_allclose(other.predict(X), alone.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_targets_of_one_part_are_far_larger(loss):
    X, y, qid, _ = table(120, grades=3, queries=6)
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    y[qid == 0] *= 15
    model = RankBoost(3, pair_weight="magnitude", loss=loss, **TREES)
    edge = int(np.searchsorted(qid, 1))
    found = fit_in_parts(model, (X, y, qid, None), (edge, 120 - edge))
    assert_same(found, fit_alone(model, (X, y, qid, None)))


def test_single_precision():
    X, y, qid, weight = table(missing=True)
    data = X.astype(np.float32), y, qid, weight
    model = RankBoost(8)
    alone = fit_alone(model, data)
    assert_same(fit_in_parts(model, data), alone)
    assert_same(fit_from_file(model, data), alone)


def test_the_order_of_the_rows_changes_nothing():
    X, y, qid, weight = table(queries=5, weights="whole")
    order = np.random.default_rng(1).permutation(len(X))
    model = RankBoost(30)
    one = fit_alone(model, (X, y, qid, weight))
    assert_same(one, fit_alone(model, (X[order], y[order], qid[order], weight[order])))


def test_a_part_without_positives_and_queries_as_texts():
    X, y, _, _ = table(grades=2)
    order = np.argsort(y, kind="stable")
    names = np.array([f"q{k}" for k in np.arange(300) % 7], dtype=object)
    data = X[order], y[order], names, None
    model = RankBoost(8)
    assert_same(fit_in_parts(model, data, (100, 200)), fit_alone(model, data))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pair_weight", ["auto", "uniform", "magnitude"])
@pytest.mark.parametrize(("queries", "weights"), [(0, None), (0, "real"), (6, "whole"), (40, None)])
@pytest.mark.parametrize("depth", [None, 2])
def test_trees_are_those_of_one_machine(pair_weight, queries, weights, depth):
    data = table(300, 4, queries, weights, missing=True)
    model = RankBoost(6, pair_weight=pair_weight, max_depth=depth, **TREES)
    alone = fit_alone(model, data)
    assert_same(fit_in_parts(model, data), alone)
    assert_same(fit_from_file(model, data), alone)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "logistic"},
        {"pair_weight": "ndcg"},
        {"loss": "logistic", "pair_weight": "ndcg"},
        {"loss": "logistic", "pair_weight": "magnitude", "max_leaf_nodes": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", [None, "whole"])
def test_pair_by_pair_queries_are_brought_together(options, weights, caplog):
    data = table(300, 4, 12, weights, missing=True)
    model = RankBoost(6, **{**TREES, **options})
    alone = fit_alone(model, data)
    with caplog.at_level(logging.INFO, "rankwise.distributed"):
        found = fit_in_parts(model, data)
    assert_same(found, alone)
    assert sum("queries are cut by parts" in record.message for record in caplog.records) == 1
    assert_same(fit_from_file(model, data), alone)
    caplog.clear()
    X, y, qid, _ = data
    order = np.argsort(qid, kind="stable")
    whole = X[order], y[order], qid[order], None
    edge = int(np.searchsorted(qid[order], 5))
    with caplog.at_level(logging.INFO, "rankwise.distributed"):
        found = fit_in_parts(model, whole, (edge, 300 - edge))
    assert_same(found, fit_alone(model, whole))
    assert not any("queries are cut" in record.message for record in caplog.records)


def test_parquet_in_memory_that_is_limited(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y, qid, weight = table(queries=5, weights="whole", missing=True)
    frame = pd.DataFrame(X, columns=[f"x{f}" for f in range(9)])
    frame = frame.assign(grade=y, query=qid, mass=weight)
    for k in range(3):
        frame[100 * k : 100 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet", row_group_size=30)
    model = RankBoost(8)
    found = fit(
        clone(model), tmp_path, "grade", qid="query", sample_weight="mass", memory_limit="1GB"
    )
    alone = clone(model).fit(frame.iloc[:, :9], y, qid=qid, sample_weight=weight)
    assert_same(found, alone)
    rows = frame.iloc[:, :9]
    assert_allclose(found.predict(rows), alone.predict(rows), rtol=1e-9, atol=1e-9)


class TestRefused:
    def test_a_stop_by_rows_set_aside(self):
        with pytest.raises(ValueError, match="n_iter_no_change=3 sets rows aside"):
            fit_in_parts(RankBoost(n_iter_no_change=3), table())

    def test_one_query_in_several_parts_pair_by_pair(self):
        with pytest.raises(ValueError, match="all rows are one query, which lies in 4 parts"):
            fit_in_parts(RankBoost(loss="logistic"), table())
        data = table()
        model = RankBoost(3, loss="logistic")
        assert_same(fit_in_parts(model, data, (300,)), fit_alone(model, data))

    def test_sparse_rows(self):
        from scipy import sparse

        X, y, _, _ = table()
        lazy = da.from_array(X, chunks=(100, 9)).map_blocks(sparse.csr_array)
        with pytest.raises(ValueError, match=r"part \d is sparse, but RankBoost takes dense"):
            fit(RankBoost(), lazy, da.from_array(y, chunks=100))

    def test_infinity_names_the_part_and_the_row(self):
        X, y, _, _ = table()
        X[95, 3] = np.inf
        model = RankBoost()
        with pytest.raises(ValueError, match=r"part 2: .*infinity \(row 5, column 3\)"):
            fit_in_parts(model, (X, y, None, None))

    def test_no_pair_and_bad_gains_and_a_model_stays_as_it_was(self):
        X, y, _, _ = table()
        model = RankBoost(3).fit(X, y)
        before = pickle.dumps(model)
        lazy = in_parts((150, 150), X, np.ones(300))
        with pytest.raises(ValueError, match="y has no comparable pair"):
            fit(model, *lazy)
        with pytest.raises(ValueError, match="takes grades from 0 to"):
            fit(RankBoost(pair_weight="ndcg"), *in_parts((150, 150), X, y - 1))
        assert pickle.dumps(model) == before

    def test_too_little_memory(self, monkeypatch):
        X, y, _, _ = table()
        monkeypatch.setattr("rankwise.distributed._rankboost._ROW_BYTES", 10**6)
        with pytest.raises(ValueError, match=r"memory_limit=0.1 GB is too little for the scores"):
            fit(RankBoost(), X, y, memory_limit="100MB")


def test_histograms_that_are_too_many_to_keep_come_a_few_features_at_a_time(monkeypatch):
    data, model = table(), RankBoost(8, criterion="loss")
    alone = fit_alone(model, data)
    monkeypatch.setattr(stumps, "KEPT", 0)
    monkeypatch.setattr(stumps, "AT_A_TIME", 1)
    assert_same(fit_in_parts(model, data), alone)


@pytest.mark.slow
class TestCluster:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"criterion": "edge"},
            {**TREES, "loss": "exponential"},
            {**TREES, "loss": "magnitude"},
            {**TREES, "loss": "logistic"},
            {**TREES, "pair_weight": "ndcg"},
        ],
        ids=str,
    )
    def test_as_one_machine(self, client, options):
        data = table(300, 3, 12, "whole", missing=True)
        model = RankBoost(6, **options)
        found = fit_in_parts(model, data, client=client)
        assert_same(found, fit_alone(model, data))

    @pytest.mark.parametrize("options", [{}, {**TREES, "loss": "exponential"}], ids=str)
    def test_a_worker_is_killed_and_the_model_is_the_same(self, client, kill, monkeypatch, options):
        data = table(300, 3, 6, "whole")
        model, steps, run = RankBoost(12, **options), [], RemoteBlocks.run

        def run_and_kill(self, function, *arguments, **others):
            steps.append(function)
            if len(steps) == 9:
                kill()
            return run(self, function, *arguments, **others)

        monkeypatch.setattr(RemoteBlocks, "run", run_and_kill)
        found = fit_in_parts(model, data, client=client)
        assert len(steps) > 20
        assert_same(found, fit_alone(model, data))
