"""Scores of stumps and trees that were learned, and what each feature adds to them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.boosting._loops.histogram import add_trees

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Values of rows that are read at a time.
CHUNK = 1 << 22


class FeatureScore(NamedTuple):
    """The part of the score that one feature adds: a step function of its value.

    Attributes
    ----------
    cuts : ndarray of shape (n,)
        Where it steps, rising.
    scores : ndarray of shape (n + 1,)
        Its value up to and including each cut, and above the last.
    missing : float
        Its value where the feature is missing.
    """

    cuts: Floats
    scores: Floats
    missing: float

    def __call__(self, x: Floats) -> Floats:
        """Return the scores of values of the feature."""
        return np.where(np.isnan(x), self.missing, self.scores[np.searchsorted(self.cuts, x)])


class Explanation(NamedTuple):
    """The contribution of each feature to the scores of rows.

    Attributes
    ----------
    contributions : ndarray of shape (n, n_features)
        What the features of each row add; ``contributions.sum(axis=1) + base`` are the scores. Why
        row 0 is before row 1: ``contributions[0] - contributions[1]``.
    base : float
        The mean score of the rows that the model was fitted on.
    """

    contributions: Floats
    base: float


def check_nodes(nodes: "Forest | Stumps", n_features: int) -> None:
    """Raise unless the arrays of all nodes fit each other and rows of ``n_features``."""
    n, kinds = np.shape(nodes.features), (nodes.features.dtype.kind, nodes.missing_above.dtype.kind)
    if not (
        len(n) == 1
        and kinds == ("i", "b")
        and nodes.cutpoints.dtype.kind == "f"
        and nodes.cutpoints.shape == nodes.missing_above.shape == n
        and ((nodes.features >= 0) & (nodes.features < n_features)).all()
        and (_is_forest(nodes) if isinstance(nodes, Forest) else _floats(nodes.alphas, *n))
    ):
        raise ValueError("the attributes of the model have been changed: fit it again")


def _floats(values: Floats, n: int) -> bool:
    return values.dtype.kind == "f" and values.shape == (n,)


def _is_forest(forest: "Forest") -> bool:
    """Return whether each node leads to later nodes and leaves of the same tree."""
    n, children, starts = len(forest.features), forest.children, forest.starts
    if not (
        children.dtype.kind == starts.dtype.kind == "i"
        and children.shape == (n, 2)
        and starts.ndim == 1
        and len(starts) > 0
        and starts[0] == 0
        and starts[-1] == n
        and (starts[1:] > starts[:-1]).all()
        and _floats(forest.values, n + len(starts) - 1)
    ):
        return False
    sizes = np.diff(starts)
    node = (np.arange(n) - np.repeat(starts[:-1], sizes))[:, None]
    size = np.repeat(sizes, sizes)[:, None]
    return bool(
        np.where(children < 0, ~children <= size, (node < children) & (children < size)).all()
    )


class Forest(NamedTuple):
    """Trees one after the other, as in `rankwise.boosting.grower.Tree`.

    ``features``, ``cutpoints``, ``missing_above`` and ``children`` are of the nodes of all trees,
    ``values`` of all leaves. Tree t begins with node ``starts[t]`` and leaf ``starts[t] + t``.
    """

    features: Indices
    cutpoints: Floats
    missing_above: NDArray[np.bool_]
    children: Indices
    values: Floats
    starts: Indices

    def scores(self, X: Any) -> Floats:
        """Return the scores of the rows of an array or sparse matrix."""
        used, columns = np.unique(self.features, return_inverse=True)
        out = np.zeros(X.shape[0])
        n = max(1, CHUNK // max(1, len(used)))
        for first in range(0, X.shape[0], n):
            rows = slice(first, first + n)
            arrays = _columns(X[rows], used), columns, *self[1:]
            add_trees(*arrays, 0, len(self.starts) - 1, out[rows])
        return out

    def stages(self, X: Any) -> Iterator[Floats]:
        """Yield the scores of the rows after each tree."""
        used, columns = np.unique(self.features, return_inverse=True)
        rows, out = _columns(X, used), np.zeros(X.shape[0])
        for t in range(len(self.starts) - 1):
            out = out.copy()
            add_trees(rows, columns, *self[1:], t, t + 1, out)
            yield out

    def explain(self, X: Any, counts: Floats) -> Explanation:
        r"""Return the Shapley values of the features, of the game that paths of the trees define.

        In this game features outside a coalition are unknown: where a node asks for one, both
        branches are taken, weighted by their shares of the training rows. A leaf adds its value v
        times the product over the features f of its path of :math:`o_f`, 1 if the row takes the
        path, for known ones and :math:`z_f`, the product of the shares, for others. So its Shapley
        values are

        .. math:: v (o_f - z_f) \int_0^1 \prod_{j \ne f} (o_j t + z_j (1 - t)) \, dt ,

        integrals of polynomials, which Gauss-Legendre quadrature has exactly. O(n L D^2) for n rows
        and L leaves of depth D.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, n_features)
        counts : ndarray of shape (n_leaves,)
            The training rows of each leaf.
        """
        used, columns = np.unique(self.features, return_inverse=True)
        out, base = np.zeros(X.shape), 0.0
        rows = _columns(X, used)
        for t in range(len(self.starts) - 1):
            first, leaf = int(self.starts[t]), int(self.starts[t]) + t
            n_nodes = int(self.starts[t + 1]) - first
            covers = np.empty(n_nodes)
            for k in range(n_nodes - 1, -1, -1):
                covers[k] = sum(
                    counts[leaf + ~c] if c < 0 else covers[c] for c in self.children[first + k]
                )
            base += (
                float(self.values[leaf : leaf + n_nodes + 1] @ counts[leaf:][: n_nodes + 1])
                / covers[0]
            )
            Path = dict[int, tuple[NDArray[np.bool_], float]]
            paths: list[tuple[int, Path]] = [(0, {})]
            while paths:
                k, path = paths.pop()
                x, f = rows[:, columns[first + k]], int(self.features[first + k])
                above = np.where(
                    np.isnan(x), self.missing_above[first + k], x > self.cutpoints[first + k]
                )
                for side, child in enumerate(self.children[first + k].tolist()):
                    cover = counts[leaf + ~child] if child < 0 else covers[child]
                    taken, share = path.get(f, (True, 1.0))
                    step = {f: (taken & (above == side), share * cover / covers[k])}
                    if child >= 0:
                        paths.append((child, {**path, **step}))
                    elif self.values[leaf + ~child]:
                        _add_leaf({**path, **step}, float(self.values[leaf + ~child]), out)
        return Explanation(out, base)


def _add_leaf(path: dict[int, tuple[NDArray[np.bool_], float]], value: float, out: Floats) -> None:
    """Add the Shapley values of a leaf to those of the features, see `Forest.explain`."""
    features = list(path)
    taken = np.array([each for each, _ in path.values()], dtype=np.float64)
    share = np.array([each for _, each in path.values()])[:, None]
    nodes, weights = np.polynomial.legendre.leggauss(len(features) // 2 + 1)
    for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        terms = taken * t + share * (1 - t)
        others = np.prod(terms, axis=0) / terms
        out[:, features] += (weight * value * (taken - share) * others).T


def _columns(X: Any, used: Indices) -> Floats:
    """Return some columns as an array."""
    some = X[:, used]
    some = some if isinstance(some, np.ndarray) else some.toarray()
    return np.ascontiguousarray(some, dtype=np.float64)


class Stumps(NamedTuple):
    """Base rankers: ``alphas`` is added above ``cutpoints`` of ``features``, see `RankBoost`."""

    features: Indices
    cutpoints: Floats
    missing_above: NDArray[np.bool_]
    alphas: Floats

    def of_feature(self, feature: int) -> FeatureScore:
        """Return what a feature adds to the score."""
        mine = self.features == feature
        cuts, place = np.unique(self.cutpoints[mine], return_inverse=True)
        alphas = self.alphas[mine]
        steps = np.bincount(place, weights=alphas, minlength=len(cuts))
        scores = np.append(0.0, np.cumsum(steps))
        if len(cuts) and cuts[0] == -np.inf:
            cuts, scores = cuts[1:], scores[1:]
        return FeatureScore(cuts, scores, float(alphas[self.missing_above[mine]].sum()))

    def scores(self, X: Any) -> Floats:
        """Return the scores of the rows of an array or sparse matrix."""
        rows = X if isinstance(X, np.ndarray) else X.tocsc()
        scores = np.zeros(rows.shape[0])
        for feature in np.unique(self.features):
            add = self.of_feature(feature)
            if isinstance(rows, np.ndarray):
                scores += add(rows[:, feature])
            else:
                entries = slice(rows.indptr[feature], rows.indptr[feature + 1])
                zero = float(add(np.zeros(1))[0])
                scores += zero
                np.add.at(scores, rows.indices[entries], add(rows.data[entries]) - zero)
        return scores

    def stages(self, X: Any) -> Iterator[Floats]:
        """Yield the scores of the rows after each base ranker."""
        rows = X if isinstance(X, np.ndarray) else X.tocsc()
        scores = np.zeros(rows.shape[0])
        for feature, cut, above, alpha in zip(*self, strict=True):
            x = _columns(rows, np.array([feature]))[:, 0]
            scores = scores + alpha * np.where(np.isnan(x), above, x > cut)
            yield scores

    def explain(self, X: Any, counts: Floats) -> Explanation:
        """Return the Shapley values of the features, as `Forest.explain` does."""
        below, above = counts.reshape(-1, 2).T
        mean = self.alphas * above / (below + above)
        out = np.zeros(X.shape)
        for feature in np.unique(self.features).tolist():
            x = _columns(X, np.array([feature]))[:, 0]
            out[:, feature] = self.of_feature(feature)(x) - mean[self.features == feature].sum()
        return Explanation(out, float(mean.sum()))
