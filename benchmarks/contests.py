"""Strengths from contests: ten million rows, ids that are texts, and a thousand bootstrap fits."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Growth, Prepare, Race, Target, load
from benchmarks.report import run_race

Array = NDArray[Any]
Columns = tuple[Array, Array, Array]


def contests(
    m: int = 10_000_000, n: int = 1_000, seed: int = 1, texts: bool = False
) -> tuple[Columns, tuple[Array]]:
    """Who met whom, what the first one got, and the true strengths; a tenth of them are ties."""
    g = np.random.default_rng(seed)
    truth = g.standard_normal(n)
    truth -= truth.mean()
    first = g.integers(n, size=m)
    second = (first + g.integers(1, n, size=m)) % n
    outcome = (g.random(m) < 1 / (1 + np.exp(truth[second] - truth[first]))).astype(float)
    outcome[g.random(m) < 0.1] = 0.5
    if texts:
        names = np.array([f"player {i:04d}" for i in range(n)], dtype=object)
        return (names[first], names[second], outcome), (truth,)
    return (first, second, outcome), (truth,)


def off(strengths: Any, truth: Array) -> float:
    """Return one less the correlation with the truth: models of ties differ in the unit."""
    return float(1 - np.corrcoef(strengths, truth)[0, 1])


def ours(*, intervals: bool = True, ties: str = "half") -> Prepare:
    """Fit, and the intervals of strengths and places."""

    def prepare(first: Array, second: Array, outcome: Array) -> Callable[[], Any]:
        cls = load("rankwise.contests.BradleyTerry")

        def run() -> Any:
            model = cls(ties=ties).fit(first, second, outcome)
            if intervals:
                model.interval()
                model.rank_interval()
            return model.strengths_

        return run

    return prepare


def counted(first: Array, second: Array, outcome: Array) -> Callable[[], None]:
    """Count the pairs, and nothing else."""
    n = int(first.max()) + 1

    def run() -> None:
        np.bincount(first * n + second, outcome, minlength=n * n)

    return run


def factorized(first: Array, second: Array, outcome: Array) -> Callable[[], None]:  # noqa: ARG001
    """Factorise both columns with pandas."""
    factorize = load("pandas.factorize")

    def run() -> None:
        factorize(first)
        factorize(second)

    return run


def _winners(outcome: Array) -> list[Any]:
    winner = load("evalica.Winner")
    kinds = [winner.Y, winner.Draw, winner.X]
    return [kinds[int(2 * y)] for y in outcome.tolist()]


def evalica(first: Array, second: Array, outcome: Array) -> Callable[[], Any]:
    """Run evalica's Bradley-Terry, ties half a win each; its winners are listed beforehand."""
    fit, winners = load("evalica.bradley_terry"), _winners(outcome)

    def run() -> Any:
        scores = fit(first, second, winners).scores
        return np.log(scores.sort_index().to_numpy())

    return run


def choix(first: Array, second: Array, outcome: Array) -> Callable[[], Any]:
    """Run choix's I-LSR on the decided contests, listed beforehand."""
    fit = load("choix.ilsr_pairwise")
    n = int(max(first.max(), second.max())) + 1
    decided = outcome != 0.5
    won = outcome[decided] == 1
    winner = np.where(won, first[decided], second[decided])
    loser = np.where(won, second[decided], first[decided])
    pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
    return lambda: fit(n, pairs, alpha=1e-4)


def arena_rank(first: Array, second: Array, outcome: Array) -> Callable[[], Any]:
    """arena-rank's fit and sandwich intervals, from a frame that is made beforehand.

    It asks for exactly NumPy 2.3.3 and runs beside others: ``pip install --no-deps arena-rank``,
    then ``pip install jax==0.8.1 jaxtyping optax``.
    """
    dataset = load("arena_rank.utils.data_utils.PairDataset").from_pandas
    model = load("arena_rank.models.bradley_terry.BradleyTerry")
    columns = {"model_a": first, "model_b": second, "winner": outcome}
    frame = load("pandas.DataFrame")(columns)

    def run() -> Any:
        known = dataset(frame, outcome_map=float)
        found = model(len(known.competitors)).compute_ratings_and_cis(known)
        return np.asarray(found["ratings"])[np.argsort(known.competitors)]

    return run


