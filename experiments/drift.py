"""Truths that change: which methods follow.

Ranks are cut from a direction in a plane of ten features. In one kind of stream the direction jumps
by a right angle half way; in the other it rests for a third of the rounds and then turns steadily
by half a circle. No paper has this study: a mistake bound compares with one fixed ranker, and here
none is good throughout.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from experiments._figures import curve, legend, panels
from experiments._trials import ETAS, INTERVAL, RANKS, check_sizes, with_interval
from rankwise.model_selection import progressive_validation
from rankwise.papers import multiclass_perceptron, oap_bpm, prank, widrow_hoff
from rankwise.reports import Report, Table, Track

N_FEATURES, NOISE, LENGTH = 10, 0.2, 0.5
FOLLOWS = 0.05
ANEW = "PRank, averaged, anew"
MODELS: dict[str, Any] = {
    "PRank": prank(label_order=RANKS),
    "PRank, averaged": prank(vote="averaged", label_order=RANKS),
    ANEW: prank(vote="averaged", label_order=RANKS),
    "PRank, voted": prank(vote="voted", label_order=RANKS),
    "PRank, 100 voters": prank(vote="voted", max_voters=100, label_order=RANKS),
    "PRank, pa": prank(update="pa", label_order=RANKS),
    "PRank, romma": prank(update="romma", label_order=RANKS),
    "BPM 0.3": oap_bpm(label_order=RANKS, random_state=0),
    "bagging 0.3": oap_bpm(combine="bagging", label_order=RANKS, random_state=0),
    "OAP voted 0.3": oap_bpm(combine="voted", label_order=RANKS, random_state=0),
    **{f"Widrow-Hoff {eta}": widrow_hoff(eta, label_order=RANKS) for eta in ETAS},
    "MCP": multiclass_perceptron(label_order=RANKS),
}
SHOWN = [
    "PRank", "PRank, averaged", ANEW, "PRank, 100 voters", "PRank, romma", "BPM 0.3",
    "Widrow-Hoff 0.05", "MCP",
]  # fmt: skip


def drift(
    *,
    n_rounds: int = 12_000,
    n_trials: int = 20,
    window: int = 500,
    seed: int = 0,
    track: Track[int] = iter,
) -> Report:
    """Run the study of changing truths.

    Parameters
    ----------
    n_rounds, n_trials : int
        Length of a stream, and number of independent streams of each kind.
    window : int, default=500
        Rounds over which a loss is averaged; at most a sixth of the stream.
    seed : int, default=0
        The first trial draws with this seed, the next with the next.
    track : callable, default=iter
        Wraps the sequence of trials to show progress, such as ``rich.progress.track``.
    """
    check_sizes(n_rounds=n_rounds, n_trials=n_trials, window=window)
    if 6 * window > n_rounds:
        raise ValueError(f"{window=} must be at most a sixth of {n_rounds=}")
    kinds = {"A jump": jump(n_rounds), "A turn": turn(n_rounds)}
    losses = {kind: {name: np.empty((n_trials, n_rounds)) for name in MODELS} for kind in kinds}
    for trial in track(range(n_trials)):
        for kind, angles in kinds.items():
            X, y = _stream(angles, seed + trial)
            for name, model in MODELS.items():
                starts = [0]
                if name == ANEW:
                    # A phase of its own in every trial: no window is favoured in the mean.
                    phase = 2 * window * (trial + 1) // n_trials
                    starts += range(max(1, phase), n_rounds, 2 * window)
                losses[kind][name][trial] = _online(model, X, y, starts)
    half, third = n_rounds // 2, n_rounds // 3
    ends = {
        "A jump": {"before": half, "after": half + window, "late": n_rounds},
        "A turn": {"before": third, "half way": 2 * third, "late": n_rounds},
    }
    means = {
        kind: {name: _means(of, ends[kind], window) for name, of in losses[kind].items()}
        for kind in kinds
    }
    return Report(
        title="Truths that change",
        setting=(
            f"{n_trials} streams of each kind, {n_rounds:,} rounds, seeds from {seed}; "
            f"{N_FEATURES} features and a constant, noise {NOISE}; losses over windows of "
            f"{window:,} rounds; 'anew' starts from nothing every {2 * window:,} rounds, at "
            f"another phase in each trial; {INTERVAL}"
        ),
        tables=[_table(kind, means[kind]) for kind in kinds],
        findings=_findings(means, window),
        figures={
            "drift": _figure(losses, {kind: of["before"] for kind, of in ends.items()}, window)
        },
    )


def jump(n_rounds: int) -> NDArray[np.float64]:
    """Return the angle of the truth in each round: a right angle from half way on."""
    return np.where(np.arange(n_rounds) < n_rounds // 2, 0.0, np.pi / 2)


def turn(n_rounds: int) -> NDArray[np.float64]:
    """Return the angle of the truth in each round: half a circle, steadily, after a third."""
    rest = n_rounds // 3
    return np.pi * np.clip((np.arange(n_rounds) - rest) / (n_rounds - rest), 0, 1)


def _stream(
    angles: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw rows, with a constant column, and ranks of equal mass along the direction of the round.

    Rows are scaled to a length of about 2, so that every learning rate of Widrow-Hoff is stable.
    """
    random = np.random.default_rng(seed)
    X = random.standard_normal((len(angles), N_FEATURES))
    plane = np.linalg.qr(random.standard_normal((N_FEATURES, 2)))[0]
    score = ((X @ plane) * np.column_stack([np.cos(angles), np.sin(angles)])).sum(axis=1)
    cuts = ndtri(np.arange(1, 5) / 5) * np.sqrt(1 + NOISE**2)
    y = 1 + np.searchsorted(cuts, score + NOISE * random.standard_normal(len(angles)))
    return np.insert(LENGTH * X, 0, 1.0, axis=1), y


def _online(model: Any, X: Any, y: Any, starts: list[int]) -> NDArray[np.int64]:
    """Return the losses online of a model that starts from nothing in each of these rounds."""
    return np.concatenate(
        [
            progressive_validation(model, X[start:stop], y[start:stop]).losses
            for start, stop in pairwise([*starts, len(y)])
        ]
    )


def _means(
    losses: NDArray[np.float64], ends: dict[str, int], window: int
) -> dict[str, NDArray[np.float64]]:
    """Return the mean loss of every trial in the windows with these ends, and over all rounds."""
    windows = {when: losses[:, end - window : end].mean(axis=1) for when, end in ends.items()}
    return {**windows, "all": losses.mean(axis=1)}


def _table(kind: str, means: dict[str, dict[str, NDArray[np.float64]]]) -> Table:
    order = sorted(means, key=lambda name: means[name]["all"].mean())
    columns = list(means[order[0]])
    rows = [[name, *(with_interval(means[name][when]) for when in columns)] for name in order]
    return Table(f"{kind}: mean rank loss online", ["model", *columns], rows)


def _findings(
    means: dict[str, dict[str, dict[str, NDArray[np.float64]]]], window: int
) -> list[str]:
    findings = []
    for kind, of in means.items():
        worse = {name: float((m["late"] - m["before"]).mean()) for name, m in of.items()}
        behind = sorted((n for n in worse if worse[n] > FOLLOWS), key=lambda n: -worse[n])
        named = ", ".join(f"{name} (by {worse[name]:.2f})" for name in behind) or "none"
        findings.append(
            f"{kind}: in the last {window:,} rounds these are more than {FOLLOWS} ranks worse than "
            f"before the change: {named}. The other {len(of) - len(behind)} models follow."
        )
        best = min(of, key=lambda name: of[name]["all"].mean())
        before = min(of, key=lambda name: of[name]["before"].mean())
        findings.append(
            f"{kind}: lowest over all rounds is {best} ({of[best]['all'].mean():.2f}, and "
            f"{of['PRank']['all'].mean():.2f} for PRank); while the truth rested it was {before} "
            f"({of[before]['before'].mean():.2f}, and {of[best]['before'].mean():.2f} for {best})."
        )
    after = means["A jump"]
    quick = sorted(after, key=lambda name: after[name]["after"].mean())[:3]
    findings.append(
        f"Lowest in the first {window:,} rounds after the jump: "
        + ", ".join(f"{name} ({after[name]['after'].mean():.2f})" for name in quick)
        + f"; PRank, averaged, has {after['PRank, averaged']['after'].mean():.2f}."
    )
    return findings


def _figure(losses: Any, changes: dict[str, int], window: int) -> Any:
    figure, axes = panels(
        list(losses), xlabel="round", ylabel=f"rank loss of the last {window:,} rounds"
    )
    for ax, (kind, of) in zip(axes, losses.items(), strict=True):
        n_rounds = of[SHOWN[0]].shape[1]
        ends = np.unique(np.linspace(window, n_rounds, 200).astype(int))
        for name in SHOWN:
            sums = np.insert(np.cumsum(of[name], axis=1), 0, 0.0, axis=1)
            curve(ax, ends, (sums[:, ends] - sums[:, ends - window]) / window, label=name)
        ax.axvline(changes[kind], color="0.6", linestyle=":")
    axes[0].set_ylim(bottom=0)
    legend(figure, axes[0])
    return figure
