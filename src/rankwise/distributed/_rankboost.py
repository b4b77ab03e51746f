"""RankBoost of rows in parts: the fit of one machine, on many blocks.

Three passes over the rows come first: which groups of equal query and target there are, a sample of
the rows for the edges of the bins, which is the same as on one machine, and the bins, a byte a
value. They stay where the rows are, or in temporary files that are memory-mapped; rounds need
nothing else of the rows.

Rounds are those of `RankBoost.fit`, see `rankwise.boosting.binning`: on a cluster the state of a
block after each step is an immutable future, so that Dask itself computes again what was lost with
a worker. A step moves a few numbers for each group and d histograms; none of it grows with the rows
of a group. Losses that are summed pair by pair, logistic or "ndcg", need each query in one block:
bins of rows whose query is cut go to the part that has most of it, which is logged.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._core.inputs import as_floats
from rankwise._core.queries import encode_queries
from rankwise._core.ranker import scale_weights
from rankwise._core.threads import Pool
from rankwise.boosting import RankBoost
from rankwise.boosting.binning import (
    BinMapper,
    Bins,
    Block,
    Blocks,
    Groups,
    State,
    dense_bins,
    edges_of_columns,
    find_edges,
    merge_answers,
    proportions,
    sample_rows,
)
from rankwise.boosting.rankboost import check_groups, make_rounds, plan_fit
from rankwise.distributed._partition import Block as Part
from rankwise.distributed._partition import in_part
from rankwise.distributed._partitions import FAN_IN, DaskPartitions, Partitions, n_bytes
from rankwise.distributed.connection import RETRIES, logger, release, results_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bytes that a fit on one machine keeps in memory for each row: scores, factors, weights, gradients.
_ROW_BYTES = 210
# Values that are made double and put into bins at a time.
_VALUES = 1 << 20


class Layout(NamedTuple):
    """The groups of rows of equal query and target, sorted by both.

    - ``query``, ``y``, ``sizes`` (n_groups,): query, target and number of rows of each;
    - ``of_parts``: the numbers of the groups that each part has, rising;
    - ``sizes_of_parts``: and how many rows of each.
    """

    query: Ints
    y: Floats
    sizes: Ints
    of_parts: list[Ints]
    sizes_of_parts: list[Ints]


def learn(model: RankBoost, parts: Partitions) -> None:
    """Learn from rows in parts; sets what `RankBoost.fit` sets."""
    model._validate_params()
    if model.n_iter_no_change is not None:
        raise ValueError(
            f"n_iter_no_change={model.n_iter_no_change} sets rows aside, which is not done in "
            "parts: use None, and choose n_estimators by staged_predict on other rows"
        )
    parts.allow_nan = True
    summaries = parts.map(summarise)
    if parts.n_rows == 1:
        raise ValueError("X has 1 sample with a weight, but a pair needs two")
    layout = find_layout(summaries)
    weights, copies = None, layout.sizes.astype(np.float64)
    by_part: list[list[Any]] = [[None] * parts.n_parts] * 2
    if "sample_weight" in parts.types:
        given = np.concatenate([summary["weight"] for summary in summaries])
        weights = proportions(scale_weights(given)[0])
        by_part = [parts.split(weights[0]), parts.split(weights[1])]
        counted = np.concatenate(parts.map(copies_of_groups, each=by_part[1:]))
        copies = np.bincount(np.concatenate(layout.of_parts), counted).astype(np.float64)
    groups = Groups(layout.query, layout.y, copies)
    plan = plan_fit(model, groups)
    check_groups(model.push, groups)
    random = check_random_state(model.random_state)
    edges = find_all_edges(parts, model.max_bins, weights, random)
    missing = np.any([summary["missing"] for summary in summaries], axis=0)
    parts.set_features(model)
    whole = plan.pair_weight == "ndcg" or plan.loss == "logistic"
    n_bins = np.array([len(each) + 1 for each in edges])
    none = np.empty(0, dtype=np.int64)
    bins = Bins(none, none, none, none, n_bins, missing, sparse=False)
    sizes = parts.n_rows, int(copies.sum())
    binning = BinMapper.of(edges), [layout.of_parts, *by_part]
    with Pool(model.n_jobs) as pool, TemporaryDirectory(prefix="rankwise-") as folder:
        blocks = make_blocks(parts, binning, (layout, groups), bins, pool, folder, whole=whole)
        try:
            rounds = make_rounds(model, plan, blocks, groups, bins, sizes)
            model._take_rounds(rounds, edges, missing, say=parts.say)
        finally:
            if isinstance(blocks, RemoteBlocks):
                blocks.close()
    model._set_plan(plan, groups.n_pairs, groups.n_queries)


# ---------------------------------------------------------------------- groups, weights, edges


def _groups_of(part: Part) -> tuple[Groups, Ints, Ints]:
    """Return the groups of a partition, the first row of each, and the group of each row."""
    y = as_floats(part.y, "y")
    codes, _ = encode_queries(part.qid, len(y))
    groups, order, starts = Groups.of_rows(codes, y, np.ones(len(y), dtype=np.int64))
    return groups, order[starts[:-1]], _numbers(order, starts)


def _numbers(order: Ints, starts: Ints) -> Ints:
    """Return the group of each row, given the rows in the order of the groups."""
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return number


def summarise(part: Part) -> dict[str, Any]:
    """Return the groups of a partition, sorted, the weights, and which features miss values."""
    if not isinstance(part.X, np.ndarray):
        raise ValueError(
            f"part {part.part} is sparse, but RankBoost takes dense rows in parts: use its "
            "toarray(), or fit in memory, where sparse rows are taken"
        )
    with in_part(part.part):
        groups, firsts, group = _groups_of(part)
    return {
        "queries": None if part.qid is None else part.qid[firsts],
        "y": groups.y,
        "sizes": np.bincount(group),
        "weight": part.weight,
        "missing": np.isnan(part.X.max(axis=0)),
    }


def find_layout(summaries: list[dict[str, Any]]) -> Layout:
    """Return all groups, from the summaries of the partitions."""
    y = np.concatenate([summary["y"] for summary in summaries])
    sizes = np.concatenate([summary["sizes"] for summary in summaries])
    queries = [summary["queries"] for summary in summaries]
    names = None if queries[0] is None else np.concatenate(queries)
    codes, _ = encode_queries(names, len(y))
    groups, order, starts = Groups.of_rows(codes, y, sizes)
    number = _numbers(order, starts)
    ends = np.cumsum([len(summary["y"]) for summary in summaries])[:-1]
    total = np.bincount(number, weights=sizes).astype(np.int64)
    return Layout(groups.query, groups.y, total, np.split(number, ends), np.split(sizes, ends))


def copies_of_groups(part: Part, copies: Ints) -> Floats:
    """Return how many rows those of each group of a partition stand for."""
    return np.bincount(_groups_of(part)[2], weights=copies).astype(np.float64)


def find_all_edges(
    parts: Partitions, max_bins: int | None, weights: tuple[Floats, Ints] | None, random: Any
) -> list[Floats]:
    """Return the edges of each feature, those of one machine."""
    if max_bins is None:
        by_feature = zip(*parts.map(distinct_values), strict=True)
        return [find_edges(np.unique(np.concatenate(each)), None, None) for each in by_feature]
    rows = sample_rows(parts.n_rows, max_bins, random)
    columns = np.ascontiguousarray(parts.fetch(rows).T)
    return edges_of_columns(columns, None if weights is None else weights[0][rows], max_bins)


def distinct_values(part: Part) -> list[Floats]:
    """Return the distinct values of each feature."""
    return [np.unique(column).astype(np.float64) for column in part.X.T]


# ---------------------------------------------------------------------- bins of parts


def bin_part(
    part: Part,
    groups: Ints,
    weight: Floats | None,
    copies: Ints | None,
    mapper: BinMapper,
    folder: str | None,
) -> dict[str, Any]:
    """Return the bins of a partition in the order of its groups, and what else a block has.

    With a folder the bins are written to a file, and read when they are used.
    """
    (n, d), group = part.X.shape, _groups_of(part)[2]
    order, starts = np.argsort(group, kind="stable"), np.append(0, np.cumsum(np.bincount(group)))
    step, codes = max(1, _VALUES // d), []
    for first in range(0, n, step):
        some = part.X[order[first : first + step]].astype(np.float64)
        found = mapper.transform(some, np.arange(len(some)), Pool(1)).codes
        codes.append(found.reshape(d, len(some)))
    bins = np.concatenate(codes, axis=1)
    if folder is not None:
        path = Path(folder, f"{part.part}.npy")
        np.save(path, bins)
        bins = np.load(path, mmap_mode="r")
    return {
        "codes": bins,
        "groups": groups,
        "starts": starts,
        "weight": np.ones(n) if weight is None else weight[order],
        "counts": np.ones(n, dtype=np.int64) if copies is None else copies[order],
    }


def take_groups(kept: dict[str, Any], chosen: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the rows of some groups; ``chosen`` has an entry for each group of the fit."""
    mine, sizes = chosen[kept["groups"]], np.diff(kept["starts"])
    rows = np.repeat(mine, sizes)
    return {
        "codes": kept["codes"][:, rows],
        "groups": kept["groups"][mine],
        "starts": np.append(0, np.cumsum(sizes[mine])),
        "weight": kept["weight"][rows],
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
        "weight": np.concatenate([each["weight"] for each in taken])[order],
        "counts": np.concatenate([each["counts"] for each in taken])[order],
    }


