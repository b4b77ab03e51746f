"""Reports of comparisons, and the statistics behind them."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rankwise.comparison import compare
from rankwise.comparison._significance import corrected_interval, corrected_test, holm
from rankwise.reports import FORMATS

RNG = np.random.default_rng(1)


def test_the_corrected_test_is_its_formula():
    values = RNG.normal(0.1, 1, 10)
    share = 0.25
    t = values.mean() / np.sqrt((1 / 10 + share) * values.var(ddof=1))
    assert corrected_test(values, share) == pytest.approx(2 * stats.t.sf(abs(t), 9))
    assert corrected_test(values, 0.0) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    mean, half = corrected_interval(values, 0.0)
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    assert (mean - half, mean + half) == pytest.approx((low, high))
    assert corrected_test(np.zeros(5), share) == 1.0
    assert corrected_test(np.ones(5), share) == 0.0
    assert corrected_test(np.ones(1), share) == 1.0
    assert corrected_interval(np.ones(1), share) == (1.0, np.inf)


def test_holm_is_its_definition():
    pvalues = RNG.uniform(0, 0.3, 7)
    order = np.argsort(pvalues)
    wanted = np.empty(7)
    for place, i in enumerate(order):
        wanted[i] = min(1.0, max((7 - j) * pvalues[order[j]] for j in range(place + 1)))
    np.testing.assert_allclose(holm(pvalues), wanted)


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


def test_of_a_constant_nothing_is_drawn_but_the_methods():
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"a": random.normal(size=60), "mark": np.arange(60) % 3})
    found = compare(frame, methods=["constant", "MPRank"], quick=True)
    found = replace(found, best="constant")
    report = found.report()
    titles = [section.title for section in report.sections]
    wanted = ["How is the figure read?", "What is guaranteed?", "What are the data?"]
    assert titles == [*wanted, "How do I fit it myself?"]
    assert "constant puts" not in " ".join(report.sections[1].text)
    labels = report.figures["which-method-and-how-sure"].axes[0].get_yticklabels()
    bold = [label.get_text() for label in labels if label.get_fontweight() == "bold"]
    assert bold == ["constant"]
    assert "--inches: 5.4" in FORMATS["html"](report)


@pytest.mark.parametrize("kind", ["grades", "named grades", "lists", "sizes"])
def test_a_report_answers_each_question_in_one_file(kind):
    frame = _frame()
    told = {"target": "mark", "name": "who", "ignore": ["list"]}
    if "grades" in kind:
        frame["mark"] = np.digitize(frame["mark"], [-1, 1])
    if kind == "grades":
        frame = frame.drop(columns="who")
        del told["name"]
    if kind == "lists":
        told |= {"query": "list", "ignore": []}
    found = compare(frame, **told, methods=["constant", "best column", "MPRank"], quick=True)
    said = []
    report = found.report("Marks & <more>", progress=said.append)
    assert said == ["which columns matter", "does more data help"]
    titles = [section.title for section in report.sections]
    assert "Where does it err?" in titles
    assert ("What does it see?" if kind == "grades" else "Who is on top?") in titles
    assert titles[-1] == "How do I fit it myself?"
    text = FORMATS["html"](report)
    page = Page(text)
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert len(page.links) == 10
    assert "script" not in page.tags
    assert "Marks &amp; &lt;more&gt;" in text
    assert "<b>" not in text
    effects = report.sections[2].figures["which-columns-matter"].axes[0]
    labels = [label.get_text() for label in effects.get_yticklabels()]
    assert sorted(labels[-2:]) == ["a & b (+)", "d (\N{MINUS SIGN})"]


def test_dark_figures_leave_the_figure_as_it_was():
    from matplotlib.figure import Figure

    from rankwise.reports._formats import _html_figure, png

    figure = Figure(figsize=(2, 2))
    ax = figure.subplots()
    ax.plot([1, 2], color="#2f6fb5")
    ax.plot([2, 1], color="black")
    ax.set_title("title")
    before = png(figure)
    assert _html_figure("name", figure).count("data:image/png") == 2
    assert png(figure) == before
