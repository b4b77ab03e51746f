"""Lines of ``grade qid:number feature:value ... # comment``: svmlight, LETOR and LightGBM."""

import re
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.io.dialect import is_number
from rankwise.io.files import BadRows, Source

DENSE, SPARSE = 10_000, 2**31 - 1
# A dense X may take so many bytes, or so many times those of the files if that is more.
X_BYTES, X_RATIO = 2**30, 10
_LARGEST, _IDS = 1e308, 10**15
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]")


class Rules(NamedTuple):
    """Rules for a line: features from ``base`` to ``limit``, and a query if ``grouped``."""

    limit: int
    base: int = 1
    grouped: bool = True
    sparse: bool = False


class Graded(NamedTuple):
    """Rows of svmlight; ``places`` are their places among all rows, those skipped included."""

    X: Any
    grades: NDArray[np.float64]
    qids: NDArray[np.int64]
    comments: list[str]
    places: NDArray[np.int64]
    n_rows: int


def check_dense(shape: tuple[int, int], n_bytes: int, label: str) -> None:
    """Raise if a dense X would take far more memory than the files that it is read from."""
    needed, room = 8 * shape[0] * shape[1], max(X_BYTES, X_RATIO * n_bytes)
    if needed > room:
        raise ValueError(
            f"{label}: a dense X would take {needed:,} bytes, more than {room:,}; read it by "
            "read_letor with sparse=True"
        )


def read_graded(source: Source, rules: Rules, bad: BadRows) -> Graded:
    """Read all rows of a clean source by scikit-learn, without those that can't be read."""
    raw = source.raw.replace(b"\r\n", b"\n") if b"\r" in source.raw else source.raw
    lines = [line.partition(b"#") for line in raw.split(b"\n")]
    rows = [(i, body, text) for i, (body, _, text) in enumerate(lines, 1) if body.strip(b" \t")]
    places = np.arange(len(rows))
    # Python's numbers may have underscores
    plain = b"_" not in raw or not any(b"_" in body for _, body, _ in rows)
    found = _fast(raw, rules) if plain and _CONTROL.search(raw) is None else None
    if found is None:
        good = np.array([_is_row(number, body, rules, bad) for number, body, _ in rows], bool)
        places = places[good]
        found = _fast(b"\n".join(rows[place][1] for place in places), rules)
    bad.finish(len(places))
    comments = [rows[place][2].decode().strip() for place in places]
    X, grades, qids = found
    return Graded(X, grades, qids, comments, places, len(rows))


def _is_row(number: int, body: bytes, rules: Rules, bad: BadRows) -> bool:
    """Return whether a line can be read, and report it if not."""
    try:
        literal_row(body.decode(), rules)
    except ValueError as error:
        bad.refuse(number, str(error))
        return False
    return True


def _fast(raw: bytes, rules: Rules) -> Any:
    """Return features, grades and queries, or None if one of them is not as it should be."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415

    try:
        X, grades, qids = load_svmlight_file(BytesIO(raw), query_id=True, zero_based=True)
    except (ValueError, OverflowError):
        return None
    good = (
        len(grades) > 0
        and len(qids) == (len(grades) if rules.grouped else 0)
        and all(np.abs(values).max(initial=0.0) < _LARGEST for values in (grades, X.data))
        and qids.min(initial=0) >= 0
        and qids.max(initial=0) < _IDS
        and int(X.indices.min(initial=rules.base)) >= rules.base
        and int(X.indices.max(initial=0)) <= rules.limit
    )
    if not good:
        return None
    qids = qids if rules.grouped else np.zeros(len(grades), np.int64)
    return X[:, rules.base :], grades, qids


def literal_row(text: str, rules: Rules) -> tuple[float, int, dict[int, float]]:
    """Read one line without its comment, token by token; a ValueError says what is wrong."""
    tokens = re.split(r"[ \t]+", text.strip(" \t"))
    if not _is_finite(tokens[0]):
        raise ValueError(f"the grade is {tokens[0][:40]!r}, expected a number")
    grouped = rules.grouped
    if grouped and (len(tokens) < 2 or not re.fullmatch(r"qid:[0-9]{1,15}", tokens[1])):
        shown = repr(tokens[1][:40]) if len(tokens) > 1 else "the end of the line"
        raise ValueError(f"after the grade comes {shown}, expected qid:number")
    features: dict[int, float] = {}
    last = rules.base - 1
    for token in tokens[1 + grouped :]:
        match = re.fullmatch(r"([0-9]{1,15}):(.*)", token)
        if match is None or not _is_finite(match[2]):
            raise ValueError(f"{token[:40]!r} is not of the form feature:value")
        feature = int(match[1])
        if feature <= last:
            hint = "; pass zero_based=True if they count from 0" if feature == 0 == last else ""
            raise ValueError(
                f"feature {feature} is out of order, expected ascending from {rules.base}{hint}"
            )
        if feature > rules.limit:
            wide = not rules.sparse and rules.limit >= DENSE - 1
            hint = "; pass sparse=True for more" if wide else ""
            raise ValueError(f"feature {feature} is beyond the largest, {rules.limit}{hint}")
        last = feature
        features[feature] = float(match[2])
    return float(tokens[0]), int(tokens[1][4:]) if grouped else 0, features


def _is_finite(text: str) -> bool:
    return text == text.strip() and is_number(text) and abs(float(text)) < _LARGEST
