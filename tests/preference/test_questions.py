"""The questions that sorts ask, in their order, against recorded ones."""

import asyncio
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from rankwise.contests import aask, ask
from rankwise.preference import (
    aquicksort,
    asort_by_degree,
    greedy_order,
    quicksort,
    sort_by_degree,
)

RECORDED = Path(__file__).parent / "data" / "questions.json"
OLD_LOG = [(0, 3, 1.0), (3, 1, 0.25), (2, 5, 0.5), (5, 2, 0.75), (4, 6, 0.0)]

SORTS = {
    "quicksort": partial(quicksort, random_state=3),
    "first 2": partial(quicksort, random_state=4, k=2),
    "at random": partial(quicksort, random_state=5, randomise=True),
    "repeated": partial(quicksort, random_state=6, repeats=3),
    "both ways": partial(quicksort, random_state=7, symmetrise=True, repeats=2),
    "few calls": partial(quicksort, random_state=8, max_calls=7),
    "few calls both ways": partial(quicksort, random_state=9, symmetrise=True, max_calls=9),
    "continued": partial(quicksort, random_state=10, log=OLD_LOG),
    "continued both ways": partial(
        quicksort, random_state=11, log=OLD_LOG, symmetrise=True, repeats=2, max_calls=20
    ),
    "degree": sort_by_degree,
    "degree, few calls": partial(sort_by_degree, max_calls=11, symmetrise=True, log=OLD_LOG),
    "greedy": partial(greedy_order, repeats=2, log=OLD_LOG),
    "async": partial(aquicksort, random_state=3, max_concurrency=1),
    "async, continued": partial(aquicksort, random_state=12, log=OLD_LOG, max_concurrency=1),
    "async degree": partial(asort_by_degree, max_concurrency=1, max_calls=20),
    "ask": partial(ask, goal="top", k=2, random_state=13, max_calls=24, at_once=4),
    "ask, continued": partial(ask, goal="best", log=OLD_LOG, random_state=14, max_calls=12),
    "aask": partial(aask, goal="order", random_state=15, max_calls=16, at_once=1),
}


def record(name, batch):
    """Return what a sort of nine items asks, expects, and returns."""
    sort, asked, expected = SORTS[name], [], []
    P = np.triu(np.random.default_rng(1).integers(0, 5, (9, 9)) / 4, 1)
    P += np.tril(1 - P.T, -1)

    def prefer(u, v):
        asked.append(np.column_stack([u, v]).tolist() if batch else [int(u), int(v)])
        return P[u, v]

    async def later(u, v):
        return prefer(u, v)

    options = {"batch": batch, "progress": lambda n, of: expected.append([n, round(float(of), 6)])}
    if "log" in sort.keywords if isinstance(sort, partial) else False:
        options["log"] = list(OLD_LOG)
    is_async = name.startswith(("async", "aask"))
    found = sort(np.arange(9), later if is_async else prefer, **options)
    ranking = asyncio.run(found) if is_async else found
    return {
        "asked": asked,
        "expected": expected[-1],
        "order": ranking.order.tolist(),
        "certain": ranking.certain.tolist(),
        "calls": [ranking.n_calls, ranking.n_batches],
        "log": None if ranking.log is None else [list(entry) for entry in ranking.log],
    }


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("name", SORTS)
def test_questions_in_their_order(name, batch):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert record(name, batch) == recorded[f"{name}, {'batches' if batch else 'single'}"]
