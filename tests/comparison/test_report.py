"""Reports of comparisons, and the statistics behind them."""

import math
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rankwise.comparison import compare
from rankwise.comparison._report import legend
from rankwise.comparison._significance import (
    adjust_for_best,
    corrected_interval,
    corrected_test,
)
from rankwise.reports import FORMATS
from rankwise.reports._formats import _anchor

RNG = np.random.default_rng(1)


def test_the_corrected_test_is_its_formula():
    values = RNG.normal(0.1, 1, 10)
    share = 0.25
    variance = values.var(ddof=1) + (1 / 3) ** 2 / 12
    t = values.mean() / np.sqrt((1 / 10 + share) * variance)
    assert corrected_test(values, share, 3) == pytest.approx(2 * stats.t.sf(abs(t), 4))
    assert corrected_test(values, 0.0, 1e9) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    mean, half = corrected_interval(values, 0.0)
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    assert (mean - half, mean + half) == pytest.approx((low, high))
    assert corrected_test(np.zeros(5), share, 9) == 1.0
    alike = 2 * stats.t.sf(1 / np.sqrt(1 / 5 + share), 4)
    assert corrected_test(np.ones(5), share, 9) == pytest.approx(alike)
    assert corrected_test(np.full(5, 0.1) + 1e-17, share, 9) == pytest.approx(alike)
    assert corrected_test(np.ones(1), share, 9) == 1.0
    assert corrected_interval(np.ones(1), share) == (1.0, np.inf)


def test_the_best_is_one_of_all_pairs():
    pvalues = RNG.uniform(0, 0.1, 7)
    order = np.argsort(pvalues)
    expected = np.empty(7)
    for place, i in enumerate(order):
        steps = [math.comb(8 - j, 2) * pvalues[order[j]] for j in range(place + 1)]
        expected[i] = min(1.0, max(steps))
    np.testing.assert_allclose(adjust_for_best(pvalues), expected)
    assert adjust_for_best(np.array([0.03])) == 0.03
    assert adjust_for_best(np.array([])).size == 0


def cross_validate(random, n_rows, folds, n_methods, measure):
    """Return a measure of least squares on one column each, of shape (n_folds, n_methods).

    The columns are alike, so that all methods have the same expected measure.
    """
    n_folds, n_repeats = folds
    X = random.normal(size=(n_rows, n_methods))
    y = X.sum(axis=1) + np.sqrt(n_methods) * random.normal(size=n_rows)
    grades = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y).astype(float)
    values = []
    for _ in range(n_repeats):
        fold = random.permutation(np.arange(n_rows) % n_folds)
        for test in (fold == k for k in range(n_folds)):
            centre, mean = X[~test].mean(axis=0), grades[~test].mean()
            inner = (X[~test] - centre).T @ (grades[~test] - mean)
            slope = inner / ((X[~test] - centre) ** 2).sum(axis=0)
            predicted, truth = mean + (X[test] - centre) * slope, grades[test]
            ranks = np.clip(np.rint(predicted), 0, 3)
            if measure == "MAE":
                values.append(-np.abs(ranks - truth[:, None]).mean(axis=0))
            elif measure == "accuracy":
                values.append((ranks == truth[:, None]).mean(axis=0))
            else:
                ahead = predicted[:, None] - predicted[None]
                comparable = (truth[:, None] > truth[None])[..., None]
                right = ((ahead > 0) + 0.5 * (ahead == 0)) * comparable
                values.append(right.sum(axis=(0, 1)) / max(comparable.sum(), 1))
    return np.array(values)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folds", "n_rows", "measure"),
    list(
        product(
            [(2, 1), (3, 1), (5, 1), (5, 3), (5, 10)], [20, 50, 100], ["MAE", "accuracy", "pairs"]
        )
    ),
    ids=str,
)
def test_methods_that_are_alike_are_rarely_told_apart(folds, n_rows, measure):
    """Simulate 800 samples a cell (300 if folds repeat), standard errors of .8 % (1.3 %) at 5 %.

    A true size above 8.8 % (9.9 %) is found with a probability of 97.5 %.
    """
    random, n = np.random.default_rng(0), 800 if folds[1] == 1 else 300
    share = 1 / (folds[0] - 1)
    for n_methods in (2, 6):
        rejected = 0
        for _ in range(n):
            values = cross_validate(random, n_rows, folds, n_methods, measure)
            values = values[:, np.argsort(-values.mean(axis=0), kind="stable")]
            apart = values[:, :1] - values[:, 1:]
            raw = [corrected_test(column, share, n_rows / folds[0]) for column in apart.T]
            rejected += adjust_for_best(np.array(raw)).min() < 0.05
            # a method and its copy
            assert corrected_test(apart[:, 0] - apart[:, 0], share, n_rows / folds[0]) == 1.0
        assert rejected / n <= 0.07, n_methods


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in {"src", "href", "srcset"}]


