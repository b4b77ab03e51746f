r"""On-line MPRank with a kernel: points one by one, O(i) for the i-th, without a Gram matrix.

It is the dual ascent of section 2.5 of the paper on the points that have arrived. The i-th point
starts with :math:`\alpha_i = 0` and takes one step,

.. math::

    \alpha_i = 2 \eta \Bigl(\tilde y_i - \sum_{j \le i} \alpha_j \tilde K(x_i, x_j)\Bigr),

with y and K centred over the first i points (with queries: over those of their query), and
:math:`2 \eta` the exact step :math:`1 / (\tilde K(x_i, x_i) + i / 2C)` by default. Means of kernel
values over each query replace the matrix: O(n_queries i) memory.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.kernels import Anchored
from rankwise.magnitude.ridge import step_lengths
from rankwise.magnitude.statistics import TINY, Matrix, Vector, check_names, penalty


@dataclass
class Points:
    """The points of a stream.

    Attributes
    ----------
    kernel : Anchored
        The kernel.
    X : ndarray or csr_array of shape (m, d)
        The points.
    y, weight, alpha, scores, diagonal : ndarrays of shape (m,)
        Their ratings and weights, the dual coefficients, the sums of alpha_k K(x_k, x_j), and the
        kernel of each point with itself.
    codes : ndarray of shape (m,)
        The query of each point, numbered as they arrive.
    means : ndarray of shape (n_queries, m)
        Weighted means of kernel values, over the points of each query, with each point.
    names : list
        The queries' names; [None] without qid.
    """

    kernel: Anchored
    X: Any
    y: Vector = field(default_factory=lambda: np.zeros(0))
    weight: Vector = field(default_factory=lambda: np.zeros(0))
    alpha: Vector = field(default_factory=lambda: np.zeros(0))
    scores: Vector = field(default_factory=lambda: np.zeros(0))
    diagonal: Vector = field(default_factory=lambda: np.zeros(0))
    codes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    means: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    names: list[Hashable] = field(default_factory=list)

    def extended(
        self,
        X: Any,
        y: Vector,
        weight: Vector,
        names: Sequence[Hashable],
        C: float,
        eta: float | None,
    ) -> "Points":
        """Return the points after some more, each with one step; this object is not changed."""
        check_names(self.names, names)
        code_of = {name: code for code, name in enumerate(dict.fromkeys([*self.names, *names]))}
        parts, zeros = (self.X, X), np.zeros(len(y))
        if any(map(sparse.issparse, parts)):
            rows = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
        else:
            rows = np.vstack(parts)
        means = np.zeros((len(code_of), len(self.y) + len(y)))
        means[: len(self.names), : len(self.y)] = self.means
        after = Points(
            self.kernel,
            rows,
            y=np.append(self.y, y),
            weight=np.append(self.weight, weight),
            alpha=np.append(self.alpha, zeros),
            scores=np.append(self.scores, zeros),
            diagonal=np.append(self.diagonal, zeros),
            codes=np.append(self.codes, [code_of[name] for name in names]),
            means=means,
            names=list(code_of),
        )
        for i in range(len(self.y), len(after.y)):
            after._step(i, C, eta)
        return after

    def _step(self, i: int, C: float, eta: float | None) -> None:
        """Add point i to the means, and take its step."""
        seen, code, codes = slice(i + 1), self.codes[i], self.codes[: i + 1]
        n_queries = int(codes.max()) + 1
        means, alpha = self.means[:n_queries, seen], self.alpha[seen]
        top = self.weight[seen].max()
        weight = self.weight[seen] / top
        totals = np.bincount(codes, weight, n_queries)
        share = weight / totals[codes]
        values = self.kernel.gram(self.X[i : i + 1], self.X[seen])[0]
        means[code, :i] += share[i] * (values[:i] - means[code, :i])
        means[:, i] = np.bincount(codes, share * values, n_queries)
        self.diagonal[i], self.scores[i] = values[i], values @ alpha
        mine = np.flatnonzero(codes == code)
        fitted = self.scores[mine] - np.bincount(codes, alpha, n_queries) @ means[:, mine]
        missed = self.y[mine] - fitted
        slope = missed[-1] - share[mine] @ missed
        cost = max(2.0 * weight[i] * totals[code] / (totals @ totals), TINY)
        square = values[i] - 2.0 * means[code, i] + share[mine] @ means[code, mine]
        curve = np.array([max(square, 0.0) + min(penalty(C) / cost, 1e290)])
        self.alpha[i] = step_lengths(curve, eta)[0] * slope
        self.scores[seen] += self.alpha[i] * values

    def solution(self) -> tuple[Vector, Vector]:
        """Return the coefficients of the points, whose queries add to 0, and their scores."""
        weight = self.weight / self.weight.max()
        share = weight / np.bincount(self.codes, weight)[self.codes]
        sums = np.bincount(self.codes, self.alpha)
        return self.alpha - share * sums[self.codes], self.scores - sums @ self.means
