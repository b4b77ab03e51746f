"""The table and the report of a comparison, and the lines of Python that load or fit its model."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from rankwise.comparison._describe import Summary, plain, summaries
from rankwise.comparison._inspection import (
    Curve,
    Effect,
    effects_of,
    learning_curve,
    pushes_of,
)
from rankwise.comparison._significance import SURE, corrected_interval
from rankwise.comparison.methods import method_named
from rankwise.metrics import mean_rank_loss_per_rank, pairwise_misranking_loss
from rankwise.reports import Report, Section, Table, charts

if TYPE_CHECKING:
    from rankwise.comparison.runner import Comparison, Row

Progress = Callable[[str], None]
_SHOWN, _DOTS, _ENDS = 15, 1500, 3
_CODE_WIDTH = 88
_READING = (
    "Blue is the advised method; hollow circles are significantly worse than the best mean. The "
    "intervals of the differences are paired by split and not corrected for the number of methods."
)
_INTERVALS = (
    "An interval covers the mean of a method that learns from as many rows as in a split, if more "
    "rows come from where these came from; in 95 of 100 such studies it holds the true mean. "
    "Splits share rows, so the spread is corrected for that (Nadeau and Bengio), and the p-values "
    "for the number of pairs of methods (Holm's steps)."
)


def table_of(found: "Comparison", *, brief: bool = False) -> Table:
    """Return the methods, best first, the advised one marked.

    Parameters
    ----------
    found : Comparison
        What to show.
    brief : bool, default=False
        Whether it must fit a terminal: the interval of the first measure alone, no seconds, and
        methods that failed left to `failures`.
    """
    names = [measure.name for measure in found.measures]
    columns = ["method", *names, "p vs. best", *([] if brief else ["fit, s", "predict, s"])]
    rows = []
    for row in found.rows:
        if row.failure:
            rows += [] if brief else [[f"{row.name}: {row.failure}", *["-"] * (len(names) + 3)]]
            continue
        cells = [
            "-" if np.isnan(mean) else _digits(mean) + f" ± {_digits(half)}" * (not (brief and i))
            for i, (mean, half) in enumerate(zip(row.means, row.halves, strict=True))
        ]
        seconds = [] if brief else [f"{row.fit_seconds:.3f}", f"{row.predict_seconds:.4f}"]
        name = f"> {row.name}" if row.name == found.best and brief else row.name
        rows.append([name, *cells, _verdict(row), *seconds])
    title = f"Methods on unseen data: {found.setting}"
    marked = next(i for i, row in enumerate(found.rows) if row.name == found.best)
    return Table(title, columns, rows, marked)


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def failures(found: "Comparison") -> list[str]:
    """Return why methods have no numbers."""
    return [f"{row.name} failed: {row.failure}" for row in found.rows if row.failure]


def legend(found: "Comparison") -> str:
    """Return how the table is read: the directions of the measures, intervals and absences."""
    directions: dict[str, list[str]] = {}
    for measure in found.measures:
        word = "higher" if measure.more_is_better else "lower"
        directions.setdefault(word, []).append(measure.name)
    parts = [f"{word} is better for {_and(names)}" for word, names in directions.items()]
    text = (
        f"{'; '.join(parts)}. ± gives the 95 % interval. The p-values are corrected for the number "
        "of methods."
    )
    text = text[0].upper() + text[1:]
    if any(np.isnan(row.means).any() for row in found.rows):
        what = (
            "probabilities" if found.task.kind == "grades" else "scores on the scale of the target"
        )
        text += f" -: the method has no {what}."
    return text


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _verdict(row: "Row") -> str:
    if np.isnan(row.pvalue):
        return "best"
    return "<0.001" if row.pvalue < 0.001 else f"{row.pvalue:.3f}"


def report_of(found: "Comparison", title: str, progress: Progress) -> Report:
    """Return the report: headline, advice and table, then a section for each question."""
    best, measure = found.row(found.best), found.measures[0]
    sections = [_methods(found)]
    if found.task.kind == "ratings":
        sections += [_data(found, []), *_tastes(found)]
    else:
        progress("summary of the columns")
        sections.append(_data(found, summaries(found.problem)))
        if found.best != "constant":
            sections += _inspected(found, progress)
    sections += [_guarantee(found), *_code(found), _origin(found)]
    low, high = measure.within(best.means[0] - best.halves[0], best.means[0] + best.halves[0])
    return Report(
        title or f"Which method predicts {_target(found)} best?",
        f"Task: {found.facts['task']}".removesuffix(".") + ".",
        [table_of(found)],
        found.advice,
        sections=sections,
        headline=(
            f"{best.means[0]:.3f}",
            f"{measure.name} of {best.name} on unseen rows (95 % interval {low:.3f} to {high:.3f})",
        ),
        about=found.about,
    )


def _target(found: "Comparison") -> str:
    return found.task.roles.get("target") or found.task.roles["rating"]


def _methods(found: "Comparison") -> Section:
    rows, first = [row for row in found.rows if not row.failure], found.measures[0]
    values = [
        charts.Interval(
            row.name,
            row.means[0],
            *first.within(row.means[0] - row.halves[0], row.means[0] + row.halves[0]),
            charts.BLUE if row.name == found.best else charts.GREY,
            row.pvalue <= SURE,
        )
        for row in rows
    ]
    share = found.test_share
    apart = []
    for row in rows[1:]:
        gaps = found.trials[row.name].values[:, 0] - found.trials[rows[0].name].values[:, 0]
        mean, half = corrected_interval(gaps, share)
        color = charts.BLUE if row.name == found.best else charts.GREY
        apart.append(charts.Interval(row.name, mean, mean - half, mean + half, color))
    figures: dict[str, Any] = {"means-and-95-%-intervals": charts.intervals(values, first.name)}
    if apart:
        name = f"{first.name} minus that of {rows[0].name}"
        figures["paired-differences-to-the-best"] = charts.intervals(apart, name, zero=True)
    meanings = "; ".join(f"{m.name}: {m.meaning.format('x')}" for m in found.measures)
    text = [
        f"{legend(found)} Seconds are medians on one thread, of the estimator alone.",
        f"Meaning of x: {meanings}.",
        _READING,
        *failures(found),
    ]
    return Section("Methods and how sure the order is", text, figures)


def _data(found: "Comparison", columns: list[Summary]) -> Section:
    facts = Table("", ["", ""], [[name, value] for name, value in found.facts.items()])
    notes = [text for text in found.warnings if not text.startswith("Leak?")]
    heads = ["column", "kind", "missing", "distinct", "range", "histogram", "alone"]
    rows = [
        [one.name, one.kind, f"{one.missing:.0%}", f"{one.distinct:,}", one.extent,
         charts.histogram(one.counts), f"{one.relation:.3f}"]
        for one in columns[:100]
    ]  # fmt: skip
    tables = [facts]
    if rows:
        text = "Columns. alone: pairwise accuracy of the column by itself; 0.5 is chance, 1 a leak."
        tables.append(Table(text, heads, rows))
    return Section("Data summary", notes or ["Nothing unusual was found."], tables=tables)


def _inspected(found: "Comparison", progress: Progress) -> list[Section]:
    problem, measure = found.problem, found.measures[0]
    method, chosen = method_named(found.best, problem), found.trials[found.best].settings
    setting = max(chosen, key=chosen.count)  # that of most folds
    progress("which columns matter")
    effects = effects_of(method, setting, problem, measure, found.seed)
    progress("learning curve")
    curve = learning_curve(method, setting, problem, measure, found.seed)
    return [
        _errors(found),
        _columns(found, effects),
        _ends(found),
        Section(
            "Learning curve",
            [_trend(curve, measure)],
            {"learning-curve": _curve(curve, measure.name)},
        ),
    ]


def _columns(found: "Comparison", effects: list[Effect]) -> Section:
    measure = found.measures[0]
    colors = {1: charts.BLUE, -1: charts.ORANGE, 0: charts.GREY}
    rows = [
        charts.Interval(
            e.name + e.mark, e.worth, e.worth - e.half, e.worth + e.half, colors[e.sign]
        )
        for e in effects[:_SHOWN]
    ]
    more = f" The first {_SHOWN} of {len(effects)}." if len(effects) > _SHOWN else ""
    text = (
        f"Worsening of the {measure.name} of {found.best} on unseen rows when one column is "
        "shuffled, with its 95 % interval. (+), blue: more of it raises the prediction; "
        "(\N{MINUS SIGN}), orange: lowers it; grey: no single direction. Columns that say the same "
        f"share their importance.{more}"
    )
    chart = charts.intervals(rows, f"worsening of {measure.name}", zero=True)
    return Section("Columns that matter", [text], {"columns-that-matter": chart})


def _trend(curve: Curve, measure: Any) -> str:
    half, full = (float(curve.values[:, i].mean()) for i in (-2, -1))
    spread = float(curve.values[:, -1].std(ddof=1)) if len(curve.values) > 1 else np.inf
    gain = measure.signed(full) - measure.signed(half)
    if gain > spread / np.sqrt(len(curve.values)):
        said = "More rows would probably help: the curve has not levelled off"
    else:
        said = "More rows would hardly help: the curve is flat within its spread"
    return (
        f"{said}. With half of the rows the mean is {half:.3f}, with all {full:.3f}. The band is "
        f"the standard deviation over {len(curve.values)} splits."
    )


def _curve(curve: Curve, name: str) -> charts.Svg:
    means, spread = curve.values.mean(axis=0), curve.values.std(axis=0)
    series = charts.Series(curve.sizes, means, line=True, band=spread)
    return charts.plot([series], "rows learned from", name, log=True)


def _errors(found: "Comparison") -> Section:
    problem, tried = found.problem, found.trials[found.best]
    seen = np.isfinite(tried.scores)
    y, scores = problem.y[seen], tried.scores[seen]
    figures: dict[str, Any] = {}
    text = [f"Of rows that {found.best} did not learn from."]
    if problem.graded:
        ranks, k = tried.ranks[seen].astype(int), len(problem.labels)
        counts = np.zeros((k, k))
        np.add.at(counts, (y.astype(int) - 1, ranks - 1), 1)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        losses = mean_rank_loss_per_rank(y.astype(int), ranks)
        present = [problem.labels[int(rank) - 1] for rank in np.unique(y)]
        text.append(
            "Rows of the matrix are true grades, and the numbers are in percent of such rows. The "
            f"largest error is at {present[int(np.nanargmax(losses))]!s}: "
            f"{np.nanmax(losses):.2f} grades on average."
        )
        figures["confusion-matrix"] = charts.matrix(problem.labels, shares, "predicted", "true")
        if np.isfinite(tried.shares[seen]).all():
            cut = int(np.argmin([abs(np.mean(y > rank) - 0.5) for rank in range(1, k)]))
            figures["calibration"] = _calibration(y > cut + 1, tried.shares[seen, cut + 1 :])
            what = problem.labels[1] if k == 2 else f"a grade above {problem.labels[cut]}"
            text.append(
                f"Calibration: of the rows with a probability of 30 % for {what}, 30 % have it "
                "where the curve is on the diagonal."
            )
    elif problem.qid is not None:
        sizes, values = list_values(y, scores, problem.qid[seen])
        text.append(
            f"In {np.mean(values < 0.5):.0%} of the queries most pairs are in the wrong order."
        )
        series = [charts.Series(sizes[:_DOTS], values[:_DOTS])]
        figures["queries"] = charts.plot(series, "rows in the query", "pairwise accuracy")
    else:
        scale = method_named(found.best, problem).on_scale
        reading = (
            "on the diagonal a prediction is right"
            if scale
            else "scores have no unit, so that only their order can be right or wrong"
        )
        text.append(f"Each point is a row; {reading}.")
        series = [charts.Series(scores[:_DOTS], y[:_DOTS])]
        figures["predictions"] = charts.plot(
            series, "prediction" if scale else "score", f"true {_target(found)}", diagonal=scale
        )
    return Section("Errors", text, figures, _by_group(found, y, tried, seen))


def _by_group(found: "Comparison", y: Any, tried: Any, seen: Any) -> list[Table]:
    """Return the groups with the largest errors, if rows have groups by a column."""
    problem = found.problem
    if "group" not in found.task.roles or not problem.graded:
        return []
    groups, errors = problem.groups[seen], np.abs(y - tried.ranks[seen])
    means = np.bincount(groups, errors) / np.maximum(np.bincount(groups), 1)
    worst = np.argsort(-means)[:5]
    rows = [[problem.group_names[i], str((groups == i).sum()), f"{means[i]:.2f}"] for i in worst]
    return [Table("Groups with the largest errors", ["group", "rows", "MAE"], rows)]


def _calibration(truth: Any, shares: Any) -> charts.Svg:
    """Draw the share of rows above a grade against its probability, by tenths of rows."""
    chance, n = shares.sum(axis=1), len(truth)
    parts = np.array_split(np.argsort(chance, kind="stable"), min(10, max(2, n // 15)))
    series = charts.Series(
        [chance[part].mean() for part in parts], [truth[part].mean() for part in parts], line=True
    )
    return charts.plot([series], "mean probability", "share of rows", diagonal=True)


def _ends(found: "Comparison") -> Section:
    """Explain the rows with the highest and the lowest scores."""
    problem, scores = found.problem, found.trials[found.best].scores
    order = np.argsort(-np.where(np.isfinite(scores), scores, np.nan), kind="stable")
    order = order[np.isfinite(scores[order])]
    rows = [*order[:_ENDS].tolist(), *order[-_ENDS:].tolist()]
    names = (
        problem.names if problem.names is not None else [f"row {i + 1}" for i in range(len(scores))]
    )
    pushes = [[] for _ in rows] if found.model is None else pushes_of(found.model, problem, rows)
    cells = [
        [str(names[row]), plain(scores[row]), _truth(problem, row), _shown(push)]
        for row, push in zip(rows, pushes, strict=True)
    ]
    heads = ["row", "score", f"true {_target(found)}", "moved most by"]
    text = (
        f"The {_ENDS} highest and the {_ENDS} lowest scores of rows that {found.best} did not "
        "learn from. A column moves a score by the difference to what it would be with the median, "
        "or the most frequent category, in its place, by the model of all rows."
    )
    return Section("Top and bottom rows", [text], tables=[Table("", heads, cells)])


def _shown(pushes: list[Any]) -> str:
    parts = [
        f"{p.name}{f' = {p.value}' * bool(p.value)} ({'+' * (p.amount > 0)}{plain(p.amount)})"
        for p in pushes
    ]
    return ", ".join(parts) or "-"


def _truth(problem: Any, row: int) -> str:
    if problem.labels is not None and problem.qid is None:
        return str(problem.labels[int(problem.y[row]) - 1])
    return plain(problem.y[row])


def list_values(y: Any, scores: Any, qid: Any) -> tuple[Any, Any]:
    """Return the size of each query with a comparable pair, and its pairwise accuracy."""
    sizes, values = [], []
    order = np.argsort(qid, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(qid[order])) + 1):
        if y[rows].min() < y[rows].max():
            sizes.append(len(rows))
            values.append(1.0 - pairwise_misranking_loss(y[rows], scores[rows], ties="half"))
    return np.array(sizes), np.array(values)


def _tastes(found: "Comparison") -> list[Section]:
    if found.model is None:
        return []
    table = found.problem
    person = table.users[int(np.argmax(np.diff(table.matrix.indptr)))]
    top = found.model.person(person).ranking(k=10)
    mean = np.asarray(found.model.person(person).predict(top.order)[0])
    rows = [[str(item), f"{value:.2f}"] for item, value in zip(top.order, mean, strict=True)]
    text = f"The items that {person!s}, who rated most, has not rated and would like best."
    return [
        Section("One person's list", [text], tables=[Table("", ["item", "rating expected"], rows)])
    ]


def _guarantee(found: "Comparison") -> Section:
    lines = [
        _INTERVALS,
        "None of this holds for rows of another kind: other years, other people, other places.",
    ]
    problem = found.problem
    if found.pair_interval is not None and found.best != "constant":
        low, high = found.pair_interval
        lines.insert(
            1,
            f"Of two rows{' of one query' * (problem.qid is not None)} with different targets "
            f"{found.best} puts the better one first with a probability between {low:.3f} and "
            f"{high:.3f} (95 %, from the scores out of fold).",
        )
    return Section("Guarantees", lines)


def _origin(found: "Comparison") -> Section:
    rows = [[name, value] for name, value in found.about.items()]
    return Section("Provenance", tables=[Table("", ["", ""], rows)])


def _code(found: "Comparison") -> list[Section]:
    if found.model is None:
        return []
    use = (
        ["from rankwise.comparison import prepare_like"],
        "model.predict(prepare_like(new, model))",
    )
    if found.task.kind == "ratings":
        names = found.task.roles
        use = [], f"model.predict(new[{names['user']!r}], new[{names['item']!r}])"
    lines = [
        "import pandas as pd",
        "import rankwise",
        *use[0],
        "",
        'model = rankwise.load("model.rankwise")',
        'new = pd.read_csv("new.csv")',
        use[1],
    ]
    model = found.model if found.task.kind == "ratings" else clone(found.model[-1])
    package = ".".join(type(model).__module__.split(".")[:2])
    estimator = f"{package}.{' '.join(repr(model).split())}"
    return [
        Section(
            "Use the model", ["It was fitted to all rows and saved. To use it:"],
            code="\n".join(lines),
        ),
        Section(
            "Fit it again", [f"The same model, {estimator}, from the table:"], code=found.code
        ),
    ]  # fmt: skip


def lines_of(found: "Comparison") -> str:
    """Return a program that reads a table, fits the advised model, and saves it."""
    if found.model is None:
        return ""
    task, source = found.task, found.source
    read = f"rankwise.comparison.read_table({source!r}).frame"
    if source == "films":
        read = "rankwise.datasets.load_films()"
    parts = ["frame"]
    if task.kind != "ratings":
        parts.append(repr(method_named(found.best, found.problem).slug))
    parts += [f"{part}={name!r}" for part, name in task.roles.items() if part != "name"]
    known = {*task.columns.names, *task.roles.values()} - {task.roles.get("name")}
    options = {
        "ignore": [name for name in found.ignored if name not in known],
        "order": task.order,
        "settings": found.chosen,
        "random_state": found.seed,
    }
    parts += [f"{option}={value!r}" for option, value in options.items() if value]
    call = f"model = rankwise.comparison.fit({', '.join(parts)})"
    if len(call) > _CODE_WIDTH:
        call = f"model = rankwise.comparison.fit(\n    {(',' + chr(10) + '    ').join(parts)},\n)"
    saved = 'rankwise.save(model, "model.rankwise")'
    return "\n".join(["import rankwise", "", f"frame = {read}", call, saved])
