"""The page of charts is what its command writes, from the results that are kept with the code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from benchmarks import charts, report
from benchmarks.__main__ import races

RECORDS = charts.shown(charts.read(charts.PUBLISHED.read_text().splitlines()))
FOLDER = charts.DOCS / "_static" / "benchmarks"
PAGE = charts.DOCS / "benchmarks.md"


def texts(path: Path) -> list[str]:
    """What a chart says; where it says it depends on the version of matplotlib."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text())


def result(date: str, *, race: str = "oap", seconds: float = 2.0, **more: Any) -> dict[str, Any]:
    entrants = [
        {"name": "limit", "ratio": 0.5, "seconds": 1.0, "error": None},
        {"name": "ours", "ratio": 1.0, "seconds": seconds, "error": 0.25},
        {"name": "peer", "ratio": 300.0, "seconds": 600.0, "error": 0.5},
        {"name": "gone", "ratio": None, "seconds": None, "note": "absent (pip install gone)"},
    ]
    machine = {"cpu": "Abacus", "cores": 2, "system": "Linux", "python": "3.11", "libraries": {}}
    groups = {"ours": ["ours"], "limit": "limit", "measure": "error"}
    about = {"race": race, "kind": "race", "date": date, "machine": machine, "threads": 1}
    return {**about, **groups, "entrants": entrants, **more}


def test_the_page_is_what_the_command_writes() -> None:
    assert PAGE.read_text() == charts.page(PAGE.read_text(), RECORDS)


def test_every_chart_of_the_page_is_there_and_no_other() -> None:
    wanted = {f"{charts.stem(r)}-{theme}.svg" for r in RECORDS.values() for theme in charts.THEMES}
    assert {path.name for path in FOLDER.glob("*")} == wanted


@pytest.mark.parametrize("name", ["online_ordinal", "oap-members", "trees_mq2008"])
def test_a_chart_shows_the_published_numbers(name: str, tmp_path: Path) -> None:
    record = next(record for record in RECORDS.values() if charts.stem(record) == name)
    charts.draw(record, "light", tmp_path / "new.svg")
    assert texts(tmp_path / "new.svg") == texts(FOLDER / f"{name}-light.svg")
    assert len(texts(tmp_path / "new.svg")) > 5


def test_the_page_names_the_command_of_a_race() -> None:
    assert (
        charts.command("pair_metrics", growth=True)
        == "`python -m benchmarks pair_metrics --growth`"
    )
    for name, options in {
        "online_ordinal": "",
        "contests_bootstrap_few": " --only bootstrap_few",
        "trees_mq2008": " mq2008",
    }.items():
        module = name if name in races() else name.partition("_")[0]
        assert charts.command(name, growth=False) == f"`python -m benchmarks {module}{options}`"
    found = {
        name if name in races() else name.partition("_")[0]
        for r in charts.SECTIONS.values()
        for name in r
    }
    assert found <= races().keys()


def test_a_section_tells_ratio_quality_limit_absence_and_target() -> None:
    record = result("2026-01-02", targets=[("not met", "ours 2 x limit, target at most 1.5")])
    text = "\n".join(charts.section("One hundred members over graded rows", [record]))
    assert "ours 1 x, error 0.25; peer 300 x, error 0.5; limit, limit: 0.5 x" in text
    assert "Not shown: gone: absent (pip install gone)." in text
    assert "- not met: ours 2 x limit, target at most 1.5" in text
    assert "1 thread, 2026-01-02" in text
    missed = "\n".join(charts.missed_targets([record]))
    assert (
        "- [One hundred members over graded rows](#one-hundred-members-over-graded-rows)" in missed
    )
    assert "Abacus" in "\n".join(charts.measured([record]))


def test_publishing_keeps_the_newest_of_each(tmp_path: Path) -> None:
    results, published = tmp_path / "results", tmp_path / "published.jsonl"
    results.mkdir()
    lines = [result("2026-01-02", seconds=3.0, splits=[1, 2]), result("2026-01-01")]
    lines += [result("2026-01-01", kind="growth", axis=axis) for axis in "md"]
    (results / "oap.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (results / "service.jsonl").write_text('{"date": "2026-01-01"}\n')
    charts.publish(results, published)
    first = published.read_text()
    kept = [json.loads(line) for line in first.splitlines()]
    assert [(r["kind"], r.get("axis")) for r in kept] == [
        ("growth", "d"),
        ("growth", "m"),
        ("race", None),
    ]
    assert kept[-1]["entrants"][1]["seconds"] == 3.0
    assert "splits" not in kept[-1]
    charts.publish(results, published)
    assert published.read_text() == first


def test_numbers_and_ticks_are_short() -> None:
    assert [report.number(v) for v in (None, 0.0123, 12.34, 1234.5, 2e6)] == [
        "-", "0.0123", "12.3", "1,234", "2 M",
    ]  # fmt: skip
    assert [charts.tick(v) for v in (0.01, 1, 1.5, 1e5)] == ["0.01", "1", "1.5", "100,000"]
    assert charts.tick(1e7) == "10 M"
