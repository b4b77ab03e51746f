import io

import pytest
from rich.console import Console

from rankwise.reports import Report, Table
from rankwise.reports.terminal import grids, show

WIDE = Table(
    "Kemeny cost above the best, in percent",
    ["group", "local search", "footrule", "Borda", "Copeland", "MC4", "QuickSort", "20 sorts"],
    [
        ["divided, partial orders of many candidates", *(f"{n}.12345" for n in range(7))],
        ["agreed", *(f"{n}0.5 ± 0.25" for n in range(7))],
    ],
)


def shown(table, width):
    file = io.StringIO()
    show(Report("Title", "", [table], [], {}), Console(file=file, width=width))
    return file.getvalue()


@pytest.mark.parametrize("width", [200, 120, 80, 60, 40, 30])
def test_every_number_is_whole_at_any_width(width):
    text = shown(WIDE, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for row in WIDE.rows:
        for number in row[1:]:
            assert number in text
    for row in WIDE.rows:
        for word in row[0].split():
            assert word in text


def test_a_table_is_in_one_part_if_it_fits():
    assert len(grids(WIDE, Console(width=200))) == 1
    parts = grids(WIDE, Console(width=60))
    assert len(parts) > 1
    assert all(str(part.columns[0].header) == "group" for part in parts)
    assert sum(len(part.columns) - 1 for part in parts) == 7


def test_headers_are_broken_before_the_table_is():
    table = Table("t", ["x", "one two three", "four five six"], [["a", "1", "2"]])
    assert len(grids(table, Console(width=30))) == 1
    assert len(grids(table, Console(width=15))) == 2


def test_names_in_two_columns_are_in_every_part():
    data, methods = ["MovieLens 20-40", "Netflix 32 % (stand-in)"], ["MPRank", "RankBoost by size"]
    cells = [f"{n}.50 ± 0.25" for n in range(7)]
    rows = [[name, method, *cells] for name in data for method in methods]
    table = Table("t", ["data", "method", *(f"measure {n}" for n in range(7))], rows)
    parts = grids(table, Console(width=80))
    assert len(parts) > 2
    assert all([str(c.header) for c in part.columns[:2]] == ["data", "method"] for part in parts)
    text = shown(table, 80)
    assert max(map(len, text.splitlines())) <= 80
    for name in data + methods:
        assert text.count(name) == 2 * len(parts)


def test_small_tables():
    for table in [Table("t", ["only"], [["a"]]), Table("t", ["a", "b"], [])]:
        for width in [80, 5]:
            text = shown(table, width)
            assert "…" not in text
    for width in [80, 10]:
        assert "only a" in " ".join(shown(Table("t", ["only a b c d e"], []), width).split())


def test_a_terminal_narrower_than_a_number_folds_it():
    text = shown(Table("t", ["name", "b"], [["a", "1234567890" * 3]]), 20)
    assert "…" not in text
    assert sum(character.isdigit() for character in text) == 30
