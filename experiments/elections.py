"""How far the quick rules are from Kemeny's optimum, on real elections where they are at hand.

The elections are all PrefLib files in the folder ``preflib`` of ``RANKWISE_DATA``, grouped by data
set and type. Without them voters are drawn: most see one truth with little noise and some with
much, rank all or half of the candidates, with ties or without.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments._trials import check_sizes
from rankwise.aggregation import (
    borda,
    concordance,
    copeland,
    footrule,
    kemeny,
    kemeny_cost,
    kwiksort,
    local_kemenisation,
    markov_chain,
)
from rankwise.base import Ranking
from rankwise.datasets import read_preflib
from rankwise.reports import Report, Table, Track

RULES: dict[str, Callable[..., Ranking]] = {
    "local search": partial(kemeny, method="local"),
    "footrule": footrule,
    "Borda": borda,
    "Copeland": copeland,
    **{chain: partial(markov_chain, chain=chain) for chain in ("MC1", "MC2", "MC3", "MC4")},
    "QuickSort": partial(kwiksort, random_state=0),
    "20 sorts": partial(kwiksort, repeats=20, random_state=0),
}


# Those whose order is repaired by local Kemenisation.
REPAIRED = ("footrule", "Borda", "Copeland", "MC1", "MC2", "MC3", "MC4", "QuickSort")


class Election(NamedTuple):
    """Rankings, and how many voters have cast each."""

    rankings: list[Any]
    counts: NDArray[np.int64]


class Outcome(NamedTuple):
    """What is found of one election."""

    n_candidates: int
    cost: float
    lower_bound: float
    tau: float
    winner: bool
    costs: dict[str, float]
    repaired: dict[str, float]


def elections(
    *,
    n_elections: int = 20,
    n_candidates: int = 40,
    time_limit: float = 10.0,
    folder: str | Path | None = None,
    seed: int = 0,
    track: Track[Any] = iter,
) -> Report:
    """Run the study of elections.

    Parameters
    ----------
    n_elections, n_candidates : int
        Number and size of the elections of each kind that are drawn if there are no real ones.
    time_limit : float, default=10.0
        Seconds for the proof of each optimum.
    folder : path, default=None
        Where to look for PrefLib files, in it and in its folders. By default ``preflib`` in the
        folder that ``RANKWISE_DATA`` names.
    seed : int, default=0
        Of the drawn elections.
    track : callable, default=iter
        Wraps the sequence of elections to show progress, such as ``rich.progress.track``.
    """
    check_sizes(n_elections=n_elections, n_candidates=n_candidates)
    groups = _real(folder)
    source = f"{sum(map(len, groups.values()))} elections of PrefLib"
    if not groups:
        groups = _drawn(n_elections, n_candidates, seed)
        source = f"{n_elections} elections of {n_candidates} candidates of each kind, seed {seed}"
    work = [(group, election) for group, found in groups.items() for election in found]
    outcomes: dict[str, list[Outcome]] = {group: [] for group in groups}
    for group, election in track(work):
        outcomes[group].append(_outcome(election, time_limit))
    return Report(
        title="Elections",
        setting=f"{source}; {time_limit:g} s at most for the proof of an optimum",
        tables=[_about(outcomes), _excess(outcomes), _repaired(outcomes), _shares(outcomes)],
        findings=_findings(outcomes),
        figures={"elections": _figure(outcomes)},
    )


def _real(folder: str | Path | None) -> dict[str, list[Election]]:
    data = os.environ.get("RANKWISE_DATA", "")
    if folder is None and not data:
        return {}
    if folder is None and not Path(data).is_dir():
        raise ValueError(f"RANKWISE_DATA={data} is no folder; unset it to draw elections")
    root = Path(data) / "preflib" if folder is None else Path(folder)
    groups: dict[str, list[Election]] = {}
    for kind in ("soc", "soi", "toc", "toi"):
        for path in sorted(root.rglob(f"*.{kind}")):
            orders, counts = read_preflib(path, names=False, return_counts=True)
            groups.setdefault(f"{path.parent.name} {kind}", []).append(Election(orders, counts))
    if folder is not None and not groups:
        raise ValueError(f"folder {root} has no PrefLib file (.soc, .soi, .toc, .toi) in it")
    return groups


def _drawn(n_elections: int, n: int, seed: int) -> dict[str, list[Election]]:
    kinds: dict[str, dict[str, Any]] = {
        "agreed": {"noise": 0.15},
        "divided": {"noise": 0.5},
        "divided, partial": {"noise": 0.5, "listed": 0.5},
        "divided, ties": {"noise": 0.5, "ties": True},
    }
    return {
        kind: [
            _votes(n, np.random.default_rng((seed, number, trial)), **options)
            for trial in range(n_elections)
        ]
        for number, (kind, options) in enumerate(kinds.items())
    }


def _votes(
    n: int, random: np.random.Generator, *, noise: float, listed: float = 1.0, ties: bool = False
) -> Election:
    """Draw ten voters, two of them with four times the noise."""
    rankings = []
    for voter in range(10):
        seen = np.arange(n) + noise * n * (4 if voter >= 8 else 1) * random.standard_normal(n)
        chosen = random.permutation(n)[: max(round(listed * n), 1)]
        order = chosen[np.argsort(seen[chosen])].tolist()
        if ties:
            order = [tuple(order[i : i + 2]) for i in range(0, len(order), 2)]
        rankings.append(order)
    return Election(rankings, np.ones(10, dtype=np.int64))


def _outcome(election: Election, time_limit: float) -> Outcome:
    rankings, counts = election
    best = kemeny(rankings, weights=counts, time_limit=time_limit)
    agreement = concordance(rankings, weights=counts)
    orders = {name: rule(rankings, weights=counts) for name, rule in RULES.items()}
    costs = {name: kemeny_cost(order, rankings, weights=counts) for name, order in orders.items()}
    repaired = {
        name: float(local_kemenisation(orders[name], rankings, weights=counts).cost or 0)
        for name in REPAIRED
    }
    return Outcome(
        n_candidates=len(best),
        cost=float(best.cost or 0),
        lower_bound=float(best.lower_bound or 0),
        tau=np.nan if agreement.tau is None else agreement.tau,
        winner=agreement.condorcet_winner is not None,
        costs=costs,
        repaired=repaired,
    )


def _about(outcomes: dict[str, list[Outcome]]) -> Table:
    rows = []
    for group, found in outcomes.items():
        sizes = [outcome.n_candidates for outcome in found]
        rows.append(
            [
                group,
                str(len(found)),
                f"{min(sizes)} to {max(sizes)}",
                f"{np.nanmean([outcome.tau for outcome in found]):.2f}",
                str(sum(outcome.winner for outcome in found)),
                str(sum(outcome.cost == outcome.lower_bound for outcome in found)),
            ]
        )
    columns = ["group", "elections", "candidates", "tau", "Condorcet winner", "proven"]
    return Table("The elections: agreement of voters, and optima that are proven", columns, rows)


def _off(found: list[Outcome], rule: str, of: str = "costs") -> float:
    """Return by how many percent the costs of a rule are above the optimum, all together."""
    best = sum(outcome.cost for outcome in found)
    return 100 * (sum(getattr(o, of)[rule] for o in found) / best - 1) if best else 0.0


def _right(found: list[Outcome], rule: str) -> int:
    return sum(outcome.costs[rule] == outcome.cost for outcome in found)


def _excess(outcomes: dict[str, list[Outcome]]) -> Table:
    rows = [
        [group, *(f"{_off(found, rule):.2f}" for rule in RULES)]
        for group, found in outcomes.items()
    ]
    return Table("Kemeny cost above the best, in percent", ["group", *RULES], rows)


def _repaired(outcomes: dict[str, list[Outcome]]) -> Table:
    rows = [
        [group, *(f"{_off(found, rule, 'repaired'):.2f}" for rule in REPAIRED)]
        for group, found in outcomes.items()
    ]
    title = "The same after local Kemenisation of the rule's order"
    return Table(title, ["group", *REPAIRED], rows)


def _shares(outcomes: dict[str, list[Outcome]]) -> Table:
    rows = [
        [group, str(len(found)), *(str(_right(found, rule)) for rule in RULES)]
        for group, found in outcomes.items()
    ]
    columns = ["group", "of", *RULES]
    return Table("In how many elections the order is as good as the best", columns, rows)


def _findings(outcomes: dict[str, list[Outcome]]) -> list[str]:
    every = [outcome for found in outcomes.values() for outcome in found]
    proven = sum(outcome.cost == outcome.lower_bound for outcome in every)
    off = {rule: _off(every, rule) for rule in RULES}
    quick = [rule for rule in RULES if rule != "local search"]
    best, worst = min(quick, key=off.__getitem__), max(quick, key=off.__getitem__)
    gaps = [1 - o.lower_bound / o.cost for o in every if o.cost > o.lower_bound]
    rest = f"; the largest gap of the others is {100 * max(gaps):.2f} %" if gaps else ""
    search = (
        f"The local search is {off['local search']:.3f} % above the best, all elections together, "
        f"and as good in {_right(every, 'local search')} of {len(every)}."
    )
    others = (
        f"Of the rules without a search {best} is nearest, {off[best]:.2f} % above the best; "
        f"{worst} is farthest, {off[worst]:.2f} %."
    )
    fixed = {rule: _off(every, rule, "repaired") for rule in REPAIRED}
    repair = (
        f"After local Kemenisation the farthest of them is {max(fixed, key=fixed.__getitem__)}, "
        f"{max(fixed.values()):.2f} % above the best, and the nearest "
        f"{min(fixed, key=fixed.__getitem__)}, {min(fixed.values()):.2f} %."
    )
    return [f"{proven} of {len(every)} optima are proven{rest}.", search, others, repair]


def _figure(outcomes: dict[str, list[Outcome]]) -> Any:
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    height = 0.8 / len(RULES)
    for i, rule in enumerate(RULES):
        places = np.arange(len(outcomes)) + (i - (len(RULES) - 1) / 2) * height
        off = [_off(found, rule) for found in outcomes.values()]
        ax.barh(places, off, height=height, label=rule)
    ax.set_yticks(range(len(outcomes)), list(outcomes))
    ax.invert_yaxis()
    ax.set_xlabel("Kemeny cost above the best, in percent")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure
