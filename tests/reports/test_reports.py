"""Reports in all their forms."""

import csv
import json
from html.parser import HTMLParser
from io import StringIO

import pytest

from rankwise.reports import FORMATS, Report, Table

NASTY = "a|b & <c> \\ 50 % _x_ ± 2"


@pytest.fixture
def report():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([1, 3, 2])
    tables = [
        Table("Errors", ["model", "error"], [[NASTY, "0.25"], ["b", "0.5"]]),
        Table("Empty", ["nothing"], []),
    ]
    return Report("Title <1>", "seed 0", tables, ["b & c agree."], {"a-figure": figure})


class Page(HTMLParser):
    """Collects the cells, and every address that a browser would ask for."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.addresses, self.tags = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in {"src", "href"}]

    def handle_data(self, data):
        if self.tags[-1:] in (["th"], ["td"]) and data.strip():
            self.cells.append(data)


def test_html_is_one_file_that_asks_for_nothing(report):
    page = Page(FORMATS["html"](report))
    assert page.cells == ["model", "error", NASTY, "0.25", "b", "0.5", "nothing"]
    assert page.addresses == []
    assert page.tags.count("svg") == 1
    assert "script" not in page.tags
    for word in ("viewport", "prefers-color-scheme: dark", "@media print"):
        assert word in FORMATS["html"](report)


def test_html_links_the_rows_that_begin_with_a_name():
    long = "a sentence that is so long that it may be broken into lines"
    table = Table("All", ["name", "kind", "n", "ours", "why"], [
        ["x<", "word", "1", long, long], ["y", "-", "2", "short", long]
    ])  # fmt: skip
    links = {"x<": "x/report.html", "z": "z/report.html"}
    text = FORMATS["html"](Report("T", "S", [table], [], {}, links=links))
    page = Page(text)
    assert page.addresses == ["z/report.html", "x/report.html"]
    assert (
        '<td class="word" data-name="name"><a href="x/report.html">x&lt;</a></td>'
        '<td class="word" data-name="kind">word</td><td data-name="n">1</td>'
    ) in text
    assert f'<td class="text" data-name="ours">{long}</td>' in text
    assert '<th scope="col" class="word">kind</th><th scope="col">n</th>' in text
    assert '<table class="said">' in text
    assert "<ul>" not in FORMATS["html"](Report("T", "S", [table], [], {}))


def test_a_table_that_ends_with_sentences_is_stacked_on_a_phone():
    long = "a sentence that is so long that it may be broken into lines"
    ends = Table("", ["row", "score", "moved by"], [["a", "1.5", long]])
    begins = Table("", ["row", "said", "score"], [["a", long, "1.5"]])
    text = FORMATS["html"](Report("T", "S", [ends], [], {}))
    assert '<table class="said">' in text
    assert '<td data-name="score">1.5</td>' in text
    text = FORMATS["html"](Report("T", "S", [begins], [], {}))
    assert "<table>" in text
    assert "data-name=" not in text


def test_csv_and_json_hold_the_numbers(report):
    rows = list(csv.reader(StringIO(FORMATS["csv"](report))))
    assert rows[:3] == [
        ["table", "model", "error"],
        ["Errors", NASTY, "0.25"],
        ["Errors", "b", "0.5"],
    ]
    content = json.loads(FORMATS["json"](report))
    assert content["tables"][0]["rows"] == [[NASTY, "0.25"], ["b", "0.5"]]
    assert content["figures"] == ["a-figure"]


def test_markdown_and_latex_escape_what_they_must(report):
    assert "| a\\|b & <c>" in FORMATS["md"](report)
    assert "![a-figure](a-figure.png)" in FORMATS["md"](report)
    latex = FORMATS["tex"](report)
    assert r"a|b \& $<$c$>$ \textbackslash{} 50 \% \_x\_ $\pm$ 2 & 0.25 \\" in latex
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == 2


def test_saving_writes_every_form_and_the_figures(report, tmp_path):
    paths = report.save(tmp_path / "new", list(FORMATS))
    assert [path.name for path in paths] == [
        "a-figure.png", *(f"report.{name}" for name in FORMATS)
    ]  # fmt: skip
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(p.name for p in paths)
    with pytest.raises(ValueError, match="docx"):
        report.save(tmp_path / "other", ["docx"])
    assert not (tmp_path / "other").exists()


def test_a_row_has_a_cell_for_each_column():
    with pytest.raises(ValueError, match="row 1 of the table 'T' has 1 cells for 2 columns"):
        Table("T", ["a", "b"], [["1", "2"], ["3"]])
