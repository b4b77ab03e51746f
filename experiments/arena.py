"""Who is best, and how sure: language models judged by a crowd, and racing drivers of all times.

LLMFAO (8,931 comparisons of 59 language models by 124 people, from the repository of evalica) is a
table of contests with ties; the seasons of Formula 1 (from PrefLib) are rankings.
"""

import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.contests import BradleyTerry, PlackettLuce
from rankwise.datasets import read_contests, read_preflib
from rankwise.plots import RaterDisplay, StrengthDisplay, WinMatrixDisplay
from rankwise.reports import Report, Table, Track

_SHOWN = 12
# A driver's races, fewer of which tell nothing.
_RACES = 30


def arena(folder: str | Path | None = None, *, seed: int = 0, track: Track[int] = iter) -> Report:
    """Fit the models to both data sets.

    Parameters
    ----------
    folder : path, default=None
        Holds ``arena/llmfao.csv`` and ``preflib/f1seasons``; by default the one that the
        environment variable RANKWISE_DATA names.
    seed : int, default=0
        Of the draws for places.
    track : callable, default=iter
        Wraps the sequence of the two data sets to show progress.
    """
    home = folder or os.environ.get("RANKWISE_DATA")
    if not home:
        raise ValueError(
            "folder: name the folder that holds arena/llmfao.csv and preflib/f1seasons, or set "
            "the environment variable RANKWISE_DATA to it"
        )
    paths = Path(home) / "arena" / "llmfao.csv", Path(home) / "preflib" / "f1seasons"
    for path in paths:
        if not path.exists():
            raise ValueError(f"folder: there is no {path}")
    tables: list[Table] = []
    findings: list[str] = []
    figures: dict[str, Any] = {}
    for part in track(range(2)):
        add = (_models, _drivers)[part]
        add(paths[part], seed, tables, findings, figures)
    return Report(
        title="Who is best, and how sure",
        setting="places hold for all items at once at 95 %, by Bradley-Terry and Plackett-Luce",
        tables=tables,
        findings=findings,
        figures=figures,
    )


def _models(
    path: Path, seed: int, tables: list[Table], findings: list[str], figures: dict[str, Any]
) -> None:
    data = read_contests(path)
    with warnings.catch_warnings():
        # What it would say, that one line is not all, is among the findings.
        warnings.simplefilter("ignore", UserWarning)
        model = BradleyTerry(order_effect=True, random_state=seed)
        model.fit(data.first, data.second, data.outcome)
        rated = BradleyTerry(order_effect=True, random_state=seed)
        rated.fit(data.first, data.second, data.outcome, rater=data.others["worker"])
    low, high = model.effect_interval()[0]
    fit = model.goodness_of_fit()
    tables += [_table("Language models", model), _table("The same, raters weighed", rated)]
    best = int(rated.p_best_.argmax())
    contrary = int((rated.reliability_interval()[:, 1] < 0).sum())
    order = (
        f"The order matters: the answer on the left gains {model.order_effect_:.2f} ({low:.2f} to "
        f"{high:.2f}), which wins {_share(model.order_effect_):.1%} of contests of equals that are "
        "not tied."
    )
    raters = (
        f"{len(rated.random_raters_)} of {len(rated.raters_)} raters answer at random or worse: "
        f"{', '.join(map(str, rated.random_raters_))}; {contrary} are surely worse. They gave "
        f"{np.isin(data.others['worker'], rated.random_raters_).sum():,} of the answers. With "
        f"raters weighed, {rated.items_[best]} is the best with the probability "
        f"{rated.p_best_[best]:.0%}, place 1 to {rated.rank_interval()[best, 1]}."
    )
    rest = (
        f"Goodness of fit: p = {fit.pvalue:.0e}; {fit.unexplained:.0%} of the differences between "
        "pairs are unexplained. One reason may be that several raters judge the same two answers."
    )
    what = f"{model.n_contests_:,.0f} comparisons of {len(model.items_)} models"
    findings += [_leader(model, what), order, raters, rest]
    figures["models"] = StrengthDisplay.from_estimator(rated).figure_
    figures["model-places"] = StrengthDisplay.from_estimator(rated, places=True).figure_
    figures["model-wins"] = WinMatrixDisplay.from_estimator(rated).figure_
    figures["raters"] = RaterDisplay.from_estimator(rated).figure_


def _drivers(
    path: Path, seed: int, tables: list[Table], findings: list[str], figures: dict[str, Any]
) -> None:
    races = [race for file in sorted(path.glob("*.soi")) for race in read_preflib(file)]
    often = Counter(driver for race in races for driver in race)
    known = [[driver for driver in race if often[driver] >= _RACES] for race in races]
    known = [race for race in known if len(race) > 1]
    model = PlackettLuce(random_state=seed).fit(known)
    tables.append(_table(f"Drivers of {_RACES} races or more", model))
    findings.append(
        _leader(model, f"{len(known)} races of {len(model.items_)} drivers who met through others")
        + " Cars are not told from drivers."
    )
    figures["drivers"] = StrengthDisplay.from_estimator(model, max_items=30).figure_


def _leader(model: Any, what: str) -> str:
    best = int(model.strengths_.argmax())
    low, high = model.rank_interval()[best]
    return (
        f"{what}: {model.items_[best]} leads and is the best with the probability "
        f"{model.p_best_[best]:.0%}; its place is {low} to {high}."
    )


def _share(advantage: float) -> float:
    return float(1 / (1 + np.exp(-advantage)))


def _table(title: str, model: Any) -> Table:
    table = model.table()
    rows = [
        [
            str(table["item"][i]),
            f"{table['strength'][i]:.2f}",
            f"{table['low'][i]:.2f} to {table['high'][i]:.2f}",
            f"{table['best_rank'][i]} to {table['worst_rank'][i]}",
            f"{table['p_best'][i]:.0%}",
        ]
        for i in range(min(_SHOWN, len(table["item"])))
    ]
    return Table(title, ["", "strength", "95 %", "place", "P(best)"], rows)
