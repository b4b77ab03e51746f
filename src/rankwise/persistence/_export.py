"""Export of models to search engines and other programs, as text.

A model becomes plain numbers first: a weighted sum of columns, or a sum of trees over columns. The
steps before it in a pipeline, scaling and imputation, are folded into these numbers, so that they
apply to the columns of the input.

Engines compute in float32. Cuts are rounded so that a float32 value falls on the side where the
model puts it; weights and leaves are rounded to the nearest.
"""

import json
import pprint
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import warn_user

Floats = NDArray[np.float64]
T = TypeVar("T")

# Solr adds this to every threshold that it reads.
_SOLR_SLACK = 1e-6
_LARGEST, _LARGEST_SINGLE = np.finfo(float).max, np.finfo(np.float32).max


class Column(NamedTuple):
    """A column as a model uses it: (x - mean) / scale, with ``fill`` where x is missing.

    Attributes
    ----------
    source : int
        The number of the column that comes in.
    fill, mean, scale : float
        ``fill`` is NaN where missing values are left as they are.
    """

    source: int
    fill: float = np.nan
    mean: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Linear:
    """The score ``constant + sum of weights * (x - means) / scales``.

    Attributes
    ----------
    names : list of str
        The columns that come in.
    weights, means, scales : ndarray of shape (n_columns,)
        Of each of them; the weight is 0 where the model does not use it.
    fill : ndarray of shape (n_columns,)
        What a missing value counts as, NaN where none was ever seen.
    constant : float
    """

    names: list[str]
    weights: Floats
    means: Floats
    scales: Floats
    fill: Floats
    constant: float

    def folded(self) -> tuple[Floats, float]:
        """Return weights and a constant for the columns as they are."""
        weights = self.weights / self.scales
        return weights, float(self.constant - weights @ self.means)


class Node(NamedTuple):
    """A leaf if ``left`` is None, otherwise a split: left if x <= cut.

    Attributes
    ----------
    value : float
        The score of a leaf.
    feature : int
        The number of the column that is compared.
    cut : float
    missing_left : bool
        Where a missing value goes.
    left, right : Node or None
    """

    value: float = 0.0
    feature: int = -1
    cut: float = 0.0
    missing_left: bool = False
    left: "Node | None" = None
    right: "Node | None" = None

    def fold(self, leaf: Callable[[float], T], split: Callable[["Node", T, T], T]) -> T:
        """Return ``leaf(value)`` of a leaf, or ``split(node, left, right)`` of folded children."""
        if self.left is None or self.right is None:
            return leaf(self.value)
        return split(self, self.left.fold(leaf, split), self.right.fold(leaf, split))


@dataclass(frozen=True, eq=False)
class Trees:
    """The sum of the leaves that a row reaches, one in each tree."""

    names: list[str]
    trees: list[Node]


def plain_form(model: Any) -> Linear | Trees:
    """Return a fitted model as numbers.

    Parameters
    ----------
    model : estimator
        A linear or boosted model of rankwise, or a pipeline of one.

    Raises
    ------
    ValueError
        If it is neither, or a step before it makes other columns than it takes.
    """
    check_is_fitted(model)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    last = getattr(last, "best_estimator_", last)
    n = model.n_features_in_
    names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    names = names or [f"x{number}" for number in range(n)]
    columns = [Column(number) for number in range(n)]
    if isinstance(model, Pipeline):
        columns = _after(model[:-1], columns)
    if hasattr(last, "cutpoints_"):
        return Trees(names, _trees(last, columns))
    coef = getattr(last, "coef_", None)
    if coef is None or np.shape(coef) != (len(columns),):
        raise ValueError(
            f"{type(last).__name__}(kernel={getattr(last, 'kernel', None)!r}) is neither a "
            "weighted sum of columns nor a sum of trees, and no search engine takes it: fit a "
            "linear kernel or RankBoost"
        )
    return _linear(names, columns, coef, float(getattr(last, "intercept_", 0.0)))