def build_block(kept: dict[str, Any], bins: Bins, keys: tuple[Any, ...]) -> Block:
    """Return the block of a partition; ``keys`` are those of all groups."""
    bins = dense_bins(np.ascontiguousarray(kept["codes"]).reshape(-1), bins.n_bins, bins.missing)
    here = tuple(key[kept["groups"]] for key in keys)
    return Block.of(bins, here, kept["starts"], kept["weight"], kept["counts"])


def make_blocks(
    parts: Partitions,
    binning: tuple[BinMapper, list[list[Any]]],
    found: tuple[Layout, Groups],
    bins: Bins,
    pool: Pool,
    folder: str,
    *,
    whole: bool,
) -> "Blocks | RemoteBlocks":
    """Return the blocks of the partitions, with each query in one if it must be ``whole``."""
    (mapper, each), (layout, groups) = binning, found
    on_dask = isinstance(parts, DaskPartitions)
    needed = (_ROW_BYTES + (len(bins.n_bins) if whole else 0)) * parts.n_rows
    if parts.limit is not None and needed > parts.limit:
        raise ValueError(
            f"memory_limit={parts.limit / 1e9:.3g} GB is too little for the scores and weights "
            f"of {parts.n_rows} rows, about {needed / 1e9:.3g} GB: allow more, or use a cluster"
        )
    if on_dask and whole and layout.query[-1] == 0 and parts.n_parts > 1:
        raise ValueError(
            f"all rows are one query, which lies in {parts.n_parts} parts, and the logistic loss "
            "and pair_weight='ndcg' compare row by row: give qid, use loss='exponential', or "
            "bring the rows into one part"
        )
    values = parts.kept(bin_part, mapper, None if on_dask else folder, each=each)
    if whole:
        values = bring_together(values, layout, parts.delayed)
    keys, build = groups.keys(np.arange(len(groups.y))), parts.delayed(build_block)
    blocks = parts.start([build(value, bins, keys) for value in values])
    if isinstance(parts, DaskPartitions) and parts.client is not None:
        return RemoteBlocks(blocks, parts, pool)
    return Blocks(blocks, pool)


