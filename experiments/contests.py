"""Which questions to ask: the informative pair, beside QuickSort, random pairs and all pairs.

Items have strengths, and four comparators are asked about them: one that is always right; one whose
answers are right as often as the model of Bradley and Terry says; one that also favours what it is
shown first; and one with a taste of its own for each pair, so that its favourites go in circles.
The error is the share of pairs that the order has wrong, measured by the strengths. No paper has
this table.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from experiments._trials import INTERVAL, check_sizes, with_interval
from rankwise.contests import BradleyTerry, ask
from rankwise.plots._axes import new_grid
from rankwise.preference import quicksort
from rankwise.reports import Report, Table, Track

Floats = NDArray[np.float64]
Log = list[tuple[int, int, float]]
Prefer = Callable[[int, int], float]

COMPARATORS = ("always right", "noisy", "favours the first", "in circles")
METHODS = ("most telling pairs", "random pairs", "all pairs in turn", "QuickSort again and again")
_TOP = 3


def make_comparator(kind: str, strengths: Floats, random: np.random.Generator) -> Prefer:
    """Return a comparator that is asked about the places of items and answers 0 or 1."""
    n = len(strengths)
    own = np.zeros((n, n))
    if kind == "in circles":
        drawn = np.triu(random.normal(0, 1.5, (n, n)), 1)
        own = drawn - drawn.T
    first = 1.0 if kind == "favours the first" else 0.0

    def prefer(u: int, v: int) -> float:
        if kind == "always right":
            return float(strengths[u] > strengths[v])
        return float(random.random() < expit(strengths[u] - strengths[v] + own[u, v] + first))

    return prefer


def contests(
    *,
    n_items: int = 16,
    budgets: tuple[int, ...] = (32, 64, 120, 240, 480),
    n_trials: int = 12,
    seed: int = 0,
    track: Track[int] = iter,
) -> Report:
    """Compare ways to choose questions.

    Parameters
    ----------
    n_items : int, default=16
        Items; their strengths are normal with the standard deviation 1.5.
    budgets : tuple of int
        Questions after which the order is looked at.
    n_trials : int, default=12
        Draws of strengths and answers.
    seed : int, default=0
        Trial t draws with ``[seed, t]``.
    track : callable, default=iter
        Wraps the sequence of trials to show progress, such as ``rich.progress.track``.
    """
    check_sizes(n_trials=n_trials, budgets=budgets)
    if n_items <= _TOP:
        raise ValueError(f"{n_items=} must be more than {_TOP}")
    shape = (len(COMPARATORS), n_trials)
    errors = np.empty((*shape, len(METHODS), len(budgets)))
    sorts = np.empty((*shape, 2))
    stops = np.empty((*shape, 4))
    for t in track(range(n_trials)):
        for c, kind in enumerate(COMPARATORS):
            random = np.random.default_rng([seed, t, c])
            strengths = random.normal(0, 1.5, n_items)
            prefer = make_comparator(kind, strengths, random)
            logs = _logs(prefer, n_items, max(budgets), random)
            for m, log in enumerate(logs):
                errors[c, t, m] = [_error(_order(log[:b], n_items), strengths) for b in budgets]
            once = quicksort(range(n_items), prefer, random_state=t)
            sorts[c, t] = once.n_calls, _error(np.array(once.order), strengths)
            stops[c, t] = _stopped(prefer, strengths, t)
    return Report(
        title="Which questions to ask",
        setting=(
            f"{n_items} items, {n_trials} trials, seed {seed}; orders of logs by Bradley-Terry; "
            f"{INTERVAL}"
        ),
        tables=[_table(c, budgets, errors[c], sorts[c]) for c in range(len(COMPARATORS))]
        + [_stop_table(stops)],
        findings=_findings(budgets, errors, sorts, stops),
        figures={"questions": _draw(budgets, errors, sorts)},
    )


def _logs(prefer: Prefer, n: int, most: int, random: np.random.Generator) -> list[Log]:
    """Return the answers to ``most`` questions, chosen in each of the ways."""
    seed = int(random.integers(2**31))
    # A level that is hardly ever met: it goes on asking.
    told = ask(
        range(n), prefer, goal="order", level=1 - 1e-9, max_calls=most, random_state=seed
    ).log
    first = random.integers(n, size=most)
    second = (first + random.integers(1, n, size=most)) % n
    drawn = [(int(u), int(v), prefer(int(u), int(v))) for u, v in zip(first, second, strict=True)]
    pairs = np.column_stack(np.triu_indices(n, 1))
    turns: list[Any] = []
    while len(turns) < most:
        # Everyone meets everyone, each second time the other way round.
        turns += [p[:: 1 if random.random() < 0.5 else -1] for p in random.permutation(pairs)]
    round_robin = [(int(u), int(v), prefer(int(u), int(v))) for u, v in turns[:most]]
    sorted_log: Log = []
    while len(sorted_log) < most:
        sorted_log += (
            quicksort(range(n), prefer, random_state=int(random.integers(2**31))).log or []
        )
    return [told or [], drawn, round_robin, sorted_log]


def _order(log: Log, n: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return BradleyTerry().fit_log(range(n), log).ranking().order.astype(np.int64)


def _error(order: Any, strengths: Floats) -> float:
    """Return the share of pairs that an order has wrong."""
    s = strengths[order]
    wrong = np.triu(s[:, None] < s[None, :], 1).sum()
    return float(wrong) / (len(s) * (len(s) - 1) / 2)


def _stopped(prefer: Prefer, strengths: Floats, seed: int) -> tuple[float, float, float, float]:
    """Return questions and success of finding the top with `ask`, and with QuickSort."""
    n = len(strengths)
    best = set(np.argsort(-strengths)[:_TOP].tolist())
    asked = ask(range(n), prefer, goal="top", k=_TOP, max_calls=1_000, random_state=seed)
    once = quicksort(range(n), prefer, k=_TOP, random_state=seed)
    found = [float(set(r.order[:_TOP]) == best) for r in (asked, once)]
    return float(asked.n_calls or 0), found[0], float(once.n_calls or 0), found[1]


def _table(c: int, budgets: tuple[int, ...], errors: Floats, sorts: Floats) -> Table:
    rows = [
        [method, *(with_interval(errors[:, m, b]) for b in range(len(budgets)))]
        for m, method in enumerate(METHODS)
    ]
    once = f"{with_interval(sorts[:, 1])} ({sorts[:, 0].mean():.0f} questions)"
    rows.append(["QuickSort once", once, *[""] * (len(budgets) - 1)])
    columns = ["questions by", *(f"{b:,}" for b in budgets)]
    return Table(f"Share of wrong pairs, comparator {COMPARATORS[c]}", columns, rows)


def _stop_table(stops: Floats) -> Table:
    rows = []
    for c, kind in enumerate(COMPARATORS):
        asked, right, once, sorted_right = stops[c].mean(axis=0)
        rows.append([kind, f"{asked:.0f}", f"{right:.0%}", f"{once:.0f}", f"{sorted_right:.0%}"])
    columns = ["comparator", "ask: questions", "right", "QuickSort: questions", "right"]
    return Table(f"Until the best {_TOP} are settled at 95 %", columns, rows)


def _findings(budgets: tuple[int, ...], errors: Floats, sorts: Floats, stops: Floats) -> list[str]:
    found = []
    for c, kind in enumerate(COMPARATORS):
        mean = errors[c].mean(axis=0)
        last = dict(zip(METHODS, mean[:, -1], strict=True))
        best = min(last, key=lambda method: last[method])
        near = int(np.argmin(np.abs(np.array(budgets) - sorts[c, :, 0].mean())))
        others = "" if best == METHODS[0] else f" ({METHODS[0]} {last[METHODS[0]]:.3f})"
        found.append(
            f"{kind}: after {budgets[-1]:,} questions {best} err least, {last[best]:.3f}{others}; "
            f"QuickSort once errs {sorts[c, :, 1].mean():.3f} with {sorts[c, :, 0].mean():.0f} "
            f"questions, the {METHODS[0]} {mean[0, near]:.3f} with {budgets[near]:,}."
        )
    right = ", ".join(f"{stops[c, :, 1].mean():.0%}" for c in range(len(COMPARATORS)))
    found.append(
        f"Asked until the best {_TOP} were settled at 95 %, they were the right ones in {right} of "
        "the trials of the four comparators: looking again and again costs some of the level, and "
        "of favourites that go in circles the model knows nothing."
    )
    return found


def _draw(budgets: tuple[int, ...], errors: Floats, sorts: Floats) -> Any:
    axes = new_grid(len(COMPARATORS), size=(3.6, 3.2))
    for c, (ax, kind) in enumerate(zip(axes, COMPARATORS, strict=True)):
        for m, method in enumerate(METHODS):
            ax.plot(budgets, errors[c].mean(axis=0)[m], "o-", markersize=3, label=method)
        ax.plot(*sorts[c].mean(axis=0), "k*", markersize=9, label="QuickSort once")
        ax.set_title(kind, fontsize=10)
        ax.set_xscale("log")
        ax.set_xticks(budgets, [str(b) for b in budgets])
        ax.minorticks_off()
        ax.set_xlabel("questions")
        ax.set_ylim(0, None)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("share of wrong pairs")
    axes[-1].legend(frameon=False, fontsize=8)
    return axes[0].figure
