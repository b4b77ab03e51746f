"""The charts of ``docs/benchmarks.md``: ``python -m benchmarks charts [--newest]``.

They are drawn from ``benchmarks/published.jsonl``, the newest result of each benchmark and growth
curve, between two markers of the page; the text around them is written by hand. With ``--newest``,
later results of ``benchmarks/results`` are copied to that file first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks import report
from benchmarks.__main__ import races

PUBLISHED = Path(__file__).parent / "published.jsonl"
DOCS = Path(__file__).parents[1] / "docs"
BEGIN = "<!-- charts: written by python -m benchmarks charts -->"
END = "<!-- end of charts -->"

Record = dict[str, Any]
Key = tuple[str, str, str]

# The sections of the page, and the title of each benchmark.
SECTIONS = {
    "Grades, row by row": {
        "online_ordinal": "One pass over graded rows",
        "oap": "One hundred members over graded rows",
        "kernel": "A stream with a Gaussian kernel",
    },
    "Ratings": {"magnitude": "Ratings with a Gaussian kernel"},
    "Pairs and queries": {
        "ranksvm": "Support vector ranking, all pairs",
        "queries": "Queries of twenty rows",
        "bipartite": "One hundred rounds of boosted stumps",
        "threads": "Boosting by two threads",
        "trees_mq2008": "Ranking trees on LETOR MQ2008",
        "trees_generated": "Ranking trees on generated queries",
        "top": "The top of the list",
    },
    "Measures": {
        "pair_metrics": "Measures over all pairs and lists",
        "auc": "AUC and its intervals",
    },
    "Comparators and contests": {
        "preference": "A million items by a comparator",
        "contests_codes": "Strengths from ten million contests",
        "contests_texts": "The same, players given as texts",
        "contests_raters": "Raters, some of them random",
        "contests_bootstrap_many": "Bootstrap of 200,000 contests",
        "contests_bootstrap_some": "Bootstrap of 20,000 contests",
        "contests_bootstrap_few": "Bootstrap of 2,000 contests",
    },
    "Several rankings": {
        "aggregation_exact": "Fifty candidates, with a proof",
        "aggregation_larger": "Two hundred candidates",
        "aggregation_local": "Five hundred candidates",
    },
    "People who rate films": {
        "recommend_1m": "MovieLens-1M",
        "recommend_100k": "MovieLens-100K",
    },
    "Files": {
        "readers_movielens": "Reading MovieLens-1M",
        "readers_letor": "Reading LETOR MQ2008",
        "readers_book_crossing": "Reading Book-Crossing",
        "persistence_save": "Saving a model of 10 MB",
        "persistence_load": "Loading a model of 10 MB",
    },
}
# The options of a part of a benchmark, where not --only.
PARTS = {"trees": "{}", "recommend": "--what rating --data {}"}
# The axes of growth in order; without one it is the race itself.
AXES = {
    "": "",
    "m": "rows",
    "d": "features",
    "k": "grades",
    "n": "items",
    "members": "members",
    "rounds": "rounds",
}

# Text, ours, others, grid; on the page's own background.
THEMES = {
    "light": ("#222832", "#0a6ebd", "#b8631b", "#d5d9de"),
    "dark": ("#e3e6ea", "#64b5f6", "#f0a35e", "#3d444d"),
}
STYLE: Any = {
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "rankwise",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
}
# Inches: narrow enough for a phone to show the text hardly smaller.
WIDTH = 4.4
# Of ours in growth curves, to be told apart on both backgrounds.
COLORS = ("#2f86d6", "#2a9d62", "#9a63dd", "#dd5593", "#2fa3b5", "#8a9530")
MARKERS, LINES = "osD^vP*Xhd<>", ("-", "--", ":", "-.")


def key_of(record: Record) -> Key:
    """What a newer result takes the place of."""
    return record["race"], record["kind"], record.get("axis", "")


def read(lines: Iterable[str]) -> dict[Key, Record]:
    """Return the newest record of each race and growth curve."""
    records: dict[Key, Record] = {}
    for line in lines:
        record = json.loads(line)
        old = records.get(key_of(record))
        if old is None or record["date"] >= old["date"]:
            records[key_of(record)] = record
    return dict(sorted(records.items()))


def publish(results: Path, published: Path) -> None:
    """Take over what is newer in the folder of results; races of changed sizes stay there."""
    lines = published.read_text().splitlines() if published.exists() else []
    for path in sorted(results.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = {"race": path.stem, **json.loads(line)}
            record.pop("splits", None)
            if "kind" in record:
                lines.append(json.dumps(record))
    kept = read(lines).values()
    published.write_text("".join(json.dumps(record) + "\n" for record in kept))


def bars(record: Record, theme: str) -> Figure:
    """Time of each entrant over that of the first of ours, with the limit as a line."""
    text, ours_color, peer_color, grid = THEMES[theme]
    limit, shown = split(record)
    ratios = [each["ratio"] for each in shown]
    low = min([1.0, *ratios, *([limit["ratio"]] if limit else [])]) / 1.3
    high = max([1.0, *ratios, *([limit["ratio"]] if limit else [])]) * 1.3
    height = 0.42 * len(shown) + 1.0
    figure = Figure((WIDTH, height))
    axes = figure.add_axes((0.03, 0.65 / height, 0.92, 1 - 0.9 / height))
    named: dict[str, Any] = {"va": "bottom", "color": text, "transform": axes.get_yaxis_transform()}
    axes.text(1, -0.75, f"time, {record['measure']}", ha="right", style="italic", **named)
    for place, each in enumerate(shown):
        color = ours_color if each["name"] in record["ours"] else peer_color
        axes.barh(place, each["ratio"] - 1, left=1, height=0.32, color=color)
        axes.vlines([1, each["ratio"]], place - 0.16, place + 0.16, color=color, linewidth=2)
        if limit:
            axes.vlines(limit["ratio"], place - 0.2, place + 0.24, color=text, linewidth=1.6)
        axes.text(0, place - 0.2, each["name"], **named)
        axes.text(1, place - 0.2, values(each), ha="right", **named)
    axes.set(xscale="log", xlim=(low, high), ylim=(len(shown) - 0.6, -0.8), yticks=[])
    said = f"\n| limit: {limit['name']}" if limit else ""
    axes.set_xlabel(f"time over that of {reference(record)}{said}")
    wide = high / low
    ticks = (1,) if wide > 100 else (1, 2, 5) if wide > 5 else (1, 1.5, 2, 3, 5, 7)
    axes.xaxis.set_major_locator(LogLocator(10, ticks, numticks=12))
    dress(axes, text, grid)
    return figure


def curves(record: Record, theme: str) -> Figure:
    """Seconds against the axis, both in powers, with the exponents in the legend."""
    text, _, peer_color, grid = THEMES[theme]
    known = [each for each in record["entrants"] if any(each["seconds"])]
    height = 2.95 + 0.19 * len(known)
    figure = Figure((WIDTH, height))
    axes = figure.add_axes((0.17, (0.6 + 0.19 * len(known)) / height, 0.78, 2.25 / height))
    for place, each in enumerate(known):
        peer, limit = each["name"] not in record["ours"], each["name"] == record["limit"]
        axes.plot(
            record["values"],
            [seconds or float("nan") for seconds in each["seconds"]],
            color=text if limit else peer_color if peer else COLORS[place % len(COLORS)],
            marker=MARKERS[place % len(MARKERS)],
            linestyle=LINES[place % len(LINES)],
            markersize=5,
            label=f"{each['name']}: {each['exponent']:.2f}",
        )
    axes.set(xscale="log", yscale="log", ylabel="seconds")
    axes.set_xlabel(AXES[record["axis"]])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    dress(axes, text, grid)
    legend = figure.legend(loc="lower left", bbox_to_anchor=(0.1, 0), frameon=False)
    for label in legend.get_texts():
        label.set_color(text)
    return figure


def tick(value: float, _place: int | None = None) -> str:
    """Write a power of ten."""
    if value >= 1e6:
        return f"{value / 1e6:,.0f} M"
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def dress(axes: Any, text: str, grid: str) -> None:
    """Colour what is around the data, and write numbers as people do."""
    axes.patch.set_alpha(0)
    axes.xaxis.set_major_formatter(FuncFormatter(tick))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(colors=text, which="both")
    axes.xaxis.label.set_color(text)
    axes.yaxis.label.set_color(text)
    axes.grid(axis="x", color=grid, linewidth=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set(color=grid, visible=side in ("bottom", "left"))


def split(record: Record) -> tuple[Record | None, list[Record]]:
    """Return the limit, if it was timed, and all others that were."""
    timed = [each for each in record["entrants"] if each.get("ratio")]
    limit = next((each for each in timed if each["name"] == record.get("limit")), None)
    return limit, [each for each in timed if each is not limit]


def reference(record: Record) -> str:
    """Name the entrant whose time is 1."""
    return str(record["ours"][0])


def values(each: Record, measure: str = "") -> str:
    """Write the ratio and the quality, such as ``9.2 x, 0.37``."""
    quality = "" if each.get("error") is None else f", {measure}{report.number(each['error'])}"
    return f"{report.number(each['ratio'])} x{quality}"


def page(text: str, records: dict[Key, Record]) -> str:
    """Write the charts between the markers of a page."""
    lines = [*measured(list(records.values())), ""]
    for section_title, titles in SECTIONS.items():
        body: list[str] = []
        for name, title in titles.items():
            results = [record for key, record in records.items() if key[0] == name]
            if results:
                body += section(title, results)
        if body:
            lines += [f"## {section_title}", "", *body]
    lines += missed_targets(list(records.values()))
    before, _, rest = text.partition(f"{BEGIN}\n")
    after = rest.partition(f"{END}\n")[2]
    return f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n{END}\n{after}"


def measured(records: list[Record]) -> list[str]:
    """Write dates, machines and versions."""
    machines = {
        json.dumps({**each["machine"], "libraries": 0}): each["machine"] for each in records
    }
    shown = [
        f"{each['cores']} cores, {each['cpu']}, {each['system']}, Python {each['python']}"
        for each in machines.values()
    ]
    versions: dict[str, set[str]] = {}
    for each in records:
        for library, version in each["machine"]["libraries"].items():
            if version:
                versions.setdefault(library, set()).add(version)
    listed = ", ".join(
        f"{library} {' and '.join(sorted(v))}" for library, v in sorted(versions.items())
    )
    dates = sorted(each["date"][:10] for each in records)
    period = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    return [
        f"Measured {period} on {'; '.join(shown)}.",
        "",
        *folded("Versions", [f"{listed}."]),
    ]


def missed_targets(records: list[Record]) -> list[str]:
    """List the targets that the published results miss."""
    missed = [
        f"- [{title}](#{anchor(title)}): {line}"
        for titles in SECTIONS.values()
        for name, title in titles.items()
        for each in records
        if each["race"] == name
        for verdict, line in each.get("targets", [])
        if verdict == "not met"
    ]
    return ["## Missed targets", "", *(missed or ["All targets are met."]), ""]


def folded(title: str, lines: list[str]) -> list[str]:
    """Fold lines under a title; headings cannot be folded."""
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]


def command(name: str, *, growth: bool) -> str:
    """Write the command that runs a race."""
    module, _, part = (name, "", "") if name in races() else name.partition("_")
    options = "--growth" if growth else PARTS.get(module, "--only {}").format(part) if part else ""
    return f"`python -m benchmarks {module} {options}".strip() + "`"


def section(title: str, records: list[Record]) -> list[str]:
    """Write a benchmark: its chart, the slopes of its growth curves, and the rest folded."""
    records = sorted(records, key=lambda each: list(AXES).index(each.get("axis", "")))
    lines, details, growth = [f"### {title}", ""], [], []
    for record in records:
        if record["kind"] == "growth":
            run = command(record["race"], growth=True)
            axis = AXES[record["axis"]]
            first = next(each for each in record["entrants"] if each["name"] == reference(record))
            growth.append(f"{first['exponent']:.2f} in {axis}")
            details += [
                f"Growth in {axis}{fixed(record['fixed'])}, {run}, {conditions(record)}.",
                "",
            ]
            details += images(record, f"Seconds against {axis}, with slopes: {slopes(record)}")
        else:
            run = command(record["race"], growth=False)
            lines += images(record, summary(record))
            details += [f"{run}{fixed(record.get('sizes', {}))}, {conditions(record)}.", ""]
            notes = [f"{e['name']}: {e['note']}" for e in record["entrants"] if e.get("note")]
            if notes:
                details += [f"Not shown: {'; '.join(notes)}.", ""]
            targets = [f"- {verdict}: {line}" for verdict, line in record.get("targets", [])]
            details += [*targets, ""] if targets else []
    if growth:
        lines += [f"Slopes of {reference(records[0])}: {', '.join(growth)}.", ""]
    name = "Command, sizes and targets" + (", growth curves" if growth else "")
    return lines + folded(name, details[:-1])


def conditions(record: Record) -> str:
    """Write the threads, the date and what else the machine did."""
    threads = record["threads"] or 1
    note = f" ({record['note']})" if record.get("note") else ""
    return f"{threads} thread{'s' * (threads > 1)}, {record['date'][:10]}{note}"


def slopes(record: Record) -> str:
    """Write the fitted exponent of each entrant."""
    timed = [each for each in record["entrants"] if any(each["seconds"])]
    return ", ".join(f"{each['name']} {each['exponent']:.2f}" for each in timed)


def summary(record: Record) -> str:
    """Describe a chart of times in words."""
    limit, shown = split(record)
    text = "; ".join(f"{each['name']} {values(each, record['measure'] + ' ')}" for each in shown)
    text = f"Times of {reference(record)}: {text}"
    return text + (f"; limit, {limit['name']}: {report.number(limit['ratio'])} x" if limit else "")


def images(record: Record, alt: str) -> list[str]:
    """Show the chart that goes with the theme of the site."""
    lines = []
    for theme in THEMES:
        path = f"_static/benchmarks/{stem(record)}-{theme}.svg"
        lines += [f"```{{image}} {path}", f":class: only-{theme}", f":alt: {alt}", "```", ""]
    return lines


def stem(record: Record) -> str:
    """Name the file of a chart."""
    return "-".join(part for part in (record["race"], record.get("axis", "")) if part)


def fixed(sizes: dict[str, Any]) -> str:
    """Write the sizes behind a comma."""
    listed = (
        f"{k} = {v:,}" if isinstance(v, int) else f"{k} = {v}"
        for k, v in sizes.items()
        if k != "seed"
    )
    return "".join(f", {each}" for each in listed)


def anchor(title: str) -> str:
    """Make the anchor of a heading as the site does."""
    return title.lower().replace(",", "").replace(" ", "-")


def draw(record: Record, theme: str, path: Path) -> None:
    """Write one chart."""
    with mpl.rc_context(STYLE):
        figure = (curves if record["kind"] == "growth" else bars)(record, theme)
        figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})


def shown(records: dict[Key, Record]) -> dict[Key, Record]:
    """Keep what the page has a place for."""
    races = {name for titles in SECTIONS.values() for name in titles}
    return {
        key: r for key, r in records.items() if key[0] in races and key[1] in ("race", "growth")
    }


def main(arguments: Sequence[str]) -> int:
    """Draw the charts and write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks charts", description=__doc__)
    parser.add_argument("--newest", action="store_true", help="take over newer results first")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the documentation")
    options = parser.parse_args(arguments)
    if options.newest:
        publish(report.RESULTS, PUBLISHED)
    records = shown(read(PUBLISHED.read_text().splitlines()))
    folder = options.docs / "_static" / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.svg"):
        path.unlink()
    for record in records.values():
        for theme in THEMES:
            draw(record, theme, folder / f"{stem(record)}-{theme}.svg")
    path = options.docs / "benchmarks.md"
    path.write_text(page(path.read_text(), records))
    report.console.print(f"{len(records)} charts in {folder}, and {path}")
    return 0