def _frame(n=90):
    frame = pd.DataFrame(RNG.normal(size=(n, 3)), columns=["a & b", "<c>", "d"])
    frame["mark"] = frame["a & b"] - frame["d"] + RNG.normal(size=n) / 2
    frame["list"] = np.arange(n) % 9
    frame["who"] = [f"thing {i} <b>" for i in range(n)]
    return frame


def test_of_a_constant_only_methods_and_data_are_shown():
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"a": random.normal(size=60), "mark": np.arange(60) % 3})
    found = compare(frame, methods=["constant", "mprank"], quick=True)
    found = replace(found, best="constant")
    report = found.report()
    assert [section.title for section in report.sections] == [
        "Methods and how sure the order is",
        "Data summary",
        "Guarantees",
        "Use the model",
        "Fit it again",
        "Provenance",
    ]
    assert "constant puts" not in " ".join(report.sections[2].text)
    assert report.headline[0] == f"{found.row('constant').means[0]:.3f}"


def test_the_legend_tells_directions_and_absences():
    frame = _frame().drop(columns=["list", "who"])
    found = compare(frame, target="mark", methods=["ridge", "ranksvm"], quick=True)
    assert legend(found) == (
        "Higher is better for pairwise accuracy; lower is better for difference error. ± gives the "
        "95 % interval. The p-values are corrected for the number of methods. -: the method has no "
        "scores on the scale of the target."
    )
    frame["mark"] = np.digitize(frame["mark"], [-1, 1])
    found = compare(frame, target="mark", methods=["ridge"], quick=True)
    assert legend(found).startswith(
        "Lower is better for MAE; higher is better for accuracy and pairwise accuracy. ±"
    )
    assert "-:" not in legend(found)


def test_calibration_is_of_the_middle_grade_and_histograms_are_of_values():
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"a": random.normal(size=100), "step": np.arange(100) % 8})
    frame["mark"] = np.digitize(frame["a"] + random.normal(size=100) / 2, [-1.5, 0, 1.5])
    found = compare(frame, target="mark", methods=["ridge"], quick=True)
    sections = {section.title: section for section in found.report().sections}
    assert "30 % for a grade above 1" in " ".join(sections["Errors"].text)
    bars = {row[0]: row[5].count("<rect") for row in sections["Data summary"].tables[1].rows}
    assert bars == {"a": 12, "step": 8}


@pytest.mark.parametrize(("method", "reading"), [("ridge", "the diagonal"), ("ranksvm", "no unit")])
def test_scores_without_a_unit_have_no_diagonal(method, reading):
    found = compare(_frame(), target="mark", ignore=["list"], methods=[method], quick=True)
    errors = next(s for s in found.report().sections if s.title == "Errors")
    assert reading in " ".join(errors.text)
    assert ("dasharray" in errors.figures["predictions"]) == (method == "ridge")


@pytest.mark.parametrize("kind", ["grades", "classes", "named grades", "lists", "sizes", "times"])
def test_a_report_is_one_file_with_all_sections(kind, tmp_path):
    frame = _frame()
    told = {"target": "mark", "name": "who", "ignore": ["list"]}
    if "grades" in kind:
        frame["mark"] = np.digitize(frame["mark"], [-1, 1])
    if kind == "classes":
        frame["mark"] = np.where(frame["mark"] > 0, "yes", "no")
    if kind == "times":
        frame["when"] = pd.date_range("2024-01-01", periods=90)
        told["split"] = "time"
    if kind == "lists":
        told |= {"query": "list", "ignore": []}
    if kind == "named grades":
        told |= {"group": "list", "ignore": []}
    methods = ["constant", "best-column", "mprank"]
    found = compare(frame, **told, methods=methods, quick=True)
    said = []
    report = found.report(tmp_path / "r.html", title="Marks & <more>", progress=said.append)
    assert said == ["summary of the columns", "which columns matter", "learning curve"]
    titles = [section.title for section in report.sections]
    assert titles == [
        "Methods and how sure the order is",
        "Data summary",
        "Errors",
        "Columns that matter",
        "Top and bottom rows",
        "Learning curve",
        "Guarantees",
        "Use the model",
        "Fit it again",
        "Provenance",
    ]
    text = FORMATS["html"](report)
    assert (tmp_path / "r.html").read_text() == text
    page = Page(text)
    assert sorted(page.links) == sorted(f"#{_anchor(title)}" for title in titles)
    assert all(f'id="{_anchor(title)}"' in text for title in titles)
    assert "script" not in page.tags
    assert "Marks &amp; &lt;more&gt;" in text
    assert "<b>" not in text.replace(f"<b>{report.headline[0]}</b>", "")
    assert text.count('<tr class="marked">') == 1
    assert "thing " in text
    assert ("Groups with the largest errors" in text) == (kind == "named grades")
    assert ("Calibration" in text) == (kind in {"grades", "named grades", "classes"})
    chart = report.sections[3].figures["columns-that-matter"]
    assert chart.index("a &amp; b (+)") < chart.index("&lt;c&gt;")
    assert chart.index("d (\N{MINUS SIGN})") < chart.index("&lt;c&gt;")
