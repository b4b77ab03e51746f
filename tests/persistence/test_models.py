"""Models that are saved and loaded, over their options and what they learned from."""

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import rankwise
from rankwise import load, save
from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank, MPRankCV
from rankwise.ordinal import OAPRank, PRank
from rankwise.ordinal._loops.prank import UPDATES
from rankwise.pairwise import RankSVM
from rankwise.persistence import _models
from rankwise.preference import PreferenceRanker
from rankwise.testing import all_estimators

KERNELS = {
    "kernel": ["linear", "poly", "rbf", "precomputed"],
    "gamma": [None, 0.5, np.float32(0.25)],
    "degree": [1, 2, np.int64(3)],
    "coef0": [0.0, 1.0],
}
NEWTON = {"tol": [1e-3, 0.1], "max_iter": [5, 100], "warm_start": [False, True]}
TOP = {"tol": [1e-3, 0.1], "max_iter": [5, 100], "positive": [None, 3]}
SEEDS = {"random_state": [None, 0, np.int32(3), np.random.RandomState(5)]}
LABELS = {"label_order": [None, [1, 2, 3, 4], (1, 2, 3, 4), range(1, 5), np.arange(1, 5)]}
STREAM = {"epochs": [1, 2, "auto"], "shuffle": [False, True], **SEEDS, **LABELS, **KERNELS}
OPTIONS = {
    "PRank": {
        **STREAM,
        "vote": [None, "averaged", "voted"],
        "update": list(UPDATES),
        "max_voters": [3, None, 50],
        "budget": [None, 7],
    },
    "OAPRank": {
        **STREAM,
        "n_estimators": [1, 5],
        "tau": [0.3, 1.0],
        "combine": ["bpm", "bagging", "voted"],
        "update": list(UPDATES),
        "sampling": ["bernoulli", "poisson"],
        "n_jobs": [None, 1, 2],
        "budget": [None, 7],
    },
    "WidrowHoff": {
        **STREAM,
        "eta": [0.1, 0.001],
        "step": ["normalised", "plain"],
        "fit_intercept": [False, True],
        "budget": [None, 7],
    },
    "MulticlassPerceptron": {
        **STREAM,
        "update": ["uniform", "max", "proportional"],
        "vote": ["averaged", None],
        "fit_intercept": [False, True],
        "budget": [None, 7],
    },
    "ThresholdRanker": {
        **LABELS,
        "estimator": [None, MPRank(kernel="rbf"), RankSVM(), RankBoost(5)],
        "loss": ["absolute", "zero-one", "squared"],
        "costs": ["expected", "observed"],
        "cv": [None, 2, np.int64(3)],
    },
    "MPRank": {
        **KERNELS,
        "C": [0.1, 10],
        "solver": ["auto", "online", "dual"],
        "tol": [1e-3],
        "eta": [None, 0.01],
        "max_passes": [3, 1000],
    },
    "MPRankCV": {
        **{k: v for k, v in KERNELS.items() if k != "gamma"},
        "Cs": [(0.1, 1.0), [1.0], np.array([0.5, 2.0])],
        "gammas": [None, [0.5], (0.1, 1.0)],
        "scoring": ["msd", "misranking"],
    },
    "SVRank": {
        **KERNELS,
        **NEWTON,
        "C": [0.1, 10.0],
        "power": [1, 2],
        "epsilon": [0.0, 0.1],
    },
    "RankSVM": {
        **KERNELS,
        **NEWTON,
        "C": [0.1, np.float64(10.0)],
        "power": [1, 2],
        "margin": ["unit", "magnitude"],
        "pair_weight": ["uniform", "magnitude"],
    },
    "RankBoost": {
        **SEEDS,
        "n_iter_no_change": [None, 2],
        "validation_fraction": [0.2, 0.5],
        "n_jobs": [None, 2],
        "n_estimators": [1, 9],
        "criterion": ["loss", "edge"],
        "max_bins": [None, 16],
        "pair_weight": ["auto", "uniform", "magnitude"],
        "max_leaf_nodes": [2, 6],
        "max_depth": [None, 2],
        "min_samples_leaf": [1, 5],
        "l2": [0.0, 1.0],
        "learning_rate": [0.1, 1.0, "auto"],
        "loss": ["auto", "logistic"],
        "push": [1.0],
        "step": ["exact"],
    },
    "PreferenceRanker": {
        **SEEDS,
        "estimator": [None, LogisticRegression(C=2.0), PRank(), MPRank()],
        "features": ["difference", "concat"],
        "max_pairs": [None, 50],
        "n_references": [1, 30],
    },
    "TopPush": {**KERNELS, **TOP, "C": [0.1, np.float64(10.0)]},
    "AccuracyAtTop": {**KERNELS, **TOP, "C": [0.1, 10.0], "tau": [0.05, 0.5], "power": [1, 2]},
}

random = np.random.default_rng(1)
X = random.normal(size=(40, 3))
y = 1 + np.digitize(X @ [1.0, 2.0, -1.0], [-1.5, 0.0, 1.5])
qid = np.repeat(["a", "b"], 20)


