"""Exported models, scored by small readers of the formats that were written from their documents.

Engines hold features, thresholds, weights and scores as float32.
"""

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank, MPRankCV, SVRank
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank
from rankwise.pairwise import RankSVM
from rankwise.persistence import export
from rankwise.persistence._export import FORMATS

pd = pytest.importorskip("pandas", reason="pandas is not installed")

f32 = np.float32
random = np.random.default_rng(0)
NAMES = ["title", "body", "recency", "clicks"]
# numbers that a float32 holds; those of one column lie on cuts
values = (random.normal(size=(100, 4)) * [1, 10, 0.1, 100]).astype(f32).astype(float)
values[:, 1] = values[:, 1].round()
X = pd.DataFrame(values, columns=NAMES)
y = np.digitize(X.to_numpy() @ [1.0, 0.1, 5.0, 0.01] + np.sin(X["title"]), [-1.0, 0.5, 2.0])
HOLES = X.mask(random.random(X.shape) < 0.2)

LINEAR = [
    RankSVM(),
    SVRank(),
    MPRank(),
    MPRankCV(),
    make_pipeline(StandardScaler(), RankSVM()),
    make_pipeline(MinMaxScaler((-1, 2)), StandardScaler(with_mean=False), MPRank()),
    make_pipeline(
        make_column_transformer((StandardScaler(), ["clicks", "title"]), ("passthrough", ["body"])),
        RankSVM(),
    ),
    make_pipeline(
        make_column_transformer((StandardScaler(), [0, 1]), (MinMaxScaler(), slice(1, 3))),
        RankSVM(),
    ),
]
BOOSTED = [
    RankBoost(20),
    RankBoost(20, max_bins=None),
    make_pipeline(StandardScaler(), RankBoost(20)),
    make_pipeline(MinMaxScaler(), RankBoost(20)),
    RankBoost(20, max_leaf_nodes=6, learning_rate=0.3, min_samples_leaf=2),
    make_pipeline(StandardScaler(), RankBoost(20, max_leaf_nodes=4, learning_rate=0.3)),
]


def linear_es(text, rows):
    """Elasticsearch: the weighted sum of normalised features."""
    model = json.loads(text)["model"]["model"]
    assert model["type"] == "model/linear"
    norms = model.get("feature_normalizers", {})
    total = np.zeros(len(rows), f32)
    for name, weight in json.loads(model["definition"]).items():
        x = rows[name].to_numpy(f32)
        if name in norms:
            norm = norms[name]["standard"]
            x = (x - f32(norm["mean"])) / f32(norm["standard_deviation"])
        total += f32(weight) * x
    return total


def linear_solr(text, rows):
    """Solr: LinearModel with StandardNormalizer."""
    model = json.loads(text)
    assert model["class"] == "org.apache.solr.ltr.model.LinearModel"
    total = np.zeros(len(rows), f32)
    for feature in model["features"]:
        x = rows[feature["name"]].to_numpy(f32)
        if "norm" in feature:
            assert feature["norm"]["class"].endswith("norm.StandardNormalizer")
            norm = feature["norm"]["params"]
            x = (x - f32(norm["avg"])) / f32(norm["std"])
        total += f32(model["params"]["weights"][feature["name"]]) * x
    return total


def linear_ranklib(text, rows):
    """RankLib: fid:weight, numbered from 1."""
    head, line = text.strip().split("\n")
    assert head == "## Coordinate Ascent"
    pairs = (entry.split(":") for entry in line.split())
    return sum(f32(weight) * rows.iloc[:, int(fid) - 1].to_numpy(f32) for fid, weight in pairs)


def trees_es(text, rows):
    """Elasticsearch: left if x < split_condition; a missing feature goes where it is told."""
    model = json.loads(text)["model"]["model"]
    assert model["type"] == "model/xgboost+json"

    def score(node, row):
        while "leaf" not in node:
            assert set(node) == {"nodeid", "depth", "split", "split_condition", "yes", "no",
                                 "missing", "children"}  # fmt: skip
            x = f32(row[node["split"]])
            side = "yes" if x < f32(node["split_condition"]) else "no"
            wanted = node["missing"] if np.isnan(x) else node[side]
            node = next(child for child in node["children"] if child["nodeid"] == wanted)
        return f32(node["leaf"])

    trees = json.loads(model["definition"])
    return np.array([sum(score(tree, row) for tree in trees) for _, row in rows.iterrows()])


