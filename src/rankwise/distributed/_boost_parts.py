"""What RankBoost does with one part, wherever it is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.rows import as_rows
from rankwise._core.inputs import as_floats
from rankwise._core.queries import encode_queries
from rankwise.boosting.binning import Dense, Table, bin_rows
from rankwise.boosting.parted import PartRows, Slots
from rankwise.distributed._block import Block
from rankwise.distributed._crew import Member
from rankwise.distributed._shared import in_part, to_ratings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Values that are made double and put into bins at a time.
_VALUES = 1 << 20


def _check_dense(block: Block) -> None:
    if not isinstance(block.X, np.ndarray):
        raise ValueError(
            f"part {block.part} is sparse, but RankBoost takes dense rows in parts: use its "
            "toarray(), or fit in memory, where sparse rows are taken"
        )


def _groups_here(block: Block) -> tuple[Any, Ints, Floats, Ints]:
    """Return queries, the query and target of each group, and the group of each row."""
    n = block.X.shape[0]
    y = as_floats(block.y, "y")
    codes, n_queries = encode_queries(block.qid, n)
    queries = None
    if block.qid is not None:
        queries = np.empty(n_queries, dtype=block.qid.dtype)
        queries[codes] = block.qid
    order = np.lexsort((y, codes))
    opens = np.append(True, (np.diff(codes[order]) != 0) | (np.diff(y[order]) != 0))
    group = np.empty(n, dtype=np.int64)
    group[order] = np.cumsum(opens) - 1
    first = order[opens]
    return queries, codes[first], y[first], group


def summarise(block: Block) -> dict[str, Any]:
    """Return the groups of a part, sorted, the weights, and which features miss values."""
    _check_dense(block)
    n = block.X.shape[0]
    if not n:
        return {"rows": 0, "weight": None, "queries": None, "y": np.empty(0)}
    with in_part(block):
        to_ratings(block)
    queries, query, y, group = _groups_here(block)
    return {
        "rows": n,
        "queries": queries,
        "query": query,
        "y": y,
        "sizes": np.bincount(group),
        "weight": block.weight,
        "missing": np.isnan(block.X.max(axis=0)),
    }


def copies_of_groups(block: Block, copies: Ints) -> Floats:
    """Return how many rows those of each group of a part stand for."""
    if not len(copies):
        return np.empty(0)
    return np.bincount(_groups_here(block)[3], weights=copies).astype(np.float64)


def rows_at(block: Block, rows: Ints) -> Floats:
    """Return some rows in double precision."""
    return np.asarray(block.X[rows], dtype=np.float64)


def distinct_values(block: Block) -> list[Floats] | None:
    """Return the distinct values of each feature."""
    if not block.X.shape[0]:
        return None
    return [np.unique(column).astype(np.float64) for column in block.X.T]


def group_codes_of(block: Block, groups: Ints) -> NDArray[np.int32]:
    """Return the group of each row, given the numbers of those of this part."""
    if not block.X.shape[0]:
        return np.empty(0, dtype=np.int32)
    return groups[_groups_here(block)[3]].astype(np.int32)


def _fill(X: Any, places: Ints, table: Table, codes: Any) -> None:
    """Put rows into bins, a few at a time; row i of X is row ``places[i]`` of the codes."""
    missing, step = np.zeros(X.shape[1], dtype=np.bool_), max(1, _VALUES // max(1, X.shape[1]))
    for first in range(0, len(X), step):
        some = as_rows(X[first : first + step].astype(np.float64))
        where = places[first : first + step]
        bin_rows(some, where, 0, len(some), table.edges, codes, missing)


def write_codes(block: Block, places: Ints, table: Table, path: str, m: int) -> None:
    """Write the bins of a part into a file of those of all m rows."""
    mapped = np.memmap(path, dtype=table.kind, mode="r+", shape=table.shape(m))
    if len(places):
        _fill(block.X, places, table, mapped.view(np.ndarray))


def bin_part(
    block: Block, groups: Ints, weight: Floats | None, copies: Ints | None, table: Table
) -> dict[str, NDArray[Any]]:
    """Return the bins of a part in the order of its groups, and what else rounds need of it."""
    n = block.X.shape[0]
    codes = np.zeros(table.shape(n), dtype=table.kind)
    if not n:
        empty = np.empty(0, dtype=np.int64)
        return {"codes": codes, "groups": groups, "starts": np.zeros(1, dtype=np.int64),
                "a": np.empty(0), "counts": empty}  # fmt: skip
    group = _groups_here(block)[3]
    order = np.argsort(group, kind="stable")
    places = np.empty(n, dtype=np.int64)
    places[order] = np.arange(n)
    _fill(block.X, places, table, codes)
    return {
        "codes": codes,
        "groups": groups,
        "starts": np.append(0, np.cumsum(np.bincount(group))),
        "a": np.ones(n) if weight is None else weight[order],
        "counts": np.ones(n, dtype=np.int64) if copies is None else copies[order],
    }


def take_part(kept: dict[str, Any], wanted: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the rows of some groups; ``wanted`` has an entry for each group of the fit."""
    mine = wanted[kept["groups"]]
    sizes = np.diff(kept["starts"])
    rows = np.repeat(mine, sizes)
    return {
        "codes": kept["codes"][:, rows],
        "groups": kept["groups"][mine],
        "starts": np.append(0, np.cumsum(sizes[mine])),
        "a": kept["a"][rows],
        "counts": kept["counts"][rows],
    }


def join_parts(taken: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows of several parts as one, in the order of the groups."""
    group = np.concatenate([np.repeat(each["groups"], np.diff(each["starts"])) for each in taken])
    order = np.argsort(group, kind="stable")
    groups, sizes = np.unique(group, return_counts=True)
    return {
        "codes": np.concatenate([each["codes"] for each in taken], axis=1)[:, order],
        "groups": groups,
        "starts": np.append(0, np.cumsum(sizes)),
        "a": np.concatenate([each["a"] for each in taken])[order],
        "counts": np.concatenate([each["counts"] for each in taken])[order],
    }


def build_rows(kept: dict[str, Any], table: Table, slots: Slots) -> PartRows:
    """Return what answers for a part."""
    arrays = {name: _own(array) for name, array in kept.items()}
    d = len(table.n_bins)
    bins = Dense(arrays["codes"], table.n_bins, np.zeros(d, dtype=np.bool_))
    return PartRows(bins, arrays["groups"], arrays["starts"], arrays["a"], arrays["counts"], slots)


def build_member(kept: dict[str, Any], table: Table, slots: Slots) -> Member:
    """Return what answers for a part on a worker."""
    return Member(build_rows(kept, table, slots))


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as loops take it, which are compiled for those that may be written to."""
    whole = np.ascontiguousarray(array)
    return whole if whole.flags.writeable else whole.copy()