def bring_together(values: list[Any], layout: Layout, call: Callable[[Any], Any]) -> list[Any]:
    """Return parts each of whose queries is in one of them, by moving the bins of some rows.

    ``call`` makes a function one that is computed where the parts are.
    """
    n_queries = int(layout.query[-1]) + 1
    rows = np.zeros((len(values), n_queries), dtype=np.int64)
    for at, (groups, sizes) in enumerate(zip(layout.of_parts, layout.sizes_of_parts, strict=True)):
        np.add.at(rows[at], layout.query[groups], sizes)
    location = rows.argmax(axis=0)
    n_cut = int(((rows > 0).sum(axis=0) > 1).sum())
    if not n_cut:
        return values
    logger.info(
        "%d of %d queries are cut by parts: the bins of %d of %d rows move to the part that has "
        "most of their query",
        n_cut,
        n_queries,
        int(rows.sum() - rows.max(axis=0).sum()),
        int(rows.sum()),
    )
    together = []
    for at in range(len(values)):
        here = location == at
        sources = np.flatnonzero(rows[:, here].sum(axis=1)).tolist()
        if sources == [at] and not rows[at, ~here].any():
            together.append(values[at])
        elif sources:
            chosen = here[layout.query]
            takes = [call(take_groups)(values[k], chosen) for k in sources]
            together.append(call(join_parts)(takes))
    return together


# ---------------------------------------------------------------------- blocks on a cluster


class RemoteBlocks(Blocks):
    """Blocks on the workers of a cluster, whose states are immutable futures.

    Parameters
    ----------
    blocks : list of Future
    parts : DaskPartitions
        Counts the bytes; its client computes.
    pool : Pool
        Threads of this process.
    """

    def __init__(self, blocks: Sequence[Any], parts: DaskPartitions, pool: Pool) -> None:
        self.blocks, self.client, self.parts, self.pool = blocks, parts.client, parts, pool
        self.submit = partial(self.client.submit, pure=False, retries=RETRIES)
        self.states = [self.submit(_begin, block) for block in blocks]
        self.futures: list[Any] = []

    def run(
        self, function: Any, *arguments: Any, merge: Callable[..., Any] = np.add
    ) -> tuple[Any, ...]:
        """Return the merged answers of all blocks to a function; states follow."""
        n, traffic, begin = len(self.blocks), self.parts.traffic, perf_counter()
        steps = [
            self.submit(_step, block, state, function, arguments)
            for block, state in zip(self.blocks, self.states, strict=True)
        ]
        self.states = [self.submit(itemgetter(0), step) for step in steps]
        answers = [self.submit(itemgetter(1), step) for step in steps]
        while len(answers) > 1:
            answers = [
                self.submit(_merge, answers[k : k + FAN_IN], merge)
                for k in range(0, len(answers), FAN_IN)
            ]
        self.futures = [*steps, *answers]
        answer: tuple[Any, ...] = results_of(self.client, answers, timeout=self.parts.timeout)[0]
        traffic.passes += 1
        traffic.sent += n * n_bytes(arguments)
        traffic.back += n * n_bytes(answer)
        traffic.seconds += perf_counter() - begin
        return answer

    def close(self) -> None:
        """Release all futures."""
        release([*self.futures, *self.states, *self.blocks])


def _begin(block: Block) -> State:
    return State.of(len(block.weight))


def _step(
    block: Block, state: State, function: Any, arguments: tuple[Any, ...]
) -> tuple[State, tuple[Any, ...]]:
    with Pool(1) as pool:
        result: tuple[State, tuple[Any, ...]] = function(block, state, pool, *arguments)
        return result


def _merge(answers: Sequence[tuple[Any, ...]], merge: Callable[..., Any]) -> tuple[Any, ...]:
    return reduce(lambda one, other: merge_answers(one, other, merge), answers)