def test_the_options_are_those_of_all_estimators():
    """A new estimator is added to the options above."""
    built_here = {n for n, c in all_estimators().items() if ".recommend" not in c.__module__}
    assert built_here == set(OPTIONS)
    for name, options in OPTIONS.items():
        assert set(options) == set(all_estimators()[name]().get_params(deep=False)), name


def fitted(draw, name):
    """Draw an estimator, its options and what it is fitted to; None if it refuses them."""
    cls = all_estimators()[name]
    known = cls().get_params()
    params = {
        option: draw(st.sampled_from(values))
        for option, values in OPTIONS[name].items()
        if option in known and draw(st.booleans())
    }
    params = {k: clone(v, safe=False) for k, v in params.items()}
    model = cls(**params)
    rows, labels = X, y
    if params.get("kernel") == "precomputed":
        rows = X @ X.T + np.eye(len(X))
    elif draw(st.booleans()):
        rows = pd.DataFrame(X, columns=["länge", "b", "c"])
    if draw(st.booleans()):
        rows = sparse.csr_array(np.asarray(rows))
    if "label_order" in known and params.get("label_order") is None and draw(st.booleans()):
        words = ["poor", "fair", "good", "fine"]
        labels = pd.Categorical.from_codes(y - 1, words, ordered=True)
    given = {"qid": qid} if "label_order" not in known and draw(st.booleans()) else {}
    try:
        return model.fit(rows, labels, **given), rows, labels
    except ValueError:
        return None


def said(model, rows):
    if hasattr(model, "predict"):
        return model.predict(rows)
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    return model.prefer(dense[:-1], dense[1:])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(OPTIONS))
@given(data=st.data())
@settings(max_examples=40)
def test_every_option_of_every_estimator(tmp_path_factory, same, name, data):
    found = fitted(data.draw, name)
    if found is None:
        return
    model, rows, labels = found
    path = tmp_path_factory.getbasetemp() / "model"
    save(model, path)
    loaded = load(path)
    assert same(loaded, model)
    assert same(said(loaded, rows), said(model, rows))
    assert same(clone(loaded).get_params(), clone(model).get_params())
    if hasattr(model, "partial_fit") and getattr(model, "kernel", "") != "precomputed":
        try:
            model.partial_fit(rows, labels)
        except ValueError as refusal:
            with pytest.raises(ValueError, match=str(refusal)[:20]):
                loaded.partial_fit(rows, labels)
        else:
            assert same(loaded.partial_fit(rows, labels), model)


@pytest.mark.parametrize("kind", [str, np.int32, np.float64, "M8[D]", object])
def test_labels_of_any_type_come_back(tmp_path, same, kind):
    labels = y.astype("i8").astype(kind) if kind is not object else np.array(list("abcd"))[y - 1]
    model = PRank(label_order=np.unique(labels)).fit(X, labels)
    save(model, tmp_path / "m")
    assert same(load(tmp_path / "m").predict(X), model.predict(X))


