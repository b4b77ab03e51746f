"""Lines of ``grade qid:number feature:value ... # comment``: svmlight, LETOR and LightGBM."""

import re
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

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


def read_graded(source: Source, rules: Rules, bad: BadRows) -> Graded:
    """Read all rows of a clean source by scikit-learn, or one by one if one can't be read."""
    raw = source.raw.replace(b"\r\n", b"\n") if b"\r" in source.raw else source.raw
    lines = [line.partition(b"#") for line in raw.split(b"\n")]
    bodies = [body.strip(b" \t") for body, _, _ in lines]
    comments = [text.decode().strip() for body, _, text in lines if body.strip(b" \t")]
    # Python's numbers may have underscores
    plain = b"_" not in raw or not any(b"_" in body for body in bodies)
    if plain and _CONTROL.search(raw) is None:
        found = _fast(raw, rules)
        if found is not None:
            bad.finish(len(comments))
            return Graded(*found, comments, np.arange(len(comments)), len(comments))
    return _slow(bodies, comments, rules, bad)


def _fast(raw: bytes, rules: Rules) -> tuple[Any, Any, Any] | None:
    """Return features, grades and queries, or None if one of them is not as it should be."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415

    try:
        X, grades, qids = load_svmlight_file(BytesIO(raw), query_id=True, zero_based=True)
    except (ValueError, OverflowError):
        return None
    good = (
        len(grades) > 0
        and len(qids) == (len(grades) if rules.grouped else 0)
        and _all_below(grades, _LARGEST)
        and _all_below(X.data, _LARGEST)
        and (not len(qids) or (qids.min() >= 0 and qids.max() < _IDS))
        and int(X.indices.min(initial=rules.base)) >= rules.base
        and int(X.indices.max(initial=0)) <= rules.limit
    )
    if not good:
        return None
    qids = qids if rules.grouped else np.zeros(len(grades), np.int64)
    return X[:, rules.base :], grades, qids


def _all_below(values: Any, limit: float) -> bool:
    return not len(values) or bool(np.abs(values).max() < limit)


def _slow(bodies: list[bytes], comments: list[str], rules: Rules, bad: BadRows) -> Graded:
    """Read row by row, and report the rows that can't be read."""
    grades: list[float] = []
    qids: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    indptr, places, place = [0], [], -1
    for number, body in enumerate(bodies, 1):
        if not body:
            continue
        place += 1
        try:
            grade, qid, features = literal_row(body.decode(), rules)
        except ValueError as error:
            bad.refuse(number, str(error))
            continue
        grades.append(grade)
        qids.append(qid)
        indices += [feature - rules.base for feature in features]
        values += features.values()
        indptr.append(len(indices))
        places.append(place)
    bad.finish(len(grades))
    width = max(indices, default=0) + 1
    X = sp.csr_matrix((values, indices, indptr), shape=(len(grades), width), dtype=np.float64)
    kept = [comments[place] for place in places]
    return Graded(
        X, np.array(grades), np.array(qids, np.int64), kept, np.array(places, np.int64), place + 1
    )


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
