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
from functools import reduce
from operator import itemgetter
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
from rankwise.distributed._block import Block as Part
from rankwise.distributed._machine import MachineParts, load_kept
from rankwise.distributed._parts import FAN_IN, Parts, logger, weigh
from rankwise.distributed._shared import in_part, set_features, to_ratings
from rankwise.distributed._waiting import lost_errors, release, results_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bytes that a fit on one machine keeps in memory for each row: scores, factors, weights, gradients.
_ROW_BYTES = 210
# How often an answer is asked for again after a worker was lost.
TRIES = 20
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


def learn(model: RankBoost, parts: Parts) -> None:
    """Learn from rows in parts; sets what `RankBoost.fit` sets."""
    model._validate_params()
    if model.n_iter_no_change is not None:
        raise ValueError(
            f"n_iter_no_change={model.n_iter_no_change} sets rows aside, which is not done in "
            "parts: use None, and choose n_estimators by staged_predict on other rows"
        )
    parts.missing = True
    summaries = parts.map(summarise)
    if parts.n_rows == 1:
        raise ValueError("X has 1 sample with a weight, and a pair takes two")
    layout = find_layout(summaries)
    weights, copies = None, layout.sizes.astype(np.float64)
    by_part: list[list[Any]] = [[None] * parts.n_parts] * 2
    if "sample_weight" in parts.kinds:
        given = [np.empty(0) if s["weight"] is None else s["weight"] for s in summaries]
        weights = proportions(scale_weights(np.concatenate(given))[0])
        by_part = [parts.split(weights[0]), parts.split(weights[1])]
        counted = np.concatenate(parts.map(copies_of_groups, each=by_part[1:]))
        copies = np.bincount(np.concatenate(layout.of_parts), counted).astype(np.float64)
    groups = Groups(layout.query, layout.y, copies)
    plan = plan_fit(model, groups)
    check_groups(model.push, groups)
    random = check_random_state(model.random_state)
    edges = find_all_edges(parts, model.max_bins, weights, random)
    missing = np.any([s["missing"] for s in summaries if s["rows"]], axis=0)
    set_features(model, parts)
    kept = parts.keep(bin_part, BinMapper.of(edges), each=[layout.of_parts, *by_part])
    whole = plan.pair_weight == "ndcg" or plan.loss == "logistic"
    n_bins = np.array([len(each) + 1 for each in edges])
    none = np.empty(0, dtype=np.int64)
    bins = Bins(none, none, none, none, n_bins, missing, sparse=False)
    sizes = parts.n_rows, int(copies.sum())
    with Pool(model.n_jobs) as pool:
        blocks = make_blocks(parts, kept, (layout, groups), bins, pool, whole=whole)
        try:
            rounds = make_rounds(model, plan, blocks, groups, bins, sizes)
            model._take_rounds(rounds, edges, missing, say=parts.say)
        finally:
            if isinstance(blocks, RemoteBlocks):
                blocks.close()
    model._set_plan(plan, groups.n_pairs, groups.n_queries)


# ---------------------------------------------------------------------- groups, weights, edges


def _check_dense(part: Part) -> None:
    if not isinstance(part.X, np.ndarray):
        raise ValueError(
            f"part {part.part} is sparse, but RankBoost takes dense rows in parts: use its "
            "toarray(), or fit in memory, where sparse rows are taken"
        )


def _groups_of(part: Part) -> tuple[Any, Ints, Floats, Ints]:
    """Return queries, the query and target of each group, and the group of each row."""
    n = part.X.shape[0]
    y = as_floats(part.y, "y")
    codes, n_queries = encode_queries(part.qid, n)
    queries = None
    if part.qid is not None:
        queries = np.empty(n_queries, dtype=part.qid.dtype)
        queries[codes] = part.qid
    groups, order, starts = Groups.of_rows(codes, y, np.ones(n, dtype=np.int64))
    group = np.empty(n, dtype=np.int64)
    group[order] = np.repeat(np.arange(len(groups.y)), np.diff(starts))
    return queries, groups.query, groups.y, group


def summarise(part: Part) -> dict[str, Any]:
    """Return the groups of a part, sorted, the weights, and which features miss values."""
    _check_dense(part)
    n = part.X.shape[0]
    if not n:
        return {"rows": 0, "weight": None, "queries": None, "y": np.empty(0)}
    with in_part(part):
        to_ratings(part)
    queries, query, y, group = _groups_of(part)
    return {
        "rows": n,
        "queries": queries,
        "query": query,
        "y": y,
        "sizes": np.bincount(group),
        "weight": part.weight,
        "missing": np.isnan(part.X.max(axis=0)),
    }


