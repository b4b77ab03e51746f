"""Compare methods on a table, and fit the advised one to all rows."""

import importlib.metadata
import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import sklearn

from rankwise._core.arguments import check_whole, check_word
from rankwise._core.child_process import Child, ChildError
from rankwise.comparison import _report
from rankwise.comparison._columns import as_frame, look_at_columns, prepare_like
from rankwise.comparison._describe import describe
from rankwise.comparison._recognise import Task, recognise
from rankwise.comparison._significance import (
    SURE,
    adjust_for_best,
    advise,
    corrected_interval,
    corrected_test,
    expected_losses,
    standard_error,
)
from rankwise.comparison.final_fit import contests_message, fit_final
from rankwise.comparison.measures import MAE, Measure
from rankwise.comparison.methods import Method, choose_methods, methods_for
from rankwise.comparison.problem import make_folds, make_problem
from rankwise.comparison.trials import Trials, choose, run
from rankwise.distributed.connection import on_cluster
from rankwise.io.files import pandas
from rankwise.metrics import pair_accuracy_interval
from rankwise.reports import Report

if TYPE_CHECKING:
    from pandas import DataFrame

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """A method in the table of a comparison.

    Attributes
    ----------
    name, about : str
        The method.
    baseline, kept : bool
        Whether it is not one of ours, and whether its models can be saved.
    means, halves : ndarray of shape (n_measures,)
        Its measures, and the half-widths of their 95 % intervals.
    pvalue : float
        Of the test that it is as good as the one with the best mean of the first measure, corrected
        for the number of tests; nan for that one.
    fit_seconds, predict_seconds : float
        Medians over the folds.
    failure : str
        The reason why numbers are missing, else empty.
    """

    name: str
    about: str
    baseline: bool
    kept: bool
    means: Any
    halves: Any
    pvalue: float
    fit_seconds: float
    predict_seconds: float
    failure: str = ""


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of a comparison.

    Attributes
    ----------
    task : Task
        The task that was recognised, and why.
    measures : list of Measure
        What was measured; the first decides.
    rows : list of Row
        The methods, those with the best mean first, failed ones last.
    trials : dict of str to Trials
        What became of each method on each fold.
    warnings : list of str
        What is odd about the data.
    facts : dict of str to str
        The data in numbers.
    best : str
        The method that is advised: of those that can be saved, the one with the best mean, or a
        simpler one that is statistically tied with it.
    model : estimator
        ``best``, fitted to all rows; takes what `prepare` or `prepare_like` gives.
    problem : Problem or RatingTable
        What was learned from.
    setting : str
        How it was measured.
    chosen : dict
        The parameters of ``model`` that were chosen.
    seed : int
        Seed of folds and methods.
    ignored : list of str
        Columns that were left out.
    source : str
        Where the table came from, for ``code``.
    by_experience : bool
        Whether the folds alone would advise another of the tied methods.
    complex : list of str
        The methods that are more complex than ``best``.
    about : dict of str to str
        Where the numbers come from: versions, date, seed, and the file if there is one.
    test_share : float
        Rows tested for each row learned from.
    """

    task: Task
    measures: list[Measure]
    rows: list[Row]
    trials: dict[str, Trials]
    warnings: list[str]
    facts: dict[str, str]
    best: str
    model: Any
    problem: Any
    setting: str
    chosen: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    ignored: list[str] = field(default_factory=list)
    source: str = "table.csv"
    by_experience: bool = False
    complex: list[str] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)
    test_share: float = 0.25

    def row(self, name: str) -> Row:
        """Return the row of a method."""
        return next(row for row in self.rows if row.name == name)

    @cached_property
    def pair_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the pairwise accuracy of ``best``, from its scores out of fold."""
        if self.task.kind == "ratings":
            return None
        scores, problem = self.trials[self.best].scores, self.problem
        seen = np.isfinite(scores)
        qid = None if problem.qid is None else problem.qid[seen]
        return pair_accuracy_interval(problem.y[seen], scores[seen], qid=qid)

    @property
    def advice(self) -> list[str]:
        """Two or three sentences: which method to use, and how sure that is."""
        return advise(self)

    @property
    def code(self) -> str:
        """The lines of Python that fit ``model``."""
        return _report.lines_of(self)

    @property
    def best_(self) -> Any:
        """The fitted model: a pipeline that takes the result of `prepare_like`."""
        return self.model

    def predict(self, frame: "DataFrame") -> Any:
        """Return the predictions of the fitted model for the rows of a table."""
        if self.model is None:
            raise ValueError(f"{self.best} was not kept, since its models can't be saved")
        if self.task.kind == "ratings":
            return self.model.predict(*(frame[self.task.roles[part]] for part in ("user", "item")))
        return self.model.predict(prepare_like(as_frame(frame), self.model))

    def from_source(self, path: str, about: Mapping[str, str] | None = None) -> "Comparison":
        """Return the same, with the file that ``code`` reads, and more of its provenance."""
        return replace(self, source=path, about={**(about or {}), **self.about})

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as what JSON can hold."""
        names = [measure.name for measure in self.measures]
        return {
            "kind": self.task.kind,
            "why": self.task.why,
            "roles": self.task.roles,
            "setting": self.setting,
            "best": self.best,
            "advice": self.advice,
            "warnings": self.warnings,
            "methods": [
                {
                    "name": row.name,
                    "baseline": row.baseline,
                    "failure": row.failure,
                    "measures": {
                        name: {"mean": float(mean), "half_width": float(half)}
                        for name, mean, half in zip(names, row.means, row.halves, strict=False)
                        if np.isfinite(mean)
                    },
                    "pvalue": None if np.isnan(row.pvalue) else row.pvalue,
                    "fit_seconds": None if row.failure else row.fit_seconds,
                    "predict_seconds": None if row.failure else row.predict_seconds,
                }
                for row in self.rows
            ],
        }

    def to_frame(self) -> "DataFrame":
        """Return the methods, best first, with the mean of each measure and half its interval."""
        columns: dict[str, list[Any]] = {"method": [row.name for row in self.rows]}
        for place, measure in enumerate(self.measures):
            for name, part in ((measure.name, "means"), (f"{measure.name} ±", "halves")):
                columns[name] = [
                    np.nan if row.failure else getattr(row, part)[place] for row in self.rows
                ]
        for part in ("pvalue", "fit_seconds", "predict_seconds"):
            columns[part] = [getattr(row, part) for row in self.rows]
        columns["advised"] = [row.name == self.best for row in self.rows]
        return pandas().DataFrame(columns)

    def table(self, *, brief: bool = False) -> Any:
        """Return the rows as a `rankwise.reports.Table`; a brief one fits a terminal."""
        return _report.table_of(self, brief=brief)

    def footnotes(self) -> list[str]:
        """Return a line on the measures, and why methods have no numbers."""
        return [_report.legend(self), *_report.failures(self)]

    def __repr__(self) -> str:
        """Return the advised method and its first measure."""
        value = f"{self.measures[0].name} {self.row(self.best).means[0]:.3f}"
        return f"<Comparison of {len(self.rows)} methods; best: {self.best!r} ({value})>"

    def _repr_html_(self) -> str:
        """Return the advice and the table, for a notebook."""
        return Report("Advice", "", [self.table()], self.advice)._repr_html_()

    def report(
        self, path: str | Path | None = None, *, title: str = "", progress: Progress | None = None
    ) -> Any:
        """Return a `rankwise.reports.Report` with figures; this fits the best method some more.

        Parameters
        ----------
        path : str or path, default=None
            Where the report is saved, as one HTML file.
        title : str, default=""
            Its title.
        progress : callable, default=None
            Called with what is under way.
        """
        report = _report.report_of(self, title, progress or (lambda _: None))
        if path is not None:
            report.save(Path(path).parent, ["html"], name=Path(path).name.removesuffix(".html"))
        return report


def compare(
    frame: "DataFrame",
    *,
    target: str | None = None,
    query: str | None = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    tie: str | None = None,
    group: str | None = None,
    ignore: Sequence[str] = (),
    order: Sequence[Any] | None = None,
    text: str = "hash",
    name: str | None = None,
    split: str = "random",
    methods: Sequence[str] | None = None,
    quick: bool = False,
    max_rows: int | None = None,
    timeout: float | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Cross-validate the methods that suit a table, and baselines.

    Folds keep lists whole; missing values, scaling and settings are learned inside the folds only.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    target, query, user, item, rating, winner, loser, tie, group, ignore, order, text
        As in `recognise`.
    name : str, default=None
        The column that names the rows in figures; it is not learned from. By default one of short
        texts that are all different.
    split : {"random", "time"}, default="random"
        Whether folds are drawn, or cut by the first column of dates so that each is tested on rows
        that come later than those that it learns from.
    methods : sequence of str, default=None
        Only these; by default all that fit.
    quick : bool, default=False
        Five folds once, fewer rows, and kernels on small tables only. Else folds are dealt out
        twice. On few rows they are dealt out up to ten times, or three if quick: there chance in
        the folds would decide otherwise.
    max_rows : int, default=None
        Of more rows a sample is compared; by default 50,000, or 10,000 if quick. The model learns
        from all rows.
    timeout : float, default=None
        Seconds that a method may take in all. Methods then run in a process of their own.
    n_jobs : int, default=1
        Methods that run at the same time, each in its own process if there are several.
    random_state : int, default=0
        Seed of folds and methods.
    progress : callable, default=None
        Called with the name of the method under way.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        As in `recognise`; also for contests and rankings, which have commands of their own.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from rankwise.comparison import compare
    >>> random = np.random.default_rng(0)
    >>> frame = pd.DataFrame(random.normal(size=(90, 2)), columns=["a", "b"])
    >>> frame["grade"] = np.digitize(frame["a"] - frame["b"], [-1, 1])
    >>> found = compare(frame, methods=["constant", "best-column", "prank"], quick=True)
    >>> [row.name for row in found.rows]
    ['PRank', 'best column', 'constant']
    """
    frame = as_frame(frame)
    said = progress or (lambda _: None)
    dropped = [*([ignore] if isinstance(ignore, str) else ignore), *([name] if name else [])]
    check_word(split, "split", ("random", "time"))
    task = recognise(
        frame, target=target, query=query, user=user, item=item, rating=rating, winner=winner,
        loser=loser, tie=tie, group=group, ignore=dropped, order=order, text=text,
    )  # fmt: skip
    if max_rows is not None:
        check_whole(max_rows, "max_rows")
    check_whole(n_jobs, "n_jobs")
    if task.kind == "ratings":
        from rankwise.comparison._ratings import compare_ratings  # noqa: PLC0415

        return compare_ratings(frame, task, quick, max_rows, timeout, n_jobs, random_state, said)
    if task.kind == "contests":
        raise ValueError(contests_message(len(frame), task))
    if text == "ignore":
        learned = {*task.columns.names, *task.roles.values(), *dropped}
        dropped += look_at_columns(frame, [c for c in frame.columns if c not in learned]).texts
    whole = make_problem(frame, task, name=name, split=split)
    problem = whole.sample(max_rows or (10_000 if quick else 50_000), random_state)
    rare = min(np.sum(problem.y == 1), np.sum(problem.y == 2)) if problem.binary else len(problem.y)
    if rare < 2:
        raise ValueError(
            f"only {rare} row has one of the two classes of {task.roles['target']!r}: at least 2 "
            "are needed, one to learn from and one to test on"
        )
    n_repeats = _repeats(len(problem.y), quick=quick) if split == "random" else 1
    folds = make_folds(problem, 5, n_repeats, random_state)
    chosen = choose_methods(methods_for(problem, len(whole.y), quick=quick), methods)
    jobs = {
        method.name: partial(run, method.name, problem, folds, random_state) for method in chosen
    }
    trials = run_jobs(jobs, timeout, n_jobs, said)
    measures = problem.measures
    share = float(np.mean([len(test) / len(train) for train, test in folds]))
    named = {method.name: method for method in chosen}
    rows = rank_rows(trials, named, measures[0], share, len(problem.y))
    best = advised(rows, trials, named, measures[0], share)
    facts, odd = describe(frame, task, whole, problem, rows[0], len(folds) // n_repeats)
    model, setting = None, {}
    if best:
        said(f"{best}, on all rows")
        setting = choose(named[best], problem, measures[0], random_state)
        model = fit_final(named[best], whole, setting, random_state)
    unit = "rows" if problem.qid is None else "queries"
    if task.roles.get("group"):
        unit = f"groups by {task.roles['group']!r}"
    times = f"{n_repeats} times " if n_repeats > 1 else ""
    how = f"{times}{len(folds) // n_repeats} folds of {unit}; seed {random_state}"
    if split == "time":
        how = f"{len(folds)} folds, each tested on later rows; seed {random_state}"
    return Comparison(
        task, measures, rows, trials, odd, facts, best or rows[0].name, model, problem, how,
        setting, random_state, dropped,
        by_experience=best != advised(rows, trials, named, measures[0], share, experience=False),
        complex=list(named)[list(named).index(best) + 1 :] if best else [],
        about=provenance(random_state), test_share=share,
    )  # fmt: skip


def provenance(seed: int) -> dict[str, str]:
    """Return what a result depends on besides its table."""
    return {
        "date": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        "rankwise": importlib.metadata.version("rankwise"),
        "scikit-learn": sklearn.__version__,
        "Python": platform.python_version(),
        "seed": str(seed),
    }


def _repeats(n_rows: int, *, quick: bool) -> int:
    """Return how often folds are dealt out, until enough rows were tested."""
    least, most, tested = (1, 3, 600) if quick else (2, 10, 4000)
    return min(max(tested // n_rows, least), most)


def run_jobs(
    jobs: Mapping[str, Callable[[], Trials]], timeout: float | None, n_jobs: int, progress: Progress
) -> dict[str, Trials]:
    """Run jobs; in processes that can be ended if there is a timeout, or several at a time."""
    if timeout is None and n_jobs == 1 and not on_cluster():
        found = {}
        for number, (name, job) in enumerate(jobs.items(), 1):
            progress(f"{number}/{len(jobs)} {name}")
            found[name] = job()
        return found
    if on_cluster():
        progress(f"{len(jobs)} methods on the cluster")
        calls = (joblib.delayed(_run_alone)(name, job, timeout) for name, job in jobs.items())
        return dict(zip(jobs, joblib.Parallel(n_jobs=-1, batch_size=1)(calls), strict=True))
    idle: SimpleQueue[Child] = SimpleQueue()
    under_way: list[str] = []
    started: list[str] = []

    def one(name: str) -> Trials:
        child = idle.get()
        under_way.append(name)
        started.append(name)
        progress(f"{len(started)}/{len(jobs)} {', '.join(under_way)}")
        try:
            return _run_in(child, name, jobs[name], timeout)
        finally:
            under_way.remove(name)
            idle.put(child)

    with ExitStack() as stack:
        for _ in range(n_jobs):
            idle.put(stack.enter_context(Child()))
        pool = stack.enter_context(ThreadPoolExecutor(n_jobs))
        return dict(zip(jobs, pool.map(one, jobs), strict=True))


def _run_in(child: Child, name: str, job: Callable[[], Trials], timeout: float | None) -> Trials:
    """Run a job in a process, and say so if it does not come to its end."""
    try:
        return child.call(job, np.inf if timeout is None else monotonic() + timeout)
    except TimeoutError:
        return Trials(name, failure=f"not done after {timeout:g} seconds")
    except ChildError as error:
        return Trials(name, failure=str(error))


def _run_alone(name: str, job: Callable[[], Trials], timeout: float | None) -> Trials:
    """Run a job in a separate process, on whichever machine this is."""
    with Child() as child:
        return _run_in(child, name, job, timeout)


def rank_rows(
    trials: dict[str, Trials],
    methods: dict[str, Method],
    measure: Measure,
    share: float,
    n_rows: int,
) -> list[Row]:
    """Return the methods best first, with intervals and tests against the best.

    ``share`` is the number of rows tested over that of rows learned from, ``n_rows`` their sum.

    Raises
    ------
    ValueError
        If all have failed.
    """
    done = [name for name in trials if not trials[name].failure]
    if not done:
        name, tried = next(iter(trials.items()))
        raise ValueError(f"no method could be fitted; {name}: {tried.failure}")
    signed = {
        name: np.array([measure.signed(v) for v in trials[name].values[:, 0]]) for name in done
    }
    done.sort(key=lambda name: -signed[name].mean())
    n_tested = n_rows * share / (1 + share)
    raw = [corrected_test(signed[done[0]] - signed[name], share, n_tested) for name in done[1:]]
    pvalues = [np.nan, *adjust_for_best(np.array(raw))]
    rows = []
    for name, pvalue in zip(done, pvalues, strict=False):
        tried = trials[name]
        both = [corrected_interval(column, share) for column in tried.values.T]
        rows.append(
            Row(
                name,
                methods[name].about,
                methods[name].baseline,
                methods[name].kept,
                np.array([mean for mean, _ in both]),
                np.array([half for _, half in both]),
                float(pvalue),
                float(np.median(tried.fit_seconds)),
                float(np.median(tried.predict_seconds)),
            )
        )
    for name in (name for name in trials if trials[name].failure):
        method, why = methods[name], trials[name].failure
        known = name, method.about, method.baseline, method.kept
        rows.append(Row(*known, np.empty(0), np.empty(0), np.nan, np.nan, np.nan, why))
    return rows


def advised(
    rows: list[Row],
    trials: dict[str, Trials],
    methods: dict[str, Method],
    measure: Measure,
    share: float,
    *,
    experience: bool = True,
) -> str:
    """Return the name of the method to use, empty if none can be kept.

    Of the methods that can be kept the one with the best mean, unless others are statistically
    tied, and within one standard error of the paired difference: then the first in `METHODS`, which
    begin with the simplest, of those whose expected loss is as good within its error
    (`expected_losses`).
    """
    able = [row.name for row in rows if not row.failure and methods[row.name].kept]
    if not able or able[0] == "constant":
        return able[0] if able else ""
    first = trials[able[0]].values[:, 0]
    tied = able[:1]
    for name in able[1:]:
        gap = measure.signed(first - trials[name].values[:, 0])
        if tied_with_best(rows, name) and gap.mean() <= standard_error(gap, share):
            tied.append(name)
    losses = {
        name: np.array([measure.loss(v) for v in trials[name].values[:, 0]])
        for name in methods
        if not trials[name].failure
    }
    known = experience and measure is MAE
    usual = {name: methods[name].usual if known else None for name in losses}
    expected, error = expected_losses(losses, usual, share)
    least = min(expected[name] for name in tied)
    return next(name for name in methods if name in tied and expected[name] <= least + error)


def tied_with_best(rows: list[Row], name: str) -> bool:
    """Whether a method is not surely worse than the one with the best mean."""
    row = next(row for row in rows if row.name == name)
    return bool(np.isnan(row.pvalue) or row.pvalue > SURE) and not row.failure
