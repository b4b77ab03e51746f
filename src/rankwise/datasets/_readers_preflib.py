"""PrefLib: elections as orders with counts."""

import re
from collections import Counter
from typing import Any

import numpy as np

from rankwise._core.arguments import check_flag
from rankwise.io.files import BadRows, PathLike, clean, decode, read_source

TYPES = ("soc", "soi", "toc", "toi")

_COUNT = re.compile("[0-9]{1,15}")
_PARTS = re.compile(r",(?![^{]*\})")  # a comma that is not in a tie
_PLACE = re.compile(r"\s*(?:([0-9]{1,9})|\{(.*)\})\s*", re.ASCII)
_ITEM = re.compile(r"\s*[0-9]{1,9}\s*", re.ASCII)
_BYTES = 2**30

Order = list[Any]


def read_preflib(
    path: PathLike, *, names: bool = True, return_counts: bool = False, on_bad_rows: str = "raise"
) -> Any:
    """Read the orders of an election.

    Parameters
    ----------
    path : path
        A ``.soc``, ``.soi``, ``.toc`` or ``.toi`` file (strict or with ties, complete or not), also
        within gzip or alone in a zip archive.
    names : bool, default=True
        Whether alternatives appear as their names, or as their numbers from 1.
    return_counts : bool, default=False
        Whether to return every order once, and how often it was cast.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether an order that can't be read is an error, or is skipped; then a warning says how
        many.

    Returns
    -------
    orders : list of list
        Best first, ties as tuples. One for each voter, unless counts are asked for. Orders with a
        count of 0, which some files list, are those of no voter and left out.
    counts : ndarray of int64
        With ``return_counts`` only.

    Raises
    ------
    ValueError
        With file, line and reason: no such alternative, one that occurs twice in an order, a tie
        or an incomplete order where the type of the file has none, a count that is not a number,
        totals that differ from those of the header, two alternatives of one name, the format of
        before 2022, more voters than fit into a gigabyte without counts, an empty or binary
        file.

    References
    ----------
    N. Mattei and T. Walsh, PrefLib: A Library for Preferences, ADT 2013; https://preflib.org.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_preflib
    >>> text = '''# DATA TYPE: toc
    ... # NUMBER ALTERNATIVES: 3
    ... # NUMBER VOTERS: 3
    ... # ALTERNATIVE NAME 1: ash
    ... # ALTERNATIVE NAME 2: oak
    ... # ALTERNATIVE NAME 3: elm
    ... 2: 3,{1,2}
    ... 1: 1,2,3
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trees.toc"
    ...     _ = path.write_text(text)
    ...     print(read_preflib(path))
    ...     print(read_preflib(path, names=False, return_counts=True))
    [['elm', ('ash', 'oak')], ['elm', ('ash', 'oak')], ['ash', 'oak', 'elm']]
    ([[3, (1, 2)], [1, 2, 3]], array([2, 1]))
    """
    check_flag(names, "names")
    check_flag(return_counts, "return_counts")
    source = clean(read_source(path))
    bad = BadRows(source, on_bad_rows)
    lines = decode(source).rstrip("\n").split("\n")
    header, called = _header(lines, source.label, names)
    kind = _kind(header, source.label)
    orders: list[Order] = []
    counts: list[int] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or not line.strip():
            continue
        try:
            count, order = _order(line, len(called), kind)
        except ValueError as error:
            bad.refuse(number, str(error))
            continue
        counts.append(count)
        orders.append([_renamed(place, called) for place in order])
    bad.finish(sum(map(bool, counts)), "orders")
    _check_totals(header, counts, len(lines), bad)
    orders = [order for order, count in zip(orders, counts, strict=True) if count]
    counts = [count for count in counts if count]
    if return_counts:
        return orders, np.array(counts)
    # a list takes some 64 bytes, and 8 for each place
    if sum(count * (64 + 8 * len(o)) for o, count in zip(orders, counts, strict=True)) > _BYTES:
        raise ValueError(f"{bad.label}:1: {sum(counts)} voters; pass return_counts=True")
    return [list(o) for o, count in zip(orders, counts, strict=True) for _ in range(count)]


