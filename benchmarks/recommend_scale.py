"""TasteModel on generated tables of up to 25 million ratings: time, memory, growth (--ratings)."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import load
from benchmarks.report import append, console, describe

Array = NDArray[Any]

RATINGS, USERS, ITEMS = 25_000_000, 162_000, 59_000
GIGABYTES, EXPONENT = 6.0, 1.0
GROUPS, RANK, CHUNK = 20, 12, 5_000
# Whose held-out ratings are predicted.
PEOPLE = 5_000


def ratings_table(n_ratings: int = RATINGS, seed: int = 1) -> tuple[Array, Array, Array]:
    """People, items and ratings from 0.5 to 5, about as many as asked for.

    The numbers of ratings of people and items are as skewed as in MovieLens. Items belong to
    groups. People choose groups by their taste and items by popularity, and rate what they choose
    by level, mean, twelve factors of taste and noise. With fewer ratings there are fewer people
    and, by the square root, fewer items.
    """
    g = np.random.default_rng(seed)
    share = n_ratings / RATINGS
    n_users, n_items = int(USERS * share), int(ITEMS * np.sqrt(share))
    sizes = np.exp(g.normal(4.25, 1.15, n_users))
    sizes = np.clip(sizes * n_ratings / sizes.sum(), 15, n_items / 8)
    sizes = np.rint(sizes * n_ratings / sizes.sum()).astype(np.int64)
    group = g.integers(0, GROUPS, n_items)
    popularity = (1.0 + g.permutation(n_items)) ** -0.95
    factors = g.normal(size=(n_items, RANK)) * 0.25 + g.normal(size=(GROUPS, RANK))[group] * 0.15
    means = 0.45 * g.normal(size=n_items) + 0.08 * np.log(popularity / popularity.mean())
    # items by group, with cumulated popularity, so that one search finds an item of a group
    order = np.lexsort((np.arange(n_items), group))
    cumulated = np.cumsum(popularity[order])
    ends = np.concatenate([[0.0], cumulated[np.cumsum(np.bincount(group, minlength=GROUPS)) - 1]])
    tastes = g.normal(size=(GROUPS, RANK))
    users, items, ratings = [], [], []
    for first in range(0, n_users, CHUNK):
        n = sizes[first : first + CHUNK]
        vectors = g.normal(size=(len(n), RANK))
        liking = np.exp(0.4 * vectors @ tastes.T) * np.diff(ends)
        chances = np.cumsum(liking / liking.sum(axis=1, keepdims=True), axis=1)
        chances[:, -1] = 1.0
        who = np.repeat(np.arange(len(n)), 2 * n)
        one_line = (chances + np.arange(len(n))[:, None]).ravel()
        which = np.searchsorted(one_line, who + g.random(len(who))) - GROUPS * who
        drawn = ends[which] + g.random(len(who)) * np.diff(ends)[which]
        item = order[np.searchsorted(cumulated, drawn).clip(max=n_items - 1)]
        # the first n different items of each person
        key = who * n_items + item
        kept = np.sort(np.unique(key, return_index=True)[1])
        who, item = who[kept], item[kept]
        place = np.arange(len(who)) - np.searchsorted(who, who)
        who, item = who[place < n[who]], item[place < n[who]]
        level = 3.55 + 0.4 * g.normal(size=len(n))
        score = level[who] + means[item] + np.einsum("ij,ij->i", vectors[who], factors[item])
        score += 0.72 * g.normal(size=len(who))
        users.append((who + first).astype(np.int32))
        items.append(item.astype(np.int32))
        ratings.append(np.clip(np.rint(2 * score) / 2, 0.5, 5.0).astype(np.float32))
    return np.concatenate(users), np.concatenate(items), np.concatenate(ratings)


def measure(n_ratings: int, n_jobs: int) -> dict[str, Any]:
    """Fit a table of this size in this process; return what it took."""
    table = load("rankwise.recommend.RatingTable").from_arrays(*ratings_table(n_ratings))
    train, test = table.split(0.02, random_state=1)
    model = load("rankwise.recommend.TasteModel")
    start, of_cores = perf_counter(), process_time()
    fitted = model(n_jobs=n_jobs, verbose=True).fit(train)
    seconds, of_cores = perf_counter() - start, process_time() - of_cores
    peak = import_module("resource").getrusage(import_module("resource").RUSAGE_SELF).ru_maxrss
    start = perf_counter()
    errors = fitted.evaluate(test.people(0, PEOPLE))
    of_predict = perf_counter() - start
    return {
        "ratings": train.n_ratings,
        "users": train.n_users,
        "items": train.n_items,
        "form": fitted.form_,
        "seconds": seconds,
        "core_seconds": of_cores,
        "gigabytes": peak * 1024 / 1e9,
        "rmse": errors.rmse,
        "rmse_of_biases": biases_error(train, test.people(0, PEOPLE)),
        "misranking": errors.misranking,
        "predictions_per_second": errors.n_ratings / of_predict,
    }


def biases_error(train: Any, test: Any) -> float:
    """Root mean squared error of level plus mean, the model without a taste."""
    users, item_means = load("rankwise.recommend.baseline.fit_baseline")(train.matrix)
    rows = np.repeat(np.arange(test.n_users), np.diff(test.matrix.indptr))
    guess = users[rows] + item_means[test.matrix.indices]
    return float(np.sqrt(np.mean(np.square(np.clip(guess, *train.scale) - test.matrix.data))))


def main(arguments: Sequence[str]) -> int:
    """Fit tables of a fifth, a half and all of the ratings, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks recommend_scale")
    parser.add_argument("--ratings", type=int, default=RATINGS, help="of the largest table")
    parser.add_argument("--jobs", type=int, default=2, help="threads")
    options = parser.parse_args(arguments)
    found = []
    for share in (0.2, 0.5, 1.0):
        command = [sys.executable, "-m", "benchmarks.recommend_scale"]
        command += [str(int(share * options.ratings)), str(options.jobs)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(run.stdout)
        found.append(result)
        shown = (
            "{ratings:,} ratings, {users:,} x {items:,}, {form}: {seconds:.0f} s "
            "({core_seconds:.0f} s of cores), {gigabytes:.2f} GB, RMSE {rmse:.4f} (biases "
            "{rmse_of_biases:.4f}), misranking {misranking:.4f}, {predictions_per_second:,.0f} "
            "predictions/s"
        )
        console.print(shown.format(**result), highlight=False)
        append("recommend_scale", {"kind": "rows", **describe(), **result})
    # seconds of cores, since others may use the machine, too
    sizes, seconds = (np.log([result[k] for result in found]) for k in ("ratings", "core_seconds"))
    exponent = float(np.polyfit(sizes, seconds, 1)[0])
    met = exponent < EXPONENT and found[-1]["gigabytes"] < GIGABYTES
    console.print(
        f"time grows as ratings^{exponent:.2f}; target {'met' if met else 'not met'}: an exponent "
        f"under {EXPONENT:g} and under {GIGABYTES:g} GB"
    )
    return 0 if met else 1


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
