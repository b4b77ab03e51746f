"""Make the frozen files of the schema that this rankwise writes.

Run ``python tests/persistence/freeze.py`` once, when a schema is new. Its files then lie in
``data`` for good and are never made anew: every later rankwise must read them and predict what
stands beside them in ``schema-N.json``.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rankwise import save
from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.ordinal import OAPRank, PRank
from rankwise.persistence._models import SCHEMA
from rankwise.preference import PreferenceRanker

DATA = Path(__file__).parent / "data"


def rows():
    """Return rows of small whole numbers, grades and queries, the same on every machine."""
    i = np.arange(36)
    X = np.column_stack([i % 5 - 2, i % 7 - 3, i % 3]).astype(float)
    return X, (X[:, 0] + X[:, 1] > 0) + (X[:, 0] + X[:, 1] > 2) + 1, np.array(["a", "b"])[i % 2]


def frame():
    """Return the rows with names, words and a gap."""
    X, *_ = rows()
    named = pd.DataFrame(X, columns=["länge", "breite", "höhe"])
    named["farbe"] = np.array(["rot", "grün", "blau"])[X[:, 2].astype(int)]
    named.loc[3, "breite"] = np.nan
    return named


PASS = {"epochs": 1, "shuffle": False}


def models():
    """Return fitted models by name, and what they are asked about."""
    X, y, qid = rows()
    words = pd.Categorical.from_codes(y - 1, ["poor", "fair", "good"], ordered=True)
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["länge", "breite"]),
            ("words", OneHotEncoder(), ["farbe"]),
        ],
        remainder="drop",
    )
    voted = PRank(vote="voted", epochs=1, shuffle=True, random_state=np.random.RandomState(3))
    return {
        "voted": (voted.fit(given("named"), words), "named"),
        "members": (OAPRank(5, kernel="rbf", random_state=0, **PASS).fit(X, y), "X"),
        "budget": (
            PRank(kernel="rbf", budget=6, label_order=range(1, 4), vote=None, **PASS).fit(X, y),
            "X",
        ),
        "queries": (MPRank(C=10.0).partial_fit(X, y, qid=qid).close_queries(["a"]), "X"),
        "kernel": (MPRank(kernel="rbf").fit(sparse.csr_array(X), y, qid=qid), "X"),
        "boosted": (RankBoost(7).fit(X, y), "X"),
        "pairs": (PreferenceRanker(random_state=0).fit(X, y), "X"),
        "pipeline": (make_pipeline(columns, PRank(**PASS)).fit(frame(), y), "frame"),
    }


def given(what):
    """Return the rows of a name."""
    return {
        "X": rows()[0],
        "frame": frame(),
        "named": frame()[["länge", "breite", "höhe"]].fillna(0),
    }[what]


def said(model, asked):
    """Return what a model says, as JSON."""
    if not hasattr(model, "prefer"):
        return np.asarray(model.predict(asked)).tolist()
    return model.prefer(asked[:-1], asked[1:]).tolist()


if __name__ == "__main__":
    expected = {}
    for name, (model, what) in models().items():
        path = DATA / f"schema-{SCHEMA}-{name}.rankwise"
        if path.exists():
            raise SystemExit(f"{path} is frozen: a new schema has a new number")
        save(model, path)
        expected[name] = {"asked": what, "said": said(model, given(what))}
    (DATA / f"schema-{SCHEMA}.json").write_text(json.dumps(expected, indent=1) + "\n")