def test_what_metadata_is_requested(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = (
            MPRank().set_fit_request(qid=True, sample_weight="mass").set_score_request(qid=False)
        )
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert str(loaded.get_metadata_routing()) == str(model.get_metadata_routing())
    assert "'mass'" in str(loaded.get_metadata_routing())


def test_closed_queries_stay_closed(tmp_path, same):
    model = MPRank().partial_fit(X, y, qid=qid).close_queries(["a"])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert same(loaded, model)
    with pytest.raises(ValueError, match="closed"):
        loaded.partial_fit(X, y, qid=qid)
    more = X[:5], y[:5]
    assert same(loaded.partial_fit(*more, qid=["c"] * 5), model.partial_fit(*more, qid=["c"] * 5))


def test_a_model_of_many_columns(tmp_path, same):
    names = [f"column {j}" for j in range(500)]
    rows = pd.DataFrame(random.normal(size=(30, 500)), columns=names)
    model = RankSVM().fit(rows, np.arange(30))
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert same(loaded, model)
    assert loaded.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(rows.rename(columns={"column 7": "other"}))


def test_a_model_that_is_not_fitted(tmp_path):
    save(PRank(epochs=3), tmp_path / "m")
    assert str(load(tmp_path / "m")) == "PRank(epochs=3)"
    assert load(tmp_path / "m").fit(X, y).n_rounds_ == 120


def test_the_file_says_what_the_model_knows(tmp_path):
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    save(PRank(epochs=1).fit(rows, y), tmp_path / "m")
    facts, arrays = _models.read_facts(tmp_path / "m")
    assert facts["class"] == "rankwise.ordinal.PRank"
    assert facts["schema"] == 1
    assert facts["made_with"]["rankwise"] == rankwise.__version__
    assert facts["input"] == {
        "n_features": 3,
        "feature_names": ["a", "b", "c"],
        "feature_dtypes": "<f8",
        "labels": [1, 2, 3, 4],
        "label_dtype": "<i8",
    }
    assert facts["training"]["n_rounds_"] == 40
    assert arrays["coef_"]["shape"] == [3]


class Mine(PRank):
    """A class that rankwise does not know."""


class TestRefused:
    @pytest.mark.parametrize(
        ("model", "words"),
        [
            (PRank(kernel=lambda X, Y: X @ Y.T), "kernel is the function <lambda>.*precomputed"),
            (PreferenceRanker(features=np.subtract), "features is the function subtract"),
            (GridSearchCV(PRank(), {}), "save its best_estimator_"),
            (Mine(), "Mine, which can't be saved"),
            (BaseEstimator(), "BaseEstimator"),
            (PRank(epochs=0), "epochs"),
            (MPRankCV(Cs=pd.Series([1.0])), "Cs is a pandas.*Series"),
            (PRank, "must be an estimator"),
            ({"coef_": 1}, "must be an estimator"),
            (None, "must be an estimator"),
        ],
        ids=lambda v: str(v)[:30],
    )
    def test_models(self, tmp_path, model, words):
        path = tmp_path / "m"
        path.write_text("old")
        with pytest.raises(ValueError, match=words):
            save(model, path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("path", [None, 3, b"m", "", ["m"]])
    def test_paths(self, path):
        for call in (lambda: save(PRank(), path), lambda: load(path)):
            with pytest.raises(ValueError, match="must be the path of a file"):
                call()

    @pytest.mark.parametrize("most", [None, 0, -1, 1.5, "1", 2**70])
    def test_caps(self, tmp_path, most):
        save(PRank(), tmp_path / "m")
        with pytest.raises(ValueError, match="max_bytes"):
            load(tmp_path / "m", max_bytes=most)

    def test_a_small_cap(self, tmp_path):
        save(PRank(), tmp_path / "m")
        with pytest.raises(ValueError, match="max_bytes=100: if you trust it, allow more"):
            load(tmp_path / "m", max_bytes=100)

    def test_a_newer_schema(self, tmp_path, rewritten):
        save(PRank(), tmp_path / "m")
        newer = rewritten(tmp_path / "m", tmp_path / "n", lambda f, a: ({**f, "schema": 2}, a))
        with pytest.raises(ValueError, match=r"in schema 2, and.*up to 1: update rankwise"):
            load(newer)

    def test_pickles(self, tmp_path):
        (tmp_path / "m").write_bytes(pickle.dumps(PRank()))
        with pytest.raises(ValueError, match="m can't be loaded: this is not a model"):
            load(tmp_path / "m")


class TestFiles:
    def test_a_path_of_any_kind_is_taken_exactly(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for path in ("model", "model.npz", Path("a b.rankwise")):
            save(PRank(), path)
            assert isinstance(load(path), PRank)
        assert {p.name for p in tmp_path.iterdir()} == {"model", "model.npz", "a b.rankwise"}

    def test_equal_models_give_equal_files(self, tmp_path):
        for name in ("a", "b"):
            save(OAPRank(5, random_state=0).fit(X, y), tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_what_can_not_be_opened(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "absent")
        with pytest.raises(FileNotFoundError):
            save(PRank(), tmp_path / "no" / "folder")
        for path in (tmp_path, tmp_path / "a" / ".."):
            with pytest.raises(ValueError, match="is a directory: choose another file"):
                save(PRank(), path)
        with pytest.raises(NotADirectoryError):
            save(PRank(), Path(__file__) / "a")
        with pytest.raises(ValueError, match="name a file"):
            load(tmp_path)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(os.name != "posix", reason="pipes and devices are those of POSIX")
    def test_pipes_and_devices_do_not_hang(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", "/dev/zero"):
            with pytest.raises(ValueError, match="name a file"):
                load(path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_a_pipe_is_written_into(self, tmp_path):
        pipe, path = tmp_path / "pipe", tmp_path / "m"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        save(PRank(), pipe)
        received = os.read(reader, 2**16)
        os.close(reader)
        save(PRank(), path)
        assert received == path.read_bytes()
        assert pipe.is_fifo()

    def test_an_error_in_the_middle_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "m"
        save(PRank(), path)
        before = path.read_bytes()

        def break_off(file, *_):
            file.write(b"half")
            raise KeyboardInterrupt

        monkeypatch.setattr(_models, "write_archive", break_off)
        with pytest.raises(KeyboardInterrupt):
            save(PRank(epochs=2), path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
    def test_a_killed_writer_leaves_the_old_file(self, tmp_path):
        path = tmp_path / "m"
        code = (
            "import sys, numpy as np, rankwise\n"
            "from rankwise.magnitude import MPRank\n"
            "model = MPRank()\n"
            "model.coef_ = np.zeros(2_000_000)\n"
            "rankwise.save(model, sys.argv[1])\n"
            "print('saved', flush=True)\n"
            "while True:\n"
            "    rankwise.save(model, sys.argv[1])\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout.readline() == "saved\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert len(load(path).coef_) == 2_000_000

    def test_threads_may_save_and_load_at_a_time(self, tmp_path, same):
        model = RankBoost(20).fit(X, y)
        path = tmp_path / "m"
        save(model, path)

        def turn(_):
            save(model, path)
            return same(load(path), model)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(turn, range(40)))
        assert list(tmp_path.iterdir()) == [path]
