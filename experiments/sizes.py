"""Rows, members and tau against error and time: when a hundred members pay.

Paper 2 has N = 100 members, tau = .3, .6 and .9, and does not average PRank. Here averaging, voting
and members learn from 100 rows and more of three kinds, and 1 to 300 members share a stream.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, product
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._figures import curve, legend, panels
from experiments._trials import (
    INTERVAL,
    RANKS,
    Draw,
    check_sizes,
    linear_stream,
    mapped_stream,
    with_interval,
)
from rankwise.metrics import mean_interval, rank_losses
from rankwise.papers import oap_bpm, prank
from rankwise.reports import Report, Table, Track

N_MEMBERS = (1, 3, 10, 30, 100, 300)
TAUS = (0.1, 0.3, 0.6, 0.9)
WAYS = {"BPM": "bpm", "bagging": "bagging"}
LAST, AVERAGED, DEFAULT = "PRank", "PRank, averaged", "BPM 0.3"
PLAIN: dict[str, Any] = {
    LAST: prank(label_order=RANKS),
    AVERAGED: prank(vote="averaged", label_order=RANKS),
    "PRank, voted": prank(vote="voted", label_order=RANKS),
    "PRank, pa averaged": prank(update="pa", vote="averaged", label_order=RANKS),
}
# The names of combinations, and the members that are combined.
OAP = {f"{way} {tau}": (way, 100, tau) for tau in (0.3, 0.6) for way in WAYS}
GRID = [(n, tau) for n in N_MEMBERS for tau in TAUS]
NAMES = [*PLAIN, *OAP]


def _scaled(n_rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X, y = STREAMS[LINEAR](n_rows, seed)
    return X / 5, y


SADDLE, LINEAR, SCALED = "saddle", "linear", "linear, divided by 5"
STREAMS: dict[str, Draw] = {
    SADDLE: mapped_stream,
    LINEAR: partial(linear_stream, n_features=100, noise=0.3),
    SCALED: _scaled,
}

# What the trials gave, by stream, number of rows and model.
Measured = Mapping[tuple[str, int, Hashable], Sequence[float]]


def sizes(
    *,
    rows: Sequence[int] = (100, 200, 500, 1_000, 2_000, 5_000),
    member_rows: Sequence[int] = (1_000,),
    n_trials: int = 10,
    n_test: int = 2_000,
    seed: int = 0,
    track: Track[int] = iter,
) -> Report:
    """Run the study of sizes.

    Parameters
    ----------
    rows : sequence of int
        Numbers of rows to learn from, smallest first.
    member_rows : sequence of int, default=(1_000,)
        Those of them at which the number of members and tau vary.
    n_trials, n_test : int
        Number of independent draws of every stream, and rows of each test set.
    seed : int, default=0
        The first trial draws with this seed, the next with the next.
    track : callable, default=iter
        Wraps the sequence of trials to show progress, such as ``rich.progress.track``.
    """
    check_sizes(rows=rows, n_trials=n_trials, n_test=n_test)
    if not set(member_rows) <= set(rows):
        raise ValueError(f"{member_rows=} must be among {rows=}")
    losses, seconds = _measure(rows, member_rows, n_trials, n_test, seed, track)
    tables = [
        *(_by_rows(losses, stream, rows) for stream in STREAMS),
        _differences(losses, rows),
        _times(seconds, rows),
    ]
    for n in member_rows:
        tables += [*(_by_members(losses, stream, n) for stream in STREAMS), _grid_times(seconds, n)]
    return Report(
        title="How many rows, how many members",
        setting=(
            f"{n_trials} draws of each stream, {n_test:,} test rows, seeds from {seed}; 100 "
            "members where no number is given; the linear truth has 100 features and noise 0.3; "
            f"times are the shortest of the trials, one thread, on the linear stream; {INTERVAL}"
        ),
        tables=tables,
        findings=[
            *(_crossing(losses, stream, rows) for stream in STREAMS),
            *(_gain(losses, n) for n in member_rows),
            _price(seconds, rows[-1]),
        ],
        figures={
            "sizes-rows": _rows_figure(losses, rows),
            "sizes-members": _members_figure(losses, member_rows[-1]),
            "sizes-time": _time_figure(losses, seconds, member_rows[-1]),
        },
    )


def _measure(
    rows: Sequence[int],
    member_rows: Sequence[int],
    n_trials: int,
    n_test: int,
    seed: int,
    track: Track[int],
) -> tuple[Measured, Measured]:
    losses: dict[Any, list[float]] = defaultdict(list)
    seconds: dict[Any, list[float]] = defaultdict(list)

    def learn(model: Any, X: Any, y: Any, n: int, key: Any) -> None:
        start = perf_counter()
        model.fit(X[:n], y[:n])
        seconds[key].append(perf_counter() - start)

    def loss(model: Any, X: Any, y: Any) -> float:
        guesses = model.predict(X[-n_test:])
        return float(rank_losses(y[-n_test:], guesses, labels=RANKS).mean())

    X, y = STREAMS[LINEAR](50, 0)
    for model in [*PLAIN.values(), _members(1, 0.5)]:
        model.fit(X, y)  # so that no time has compilation in it
    for trial in track(range(n_trials)):
        for stream, draw in STREAMS.items():
            X, y = draw(rows[-1] + n_test, seed + trial)
            for n in rows:
                PLAIN[LAST].fit(X[:n], y[:n])  # so that all find the rows in cache
                for name, model in PLAIN.items():
                    learn(model, X, y, n, (stream, n, name))
                    losses[stream, n, name].append(loss(model, X, y))
                for many, tau in GRID if n in member_rows else {of[1:] for of in OAP.values()}:
                    model = _members(many, tau)
                    learn(model, X, y, n, (stream, n, (many, tau)))
                    for way, combine in WAYS.items():
                        model.set_params(combine=combine)
                        losses[stream, n, (way, many, tau)].append(loss(model, X, y))
    for (stream, n), (name, of) in product(product(STREAMS, rows), OAP.items()):
        losses[stream, n, name] = losses[stream, n, of]
        seconds[stream, n, name] = seconds[stream, n, of[1:]]
    return losses, seconds


def _members(n_estimators: int, tau: float) -> Any:
    return oap_bpm(n_estimators, tau=tau, label_order=RANKS, random_state=0)


def _row(name: str, trials: Iterable[Any]) -> list[str]:
    return [name, *(with_interval(np.asarray(of)) for of in trials)]


def _multiple(seconds: Measured, n: int, name: Hashable) -> float:
    """Return the time of a fit as a multiple of PRank's."""
    return float(np.min(seconds[LINEAR, n, name]) / np.min(seconds[LINEAR, n, LAST]))