def judged(
    m: int = 10_000, n: int = 50, raters: int = 100, seed: int = 1
) -> tuple[tuple[Array, ...], tuple[Array]]:
    """Contests without ties by raters, every fifth of whom answers at random."""
    (first, second, _), (truth,) = contests(m, n, seed)
    g = np.random.default_rng(seed + 1)
    rater = g.integers(raters, size=m)
    chance = np.where(rater % 5 == 0, 0.5, 1 / (1 + np.exp(truth[second] - truth[first])))
    return (first, second, (g.random(m) < chance).astype(float), rater), (truth,)


def with_raters(first: Array, second: Array, outcome: Array, rater: Array) -> Callable[[], Any]:
    """Fit strengths and the reliability of each rater."""
    cls = load("rankwise.contests.BradleyTerry")
    return lambda: cls(ties="half").fit(first, second, outcome, rater=rater).strengths_


def without_raters(first: Array, second: Array, outcome: Array, _rater: Array) -> Callable[[], Any]:
    """Fit strengths as if all raters were alike."""
    cls = load("rankwise.contests.BradleyTerry")
    return lambda: cls(ties="half").fit(first, second, outcome).strengths_


def crowd_kit(first: Array, second: Array, outcome: Array, rater: Array) -> Callable[[], Any]:
    """crowd-kit's model with the skill and bias of each rater, from a frame made beforehand."""
    cls = load("crowdkit.aggregation.NoisyBradleyTerry")
    label = np.where(outcome == 1, first, second)
    columns = {"worker": rater, "left": first, "right": second, "label": label}
    frame = load("pandas.DataFrame")(columns)

    def run() -> Any:
        scores = cls().fit_predict(frame).sort_index().to_numpy()
        return np.log(scores / (1 - scores))

    return run


def our_bootstrap(first: Array, second: Array, outcome: Array) -> Callable[[], Any]:
    """Fit, then 1,000 samples of the counts."""
    cls = load("rankwise.contests.BradleyTerry")
    return lambda: cls(ties="half").fit(first, second, outcome).bootstrap(1000).mean(axis=0)


def one_fit(first: Array, second: Array, outcome: Array) -> Callable[[], None]:
    """Fit once."""
    cls = load("rankwise.contests.BradleyTerry")

    def run() -> None:
        cls(ties="half").fit(first, second, outcome)

    return run


def evalica_bootstrap(first: Array, second: Array, outcome: Array) -> Callable[[], Any]:
    """Run evalica's bootstrap: 1,000 samples, percentiles; its default also leaves each row out."""
    bootstrap, fit = load("evalica.bootstrap"), load("evalica.bradley_terry")
    winners = _winners(outcome)

    def run() -> Any:
        found = bootstrap(
            fit, first, second, winners, n_resamples=1000, bootstrap_method="percentile",
            random_state=0,
        )  # fmt: skip
        return np.log(found.distribution).mean().sort_index().to_numpy()

    return run


_BOOTSTRAP = Target("evalica.bootstrap", over="BradleyTerry.bootstrap", at_least=50)

