"""What a race is made of, and how its entrants are timed.

Machines are shared and absolute times drift, so a claim is a ratio of two minima from one run.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

TURN = 0.1
# In growth curves turns are long enough for the largest to come several times, as the smallest do:
# the first call after another entrant's has cold memory.
GROWTH_TURN = 0.4

Prepare = Callable[..., Callable[[], Any]]

progress = Console(stderr=True, style="dim")


@dataclass(frozen=True)
class Entrant:
    """One way to do the work of a race.

    Parameters
    ----------
    name : str
        Shown in the table and named by targets.
    prepare : callable
        ``prepare(*train, **options)`` imports and converts, untimed, and returns the function of
        no arguments that is timed. What that returns goes to the judge; None is not judged.
    needs : str
        The distribution it comes from, as ``pip install`` spells it.
    rows : int, optional
        Take only the first rows of the training data, for the slow.
    repeats : int, optional
        Take at most this many turns, for the very slow.
    growth : bool
        Whether a peer takes part in growth curves; ours do if they take all rows.
    """

    name: str
    prepare: Prepare
    needs: str = ""
    rows: int | None = None
    repeats: int | None = None
    growth: bool = False


@dataclass(frozen=True)
class Target:
    """A number that an entrant should reach: time per example over another's, or the measure.

    Parameters
    ----------
    entrant : str
        Whose number it is.
    over : str, optional
        Entrant whose time per example divides; without it the target is for the measure.
    at_least, at_most : float
        The range that counts as met.
    """

    entrant: str
    over: str = ""
    at_least: float = 0.0
    at_most: float = np.inf


@dataclass(frozen=True)
class Growth:
    """An axis of growth: the values that one argument of the generator runs through.

    Parameters
    ----------
    axis : str
        Argument of the race's generator, or one of its options.
    values : sequence of int
        What it is set to, in turn.
    fixed : mapping
        Other arguments, where the defaults would be too large.
    """

    axis: str
    values: Sequence[int]
    fixed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Race:
    """Data, entrants and what is expected of them.

    Parameters
    ----------
    data : callable
        ``data(**sizes)`` returns two tuples of row-aligned arrays, train and test.
    measure : str
        What the judge measures, as a column title.
    judge : callable
        ``judge(outcome, *test)`` gives that number for what a timed function returned.
    limit : Entrant
        What no entrant can beat: the unavoidable part of the work, compiled.
    ours, peers : tuple of Entrant
        The first of ours is the reference of all ratios.
    targets : tuple of Target
        Checked at the default sizes.
    growth : tuple of Growth
        Curves to draw on demand.
    options : mapping
        Whole numbers that every entrant gets by keyword, such as the members of an ensemble.
    """

    data: Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]
    measure: str
    judge: Callable[..., float]
    limit: Entrant
    ours: tuple[Entrant, ...]
    peers: tuple[Entrant, ...] = ()
    targets: tuple[Target, ...] = ()
    growth: tuple[Growth, ...] = ()
    options: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [entrant.name for entrant in self.entrants]
        wanted = {name for target in self.targets for name in (target.entrant, target.over)} - {""}
        if len(set(names)) < len(names) or wanted - set(names):
            raise ValueError(f"targets {sorted(wanted)} must name unique entrants, not {names}")
        for growth in self.growth:
            self.sizes(**{**growth.fixed, growth.axis: 0})

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """The limit, ours and the peers."""
        return (self.limit, *self.ours, *self.peers)

    def sizes(self, **changed: int) -> dict[str, int]:
        """All arguments of the generator and all options, defaults included."""
        options = {name: changed.pop(name, value) for name, value in self.options.items()}
        bound = inspect.signature(self.data).bind(**changed)
        bound.apply_defaults()
        return {**bound.arguments, **options}


@dataclass
class Result:
    """What one entrant did; numbers are None when it could not start, and `note` says why."""

    name: str
    rows: int
    note: str = ""
    first_call: float | None = None
    error: float | None = None
    seconds: float | None = None
    calls: int = 0

    def ratio(self, other: Result) -> float | None:
        """Time per example over that of `other`."""
        if self.seconds is None or other.seconds is None:
            return None
        return (self.seconds / self.rows) / (other.seconds / other.rows)

    def record(self, reference: Result, limit: Result) -> dict[str, Any]:
        """Collect the fields, the rate and the ratios for JSON."""
        rate = None if self.seconds is None else self.rows / self.seconds
        ratios = {"ratio": self.ratio(reference), "ratio_to_limit": self.ratio(limit)}
        return asdict(self) | {"examples_per_second": rate} | ratios


def load(path: str) -> Any:
    """Import the object at a dotted path, such as ``"mord.LogisticAT"``."""
    module, name = path.rsplit(".", 1)
    return getattr(import_module(module), name)


def time_race(
    race: Race, *, repeats: int = 5, turn_seconds: float = TURN, **sizes: int
) -> list[Result]:
    """Run every entrant, round-robin, and keep the shortest time of each.

    The first call of each is apart, since it may compile. After that all take turns, so that noise
    hits all alike.

    Parameters
    ----------
    race : Race
        What to run.
    repeats : int
        Turns of each entrant.
    turn_seconds : float
        How long a turn repeats the call.
    **sizes : int
        Arguments of the generator and options of the race; the defaults otherwise.

    Returns
    -------
    list of Result
        In the order of ``race.entrants``, absent peers included.
    """
    options = {name: sizes.pop(name, value) for name, value in race.options.items()}
    train, test = race.data(**sizes)
    results, runs = [], []
    for entrant in race.entrants:
        used = tuple(array[: entrant.rows] for array in train)
        result = Result(entrant.name, rows=len(used[0]))
        try:
            run = entrant.prepare(*used, **options)
            result.first_call, outcome = _clock(run)
            if outcome is not None:
                result.error = race.judge(outcome, *test)
            runs.append((result, run, min(repeats, entrant.repeats or repeats)))
        except ImportError as error:
            missing = f"absent (pip install {entrant.needs})"
            result.note = missing if entrant.needs else f"failed ({error})"
        # Whatever ends a peer is its own: it is shown in the table, and the race goes on.
        except Exception as error:
            result.note = f"failed ({type(error).__name__}: {error})"
        progress.print(f"{entrant.name}: {result.note or f'first call {result.first_call:.3g} s'}")
        results.append(result)
    for turn in range(repeats):
        progress.print(f"turn {turn + 1} of {repeats}")
        for result, run, turns in runs:
            if turn < turns:
                _take_turn(result, run, turn_seconds)
    return results


def _clock(run: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    outcome = run()
    return perf_counter() - start, outcome


def _take_turn(result: Result, run: Callable[[], Any], turn_seconds: float) -> None:
    gc.collect()
    spent = 0.0
    while spent < turn_seconds:
        seconds = _clock(run)[0]
        spent += seconds
        result.calls += 1
        result.seconds = min(seconds, result.seconds or seconds)


def time_growth(race: Race, growth: Growth, *, repeats: int = 5) -> list[list[Result]]:
    """Run the race for each value of an axis, without slow peers and entrants with fewer rows.

    The values take turns, too, so that a spell of noise does not bend the curve.

    Returns
    -------
    list of list of Result
        One list per value.
    """
    cheap = replace(
        race,
        ours=tuple(entrant for entrant in race.ours if entrant.rows is None),
        peers=tuple(peer for peer in race.peers if peer.growth),
        targets=(),
    )
    curves: list[list[Result]] = []
    for _ in range(repeats):
        turn = [
            time_race(
                cheap,
                repeats=1,
                turn_seconds=GROWTH_TURN,
                **{**growth.fixed, growth.axis: value},
            )
            for value in growth.values
        ]
        curves = curves or turn
        for best, results in zip(curves, turn, strict=True):
            for old, new in zip(best, results, strict=True):
                if old.seconds is not None and new.seconds is not None:
                    old.seconds = min(old.seconds, new.seconds)
    return curves


def fit_exponent(sizes: Sequence[float], seconds: Sequence[float | None]) -> float | None:
    """Slope of log seconds against log size by least squares; None without two times."""
    known = [(n, t) for n, t in zip(sizes, seconds, strict=True) if t is not None]
    if len(known) < 2:
        return None
    n, t = np.log(known).T
    return float(np.polyfit(n, t, 1)[0])


def check_target(target: Target, results: Sequence[Result]) -> tuple[float | None, str]:
    """Find the number a target is about, and whether it is met, not met or unknown."""
    by_name = {result.name: result for result in results}
    result = by_name[target.entrant]
    value = result.ratio(by_name[target.over]) if target.over else result.error
    if value is None:
        return None, "unknown"
    return value, "met" if target.at_least <= value <= target.at_most else "not met"
