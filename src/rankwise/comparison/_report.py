"""A comparison as a report, and the lines of Python that fit its model."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from rankwise.comparison import _figures as draw
from rankwise.comparison._inspection import Curve, Effect, effects_of, learning_curve
from rankwise.comparison.methods import method_named
from rankwise.metrics import mean_rank_loss_per_rank, pair_accuracy_interval
from rankwise.reports import Report, Section, Table

if TYPE_CHECKING:
    from rankwise.comparison.runner import Comparison, Row

Progress = Callable[[str], None]
_READING = (
    "A point is the mean over the splits and a bar its 95 % interval. Filled points may be as good "
    "as the best; hollow ones are surely worse. The name in bold is advised. Grey points, and "
    "names with a star, are what any method has to beat."
)
_SIGNS = (
    "(+), blue: more of it means a higher score; (\N{MINUS SIGN}), orange: a lower one. Columns "
    "that say the same thing share their worth."
)
_INTERVALS = (
    "An interval of the table covers the mean of a method that learns from as many rows as in a "
    "split, if more rows come from where these came from; in 95 of 100 such studies it holds the "
    "true mean. Splits share rows, so the spread is corrected for that (Nadeau and Bengio), and "
    "the tests against the best for the number of pairs of methods (Holm's steps)."
)


def table_of(found: "Comparison") -> Table:
    """Return the methods, best first, with intervals, tests and seconds."""
    names = [measure.name for measure in found.measures]
    columns = ["method", *names, "p against the best", "fit, s", "predict, s"]
    rows = []
    for row in found.rows:
        if row.failure:
            rows.append([f"{row.name}: {row.failure}", *["-"] * (len(names) + 3)])
            continue
        cells = [
            "-" if np.isnan(mean) else f"{mean:.3f} ± {half:.3f}"
            for mean, half in zip(row.means, row.halves, strict=True)
        ]
        seconds = [f"{row.fit_seconds:.3f}", f"{row.predict_seconds:.4f}"]
        name = f"{row.name} *" if row.baseline else row.name
        rows.append([name, *cells, _verdict(row), *seconds])
    title = f"Methods on data they have not seen: {found.setting}"
    return Table(title, columns, rows)


def _verdict(row: "Row") -> str:
    if np.isnan(row.pvalue):
        return "the best"
    return "< 0.001" if row.pvalue < 0.001 else f"{row.pvalue:.3f}"


def report_of(found: "Comparison", title: str, progress: Progress) -> Report:
    """Return the report: advice and table, then a section for each question."""
    findings = found.advice
    if found.task.kind == "ratings":
        looks = _tastes(found)
    elif found.best == "constant":
        looks = []  # it looks at no column, and says the same of all rows
    else:
        progress("which columns matter")
        method, chosen = method_named(found.best), found.trials[found.best].settings
        setting = max(chosen, key=chosen.count)  # that of most folds
        measure, problem = found.measures[0], found.problem
        effects = effects_of(method, setting, problem, measure, found.seed)
        most = [effect.name + effect.mark for effect in effects[:3] if effect.worth > 0]
        findings = findings + [f"What counts most: {', '.join(most)}."] * bool(most)
        progress("does more data help")
        curve = learning_curve(method, setting, problem, measure, found.seed)
        looks = _looks(found, effects, curve)
    code = lines_of(found, found.source)
    text = "These lines fit the model that was kept, and save it."
    return Report(
        title or f"Which method ranks by {_target(found)}?",
        f"Taken for {found.facts['taken for']}".removesuffix(".") + ".",
        [table_of(found)],
        findings,
        {"which-method-and-how-sure": draw.methods_figure(found)},
        sections=[
            _reading(found),
            *looks,
            _guarantee(found),
            _data(found),
            *[Section("How do I fit it myself?", [text], code=code)] * bool(code),
        ],
    )


def _target(found: "Comparison") -> str:
    return found.task.roles.get("target") or found.task.roles["rating"]


def _reading(found: "Comparison") -> Section:
    meanings = "; ".join(
        f"{measure.name}, x: {measure.meaning.format('x')}" for measure in found.measures
    )
    return Section(
        "How is the figure read?",
        [_READING, f"{meanings}. Seconds are medians of one thread, compiling not counted."],
    )


def _looks(found: "Comparison", effects: list[Effect], curve: Curve) -> list[Section]:
    measure = found.measures[0]
    return [
        _errors(found),
        Section(
            "Which columns matter?",
            [f"What {found.best} loses on unseen rows when one column is shuffled. {_SIGNS}"],
            {"which-columns-matter": draw.effects_figure(effects, measure.name)},
        ),
        _picture(found),
        Section(
            "Would more data help?",
            [_trend(curve, measure)],
            {"learning-curve": draw.curve_figure(curve, measure.name)},
        ),
    ]


def _trend(curve: Any, measure: Any) -> str:
    half, full = (float(curve.values[:, i].mean()) for i in (-2, -1))
    spread = float(curve.values[:, -1].std(ddof=1))
    gain = measure.signed(full) - measure.signed(half)
    if gain > spread / np.sqrt(len(curve.values)):
        answer = "Probably: the curve has not levelled off"
    else:
        answer = "Not much: the curve is flat within its spread"
    return (
        f"{answer}. With half of the rows the mean is {half:.3f}, with all {full:.3f}. The band is "
        "the spread over three splits."
    )


def _errors(found: "Comparison") -> Section:
    problem, tried = found.problem, found.trials[found.best]
    title = "Where does it err?"
    if problem.graded:
        losses = mean_rank_loss_per_rank(problem.y.astype(int), tried.ranks.astype(int))
        present = [problem.labels[int(r) - 1] for r in np.unique(problem.y)]
        worst = int(np.nanargmax(losses))
        text = (
            f"Each row of the figure is a true grade, and its numbers say in percent how "
            f"{found.best} graded it. It errs most at {present[worst]!s}, by {losses[worst]:.2f} "
            "grades on average."
        )
        figure = draw.confusion_figure(problem.labels, problem.y, tried.ranks)
        return Section(title, [text], {"errors-by-grade": figure})
    if problem.qid is not None:
        sizes, values = draw.list_values(problem.y, tried.scores, problem.qid)
        text = (
            f"A point is a list that {found.best} did not learn from. In "
            f"{np.mean(values < 0.5):.0%} of the lists more pairs are wrong than right."
        )
        figure = draw.sizes_figure(sizes, values, "pairs right")
        return Section(title, [text], {"errors-by-size-of-list": figure})
    text = f"Scores of rows that {found.best} did not learn from, against what they were."
    figure = draw.scatter_figure(problem.y, tried.scores, _target(found))
    return Section(title, [text], {"scores-and-truth": figure})


def _picture(found: "Comparison") -> Section:
    problem, tried = found.problem, found.trials[found.best]
    if problem.graded and problem.names is None:
        text = (
            "The scores behind the grades. Dots are rows, a bar is the median of a grade; where "
            "the clouds of two grades overlap, no threshold can part them."
        )
        figure = draw.grades_figure(problem.labels, problem.y, tried.scores)
        return Section("What does it see?", [text], {"scores-by-grade": figure})
    names = problem.names
    if names is None:
        names = np.array([f"row {i + 1}" for i in range(len(problem.y))], object)
    rows, of = np.arange(len(problem.y)), "all rows"
    if problem.qid is not None:
        sizes = np.bincount(problem.qid)
        rows = np.flatnonzero(problem.qid == int(np.argmax(sizes)))
        of = f"the longest list, of {len(rows):,} rows"
    figure = draw.top_figure(names[rows], tried.scores[rows], _truth(problem)[rows], _target(found))
    text = (
        f"The top of {of}, by {found.best} that did not learn from them. The dashed line is the "
        "largest gap between scores: the place to cut the list."
    )
    return Section("Who is on top?", [text], {"top-of-the-list": figure})


def _truth(problem: Any) -> Any:
    if problem.graded and not isinstance(problem.labels[0], str):
        return np.asarray(problem.labels, float)[problem.y.astype(int) - 1]
    return problem.y


def _tastes(found: "Comparison") -> list[Section]:
    if found.model is None:
        return []
    table = found.problem
    person = table.users[int(np.argmax(np.diff(table.matrix.indptr)))]
    top = found.model.person(person).ranking(k=10)
    mean = np.asarray(found.model.person(person).predict(top.order)[0])
    rows = [[str(item), f"{value:.2f}"] for item, value in zip(top.order, mean, strict=True)]
    return [
        Section(
            "What does one person get?",
            [f"The items that {person!s}, who rated most, has not rated and would like best."],
            tables=[Table("The top of one person's list", ["item", "rating expected"], rows)],
        )
    ]


def _guarantee(found: "Comparison") -> Section:
    lines = [
        _INTERVALS,
        "It says nothing about rows of another kind: other years, other people, other places.",
    ]
    tried = found.trials[found.best]
    if found.task.kind != "ratings" and found.best != "constant":
        problem = found.problem
        low, high = pair_accuracy_interval(problem.y, tried.scores, qid=problem.qid)
        lines.insert(
            1,
            f"Of two rows{' of one list' * (problem.qid is not None)} with different targets "
            f"{found.best} puts the better one first with a probability between {low:.3f} and "
            f"{high:.3f} (95 %, from the scores out of fold).",
        )
    return Section("What is guaranteed?", lines)


def _data(found: "Comparison") -> Section:
    facts = [[name, value] for name, value in found.facts.items()]
    text = found.warnings or ["Nothing odd was found."]
    return Section("What are the data?", text, tables=[Table("In numbers", ["", ""], facts)])


if TYPE_CHECKING:
    from rankwise.comparison.runner import Comparison


def lines_of(found: "Comparison", source: str = "table.csv") -> str:
    """Return a program that reads a table, fits the model that was kept, and saves it."""
    if not found.kept:
        return ""
    return (_ratings if found.task.kind == "ratings" else _table)(found, source)


def _table(found: "Comparison", source: str) -> str:
    model, task = clone(found.model[-1]), found.task
    room = type(model).__module__.split(".")[1]
    inner = getattr(model, "estimator", None)
    named = task.order is not None and isinstance(task.order[0], str)
    told = [f"{part}={name!r}" for part, name in task.roles.items()]
    told += [f"order={task.order!r}"] if named else []
    told += ['text="hash"'] if task.columns.texts else []
    known = {*task.columns.names, *task.roles.values()}
    ignored = [name for name in found.ignored if name not in known]
    told += [f"ignore={ignored!r}"] if ignored else []
    target = f"frame[{task.roles['target']!r}]"
    if task.order is not None and named and not hasattr(model, "label_order"):
        target += f".map({ {label: rank for rank, label in enumerate(task.order, 1)}!r})"
    reading = [
        "from rankwise.comparison import read_table",
        f"frame = read_table({source!r}).frame",
    ]
    if source == "films":
        reading = ["from rankwise.datasets import load_films", "frame = load_films()"]
    lines = [
        "import rankwise",
        "from rankwise.comparison import make_transformer, prepare, recognise",
        *reading[:1],
        f"from rankwise.{room} import {type(model).__name__}",
        *_import_inner(inner),
        "from sklearn.pipeline import make_pipeline",
        "",
        *reading[1:],
        f"task = recognise(frame, {', '.join(told)})",
        f"frame = frame.dropna(subset={list(task.roles.values())!r})",
        "rows = prepare(frame, task.columns)",
        f"model = make_pipeline(make_transformer(task.columns), {' '.join(repr(model).split())})",
    ]
    query = task.roles.get("query")
    step = type(model).__name__.lower()
    lists = f", {step}__qid=frame[{query!r}]" if query is not None else ""
    lines += [f"model.fit(rows, {target}{lists})", 'rankwise.save(model, "model.rankwise")']
    return "\n".join(lines)


def _import_inner(inner: Any) -> list[str]:
    if inner is None or not type(inner).__module__.startswith("rankwise."):
        return []
    return [f"from rankwise.{type(inner).__module__.split('.')[1]} import {type(inner).__name__}"]


def _ratings(found: "Comparison", source: str) -> str:
    roles = ", ".join(f"{part}={name!r}" for part, name in found.task.roles.items())
    return "\n".join(
        [
            "import rankwise",
            "from rankwise.comparison import read_table",
            "from rankwise.recommend import RatingTable, TasteModel",
            "",
            f"frame = read_table({source!r}).frame",
            f"table = RatingTable.from_frame(frame, {roles})",
            "model = TasteModel().fit(table)",
            'rankwise.save(model, "model.rankwise")',
        ]
    )
