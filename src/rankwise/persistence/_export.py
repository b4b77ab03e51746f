"""Models for search engines and other programs: each format is a text.

Engines compute in float32. Cuts are rounded so that a float32 value falls on the side where the
model puts it; weights and leaves are rounded to the nearest.
"""

import json
import pprint
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise._core.arguments import warn_user
from rankwise.persistence._forms import Linear, Node, Trees, plain_form

# Solr adds this to every threshold that it reads.
_SOLR_SLACK = 1e-6
_LARGEST, _LARGEST_SINGLE = np.finfo(float).max, np.finfo(np.float32).max


def export(model: Any, to: str, *, name: str = "rankwise", shift: float | str = 0.0) -> str:
    r"""Return a model as the text that a search engine, or another program, takes.

    Parameters
    ----------
    model : estimator
        A fitted linear or boosted model of rankwise, or a pipeline of one with StandardScaler,
        MinMaxScaler, SimpleImputer and ColumnTransformer, which are folded into it.
    to : str
        - "es-linear", "es-xgboost": the body of ``POST _ltr/_featureset/SET/_createmodel`` of the
          Learning to Rank plugin of Elasticsearch and OpenSearch, for linear and boosted models;
        - "solr-linear", "solr-trees": a model for the model store of Solr;
        - "ranklib": a model file of RankLib, "Coordinate Ascent" for linear models and "RankBoost"
          for stumps, features numbered from 1;
        - "json": all numbers in a plain form;
        - "python": a file with a function ``score(row)`` that needs nothing else.
    name : str, default="rankwise"
        The name of the model in the engine.
    shift : float or "auto", default=0.0
        Is added to every score. Lucene refuses negative ones; the order stays the same. "auto"
        makes the smallest score that trees can give 0. The linear formats of engines and RankLib
        have no constant: there a shift is refused.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the format does not fit the model.

    Notes
    -----
    Formats without a constant leave out the intercept of a linear model, which moves all scores
    alike. Engines count a missing feature as 0, so where a SimpleImputer fills another value, a
    warning tells to log every feature.

    Examples
    --------
    >>> from rankwise.pairwise import RankSVM
    >>> from rankwise.persistence import export
    >>> model = RankSVM().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], [0, 1, 2])
    >>> print(export(model, "es-linear", name="shop"))
    {
      "model": {
        "name": "shop",
        "model": {
          "type": "model/linear",
          "definition": "{\"x0\": 0..., \"x1\": -0...}"
        }
      }
    }
    """
    if to not in FORMATS:
        raise ValueError(f"to={to!r} is not among {sorted(FORMATS)}")
    if not (isinstance(name, str) and name.strip()):
        raise ValueError(f"name={name!r} must be a text that is not empty")
    form = plain_form(model)
    by = _shift(form, shift)
    wanted, write = FORMATS[to]
    if not isinstance(form, wanted):
        fitting = [key for key, (kind, _) in FORMATS.items() if isinstance(form, kind)]
        noun = "a linear model" if isinstance(form, Linear) else "a boosted model"
        raise ValueError(f"to={to!r} does not fit {noun}: take one of {sorted(fitting)}")
    if isinstance(form, Linear) and to not in {"json", "python"}:
        if by:
            raise ValueError(f"to={to!r} has no constant, so shift={shift!r} can't be kept there")
        filled = [n for n, value in zip(form.names, form.fill, strict=True) if value == value]
        if filled:
            warn_user(
                f"a missing feature counts as 0 in a search engine, and the model fills others: "
                f"log a value of {', '.join(filled[:5])}{' ...' * (len(filled) > 5)} in every row"
            )
    return write(_shifted(form, by), name)


def _shift(form: Linear | Trees, shift: float | str) -> float:
    """Return the number that is added to the scores."""
    if isinstance(shift, str) and shift == "auto":
        if isinstance(form, Linear):
            raise ValueError("shift='auto' needs a smallest score, which linear models don't have")
        return max(0.0, -sum(tree.fold(float, lambda _, *sides: min(sides)) for tree in form.trees))
    number = isinstance(shift, int | float) and not isinstance(shift, bool)
    if not (number and np.isfinite(float(shift))):
        raise ValueError(f"shift={shift!r} must be a number or 'auto'")
    return float(shift)