RACES = {
    "codes": Race(
        data=contests,
        measure="1 - correlation",
        judge=off,
        limit=Entrant("bincount of the pairs", counted),
        ours=(
            Entrant("BradleyTerry, intervals, places", ours()),
            Entrant("BradleyTerry, strengths", ours(intervals=False)),
            Entrant("Davidson, intervals, places", ours(ties="davidson")),
        ),
        peers=(
            Entrant("evalica, strengths", evalica, needs="evalica", repeats=2),
            Entrant("choix, strengths", choix, needs="choix", rows=300_000, repeats=1),
            Entrant(
                "arena-rank, intervals", arena_rank, needs="arena-rank", rows=1_000_000, repeats=1
            ),
        ),
        targets=(Target("evalica, strengths", over="BradleyTerry, intervals, places", at_least=5),),
        growth=(
            Growth("m", (10_000, 100_000, 1_000_000, 10_000_000), fixed={"n": 100}),
            Growth("n", (10, 30, 100, 300, 1_000), fixed={"m": 1_000_000}),
        ),
    ),
    "texts": Race(
        data=partial(contests, texts=True),
        measure="1 - correlation",
        judge=off,
        limit=Entrant("pandas.factorize, both", factorized),
        ours=(Entrant("BradleyTerry, intervals, places", ours()),),
        peers=(),
        targets=(
            Target("BradleyTerry, intervals, places", over="pandas.factorize, both", at_most=3),
        ),
    ),
    "raters": Race(
        data=judged,
        measure="1 - correlation",
        judge=off,
        limit=Entrant("raters ignored", without_raters),
        ours=(Entrant("BradleyTerry, raters", with_raters),),
        peers=(Entrant("crowd-kit NoisyBradleyTerry", crowd_kit, needs="crowd-kit", repeats=1),),
    ),
    **{
        f"bootstrap_{name}": Race(
            data=partial(contests, m=m, n=100),
            measure="1 - correlation",
            judge=off,
            limit=Entrant("one fit", one_fit),
            ours=(Entrant("BradleyTerry.bootstrap", our_bootstrap),),
            peers=(Entrant("evalica.bootstrap", evalica_bootstrap, needs="evalica", repeats=1),),
            targets=targets,
        )
        for name, m, targets in (
            ("many", 200_000, (_BOOTSTRAP,)),
            ("some", 20_000, (_BOOTSTRAP,)),
            ("few", 2_000, ()),
        )
    },
}


def processor_seconds(name: str, race: Race, turns: int) -> None:
    """Print the least processor seconds of every entrant, by turns: for a machine with other work.

    All entrants run in one thread, so that this is what a clock would show on an idle machine.
    """
    process_time = load("time.process_time")
    train, test = race.data()
    runs: dict[str, tuple[Callable[[], Any], int | None]] = {}
    for entrant in (race.limit, *race.ours, *race.peers):
        rows = tuple(column[: entrant.rows] for column in train)
        try:
            runs[entrant.name] = entrant.prepare(*rows), entrant.repeats
        except ImportError:
            print(f"{entrant.name} is absent")
    least = dict.fromkeys(runs, np.inf)
    off_by = dict.fromkeys(runs, np.nan)
    for turn in range(turns + 1):
        for entrant_name, (run, repeats) in runs.items():
            if turn < (repeats or turns + 1):
                start = process_time()
                found = run()
                # The first turn compiles.
                if turn or repeats == 1:
                    seconds = process_time() - start
                    least[entrant_name] = min(least[entrant_name], seconds)
                if found is not None:
                    off_by[entrant_name] = race.judge(found, *test)
    print(f"\ncontests_{name}: processor seconds, least of {turns} turns")
    reference = least[race.ours[0].name]
    for entrant_name, seconds in least.items():
        ratio = seconds / reference
        print(f"{entrant_name:34} {seconds:9.3f} {ratio:8.2f} x {off_by[entrant_name]:9.5f}")


def main(arguments: Sequence[str]) -> int:
    """Run the races."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks contests")
    parser.add_argument("--turns", type=int, default=3, help="of every entrant")
    parser.add_argument("--only", choices=list(RACES), help="one of the races")
    parser.add_argument(
        "--cpu", action="store_true", help="seconds of the processor, not of a clock"
    )
    options = parser.parse_args(arguments)
    chosen = [options.only] if options.only else list(RACES)
    if options.cpu:
        for name in chosen:
            processor_seconds(name, RACES[name], options.turns)
        return 0
    good = [
        run_race(f"contests_{name}", RACES[name], repeats=options.turns, sizes={})
        for name in chosen
    ]
    return 0 if all(good) else 1
