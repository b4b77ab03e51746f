"""Pipelines with scikit-learn's steps, and models made of other models."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC

from rankwise import load, save
from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.ordinal import PRank
from rankwise.pairwise import RankSVM
from rankwise.persistence import _models
from rankwise.preference import PreferenceRanker

random = np.random.default_rng(2)
FRAME = pd.DataFrame(
    {
        "weight": random.normal(size=50),
        "length": np.where(np.arange(50) % 7 == 3, np.nan, random.normal(size=50)),
        "colour": random.choice(["red", "grün", "blue", "rare"], 50, p=[0.4, 0.3, 0.28, 0.02]),
        "size": random.integers(1, 5, 50),
    }
)
y = 1 + np.digitize(FRAME["weight"] + (FRAME["colour"] == "red"), [-0.5, 0.5, 1.5])
NUMBERS = FRAME[["weight", "length"]]


def columns(**options):
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["weight", "length"]),
            ("words", OneHotEncoder(handle_unknown="ignore", **options), ["colour"]),
            ("left out", "drop", []),
        ],
        remainder="passthrough",
    )


PIPELINES = [
    (make_pipeline(SimpleImputer(), StandardScaler(), PRank()), NUMBERS),
    (make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler(), MPRank()), NUMBERS),
    (make_pipeline(SimpleImputer(strategy="constant", fill_value=7.0), RankBoost(5)), NUMBERS),
    (
        make_pipeline(
            SimpleImputer(strategy="median"),
            PolynomialFeatures(2, interaction_only=True),
            StandardScaler(with_mean=False),
            RankSVM(max_iter=20),
        ),
        NUMBERS,
    ),
    (
        make_pipeline(
            SimpleImputer(),
            Nystroem(n_components=9, random_state=np.random.RandomState(1)),
            PRank(),
        ),
        NUMBERS,
    ),
    (make_pipeline(columns(), PRank()), FRAME),
    (make_pipeline(columns(sparse_output=False, drop="first"), StandardScaler(), MPRank()), FRAME),
    (make_pipeline(columns(min_frequency=3), PRank()), FRAME),
    (make_pipeline(columns(max_categories=2), MPRank()), FRAME),
    (make_pipeline(columns(categories=[["red", "blue"]], dtype=np.float32), PRank()), FRAME),
    (
        make_pipeline(make_column_transformer((OneHotEncoder(), [2, 3])), "passthrough", PRank()),
        FRAME,
    ),
    (
        make_pipeline(
            ColumnTransformer(
                [("a", StandardScaler(), slice("weight", "length"))], sparse_threshold=0
            ).set_output(transform="pandas"),
            SimpleImputer(missing_values=np.nan).set_output(transform="pandas"),
            MPRank(),
        ),
        FRAME,
    ),
    (
        Pipeline([("a.b", make_pipeline(SimpleImputer(), MinMaxScaler())), ("c/d", PRank())]),
        NUMBERS,
    ),
    (
        make_pipeline(
            SimpleImputer(),
            PreferenceRanker(make_pipeline(StandardScaler(), LogisticRegression()), random_state=0),
        ),
        NUMBERS,
    ),
    (make_pipeline(columns(), FunctionTransformer(), PRank()), FRAME),
]


def said(model, rows):
    return model.predict(rows) if hasattr(model[-1], "predict") else model[-1].prefer(
        *[model[:-1].transform(part) for part in (rows[:-1], rows[1:])]
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
@pytest.mark.parametrize(("pipeline", "rows"), PIPELINES, ids=lambda p: type(p).__name__)
def test_a_pipeline_is_saved_whole(tmp_path, same, pipeline, rows):
    save(pipeline, tmp_path / "unfitted")
    assert same(load(tmp_path / "unfitted"), pipeline)
    model = sklearn.base.clone(pipeline).fit(rows, y)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert same(loaded, model)
    assert same(said(loaded, rows), said(model, rows))
    again = [sklearn.base.clone(one).fit(rows, y) for one in (loaded, model)]
    assert same(*again)


def test_the_schema_of_the_input(tmp_path):
    save(make_pipeline(columns(), PRank(epochs=1)).fit(FRAME, y), tmp_path / "m")
    facts = _models.read_facts(tmp_path / "m")[0]
    assert facts["input"]["feature_names"] == ["weight", "length", "colour", "size"]
    assert facts["input"]["labels"] == [1, 2, 3, 4]
    assert facts["input"]["feature_dtypes"][:2] == [
        {"columns": ["weight", "length"], "dtypes": "<f8"},
        {"columns": ["colour"], "dtypes": ["|O"]},
    ]
    assert facts["training"]["n_rounds_"] == 50


def test_arrays_are_called_by_their_steps(tmp_path):
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", PRank())])
    save(pipeline.fit(FRAME[["weight"]], y), tmp_path / "m")
    with np.load(tmp_path / "m", allow_pickle=False) as loaded:
        assert loaded["steps.scale.mean_"] == pipeline["scale"].mean_
        assert np.array_equal(loaded["steps.rank.thresholds_"], pipeline["rank"].thresholds_)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (PCA(1), "steps.pca is a sklearn.decomposition.*PCA, which can't be saved: transform"),
        (FunctionTransformer(np.abs), "steps.functiontransformer.func is the function absolute"),
        (FeatureUnion([("a", StandardScaler())]), "FeatureUnion, which can't be saved"),
        (Nystroem(kernel=np.dot), "steps.nystroem.kernel is the function"),
        (
            make_column_transformer((StandardScaler(), make_column_selector(".*"))),
            "is the function sklearn.*make_column_selector",
        ),
    ],
    ids=lambda s: str(s)[:30],
)
def test_other_steps_are_refused_by_name(tmp_path, step, words):
    with pytest.raises(ValueError, match=words):
        save(make_pipeline(step, MPRank()), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_other_classifiers_are_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"estimator is a sklearn\.svm.*SVC.*LogisticRegression"):
        save(PreferenceRanker(SVC()), tmp_path / "m")


def test_a_cache_of_pickles_is_refused(tmp_path, rewritten):
    with pytest.raises(ValueError, match="use memory=None"):
        save(Pipeline([("a", PRank())], memory=str(tmp_path)), tmp_path / "m")
    save(Pipeline([("a", PRank())]), tmp_path / "m")

    def cache(facts, _):
        facts["model"]["params"]["memory"] = str(tmp_path)

    with pytest.raises(ValueError, match="use memory=None"):
        load(rewritten(tmp_path / "m", tmp_path / "n", cache))


def test_another_version_of_scikit_learn(tmp_path, rewritten):
    for model, warned in ((PRank(), False), (make_pipeline(StandardScaler(), PRank()), True)):
        save(model, tmp_path / "m")

        def older(facts, _):
            facts["made_with"]["scikit-learn"] = "1.7.2"

        rewritten(tmp_path / "m", tmp_path / "n", older)
        if warned:
            with pytest.warns(UserWarning, match=r"steps of scikit-learn '1\.7\.2', and this is"):
                load(tmp_path / "n")
        else:
            load(tmp_path / "n")


def test_parameters_that_are_on_their_way_out_are_not_written(tmp_path, same):
    model = PreferenceRanker(LogisticRegression())
    save(model, tmp_path / "m")
    assert b'"deprecated"' not in (tmp_path / "m").read_bytes()
    assert same(load(tmp_path / "m"), model)


def test_parameters_that_came_later_have_their_defaults(tmp_path, rewritten):
    save(make_pipeline(StandardScaler(with_std=False), PRank(epochs=3)), tmp_path / "m")

    def before(facts, _):
        scaler, model = (s["tuple"][1]["estimator"] for s in facts["model"]["params"]["steps"])
        del scaler["params"]["with_mean"], model["params"]["shuffle"]

    loaded = load(rewritten(tmp_path / "m", tmp_path / "n", before))
    assert loaded[0].with_mean
    assert not loaded[0].with_std
    assert loaded[1].get_params() == PRank(epochs=3).get_params()
