"""RankBoost of rows in parts: the same model as on one machine.

Three passes over the rows come first: which groups of equal query and target there are, a sample of
the rows for the edges of the bins, which is the same as on one machine, and the bins, a byte a
value. They stay where the rows are; rounds need nothing else of the rows.

On a cluster the scores and weights of the rows stay there too. A round moves a few numbers for each
group and d histograms, see `rankwise.boosting.parted_stumps`; none of it grows with the rows
of a group. Losses that are summed pair by pair, logistic or "ndcg", need each query in one part:
bins of rows whose query is cut go to the part that has most of it, which is logged.

On one machine the bins are written to a temporary file, which is memory-mapped, and the rounds are
those of `RankBoost.fit`.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._core.pairs import Pairs
from rankwise._core.ranker import Ranked, scale_weights
from rankwise._core.threads import Pool
from rankwise.boosting import RankBoost
from rankwise.boosting.binning import Dense, Table, edges_of_columns, find_edges, sample_rows
from rankwise.boosting.pair_weights import AllPairs, proportions
from rankwise.boosting.parted import Slots
from rankwise.boosting.parted_stumps import PartedStumps, Weights, few_parted_groups
from rankwise.boosting.parted_trees import ExponentialSlopes, PartedPairSlopes, PartedTrees
from rankwise.boosting.rounds import (
    check_gains,
    check_steps,
    check_two_classes,
    is_paper,
    learner_of,
    limits_of,
    pair_weight_of,
)
from rankwise.distributed._boost_parts import (
    bin_part,
    build_member,
    build_rows,
    copies_of_groups,
    distinct_values,
    group_codes_of,
    join_parts,
    rows_at,
    summarise,
    take_part,
    write_codes,
)
from rankwise.distributed._crew import Crew, Remote
from rankwise.distributed._machine import MachineParts
from rankwise.distributed._parts import Parts, logger
from rankwise.distributed._shared import set_features

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bytes that a fit on one machine keeps in memory for each row: scores, factors, order, and more of
# that kind, or gradients for trees; and what queries add. `python -m benchmarks parquet_rows` shows
# the peak: trees on 20,000,000 rows took more than 4 GB.
_STUMPS, _TREES, _QUERIES = 120, 210, 55


class Groups(NamedTuple):
    """All groups of rows of equal query and target, sorted by both.

    - ``query``, ``y``, ``sizes`` (n_groups,): query, target and number of rows of each;
    - ``n_queries``;
    - ``of_parts``: the numbers of the groups that each part has, rising;
    - ``sizes_of_parts``: and how many rows of each.
    """

    query: Ints
    y: Floats
    sizes: Ints
    n_queries: int
    of_parts: list[Ints]
    sizes_of_parts: list[Ints]


class RowWeights(NamedTuple):
    """Weights and copies (m,) of all rows in proportions as `proportions` finds them."""

    weight: Floats
    copies: Ints


class Found(NamedTuple):
    """What was found out about the rows before the first round.

    - ``groups``, ``weights``: of all rows; None if no weights were given;
    - ``relation``: the pairs of groups, each of the weight of its rows;
    - ``pair_weight``: what weighs a pair;
    - ``edges``: between the bins of each feature;
    - ``missing`` (d,): which features miss values.
    """

    groups: Groups
    weights: RowWeights | None
    relation: AllPairs
    pair_weight: str
    edges: list[Floats]
    missing: NDArray[np.bool_]


def learn(model: RankBoost, parts: Parts) -> None:
    """Learn from rows in parts; sets what `RankBoost.fit` sets."""
    model._validate_params()
    if model.n_iter_no_change is not None:
        raise ValueError(
            f"n_iter_no_change={model.n_iter_no_change} sets rows aside, which is not done in "
            "parts: use None, and choose n_estimators by staged_predict on other rows"
        )
    parts.missing = True
    looks = parts.map(summarise)
    groups = find_groups(looks)
    m = parts.n_rows
    if m == 1:
        raise ValueError("X has 1 sample with a weight, and a pair takes two")
    pair_weight = check_kind(model, groups)
    given = [look["weight"] for look in looks]
    weights = None
    if "sample_weight" in parts.kinds:
        filled = [np.empty(0) if each is None else each for each in given]
        weights = RowWeights(*proportions(scale_weights(np.concatenate(filled))[0]))
    mass = groups.sizes.astype(np.float64)
    if weights is not None:
        copies = parts.map(copies_of_groups, each=[parts.split(weights.copies)])
        mass = np.zeros(len(mass))
        for here, some in zip(groups.of_parts, copies, strict=True):
            mass[here] += some
    pairs = Pairs(
        groups.y,
        qid=groups.query if groups.n_queries > 1 else None,
        sample_weight=mass,
        pair_weight="magnitude" if pair_weight == "magnitude" else "uniform",
    )
    pairs.check_comparable()
    n_pairs = Pairs(groups.y, qid=pairs.codes, sample_weight=mass).one_sided_weight
    random = check_random_state(model.random_state)
    edges = find_all_edges(parts, model.max_bins, weights, random)
    missing = np.any([look["missing"] for look in looks if look["rows"]], axis=0)
    set_features(model, parts)
    boost = _boost_file if isinstance(parts, MachineParts) else _boost_parts
    relation = AllPairs(pairs, n_pairs, model.push)
    boost(model, parts, Found(groups, weights, relation, pair_weight, edges, missing))
    model.pair_weight_ = pair_weight
    model.n_pairs_, model.n_dropped_pairs_ = int(n_pairs), 0
    model.n_queries_ = groups.n_queries


def check_kind(model: RankBoost, groups: Groups) -> str:
    """Return what weighs a pair; refuse what `RankBoost.fit` refuses."""
    none = np.empty(0, dtype=np.int64)
    data = Ranked(None, groups.y, np.ones(len(groups.y)), groups.query, groups.n_queries, none, 1.0)
    pair_weight = pair_weight_of(model, data)
    check_steps(model, pair_weight)
    check_two_classes(model.push, data)
    if pair_weight == "ndcg":
        check_gains(groups.y)
    return pair_weight


def find_groups(looks: list[dict[str, Any]]) -> Groups:
    """Return all groups, from what the parts have seen."""
    full = [look for look in looks if look["rows"]]
    names = [look["queries"] for look in full]
    if names[0] is None:
        codes = [np.zeros(len(look["y"]), dtype=np.int64) for look in full]
        n_queries = 1
    else:
        known = sorted(set().union(*(each.tolist() for each in names)))
        code_of = {name: code for code, name in enumerate(known)}
        n_queries = len(known)
        codes = [
            np.array([code_of[name] for name in each.tolist()], dtype=np.int64)[look["query"]]
            for each, look in zip(names, full, strict=True)
        ]
    query = np.concatenate(codes)
    y = np.concatenate([look["y"] for look in full])
    sizes = np.concatenate([look["sizes"] for look in full])
    order = np.lexsort((y, query))
    opens = np.append(True, (np.diff(query[order]) != 0) | (np.diff(y[order]) != 0))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(opens) - 1
    first = order[opens]
    total = np.bincount(place, weights=sizes).astype(np.int64)
    ends = np.cumsum([len(look["y"]) for look in full])[:-1]
    here, counts = iter(np.split(place, ends)), iter(np.split(sizes, ends))
    none = np.empty(0, dtype=np.int64)
    return Groups(
        query[first],
        y[first],
        total,
        n_queries,
        [next(here) if look["rows"] else none for look in looks],
        [next(counts) if look["rows"] else none for look in looks],
    )


def find_all_edges(
    parts: Parts, max_bins: int | None, weights: RowWeights | None, random: Any
) -> list[Floats]:
    """Return the edges of each feature, those of one machine."""
    m = parts.n_rows
    if max_bins is None:
        found = parts.map(distinct_values)
        by_feature = zip(*(each for each in found if each is not None), strict=True)
        return [find_edges(np.unique(np.concatenate(each)), None, None) for each in by_feature]
    rows = sample_rows(m, max_bins, random)
    ends = np.cumsum([0, *parts.rows])
    cut = np.split(rows, np.searchsorted(rows, ends[1:-1]))
    local = [some - first for some, first in zip(cut, ends[:-1], strict=True)]
    taken = parts.map(rows_at, each=[local])
    columns = np.ascontiguousarray(np.concatenate([some for some in taken if len(some)]).T)
    weight = None if weights is None else weights.weight[rows]
    return edges_of_columns(columns, weight, max_bins)


def _boost_parts(model: RankBoost, parts: Any, found: Found) -> None:
    """Take rounds on parts that stay where they are."""
    groups, weights, relation, pair_weight, edges, missing = found
    table, n = Table.of(edges), parts.n_parts
    slots = Slots(relation.factors.group, relation.factors.sign, len(groups.y))
    none = [None] * n
    kept = parts.keep(
        bin_part,
        table,
        each=[
            groups.of_parts,
            none if weights is None else parts.split(weights.weight),
            none if weights is None else parts.split(weights.copies),
        ],
    )
    full = [p for p in range(n) if parts.rows[p]]
    values = [kept.values[p] for p in full]
    delayed = parts._dask.delayed
    if model.loss == "logistic" or pair_weight == "ndcg":
        values = _bring_together(values, full, groups, delayed)
    with Pool(model.n_jobs) as pool:
        if parts.client is None:
            built = parts._dask.compute(*(delayed(build_rows)(v, table, slots) for v in values))
            crew: Crew | Remote = Crew(built, pool)
        else:
            made = [delayed(build_member, pure=False)(v, table, slots) for v in values]
            crew = Remote(parts.client.compute(made), parts.client, parts)
        bins = Dense(np.empty(table.shape(0), dtype=table.kind), table.n_bins, missing)
        copies = parts.n_rows if weights is None else int(weights.copies.sum())
        learner = _learner(model, crew, bins, groups, relation, pair_weight, copies)
        try:
            model._take_rounds(learner, edges, missing, say=parts.say)
        finally:
            crew.close()


def _learner(
    model: RankBoost,
    crew: Crew | Remote,
    bins: Dense,
    groups: Groups,
    relation: AllPairs,
    pair_weight: str,
    copies: int,
) -> PartedStumps | PartedTrees:
    """Return what takes the rounds, as `rankwise.boosting.rounds.learner_of` does."""
    m = int(groups.sizes.sum())
    if is_paper(model, pair_weight):
        criterion = model.criterion
        if criterion == "auto" and (model.push != 1 or model.step != "exact"):
            criterion = "edge"
        if criterion == "auto":
            criterion = "loss" if few_parted_groups(len(groups.y), m, bins) else "edge"
        weights = Weights(relation, groups.sizes, crew.ask)
        return PartedStumps(weights, bins, criterion, m, model.step)
    slopes: Any
    if model.loss == "logistic" or pair_weight == "ndcg":
        loss = "logistic" if model.loss == "logistic" else "exponential"
        slopes = PartedPairSlopes(crew.ask, groups.y, groups.query, loss, pair_weight)
    else:
        slopes = ExponentialSlopes(Weights(relation, groups.sizes, crew.ask), groups.query)
    return PartedTrees(crew.ask, slopes, bins, limits_of(model), m, copies)


def _bring_together(values: list[Any], full: list[int], groups: Groups, delayed: Any) -> list[Any]:
    """Return parts each of whose queries is in one of them, by moving the bins of some rows."""
    rows = np.zeros((len(full), groups.n_queries), dtype=np.int64)
    for at, p in enumerate(full):
        np.add.at(rows[at], groups.query[groups.of_parts[p]], groups.sizes_of_parts[p])
    home = rows.argmax(axis=0)
    cut = (rows > 0).sum(axis=0) > 1
    if not cut.any():
        return values
    moved = int(rows.sum() - rows.max(axis=0).sum())
    if groups.n_queries == 1:
        raise ValueError(
            f"all rows are one query, which lies in {len(full)} parts, and the logistic loss and "
            "pair_weight='ndcg' compare row by row: give qid, use loss='exponential', or bring the "
            "rows into one part"
        )
    logger.info(
        "%d of %d queries are cut by parts: the bins of %d of %d rows move to the part that has "
        "most of their query",
        int(cut.sum()),
        groups.n_queries,
        moved,
        int(rows.sum()),
    )
    home_of_group = home[groups.query]
    together = []
    for at in range(len(full)):
        wanted = home == at
        sources = np.flatnonzero(rows[:, wanted].sum(axis=1))
        if len(sources):
            takes = [delayed(take_part)(values[k], home_of_group == at) for k in sources.tolist()]
            together.append(delayed(join_parts)(takes))
    return together


def _boost_file(model: RankBoost, parts: Any, found: Found) -> None:
    """Take rounds on bins in a temporary file."""
    groups, weights, relation, pair_weight, edges, missing = found
    m, paper = parts.n_rows, is_paper(model, pair_weight)
    needed = ((_STUMPS if paper else _TREES) + _QUERIES * (groups.n_queries > 1)) * m
    if needed > parts.limit:
        raise ValueError(
            f"memory_limit={parts.limit / 1e9:.3g} GB is too little for the scores and weights of "
            f"{m} rows, about {needed / 1e9:.3g} GB: allow more, or use a cluster"
        )
    table = Table.of(edges)
    codes = np.concatenate(
        [np.empty(0, dtype=np.int32), *parts.map(group_codes_of, each=[groups.of_parts])]
    )
    copies = np.ones(m, dtype=np.int64) if weights is None else weights.copies
    pairs = Pairs(
        groups.y[codes],
        qid=groups.query[codes] if groups.n_queries > 1 else None,
        sample_weight=None if weights is None else weights.weight,
        pair_weight="magnitude" if pair_weight == "magnitude" else "uniform",
    )
    del codes
    whole = AllPairs(pairs, relation.limit / 2, model.push)
    del pairs
    places = np.empty(m, dtype=np.int64)
    places[whole.order] = np.arange(m)
    with TemporaryDirectory(prefix="rankwise-") as folder, Pool(model.n_jobs) as pool:
        path = Path(folder) / "bins"
        shape = table.shape(m)
        mapped = np.memmap(path, dtype=table.kind, mode="w+", shape=shape)
        parts.map(write_codes, table, str(path), m, each=[parts.split(places)])
        del places
        bins = Dense(mapped.view(np.ndarray), table.n_bins, missing)
        learner = learner_of(model, whole, bins, copies[whole.order], pool, pair_weight)
        model._take_rounds(learner, edges, missing, say=parts.say)
        del bins, mapped, learner
