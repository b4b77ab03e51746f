"""What is shown of people's ratings: the paper's numbers, tables and findings."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments._index import claim
from experiments._reviewers import FACTORS, FEW_CS, GROUPS, MEASURES, METHODS, ROUNDS
from rankwise.metrics import mean_interval
from rankwise.reports import Table

Array = NDArray[np.float64]
Printed = tuple[float, float] | None

CONSTANT = "a constant"
_SHOWN = ("MSD", "M1D", "misranking")
# A constant misranks every pair if ties are wrong, so with it they are half.
_AGAINST = ("MSD", "M1D", "misranking, tie half")
# The width at which the level is shown by C.
_WIDTH = 3.0
# As printed: MSD, M1D and misranking of MPRank, SVRank and RankBoost, each with its deviation.
PAPER: dict[str, dict[str, tuple[Printed, Printed, Printed]]] = {
    "MovieLens 20-40": {
        "MPRank": ((2.01, 0.02), (1.04, 0.05), None),
        "SVRank": ((2.43, 0.13), (1.17, 0.03), None),
        "RankBoost": ((12.88, 2.15), (2.59, 0.04), None),
    },
    "MovieLens 40-60": {
        "MPRank": ((2.02, 0.06), (1.04, 0.02), (0.471, 0.005)),
        "SVRank": ((2.36, 0.16), (1.15, 0.07), None),
        "RankBoost": ((20.06, 2.76), (2.99, 0.12), (0.476, 0.007)),
    },
    "MovieLens 60-80": {
        "MPRank": ((2.07, 0.05), (1.06, 0.01), (0.442, 0.005)),
        "SVRank": ((2.66, 0.09), (1.24, 0.02), None),
        "RankBoost": ((21.35, 2.71), (3.82, 0.23), (0.463, 0.011)),
    },
    "Jester 20-40": {
        "MPRank": ((51.34, 2.90), (5.08, 0.15), (0.414, 0.005)),
        "SVRank": ((55.00, 5.14), (5.40, 0.20), None),
        "RankBoost": ((77.08, 17.1), (5.97, 0.16), (0.479, 0.008)),
    },
    "Jester 40-60": {
        "MPRank": ((46.77, 2.03), (4.98, 0.13), (0.418, 0.007)),
        "SVRank": ((57.75, 5.14), (5.27, 0.20), None),
        "RankBoost": ((80.00, 18.2), (6.18, 0.11), (0.432, 0.005)),
    },
    "Jester 60-80": {
        "MPRank": ((49.33, 3.11), (4.88, 0.14), None),
        "SVRank": ((56.06, 4.26), (5.25, 0.19), None),
        "RankBoost": ((88.61, 18.6), (6.46, 0.20), None),
    },
    "Netflix 32 %": {
        "MPRank": ((1.58, 0.04), (0.92, 0.01), (0.433, 0.018)),
        "SVRank": ((1.80, 0.05), (0.95, 0.02), None),
        "RankBoost": ((57.5, 7.8), (6.48, 0.55), (0.447, 0.027)),
    },
    "Netflix 46 %": {
        "MPRank": ((1.55, 0.03), (0.95, 0.01), (0.368, 0.014)),
        "SVRank": ((1.90, 0.06), (1.02, 0.02), None),
        "RankBoost": ((23.9, 2.9), (4.10, 0.23), (0.327, 0.008)),
    },
    "Netflix 58 %": {
        "MPRank": ((1.49, 0.03), (0.94, 0.01), (0.295, 0.006)),
        "SVRank": ((1.93, 0.06), (1.06, 0.02), None),
        "RankBoost": ((12.33, 1.47), (3.01, 0.15), (0.318, 0.008)),
    },
    "Books": {
        "MPRank": ((4.00, 3.12), (1.38, 0.60), None),
        "SVRank": ((3.64, 3.04), (1.32, 0.56), None),
        "RankBoost": ((7.58, 9.95), (1.72, 1.05), None),
    },
}
PAPER |= {f"{name} (stand-in)": PAPER[name] for name in PAPER if name.startswith("Netflix")}


class Found(NamedTuple):
    """Settings of a group, errors of shape (repetitions, people, measures), RankBoost by rounds."""

    chosen: dict[str, Any]
    errors: dict[str, Array]
    by_rounds: dict[str, Any]


def about_table(rows: list[list[str]]) -> Table:
    """Return who is in each group."""
    columns = ["data", "from", "references to draw", "their density", "tested", "enough"]
    return Table("Who is in each group", columns, rows)


def _mean_sd(errors: Array) -> tuple[float, float]:
    """Return the mean, and the deviation over sets; over people if there is one set."""
    if len(errors) == 1:
        return float(np.nanmean(errors)), float(np.nanstd(errors, ddof=1))
    means = np.nanmean(errors, axis=1)
    return float(means.mean()), float(means.std(ddof=1))


def _of(found: Found, method: str, measure: str) -> Array:
    return found.errors[method][..., list(MEASURES).index(measure)]


def _with_sd(mean: float, sd: float, measure: str) -> str:
    digits = 3 if measure.startswith("misranking") else 2
    return f"{mean:.{digits}f} ± {sd:.{digits}f}"


def _printed(group: str, method: str, measure: str) -> Printed:
    cells = PAPER.get(group, {}).get(method)
    return cells[_SHOWN.index(measure)] if cells and measure in _SHOWN else None


def errors_table(found: dict[str, Found], missing: dict[str, str]) -> Table:
    """Return the errors beside the paper's, and the paper's alone for what is ``missing``, and why.

    The rows of missing groups are the last.
    """
    rows = []
    for group, of in found.items():
        for method in of.errors:
            cells = []
            for measure in _SHOWN:
                printed = _printed(group, method, measure)
                cells += [
                    _with_sd(*_mean_sd(_of(of, method, measure)), measure),
                    _with_sd(*printed, measure) if printed else "-",
                ]
            half = _with_sd(*_mean_sd(_of(of, method, "misranking, tie half")), "misranking")
            rows.append([group, method, *cells, half])
    for group, why in missing.items():
        for method in PAPER.get(group, {}):
            cells = []
            for measure in _SHOWN:
                printed = _printed(group, method, measure)
                cells += [why, _with_sd(*printed, measure) if printed else "-"]
            rows.append([group, method, *cells, why])
    columns = ["data", "method", "MSD", "paper's", "M1D", "paper's M1D", "misranking",
               "paper's misranking", "a tie half"]  # fmt: skip
    title = "Mean and standard deviation over the sets (of people for Books), as the paper prints"
    return Table(title, columns, rows)


def _difference(of: Found, method: str, other: str, measure: str) -> tuple[float, float]:
    """Return the mean of the difference of two methods, by person, and its half-width."""
    apart = (_of(of, method, measure) - _of(of, other, measure)).ravel()
    mean, half = mean_interval(apart[~np.isnan(apart)])
    return float(mean), float(half)


def against_constant(found: dict[str, Found]) -> Table:
    """Return how much better than a constant the methods are."""
    rows = []
    for group, of in found.items():
        for method in of.errors:
            if method != CONSTANT:
                apart = [_difference(of, method, CONSTANT, measure) for measure in _AGAINST]
                rows.append([group, method, *(f"{m:+.3f} ± {h:.3f}" for m, h in apart)])
    title = "Error less that of a constant, paired by person, 95 % interval; below 0 is better"
    return Table(title, ["data", "method", *_AGAINST], rows)


def against_ridge(found: dict[str, Found]) -> Table:
    """Return how far MPRank and kernel ridge are apart."""
    rows = []
    for group, of in found.items():
        apart = [_difference(of, "MPRank", "kernel ridge", measure) for measure in _SHOWN]
        rows.append([group, *(f"{m:+.4f} ± {h:.4f}" for m, h in apart)])
    title = "MPRank less kernel ridge without intercept, paired by person, 95 % interval"
    return Table(title, ["data", *_SHOWN], rows)


def settings_table(found: dict[str, Found]) -> Table:
    """Return what was chosen."""
    rows = []
    for group, of in found.items():
        for name, method in METHODS.items():
            best = of.chosen[name]["best"]
            ends = [
                key
                for key, value in best.items()
                if value in (min(values := {at[key] for at in method.grid}), max(values))
                and key != "epsilon"
            ]
            text = ", ".join(f"{key} {value:g}" for key, value in best.items())
            rows.append([group, name, method.cost, text, ", ".join(ends) or "-"])
    columns = ["data", "method", "by the least", "chosen", "at an end of its grid"]
    title = "What the held-out reviewers chose; widths in mean squared distances of two rows"
    return Table(title, columns, rows)


def _held_out(of: Found, name: str, width: float | None = None) -> dict[float, float]:
    """Return the error of the held-out reviewers by C, at one width or at the best for each C."""
    least: dict[float, float] = {}
    for error, at in zip(of.chosen[name]["errors"], METHODS[name].grid, strict=True):
        if width is None or at["width"] == width:
            least[at["C"]] = min(error, least.get(at["C"], np.inf))
    return least


def by_c(found: dict[str, Found]) -> Table:
    """Return how the error depends on C, on the held-out reviewers: what moves the level."""
    rows = []
    for name, width in (("MPRank", None), ("MPRank", _WIDTH), ("SVRank", None)):
        at = "best width" if width is None else f"width {width:g}"
        for group, of in found.items():
            least = _held_out(of, name, width)
            cells = [f"{least[c]:.3f}" for c in FEW_CS]
            rows.append([f"{name}, {METHODS[name].cost}, {at}", group, *cells])
    columns = ["held-out error", "data", *(f"C = {c:g}" for c in FEW_CS)]
    title = "The error of the held-out reviewers by C, at the best width for each and at one width"
    return Table(title, columns, rows)


def draw(found: dict[str, Found]) -> Any:
    """Return a figure of the errors less that of a constant, as shares of it."""
    from matplotlib import pyplot as plt  # noqa: PLC0415

    names = ("MPRank", "SVRank", "kernel ridge", "RankSVM by size", "TasteRanker")
    figure, axes = plt.subplots(
        1, len(_AGAINST), figsize=(11, 1.4 + 0.45 * len(found)), sharey=True, layout="constrained"
    )
    for ax, measure in zip(axes, _AGAINST, strict=True):
        for k, name in enumerate(names):
            some = [(place, of) for place, of in enumerate(found.values()) if name in of.errors]
            cells = [
                np.array(_difference(of, name, CONSTANT, measure))
                / np.nanmean(_of(of, CONSTANT, measure))
                for _, of in some
            ]
            if cells:
                mean, half = 100 * np.transpose(cells)
                y = [place + 0.15 * (k - 2) for place, _ in some]
                ax.errorbar(mean, y, xerr=half, fmt="o", markersize=4, label=name)
        ax.axvline(0, color="0.5", linewidth=1)
        ax.set_xlabel(f"{measure}, % above a constant's")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(found)), list(found))
    axes[0].invert_yaxis()
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center", ncols=len(names), frameon=False,
    )  # fmt: skip
    return figure


def rows(found: dict[str, Found]) -> list[dict[str, Any]]:
    """Return the mean error of each set, tidy."""
    return [
        {"group": group, "method": method, "repetition": number, "measure": measure,
         "value": float(value)}
        for group, of in found.items()
        for method in of.errors
        for measure in MEASURES
        for number, value in enumerate(np.nanmean(_of(of, method, measure), axis=1))
    ]  # fmt: skip


def findings(found: dict[str, Found]) -> list[str]:
    """Return what the tables say."""
    named = {group: of for group, of in found.items() if group in PAPER}
    if not named:
        return []
    return [
        _levels(named), _order(named), _capped(named), _beaten(named), _ridge(named), *_taste(found)
    ]  # fmt: skip


def _count(flags: Sequence[bool]) -> str:
    return f"{sum(flags)} of {len(flags)}"


def _levels(named: dict[str, Found]) -> str:
    """Compare MPRank's numbers with the printed ones, and say whether C would explain them."""
    inside, below = {}, {}
    for measure in _SHOWN:
        pairs = [
            (_mean_sd(_of(of, "MPRank", measure))[0], *printed)
            for group, of in named.items()
            if (printed := _printed(group, "MPRank", measure))
        ]
        inside[measure] = [abs(ours - mean) <= 2 * sd for ours, mean, sd in pairs]
        below[measure] = [ours < mean for ours, mean, _ in pairs]
    reached = []
    for group, of in named.items():
        errors = _held_out(of, "MPRank", _WIDTH).values()
        if printed := _printed(group, "MPRank", "MSD"):
            reached.append(min(errors) <= printed[0] <= max(errors))
    return claim(
        "Paper 4",
        "MPRank's MSD, M1D and misranking, table by table, with their deviations.",
        "within two of the paper's deviations in "
        + ", ".join(f"{_count(inside[m])} groups by {m}" for m in _SHOWN)
        + "; below the paper's in "
        + ", ".join(f"{_count(below[m])} by {m}" for m in _SHOWN)
        + ".",
        f"C moves the level: at width {_WIDTH:g}, from C = 1 to 10,000, the held-out MSD passes "
        f"the paper's in {_count(reached)} groups. The paper does not print its C.",
    )


