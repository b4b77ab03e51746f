"""One order from ten: Kemeny's optimum with a proof, and by local search."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Growth, Prepare, Race, Target, load
from benchmarks.report import append, describe, run_race

Orders = NDArray[np.int64]

VOTERS = 10


def votes(n: int = 50, seed: int = 7) -> tuple[tuple[Orders], tuple[Orders]]:
    """Ten orders of n candidates, best first: eight close to 0..n-1, two far."""
    g = np.random.default_rng(seed)
    noise = np.where(np.arange(VOTERS) < 8, 0.15, 0.6) * n
    orders = np.array([np.argsort(np.arange(n) + s * g.standard_normal(n)) for s in noise])
    return (orders,), (orders,)


def cost(order: Any, orders: Orders) -> float:
    """Return the sum of Kendall distances."""
    return float(load("rankwise.aggregation.kemeny_cost")(list(order), orders.tolist()))


def read_only(orders: Orders) -> Callable[[], None]:
    """To read the votes and count every pair, which no method can do without."""
    wins, rankings = load("rankwise.aggregation.pairwise_wins"), orders.tolist()

    def run() -> None:
        wins(rankings)

    return run


def ours(name: str, **options: Any) -> Prepare:
    """One of our rules; an order that should be proven and is not is a failure."""

    def prepare(orders: Orders) -> Callable[[], Any]:
        rule, rankings = load(f"rankwise.aggregation.{name}"), orders.tolist()

        def run() -> Any:
            ranking = rule(rankings, **options)
            demanded = options.get("method") == "exact" and "time_limit" not in options
            if demanded and not ranking.optimal:
                raise RuntimeError(f"{name} gave no proof for {len(rankings[0])} candidates")
            return ranking.order

        return run

    return prepare


def plain_highs(orders: Orders) -> Callable[[], Any]:
    """The textbook model: a binary for each pair, both inequalities of every triangle."""
    milp, constraint, bounds, csr = (
        load(f"scipy.{name}")
        for name in (
            "optimize.milp",
            "optimize.LinearConstraint",
            "optimize.Bounds",
            "sparse.csr_array",
        )
    )
    n = orders.shape[1]
    positions = np.argsort(orders, axis=1)

    def run() -> Any:
        first, second = np.triu_indices(n, 1)
        number = np.zeros((n, n), dtype=np.int64)
        number[first, second] = np.arange(len(first))
        before = (positions[:, first] < positions[:, second]).sum(axis=0)
        i, j, k = np.array(list(combinations(range(n), 3))).T
        columns = np.stack([number[i, j], number[j, k], number[i, k]], axis=1).ravel()
        rows = np.repeat(np.arange(len(i)), 3)
        signs = np.tile([1.0, 1.0, -1.0], len(i))
        triangles = csr((signs, (rows, columns)), shape=(len(i), len(first)))
        found = milp(
            VOTERS - 2.0 * before,
            constraints=constraint(triangles, 0, 1),
            integrality=np.ones(len(first)),
            bounds=bounds(0, 1),
            options={"mip_rel_gap": 0},
        )
        ahead = np.zeros(n)
        np.add.at(ahead, first, found.x)
        np.add.at(ahead, second, 1 - found.x)
        return np.argsort(-ahead).tolist()

    return run


def corankco(path: str) -> Prepare:
    """One of corankco's; its data set is built beforehand."""

    def prepare(orders: Orders) -> Callable[[], Any]:
        solver = load(f"corankco.algorithms.{path}")()
        scheme = load("corankco.scoringscheme.ScoringScheme").get_unifying_scoring_scheme_p(1.0)
        raw = [[{candidate} for candidate in order] for order in orders.tolist()]
        data = load("corankco.dataset.Dataset").from_raw_list(raw)

        def run() -> Any:
            found = solver.compute_consensus_rankings(data, scheme, True)
            buckets = found.consensus_rankings[0].buckets
            return [int(str(element)) for bucket in buckets for element in bucket]

        return run

    return prepare


def ranx(orders: Orders) -> Callable[[], Any]:
    """Condorcet fusion by ranx, of runs with scores that are made beforehand."""
    fuse, make = load("ranx.fuse"), load("ranx.Run")
    n = orders.shape[1]
    runs = [make({"q": {str(c): float(n - p) for p, c in enumerate(o)}}) for o in orders.tolist()]

    def run() -> Any:
        fused = fuse(runs=runs, method="condorcet", norm=None)
        scores = fused.to_dict()["q"]
        return sorted(map(int, scores), key=lambda c: -scores[str(c)])

    return run