def _header(lines: list[str], label: str, names: bool) -> tuple[dict[str, Any], list[Any]]:
    """Return the header, each value with its line, and the alternatives as they are to appear."""
    header: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        if not line.startswith("#"):
            continue
        key, colon, value = line[1:].partition(":")
        key = key.strip().upper()
        if not colon or key in header:
            what = "occurs twice" if colon else "is not of the form # KEY: value"
            raise ValueError(f"{label}:{number}: header line {line[:60]!r} {what}")
        header[key] = value.strip(), number
    n, number = _total(header, "NUMBER ALTERNATIVES", label)
    if n is None:
        raise ValueError(
            f"{label}:1: no line '# NUMBER ALTERNATIVES: ...' (PrefLib files of before 2022 must "
            "be downloaded again)"
        )
    called = [header.pop(f"ALTERNATIVE NAME {i}", ("", 0)) for i in range(1, min(n, 10**6) + 1)]
    stray = next((key for key in header if key.startswith("ALTERNATIVE NAME")), None)
    if stray is not None:
        raise ValueError(f"{label}:{header[stray][1]}: no alternative has the number of {stray!r}")
    if len(called) < n or n < 1:
        raise ValueError(f"{label}:{number}: {n} alternatives")
    if not names:
        return header, list(range(1, n + 1))
    seen: dict[str, int] = {}
    for i, (name, at) in enumerate(called, 1):
        if not name or seen.setdefault(name, i) != i:
            why = f"alternatives {seen[name]} and {i} are both {name!r}" if name else f"no name {i}"
            raise ValueError(f"{label}:{at or number}: {why}; pass names=False")
    return header, [name for name, _ in called]


def _total(header: dict[str, Any], key: str, label: str) -> tuple[int | None, int]:
    if key not in header:
        return None, 1
    value, line = header[key]
    if not re.fullmatch("[0-9]{1,15}", value):
        raise ValueError(f"{label}:{line}: {key} is {value[:40]!r}, expected an integer")
    return int(value), line


def _kind(header: dict[str, Any], label: str) -> str:
    suffix = label.removesuffix(".gz").rpartition(".")[2].lower()
    kind, line = header.get("DATA TYPE", (suffix, 1))
    if kind not in TYPES:
        raise ValueError(f"{label}:{line}: type {kind[:40]!r}, expected {', '.join(TYPES)}")
    if suffix in TYPES and suffix != kind:
        raise ValueError(
            f"{label}:{line}: the header says {kind!r}, the name of the file {suffix!r}"
        )
    return str(kind)


def _order(line: str, n: int, kind: str) -> tuple[int, list[tuple[int, ...]]]:
    head, _, text = line.partition(":")
    if not _COUNT.fullmatch(head.strip()):
        raise ValueError(f"{line[:40]!r} is not of the form count: order")
    places = []
    for part in _PARTS.split(text):
        place = _PLACE.fullmatch(part)
        tied = (place[1] or place[2]).split(",") if place else []
        if not tied or not all(map(_ITEM.fullmatch, tied)):
            shown = f"{part.strip()[:40]!r} in {text.strip()[:40]!r}"
            raise ValueError(f"{shown} is neither an alternative nor a tie")
        places.append(tuple(map(int, tied)))
    flat = [item for place in places for item in place]
    odd = next((item for item in flat if not 1 <= item <= n), None)
    if odd is not None:
        raise ValueError(f"alternative {odd} is not one of 1 to {n}")
    if len(set(flat)) < len(flat):
        twice = next(item for item, times in Counter(flat).items() if times > 1)
        raise ValueError(f"alternative {twice} occurs twice")
    if kind.startswith("s") and len(places) < len(flat):
        raise ValueError(f"a tie in a file of strict orders ({kind})")
    if kind.endswith("c") and len(flat) < n:
        raise ValueError(f"{len(flat)} of {n} alternatives in a file of complete orders ({kind})")
    return int(head), places


def _renamed(place: tuple[int, ...], called: list[Any]) -> Any:
    if len(place) == 1:
        return called[place[0] - 1]
    return tuple(called[item - 1] for item in place)


def _check_totals(header: dict[str, Any], counts: list[int], last: int, bad: BadRows) -> None:
    for key, found in [("NUMBER VOTERS", sum(counts)), ("NUMBER UNIQUE ORDERS", len(counts))]:
        wanted, _ = _total(header, key, bad.label)
        if wanted is None:
            continue
        if found > wanted or (found < wanted and not bad.count):
            raise ValueError(f"{bad.label}:{last}: {found} in all, but {key} is {wanted}")
