"""Columns of a table: what each holds, and how it becomes numbers."""

import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rankwise._core.arguments import check_word, shortened
from rankwise.io.files import pandas

if TYPE_CHECKING:
    from pandas import DataFrame, Series

HASHED = 32
MISSING = "(missing)"
# A text column is of categories up to so many values, and if values come back so often.
_MOST_CATEGORIES, _LEAST_ROWS_EACH = 100, 3
_DATE = re.compile(r"[0-9]{4}[-/][0-9]{1,2}([-/][0-9]{1,2})?([T ][0-9:.,]+(Z|[+-][0-9:]+)?)?")
_DAYS, _WORDS = " (days)", re.compile(r"(.*) \(words, ([0-9]+) of ([0-9]+)\)")
# Python's own numbers, in columns with whole numbers that 64 bits do not hold.
_WHOLE = {"integer", "floating", "mixed-integer-float"}


class Columns(NamedTuple):
    """The columns of a table by what they hold, each a list of names."""

    numbers: list[str]
    categories: list[str]
    dates: list[str]
    texts: list[str]

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*self.numbers, *self.categories, *self.dates, *self.texts]


def as_frame(frame: Any) -> "DataFrame":
    """Return a table as a pandas frame whose columns are named by texts."""
    pd = pandas()
    found = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    if not isinstance(found, pd.DataFrame):
        raise ValueError(f"frame={type(frame).__name__} must be a dataframe of pandas or polars")
    named = found.rename(columns=str)
    if named.columns.duplicated().any():
        twice = named.columns[named.columns.duplicated()][0]
        raise ValueError(f"two columns are named {twice!r}: rename one of them")
    return named


def look_at_columns(frame: "DataFrame", names: Sequence[str], *, text: str = "refuse") -> Columns:
    """Tell what columns hold.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    names : sequence of str
        The columns to look at.
    text : {"refuse", "hash"}, default="refuse"
        Whether columns of free text are an error, or their words are hashed.

    Raises
    ------
    ValueError
        If columns hold free text and are not to be hashed; it names them.
    """
    check_word(text, "text", ("refuse", "hash"))
    found = Columns([], [], [], [])
    for name in names:
        getattr(found, _kind(frame[name])).append(name)
    if found.texts and text == "refuse":
        listed = ", ".join(map(repr, found.texts))
        listed += _odd_value(frame[found.texts[0]], found.texts[0])
        raise ValueError(
            f"free text in {listed}, which no method here reads: leave it out "
            f"(ignore={found.texts}, or --ignore) or hash its words (text='hash', or --text hash)"
        )
    return found


def _kind(column: "Series[Any]") -> str:
    pd = pandas()
    types = pd.api.types
    if types.is_datetime64_any_dtype(column):
        return "dates"
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "categories"
    if types.is_numeric_dtype(column):  # bool is one
        return "numbers"
    if types.infer_dtype(column, skipna=True) in _WHOLE:
        return "numbers"
    known = column.dropna().astype(str)
    if known.empty:
        return "numbers"
    if all(_DATE.fullmatch(value.strip()) for value in known.iloc[:200]) and _are_dates(known):
        return "dates"
    distinct = known.nunique()
    enough = distinct <= max(2, len(known) / _LEAST_ROWS_EACH)
    return "categories" if enough and distinct <= _MOST_CATEGORIES else "texts"


def _odd_value(column: "Series[Any]", name: str) -> str:
    """Say what is no number in a column that else has numbers, or nothing."""
    known = column.dropna()
    wrong = known[pandas().to_numeric(known, errors="coerce").isna()]
    if not 0 < 2 * len(wrong) <= len(known):
        return ""
    row = int(np.argmax(column.index == wrong.index[0])) + 1
    return f" ({name!r} has numbers, but {shortened(str(wrong.iloc[0]))} in row {row})"


def _are_dates(known: "Series[Any]") -> bool:
    return not pandas().to_datetime(known, errors="coerce", utc=True, format="mixed").isna().any()