def _time(seconds: Measured, n: int, name: Hashable) -> str:
    milliseconds = 1e3 * np.min(seconds[LINEAR, n, name])
    return f"{milliseconds:.2f} ms, {_multiple(seconds, n, name):.1f}x"


def _by_rows(losses: Measured, stream: str, rows: Sequence[int]) -> Table:
    cells = [_row(name, (losses[stream, n, name] for n in rows)) for name in NAMES]
    return Table(f"Test rank loss, {stream}", ["rows", *(f"{n:,}" for n in rows)], cells)


def _gap(losses: Measured, stream: str, n: int, rival: str) -> NDArray[np.float64]:
    """Return averaged PRank's loss less that of a rival, trial by trial."""
    return np.subtract(losses[stream, n, AVERAGED], losses[stream, n, rival])


def _differences(losses: Measured, rows: Sequence[int]) -> Table:
    cells = [
        _row(f"{stream}: {rival}", (_gap(losses, stream, n, rival) for n in rows))
        for stream in STREAMS
        for rival in OAP
    ]
    title = "Loss of averaged PRank less that of members: positive where members win"
    return Table(title, ["rows", *(f"{n:,}" for n in rows)], cells)


def _times(seconds: Measured, rows: Sequence[int]) -> Table:
    names = [*PLAIN, *(name for name in OAP if name.startswith("BPM"))]
    cells = [[name, *(_time(seconds, n, name) for n in rows)] for name in names]
    title = "Time of a fit, and as a multiple of PRank's"
    return Table(title, ["rows", *(f"{n:,}" for n in rows)], cells)


def _by_members(losses: Measured, stream: str, n: int) -> Table:
    cells = [
        _row(f"{way}, {many}", (losses[stream, n, (way, many, tau)] for tau in TAUS))
        for way in WAYS
        for many in N_MEMBERS
    ]
    title = f"Test rank loss of N members after {n:,} rows, {stream}"
    return Table(title, ["N", *(f"tau {tau}" for tau in TAUS)], cells)


def _grid_times(seconds: Measured, n: int) -> Table:
    cells = [[str(many), *(_time(seconds, n, (many, tau)) for tau in TAUS)] for many in N_MEMBERS]
    title = f"Time of a fit of {n:,} rows, and as a multiple of PRank's"
    return Table(title, ["N", *(f"tau {tau}" for tau in TAUS)], cells)


