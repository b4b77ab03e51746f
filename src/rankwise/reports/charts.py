"""Charts as SVG that is put into a page: readable on a phone, in light, dark and print.

Each function returns a `Svg`, a string. Axes and text have the colour of the page's text, marks the
variables ``--blue``, ``--orange`` and ``--grey`` of its style, with a value for files of their own.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from rankwise.reports._formats import Svg as Svg  # noqa: PLC0414

BLUE, ORANGE, GREY = "var(--blue, #2f6fb5)", "var(--orange, #c96a12)", "var(--grey, #8a8f98)"
_WIDTH, _SIZE, _ROW, _EDGE = 460, 13, 22, 8
_LONGEST = 26


class Interval(NamedTuple):
    """A row of a chart of intervals: a name, a value, its ends, and a colour."""

    name: str
    value: float
    low: float
    high: float
    color: str = BLUE
    hollow: bool = False


class Series(NamedTuple):
    """Points of a chart, as dots, or as a line with a band around it if that has values."""

    x: Any
    y: Any
    color: str = BLUE
    line: bool = False
    band: Any = None


def intervals(rows: Sequence[Interval], label: str, *, zero: bool = False) -> Svg:
    """Draw a value with its interval for each row, the first at the top.

    Parameters
    ----------
    rows : sequence of Interval
        What to draw; ends that are not finite are left out.
    label : str
        Of the axis.
    zero : bool, default=False
        Whether zero is marked and on the axis.
    """
    ends = [v for row in rows for v in (row.value, row.low, row.high) if math.isfinite(v)]
    scale = _Scale([*ends, *([0.0] if zero else [])])
    left = _EDGE + max((text_width(_short(row.name)) for row in rows), default=0) + 10
    height = _ROW * len(rows) + 4
    axis = _Axis(scale, left, _WIDTH - 14)
    parts = [_vertical(axis, height, label)]
    if zero:
        parts.append(_line(axis(0), 0, axis(0), height, 'stroke="currentColor" opacity=".6"'))
    for place, row in enumerate(rows):
        y = _ROW * place + _ROW / 2
        parts.append(_text(left - 10, y + 4, _short(row.name), "end", row.name))
        stroke = f'stroke="{row.color}" stroke-width="2"'
        if math.isfinite(row.low) and math.isfinite(row.high):
            parts.append(_line(axis(row.low), y, axis(row.high), y, stroke))
        fill = "var(--page, #fff)" if row.hollow else row.color
        parts.append(
            f'<circle cx="{axis(row.value):.1f}" cy="{y}" r="4.5" fill="{fill}" {stroke}/>'
        )
    return _svg(parts, height + 42)


def plot(
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    diagonal: bool = False,
    log: bool = False,
) -> Svg:
    """Draw points and lines.

    Parameters
    ----------
    series : sequence of Series
        What to draw.
    x_label, y_label : str
        Of the axes; that of y stands above it.
    diagonal : bool, default=False
        Whether y = x is drawn.
    log : bool, default=False
        Whether x is on a logarithmic scale, with a tick for each value of the first series.
    """
    xs = np.concatenate([np.asarray(one.x, float) for one in series])
    ys = [np.asarray(one.y, float) for one in series]
    ys += [np.asarray(one.y) + sign * np.asarray(one.band) for one in series for sign in (-1, 1)
           if one.band is not None]  # fmt: skip
    both = np.concatenate([xs, *ys]) if diagonal else None
    vertical = _Scale(np.concatenate(ys) if both is None else both)
    top, height = 24, 230
    left = _EDGE + max(text_width(tick) for tick in vertical.names) + 8
    y_axis = _Axis(vertical, top + height, top)
    ticks = np.unique(np.asarray(series[0].x, float)) if log else None
    x_axis = _Axis(_Scale(xs if both is None else both, log=log, ticks=ticks), left, _WIDTH - 24)
    parts = [_text(_EDGE, 12, y_label), _vertical(x_axis, height, x_label, top)]
    for value, name in zip(vertical.ticks, vertical.names, strict=True):
        parts.append(_text(left - 8, y_axis(value) + 4, name, "end"))
        parts.append(_line(left, y_axis(value), _WIDTH - 24, y_axis(value), _GRID))
    if diagonal:
        low, high = vertical.ticks[0], vertical.ticks[-1]
        dashes = 'stroke="currentColor" opacity=".5" stroke-dasharray="4 4"'
        parts.append(_line(x_axis(low), y_axis(low), x_axis(high), y_axis(high), dashes))
    for one in series:
        places = [(x_axis(x), y_axis(y)) for x, y in zip(one.x, one.y, strict=True)]
        if one.line and one.band is not None:
            upper = [
                (x_axis(x), y_axis(y + b)) for x, y, b in zip(one.x, one.y, one.band, strict=True)
            ]
            lower = [
                (x_axis(x), y_axis(y - b)) for x, y, b in zip(one.x, one.y, one.band, strict=True)
            ]
            outline = _points([*upper, *lower[::-1]])
            parts.append(f'<polygon points="{outline}" fill="{one.color}" opacity=".18"/>')
        if one.line:
            stroke = f'fill="none" stroke="{one.color}" stroke-width="2"'
            parts.append(f'<polyline points="{_points(places)}" {stroke}/>')
        radius, opacity = (3.5, 1) if one.line else (2.2, 0.4)
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in places)
        parts.append(f'<g fill="{one.color}" opacity="{opacity}">{dots}</g>')
    return _svg(parts, top + height + 42)


def matrix(labels: Sequence[Any], shares: Any, x_label: str, y_label: str) -> Svg:
    """Draw a square table of percentages, darker where they are larger."""
    names = [_short(str(label), 12) for label in labels]
    k = len(names)
    left = _EDGE + max(text_width(name) for name in names) + 10
    width = (_WIDTH - left - 14) / k
    tall = max(24.0, min(width, 40.0))
    parts = [_text(_EDGE, 12, y_label)]
    turn = max(text_width(name) for name in names) > width - 4
    for i, name in enumerate(names):
        y = 20 + tall * i
        parts.append(_text(left - 8, y + tall / 2 + 4, name, "end", str(labels[i])))
        for j in range(k):
            share, x = float(shares[i][j]), left + width * j
            box = f'x="{x:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{tall - 2:.1f}" rx="3"'
            parts.append(f'<rect {box} fill="{BLUE}" opacity="{0.04 + 0.66 * share:.2f}"/>')
            if share >= 0.005:
                parts.append(
                    _text(x + width / 2 - 1, y + tall / 2 + 4, f"{100 * share:.0f}", "middle")
                )
    bottom = 20 + tall * k + 16
    step = math.ceil(max(map(text_width, names)) / width) if turn else 1
    parts += [
        _text(left + width * (j + 0.5) - 1, bottom, names[j], "middle") for j in range(0, k, step)
    ]
    parts.append(_text(left + width * k / 2, bottom + 22, x_label, "middle"))
    return _svg(parts, bottom + 32)


def histogram(counts: Sequence[int]) -> Svg:
    """Draw counts as small bars, for a cell of a table."""
    most = max([*counts, 1])
    bars = "".join(
        f'<rect x="{7 * i}" y="{20 - 20 * n / most:.1f}" width="6" height="{20 * n / most:.1f}"/>'
        for i, n in enumerate(counts)
    )
    return Svg(
        f'<svg class="small" viewBox="0 0 {7 * len(counts)} 20" width="{7 * len(counts)}" '
        f'height="20" aria-hidden="true"><g fill="{BLUE}">{bars}</g></svg>'
    )


def text_width(text: str) -> float:
    """Return about how wide a text is, rather too wide: fonts differ."""
    return sum(
        _SIZE
        * (1.05 if ord(c) > 0x2E80 else 0.95 if c in "mwMW@%" else 0.75 if c.isupper() else 0.6)
        for c in text
    )


_GRID = 'stroke="currentColor" opacity=".15"'


class _Scale:
    """Values and round ticks that enclose them."""

    def __init__(self, values: Any, *, log: bool = False, ticks: Any = None) -> None:
        known = np.asarray(values, float)
        known = known[np.isfinite(known)]
        low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
        if low == high:
            low, high = low - 0.5, high + 0.5
        self.log, digits = log, 0
        if ticks is None:
            step = 10 ** math.floor(math.log10((high - low) / 4))
            step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= 5)
            ticks = step * np.arange(math.floor(low / step), math.ceil(high / step - 1e-9) + 1)
            digits = max(0, -math.floor(math.log10(step) + 1e-9))
        self.ticks = [float(tick) + 0.0 for tick in ticks]
        large = max(abs(tick) for tick in self.ticks) >= 1e6
        self.names = [f"{t:.3g}" if large else f"{t:,.{digits}f}" for t in self.ticks]

    def share(self, value: float) -> float:
        """Return where a value is between the first and the last tick."""
        low, high = self.ticks[0], self.ticks[-1]
        if self.log:
            return math.log(value / low) / (math.log(high / low) or 1.0)
        return (value - low) / (high - low)


class _Axis:
    """The coordinates of a scale between two ends."""

    def __init__(self, scale: _Scale, start: float, end: float) -> None:
        self.scale, self.start, self.end = scale, start, end

    def __call__(self, value: float) -> float:
        return self.start + self.scale.share(value) * (self.end - self.start)


def _vertical(axis: _Axis, height: float, label: str, top: float = 0.0) -> str:
    """Return an axis at the bottom: lines up from its ticks, names of those that fit, a label."""
    parts, free = [], -math.inf
    for value, name in zip(axis.scale.ticks, axis.scale.names, strict=True):
        x, half = axis(value), text_width(name) / 2
        parts.append(_line(x, top, x, top + height, _GRID))
        if x - half >= free:
            parts.append(_text(min(x, _WIDTH - half), top + height + 16, name, "middle"))
            free = x + half + 6
    middle = min(
        max((axis.start + axis.end) / 2, text_width(label) / 2), _WIDTH - text_width(label) / 2
    )
    return "".join([*parts, _text(middle, top + height + 36, label, "middle")])


def _text(x: float, y: float, text: str, anchor: str = "start", title: str = "") -> str:
    more = f"<title>{escape(title)}</title>" if title not in {"", text} else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}{more}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _svg(parts: Sequence[str], height: float) -> Svg:
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'font-size="{_SIZE}" font-family="system-ui, sans-serif" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )
