"""Three steps of PRank: the perceptron's, the passive-aggressive one and ROMMA's.

Paper 2 names large-margin steps as what to try next. Each is run plain, averaged and voted on ranks
that a direction tells apart, with and without a gap between them, with noise in the scores, and
with some labels drawn at random.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._figures import curve, legend, panels
from experiments._trials import (
    INTERVAL,
    RANKS,
    Draw,
    Trials,
    linear_stream,
    mapped_stream,
    run_trials,
    with_interval,
)
from rankwise.metrics import mean_interval
from rankwise.papers import prank
from rankwise.reports import Report, Table, Track

N_FEATURES, WRONG = 20, 0.05
UPDATES = ("perceptron", "pa", "romma")
VOTES = {"last": None, "averaged": "averaged", "voted": "voted"}
MODELS: dict[str, Any] = {
    f"{update}, {name}": prank(
        update=update,
        vote=vote,
        max_voters=100 if vote == "voted" else None,
        label_order=RANKS,
    )
    for name, vote in VOTES.items()
    for update in UPDATES
}


def _mislabelled(n_rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X, y = linear_stream(n_rows, seed, n_features=N_FEATURES, margin=0.1)
    random = np.random.default_rng([seed, 1])
    return X, np.where(random.random(n_rows) < WRONG, random.integers(1, 6, n_rows), y)


STREAMS: dict[str, Draw] = {
    "gap": partial(linear_stream, n_features=N_FEATURES, margin=0.1),
    "no gap": partial(linear_stream, n_features=N_FEATURES),
    "noisy scores": partial(linear_stream, n_features=N_FEATURES, noise=0.3),
    "5 % random labels": _mislabelled,
    "saddle": mapped_stream,
}


def steps(
    *,
    n_rounds: int = 5_000,
    n_trials: int = 20,
    n_test: int = 1_000,
    seed: int = 0,
    track: Track[str] = iter,
) -> Report:
    """Run the study of steps.

    Parameters
    ----------
    n_rounds, n_trials, n_test : int
        Length of a stream, number of independent streams of each kind, and rows of each test set.
    seed : int, default=0
        The first trial draws with this seed, the next with the next.
    track : callable, default=iter
        Wraps the sequence of kinds to show progress, such as ``rich.progress.track``.
    """
    kinds = {
        kind: run_trials(
            MODELS, STREAMS[kind], n_rounds=n_rounds, n_trials=n_trials, n_test=n_test, seed=seed,
            track=iter,
        )
        for kind in track(list(STREAMS))
    }  # fmt: skip
    base = "perceptron, averaged"
    online = {
        kind: {name: curves[:, -1] for name, curves in trials.curves.items()}
        for kind, trials in kinds.items()
    }
    tests = {kind: trials.tests for kind, trials in kinds.items()}
    paired = {
        kind: {name: losses - of[base] for name, losses in of.items()} for kind, of in tests.items()
    }
    return Report(
        title="Steps with a large margin",
        setting=(
            f"Of each kind {kinds['gap'].setting}; {N_FEATURES} features, 5 ranks, and the saddle "
            f"of the papers; 100 voters; {INTERVAL}"
        ),
        tables=[
            _table("online, all rounds", online),
            _table("on test rows", tests),
            _table(f"on test rows less that of '{base}', trial by trial", paired),
        ],
        findings=_findings(kinds),
        figures={"steps": _figure(kinds)},
    )


def _table(what: str, losses: dict[str, dict[str, NDArray[np.float64]]]) -> Table:
    rows = [[name, *(with_interval(of[name]) for of in losses.values())] for name in MODELS]
    return Table(f"Mean rank loss {what}", ["step", *losses], rows)


def _findings(kinds: dict[str, Trials]) -> list[str]:
    findings = []
    for kind, trials in kinds.items():
        test = {name: round(float(of.mean()), 3) for name, of in trials.tests.items()}
        early = {name: curves[:, :100][:, -1].mean() for name, curves in trials.curves.items()}
        lasts = sorted(UPDATES, key=lambda update: test[f"{update}, last"])
        best = [name for name in test if test[name] == min(test.values())]
        first = min(early, key=lambda name: early[name])
        findings.append(
            f"{kind[0].upper()}{kind[1:]}: last iterates on test rows, best first: "
            + ", ".join(f"{update} {test[f'{update}, last']:.3f}" for update in lasts)
            + f". Lowest of all nine: {', '.join(best) if len(best) < 3 else f'{len(best)} alike'} "
            f"({min(test.values()):.3f}); averaged perceptron steps have "
            f"{test['perceptron, averaged']:.3f}. Lowest in the first 100 rounds online: {first} "
            f"({early[first]:.2f}; perceptron, last, {early['perceptron, last']:.2f})."
        )
    helped = {}
    for update in UPDATES:
        gains = {
            kind: mean_interval(of.tests[f"{update}, last"] - of.tests[f"{update}, averaged"])
            for kind, of in kinds.items()
        }
        clear = [kind for kind, (gain, half_width) in gains.items() if gain > half_width]
        helped[update] = "all kinds" if len(clear) == len(kinds) else ", ".join(clear) or "none"
    findings.append(
        "Averaging lowers the test loss by more than the interval: "
        + "; ".join(f"{update} on {where}" for update, where in helped.items())
        + "."
    )
    return findings


def _figure(kinds: dict[str, Trials]) -> Any:
    shown_kinds = [kind for kind in kinds if kind != "no gap"]
    figure, axes = panels(shown_kinds, xlabel="round", ylabel="time-averaged rank loss", n_rows=2)
    for ax, kind in zip(axes, shown_kinds, strict=True):
        trials = kinds[kind]
        n_rounds = trials.curves["pa, last"].shape[1]
        shown = np.unique(np.geomspace(min(20, n_rounds), n_rounds, 200).astype(int)) - 1
        for i, update in enumerate(UPDATES):
            for vote, line in {"last": "-", "averaged": "--"}.items():
                name = f"{update}, {vote}"
                style = {"color": f"C{i}", "linestyle": line, "label": name}
                curve(ax, shown + 1, trials.curves[name][:, shown], **style)
        ax.set_xscale("log")
    axes[0].set_ylim(bottom=0)
    legend(figure, axes[0])
    return figure
