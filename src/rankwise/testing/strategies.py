"""Hypothesis strategies for streams of ranked rows and rated rows in queries; random votes."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray


class Stream(NamedTuple):
    """Rows, their ranks 1..k, and k."""

    X: NDArray[np.float64]
    ranks: NDArray[np.int64]
    k: int


class Rated(NamedTuple):
    """Rows, their ratings, the query of each, and whole weights from 1."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    qid: NDArray[np.int64]
    weight: NDArray[np.int64]


@st.composite
def streams(
    draw: st.DrawFn, *, max_rows: int = 40, max_features: int = 4, max_ranks: int = 10
) -> Stream:
    """Draw a stream of small integers, whose sums are exact in any order of summation.

    Not every rank need occur.
    """
    shape = draw(st.integers(1, max_rows)), draw(st.integers(1, max_features))
    X = draw(hnp.arrays(np.float64, shape, elements=st.integers(-4, 4).map(float)))
    return _ranked(draw, X, max_ranks)


@st.composite
def hostile_streams(
    draw: st.DrawFn, *, max_rows: int = 40, max_features: int = 4, max_ranks: int = 10
) -> Stream:
    """Draw a stream that mixes zeros, 1e-12, 1e6, ordinary reals and repeated rows."""
    shape = draw(st.integers(1, max_rows)), draw(st.integers(1, max_features))
    entries = st.one_of(
        st.sampled_from([0.0, 1e-12, -1e-12, 1.0, -1.0, 1e6, -1e6]), st.floats(-3, 3)
    )
    X = draw(hnp.arrays(np.float64, shape, elements=entries))
    repeats = draw(hnp.arrays(np.int64, shape[0], elements=st.integers(0, shape[0] - 1)))
    return _ranked(draw, X[repeats] if draw(st.booleans()) else X, max_ranks)


@st.composite
def chunkings(draw: st.DrawFn, n_rows: int) -> list[slice]:
    """Draw a way to cut ``n_rows`` rows into chunks of one row or more."""
    cuts = draw(st.sets(st.integers(1, max(1, n_rows - 1)), max_size=8))
    edges = [0, *sorted(cut for cut in cuts if cut < n_rows), n_rows]
    return [slice(a, b) for a, b in pairwise(edges)]


@st.composite
def rated(draw: st.DrawFn, *, max_rows: int = 12, max_features: int = 3) -> Rated:
    """Draw rated rows in queries of any size, with repeated rows, ratings and weights."""
    m, d = draw(st.integers(2, max_rows)), draw(st.integers(1, max_features))
    reals = st.integers(-8, 8).map(lambda k: k / 4)
    X = draw(hnp.arrays(np.float64, (m, d), elements=reals))
    y = draw(hnp.arrays(np.float64, m, elements=reals))
    qid = draw(hnp.arrays(np.int64, m, elements=st.integers(0, draw(st.integers(0, 3)))))
    weight = draw(hnp.arrays(np.int64, m, elements=st.integers(1, 3)))
    return Rated(X, y, qid, weight)


def _ranked(draw: st.DrawFn, X: NDArray[np.float64], max_ranks: int) -> Stream:
    k = draw(st.integers(2, max_ranks))
    return Stream(X, draw(hnp.arrays(np.int64, len(X), elements=st.integers(1, k))), k)


class ScoredRows(NamedTuple):
    """Targets, scores, and None or an array of queries and of weights; some pair has an order."""

    y: NDArray[np.float64]
    s: NDArray[np.float64]
    qid: NDArray[np.int64] | None
    sample_weight: NDArray[np.float64] | None


@st.composite
def scored_rows(draw: st.DrawFn, *, max_rows: int = 24) -> ScoredRows:
    """Draw rows with few or many different targets and scores, ties in both."""
    n = draw(st.integers(2, max_rows))
    few = st.integers(0, 3).map(float)
    many = st.floats(-4, 4, allow_subnormal=False, width=16)

    def numbers() -> NDArray[np.float64]:
        return draw(hnp.arrays(np.float64, n, elements=draw(st.sampled_from([few, many]))))

    y, s = numbers(), numbers()
    qid = draw(st.none() | hnp.arrays(np.int64, n, elements=st.integers(-1, 3)))
    weights = hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    a = draw(st.none() | weights)
    order = draw(st.permutations(range(n)))
    i, j = order[:2]
    y[j] = y[i] + 1
    if qid is not None:
        qid[j] = qid[i]
    if a is not None:
        a[[i, j]] = np.maximum(a[[i, j]], 0.5)
    return ScoredRows(y, s, qid, a)


@st.composite
def two_classes(draw: st.DrawFn, *, max_rows: int = 24) -> ScoredRows:
    """Draw rows of two classes, both of them present, with ties; no weights."""
    rows = draw(scored_rows(max_rows=max_rows))
    y = (rows.y > draw(st.sampled_from(sorted(set(rows.y.tolist()))[:-1]))).astype(np.float64)
    return ScoredRows(y, rows.s, None, None)


def draw_rankings(
    random: np.random.Generator, n: int, n_voters: int, *, ties: bool, partial: bool
) -> list[list[Any]]:
    """Return random rankings of 0..n-1; ties of up to three, partial ones of any length."""
    rankings = []
    for _ in range(n_voters):
        size = random.integers(0, n + 1) if partial else n
        rest, ranking = [int(c) for c in random.permutation(n)[:size]], []
        while rest:
            length = random.integers(1, 4) if ties else 1
            head, rest = rest[:length], rest[length:]
            ranking.append(tuple(head) if len(head) > 1 else head[0])
        rankings.append(ranking)
    return rankings
