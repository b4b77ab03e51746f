"""Arrays that don't fit each other are refused before a loop is entered."""

from functools import partial

import numpy as np
import pytest

from rankwise._core._loops.shapes import check_shape
from rankwise._core.kernels import Kernel
from rankwise._core.pairs import HingeLoss, MagnitudeLoss, Pairs, count_pairs
from rankwise.boosting.pair_weights import GivenPairs
from rankwise.datasets._loops import scan_letor, scan_table
from rankwise.ordinal._supports import TILE, DenseSupports, PrecomputedSupports, SparseSupports

Y = np.array([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    "array", [np.ones(3), np.ones((2, 4)), np.ones((2, 3), int), [[1.0]], None, np.float64(1)]
)
def test_another_shape_or_type_is_named(array):
    with pytest.raises(
        ValueError, match=r"^w is .*, wanted float64 of shape \(any, 3\): fit anew$"
    ):
        check_shape("w", array, None, 3, advice="fit anew")


@pytest.mark.parametrize("s", [Y[:2], np.append(Y, 3.0)], ids=["shorter", "longer"])
@pytest.mark.parametrize("weight", [None, np.ones(3)], ids=["alike", "weighted"])
@pytest.mark.parametrize("qid", [None, [0, 0, 0]], ids=["one query", "qid"])
def test_scores_of_other_rows(s, weight, qid):
    pairs = Pairs(Y, qid=qid, sample_weight=weight)
    counts = partial(count_pairs, pairs)
    for measure in (MagnitudeLoss(pairs).value, HingeLoss(pairs).value, counts):
        with pytest.raises(ValueError, match=r"of shape \(\d,\), wanted .* of shape \(3\)"):
            measure(s)


def test_weights_of_other_rows():
    with pytest.raises(ValueError, match=r"sample_weight has shape \(2,\) for 3 rows"):
        Pairs(Y, sample_weight=np.ones(2))
    with pytest.raises(ValueError, match="y must be 1-D"):
        Pairs(Y[:, None])


def test_pairs_of_other_rows():
    one = np.ones(1, dtype=np.int64)
    with pytest.raises(ValueError, match="better is int64"):
        GivenPairs(one, one[:0], np.ones(1), 3)
    with pytest.raises(ValueError, match="worse names row 7 of 3"):
        GivenPairs(7 * one, one, np.ones(1), 3)


def test_text_without_an_end():
    data = np.frombuffer(b"1 qid:2 3:4", np.uint8)
    integers = [np.empty(1, np.int64) for _ in range(2)]
    rows = np.empty((2, 1), np.int64), np.empty(2, np.int64)
    hard = np.empty((4, 3), np.int64)
    out = (np.empty(1), *integers, *rows, np.empty(2, np.int32), np.empty(2), hard)
    with pytest.raises(ValueError, match="must be a newline"):
        scan_letor(data, 10, 1, True, True, out)
    out = np.empty((1, 1)), np.empty((0, 1), np.int64), integers[0], np.empty((4, 4), np.int64)
    with pytest.raises(ValueError, match="must be a newline"):
        scan_table(data, 0, 1, 32, 1, 0, np.zeros(1, np.int64), True, out)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (DenseSupports, {"supports": np.ones((2, 4)), "norms": np.ones(2)}),
        (DenseSupports, {"supports": np.ones((2, 3)), "norms": np.ones(1)}),
        (PrecomputedSupports, {"supports": np.array([5])}),
        (
            SparseSupports,
            {
                "supports": np.ones(1),
                "supports_indices": np.array([7]),
                "supports_indptr": np.array([0, 1]),
                "norms": np.ones(1),
            },
        ),
    ],
    ids=["width", "norms", "column", "index"],
)
def test_foreign_supports(kind, state):
    with pytest.raises(ValueError, match=r"."):
        kind(Kernel("rbf", 0.5), state, 3, None)


def test_too_many_rows_to_compare():
    supports = DenseSupports(Kernel("rbf", 0.5), {}, 3, None)
    for shape in ((TILE + 1, 3), (1, 2)):
        with pytest.raises(ValueError, match="can't be compared"):
            supports.compare(np.ones(shape), learning=False)