def trees_solr(text, rows):
    """Solr: left if x <= threshold, to which it adds a slack of 1e-6."""
    model = json.loads(text)
    assert model["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    known = {feature["name"] for feature in model["features"]}

    def score(node, row):
        while "value" not in node:
            assert node["feature"] in known
            threshold = f32(node["threshold"]) + f32(1e-6)
            node = node["left" if f32(row[node["feature"]]) <= threshold else "right"]
        return f32(node["value"])

    trees = model["params"]["trees"]
    return np.array(
        [sum(f32(t["weight"]) * score(t["root"], row) for t in trees) for _, row in rows.iterrows()]
    )


def trees_ranklib(text, rows):
    """RankLib: fid:threshold:alpha, alpha if x > threshold."""
    head, line = text.strip().split("\n")
    assert head == "## RankBoost"
    total = np.zeros(len(rows), f32)
    for entry in line.split():
        fid, cut, alpha = entry.split(":")
        total += f32(alpha) * (rows.iloc[:, int(fid) - 1].to_numpy(f32) > f32(cut))
    return total


def plain_json(text, rows):
    model = json.loads(text)

    def score(node, row):
        while isinstance(node, dict):
            x = row[node["column"]]
            side = node["missing"] if np.isnan(x) else "left" if x <= node["at_most"] else "right"
            node = node[side]
        return node

    if "trees" in model:
        return [sum(score(t, row) for t in model["trees"]) for _, row in rows.iterrows()]
    filled = rows.fillna(model["missing"])
    return model["constant"] + sum(w * filled[n] for n, w in model["weights"].items())


def plain_python(text, rows):
    """Run it where nothing is installed, on rows as JSON."""
    code = text + "\nimport json, sys\nprint(json.dumps([score(r) for r in json.load(sys.stdin)]))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        input=json.dumps(rows.astype(float).to_dict("records")),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


READERS = {"es-linear": linear_es, "solr-linear": linear_solr, "es-xgboost": trees_es,
           "solr-trees": trees_solr, "json": plain_json, "python": plain_python}  # fmt: skip
BOTH = {"json", "python"}


def reader(to, model):
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    boosted = isinstance(last, RankBoost)
    return {**READERS, "ranklib": trees_ranklib if boosted else linear_ranklib}[to]


@pytest.mark.parametrize("to", ["es-linear", "solr-linear", "ranklib", "json", "python"])
@pytest.mark.parametrize("model", LINEAR, ids=lambda model: str(model)[:40])
def test_linear(to, model):
    model.fit(X, y)
    found = reader(to, model)(export(model, to), X)
    wanted = model.predict(X)
    if to not in BOTH:  # they have no constant
        found, wanted = found - found[0], wanted - wanted[0]
    tolerance = 1e-9 if to in BOTH else 2e-5
    assert_allclose(found, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("to", ["es-xgboost", "solr-trees", "ranklib", "json", "python"])
@pytest.mark.parametrize("model", BOOSTED, ids=lambda model: str(model)[:40])
def test_boosted(to, model):
    model.fit(X, y)
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if to == "ranklib" and last.max_leaf_nodes > 2:
        with pytest.raises(ValueError, match="takes stumps only"):
            export(model, to)
        return
    found = reader(to, model)(export(model, to), X)
    assert_allclose(found, model.predict(X), rtol=0, atol=1e-9 if to in BOTH else 1e-5)


@pytest.mark.parametrize("to", ["es-xgboost", "json", "python"])
@pytest.mark.parametrize(
    "model",
    [
        RankBoost(20),
        make_pipeline(SimpleImputer(), RankBoost(20)),
        RankBoost(20, max_leaf_nodes=5, learning_rate=0.3),
    ],
    ids=["learned", "filled", "trees"],
)
def test_boosted_with_missing_values(to, model):
    model.fit(HOLES, y)
    found = reader(to, model)(export(model, to), HOLES)
    assert_allclose(found, model.predict(HOLES), rtol=0, atol=1e-9 if to in BOTH else 1e-5)


@pytest.mark.parametrize(
    "steps",
    [
        (SimpleImputer(), StandardScaler()),
        (StandardScaler(), SimpleImputer(strategy="median")),
        (make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), NAMES)),),
    ],
    ids=["before", "after", "columns"],
)
def test_linear_with_missing_values(steps):
    model = make_pipeline(*steps, RankSVM()).fit(HOLES, y)
    for to in BOTH:
        found = reader(to, model)(export(model, to), HOLES)
        assert_allclose(found, model.predict(HOLES), atol=1e-12)
    with pytest.warns(UserWarning, match="missing feature counts as 0"):
        text = export(model, "es-linear")
    found, wanted = linear_es(text, X), model.predict(X)
    assert_allclose(found - found[0], wanted - wanted[0], rtol=0, atol=2e-5 * np.abs(wanted).max())