def find_layout(summaries: list[dict[str, Any]]) -> Layout:
    """Return all groups, from what was found in the parts."""
    full = [summary for summary in summaries if summary["rows"]]
    names = [summary["queries"] for summary in full]
    codes = [np.zeros(len(summary["y"]), dtype=np.int64) for summary in full]
    if names[0] is not None:
        known = sorted(set().union(*(each.tolist() for each in names)))
        code_of = {name: code for code, name in enumerate(known)}
        codes = [
            np.array([code_of[name] for name in each.tolist()], dtype=np.int64)[summary["query"]]
            for each, summary in zip(names, full, strict=True)
        ]
    y = np.concatenate([summary["y"] for summary in full])
    sizes = np.concatenate([summary["sizes"] for summary in full])
    groups, order, starts = Groups.of_rows(np.concatenate(codes), y, sizes)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.repeat(np.arange(len(groups.y)), np.diff(starts))
    ends = np.cumsum([len(summary["y"]) for summary in full])[:-1]
    here, counts = iter(np.split(number, ends)), iter(np.split(sizes, ends))
    none = np.empty(0, dtype=np.int64)
    return Layout(
        groups.query,
        groups.y,
        np.bincount(number, weights=sizes).astype(np.int64),
        [next(here) if summary["rows"] else none for summary in summaries],
        [next(counts) if summary["rows"] else none for summary in summaries],
    )


def copies_of_groups(part: Part, copies: Ints) -> Floats:
    """Return how many rows those of each group of a part stand for."""
    if not len(copies):
        return np.empty(0)
    return np.bincount(_groups_of(part)[3], weights=copies).astype(np.float64)


def find_all_edges(
    parts: Parts, max_bins: int | None, weights: tuple[Floats, Ints] | None, random: Any
) -> list[Floats]:
    """Return the edges of each feature, those of one machine."""
    if max_bins is None:
        found = parts.map(distinct_values)
        by_feature = zip(*(each for each in found if each is not None), strict=True)
        return [find_edges(np.unique(np.concatenate(each)), None, None) for each in by_feature]
    rows = sample_rows(parts.n_rows, max_bins, random)
    ends = np.cumsum([0, *parts.rows])
    cut = np.split(rows, np.searchsorted(rows, ends[1:-1]))
    local = [some - first for some, first in zip(cut, ends[:-1], strict=True)]
    taken = parts.map(rows_at, each=[local])
    columns = np.ascontiguousarray(np.concatenate([some for some in taken if len(some)]).T)
    return edges_of_columns(columns, None if weights is None else weights[0][rows], max_bins)


def rows_at(part: Part, rows: Ints) -> Floats:
    """Return some rows in double precision."""
    return np.asarray(part.X[rows], dtype=np.float64)


def distinct_values(part: Part) -> list[Floats] | None:
    """Return the distinct values of each feature."""
    if not part.X.shape[0]:
        return None
    return [np.unique(column).astype(np.float64) for column in part.X.T]


# ---------------------------------------------------------------------- bins of parts


def bin_part(
    part: Part, groups: Ints, weight: Floats | None, copies: Ints | None, mapper: BinMapper
) -> dict[str, NDArray[Any]]:
    """Return the bins of a part in the order of its groups, and what else a block has."""
    n, d = part.X.shape[0], len(mapper.low)
    group = _groups_of(part)[3] if n else np.empty(0, dtype=np.int64)
    order, starts = np.argsort(group, kind="stable"), np.append(0, np.cumsum(np.bincount(group)))
    step = max(1, _VALUES // d)
    codes = [mapper.transform(np.empty((0, d)), order[:0], Pool(1)).codes.reshape(d, 0)]
    for first in range(0, n, step):
        some = part.X[order[first : first + step]].astype(np.float64)
        found = mapper.transform(some, np.arange(len(some)), Pool(1)).codes
        codes.append(found.reshape(d, len(some)))
    return {
        "codes": np.concatenate(codes, axis=1),
        "groups": groups,
        "starts": starts if n else np.zeros(1, dtype=np.int64),
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
    """Return the block of a part; ``keys`` are those of all groups."""
    bins = dense_bins(np.ascontiguousarray(kept["codes"]).reshape(-1), bins.n_bins, bins.missing)
    own = {name: np.array(kept[name]) for name in ("groups", "starts", "weight", "counts")}
    here = tuple(key[own["groups"]] for key in keys)
    return Block.of(bins, here, own["starts"], own["weight"], own["counts"])


def make_blocks(
    parts: Any, kept: Any, found: tuple[Layout, Groups], bins: Bins, pool: Pool, *, whole: bool
) -> "Blocks | RemoteBlocks":
    """Return the blocks of the parts, with each query in one of them if it must be ``whole``."""
    layout, groups = found
    full = [p for p in range(parts.n_parts) if parts.rows[p]]
    keys = groups.keys(np.arange(len(groups.y)))
    if isinstance(parts, MachineParts):
        needed = (_ROW_BYTES + (len(bins.n_bins) if whole else 0)) * parts.n_rows
        if parts.limit is not None and needed > parts.limit:
            raise ValueError(
                f"memory_limit={parts.limit / 1e9:.3g} GB is too little for the scores and weights "
                f"of {parts.n_rows} rows, about {needed / 1e9:.3g} GB: allow more, or use a cluster"
            )
        values = [load_kept(kept.values[p]) for p in full]
        if whole:
            values = bring_together(values, full, layout, lambda function: function)
        return Blocks([build_block(value, bins, keys) for value in values], pool)
    delayed = parts._dask.delayed
    values = [kept.values[p] for p in full]
    if whole:
        if layout.query[-1] == 0 and len(full) > 1:
            raise ValueError(
                f"all rows are one query, which lies in {len(full)} parts, and the logistic loss "
                "and pair_weight='ndcg' compare row by row: give qid, use loss='exponential', or "
                "bring the rows into one part"
            )
        values = bring_together(values, full, layout, delayed)
    built = [delayed(build_block, pure=False)(value, bins, keys) for value in values]
    if parts.client is None:
        return Blocks(parts._dask.compute(*built), pool)
    return RemoteBlocks(parts.client.compute(built), parts, pool)


def bring_together(
    values: list[Any], full: list[int], layout: Layout, call: Callable[[Any], Any]
) -> list[Any]:
    """Return parts each of whose queries is in one of them, by moving the bins of some rows.

    ``call`` makes a function one that is computed where the parts are.
    """
    n_queries = int(layout.query[-1]) + 1
    rows = np.zeros((len(full), n_queries), dtype=np.int64)
    for at, p in enumerate(full):
        np.add.at(rows[at], layout.query[layout.of_parts[p]], layout.sizes_of_parts[p])
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
    for at in range(len(full)):
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
    parts : Parts
        Counts what is moved; its client computes.
    pool : Pool
        Threads of this process.
    """

    def __init__(self, blocks: Sequence[Any], parts: Any, pool: Pool) -> None:
        self.blocks, self.client, self.parts, self.pool = blocks, parts.client, parts, pool
        self.states = [self.client.submit(_begin, block, pure=False) for block in blocks]
        self.asked: list[Any] = []

    def run(
        self, function: Any, *arguments: Any, merge: Callable[..., Any] = np.add
    ) -> tuple[Any, ...]:
        """Return the merged answers of all blocks to a function; states follow."""
        submit, n, traffic = self.client.submit, len(self.blocks), self.parts.traffic
        steps = [
            submit(_step, block, state, function, arguments, pure=False)
            for block, state in zip(self.blocks, self.states, strict=True)
        ]
        self.states = [submit(itemgetter(0), step, pure=False) for step in steps]
        answers = [submit(itemgetter(1), step, pure=False) for step in steps]
        while len(answers) > 1:
            answers = [
                submit(_merge, answers[k : k + FAN_IN], merge, pure=False)
                for k in range(0, len(answers), FAN_IN)
            ]
        self.asked = [*steps, *answers]
        traffic.passes += 1
        traffic.sent += n * weigh(list(arguments))
        with traffic.waiting():
            answer: tuple[Any, ...] = self._wait(answers)
        traffic.back += n * weigh(answer)
        return answer

    def _wait(self, answers: list[Any]) -> Any:
        """Return the answer; futures that failed with their worker are computed again."""
        for _ in range(TRIES):
            try:
                return results_of(self.client, answers)[0]
            except lost_errors():
                logger.warning("a worker was lost: its blocks are computed again")
                self.client.retry([*self.blocks, *self.states, *self.asked])
        raise RuntimeError(
            f"workers were lost {TRIES} times in one round: see their logs, memory may be short"
        )

    def close(self) -> None:
        """Release all futures."""
        release([*self.asked, *self.states, *self.blocks])


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
