"""Models as plain numbers: a weighted sum of columns, or a sum of trees over columns.

What stands before a model in a pipeline, scaling and filling of missing values, is folded into
these forms, so that they take the columns as they come.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

Floats = NDArray[np.float64]
T = TypeVar("T")


class Column(NamedTuple):
    """What a model sees of a column: (x - mean) / scale, and of ``fill`` where x is missing.

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

    def scaled(self, mean: float, scale: float) -> "Column":
        """Return the column with one more scaling after the one that it has."""
        return self._replace(mean=self.mean + self.scale * mean, scale=self.scale * scale)

    def filled(self, value: float) -> "Column":
        """Return the column with its missing values filled, if they are not yet."""
        known = self.mean + self.scale * value
        return self._replace(fill=known if np.isnan(self.fill) else self.fill)


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
        for _, step in model.steps[:-1]:
            columns = _after(step, columns, names)
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


def _after(step: Any, columns: list[Column], names: list[str]) -> list[Column]:
    """Return the columns that a fitted step makes of some."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            columns = _after(inner, columns, names)
        return columns
    if isinstance(step, StandardScaler):
        means = step.mean_ if step.with_mean else np.zeros(len(columns))
        scales = step.scale_ if step.with_std else np.ones(len(columns))
        return [c.scaled(m, s) for c, m, s in zip(columns, means, scales, strict=True)]
    if isinstance(step, MinMaxScaler) and not step.clip:
        ends = zip(columns, -step.min_ / step.scale_, 1.0 / step.scale_, strict=True)
        return [column.scaled(mean, scale) for column, mean, scale in ends]
    if isinstance(step, SimpleImputer) and not step.add_indicator:
        absent = step.missing_values
        if isinstance(absent, str | int | float) and absent == absent:
            raise ValueError(
                f"a SimpleImputer of missing_values={absent!r} can't be exported, since only a "
                "value that is not there is missing elsewhere: use missing_values=nan"
            )
        if len(step.statistics_) != len(columns) or np.isnan(step.statistics_).any():
            raise ValueError("a SimpleImputer that drops columns without a value can't be exported")
        return [c.filled(v) for c, v in zip(columns, step.statistics_.tolist(), strict=True)]
    if isinstance(step, FunctionTransformer) and step.func is None:
        return columns
    if isinstance(step, ColumnTransformer):
        made = []
        for _, inner, chosen in step.transformers_:
            if isinstance(inner, str) and inner == "drop":
                continue
            if places := _places(chosen, names, len(columns)):
                made += _after(inner, [columns[place] for place in places], names)
        return made
    raise ValueError(
        f"{type(step).__name__} makes columns that a search engine does not have: export takes "
        "StandardScaler, MinMaxScaler and SimpleImputer, and ColumnTransformer of these"
    )


def _places(chosen: Any, names: list[str], n: int) -> list[int]:
    """Return the numbers of columns that are given by number, name, mask or slice."""
    if isinstance(chosen, slice):
        return list(range(n))[chosen]
    chosen = [chosen] if isinstance(chosen, str) else list(chosen)
    if chosen and isinstance(chosen[0], str):
        return [names.index(name) for name in chosen]
    return np.arange(n)[np.asarray(chosen)].tolist() if chosen else []