def prepare(frame: "DataFrame", columns: Columns) -> "DataFrame":
    """Return numbers and categories alone: dates become days, words are hashed.

    What is missing stays so in numbers and is a category of its own.
    """
    parts: dict[str, Any] = {name: _numbers(frame[name], name) for name in columns.numbers}
    parts |= {name: _categories(frame[name]) for name in columns.categories}
    parts |= {name + _DAYS: _days(frame[name]) for name in columns.dates}
    for name in columns.texts:
        counts = _hashed(frame[name], HASHED)
        parts |= {
            f"{name} (words, {j + 1} of {HASHED})": counts[:, j] for j in range(counts.shape[1])
        }
    return pandas().DataFrame(parts, index=frame.index)


def prepare_like(frame: "DataFrame", transformer: Any) -> "DataFrame":
    """Return what a fitted transformer, or a pipeline that begins with one, wants of a new table.

    Columns are found by their names, and all others are left aside.

    Raises
    ------
    ValueError
        If a column is not there; it names all that are missing.
    """
    step = transformer[0] if isinstance(transformer, Pipeline) else transformer
    while isinstance(step, Pipeline):
        step = step[0]
    wanted = [str(name) for name in step.feature_names_in_]
    groups = getattr(step, "transformers_", ())
    categories = {name for part, _, names in groups if part == "categories" for name in names}
    parts: dict[str, Any] = {}
    absent = []
    for name in wanted:
        words = _WORDS.fullmatch(name)
        source = words[1] if words else name if name in frame else name.removesuffix(_DAYS)
        if source not in frame:
            absent.append(source)
        elif words:
            parts[name] = _hashed(frame[source], int(words[3]))[:, int(words[2]) - 1]
        elif source != name:
            parts[name] = _days(frame[source])
        elif name in categories:
            parts[name] = _categories(frame[name])
        else:
            parts[name] = _numbers(frame[name], name)
    if absent:
        listed = ", ".join(map(repr, dict.fromkeys(absent)))
        raise ValueError(f"the model learned from {listed}, which this table does not have")
    return pandas().DataFrame(parts, index=frame.index)


def make_transformer(columns: Columns, *, scale: bool = True) -> Any:
    """Return an unfitted transformer of what `prepare` gives; it can be saved once it is fitted.

    Numbers have missing values replaced by the median and are brought to mean 0 and variance 1;
    categories become columns of 0 and 1. A category that was not seen is all 0.

    Parameters
    ----------
    columns : Columns
        What `look_at_columns` found.
    scale : bool, default=True
        Whether numbers are scaled. Trees do not need it.
    """
    numbers = [
        *columns.numbers,
        *(name + _DAYS for name in columns.dates),
        *(f"{name} (words, {j + 1} of {HASHED})" for name in columns.texts for j in range(HASHED)),
    ]
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    steps = make_pipeline(imputer, StandardScaler()) if scale else make_pipeline(imputer)
    if not columns.categories:
        return steps
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [("numbers", steps, numbers)] if numbers else []
    return ColumnTransformer(
        [*parts, ("categories", encoder, columns.categories)], verbose_feature_names_out=False
    )


def _numbers(column: "Series[Any]", name: str) -> Any:
    try:
        values = pandas().to_numeric(column).astype("float64").to_numpy(copy=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} has values that are no numbers: {error}") from error
    values[~np.isfinite(values)] = np.nan
    return values


def _categories(column: "Series[Any]") -> Any:
    values = column.astype(object).where(column.notna(), MISSING)
    return np.array([_plain(value) for value in values], object)


def _plain(value: Any) -> str:
    """Return a category as text; 3.0 is 3, since a column with gaps is read as floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _days(column: "Series[Any]") -> Any:
    pd = pandas()
    if pd.api.types.is_numeric_dtype(column):
        raise ValueError(f"column {column.name!r} holds numbers, where dates are wanted")
    times = pd.to_datetime(column, errors="coerce", utc=True, format="mixed")
    return (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)


def _hashed(column: "Series[Any]", width: int) -> Any:
    """Count words into columns by a checksum of each, which is the same on every machine."""
    counts = np.zeros((len(column), width))
    for row, text in enumerate(column.fillna("").astype(str)):
        for word in re.findall(r"\w+", text.lower()):
            counts[row, zlib.crc32(word.encode()) % width] += 1
    return counts