def _crossing(losses: Measured, stream: str, rows: Sequence[int]) -> str:
    """Say where averaging loses to members, with the default ones, and what is best."""
    found: dict[int, list[str]] = {1: [], 0: [], -1: []}
    for n in rows:
        mean, half_width = mean_interval(_gap(losses, stream, n, DEFAULT))
        found[int(np.sign(mean)) if abs(mean) > half_width else 0].append(f"{n:,}")
    worse, open_, better = (", ".join(found[sign]) or "-" for sign in (1, 0, -1))

    def lowest(n: int) -> str:
        return min(NAMES, key=lambda name: np.mean(losses[stream, n, name]))

    runs = [(name, list(ns)) for name, ns in groupby(rows, key=lowest)]
    said = ", ".join(
        f"{name} at {ns[0]:,}" + (f" to {ns[-1]:,}" if len(ns) > 1 else "") for name, ns in runs
    )
    return (
        f"{stream.capitalize()}: averaged PRank is worse than {DEFAULT} at these numbers of rows: "
        f"{worse}; better at {better}; within the interval of no difference at {open_}. Lowest of "
        f"all: {said}."
    )


def _gain(losses: Measured, n: int) -> str:
    def mean(stream: str, many: int, tau: float) -> float:
        return float(np.mean(losses[stream, n, ("BPM", many, tau)]))

    said = []
    for stream in STREAMS:
        steps = " → ".join(f"{mean(stream, many, 0.3):.3f}" for many in (1, 10, 100, 300))
        best = min(TAUS, key=lambda tau: mean(stream, 100, tau))
        said.append(f"{stream} {steps}, and of 100 members tau {best} is best")
    return f"After {n:,} rows BPM 0.3 of 1, 10, 100, 300 members has: " + "; ".join(said) + "."


def _price(seconds: Measured, n: int) -> str:
    price = ", ".join(
        f"{name} {_multiple(seconds, n, name):.1f}" for name in [*PLAIN, DEFAULT, "BPM 0.6"]
    )
    return f"Time of a fit of {n:,} rows of the linear stream in multiples of PRank's: {price}."


def _rows_figure(losses: Measured, rows: Sequence[int]) -> Any:
    figure, axes = panels(list(STREAMS), xlabel="rows", ylabel="test rank loss")
    for ax, stream in zip(axes, STREAMS, strict=True):
        for name in NAMES:
            trials = np.array([losses[stream, n, name] for n in rows]).T
            curve(ax, rows, trials, label=name, linestyle="--" if name in OAP else "-")
        ax.set_xscale("log")
    axes[0].set_ylim(bottom=0)
    legend(figure, axes[0])
    return figure


def _members_figure(losses: Measured, n: int) -> Any:
    titles = [f"{stream}, {n:,} rows" for stream in STREAMS]
    figure, axes = panels(titles, xlabel="members", ylabel="test rank loss")
    for ax, stream in zip(axes, STREAMS, strict=True):
        for (i, tau), way in product(enumerate(TAUS), WAYS):
            trials = np.array([losses[stream, n, (way, many, tau)] for many in N_MEMBERS]).T
            style = {"color": f"C{i}", "linestyle": "-" if way == "BPM" else "--"}
            curve(ax, N_MEMBERS, trials, label=f"{way} {tau}", **style)
        averaged = float(np.mean(losses[stream, n, AVERAGED]))
        ax.axhline(averaged, color="0.3", linestyle=":", label=AVERAGED)
        ax.set_xscale("log")
    legend(figure, axes[0])
    return figure


def _time_figure(losses: Measured, seconds: Measured, n: int) -> Any:
    titles = [f"{stream}, {n:,} rows" for stream in STREAMS]
    figure, axes = panels(titles, xlabel="milliseconds of a fit", ylabel="test rank loss")
    for ax, stream in zip(axes, STREAMS, strict=True):
        for tau in TAUS:
            took = [1e3 * np.min(seconds[stream, n, (many, tau)]) for many in N_MEMBERS]
            lost = [np.mean(losses[stream, n, ("BPM", many, tau)]) for many in N_MEMBERS]
            ax.plot(took, lost, ".-", label=f"BPM {tau}, N = 1 to 300")
        for name, marker in zip(PLAIN, "os^D", strict=True):
            took_one = 1e3 * np.min(seconds[stream, n, name])
            ax.plot(took_one, np.mean(losses[stream, n, name]), marker, color="0.3", label=name)
        ax.set_xscale("log")
    legend(figure, axes[0])
    return figure