def choix(orders: Orders) -> Callable[[], Any]:
    """Plackett-Luce model of the orders by choix's I-LSR."""
    fit, rankings = load("choix.ilsr_rankings"), orders.tolist()
    return lambda: np.argsort(-fit(orders.shape[1], rankings, alpha=1e-4)).tolist()


RACES = {
    "exact": Race(
        data=votes,
        measure="cost",
        judge=cost,
        limit=Entrant("majorities", read_only),
        ours=(
            Entrant("kemeny", ours("kemeny", method="exact")),
            Entrant("local search", ours("kemeny", method="local")),
        ),
        peers=(
            Entrant("plain HiGHS", plain_highs, needs="scipy"),
            Entrant(
                "corankco, CBC",
                corankco("exact.exactalgorithmpulp.ExactAlgorithmPulp"),
                needs="corankco",
                repeats=1,
            ),
            Entrant("BioConsert", corankco("bioconsert.bioconsert.BioConsert"), needs="corankco"),
        ),
        targets=(
            Target("plain HiGHS", over="kemeny", at_least=10),
            Target("kemeny", at_most=2041),
            Target("local search", at_most=2043),
        ),
    ),
    "larger": Race(
        data=partial(votes, n=200),
        measure="cost",
        judge=cost,
        limit=Entrant("majorities", read_only),
        ours=(
            Entrant("kemeny", ours("kemeny", method="exact")),
            Entrant("local search", ours("kemeny", method="local")),
            Entrant("footrule", ours("footrule")),
            Entrant("borda", ours("borda")),
            Entrant("copeland", ours("copeland")),
            Entrant("markov_chain", ours("markov_chain")),
            Entrant("kwiksort", ours("kwiksort", random_state=0)),
        ),
        peers=(
            Entrant("BioConsert", corankco("bioconsert.bioconsert.BioConsert"), needs="corankco"),
            Entrant("ranx Condorcet", ranx, needs="ranx"),
            Entrant("choix Plackett-Luce", choix, needs="choix"),
        ),
    ),
    "local": Race(
        data=partial(votes, n=500),
        measure="cost",
        judge=cost,
        limit=Entrant("majorities", read_only),
        ours=(Entrant("local search", ours("kemeny", method="local")),),
        peers=(
            Entrant("BioConsert", corankco("bioconsert.bioconsert.BioConsert"), needs="corankco"),
        ),
        targets=(
            Target("BioConsert", over="local search", at_least=10),
            Target("local search", at_most=218_445),
        ),
        growth=(Growth("n", (50, 100, 200, 500, 1_000)),),
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Run the races, and show how fast proofs come as elections grow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks aggregation")
    parser.add_argument("--turns", type=int, default=5, help="of every entrant")
    parser.add_argument("--only", choices=[*RACES, "proofs"], help="one of the races")
    options = parser.parse_args(arguments)
    chosen = [options.only] if options.only else [*RACES, "proofs"]
    good = [
        run_race(f"aggregation_{name}", RACES[name], repeats=options.turns, sizes={})
        for name in chosen
        if name in RACES
    ]
    if "proofs" in chosen:
        proofs((50, 100, 200, 250, 500))
    return 0 if all(good) else 1


def proofs(sizes: Sequence[int], time_limit: float = 60.0) -> None:
    """Print cost, bound and seconds of an exact search with a time limit."""
    perf_counter, kemeny = load("time.perf_counter"), load("rankwise.aggregation.kemeny")
    print(f"{'n':>5} {'cost':>9} {'bound':>9} {'gap':>8} {'seconds':>8}")
    record = []
    for n in sizes:
        ((orders,), _) = votes(n)
        start = perf_counter()
        found = kemeny(orders.tolist(), time_limit=time_limit)
        seconds = perf_counter() - start
        gap = 1 - found.lower_bound / found.cost
        shown = "proven" if found.optimal else f"{100 * gap:.3f} %"
        print(f"{n:5} {found.cost:9.0f} {found.lower_bound:9.0f} {shown:>8} {seconds:8.2f}")
        record.append({"n": n, "cost": found.cost, "gap": gap, "seconds": seconds})
    append("aggregation_proofs", {"kind": "proofs", **describe(), "proofs": record})