def _order(named: dict[str, Found]) -> str:
    least, ranks, same = [], [], []
    for group, of in named.items():
        msd, wrong = (
            {name: _mean_sd(_of(of, name, measure))[0] for name in PAPER[group]}
            for measure in ("MSD", "misranking")
        )
        least.append(msd["MPRank"] == min(msd.values()))
        same.append(least[-1] == (group != "Books"))
        if _printed(group, "MPRank", "misranking"):
            ranks.append(wrong["MPRank"] < wrong["RankBoost"])
            same.append(ranks[-1] == (not group.startswith("Netflix 46 %")))
    return claim(
        "Paper 4",
        "MPRank has the least MSD of MPRank, SVRank and RankBoost in all groups but Books, and "
        "misranks less than RankBoost in all groups of table 2 but Netflix 46 %.",
        f"the least MSD in {_count(least)} groups, less misranking in {_count(ranks)} of table 2.",
        f"agrees in {_count(same)} comparisons.",
    )


def _capped(named: dict[str, Found]) -> str:
    """Say that the cap of the rounds sets RankBoost's MSD, and what a tie of half would choose."""
    most = max(ROUNDS)
    at_cap, half, grown, saved = [], [], [], []
    for of in named.values():
        at_cap.append(of.chosen["RankBoost"]["best"]["rounds"] == most)
        msd = of.by_rounds["MSD"]
        least = int(np.argmin(of.by_rounds["misranking, tie half"]))
        half.append(ROUNDS[least])
        grown.append(msd[-1] / msd[0])
        saved.append(msd[-1] / msd[least])
    return claim(
        "Paper 4",
        "RankBoost, with the rounds that misrank least on held-out reviewers, has the largest MSD.",
        f"by the paper's misranking, where a tie is wrong, {_count(at_cap)} groups choose the cap "
        f"of {most:g} rounds, since more rounds leave fewer ties. On the held-out reviewers the "
        f"MSD with {most:g} rounds is {np.median(grown):.1f} times that with {ROUNDS[0]:g} (the "
        f"median of the groups), so there the cap sets the MSD of the table. With a tie half, "
        f"{min(half):g} to {max(half):g} rounds are chosen, and the MSD is "
        f"{np.median(saved):.1f} times smaller than at the cap.",
        "its scores have no scale of ratings, so its MSD depends on when it stops.",
    )