def _linear(names: list[str], columns: list[Column], coef: Floats, constant: float) -> Linear:
    n = len(names)
    weights, means, scales, fill = np.zeros(n), np.zeros(n), np.ones(n), np.full(n, np.nan)
    used = [column.source for column in columns]
    once = len(set(used)) == len(used)
    for weight, column in zip(coef.tolist(), columns, strict=True):
        at = column.source
        fill[at] = column.fill
        if once:
            weights[at], means[at], scales[at] = weight, column.mean, column.scale
        else:  # a column that the model sees twice has one weight as it comes in
            weights[at] += weight / column.scale
            constant -= weight * column.mean / column.scale
    return Linear(names, weights, means, scales, fill, constant)


def _trees(model: Any, columns: list[Column]) -> list[Node]:
    """Return what boosting has learned, as questions about the columns that come in."""
    learned = (model.features_, model.cutpoints_, model.missing_above_)
    nodes = list(zip(*(values.tolist() for values in learned), strict=True))
    if hasattr(model, "alphas_"):
        steps = zip(nodes, model.alphas_.tolist(), strict=True)
        return [_split(columns, node, Node(0.0), Node(alpha)) for node, alpha in steps]
    children, values = model.children_.tolist(), model.leaf_values_.tolist()

    def grown(node: int, leaf: int, at: int) -> Node:
        """Return a part of the tree that begins with a node and a leaf."""
        if at < 0:
            return Node(values[leaf + ~at])
        left, right = (grown(node, leaf, child) for child in children[node + at])
        return _split(columns, nodes[node + at], left, right)

    starts = model.tree_starts_.tolist()
    return [
        grown(start, start + tree, 0 if stop > start else -1)
        for tree, (start, stop) in enumerate(pairwise(starts))
    ]


def _split(
    columns: list[Column], learned: tuple[int, float, bool], left: Node, right: Node
) -> Node:
    feature, cut, above = learned
    column = columns[feature]
    if not np.isnan(column.fill):
        above = (column.fill - column.mean) / column.scale > cut
    return Node(0.0, column.source, column.mean + column.scale * cut, not above, left, right)


def _after(step: Any, columns: list[Column]) -> list[Column]:
    """Return the columns that a fitted step makes of some."""
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            columns = _after(inner, columns)
        return columns
    if isinstance(step, ColumnTransformer):
        places = step._transformer_to_input_indices
        parts = [
            _after(inner, [columns[place] for place in places[name]])
            for name, inner, _ in step.transformers_
            if not (isinstance(inner, str) and inner == "drop") and len(places[name])
        ]
        return [column for part in parts for column in part]
    is_function = isinstance(step, FunctionTransformer) and step.func is None
    if step is None or is_function or (isinstance(step, str) and step == "passthrough"):
        return columns
    if isinstance(step, SimpleImputer) and not step.add_indicator:
        return _filled(step, columns)
    if isinstance(step, StandardScaler):
        means = step.mean_ if step.with_mean else np.zeros(len(columns))
        scales = step.scale_ if step.with_std else np.ones(len(columns))
    elif isinstance(step, MinMaxScaler) and not step.clip:
        means, scales = -step.min_ / step.scale_, 1.0 / step.scale_
    else:
        raise ValueError(
            f"{type(step).__name__} makes columns that a search engine does not have: export takes "
            "StandardScaler, MinMaxScaler and SimpleImputer, and ColumnTransformer of these"
        )
    return [
        column._replace(mean=column.mean + column.scale * mean, scale=column.scale * scale)
        for column, mean, scale in zip(columns, means, scales, strict=True)
    ]


def _filled(imputer: SimpleImputer, columns: list[Column]) -> list[Column]:
    """Return columns whose missing values are filled; those that are filled already stay."""
    missing, values = imputer.missing_values, imputer.statistics_
    if isinstance(missing, str | int | float) and missing == missing:
        raise ValueError(
            f"a SimpleImputer of missing_values={missing!r} can't be exported, since for a search "
            "engine only absent values are missing: use missing_values=nan"
        )
    if len(values) != len(columns) or np.isnan(values).any():
        raise ValueError("a SimpleImputer that drops columns without a value can't be exported")
    return [
        column._replace(fill=column.mean + column.scale * value)
        if np.isnan(column.fill)
        else column
        for column, value in zip(columns, values.tolist(), strict=True)
    ]


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
        raise ValueError(f"to={to!r} is invalid: expected one of {sorted(FORMATS)}")
    if not (isinstance(name, str) and name.strip()):
        raise ValueError(f"name={name!r} is invalid: expected a string that is not empty")
    form = plain_form(model)
    takes, write = FORMATS[to]
    if not isinstance(form, takes):
        fitting = [key for key, (kind, _) in FORMATS.items() if isinstance(form, kind)]
        noun = "a linear model" if isinstance(form, Linear) else "a boosted model"
        raise ValueError(f"to={to!r} does not fit {noun}: take one of {sorted(fitting)}")
    shifted = _shifted(form, shift)
    if isinstance(form, Linear) and to not in {"json", "python"}:
        if shifted is not form:
            raise ValueError(f"to={to!r} has no constant, so shift={shift!r} can't be kept there")
        filled = [n for n, value in zip(form.names, form.fill, strict=True) if value == value]
        if filled:
            warn_user(
                f"a missing feature counts as 0 in a search engine, and the model fills others: "
                f"log a value of {', '.join(filled[:5])}{' ...' * (len(filled) > 5)} in every row"
            )
    return write(shifted, name)


def _shifted(form: Linear | Trees, shift: float | str) -> Linear | Trees:
    """Return a model whose scores are larger by a number; itself for 0."""
    if isinstance(shift, str) and shift == "auto":
        if isinstance(form, Linear):
            raise ValueError("shift='auto' needs a smallest score, which linear models don't have")
        lowest = sum(tree.fold(float, lambda _, *sides: min(sides)) for tree in form.trees)
        by = max(0.0, -lowest)
    elif isinstance(shift, str | bool) or not (isinstance(shift, int | float) and isfinite(shift)):
        raise ValueError(f"shift={shift!r} is invalid: expected a finite number or 'auto'")
    else:
        by = float(shift)
    if isinstance(form, Trees):
        return Trees(form.names, [*form.trees, Node(by)]) if by else form
    return replace(form, constant=form.constant + by) if by else form


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


def _weights(form: Linear) -> dict[str, float]:
    """Return the weights that are not 0, by the name of the column."""
    return {n: _single(w) for n, w in zip(form.names, form.weights, strict=True) if w}


def _scalings(form: Linear) -> dict[str, tuple[float, float]]:
    """Return mean and scale of the columns that are scaled and have a weight."""
    columns = zip(form.names, form.weights, form.means, form.scales, strict=True)
    scaled = {n: (mean, scale) for n, w, mean, scale in columns if w}
    return {n: (_single(m), _single(s)) for n, (m, s) in scaled.items() if (m, s) != (0.0, 1.0)}


def _es_linear(form: Linear, name: str) -> str:
    normalizers = {
        n: {"standard": {"mean": mean, "standard_deviation": scale}}
        for n, (mean, scale) in _scalings(form).items()
    }
    more = {"feature_normalizers": normalizers} if normalizers else {}
    return _es("model/linear", _weights(form), name, **more)


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
    kind = "org.apache.solr.ltr.norm.StandardNormalizer"
    norms = {
        n: {"norm": {"class": kind, "params": {"avg": str(mean), "std": str(scale)}}}
        for n, (mean, scale) in _scalings(form).items()
    }
    weights = _weights(form)
    features = [{"name": n, **norms.get(n, {})} for n in weights]
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