def test_ordinal_models_are_exported_by_their_projection():
    rows = X / X.std()
    for model in (PRank(), OAPRank(5, random_state=0)):
        model.fit(rows.to_numpy(), y)
        found = plain_json(export(model, "json"), rows.set_axis(["x0", "x1", "x2", "x3"], axis=1))
        assert_allclose(found, model.project(rows.to_numpy()), atol=1e-12)


def test_shift():
    model = RankBoost(20).fit(X, y)
    before = trees_es(export(model, "es-xgboost"), X)
    after = trees_es(export(model, "es-xgboost", shift="auto"), X)
    lowest = np.minimum(model.alphas_, 0.0).sum()
    assert_allclose(after - before, -lowest, atol=1e-5)
    assert after.min() >= -1e-5
    for to in ("ranklib", "solr-trees", "json", "python"):
        assert_allclose(reader(to, model)(export(model, to, shift=2.5), X), model.predict(X) + 2.5,
                        atol=1e-5)  # fmt: skip
    linear = RankSVM().fit(X, y)
    assert_allclose(plain_json(export(linear, "json", shift=3), X), linear.predict(X) + 3)
    with pytest.raises(ValueError, match="no constant"):
        export(linear, "es-linear", shift=1.0)
    with pytest.raises(ValueError, match="smallest score"):
        export(linear, "json", shift="auto")


@pytest.mark.parametrize(
    ("model", "to", "message"),
    [
        (RankSVM(), "xml", r"to='xml' is invalid: expected one of \['es-linear'"),
        (RankSVM(), "es-xgboost", r"does not fit a linear model: take one of \['es-linear'"),
        (RankBoost(2), "solr-linear", "does not fit a boosted model"),
        (RankSVM(kernel="rbf"), "json", r"RankSVM\(kernel='rbf'\) is neither"),
        (MulticlassPerceptron(), "json", "neither"),
        (make_pipeline(PolynomialFeatures(2), RankSVM()), "json", "PolynomialFeatures makes"),
        (make_pipeline(OneHotEncoder(handle_unknown="ignore"), RankSVM()), "json", "OneHotEncoder"),
        (make_pipeline(MinMaxScaler(clip=True), RankSVM()), "json", "MinMaxScaler makes"),
        (make_pipeline(SimpleImputer(add_indicator=True), RankSVM()), "json", "SimpleImputer"),
        (make_pipeline(SimpleImputer(missing_values=-1), RankSVM()), "json", "missing_values=-1"),
        (make_pipeline(StandardScaler(), PRank(kernel="poly", degree=2)), "json", "kernel='poly'"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(model, to, message):
    model.fit(HOLES if "Imputer" in message else X, y)
    with pytest.raises(ValueError, match=message):
        export(model, to)


def test_arguments_are_checked():
    model = RankSVM().fit(X, y)
    for bad in (np.nan, "much", True, None):
        with pytest.raises(ValueError, match="shift="):
            export(model, "json", shift=bad)
    with pytest.raises(ValueError, match="name="):
        export(model, "json", name=" ")
    assert set(FORMATS) == {*READERS, "ranklib"}


def test_hostile_names_stay_texts():
    odd = X.set_axis(['a"b', "c\\d", '"""', "é\n"], axis=1)
    for model in (RankSVM().fit(odd, y), RankBoost(5).fit(odd, y)):
        for to in sorted(BOTH):
            found = reader(to, model)(export(model, to, name='x"""\nraise\\'), odd)
            assert_allclose(found, model.predict(odd))
