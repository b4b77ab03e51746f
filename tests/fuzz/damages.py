"""Ways to damage an argument."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from fuzz.arguments import by_mean_later
from rankwise.ordinal import PRank

# A large number is a fair request here, for much memory or time.
SIZES = {"n_samples", "n_estimators", "epochs", "n_pairs", "max_iter", "max_passes", "n_jobs", "m"}
SIZES |= {"repeats", "grid_resolution", "n", "time_limit", "timeout", "n_ranks", "max_concurrency"}
SIZES |= {"min_ratings"}
SIZES |= {"n_features", "degree"}

# What replaces an argument, whatever it was.
JUNK = {
    "None": lambda w: None,
    "bool": lambda w: w.choose(True, False),
    "small int": lambda w: w.choose(0, -1, 1, 2, 7, np.int8(-3)),
    "real": lambda w: w.choose(0.0, -0.0, -1.5, 1.5, 5e-324, 1e-300, -1e308),
    "huge real": lambda w: w.choose(1e308, 1e200, 1e20),
    "huge int": lambda w: w.choose(2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**200),
    "not finite": lambda w: w.choose(np.nan, np.inf, -np.inf, np.float32("nan"), pd.NA),
    "complex": lambda w: 1 + 2j,
    "text": lambda w: w.choose("abc", "", "1", "nan", b"abc", b"", "\x00", "é" * 50),
    "empty": lambda w: w.choose([], (), {}, set(), np.empty(0), np.empty((0, 3)), [[]]),
    "set": lambda w: {1, 2, 3},
    "dict": lambda w: {"a": 1, 2: [3]},
    "generator": lambda w: (i for i in range(w.n)),
    "ragged": lambda w: [[1, 2], [3]] * (w.n // 2),
    "object": lambda w: w.choose(object(), PRank, PRank(), len, datetime.date(2020, 1, 1), ...),
    "0-d": lambda w: np.array(w.choose(1.0, 1, "a", np.nan)),
    "3-d": lambda w: np.ones((w.n, 2, 2)),
    "nested": lambda w: [[[1]]] * w.n,
    "iterator": lambda w: iter([1, 2, 3]),
    "range": lambda w: range(w.n),
    "other array": lambda w: w.choose(w.real(w.n), w.real(w.n, w.d), w.grades(), w.real(3, 3)),
}


def _entry(*values):
    def damage(a, w):
        a = np.array(a, dtype=np.float64)
        a.flat[w.random.integers(a.size)] = w.choose(*values)
        return a

    return damage


def _memmap(a, w):
    a = np.asarray(a, dtype=np.float64)
    new = np.memmap(w.folder / "memmap", np.float64, "w+", shape=a.shape)
    new[:] = a
    return np.memmap(w.folder / "memmap", np.float64, "r", shape=a.shape)


def _read_only(a):
    a.flags.writeable = False
    return a


def _sparse(a):
    return sparse.csr_array(np.atleast_2d(np.asarray(a, np.float64)) + 1e-9)


def _broken(a, w):
    """A CSR matrix whose parts contradict each other."""
    m = _sparse(a)
    part = w.choose("indices", "indptr", "data")
    if part == "data":
        m.data = m.data[:-1]
    else:
        getattr(m, part)[-1] = w.choose(99, -1, 10**6)
    return m


def _twice(a, w):
    m = sparse.coo_array(_sparse(a))
    index = np.tile(m.row, 2), np.tile(m.col, 2)
    return w.choose(sparse.coo_array, sparse.csr_array)((np.tile(m.data, 2), index), shape=m.shape)


def _duplicated(a):
    m = _sparse(a)
    indices, data = np.repeat(m.indices, 2), np.repeat(m.data, 2)
    return sparse.csr_array((data, indices, 2 * m.indptr), shape=m.shape)


# What is done to an array.
DAMAGE = {
    "one less": lambda a, w: a[:-1],
    "one more": lambda a, w: np.concatenate([a, a[-1:]]),
    "no row": lambda a, w: a[:0],
    "one row": lambda a, w: a[:1],
    "no column": lambda a, w: a[:, :0],
    "a column more": lambda a, w: np.column_stack([a, a]),
    "NaN or inf inside": _entry(np.nan, np.inf, -np.inf),
    "extreme inside": _entry(1e308, -1e308, 1e200, 5e-324, -0.0, 1e-300, 2**53 + 2, 2**63),
    "negative inside": _entry(-1, -1e9),
    "huge": lambda a, w: np.asarray(a, np.float64) * w.choose(1e307, 1e200, 1e155),
    "tiny": lambda a, w: np.asarray(a, np.float64) * w.choose(1e-307, 5e-324, 1e-170),
    "constant": lambda a, w: np.full_like(a, w.choose(0, 1)),
    "far from zero": lambda a, w: np.asarray(a, np.float64) + w.choose(1e8, 1e16, -1e300),
    "dtype": lambda a, w: a.astype(w.choose("f2", "f4", ">f8", "g", "c16", "O", "?", "U8", "S8")),
    "whole dtype": lambda a, w: np.abs(a).astype(
        w.choose("i1", "u1", "u8", "i2", "M8[s]", "m8[s]")
    ),
    "large ints": lambda a, w: np.asarray(a).astype(np.int64) + 2**62,
    "object ints": lambda a, w: np.array([2**70] * len(a), dtype=object),
    "odd objects": lambda a, w: np.array([w.choose(None, "a", 1, 2.5, [1])] * len(a), dtype=object),
    "mixed list": lambda a, w: [*a.tolist()[:-1], w.choose(None, "a", b"a", [1], {}, 1j, True)],
    "list": lambda a, w: a.tolist(),
    "tuple": lambda a, w: tuple(a.tolist()),
    "generator": lambda a, w: iter(a.tolist()),
    "transposed": lambda a, w: a.T,
    "flat": lambda a, w: a.ravel(),
    "column": lambda a, w: a[:, None],
    "masked": lambda a, w: np.ma.masked_array(a, mask=w.random.random(a.shape) < 0.3),
    "matrix": lambda a, w: np.asmatrix(a),
    "read only": lambda a, w: _read_only(a.copy()),
    "Fortran": lambda a, w: np.asfortranarray(a),
    "backwards": lambda a, w: a[::-1],
    "stepped": lambda a, w: np.repeat(a, 2, axis=0)[::2],
    "memmap": _memmap,
    "pandas": lambda a, w: (pd.Series if a.ndim == 1 else pd.DataFrame)(a).iloc[::-1],
    "pandas nullable": lambda a, w: pd.Series([*a.ravel().tolist()[:-1], None], dtype="Float64"),
    "categorical": lambda a, w: pd.Series(pd.Categorical(a.ravel(), ordered=w.choose(True, False))),
    "categorical array": lambda a, w: pd.Categorical(a.ravel()[::-1], ordered=True),
    "polars": lambda a, w: (pl.Series if a.ndim == 1 else pl.DataFrame)(a),
    "CSR": lambda a, w: _sparse(a),
    "CSC": lambda a, w: _sparse(a).tocsc(),
    "COO": lambda a, w: _sparse(a).tocoo(),
    "CSR matrix, long indices": lambda a, w: _long(_sparse(a)),
    "duplicate entries": lambda a, w: _duplicated(a),
    "COO duplicates": _twice,
    "broken CSR": _broken,
}


def _long(m):
    m = sparse.csr_matrix(m)
    m.indices, m.indptr = m.indices.astype(np.int64), m.indptr.astype(np.int64)
    return m


BAD_ANSWERS = (
    np.nan,
    2.0,
    -0.5,
    None,
    "x",
    1j,
    [0.5],
    np.ones(99),
    np.ones((2, 2)),
    True,
    {},
    1e308,
)


def damage(name, value, w):
    """Return a damaged value and what was done."""
    if callable(value) and not isinstance(value, type) and w.random.random() < 0.7:
        answer = w.choose(*BAD_ANSWERS)
        if value is by_mean_later:
            return _asynchronous(answer), f"awaits {answer!r}"
        return lambda *_: answer, f"returns {answer!r}"
    if isinstance(value, Path) and value.is_file() and w.random.random() < 0.5:
        return _damaged_file(value, w), "file"
    if sparse.issparse(value):
        value = value.toarray()
    if w.random.random() < 0.75 and isinstance(value, (np.ndarray, list)):
        kind = w.choose(*DAMAGE)
        try:
            return DAMAGE[kind](np.asarray(value), w), kind
        except (ValueError, IndexError, TypeError, OverflowError, NotImplementedError):
            pass  # this damage does not fit this value
    if isinstance(value, dict) and value and w.random.random() < 0.7:
        key = next(iter(value))
        part, kind = damage(name, value[key], w)
        return value | {key: part}, f"[{key}] {kind}"
    if type(value) in (list, tuple) and value and w.random.random() < 0.7:
        place = int(w.random.integers(len(value)))
        part, kind = damage(name, value[place], w)
        return type(value)([*value[:place], part, *value[place + 1 :]]), f"[{place}] {kind}"
    kinds = set(JUNK) - ({"huge int", "huge real"} if name.split(".")[-1] in SIZES else set())
    kind = w.choose(*sorted(kinds))
    return JUNK[kind](w), kind


def _asynchronous(answer):
    async def prefer(*_):
        return answer

    return prefer


def _damaged_file(path, w):
    data = bytearray(path.read_bytes())
    at = int(w.random.integers(len(data)))
    put = w.choose(
        b"", b"\x00", b"9" * 30, b"\n", b'"', b"\xff", b"1e999", b"-", b"nan", b",", b":"
    )
    data[at : at + w.choose(0, 1, 9, 999)] = put
    damaged = path.with_name("damaged-" + path.name)
    damaged.write_bytes(bytes(data))
    return damaged