def _beaten(named: dict[str, Found]) -> str:
    said = []
    for measure in _AGAINST:
        apart = [_difference(of, "MPRank", CONSTANT, measure) for of in named.values()]
        better, worse = ([sign * mean > half for mean, half in apart] for sign in (-1, 1))
        said.append(f"by {measure} better in {_count(better)} groups and worse in {_count(worse)}")
    return claim(
        "Paper 4",
        "no constant is shown.",
        "against a constant, with a 95 % interval that excludes 0, MPRank is " + "; ".join(said)
        + ".",
        "where ratings are sparse the paper's features bring little over a constant; the rows with "
        "taste show what more brings.",
    )  # fmt: skip


def _ridge(named: dict[str, Found]) -> str:
    apart = [_difference(of, "MPRank", "kernel ridge", "MSD") for of in named.values()]
    differs = [abs(mean) > half for mean, half in apart]
    better = [mean < -half for mean, half in apart]
    return claim(
        "Paper 4",
        "MPRank is close to kernel ridge, but distinct, as experiments confirm.",
        f"by MSD they differ in {_count(differs)} groups, by {max(abs(m) for m, _ in apart):.3f} "
        f"at most, and MPRank is better in {_count(better)}.",
        f"{'agrees in that' if any(differs) else 'not seen that'} they differ; MPRank is kernel "
        "ridge with a free intercept.",
    )


def _taste(found: dict[str, Found]) -> list[str]:
    said = []
    for group, of in found.items():
        if GROUPS[group].taste:
            cells = [
                f"{measure} {mean:+.3f} ± {half:.3f}"
                for measure in _AGAINST
                for mean, half in [_difference(of, "MPRank", CONSTANT, measure)]
            ]
            said.append(
                f"{group}: with the mean and {FACTORS} factors of each item, learned from everyone "
                f"else, MPRank less a constant is {', '.join(cells)}."
            )
    return said
