"""Charts: everything within the picture, and what is drawn."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from rankwise.reports import FORMATS, Report, Section, Table
from rankwise.reports.charts import (
    Interval,
    Series,
    Svg,
    histogram,
    intervals,
    matrix,
    plot,
    text_width,
)

LONG = "a very long name of a column WITH CAPITALS & <marks>"
RNG = np.random.default_rng(0)
CHARTS = {
    "intervals": intervals(
        [Interval(LONG, 0.5, 0.1, 0.9), Interval("b", -3e-5, -np.inf, np.inf, hollow=True)], "MAE"
    ),
    "alike": intervals([Interval("b", 2.0, 2.0, 2.0)], LONG[:40], zero=True),
    "large": intervals([Interval("b", 2.5e9, 1e9, 3e9), Interval("c", -1e9, -2e9, 0)], "x"),
    "points": plot([Series(RNG.normal(size=50) * 1e4, RNG.normal(size=50))], "x", "y"),
    "line": plot(
        [Series([20, 40, 80], [0.1, 0.2, 0.3], line=True, band=[0.1] * 3)], "n", "y", log=True
    ),
    "diagonal": plot([Series([0.1, 0.9], [0.2, 0.7], line=True)], "p", "share", diagonal=True),
    "matrix": matrix(["strongly disagree", 2, "agree"], np.eye(3), "predicted", "true"),
    "many": matrix(list(range(100, 118)), np.full((18, 18), 1 / 18), "predicted", "true"),
}


@pytest.mark.parametrize("name", CHARTS)
def test_nothing_lies_outside_of_a_chart(name):
    chart = ElementTree.fromstring(CHARTS[name])  # noqa: S314
    width, height = map(float, chart.get("viewBox").split()[2:])
    for part in chart.iter():
        for key, most in (("x", width), ("y", height), ("x1", width), ("x2", width), ("cx", width),
                          ("cy", height), ("y1", height), ("y2", height)):  # fmt: skip
            if part.get(key) is not None:
                assert -0.01 <= float(part.get(key)) <= most + 0.01
        if part.tag.endswith("text"):
            size = text_width(part.text) * {"middle": 0.5}.get(part.get("text-anchor"), 1)
            left = 0 if part.get("text-anchor") == "start" else size
            right = 0 if part.get("text-anchor") == "end" else size
            assert left - 1 <= float(part.get("x")) <= width - right + 1, part.text


def test_intervals_and_small_histograms():
    chart = CHARTS["intervals"]
    assert "<title>a very long name" in chart
    assert chart.count("<circle") == 2
    assert "var(--page, #fff)" in chart
    heights = re.findall(r'height="([0-9.]+)"/>', histogram([0, 5, 10]))
    assert heights == ["0.0", "10.0", "20.0"]


def test_charts_are_drawn_in_pages_and_left_out_elsewhere(tmp_path):
    table = Table("T", ["a", "b"], [["x", histogram([1, 2])], ["y", histogram([2, 1])]], marked=1)
    report = Report(
        "R", "", [table], [], {"f": CHARTS["line"]}, sections=[Section("S <1>", figures={})],
        headline=("0.3", "of <all>"),
    )  # fmt: skip
    page = FORMATS["html"](report)
    assert page.count("<svg") == 3
    assert 'id="s-1"' in page
    assert "<b>0.3</b><span>of &lt;all&gt;</span>" in page
    assert '<tr class="marked"><td class="word">y</td>' in page
    text = FORMATS["md"](report)
    assert "| **y** | **** |" not in text
    assert "![f](f.svg)" in text
    assert "svg" not in FORMATS["json"](report)
    assert [path.name for path in report.save(tmp_path, ["md"])] == ["f.svg", "report.md"]
    assert (tmp_path / "f.svg").read_text() == CHARTS["line"]
    assert isinstance(CHARTS["line"], Svg)