def _shifted(form: Linear | Trees, by: float) -> Linear | Trees:
    if not by:
        return form
    if isinstance(form, Trees):
        return Trees(form.names, [*form.trees, Node(by)])
    return replace(form, constant=form.constant + by)


def _single(value: float) -> float:
    """Return the nearest float32, as the double of the fewest digits that is read as the same."""
    return float(str(np.float32(value)))


def _below(cut: float) -> np.float32:
    """Return the largest float32 that is not above a cut: no value lies between."""
    with np.errstate(over="ignore"):
        near = np.float32(cut)
    return near if float(near) <= cut else np.nextafter(near, np.float32(-np.inf))


def _finite(cut: np.float32) -> float:
    """Return a float32 that JSON can hold, all rows on the same side."""
    return _single(float(np.clip(cut, -_LARGEST_SINGLE, _LARGEST_SINGLE)))


def _es(kind: str, definition: Any, name: str, **more: Any) -> str:
    model = {"type": kind, **more, "definition": json.dumps(definition)}
    return json.dumps({"model": {"name": name, "model": model}}, indent=2)


def _es_linear(form: Linear, name: str) -> str:
    weights = {n: _single(w) for n, w in zip(form.names, form.weights, strict=True) if w}
    normalizers = {
        n: {"standard": {"mean": _single(mean), "standard_deviation": _single(scale)}}
        for n, w, mean, scale in zip(form.names, form.weights, form.means, form.scales, strict=True)
        if w and (mean, scale) != (0.0, 1.0)
    }
    more = {"feature_normalizers": normalizers} if normalizers else {}
    return _es("model/linear", weights, name, **more)


def _es_xgboost(form: Trees, name: str) -> str:
    trees = [_es_node(tree, form.names, 0, [0]) for tree in form.trees]
    return _es("model/xgboost+json", trees, name)


def _es_node(node: Node, names: list[str], depth: int, count: list[int]) -> dict[str, Any]:
    """Return a node; ``count`` holds the number of nodes so far."""
    number = count[0]
    count[0] += 1
    if node.left is None or node.right is None:
        return {"nodeid": number, "depth": depth, "leaf": _single(node.value)}
    left = _es_node(node.left, names, depth + 1, count)
    right = _es_node(node.right, names, depth + 1, count)
    condition = np.nextafter(_below(node.cut), np.float32(np.inf))
    return {
        "nodeid": number,
        "depth": depth,
        "split": names[node.feature],
        "split_condition": _finite(condition),
        "yes": left["nodeid"],
        "no": right["nodeid"],
        "missing": (left if node.missing_left else right)["nodeid"],
        "children": [left, right],
    }


def _solr(kind: str, features: list[dict[str, Any]], params: dict[str, Any], name: str) -> str:
    model = {"class": f"org.apache.solr.ltr.model.{kind}", "name": name}
    return json.dumps({**model, "features": features, "params": params}, indent=2)


def _solr_linear(form: Linear, name: str) -> str:
    features: list[dict[str, Any]] = []
    for n, w, mean, scale in zip(form.names, form.weights, form.means, form.scales, strict=True):
        if w:
            norm = {
                "class": "org.apache.solr.ltr.norm.StandardNormalizer",
                "params": {"avg": str(_single(mean)), "std": str(_single(scale))},
            }
            features.append({"name": n, **({"norm": norm} if (mean, scale) != (0.0, 1.0) else {})})
    weights = {n: _single(w) for n, w in zip(form.names, form.weights, strict=True) if w}
    return _solr("LinearModel", features, {"weights": weights}, name)


def _solr_trees(form: Trees, name: str) -> str:
    used: set[int] = set()

    def node(node: Node, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        used.add(node.feature)
        threshold = str(_finite(np.float32(float(_below(node.cut)) - _SOLR_SLACK)))
        feature = form.names[node.feature]
        return {"feature": feature, "threshold": threshold, "left": left, "right": right}

    roots = [tree.fold(lambda value: {"value": str(_single(value))}, node) for tree in form.trees]
    features = [{"name": form.names[number]} for number in sorted(used)]
    trees = [{"weight": "1", "root": root} for root in roots]
    return _solr("MultipleAdditiveTreesModel", features, {"trees": trees}, name)


def _ranklib(form: Linear | Trees, _: str) -> str:
    if isinstance(form, Linear):
        weights = enumerate(form.folded()[0].tolist(), start=1)
        return "## Coordinate Ascent\n" + " ".join(f"{n}:{w!r}" for n, w in weights if w) + "\n"
    entries = []
    for tree in form.trees:
        if tree.left is None or tree.right is None:
            entries.append((1, -float(_LARGEST_SINGLE), tree.value))
        elif tree.left == Node(0.0) and tree.right.left is None:
            entries.append((tree.feature + 1, _finite(_below(tree.cut)), tree.right.value))
        else:
            raise ValueError("to='ranklib' takes stumps only: export trees to another format")
    return "## RankBoost\n" + " ".join(f"{f}:{cut!r}:{alpha!r}" for f, cut, alpha in entries) + "\n"


def _json(form: Linear | Trees, name: str) -> str:
    if isinstance(form, Linear):
        weights, constant = form.folded()
        plain: dict[str, Any] = {"constant": constant, "weights": _by_name(form.names, weights)}
        plain["missing"] = _by_name(form.names, form.fill)
    else:

        def split(node: Node, left: Any, right: Any) -> Any:
            return {
                "column": form.names[node.feature],
                "at_most": float(np.clip(node.cut, -_LARGEST, _LARGEST)),
                "missing": "left" if node.missing_left else "right",
                "left": left,
                "right": right,
            }

        plain = {"trees": [tree.fold(float, split) for tree in form.trees]}
    return json.dumps({"model": name, "columns": form.names, **plain}, indent=2, allow_nan=False)


def _by_name(names: list[str], values: Any) -> dict[str, float]:
    return {n: float(v) for n, v in zip(names, values, strict=True) if v == v}


_PYTHON_LINEAR = '''\
"""Scores rows as the model {name} does: score(row), with a dict of its columns."""

CONSTANT = {constant}
WEIGHTS = {weights}
MISSING = {missing}  # what a column without a value counts as


def score(row):
    """Return the score of a row, higher is better."""
    total = CONSTANT
    for column, weight in WEIGHTS.items():
        value = row.get(column)
        if value is None or value != value:
            value = MISSING[column]
        total += weight * value
    return total
'''

_PYTHON_TREES = '''\
"""Scores rows as the model {name} does: score(row), with a dict of its columns."""

# A tree is a score, or (column, cut, is a missing value left?, left if x <= cut, right).
TREES = {trees}


def score(row):
    """Return the score of a row, higher is better."""
    total = 0.0
    for node in TREES:
        while isinstance(node, tuple):
            column, cut, missing_left, left, right = node
            value = row.get(column)
            if value is None or value != value:
                node = left if missing_left else right
            else:
                node = left if value <= cut else right
        total += node
    return total
'''


def _python(form: Linear | Trees, name: str) -> str:
    quoted = json.dumps(name)
    if isinstance(form, Trees):

        def split(node: Node, left: Any, right: Any) -> Any:
            cut = float(np.clip(node.cut, -_LARGEST, _LARGEST))
            return (form.names[node.feature], cut, node.missing_left, left, right)

        trees = [tree.fold(float, split) for tree in form.trees]
        return _PYTHON_TREES.format(name=quoted, trees=pprint.pformat(trees, width=100))
    weights, constant = form.folded()
    return _PYTHON_LINEAR.format(
        name=quoted,
        constant=repr(constant),
        weights=pprint.pformat(_by_name(form.names, weights), width=100, sort_dicts=False),
        missing=pprint.pformat(_by_name(form.names, form.fill), width=100, sort_dicts=False),
    )


# Which form each format takes, and its writer.
FORMATS: dict[str, tuple[Any, Callable[..., str]]] = {
    "es-linear": (Linear, _es_linear),
    "es-xgboost": (Trees, _es_xgboost),
    "json": (Linear | Trees, _json),
    "python": (Linear | Trees, _python),
    "ranklib": (Linear | Trees, _ranklib),
    "solr-linear": (Linear, _solr_linear),
    "solr-trees": (Trees, _solr_trees),
}
