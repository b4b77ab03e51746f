"""How often intervals of strengths hold the truth, and all places at once.

Contests are drawn from the model of Davidson for items of known strengths: few and many, with and
without ties, each item about as often or some much more often than others. The intervals of
`rankwise.contests.BradleyTerry` at 95 % are counted that contain the strength, and the logs in
which every true place lies within its interval. No paper has this table.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._trials import check_sizes
from rankwise.contests import BradleyTerry, PlackettLuce
from rankwise.reports import Report, Table, Track

Floats = NDArray[np.float64]

# Items, and contests an item.
SIZES = ((5, 20), (5, 100), (20, 20), (20, 100), (50, 30))
TIES = (0.0, 0.8)
IMBALANCE = (0.0, 1.0)
KINDS = ("sandwich", "model")
LOW, HIGH = 0.93, 0.97


def draw_log(
    n: int, per_item: int, nu: float, imbalance: float, random: np.random.Generator
) -> tuple[Floats, Any, Any, Floats]:
    """Return strengths that add to 0, and contests of Davidson's model: who, whom, what it got.

    An item occurs in proportion to e^(imbalance times a normal number); a circle of all items comes
    on top, so that they are connected.
    """
    strengths = random.normal(size=n)
    strengths -= strengths.mean()
    share = np.exp(imbalance * random.normal(size=n))
    first, second = random.choice(n, (2, per_item * n // 2), p=share / share.sum())
    apart = first != second
    first = np.concatenate([first[apart], np.arange(n)])
    second = np.concatenate([second[apart], (np.arange(n) + 1) % n])
    eta = strengths[first] - strengths[second]
    odds = np.column_stack([np.exp(eta / 2), np.exp(-eta / 2), np.full(len(eta), nu)])
    ends = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    drawn = (random.random(len(eta))[:, None] > ends[:, :2]).sum(axis=1)
    return strengths, first, second, np.array([1.0, 0.0, 0.5])[drawn]


def contest_coverage(
    *,
    n_trials: int = 100,
    sizes: tuple[tuple[int, int], ...] = SIZES,
    seed: int = 0,
    track: Track[int] = iter,
) -> Report:
    """Count how often intervals and places hold the truth.

    Parameters
    ----------
    n_trials : int, default=100
        Logs drawn in each cell.
    sizes : tuple of (int, int)
        Items, and contests an item.
    seed : int, default=0
        Every cell draws with its own stream of this seed.
    track : callable, default=iter
        Wraps the sequence of cells to show progress, such as ``rich.progress.track``.
    """
    check_sizes(n_trials=n_trials, sizes=sizes)
    cells = [(size, nu, imbalance) for size in sizes for nu in TIES for imbalance in IMBALANCE]
    hits = np.empty((len(cells) + 2, len(KINDS), 2))
    for cell in track(range(len(cells) + 2)):
        random = np.random.default_rng([seed, cell])
        found = []
        for _ in range(n_trials):
            with warnings.catch_warnings():
                # Some items never win: that the prior places them is part of what is measured.
                warnings.simplefilter("ignore", UserWarning)
                if cell < len(cells):
                    size, nu, imbalance = cells[cell]
                    truth, *log = draw_log(*size, nu, imbalance, random)
                    model: Any = BradleyTerry(n_draws=1000).fit(*log)
                else:
                    truth, rankings = _draw_rankings((40, 200)[cell - len(cells)], random)
                    model = PlackettLuce(n_draws=1000).fit(rankings, items=range(10))
            found.append([_held(model, truth, kind) for kind in KINDS])
        hits[cell] = np.mean(found, axis=0)
    return Report(
        title="How often strengths and places hold the truth",
        setting=f"{n_trials} logs in each of {len(hits)} cells, nominal level 95 %, seed {seed}",
        tables=[_table(cells, hits)],
        findings=_findings(hits[: len(cells)], n_trials),
    )


def _draw_rankings(m: int, random: np.random.Generator) -> tuple[Floats, list[list[int]]]:
    """Return strengths of ten items, and m rankings of five of them each."""
    truth = random.normal(size=10)
    truth -= truth.mean()
    rankings = []
    for _ in range(m):
        listed = random.choice(10, 5, replace=False)
        heard = truth[listed] + random.gumbel(size=5)
        rankings.append(listed[np.argsort(-heard)].tolist())
    return truth, rankings


def _held(model: Any, truth: Floats, kind: str) -> tuple[float, float]:
    """Return the share of strengths in their intervals, and whether all places are."""
    low, high = model.interval(kind=kind).T
    best, worst = model.rank_interval(kind=kind).T
    place = 1 + (truth[:, None] < truth[None, :]).sum(axis=1)
    return float(((low <= truth) & (truth <= high)).mean()), float(
        ((best <= place) & (place <= worst)).all()
    )


def _table(cells: list[Any], hits: Floats) -> Table:
    named = [
        [f"{n} items, {per} contests each", f"{nu:g}", "uneven" if imbalance else "even"]
        for (n, per), nu, imbalance in cells
    ] + [[f"10 items, {m} rankings of 5", "-", "even"] for m in (40, 200)]
    rows = [
        [*name, *(f"{share:.1%}" for share in hits[cell].ravel())]
        for cell, name in enumerate(named)
    ]
    heads = [f"{kind}: {what}" for kind in KINDS for what in ("strengths", "all places")]
    return Table("Coverage at 95 %", ["log", "ties, nu", "how often", *heads], rows)


def _findings(hits: Floats, n_trials: int) -> list[str]:
    findings = []
    for k, kind in enumerate(KINDS):
        strengths, places = hits[:, k].T
        inside = ((strengths >= LOW) & (strengths <= HIGH)).sum()
        findings.append(
            f"Contests, {kind}: strengths are held in {strengths.min():.1%} to "
            f"{strengths.max():.1%}, {strengths.mean():.1%} on average ({inside} of {len(hits)} "
            f"cells within {LOW:.0%} and {HIGH:.0%}); all places in {places.min():.1%} at least."
        )
    findings.append(
        f"A cell of {n_trials} logs is off by up to "
        f"{2 * np.sqrt(0.95 * 0.05 / (5 * n_trials)):.1%} by chance if its errors are independent."
    )
    return findings
